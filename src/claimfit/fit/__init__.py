"""A model on a cluster, or on the accelerator table; and all models on one place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit._exports import lazy

if TYPE_CHECKING:
    from claimfit.fit.answers import (
        ClusterAnswer,
        GroupAnswer,
        ModelAnswer,
        Place,
        TableAnswer,
        fit_cluster,
        fit_table,
        rank_models,
    )
    from claimfit.fit.groups import DeviceGroup, device_groups
    from claimfit.fit.verdict import FitQuestion, Verdict, judge

__all__ = [
    "ClusterAnswer",
    "DeviceGroup",
    "FitQuestion",
    "GroupAnswer",
    "ModelAnswer",
    "Place",
    "TableAnswer",
    "Verdict",
    "device_groups",
    "fit_cluster",
    "fit_table",
    "judge",
    "rank_models",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "ClusterAnswer": "claimfit.fit.answers",
        "DeviceGroup": "claimfit.fit.groups",
        "FitQuestion": "claimfit.fit.verdict",
        "GroupAnswer": "claimfit.fit.answers",
        "ModelAnswer": "claimfit.fit.answers",
        "Place": "claimfit.fit.answers",
        "TableAnswer": "claimfit.fit.answers",
        "Verdict": "claimfit.fit.verdict",
        "device_groups": "claimfit.fit.groups",
        "fit_cluster": "claimfit.fit.answers",
        "fit_table": "claimfit.fit.answers",
        "judge": "claimfit.fit.verdict",
        "rank_models": "claimfit.fit.answers",
    },
)
