"""The machine form of ``claimfit fit``; its shape changes only with `FIT_SCHEMA`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from claimfit.fit.answers import GroupAnswer, TableAnswer
    from claimfit.fit.groups import DeviceGroup
    from claimfit.fit.verdict import FitQuestion, Verdict

__all__ = [
    "FIT_SCHEMA",
    "group_json",
    "left_out_json",
    "model_json",
    "table_json",
    "verdict_json",
    "warnings_of",
    "write_document",
]

FIT_SCHEMA: Final = "claimfit.dev/fit/v1"


def write_document(body: Mapping[str, object]) -> None:
    """Write `body` as one JSON object, its schema first.

    By msgspec: the standard library's encoder is pure Python when it indents, ten times slower.
    """
    import msgspec

    document = {"schemaVersion": FIT_SCHEMA, **body}
    try:
        text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    except UnicodeEncodeError:
        # A path that is not UTF-8 stands in a str as lone surrogates, which msgspec does not write.
        import json

        text = json.dumps(document, indent=2)
    sys.stdout.write(text + "\n")


def model_json(question: FitQuestion) -> dict[str, object]:
    """Return what was asked of one model."""
    model = question.model
    return {
        "name": model.name,
        "parameters": model.parameters,
        "activeParameters": model.active_parameters,
        "quantization": question.workload.quantization or model.quantization,
        "contextTokens": question.workload.context_tokens,
        "concurrency": question.workload.concurrency,
        "engine": question.engine.name,
        "notes": list(model.notes),
    }


def table_json(item: TableAnswer) -> dict[str, object]:
    """Return the answer for one accelerator of the table."""
    return {
        "device": item.accelerator.name,
        "id": item.accelerator.id,
        "publishedMemoryMiB": item.accelerator.memory_mib,
        **verdict_json(item.verdict),
    }


def group_json(item: GroupAnswer) -> dict[str, object]:
    """Return the answer for the like devices of one node."""
    group = item.group
    return {
        "node": group.node,
        "driver": group.driver,
        "product": group.product,
        "publishedMemoryBytes": None if group.memory is None else int(group.memory),
        "devices": [row.id.device for row in group.rows],
        "free": group.free,
        "freeDevices": [row.id.device for row in group.rows if group.healthy and row.free],
        "heldBy": {row.id.device: row.held_by for row in group.rows if row.held_by},
        "blocked": group.blocked or None,
        "replicasNow": item.replicas_now,
        "replicasPossible": item.replicas_possible,
        **verdict_json(item.verdict),
    }


def left_out_json(group: DeviceGroup) -> dict[str, object]:
    """Return a group that was not judged, and why."""
    return {
        "node": group.node,
        "driver": group.driver,
        "product": group.product,
        "devices": len(group.rows),
        "why": group.left_out_reason,
    }


def verdict_json(verdict: Verdict) -> dict[str, object]:
    """Return the verdict with its numbers; null where there is none."""
    need, speed = verdict.need, verdict.rate
    return {
        "verdict": verdict.reason,
        "text": verdict.text,
        "devicesPerReplica": verdict.devices_per_replica,
        "tensorParallel": verdict.tensor,
        "neededMemoryBytes": None if need is None else int(need.floor),
        "headroomBytes": None if need is None else int(verdict.headroom),
        "memoryBasis": None if need is None else need.basis,
        "tokensPerSecond": None
        if speed is None
        else {
            "p10": round(speed.p10, 2),
            "p50": round(speed.p50, 2),
            "p90": round(speed.p90, 2),
            "aggregateP50": round(speed.aggregate_p50, 2),
            "basis": speed.basis,
        },
        "longestContextTokens": verdict.longest_context,
    }


def warnings_of(verdicts: Iterable[Verdict]) -> list[str]:
    """Return what to know of the sizes in `verdicts`, each sentence once."""
    needs = (verdict.need for verdict in verdicts if verdict.need is not None)
    return list(dict.fromkeys(text for need in needs for text in need.warnings))
