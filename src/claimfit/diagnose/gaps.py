"""By how much a device misses a clause: bounds are read from the clause, values from the device."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from claimfit.dra.amounts import amount
from claimfit.dra.cel.program import Program, compile_selector
from claimfit.dra.cel.reads import device_path
from claimfit.dra.cel.syntax import Call, Literal
from claimfit.errors import InputError
from claimfit.records import NamedTuple
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from claimfit.dra.cel.syntax import Node
    from claimfit.dra.objects import DeviceAttribute, DeviceCapacity
    from claimfit.dra.pools import PooledDevice
    from claimfit.dra.profile import Profile

__all__ = [
    "Bound",
    "Equality",
    "Gap",
    "amount_text",
    "comparison",
    "gap",
    "reading",
    "short_text",
    "values_seen",
]

_DOMAIN: Final = re.compile(r"device\.(?:attributes|capacity)\[(?:\"[^\"]*\"|'[^']*')\]\.?")
_MEMBER: Final = re.compile(
    r"""^(["'])(\w+)\1 in device\.(?:attributes|capacity)\[(?:"[^"]*"|'[^']*')\]$"""
)
_MEBIBYTE_NANOS: Final = (1 << 20) * 10**9
_MOST_SHOWN: Final = 4
_LONGEST_VALUE: Final = 64


class Bound(NamedTuple):
    """A clause that wants a number of at least, or above, a threshold.

    Attributes:
        kind: ``capacity`` or ``attributes``.
        domain: of the name.
        name: of the capacity or attribute.
        strict: above, rather than at least.
        threshold: as written, such as ``80Gi``.
        nanos: the threshold; of an attribute the integer itself.
    """

    kind: str
    domain: str
    name: str
    strict: bool
    threshold: str
    nanos: int


class Equality(NamedTuple):
    """A clause that wants an attribute to be a text."""

    domain: str
    name: str
    wanted: str


class Gap(NamedTuple):
    """How far a device is from a bound.

    Attributes:
        name: of the capacity or attribute.
        found: what the device has.
        wanted: the threshold.
        short: the difference, as a quantity or an integer; at least the smallest step.
        share: the difference over the threshold, to compare gaps of different kinds.
    """

    name: str
    found: str
    wanted: str
    short: str
    share: float


@lru_cache(maxsize=4096)
def comparison(clause: str, profile: Profile) -> Bound | Equality | None:
    """Return what `clause` tests, where its shape is one of the two that are known."""
    compiled = compile_selector(clause, profile)
    if not isinstance(compiled, Program):
        return None
    tree = compiled.tree
    if not isinstance(tree, Call) or len(tree.arguments) != 2 or tree.target is not None:
        return None
    left, right = tree.arguments
    if tree.function in {"_>=_", "_>_"}:
        return _bound(left, right, strict=tree.function == "_>_")
    if tree.function in {"_<=_", "_<_"}:  # the threshold stands on the left
        return _bound(right, left, strict=tree.function == "_<_")
    if tree.function == "_==_" and isinstance(right, Literal) and isinstance(right.value, str):
        path = device_path(left)
        if path and len(path) == 3 and path[0] == "attributes":
            return Equality(path[1], path[2], right.value)
    return None


def _bound(left: Node, right: Node, *, strict: bool) -> Bound | None:
    if not isinstance(right, Literal) or type(right.value) is not int:
        return None
    path = device_path(left)
    if path and len(path) == 3 and path[0] == "attributes":
        return Bound("attributes", path[1], path[2], strict, str(right.value), right.value)
    if not isinstance(left, Call) or left.function != "compareTo" or right.value != 0:
        return None
    path = device_path(left.target) if left.target is not None else None
    made = left.arguments[0]
    if not path or len(path) != 3 or path[0] != "capacity" or not isinstance(made, Call):
        return None
    written = made.arguments[0] if made.function == "quantity" and made.arguments else None
    if not isinstance(written, Literal) or not isinstance(written.value, str):
        return None
    try:
        nanos = amount(written.value).nanos
    except InputError:
        return None
    return Bound("capacity", path[1], path[2], strict, written.value, nanos)


def gap(bound: Bound, entry: PooledDevice) -> Gap | None:
    """Return how far `entry` is below `bound`; None when it is not, or has no such value."""
    if bound.kind == "attributes":
        attribute = reading(entry, bound.kind, bound.domain, bound.name)
        found = getattr(attribute, "integer", None)
        if found is None or found > bound.nanos or (found == bound.nanos and not bound.strict):
            return None
        short = bound.nanos - found or 1
        share = short / abs(bound.nanos) if bound.nanos else float(short)
        return Gap(bound.name, str(found), bound.threshold, str(short), share)
    capacity = reading(entry, bound.kind, bound.domain, bound.name)
    value = getattr(capacity, "value", None)
    if value is None:
        return None
    have = amount(value)
    missing = bound.nanos - have.nanos
    if missing < 0 or (missing == 0 and not bound.strict):
        return None
    shown = amount_text(missing, binary=bound.threshold.endswith("i") or "i" in str(value))
    share = missing / bound.nanos if bound.nanos else 0.0
    return Gap(bound.name, str(value), bound.threshold, shown, share)


def amount_text(nanos: int, *, binary: bool) -> str:
    """Return an amount in the notation that people compare it in; whole MiB below 1 PiB in Mi."""
    mebibytes = nanos // _MEBIBYTE_NANOS
    if binary and mebibytes and mebibytes * _MEBIBYTE_NANOS == nanos:
        whole = mebibytes % 1024 == 0
        return f"{mebibytes // 1024}Gi" if whole else f"{mebibytes}Mi"
    return str(Quantity(nanos, "BinarySI" if binary else "DecimalSI"))


def reading(
    entry: PooledDevice, kind: str, domain: str, name: str
) -> DeviceAttribute | DeviceCapacity | None:
    """Return an attribute or capacity as a selector finds it."""
    values: dict[str, DeviceAttribute] | dict[str, DeviceCapacity]
    values = entry.device.attributes if kind == "attributes" else entry.device.capacity
    if domain == entry.id.driver and name in values:
        return values[name]
    return values.get(f"{domain}/{name}")


def values_seen(clause: str, entry: PooledDevice, profile: Profile) -> str:
    """Return the values that `clause` reads of the device, such as ``type "gpu"``."""
    compiled = compile_selector(clause, profile)
    if not isinstance(compiled, Program):
        return ""
    shown = []
    for read in compiled.reads:
        if read.kind == "driver":
            shown.append(f"driver {entry.id.driver}")
        elif read.kind in {"attributes", "capacity"} and read.name:
            shown.append(_shown(read.name, reading(entry, read.kind, read.domain, read.name)))
    text = ", ".join(dict.fromkeys(shown[:_MOST_SHOWN]))
    return text + (", ..." if len(shown) > _MOST_SHOWN else "")


def _shown(name: str, found: DeviceAttribute | DeviceCapacity | None) -> str:
    if found is None:
        return f"no {name}"
    value = found.value
    if isinstance(value, bool):
        return f"{name} {str(value).lower()}"
    if isinstance(value, str) and getattr(found, "string", None) is not None:
        return f'{name} "{value[:_LONGEST_VALUE]}"'
    if getattr(found, "version", None) is not None:
        return f"{name} {value} (a version)"
    return f"{name} {value}"


def short_text(clause: str, profile: Profile) -> str:
    """Return `clause` for people: without the path to the device's own domain."""
    bound = comparison(clause, profile)
    if isinstance(bound, Bound):
        return f"{bound.name} {'>' if bound.strict else '>='} {bound.threshold}"
    member = _MEMBER.match(clause)
    if member:
        return f"{member[2]} is published"
    return _DOMAIN.sub("", clause)
