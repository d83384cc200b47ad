"""The answer of ``claimfit explain`` for programs; its shape changes only with `EXPLAIN_SCHEMA`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.cli.cluster_arguments import write_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.diagnose.cluster import Cluster
    from claimfit.diagnose.suggestions import Suggestion
    from claimfit.diagnose.tree import Answer, NodeAnswer
    from claimfit.diagnose.what_if import Change
    from claimfit.dra.objects import AllocationResult
    from claimfit.dra.reading import Objects
    from claimfit.dra.reasons import Reason

__all__ = ["EXPLAIN_SCHEMA", "allocation_json", "write"]

EXPLAIN_SCHEMA: Final = "claimfit.dev/explain/v1"


def write(
    answers: Sequence[tuple[Answer, tuple[Suggestion, ...]]],
    objects: Objects,
    cluster: Cluster,
    changes: Sequence[Change],
) -> None:
    """Write all answers as one document."""
    gates = sorted(cluster.profile.gates)
    write_json(
        EXPLAIN_SCHEMA,
        {
            "kubernetes": cluster.profile.kubernetes,
            "featureGates": gates,
            "whatIf": [change.text for change in changes],
            "notRead": objects.other_kinds,
            "answers": [_answer(answer, works) for answer, works in answers],
        },
    )


def _answer(answer: Answer, works: Sequence[Suggestion]) -> dict[str, object]:
    return {
        "subject": answer.subject,
        "fits": answer.fits,
        "outcome": answer.outcome,
        "text": answer.sentence,
        "closest": answer.closest or None,
        "schedulerLine": answer.scheduler_line or None,
        "reasons": [_reason(item) for item in answer.reasons],
        "requests": [
            {
                "claim": item.claim,
                "request": item.request,
                "wanted": item.wanted,
                "deviceClass": item.device_class,
                "constraints": list(item.constraints),
                "clauses": [
                    {
                        "clause": clause.number,
                        "expression": clause.expression,
                        "falseOn": clause.false,
                        "failsOn": clause.failing,
                        "devices": clause.devices,
                    }
                    for clause in item.clauses
                ],
            }
            for item in answer.requests
        ],
        "devices": [
            {
                "claim": row.claim,
                "request": row.request,
                "reason": row.code or None,
                "text": row.text,
                "detail": row.detail,
                "product": row.product,
                "count": row.number,
                "nodes": {node: list(devices) for node, devices in row.places},
            }
            for row in answer.rows
        ],
        "nodes": [_node(node) for node in answer.nodes],
        "hints": list(answer.hints),
        "latentErrors": [
            {
                "owner": item.owner,
                "selector": item.selector,
                "error": item.error,
                "devices": list(item.devices),
            }
            for item in answer.latent
        ],
        "wouldWork": [
            {
                "change": item.change.text,
                "flag": item.change.flag or None,
                "nodes": list(item.nodes),
            }
            for item in works
        ],
        "notConsidered": list(answer.not_considered),
        "notes": list(answer.notes),
    }


def _reason(reason: Reason) -> dict[str, object]:
    found: dict[str, object] = {"code": reason.code, "text": reason.text}
    if reason.device is not None:
        found["device"] = "/".join(reason.device)
    if reason.values:
        found["values"] = reason.values
    return found


def _node(node: NodeAnswer) -> dict[str, object]:
    explanation = node.explanation
    return {
        "node": node.node,
        "state": node.state,
        "missingDevices": node.missing,
        "filters": [
            {"code": item.code, "text": item.text, "scheduler": item.scheduler_text}
            for item in node.refusals
        ],
        "reasons": []
        if explanation is None or node.state == "fits"
        else [_reason(item) for item in (*explanation.reasons, *explanation.pools)],
        "allocations": [
            {"claim": claim.metadata.name, **allocation_json(allocation)}
            for claim, allocation in zip(node.claims, node.allocations, strict=False)
        ],
    }


def allocation_json(allocation: AllocationResult) -> dict[str, object]:
    """Return the devices of an allocation."""
    return {
        "devices": [
            {
                "request": item.request,
                "driver": item.driver,
                "pool": item.pool,
                "device": item.device,
            }
            for item in allocation.devices.results
        ]
    }
