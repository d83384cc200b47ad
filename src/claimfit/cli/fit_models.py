"""What ``claimfit fit`` prints without a model: the models that fit a place, best first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from claimfit.cli.fit_cells import decode_speed, longest_context, memory_used
from claimfit.cli.fit_json import model_json, verdict_json, write_document
from claimfit.cli.fit_place import Cluster, accelerators_of, read_groups
from claimfit.cli.lines import visible, write_line, write_notes
from claimfit.cli.model_report import amount
from claimfit.cli.table import write_table
from claimfit.fit.answers import fit_cluster, fit_table, rank_models

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.cli.fit_place import FitContext
    from claimfit.fit.answers import ModelAnswer, Place
    from claimfit.fit.verdict import FitQuestion

__all__ = ["report"]

_HEADER: Final = (
    "model",
    "parameters",
    "place",
    "per replica",
    "memory",
    "tok/s p10 p50 p90",
    "longest context",
)


def report(
    questions: Sequence[FitQuestion], context: FitContext, *, limit: int, min_tps: float
) -> int:
    """Print which models fit, best first; return 0 when any does, else 1."""
    cluster = read_groups(context) if context.cluster else Cluster([], ())
    where = context.cluster or accelerators_of(context)[0].name
    fitting, failed = rank_models(questions, lambda question: _places(question, context, cluster))
    shown = fitting[:limit]
    if context.as_json:
        write_document(
            {
                "minTokensPerSecond": min_tps,
                "considered": len(questions),
                "models": [_answer_json(item) for item in shown],
                "more": len(fitting) - len(shown),
                "notJudged": [{"model": name, "error": error.as_dict()} for name, error in failed],
                "notes": list(cluster.notes),
            }
        )
        return 0 if fitting else 1
    floor = f" at {min_tps:g} tok/s or more" if min_tps else ""
    write_line(f"{len(fitting)} of {len(questions)} models fit on {where}{floor}.")
    if shown:
        write_line()
        write_table(_HEADER, [_row(item) for item in shown])
    if len(shown) < len(fitting):
        write_line(f"and {len(fitting) - len(shown)} more (--limit)")
    write_notes(cluster.notes)
    for name, error in failed:
        sys.stderr.write(f"not judged: {visible(name)}: {error}\n")
    return 0 if fitting else 1


def _places(question: FitQuestion, context: FitContext, cluster: Cluster) -> list[Place]:
    from claimfit.fit.answers import Place

    if context.cluster:
        answer = fit_cluster(question, cluster.groups, context.hardware.describe)
        return [
            Place(f"{item.group.node}: {item.group.product}", item.verdict, item.replicas_now)
            for item in answer.groups
            if item.replicas_now
        ]
    answers = fit_table(
        question, accelerators_of(context), context.devices_per_node, context.hardware.describe
    )
    return [Place(item.accelerator.name, item.verdict, 0) for item in answers]


def _row(item: ModelAnswer) -> tuple[str, ...]:
    model, verdict = item.question.model, item.place.verdict
    return (
        model.name,
        amount(model.parameters),
        item.place.name,
        str(verdict.devices_per_replica),
        memory_used(verdict),
        decode_speed(verdict),
        longest_context(verdict),
    )


def _answer_json(item: ModelAnswer) -> dict[str, object]:
    return {
        "model": model_json(item.question),
        "place": item.place.name,
        "replicasNow": item.place.replicas_now,
        **verdict_json(item.place.verdict),
    }
