"""Single changes that make a pod fit: each one is tried, smallest first, and only those are told.

Candidates are read from the answer: thresholds that devices miss, clauses, taints, holders of
devices, counts, constraints, cordons. Two changes at a time are not tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.diagnose.cluster import Cluster
from claimfit.diagnose.explaining import decide, outcome_of
from claimfit.diagnose.gaps import Bound, comparison
from claimfit.diagnose.what_if import Change, changed_objects, changed_question
from claimfit.dra.amounts import nanos_of
from claimfit.errors import InputError
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claimfit.diagnose.question import Question
    from claimfit.diagnose.tree import Answer, DeviceRow, NodeAnswer, RequestAnswer

__all__ = ["Suggestion", "suggestions"]

_MOST_TRIED: Final = 60
_MOST_TOLD: Final = 8
_UNITS: Final = {"Gi": 1 << 30, "Mi": 1 << 20, "G": 10**9, "M": 10**6}
_NANOS: Final = 10**9


class Suggestion(NamedTuple):
    """A change that was tried and works.

    Attributes:
        change: what is changed.
        nodes: the nodes that fit then.
    """

    change: Change
    nodes: tuple[str, ...]


def suggestions(question: Question, answer: Answer, cluster: Cluster) -> tuple[Suggestion, ...]:
    """Return the changes that make `question` fit, smallest first."""
    if answer.outcome not in {"pending", "aborted", "undecided"}:
        return ()
    found: list[Suggestion] = []
    told: set[str] = set()
    for tried, (_, change) in enumerate(sorted(set(_candidates(question, answer, cluster)))):
        if tried >= _MOST_TRIED or len(found) >= _MOST_TOLD:
            break
        places = _places(change)
        if not told.isdisjoint(places):
            continue  # a smaller change of the same place works already
        nodes = _fitting(question, change, cluster)
        if nodes:
            told.update(places[:1])
            found.append(Suggestion(change, nodes))
    return tuple(found)


def _places(change: Change) -> tuple[str, ...]:
    """Return what a change alters, its own place first; a clause is not dropped where less works.

    A threshold in decimal units is told beside one in binary units: the two are often mixed up.
    """
    if change.kind == "count":
        return (f"count {change.request}",)
    if change.kind == "guard":
        return (f"guard {change.request}:{change.value}",)
    if change.kind != "relax":
        return (f"{change.kind} {change.value}",)
    clause = f"clause {change.request}:{change.value}"
    units = [f"{clause} binary", f"{clause} decimal"]
    if not change.threshold:
        return (clause, *units, f"guard {change.request}:{change.value}")
    return (units[1 if change.threshold.endswith("G") else 0],)


def _fitting(question: Question, change: Change, cluster: Cluster) -> tuple[str, ...]:
    """Return the nodes that fit after `change`; none where the attempt still ends at an error."""
    asked = changed_question(question, [change], cluster.profile)
    if change.kind in {"free", "uncordon"}:
        objects = changed_objects(cluster.objects, [change], question.namespace)
        cluster = Cluster(objects, cluster.profile)
    nodes = decide(asked, cluster, reasons=False)
    if outcome_of(asked, nodes) != "fits":
        return ()
    return tuple(node.node for node in nodes if node.state == "fits")


def _candidates(
    question: Question, answer: Answer, cluster: Cluster
) -> Iterator[tuple[float, Change]]:
    """Yield (size, change); sizes only order: guards, thresholds, tolerations, counts, claims."""
    single = len(answer.requests) == 1
    for request in answer.requests:
        name = "" if single else request.request
        yield from _of_clauses(request, name, answer, cluster)
        if request.wanted.isdigit():
            wanted = int(request.wanted)
            for number in range(wanted - 1, 0, -1):
                yield 2.0 + (wanted - number) / wanted, Change("count", str(number), name)
    for row in answer.rows:
        if row.code == "taint-untolerated":
            yield 1.0, Change("tolerate", row.detail)
    yield from ((3.0, Change("free", claim)) for claim in _holders(answer))
    for claim in question.waiting:
        for index, _ in enumerate(claim.spec.devices.constraints):
            yield 5.0, Change("unconstrain", str(index))
    for node in answer.nodes:
        yield from _of_node(node)


def _of_clauses(
    request: RequestAnswer, name: str, answer: Answer, cluster: Cluster
) -> Iterator[tuple[float, Change]]:
    for clause in request.clauses:
        if clause.failing:
            yield 0.0, Change("guard", str(clause.number), name)
        if not clause.false and not clause.failing:
            continue
        test = comparison(clause.expression, cluster.profile)
        start = f"clause {clause.number} is false"
        for row in answer.rows:
            if isinstance(test, Bound) and row.request == request.request and row.text == start:
                yield from _thresholds(row, test, clause.number, name)
        yield 4.0, Change("relax", str(clause.number), name)


def _of_node(node: NodeAnswer) -> Iterator[tuple[float, Change]]:
    for refusal in node.refusals:
        if refusal.code == "node-unschedulable":
            yield 1.5, Change("uncordon", node.node)
        elif refusal.code == "node-taint":
            taint = refusal.text.removeprefix("taint ").removesuffix(" of the node")
            yield 1.2, Change("tolerate", taint)


def _holders(answer: Answer) -> Iterator[str]:
    """Yield the claims that hold devices which match, shares of them or counters of theirs."""
    for node in answer.nodes:
        for request in node.explanation.requests if node.explanation is not None else ():
            for device in request.devices:
                reason = device.reason
                if reason is None:
                    continue
                if reason.code in {"device-in-use", "capacity-short"}:
                    yield from filter(None, reason.values["holders"].split(", "))
                elif reason.code == "counters-short":
                    for part in reason.values["holders"].split("), "):
                        yield part.partition("(")[2].rstrip(")")


def _thresholds(
    row: DeviceRow, bound: Bound, clause: int, request: str
) -> Iterator[tuple[float, Change]]:
    """Yield lower thresholds that the devices of a row reach, round ones before exact ones."""
    found = row.detail.partition(",")[0].rpartition(" ")[2]
    if bound.kind == "attributes":
        yield row.off_by, Change("relax", str(clause), request, found)
        return
    try:
        have = nanos_of(found)
    except InputError:
        return
    if have <= 0:
        return  # a driver that reports nothing: a threshold of 0 asks for nothing
    if bound.threshold.endswith("Gi"):
        yield row.off_by, Change("relax", str(clause), request, _rounded(have, "Gi"))
        decimal = f"{bound.threshold.removesuffix('i')}"
        if nanos_of(decimal) <= have:
            yield row.off_by + 0.001, Change("relax", str(clause), request, decimal)
    elif bound.threshold[-1:] == "G":
        yield row.off_by, Change("relax", str(clause), request, _rounded(have, "G"))
    yield row.off_by + 0.002, Change("relax", str(clause), request, found)


def _rounded(nanos: int, unit: str) -> str:
    """Return the amount in whole units, at least one smaller unit where that would be 0."""
    for name in (unit, unit.replace("G", "M")):
        whole = nanos // _NANOS // _UNITS[name]
        if whole:
            return f"{whole}{name}"
    return str(nanos // _NANOS)
