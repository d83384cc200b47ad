"""The line that kube-scheduler writes into the event FailedScheduling.

Texts and order: pkg/scheduler/framework/types.go (FitError), plugins/dynamicresources and
preemption of Kubernetes 1.36. Whether evicting other pods would help is not worked out here: for
nodes where it could, the line says that no victim was found.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.diagnose.question import Question
    from claimfit.diagnose.tree import NodeAnswer

__all__ = ["scheduler_line"]

_NO_CLAIMS: Final = "no new claims to deallocate"


def scheduler_line(question: Question, nodes: Sequence[NodeAnswer], number: int) -> str:
    """Return the line for a cluster of `number` nodes, or nothing when a node fits."""
    if question.pod is None and not question.waiting:
        return ""
    if question.refused:
        return _before_nodes(question, number)
    if not nodes:
        return "no nodes available to schedule pods"
    aborted = next((item for item in nodes if item.state == "failed"), None)
    if aborted is not None and aborted.explanation is not None:
        verdict = aborted.explanation.verdict
        return f'running "DynamicResources" filter plugin: {verdict.error}'
    if any(item.state in {"fits", "undecided"} for item in nodes):
        return ""
    said = Counter(text for item in nodes for text in _texts(item))
    listed = ", ".join(sorted(f"{number} {text}" for text, number in said.items()))
    helped = sum(any(reason.preemption for reason in item.refusals) for item in nodes)
    return f"0/{len(nodes)} nodes are available: {listed}. {_after(question, len(nodes), helped)}"


def _before_nodes(question: Question, nodes: int) -> str:
    """Return what PreFilter says; a pod that PreEnqueue holds back gets no event at all."""
    if question.refused[0].code not in {"claim-full", "class-missing"}:
        return ""
    # PreFilter ended before it noted the claims, so PostFilter sees none.
    line = f"0/{nodes} nodes are available: {question.scheduler_text}."
    return f"{line} {_NO_CLAIMS}, {_preemption(nodes, 0)}"


def _texts(item: NodeAnswer) -> list[str]:
    if item.refusals:
        return [reason.scheduler_text for reason in item.refusals]
    return [item.explanation.verdict.scheduler_text] if item.explanation is not None else []


def _after(question: Question, nodes: int, helped: int) -> str:
    claims = question.waiting or question.allocated or question.extended
    deallocation = "still not schedulable" if claims else _NO_CLAIMS
    return f"{deallocation}, {_preemption(nodes, helped)}"


def _preemption(nodes: int, helped: int) -> str:
    parts = []
    if helped:
        parts.append(f"{helped} No preemption victims found for incoming pod")
    if nodes - helped:
        parts.append(f"{nodes - helped} Preemption is not helpful for scheduling")
    return f"preemption: 0/{nodes} nodes are available: {', '.join(sorted(parts))}."
