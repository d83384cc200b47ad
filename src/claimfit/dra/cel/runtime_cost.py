"""What a call costs at run time, from its operands and its result.

Factors and rules: cel-go interpreter/runtimecost.go and ext, and k8s.io/apiserver
pkg/cel/library/cost.go. A string counts a tenth per character, a pattern a quarter.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from claimfit.dra.cel.formats import Format
from claimfit.dra.cel.network import CIDR, IP
from claimfit.dra.cel.quantities import CelQuantity
from claimfit.dra.cel.semver import Semver
from claimfit.dra.cel.unit_costs import ACCESSORS, PATTERN, STRING
from claimfit.dra.cel.urls import URL
from claimfit.dra.cel.values import MISSING, EvalError, MapValue, Opaque, Optional, Panic, size

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.cel.values import Value

    Operand = Value | EvalError

__all__ = ["LIST_COST", "MAP_COST", "UNCOSTABLE", "call_cost", "known_ahead", "uncostable"]

LIST_COST: Final = 10
MAP_COST: Final = 30

_ONE_COST_EQUALITY: Final = (CelQuantity, IP, CIDR, Format, URL, Semver)


def call_cost(
    minor: int, function: str, overload: str, operands: list[Operand], result: Operand
) -> int:
    """Return the cost of one call, errors among its operands included."""
    tracked = _TRACKED.get(overload)
    if tracked is not None:
        cost = tracked(operands, result)
        if minor >= 37 and overload == "list_flatten_int" and cost < LIST_COST + 1:
            return _allocated(1.0, _size(operands[0]))  # a negative depth counts as 1 there
        return cost
    if function == "includes" and minor >= 37:
        return _traversal(operands[0])
    estimate = _BY_FUNCTION.get(function)
    if estimate is not None:
        found = estimate(overload, operands, result)
        if found is not None:
            return found
    return _by_overload(minor, overload, operands)


def known_ahead(overload: str, operands: list[Value]) -> int:
    """Return the cost of a call as far as its operands tell, 0 for most.

    These take time or memory that grows faster than what made the operands; a call that the limit
    will end need not be carried out.
    """
    if overload == "lists_range":
        count = operands[0]
        return count if type(count) is int else 0
    if overload in _AHEAD and all(isinstance(operand, list) for operand in operands):
        return _TRACKED[overload]([*operands], None)
    return 0


def _size(value: Operand) -> int:
    """Return a size for the model of Kubernetes: what has none counts one."""
    found = None if isinstance(value, EvalError) else size(value)
    return 1 if found is None else found


def _size_within(value: Operand) -> int:
    """Return a size for the model of cel-go, which looks into optionals."""
    while isinstance(value, Optional) and value.value is not MISSING:
        value = value.value  # type: ignore[assignment]  # not MISSING
    return _size(value)


def _up(amount: float) -> int:
    return math.ceil(amount)


# --- cel-go ---------------------------------------------------------------------------------------

_PREFIXES: Final = frozenset(("starts_with_string", "ends_with_string"))
_FIRST_STRING: Final = frozenset(
    ("string_to_bytes", "bytes_to_string", "strings_quote", "string_format")
)
_COMPARED: Final = frozenset(
    f"{relation}_{kind}"
    for relation in ("less", "greater", "less_equals", "greater_equals")
    for kind in ("string", "bytes")
) | {"equals", "not_equals"}


def _by_overload(minor: int, overload: str, operands: list[Operand]) -> int:
    if overload in _COMPARED:
        return _up(min(_size_within(operands[0]), _size_within(operands[1])) * STRING)
    if overload in _PREFIXES:
        return _up(_size_within(operands[1 if minor >= 37 else 0]) * STRING)
    if overload in _FIRST_STRING:
        return _up(_size_within(operands[0]) * STRING)
    if overload == "in_list":
        return _size_within(operands[1])
    if overload in {"add_string", "add_bytes"}:
        return _up((_size_within(operands[0]) + _size_within(operands[1])) * STRING)
    if overload == "matches_string" or (overload == "matches" and minor >= 37):
        return _pattern(_size_within(operands[0]), _size_within(operands[1]))
    if overload == "contains_string":
        one, two = (_up(_size_within(operand) * STRING) for operand in operands)
        return one * two
    return 1


def _pattern(characters: int, pattern: int) -> int:
    return _up((1.0 + characters) * STRING) * _up(pattern * PATTERN)


# --- cel-go ext -----------------------------------------------------------------------------------


def _allocated(factor: float, items: int) -> int:
    return int(items * factor) + 1 + LIST_COST


def _sets(factor: float) -> Callable[[list[Operand], Operand], int]:
    return lambda operands, _: 1 + int(_size(operands[0]) * _size(operands[1]) * factor)


def _compared_with_itself(place: int) -> Callable[[list[Operand], Operand], int]:
    def cost(operands: list[Operand], _result: Operand) -> int:
        items = operands[place]
        if not isinstance(items, list):
            raise Panic(_NO_LIST)
        first = items[0] if items else None
        factor = 2.0 + STRING if isinstance(first, str | bytes) else 2.0
        return _allocated(factor, len(items) ** 2)

    return cost


def _flatten(operands: list[Operand], _result: Operand) -> int:
    depth = 1.0
    if len(operands) == 2:
        if type(operands[1]) is not int:
            raise Panic(_NO_INT)
        depth = float(operands[1])
    return _allocated(depth, _size(operands[0]))


_NOT: Final = "internal error: interface conversion: *types.Err is not traits.Lister"
_NO_LIST: Final = f"{_NOT}: missing method Add"
_NO_INT: Final = "internal error: interface conversion: ref.Val is *types.Err, not types.Int"
"""How cel-go ends when the cost of a call is computed whose operand failed."""


_SORTED: Final = (
    "int",
    "uint",
    "double",
    "bool",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "string",
    "bytes",
)
_AHEAD: Final = frozenset(
    (
        "list_distinct",
        "list_sets_contains_list",
        "list_sets_intersects_list",
        "list_sets_equivalent_list",
        *(f"list_{kind}_sort" for kind in _SORTED),
        *(f"list_{kind}_sortByAssociatedKeys" for kind in _SORTED),
    )
)
UNCOSTABLE: Final = {
    "list_distinct": 0,
    "list_flatten_int": 1,
    **{f"list_{kind}_sort": 0 for kind in _SORTED},
    **{f"list_{kind}_sortByAssociatedKeys": 1 for kind in _SORTED},
}
"""Overloads whose cost cannot be computed when the operand at that place failed."""


def uncostable(overload: str) -> Panic:
    """Return how cel-go ends the whole evaluation then."""
    return Panic(_NO_INT if overload == "list_flatten_int" else _NO_LIST)


def _of_result(_operands: list[Operand], result: Operand) -> int:
    return _allocated(1, _size(result))


_TRACKED: Final[dict[str, Callable[[list[Operand], Operand], int]]] = {
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "list_slice": _of_result,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _of_result,
    "list_reverse": _of_result,
    "list_distinct": _compared_with_itself(0),
    **{f"list_{kind}_sort": _compared_with_itself(0) for kind in _SORTED},
    **{f"list_{kind}_sortByAssociatedKeys": _compared_with_itself(1) for kind in _SORTED},
}


# --- Kubernetes -----------------------------------------------------------------------------------


def _traversal(value: Operand) -> int:
    """Return the cost of walking a value: strings and bytes by length, the rest by members."""
    if isinstance(value, str):
        return int(len(value.encode()) * STRING)
    if isinstance(value, bytes):
        return int(len(value) * STRING)
    if isinstance(value, list):
        return sum(map(_traversal, value))
    if isinstance(value, MapValue):
        return sum(_traversal(key) + _traversal(item) for key, item in value.items())
    return 1


def _walked(_overload: str, operands: list[Operand], _result: Operand) -> int:
    return _traversal(operands[0])


def _first(factor: float) -> Callable[[str, list[Operand], Operand], int | None]:
    return lambda _overload, operands, _result: _up(_size(operands[0]) * factor)


def _one(_overload: str, _operands: list[Operand], _result: Operand) -> int:
    return 1


def _joined(_overload: str, _operands: list[Operand], result: Operand) -> int:
    return _up(_size(result) * 2 * STRING)


def _found(_overload: str, operands: list[Operand], _result: Operand) -> int:
    return _pattern(_size(operands[0]), _size(operands[1]))


def _ip(overload: str, operands: list[Operand], _result: Operand) -> int:
    return 1 if overload == "cidr_ip" else _up(_size(operands[0]) * STRING)


def _contains_ip(overload: str, operands: list[Operand], _result: Operand) -> int:
    cost = _up(2 * _size(operands[0]) * STRING)
    if overload == "cidr_contains_ip_string":
        cost += _up(_size(operands[1]) * STRING)
    return cost


def _contains_cidr(overload: str, operands: list[Operand], _result: Operand) -> int:
    cost = _up(2 * _size(operands[0]) * STRING) + _up(_size(operands[0]) * STRING) + 1
    if overload == "cidr_contains_cidr_string":
        cost += _up(_size(operands[1]) * STRING)
    return cost


def _validated(_overload: str, operands: list[Operand], _result: Operand) -> int | None:
    form = operands[0]
    if not isinstance(form, Format):
        return None
    return _pattern(_size(operands[1]), form.regex_size)


def _equality(_overload: str, operands: list[Operand], _result: Operand) -> int | None:
    first = operands[0]
    return 1 if isinstance(first, Opaque) and isinstance(first, _ONE_COST_EQUALITY) else None


_BY_FUNCTION: Final[dict[str, Callable[[str, list[Operand], Operand], int | None]]] = {
    "check": lambda *_: 350_000,
    **dict.fromkeys(ACCESSORS, _one),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _walked),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _first(STRING)),
    **dict.fromkeys(("cidr", "isIP", "isCIDR"), _first(STRING)),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _first(STRING)),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _first(2 * STRING)),
    "join": _joined,
    "find": _found,
    "findAll": _found,
    "ip": _ip,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validated,
    "_==_": _equality,
}
