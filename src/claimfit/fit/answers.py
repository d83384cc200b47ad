"""A model on a whole cluster, or on every accelerator of the table; and all models on one place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.errors import ClaimfitError
from claimfit.fit.verdict import FitQuestion, Verdict, judge
from claimfit.records import NamedTuple
from claimfit.units import MIB, Bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from claimfit.fit.groups import DeviceGroup
    from claimfit.hardware.facts import Accelerator, DriverDescription

__all__ = [
    "ClusterAnswer",
    "GroupAnswer",
    "ModelAnswer",
    "Place",
    "TableAnswer",
    "fit_cluster",
    "fit_table",
    "rank_models",
]

CLAIM_DEVICE_LIMIT = 32
"""Devices that one claim can be given (resource.k8s.io/v1, AllocationResultsMaxSize)."""


class GroupAnswer(NamedTuple):
    """A model on the like devices of one node."""

    group: DeviceGroup
    verdict: Verdict
    replicas_now: int
    """Replicas that the free devices hold."""
    replicas_possible: int
    """Replicas if no claim held any device."""


class ClusterAnswer(NamedTuple):
    """A model on a cluster."""

    groups: tuple[GroupAnswer, ...]
    """Groups that could hold a model, in the order of publishing."""
    left_out: tuple[DeviceGroup, ...]
    """Groups that hold no model: network cards, VFIO functions, drivers without a description."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """Nodes with any device, in the order of publishing."""
        names = [item.group.node for item in self.groups] + [item.node for item in self.left_out]
        return tuple(dict.fromkeys(names))

    @property
    def nodes_that_fit(self) -> tuple[str, ...]:
        """Nodes with a group that holds at least one replica when its devices are free."""
        return tuple(
            dict.fromkeys(item.group.node for item in self.groups if item.replicas_possible)
        )

    @property
    def replicas_now(self) -> int:
        """Replicas that the free devices of the cluster hold."""
        return sum(item.replicas_now for item in self.groups)


class TableAnswer(NamedTuple):
    """A model on one accelerator of the table."""

    accelerator: Accelerator
    verdict: Verdict


class Place(NamedTuple):
    """Where a model was judged, and the verdict there."""

    name: str
    """Node and product, or the accelerator's name."""
    verdict: Verdict
    replicas_now: int


class ModelAnswer(NamedTuple):
    """One model on the place where it does best."""

    question: FitQuestion
    place: Place


def fit_cluster(
    question: FitQuestion,
    groups: Iterable[DeviceGroup],
    describe: Callable[[str], DriverDescription | None],
) -> ClusterAnswer:
    """Return where in `groups` the model of `question` fits. Like groups are judged once."""
    seen: dict[tuple[object, ...], Verdict] = {}
    answers, left_out = [], []
    for group in groups:
        description = describe(group.driver)
        if description is None or not _holds_models(group, question.engine.name):
            left_out.append(group)
            continue
        devices = min(group.usable, CLAIM_DEVICE_LIMIT)
        key = (group.accelerator or group.product, group.memory, devices, group.driver)
        verdict = seen.get(key)
        if verdict is None:
            reserve = Bytes(description.board_reserve_mib * MIB)
            alone = _is_lone(group.accelerator)
            verdict = judge(
                question, group.accelerator, group.memory, devices, reserve, alone=alone
            )
            seen[key] = verdict
        per_replica = verdict.devices_per_replica if verdict.fits else 0
        answers.append(
            GroupAnswer(
                group,
                verdict,
                group.free // per_replica if per_replica else 0,
                group.usable // per_replica if per_replica else 0,
            )
        )
    return ClusterAnswer(tuple(answers), tuple(left_out))


def _holds_models(group: DeviceGroup, engine: str) -> bool:
    """Return whether `engine` can run on `group`: no NIC, no NPU; a CPU only under llama.cpp."""
    kind = group.kind
    if kind is not None:
        if not kind.serves or kind.name == "npu":
            return False
        if kind.name == "cpu" and engine != "llama.cpp":
            return False
    return group.memory is not None or group.accelerator is not None


def _is_lone(accelerator: Accelerator | None) -> bool:
    """Return whether the device works alone: MIG instances have no peer access (MIG user guide)."""
    return accelerator is not None and bool(accelerator.profile) and accelerator.vendor == "nvidia"


def fit_table(
    question: FitQuestion,
    accelerators: Iterable[Accelerator],
    devices_per_node: int,
    describe: Callable[[str], DriverDescription | None],
) -> tuple[TableAnswer, ...]:
    """Return the verdict for each accelerator, `devices_per_node` of which share a node."""
    return tuple(
        TableAnswer(
            accelerator,
            judge(
                question,
                accelerator,
                _table_memory(accelerator),
                devices_per_node,
                _reserve(accelerator, describe),
                alone=_is_lone(accelerator),
            ),
        )
        for accelerator in accelerators
    )


def _table_memory(accelerator: Accelerator) -> Bytes | None:
    mib = accelerator.memory_mib or accelerator.memory_known_mib
    return None if mib is None else Bytes(mib * MIB)


def _reserve(
    accelerator: Accelerator, describe: Callable[[str], DriverDescription | None]
) -> Bytes:
    """Return the largest reserve among the drivers that publish `accelerator`."""
    descriptions = [describe(published.driver) for published in accelerator.published]
    return Bytes(MIB * max((item.board_reserve_mib for item in descriptions if item), default=0))


def rank_models(
    questions: Iterable[FitQuestion], places: Callable[[FitQuestion], Sequence[Place]]
) -> tuple[list[ModelAnswer], list[tuple[str, ClaimfitError]]]:
    """Return the models that fit, best first, and those that could not be judged with the reason.

    Best is the largest model, then the faster one, then the name: at equal speed floor more
    parameters answer better. `places` judges one question everywhere; a model is shown where its
    p50 is highest.
    """
    fitting: list[ModelAnswer] = []
    failed: list[tuple[str, ClaimfitError]] = []
    for question in questions:
        try:
            good = [item for item in places(question) if item.verdict.fits]
        except ClaimfitError as error:
            failed.append((question.model.name, error))
            continue
        if good:
            best = max(good, key=lambda item: (_p50(item.verdict), item.replicas_now))
            fitting.append(ModelAnswer(question, best))
    fitting.sort(
        key=lambda item: (
            -item.question.model.parameters,
            -_p50(item.place.verdict),
            item.question.model.name,
        )
    )
    return fitting, failed


def _p50(verdict: Verdict) -> float:
    return verdict.rate.p50 if verdict.rate else 0.0
