"""What ``claimfit fit MODEL`` prints: the verdict in a sentence, then one row per place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.cli.fit_cells import decode_speed, longest_context, memory_used
from claimfit.cli.fit_json import (
    group_json,
    left_out_json,
    model_json,
    table_json,
    warnings_of,
    write_document,
)
from claimfit.cli.fit_place import accelerators_of, read_groups
from claimfit.cli.lines import write_line, write_notes, write_warnings
from claimfit.cli.table import write_table
from claimfit.fit.answers import fit_cluster, fit_table
from claimfit.units import MIB

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.cli.fit_place import Cluster, FitContext
    from claimfit.fit.answers import ClusterAnswer, GroupAnswer, TableAnswer
    from claimfit.fit.groups import DeviceGroup
    from claimfit.fit.verdict import FitQuestion
    from claimfit.hardware.facts import Accelerator

__all__ = ["report"]

_ROWS_SHOWN: Final = 20
_TABLE_HEADER: Final = (
    "device",
    "published",
    "per replica",
    "memory",
    "tok/s p10 p50 p90",
    "longest context",
)
_FAILING_HEADER: Final = ("node", "devices", "does not fit because", "longest context")
_CLUSTER_HEADER: Final = (
    "node",
    "devices",
    "free",
    "per replica",
    "now",
    "memory",
    "tok/s p10 p50 p90",
    "longest context",
)


def report(question: FitQuestion, context: FitContext, assumptions: tuple[str, ...]) -> int:
    """Print where the model of `question` fits; return 0 when it fits now, else 1."""
    write_notes(question.model.notes)
    if context.cluster:
        return _on_cluster(question, context, assumptions)
    return _on_table(question, context, assumptions)


# --- the accelerator table ------------------------------------------------------------------------


def _on_table(question: FitQuestion, context: FitContext, assumptions: tuple[str, ...]) -> int:
    answers = fit_table(
        question, accelerators_of(context), context.devices_per_node, context.hardware.describe
    )
    fitting = sorted(
        (item for item in answers if item.verdict.fits),
        key=lambda item: (item.verdict.devices_per_replica, item.verdict.memory or 0),
    )
    failing = [item for item in answers if not item.verdict.fits]
    if context.as_json:
        write_document(
            {
                "model": model_json(question),
                "assumptions": list(assumptions),
                "warnings": warnings_of(item.verdict for item in answers),
                "fits": bool(fitting),
                "devices": [table_json(item) for item in [*fitting, *failing]],
            }
        )
    else:
        write_warnings(warnings_of(item.verdict for item in answers))
        _table_sentence(question.model.name, context, fitting, failing)
        _write_assumptions(assumptions)
        _write_fitting(fitting, context)
        _write_failing(failing, context)
    return 0 if fitting else 1


def _table_sentence(
    model: str,
    context: FitContext,
    fitting: Sequence[TableAnswer],
    failing: Sequence[TableAnswer],
) -> None:
    if context.device:
        (only,) = [*fitting, *failing]
        verb = "fits" if fitting else "does not fit"
        write_line(f"{model} {verb} on {only.accelerator.name}: {only.verdict.text}.")
    else:
        total = len(fitting) + len(failing)
        write_line(f"{model} fits on {len(fitting)} of {total} known devices.")


def _write_fitting(fitting: Sequence[TableAnswer], context: FitContext) -> None:
    shown = fitting if context.verbose else fitting[:_ROWS_SHOWN]
    if shown:
        write_line()
        write_table(_TABLE_HEADER, [_table_row(item) for item in shown])
    if len(shown) < len(fitting):
        write_line(f"and {len(fitting) - len(shown)} more (--verbose)")


def _write_failing(failing: Sequence[TableAnswer], context: FitContext) -> None:
    if failing and context.verbose and not context.device:
        write_line()
        write_table(
            ("device", "published", "does not fit because"),
            [
                (item.accelerator.name, _published(item.accelerator), item.verdict.text)
                for item in failing
            ],
        )


def _table_row(item: TableAnswer) -> tuple[str, ...]:
    verdict = item.verdict
    return (
        item.accelerator.name,
        _published(item.accelerator),
        str(verdict.devices_per_replica),
        memory_used(verdict),
        decode_speed(verdict),
        longest_context(verdict),
    )


def _published(accelerator: Accelerator) -> str:
    return "nothing" if accelerator.memory_mib is None else f"{accelerator.memory_mib}Mi"


# --- a cluster ------------------------------------------------------------------------------------


def _on_cluster(question: FitQuestion, context: FitContext, assumptions: tuple[str, ...]) -> int:
    cluster = read_groups(context)
    answer = fit_cluster(question, cluster.groups, context.hardware.describe)
    if context.as_json:
        write_document(
            {
                "model": model_json(question),
                "assumptions": list(assumptions),
                "warnings": warnings_of(item.verdict for item in answer.groups),
                "fits": bool(answer.replicas_now),
                "nodes": len(answer.nodes),
                "nodesThatFit": list(answer.nodes_that_fit),
                "replicasNow": answer.replicas_now,
                "groups": [group_json(item) for item in answer.groups],
                "leftOut": [left_out_json(item) for item in answer.left_out],
                "notes": list(cluster.notes),
            }
        )
    else:
        write_warnings(warnings_of(item.verdict for item in answer.groups))
        write_line(_cluster_sentence(question.model.name, answer))
        _write_assumptions(assumptions)
        _write_cluster(answer, cluster, context)
    return 0 if answer.replicas_now else 1


def _cluster_sentence(model: str, answer: ClusterAnswer) -> str:
    fit, total, now = len(answer.nodes_that_fit), len(answer.nodes), answer.replicas_now
    nodes = "node" if total == 1 else "nodes"
    if not total:
        return f"{model} fits nowhere: the source publishes no devices."
    if not fit:
        return f"{model} fits on none of {total} {nodes}."
    if not now:
        start = "no device is free for it now"
    else:
        start = f"{now} {'replica' if now == 1 else 'replicas'} can start now"
    return f"{model} fits on {fit} of {total} {nodes}: {start}."


def _write_cluster(answer: ClusterAnswer, cluster: Cluster, context: FitContext) -> None:
    fitting = [item for item in answer.groups if item.replicas_possible]
    failing = [item for item in answer.groups if not item.replicas_possible]
    if fitting:
        write_line()
        write_table(_CLUSTER_HEADER, [_group_row(item) for item in fitting])
    if failing:
        write_line()
        write_table(_FAILING_HEADER, [_failing_row(item) for item in failing])
    if context.verbose:
        for group in answer.left_out:
            what = f"{group.node}: {len(group.rows)} x {group.product}"
            write_line(f"left out  {what}, {group.left_out_reason}")
    else:
        _write_left_out(answer.left_out)
    write_notes(cluster.notes)


def _write_left_out(groups: Sequence[DeviceGroup]) -> None:
    """Write how many devices were not judged, one line for each reason."""
    numbers: dict[str, int] = {}
    for group in groups:
        numbers.setdefault(group.left_out_reason, 0)
        numbers[group.left_out_reason] += len(group.rows)
    for reason, number in numbers.items():
        devices = "device" if number == 1 else "devices"
        write_line(f"and {number} {devices} left out: {reason} (--verbose)")


def _devices(group: DeviceGroup) -> str:
    memory = "no memory" if group.memory is None else f"{int(group.memory) // MIB}Mi"
    return f"{len(group.rows)} x {group.product} ({memory})"


def _failing_row(item: GroupAnswer) -> tuple[str, ...]:
    group, verdict = item.group, item.verdict
    why = group.blocked or verdict.text
    return (group.node, _devices(group), why, longest_context(verdict))


def _group_row(item: GroupAnswer) -> tuple[str, ...]:
    group, verdict = item.group, item.verdict
    return (
        group.node,
        _devices(group),
        str(group.free),
        str(verdict.devices_per_replica),
        str(item.replicas_now),
        memory_used(verdict),
        decode_speed(verdict),
        longest_context(verdict),
    )


def _write_assumptions(assumptions: tuple[str, ...]) -> None:
    for line in assumptions:
        write_line(f"  {line}")
