"""The verdict in one sentence, and where it stands nearest to the opposite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.diagnose.cluster import namespaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claimfit.diagnose.cluster import Cluster
    from claimfit.diagnose.question import Question
    from claimfit.diagnose.tree import Answer, NodeAnswer
    from claimfit.dra.objects import AllocationResult, DeviceResult, ResourceClaim

__all__ = ["closest", "devices_text", "plural", "sentence"]

_MOST_SHARED_NODES = 100
"""Up to this many nodes kube-scheduler looks at all of them (minFeasibleNodesToFind)."""


def plural(number: int, noun: str) -> str:
    """Return `number` with `noun`, such as ``1 device`` or ``2 devices``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def sentence(question: Question, answer: Answer, cluster: Cluster) -> str:
    """Return the verdict."""
    rules = f"(rules of Kubernetes {cluster.profile.kubernetes})"
    nodes = answer.nodes
    match answer.outcome:
        case "placed":
            return _placed(question)
        case "refused":
            return f"Pending: {answer.reasons[0].text}."
        case "fits":
            fitting = sum(node.state == "fits" for node in nodes)
            of = f"{fitting} of {plural(len(nodes), 'node')}"
            return f"Fits: {question.subject} can go to {of} {rules}."
        case "aborted":
            return _aborted(answer, rules)
        case "undecided":
            text = f"no node fits {question.subject} within the steps of the search"
            return f"Undecided: {text} {rules}."
        case _:
            return f"Pending: {_none(question, nodes)} {rules}."


def _placed(question: Question) -> str:
    pod = question.pod
    held = [
        (claim, result)
        for claim in question.allocated
        if claim.status.allocation is not None
        for result in claim.status.allocation.devices.results
    ]
    if pod is not None:
        text = f"Placed: {question.subject} runs on node {pod.spec.node_name}"
        return f"{text} with {_results(result for _, result in held)}." if held else f"{text}."
    return f"Allocated: {question.subject} holds {_results(result for _, result in held)}."


def _aborted(answer: Answer, rules: str) -> str:
    failed = next(node for node in answer.nodes if node.state == "failed")
    verdict = failed.explanation.verdict if failed.explanation is not None else None
    if verdict is None or verdict.device is None:
        text = verdict.error.partition("\n")[0] if verdict is not None else ""
        return f"Pending: kube-scheduler gives up with an error: {text} {rules}."
    return (
        f"Pending: kube-scheduler gives up with an error at device {verdict.device.device} of node "
        f"{failed.node}: {verdict.error.partition(chr(10))[0]} {rules}."
    )


def _none(question: Question, nodes: Sequence[NodeAnswer]) -> str:
    if not nodes:
        return f"there is no node for {question.subject}"
    if all(node.state == "filtered" for node in nodes):
        return (
            f"none of {plural(len(nodes), 'node')} takes {question.subject}, whatever its devices"
        )
    claims = max((node.claims for node in nodes), key=len, default=())
    if len(claims) != 1:
        names = " and ".join(claim_name(claim) for claim in claims)
        return f"no node can give {question.subject} the devices of claims {names}"
    claim = claims[0]
    number = 0
    for request in claim.spec.devices.requests:
        if request.exactly is None or request.exactly.allocation_mode == "All":
            return f"no node can give claim {claim_name(claim)} its devices"
        number += request.exactly.count or 1
    what = "its device" if number == 1 else f"its {number} devices"
    return f"no node can give claim {claim_name(claim)} {what}"


def claim_name(claim: ResourceClaim) -> str:
    """Return NAMESPACE/NAME of a claim."""
    return namespaced(claim.metadata.name, claim.metadata.namespace)


def closest(answer: Answer) -> str:
    """Return a second sentence: where it fits, or which node is nearest and what it lacks."""
    if not answer.nodes or answer.outcome in {"placed", "refused"}:
        return ""
    nearest = answer.nodes[0]
    if answer.outcome == "fits":
        if not nearest.allocations:
            return f"It claims no devices; node {nearest.node} is one of them."
        taken = [
            f"{devices_text(allocation)} for claim {claim_name(claim)}"
            for claim, allocation in zip(nearest.claims, nearest.allocations, strict=True)
        ]
        return f"On node {nearest.node} it would get {' and '.join(taken)}."
    if answer.outcome == "aborted":
        return _despite(answer)
    if nearest.state == "filtered":
        return f"Closest is node {nearest.node}: {nearest.refusals[0].text}."
    if nearest.missing:
        return f"Closest is node {nearest.node}: {plural(nearest.missing, 'device')} short."
    why = nearest.explanation.reasons if nearest.explanation is not None else []
    text = f": {why[0].text}" if why else ""
    return f"Closest is node {nearest.node}{text}."


def _despite(answer: Answer) -> str:
    fitting = [node.node for node in answer.nodes if node.state == "fits"]
    certain = len(answer.nodes) <= _MOST_SHARED_NODES
    when = "always ends" if certain else "may end"
    text = f"An error is not a mismatch: it {when} the attempt on all nodes"
    if not fitting:
        return f"{text}."
    alone = "alone would fit" if len(fitting) == 1 else "would fit"
    shown = ", ".join(fitting[:3]) + (f" and {len(fitting) - 3} more" if len(fitting) > 3 else "")
    nodes = "node" if len(fitting) == 1 else "nodes"
    return f"{text}, although {nodes} {shown} {alone}."


def devices_text(allocation: AllocationResult) -> str:
    """Return the devices of an allocation with the requests they are for."""
    return _results(allocation.devices.results)


def _results(results: Iterable[DeviceResult]) -> str:
    grouped: dict[tuple[str, str], list[DeviceResult]] = {}
    for result in results:
        grouped.setdefault((result.driver, result.request), []).append(result)
    texts = []
    for (driver, request), group in grouped.items():
        names = ", ".join(item.device for item in group)
        admin = " (admin access)" if group[0].admin_access else ""
        tolerated = " (with its tolerations)" if group[0].tolerations else ""
        texts.append(f"{names} of {driver} as {request}{admin}{tolerated}")
    return "; ".join(texts) or "no device"
