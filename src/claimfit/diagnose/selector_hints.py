"""What a selector that fails on a device seems to come from: a name, a domain, a type."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from claimfit.diagnose.gaps import Equality, comparison, reading
from claimfit.diagnose.selection import clauses
from claimfit.dra.cel.program import Program, compile_selector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claimfit.diagnose.cluster import Cluster
    from claimfit.diagnose.rows import RowMaker
    from claimfit.diagnose.tree import Answer
    from claimfit.dra.cel.reads import Read
    from claimfit.dra.pools import PooledDevice

__all__ = ["selector_errors"]

_NO_KEY: Final = re.compile(r"no such key: (\S+)")
_MOST_DEVICES: Final = 2000
"""Devices that are looked through for a name; more of a cluster say nothing new."""


def selector_errors(answer: Answer, cluster: Cluster, maker: RowMaker) -> Iterator[str]:
    """Yield what the errors of `answer` seem to come from, one device per node and request."""
    for node in answer.nodes:
        if node.explanation is None:
            continue
        for request in node.explanation.requests:
            for said in request.devices:
                reason = said.reason
                if reason is None or not reason.code.endswith("-selector-error"):
                    continue
                entry = maker.entry(said.device)
                yield from _error(
                    reason.values["expression"], reason.values["error"], entry, cluster
                )
                break


def _error(expression: str, error: str, entry: PooledDevice, cluster: Cluster) -> Iterator[str]:
    """Yield what an error on a device seems to come from."""
    compiled = compile_selector(expression, cluster.profile)
    if not isinstance(compiled, Program):
        if ">=" in expression and "Quantity" in error:
            yield "quantities have no operators: write .compareTo(quantity('...')) >= 0"
        yield "a selector that does not compile is refused when it is created; no device is asked"
        return
    missing = _NO_KEY.search(error)
    if missing:
        for read in compiled.reads:
            if read.name == missing[1]:
                yield from _missing(read, expression, entry, cluster)
                return
    if "no such overload" in error:
        for clause in clauses(expression, cluster.profile):
            yield from _overload(clause, entry, cluster)


def _missing(read: Read, expression: str, entry: PooledDevice, cluster: Cluster) -> Iterator[str]:
    device, driver = entry.device, entry.id.driver
    names = device.attributes if read.kind == "attributes" else device.capacity
    other = device.capacity if read.kind == "attributes" else device.attributes
    domains = {name.partition("/")[0] for name in (*names, *other) if "/" in name} | {driver}
    if read.domain not in domains:
        found = [name for name in names if name.rpartition("/")[2] == read.name]
        text = (
            f'device {entry.id.device} publishes nothing under domain "{read.domain}": an unknown '
        )
        text += f"domain is an empty map, so the error names the key {read.name}"
        if found:
            domain = found[0].rpartition("/")[0] or driver
            text += f'; {read.name} is published under "{domain}"'
        yield text
        return
    if read.name in other or f"{read.domain}/{read.name}" in other:
        kind = "capacity" if read.kind == "attributes" else "attribute"
        field = "capacity" if read.kind == "attributes" else "attributes"
        yield (
            f"{read.name} is published as {'a ' if kind == 'capacity' else 'an '}{kind}: "
            f'device.{field}["{read.domain}"].{read.name}'
        )
        return
    near = get_close_matches(read.name, [name.rpartition("/")[2] for name in names], 1, 0.6)
    if near:
        yield f"device {entry.id.device} has no {read.name}; nearest name: {near[0]}"
    if any(_has(other_entry, read) for other_entry in _entries(cluster)):
        guarded = f'"{read.name}" in device.{read.kind}["{read.domain}"] && '
        yield f"not every device has {read.name}; guard it: {guarded}{' '.join(expression.split())}"


def _has(entry: PooledDevice, read: Read) -> bool:
    return reading(entry, read.kind, read.domain, read.name) is not None


def _overload(clause: str, entry: PooledDevice, cluster: Cluster) -> Iterator[str]:
    test = comparison(clause, cluster.profile)
    if not isinstance(test, Equality):
        return
    found = reading(entry, "attributes", test.domain, test.name)
    if getattr(found, "version", None) is None:
        return
    path = f"device.attributes['{test.domain}'].{test.name}"
    wanted = test.wanted if test.wanted.count(".") == 2 else f"{test.wanted}.0"
    yield (
        f"{test.name} is a version; == with a text has no overload and raises instead of being "
        f'false; write {path}.compareTo(semver("{wanted}")) >= 0'
    )


def _entries(cluster: Cluster) -> Iterable[PooledDevice]:
    number = 0
    for parts in cluster.allocator.slices.by_pool.values():
        for part in parts:
            for entry in part.devices:
                yield entry
                number += 1
                if number >= _MOST_DEVICES:
                    return
