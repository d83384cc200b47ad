"""Functions on lists, sets, maps and optionals."""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING, Final

from claimfit.dra.cel.comparison import compare, contains, is_ordered, same
from claimfit.dra.cel.meter import LIMIT_EXCEEDED
from claimfit.dra.cel.operators import SINGLETONS, duration
from claimfit.dra.cel.printing import text
from claimfit.dra.cel.values import (
    MISSING,
    NONE,
    Duration,
    EvalError,
    MapValue,
    MutableMap,
    Optional,
    Panic,
    Timestamp,
    Uint,
    map_key,
    no_such_overload,
    type_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.cel.values import Value


__all__ = ["BOUND"]

_MOST_ATTRIBUTE_VALUES: Final = 48  # k8s.io/api/resource ResourceSliceMaxAttributeValuesPerDevice
_MOST_RANGE: Final = 1_000_000
"""Items that `lists.range` makes: each costs one, and no evaluation may cost more."""
_MOST_RANGE_37: Final = 1_000_000


def _is_sorted(items: list[Value]) -> Value:
    for place, item in enumerate(items):
        if not is_ordered(item):
            raise no_such_overload()
        if place:
            try:
                if compare(items[place - 1], item) == 1:
                    return False
            except EvalError:
                continue  # cel-go takes an error for not greater
    return True


def _extreme(name: str, replace: int) -> Callable[[list[Value]], Value]:
    def found(items: list[Value]) -> Value:
        if not items:
            raise EvalError("%s called on empty list", name)
        best = items[0]
        for item in items:
            if not is_ordered(item):
                raise no_such_overload()
            try:
                if compare(best, item) == replace:
                    best = item
            except EvalError:
                continue
        return best

    return found


def _sum(zero: Value) -> Callable[[list[Value]], Value]:
    add = SINGLETONS["_+_"]

    def total(items: list[Value]) -> Value:
        result = zero
        for item in items:
            result = add(result, item)
        return result

    return total


def _index_of(items: list[Value], value: Value) -> Value:
    return next((place for place, item in enumerate(items) if same(item, value)), -1)


def _last_index_of(items: list[Value], value: Value) -> Value:
    places = range(len(items) - 1, -1, -1)
    return next((place for place in places if same(items[place], value)), -1)


# --- cel-go ext/lists.go --------------------------------------------------------------------------


def _slice(items: list[Value], start: int, end: int) -> Value:
    if start < 0 or end < 0:
        raise EvalError("cannot slice(%s, %s), negative indexes not supported", start, end)
    if start > end:
        raise EvalError(
            "cannot slice(%s, %s), start index must be less than or equal to end index", start, end
        )
    if end > len(items):
        raise EvalError("cannot slice(%s, %s), list is length %s", start, end, len(items))
    return items[start:end]


def _flatten(items: Value, depth: Value = 1) -> Value:
    if not isinstance(items, list) or type(depth) is not int:
        raise EvalError("no such overload: %s.flatten()", type_name(items))
    if depth < 0:
        raise EvalError("level must be non-negative")
    return _flattened(items, depth)


def _flattened(items: list[Value], depth: int) -> list[Value]:
    found: list[Value] = []
    for item in items:
        if isinstance(item, list) and depth:
            found += _flattened(item, depth - 1)
        else:
            found.append(item)
    return found


def _reversed(items: list[Value]) -> Value:
    return items[::-1]


def _sort(items: Value) -> Value:
    if not isinstance(items, list):
        raise no_such_overload("sort")
    return _sorted_by(items, items)


def _sort_by_keys(items: Value, keys: Value) -> Value:
    if not isinstance(items, list) or not isinstance(keys, list):
        raise no_such_overload("@sortByAssociatedKeys")
    return _sorted_by(items, keys)


def _sorted_by(items: list[Value], keys: list[Value]) -> list[Value]:
    if len(items) != len(keys):
        raise EvalError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated "
            "keys list, but got %s and %s elements respectively",
            len(items),
            len(keys),
        )
    if not items:
        return items
    first = type_name(keys[0])
    if not is_ordered(keys[0]):
        raise EvalError("list elements must be comparable")
    if len(keys) > 1 and any(type_name(key) != first for key in keys):
        raise EvalError("list elements must have the same type")

    def order(one: int, two: int) -> int:
        return _compared(keys[one], keys[two])

    places = sorted(range(len(keys)), key=cmp_to_key(order))
    return [items[place] for place in places]


def _compared(left: Value, right: Value) -> int:
    try:
        return compare(left, right)
    except EvalError:
        return 0  # NaN: cel-go takes an error for not less


def _range(count: int) -> Value:
    if count > _MOST_RANGE:
        raise Panic(LIMIT_EXCEEDED)
    return list(range(max(count, 0)))


def _limited_range(count: int) -> Value:
    """cel-go 0.29."""
    if count < 0:
        raise EvalError("lists.range: size must be non-negative, got %s", count)
    if count > _MOST_RANGE_37:
        raise EvalError("lists.range: size %s exceeds maximum allowed (%s)", count, _MOST_RANGE_37)
    return list(range(count))


def _distinct(items: list[Value]) -> Value:
    if all(type(item) is str for item in items):
        return list(dict.fromkeys(items))  # strings hash
    found: list[Value] = []
    for item in items:
        if not any(same(item, other) for other in found):
            found.append(item)
    return found


# --- sets -----------------------------------------------------------------------------------------


def _sets_contain(items: list[Value], part: list[Value]) -> Value:
    return all(contains(items, item) for item in part)


def _sets_intersect(left: list[Value], right: list[Value]) -> Value:
    return any(contains(right, item) for item in left)


def _sets_equivalent(left: list[Value], right: list[Value]) -> Value:
    return bool(_sets_contain(left, right)) and bool(_sets_contain(right, left))


# --- includes -------------------------------------------------------------------------------------


def _includes(target: Value, value: Value) -> Value:
    if isinstance(target, list):
        return any(same(item, value) for item in target)
    return same(target, value)


def _includes_few(target: Value, value: Value) -> Value:
    """Kubernetes 1.36: lists beyond the limit of a device's values are refused."""
    if isinstance(target, list):
        for place, item in enumerate(target):
            if place >= _MOST_ATTRIBUTE_VALUES:
                raise EvalError(
                    "'includes' function cannot be applied to lists longer than %s values",
                    _MOST_ATTRIBUTE_VALUES,
                )
            if same(item, value):
                return True
        return False
    return same(target, value)


# --- maps and optionals ---------------------------------------------------------------------------


def _insert(entries: MapValue, key: Value, value: Value) -> MapValue:
    if entries.find(key) is not MISSING:
        raise EvalError("insert failed: key %s already exists", text(key))
    target = entries if isinstance(entries, MutableMap) else MutableMap(dict(entries.entries))
    target.entries[map_key(key)] = (key, value)
    return target


def _insert_all(entries: MapValue, more: MapValue) -> Value:
    target = entries
    for key, value in list(more.items()):
        target = _insert(target, key, value)
    return target


def _value(optional: Optional) -> Value:
    if optional is NONE or optional.value is MISSING:
        raise EvalError("optional.none() dereference")
    return optional.value  # type: ignore[return-value]  # not MISSING, see above


def _is_zero(value: Value) -> bool:
    if value is None:
        return True
    if isinstance(value, bool | int | float | str | bytes | list):
        return not value
    if isinstance(value, MapValue):
        return not value.entries
    if isinstance(value, Duration):
        return value.nanos == 0
    if isinstance(value, Timestamp):
        return value.nanos == -62135596800 * 10**9  # Go's zero time: the year 1
    return False


def _of_non_zero(value: Value) -> Value:
    return NONE if _is_zero(value) else Optional(value)


def _unwrap(items: list[Value]) -> Value:
    found: list[Value] = []
    for item in items:
        if not isinstance(item, Optional):
            raise EvalError("value %s is not optional", text(item))
        if item.value is not MISSING:
            found.append(item.value)  # type: ignore[arg-type]  # not MISSING
    return found


UNGUARDED: Final[dict[str, Callable[..., Value]]] = {
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
}
"""Overloads that check their operands themselves."""

SINGLES: Final[dict[str, Callable[..., Value]]] = {
    "sort": _sort,
    "@sortByAssociatedKeys": _sort_by_keys,
}
"""Functions that look at their operands themselves, by name: one for all overloads."""

_ORDERED: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ZERO: Final[dict[str, Value]] = {
    "int": 0,
    "uint": Uint(0),
    "double": 0.0,
    "duration": duration(0),
}

BOUND: Final[dict[str, Callable[..., Value]]] = {
    **{f"list_{kind}_is_sorted_bool": _is_sorted for kind in _ORDERED},
    **{f"list_{kind}_max_{kind}": _extreme("max", -1) for kind in _ORDERED},
    **{f"list_{kind}_min_{kind}": _extreme("min", 1) for kind in _ORDERED},
    **{f"list_{kind}_sum_{kind}": _sum(zero) for kind, zero in _ZERO.items()},
    "list_a_index_of_int": _index_of,
    "list_a_last_index_of_int": _last_index_of,
    "list_slice": _slice,
    "lists_range": _range,
    "list_reverse": _reversed,
    "list_distinct": _distinct,
    "list_sets_contains_list": _sets_contain,
    "list_sets_intersects_list": _sets_intersect,
    "list_sets_equivalent_list": _sets_equivalent,
    "dra_includes_dyn_dyn": _includes_few,
    "list_includes_dyn_dyn": _includes,
    "@mapInsert_map_key_value": _insert,
    "@mapInsert_map_map": _insert_all,
    "optional_of": Optional,
    "optional_none": lambda: NONE,
    "optional_ofNonZeroValue": _of_non_zero,
    "optional_hasValue": lambda optional: optional.value is not MISSING,
    "optional_value": _value,
    "optional_unwrap": _unwrap,
    "optional_unwrapOpt": _unwrap,
    "list_first": lambda items: Optional(items[0]) if items else NONE,
    "list_last": lambda items: Optional(items[-1]) if items else NONE,
}
"""What each overload does with operands of its types, by its name."""

SINCE_37: Final[dict[str, Callable[..., Value]]] = {"lists_range": _limited_range}
"""Overloads that changed in 1.37."""
