"""Answers one question about a cluster: decides on every node, then says why.

`explain` is the entry. Nodes are judged in the order of their names; every node is judged, so that
an error on one of them is seen although another node fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.diagnose.cluster import namespaced
from claimfit.diagnose.hints import hints
from claimfit.diagnose.node_filters import Refusal, not_judged, refusals
from claimfit.diagnose.question import implicit_claim
from claimfit.diagnose.rows import RowMaker
from claimfit.diagnose.scheduler_line import scheduler_line
from claimfit.diagnose.sentences import closest, sentence
from claimfit.diagnose.tree import Answer, LatentError, NodeAnswer, RequestAnswer
from claimfit.dra.amounts import nanos_of
from claimfit.dra.explanation import explain as explain_node
from claimfit.dra.node_selection import selects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from claimfit.diagnose.cluster import Cluster
    from claimfit.diagnose.question import Question
    from claimfit.diagnose.tree import DeviceRow, NodeState, Outcome
    from claimfit.dra.explanation import NodeExplanation
    from claimfit.dra.objects import (
        DeviceSelector,
        DeviceSubRequest,
        ExactDeviceRequest,
        Node,
        ResourceClaim,
    )
    from claimfit.dra.pools import PooledDevice
    from claimfit.dra.reasons import Reason

__all__ = ["decide", "explain"]

_MOST_LATENT_DEVICES = 100


def explain(question: Question, cluster: Cluster) -> Answer:
    """Return the answer to `question` with its reasons."""
    placed = outcome_of(question, ()) == "placed"
    nodes = [] if placed else decide(question, cluster)
    outcome = outcome_of(question, nodes)
    maker = RowMaker(cluster)
    asked = [node for node in nodes if node.explanation is not None]
    rows = () if outcome in {"placed", "refused"} else maker.rows(asked)
    nodes = _by_gap(nodes, rows)
    asked = [node for node in nodes if node.explanation is not None]
    requests = tuple(_requests(question, nodes, cluster, maker))
    latent = () if outcome in {"refused", "placed"} else tuple(_latent(question, nodes, cluster))
    reasons: tuple[Reason, ...] = question.refused
    if not reasons and outcome not in {"fits", "placed"}:
        nearest = next((x.explanation for x in asked if x.state != "fits" and x.explanation), None)
        reasons = (*nearest.reasons, *nearest.pools) if nearest is not None else ()
    answer = Answer(
        subject=question.subject,
        outcome=outcome,
        sentence="",
        closest="",
        requests=requests,
        rows=rows,
        nodes=tuple(nodes),
        reasons=reasons,
        hints=(),
        latent=latent,
        scheduler_line=(
            "" if outcome == "placed" else scheduler_line(question, nodes, len(cluster.nodes))
        ),
        not_considered=not_judged(question.pod, cluster),
        notes=(),
        profile=f"Kubernetes {cluster.profile.kubernetes}",
    )
    answer = answer._replace(sentence=sentence(question, answer, cluster), closest=closest(answer))
    return answer._replace(hints=tuple(dict.fromkeys(hints(question, answer, cluster, maker))))


def _by_gap(nodes: list[NodeAnswer], rows: Sequence[DeviceRow]) -> list[NodeAnswer]:
    """Return `nodes` sorted again: of like ones, that whose devices miss a threshold by least."""
    off_by: dict[str, float] = {}
    for row in rows:
        if row.code == "class-selector-false":
            continue
        missed = row.off_by if row.code == "request-selector-false" else 0.0
        if row.code == "request-selector-false" and not row.off_by:
            missed = _NO_THRESHOLD
        for node, _ in row.places:
            off_by[node] = min(missed, off_by.get(node, _NO_THRESHOLD))
    return sorted(
        nodes,
        key=lambda x: (*x.closeness[:2], off_by.get(x.node, _NO_THRESHOLD), x.closeness[2]),
    )


_NO_THRESHOLD: Final = 1e9
"""Stands for a clause that no number comes near to."""


def outcome_of(question: Question, nodes: Sequence[NodeAnswer]) -> Outcome:
    """Return what becomes of the question, by what the nodes say."""
    pod = question.pod
    if pod is None and question.allocated:
        return "placed"
    if pod is not None and pod.spec.node_name and pod.status.phase in {"Running", "Succeeded"}:
        return "placed"
    if question.refused:
        return "refused"
    states = {node.state for node in nodes}
    if "failed" in states:
        return "aborted"
    if "fits" in states:
        return "fits"
    return "undecided" if "undecided" in states else "pending"


def decide(
    question: Question,
    cluster: Cluster,
    nodes: Sequence[Node] | None = None,
    *,
    reasons: bool = True,
) -> list[NodeAnswer]:
    """Return what each of `nodes` (default: all) says, the nearest to fitting first.

    Without `reasons` nodes that do not fit are not explained.
    """
    if question.refused:
        return []
    found: list[NodeAnswer] = []
    asked: dict[frozenset[str], list[Node]] = {}  # extended resources that nodes offer themselves
    for node in cluster.nodes if nodes is None else nodes:
        refused = refusals(question.pod, node, cluster) or tuple(
            _elsewhere(question.allocated, node)
        )
        if refused:
            found.append(NodeAnswer(node.metadata.name, "filtered", refused))
        else:
            asked.setdefault(_offered(question, node), []).append(node)
    for offered, group in asked.items():
        found += _judged(question, group, offered, cluster, reasons=reasons)
    found.sort(key=lambda item: item.closeness)
    if reasons and found and found[0].state == "fits" and found[0].claims:
        # One node that fits is explained as well: why these devices and not the others.
        node = next(x for x in cluster.nodes if x.metadata.name == found[0].node)
        explanation = explain_node(cluster.allocator, node, found[0].claims)
        found[0] = found[0]._replace(explanation=explanation)
    return found


def _offered(question: Question, node: Node) -> frozenset[str]:
    """Return the extended resources that the node offers itself, through a device plugin."""
    allocatable = node.status.allocatable
    return frozenset(name for name, _ in question.extended if nanos_of(allocatable.get(name, 0)))


def _judged(
    question: Question,
    nodes: Sequence[Node],
    offered: frozenset[str],
    cluster: Cluster,
    *,
    reasons: bool,
) -> Iterator[NodeAnswer]:
    implicit = implicit_claim(question, offered, cluster)
    claims = question.waiting if implicit is None else (*question.waiting, implicit)
    if not claims:
        yield from (NodeAnswer(node.metadata.name, "fits") for node in nodes)
        return
    verdicts = cluster.allocator.decide_all(nodes, claims)
    for node, verdict in zip(nodes, verdicts, strict=True):
        name = node.metadata.name
        if verdict.fits:
            yield NodeAnswer(name, "fits", claims=claims, allocations=verdict.allocations)
            continue
        state = _STATES[verdict.outcome]
        if not reasons:
            yield NodeAnswer(name, state, claims=claims)
            continue
        explanation = explain_node(cluster.allocator, node, claims, verdict)
        yield NodeAnswer(name, state, (), explanation, _missing(explanation), claims)


_STATES: Final[dict[str, NodeState]] = {
    "unsatisfiable": "short",
    "node-error": "short",
    "aborted": "failed",
    "undecided": "undecided",
}


def _missing(explanation: NodeExplanation) -> int:
    """Return how many devices are short; of alternatives, that of the nearest."""
    shortest: dict[tuple[str, str], int] = {}
    for request in explanation.requests:
        key = (request.claim, request.request.partition("/")[0])
        short = max(0, request.wanted - request.fitting)
        shortest[key] = min(short, shortest.get(key, short))
    return sum(shortest.values())


def _elsewhere(allocated: tuple[ResourceClaim, ...], node: Node) -> Iterator[Refusal]:
    for claim in allocated:
        allocation = claim.status.allocation
        if allocation is None or allocation.node_selector is None:
            continue
        if not selects(allocation.node_selector, node):
            name = namespaced(claim.metadata.name, claim.metadata.namespace)
            places = sorted(
                value
                for term in allocation.node_selector.node_selector_terms
                for requirement in term.match_fields
                for value in requirement.values
            )
            where = f" on node {', '.join(places)}" if places else " elsewhere"
            text = f"claim {name} is allocated{where}"
            yield Refusal("claim-elsewhere", text, "resourceclaim not available on the node")
            return


def _alternatives(
    claim: ResourceClaim,
) -> Iterator[tuple[str, ExactDeviceRequest | DeviceSubRequest]]:
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            yield request.name, request.exactly
        for alternative in request.first_available:
            yield f"{request.name}/{alternative.name}", alternative


def _claims(question: Question, nodes: Sequence[NodeAnswer]) -> tuple[ResourceClaim, ...]:
    """Return what is asked for, claims for extended resources included."""
    return max((node.claims for node in nodes), key=len, default=question.waiting)


def _requests(
    question: Question, nodes: Sequence[NodeAnswer], cluster: Cluster, maker: RowMaker
) -> Iterator[RequestAnswer]:
    devices = [
        maker.entry(answer.device)
        for node in nodes
        if node.explanation is not None and node.explanation.requests
        for answer in node.explanation.requests[0].devices
    ]
    for claim in _claims(question, nodes):
        name = namespaced(claim.metadata.name, claim.metadata.namespace)
        for request, spec in _alternatives(claim):
            found = cluster.classes.get(spec.device_class_name)
            constraints = [
                f"same {item.match_attribute}"
                if item.match_attribute
                else f"different {item.distinct_attribute}"
                for item in claim.spec.devices.constraints
                if not item.requests or {request, request.partition("/")[0]} & {*item.requests}
            ]
            yield RequestAnswer(
                name,
                request,
                "all" if spec.allocation_mode == "All" else str(spec.count or 1),
                spec.device_class_name,
                maker.clause_answers(
                    spec.selectors, found.spec.selectors if found else (), devices
                ),
                tuple(constraints),
            )


def _latent(
    question: Question, nodes: Sequence[NodeAnswer], cluster: Cluster
) -> Iterator[LatentError]:
    """Yield selectors that fail on a device which the decision did not get to."""
    reached = {
        verdict.device
        for node in nodes
        if node.explanation is not None
        for verdict in (node.explanation.verdict,)
        if verdict.device is not None
    }
    every = [
        entry
        for parts in cluster.allocator.slices.by_pool.values()
        for part in parts
        for entry in part.devices
    ]
    answer = cluster.allocator.selectors.answer
    for claim in _claims(question, nodes):
        name = namespaced(claim.metadata.name, claim.metadata.namespace)
        for request, spec in _alternatives(claim):
            found = cluster.classes.get(spec.device_class_name)
            if found is None:
                continue
            owners = [
                (f"class {spec.device_class_name}", found.spec.selectors),
                (f"claim {name}, request {request}", spec.selectors),
            ]
            failing: dict[tuple[str, int, str], list[str]] = {}
            for entry in every:
                failed = _first_failure(owners, entry, answer)
                if failed is not None and entry.id not in reached:
                    failing.setdefault(failed, []).append(entry.path)
            for (owner, index, error), devices in failing.items():
                yield LatentError(owner, index, error, tuple(devices[:_MOST_LATENT_DEVICES]))


def _first_failure(
    owners: Sequence[tuple[str, Sequence[DeviceSelector]]],
    entry: PooledDevice,
    answer: Callable[[str, PooledDevice], object],
) -> tuple[str, int, str] | None:
    """Return the selector that fails on the device before another one is false."""
    for owner, selectors in owners:
        for index, selector in enumerate(selectors):
            found = answer(selector.cel.expression if selector.cel else "", entry)
            if found is False:
                return None
            if found is not True:
                return owner, index, str(getattr(found, "text", found))
    return None
