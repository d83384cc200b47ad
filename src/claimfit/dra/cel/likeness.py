"""Classes of like devices: those that one selector cannot tell apart.

A selector's answer depends on what it reads, so devices with the same values there share it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.cel.reads import Read
    from claimfit.dra.objects import Device, DeviceAttribute

__all__ = ["class_key"]

_MAPS: Final = frozenset(("attributes", "capacity"))
_TRUE: Final = object()
_FALSE: Final = object()
"""Booleans among the values of a key; Python takes True for 1."""


def class_key(
    reads: tuple[Read, ...], *, lists: bool
) -> Callable[[Device, str], tuple[object, ...]] | None:
    """Return a function from a device and its driver to the values that `reads` names.

    None where a read is not of single values. `lists` says whether list attributes can be read.
    """
    if any(read.kind == "device" or (read.kind in _MAPS and not read.name) for read in reads):
        return None
    shared = any(read.kind == "shared" for read in reads)
    attributes = [read for read in reads if read.kind == "attributes"]
    capacities = [read for read in reads if read.kind == "capacity"]
    mark = _full_mark if lists else _mark
    names: dict[str, tuple[list[tuple[str, str]], list[tuple[str, str]]]] = {}

    def key(device: Device, driver: str) -> tuple[object, ...]:
        known = names.get(driver)
        if known is None:
            known = names[driver] = (_names(attributes, driver), _names(capacities, driver))
        values: list[object] = [driver]
        have = device.attributes
        for first, second in known[0]:
            attribute = have.get(first) or have.get(second)
            values.append(None if attribute is None else mark(attribute))
        amounts = device.capacity
        for first, second in known[1]:
            amount = amounts.get(first) or amounts.get(second)
            values.append(None if amount is None else str(amount.value))
        if shared:
            values.append(bool(device.allow_multiple_allocations))
        return tuple(values)

    return key


def _names(reads: list[Read], driver: str) -> list[tuple[str, str]]:
    """Return the names under which a device of `driver` may publish what is read."""
    return [
        (
            read.name if read.domain == driver else f"{read.domain}/{read.name}",
            f"{read.domain}/{read.name}",
        )
        for read in reads
    ]


def _mark(attribute: DeviceAttribute) -> object:
    """Return what tells a single value from others, of other types too."""
    value: object = attribute.string
    if value is not None:
        return value
    value = attribute.integer
    if value is not None:
        return value
    if attribute.boolean is not None:
        return _TRUE if attribute.boolean else _FALSE
    return "version", attribute.version


def _full_mark(attribute: DeviceAttribute) -> object:
    """Return what tells a value, or a list of values, from others."""
    parts = (attribute.integers, attribute.booleans, attribute.strings, attribute.versions)
    if parts == _NO_LISTS:
        return _mark(attribute)
    return tuple(None if part is None else (tuple(map(type, part)), *part) for part in parts)


_NO_LISTS: Final = (None, None, None, None)
