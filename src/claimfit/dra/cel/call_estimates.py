"""Worst-case costs of library calls: cel-go's sets and lists, and what Kubernetes adds.

Rules: cel-go ext/sets.go and ext/lists.go; k8s.io/apiserver pkg/cel/library/cost.go.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from claimfit.dra.cel.declared_sizes import declared_size
from claimfit.dra.cel.estimate import LARGEST, UNKNOWN, CallEstimate, Operand, Range, exactly
from claimfit.dra.cel.syntax import Literal
from claimfit.dra.cel.unit_costs import ACCESSORS, PATTERN, STRING

if TYPE_CHECKING:
    from collections.abc import Callable

    _Estimate = Callable[[str, Operand | None, list[Operand]], CallEstimate | None]

__all__ = ["library_estimate"]

_ONE: Final = exactly(1)
_ADDRESS: Final = Range(4, 16)  # bytes of an IPv4 and of an IPv6 address
_LONGEST_NAME_PATTERN: Final = 128  # apiserver pkg/cel/limits.go MaxNameFormatRegexSize
_LONGEST_FORMAT: Final = 64  # the same, MaxFormatSize


def library_estimate(
    minor: int, function: str, overload: str, target: Operand | None, arguments: list[Operand]
) -> CallEstimate | None:
    """Return the cost of a call without its operands, None where the standard rules apply."""
    listed = _LISTS.get(overload)
    if listed is not None:
        return listed(target, arguments)
    if overload == "dra_includes_dyn_dyn":
        return CallEstimate(Range(0, 48))
    if function == "includes" and minor < 37:
        return None
    estimate = _BY_FUNCTION.get(function)
    return None if estimate is None else estimate(overload, target, arguments)


def _known(operand: Operand) -> Range:
    if operand.size is not None:
        return operand.size
    return declared_size(operand.path) or UNKNOWN


# --- cel-go: sets and lists -----------------------------------------------------------------------


def _allocated(factor: float, size: Range) -> CallEstimate:
    return CallEstimate(size.by(factor).plus(exactly(11)), size)


def _sets(factor: float) -> Callable[[Operand | None, list[Operand]], CallEstimate]:
    def estimate(_target: Operand | None, arguments: list[Operand]) -> CallEstimate:
        product = _known(arguments[0]).times(_known(arguments[1]))
        return CallEstimate(product.by(factor).plus(_ONE))

    return estimate


def _int_or(operand: Operand, default: int) -> int:
    node = operand.node
    if isinstance(node, Literal) and type(node.value) is int:
        return max(node.value, 0)
    return default


def _target(target: Operand | None) -> Range:
    return UNKNOWN if target is None else _known(target)


def _slice(target: Operand | None, arguments: list[Operand]) -> CallEstimate:
    start = _int_or(arguments[0], 0)
    end = _int_or(arguments[1], _target(target).high)
    return _allocated(1, exactly((end - start) & LARGEST))


def _flatten(target: Operand | None, arguments: list[Operand]) -> CallEstimate:
    depth = _int_or(arguments[0], LARGEST) if arguments else 1
    return _allocated(float(depth), _target(target))


def _squared(factor: float) -> Callable[[Operand | None, list[Operand]], CallEstimate]:
    def estimate(target: Operand | None, _arguments: list[Operand]) -> CallEstimate:
        size = _target(target)
        return _allocated(factor, size.times(size))

    return estimate


def _squared_keys(factor: float) -> Callable[[Operand | None, list[Operand]], CallEstimate]:
    def estimate(_target: Operand | None, arguments: list[Operand]) -> CallEstimate:
        size = _known(arguments[0])
        return _allocated(factor, size.times(size))

    return estimate


_SORTED: Final = {
    "int": 2.0,
    "uint": 2.0,
    "double": 2.0,
    "bool": 2.0,
    "google.protobuf.Duration": 2.0,
    "google.protobuf.Timestamp": 2.0,
    "string": 2.0 + STRING,
    "bytes": 2.0 + STRING,
}
_LISTS: Final[dict[str, Callable[[Operand | None, list[Operand]], CallEstimate]]] = {
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": lambda _, arguments: _allocated(1, exactly(_int_or(arguments[0], LARGEST))),
    "list_reverse": lambda target, _: _allocated(1, _target(target)),
    "list_distinct": _squared(2.0),
    **{f"list_{kind}_sort": _squared(factor) for kind, factor in _SORTED.items()},
    **{
        f"list_{kind}_sortByAssociatedKeys": _squared_keys(factor)
        for kind, factor in _SORTED.items()
    },
}


# --- Kubernetes -----------------------------------------------------------------------------------


def _one(_overload: str, _target: Operand | None, _arguments: list[Operand]) -> CallEstimate:
    return CallEstimate(_ONE)


def _walked(function: str) -> _Estimate:
    def estimate(
        _overload: str, target: Operand | None, _arguments: list[Operand]
    ) -> CallEstimate | None:
        if target is None:
            return None
        size = _known(target)
        if target.type.parameters:
            price = _ONE
            item = _member(target)
            if item.type.kind in {"string", "bytes"}:
                price = price.plus(_known(item).by(STRING))
            return CallEstimate(size.times(price))
        if function == "includes":
            return CallEstimate(size)
        return CallEstimate(size.by(STRING))

    return estimate


def _member(holder: Operand) -> Operand:
    path = (*holder.path, "@items") if holder.path else ()
    return Operand(None, holder.type.parameters[0], path, None)


def _first_argument(factor: float, *, sized: bool = False) -> _Estimate:
    def estimate(
        _overload: str, _target: Operand | None, arguments: list[Operand]
    ) -> CallEstimate | None:
        if not arguments:
            return None
        size = _known(arguments[0])
        return CallEstimate(size.by(factor), size if sized else None)

    return estimate


def _transformed(
    _overload: str, target: Operand | None, _arguments: list[Operand]
) -> CallEstimate | None:
    if target is None:
        return None
    size = _known(target)
    return CallEstimate(size.by(STRING), size)


def _replaced(
    _overload: str, target: Operand | None, arguments: list[Operand]
) -> CallEstimate | None:
    if target is None:
        return None
    size, old, new = _known(target), _known(arguments[0]), _known(arguments[1])
    high_kept = low_kept = high_count = low_count = 0
    if old.low == 0:
        high_count = min(size.high + 1, LARGEST)
        high_kept = size.high
    elif new.high <= old.low:
        high_kept = size.high
    else:
        high_count = _quotient(size.high, old.low)
    if old.high == 0:
        low_count = min(size.low + 1, LARGEST)
        low_kept = size.low
    elif old.high <= new.low:
        low_kept = size.low
    else:
        low_count = _quotient(size.low, old.high)
    result = Range(low_count, high_count).times(new).plus(Range(low_kept, high_kept))
    return CallEstimate(size.by(2 * STRING), result)


def _quotient(size: int, part: int) -> int:
    return min(math.ceil(float(size) / float(part)), LARGEST)


def _split(_overload: str, target: Operand | None, arguments: list[Operand]) -> CallEstimate | None:
    if target is None:
        return None
    size = _known(target)
    most = size.high
    if len(arguments) > 1:
        node = arguments[1].node
        if isinstance(node, Literal) and type(node.value) is int:
            most = node.value & LARGEST
    return CallEstimate(size.by(2 * STRING), Range(0, most))


def _joined(
    _overload: str, target: Operand | None, arguments: list[Operand]
) -> CallEstimate | None:
    if target is None:
        return None
    count = _known(target)
    size = Range(0, 0)
    if target.type.parameters:
        size = count.times(_known(_member(target)))
    if arguments:
        separators = Range(max(count.low - 1, 0), max(count.high - 1, 0))
        size = size.plus(_known(arguments[0]).times(separators))
    return CallEstimate(size.by(STRING), size)


def _found(_overload: str, target: Operand | None, arguments: list[Operand]) -> CallEstimate | None:
    if target is None or not arguments:
        return None
    size = _known(target)
    cost = size.plus(_ONE).by(STRING).times(_known(arguments[0]).by(PATTERN))
    return CallEstimate(cost, Range(0, size.high))


def _ip(overload: str, target: Operand | None, arguments: list[Operand]) -> CallEstimate | None:
    if overload == "cidr_ip":
        return CallEstimate(_ONE)
    return _first_argument(STRING)(overload, target, arguments)


def _contains_ip(overload: str, _target: Operand | None, arguments: list[Operand]) -> CallEstimate:
    cost = _ADDRESS.plus(_ADDRESS).by(STRING)
    if overload == "cidr_contains_ip_string":
        cost = cost.plus(_known(arguments[0]).by(STRING))
    return CallEstimate(cost)


def _contains_cidr(
    overload: str, _target: Operand | None, arguments: list[Operand]
) -> CallEstimate:
    cost = _ADDRESS.plus(_ADDRESS).by(STRING).plus(_ADDRESS.by(STRING)).plus(_ONE)
    if overload == "cidr_contains_cidr_string":
        cost = cost.plus(_known(arguments[0]).by(STRING))
    return CallEstimate(cost)


def _validated(_overload: str, _target: Operand | None, arguments: list[Operand]) -> CallEstimate:
    pattern = _LONGEST_NAME_PATTERN * PATTERN
    return CallEstimate(_known(arguments[0]).by(STRING).by(pattern))


def _equality(
    _overload: str, _target: Operand | None, arguments: list[Operand]
) -> CallEstimate | None:
    left, right = arguments
    if left.type.name != right.type.name or left.type.kind not in {"opaque", "struct"}:
        return None
    name = left.type.name
    if name == "kubernetes.NamedFormat":
        return CallEstimate(Range(1, _LONGEST_FORMAT).by(STRING))
    if name == "kubernetes.URL":
        size = _ONE if right.size is None else right.size
        return CallEstimate(Range(1, size.high).by(STRING))
    return CallEstimate(_ONE) if name in _ONE_COST_EQUALITY else None


_ONE_COST_EQUALITY: Final = frozenset(
    ("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver")
)
_WALKED: Final = ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes")
_PARSED: Final = ("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver")

_BY_FUNCTION: Final[dict[str, _Estimate]] = {
    "check": lambda *_: CallEstimate(exactly(350_000)),
    **dict.fromkeys(ACCESSORS, _one),
    **{name: _walked(name) for name in _WALKED},
    "url": _first_argument(STRING, sized=True),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _transformed),
    "replace": _replaced,
    "split": _split,
    "join": _joined,
    "find": _found,
    "findAll": _found,
    **dict.fromkeys(_PARSED, _first_argument(STRING)),
    "ip": _ip,
    "ip.isCanonical": _first_argument(2 * STRING),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validated,
    "_==_": _equality,
}
