"""What the cause seems to be and what would help, read from the answer; nothing here is tried.

`what_if` tries changes; a hint says what no change of numbers shows: a name that is published
elsewhere, a value of another type, a driver that reports nothing.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from claimfit.diagnose.gaps import Bound, Equality, comparison, reading
from claimfit.diagnose.selector_hints import selector_errors
from claimfit.diagnose.sentences import plural
from claimfit.dra.amounts import nanos_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from claimfit.diagnose.cluster import Cluster
    from claimfit.diagnose.question import Question
    from claimfit.diagnose.rows import RowMaker
    from claimfit.diagnose.tree import Answer, LatentError
    from claimfit.dra.objects import DeviceAttribute
    from claimfit.dra.pools import PooledDevice

__all__ = ["hints"]

_MOST_DEVICES: Final = 2000
"""Devices that are looked through for a name or a value; more of a cluster say nothing new."""


def hints(question: Question, answer: Answer, cluster: Cluster, maker: RowMaker) -> Iterator[str]:
    """Yield one sentence per hint, the most telling first."""
    yield from question.notes
    for source in _SOURCES:
        yield from source(answer, cluster, maker)
    yield from _extended(question, cluster)
    yield from _latent(answer.latent)


def _classes(answer: Answer, cluster: Cluster, _: RowMaker) -> Iterator[str]:
    for reason in answer.reasons:
        if reason.code != "class-missing" or "class" not in reason.values:
            continue
        name = reason.values["class"]
        present = reason.values["present"] or "none at all"
        near = get_close_matches(name, list(cluster.classes), 1, 0.8)
        yield f"device classes that exist: {present}" + (f" (nearest: {near[0]})" if near else "")
        drivers = {pool.driver for pool in cluster.allocator.slices.by_pool}
        if "." in name and name not in drivers:
            shown = ", ".join(sorted(drivers)) or "none"
            yield f"no slice of a driver {name} is published either; drivers that publish: {shown}"


# --- selectors that are false ---------------------------------------------------------------------


def _values(answer: Answer, cluster: Cluster, maker: RowMaker) -> Iterator[str]:
    """Yield for an equality that holds nowhere where the wanted text does stand."""
    for request in answer.requests:
        for clause in request.clauses:
            if not clause.devices or clause.false < clause.devices:
                continue
            test = comparison(clause.expression, cluster.profile)
            if not isinstance(test, Equality):
                continue
            yield from _published(test, answer, request.request, maker)


def _published(test: Equality, answer: Answer, request: str, maker: RowMaker) -> Iterator[str]:
    values: set[str] = set()
    for entry in _asked(answer, request, maker):
        found = reading(entry, "attributes", test.domain, test.name)
        if found is not None and found.value is not None:
            values.add(str(found.value))
        for name, attribute in entry.device.attributes.items():
            if (
                name.rpartition("/")[2] != test.name
                and attribute.string
                and test.wanted.casefold() in attribute.string.casefold()
            ):
                yield (
                    f'no device has {test.name} "{test.wanted}"; the text stands in {name}: '
                    f'"{attribute.string}"'
                )
                return
    if values:
        shown = ", ".join(f'"{value}"' for value in sorted(values)[:5])
        near = get_close_matches(test.wanted, values, 1, 0.6)
        text = f'no device has {test.name} "{test.wanted}"; published: {shown}'
        yield text + (f"; nearest: {near[0]}" if near else "")


def _nothing_reported(answer: Answer, cluster: Cluster, maker: RowMaker) -> Iterator[str]:
    """Yield what a capacity of 0 means: the driver knows none."""
    for request in answer.requests:
        for clause in request.clauses:
            test = comparison(clause.expression, cluster.profile)
            if not clause.false or not isinstance(test, Bound) or test.kind != "capacity":
                continue
            zero = [
                entry
                for entry in _asked(answer, request.request, maker)
                if (found := entry.device.capacity.get(test.name)) is not None
                and nanos_of(found.value) == 0
            ]
            if zero:
                drivers = ", ".join(sorted({entry.id.driver for entry in zero}))
                intel = " (privileged, or with xpumd)" if "gpu.intel.com" in drivers else ""
                yield (
                    f"{plural(len(zero), 'device')} of {drivers} publish {test.name} 0: the driver "
                    f"reports nothing, it is no real size; mend its installation{intel} before "
                    "lowering the threshold"
                )


def _asked(answer: Answer, request: str, maker: RowMaker) -> Iterator[PooledDevice]:
    """Yield the devices that the class of a request admits."""
    number = 0
    for row in answer.rows:
        if row.request != request or row.code.startswith("class-selector"):
            continue
        for node in answer.nodes:
            if node.explanation is None:
                continue
            for said in node.explanation.requests:
                if said.request != request:
                    continue
                for item in said.devices:
                    if item.reason is None or not item.reason.code.startswith("class-selector"):
                        yield maker.entry(item.device)
                        number += 1
                        if number >= _MOST_DEVICES:
                            return
        return


# --- counts, pools, constraints -------------------------------------------------------------------


def _counts(answer: Answer, _: Cluster, __: RowMaker) -> Iterator[str]:
    """Yield how many devices one node can give at most, where more are wanted than any node has."""
    if answer.outcome != "pending":
        return
    most: dict[tuple[str, str], tuple[int, int, str]] = {}
    for node in answer.nodes:
        for item in node.explanation.requests if node.explanation is not None else ():
            key = (item.claim, item.request)
            admitted = sum(
                said.reason is None or said.reason.code not in _NOT_OF_IT for said in item.devices
            )
            if key not in most or admitted > most[key][0]:
                most[key] = (admitted, item.wanted, node.node)
    for (_claim, request), (number, wanted, node_name) in most.items():
        if 0 < number < wanted:
            same = sum(
                1
                for node in answer.nodes
                for item in (node.explanation.requests if node.explanation is not None else ())
                if item.request == request
                and number
                == sum(x.reason is None or x.reason.code not in _NOT_OF_IT for x in item.devices)
            )
            where = f"node {node_name}" if same == 1 else f"{same} nodes"
            yield (
                f"request {request} wants {wanted} devices and no node has more than {number} that "
                f"match ({where}); a claim cannot span nodes, so {number} is the largest count"
            )


def _counters(answer: Answer, _: Cluster, __: RowMaker) -> Iterator[str]:
    """Yield where all devices that match draw on one board that is used up."""
    for node in answer.nodes:
        for item in node.explanation.requests if node.explanation is not None else ():
            matching = [
                said.reason
                for said in item.devices
                if said.reason is None or said.reason.code not in {*_NOT_OF_IT, "device-in-use"}
            ]
            sets = {
                reason.values["counter set"]: reason.values["holders"]
                for reason in matching
                if reason is not None and reason.code == "counters-short"
            }
            drawing = sum(x is not None and x.code == "counters-short" for x in matching)
            if len(sets) == 1 and drawing == len(matching):
                ((name, holders),) = sets.items()
                yield (
                    f"all {plural(drawing, 'device')} of node {node.node} that match request "
                    f"{item.request} draw on counter set {name}, which device {holders} uses up; "
                    "the node has no other board"
                )


_NOT_OF_IT: Final = frozenset(
    (
        "class-selector-false",
        "class-selector-error",
        "request-selector-false",
        "request-selector-error",
        "not-on-node",
    )
)


def _pools(answer: Answer, _: Cluster, __: RowMaker) -> Iterator[str]:
    told: set[str] = set()
    for node in answer.nodes:
        for reason in node.explanation.pools if node.explanation is not None else ():
            if reason.text in told:
                continue
            told.add(reason.text)
            if reason.code == "pool-incomplete":
                yield (
                    f"{reason.text}: its devices are not usable yet; no selector is the cause, "
                    f"wait for driver {reason.values['driver']} or repair it"
                )
            elif reason.code == "pool-invalid":
                driver = reason.values["driver"]
                yield f"{reason.text}: driver {driver} has to publish it again"


def _constraints(answer: Answer, _: Cluster, maker: RowMaker) -> Iterator[str]:
    """Yield which devices publish the name of a constraint under another domain."""
    wanted = {
        reason.values["attribute"]
        for node in answer.nodes
        for reason in (node.explanation.reasons if node.explanation is not None else ())
        if reason.code in {"attribute-missing", "constraint-groups"}
    }
    for attribute in sorted(wanted):
        own: dict[str, set[str]] = {}
        elsewhere: dict[tuple[str, str], set[str]] = {}
        short = attribute.rpartition("/")[2]
        for node in answer.nodes:
            for item in node.explanation.requests if node.explanation is not None else ():
                for said in item.devices:
                    if said.reason is None:
                        _sort_names(maker.entry(said.device), attribute, short, own, elsewhere)
        for (driver, name), values in elsewhere.items():
            if driver in own:
                continue
            text = f"{driver} publishes {name} ({', '.join(sorted(values)[:5])}), not {attribute}"
            others = [
                f"{other} publishes {attribute} ({', '.join(sorted(found)[:5])})"
                for other, found in own.items()
            ]
            tail = f"; {'; '.join(others)}" if others else ""
            yield f"the names differ, so no device qualifies: {text}{tail}"


def _sort_names(
    entry: PooledDevice,
    attribute: str,
    short: str,
    own: dict[str, set[str]],
    elsewhere: dict[tuple[str, str], set[str]],
) -> None:
    domain = attribute.rpartition("/")[0]
    driver = entry.id.driver
    for name, found in entry.device.attributes.items():
        qualified = name if "/" in name else f"{driver}/{name}"
        if qualified == attribute or (name == short and domain == driver):
            own.setdefault(driver, set()).add(_text(found))
        elif qualified.rpartition("/")[2] == short:
            elsewhere.setdefault((driver, qualified), set()).add(_text(found))


def _text(attribute: DeviceAttribute) -> str:
    return str(attribute.value)


def _extended(question: Question, cluster: Cluster) -> Iterator[str]:
    for name, number in question.extended:
        found = cluster.class_of_resource(name)
        if found is not None:
            yield (
                f"class {found.metadata.name} stands for extended resource {name}: kube-scheduler "
                f"makes a claim for {plural(number, 'device')} of it (gate DRAExtendedResource, on "
                "by default from 1.36)"
            )


def _latent(latent: Sequence[LatentError]) -> Iterator[str]:
    for item in latent:
        shown = ", ".join(item.devices[:3])
        more = len(item.devices) - 3
        shown += f" and {more} more" if more > 0 else ""
        yield (
            f"selector #{item.selector} of {item.owner} fails on {shown} ({item.error}); the day "
            "it is asked there, the whole attempt ends"
        )


_SOURCES: Final = (
    _classes,
    selector_errors,
    _values,
    _nothing_reported,
    _counts,
    _pools,
    _counters,
    _constraints,
)
