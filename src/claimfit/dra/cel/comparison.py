"""Equality, order and membership of values, with the errors that cel-go makes of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from claimfit.dra.cel.values import (
    NUMERIC,
    Duration,
    EvalError,
    MapValue,
    Opaque,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    _Missing,
    map_key,
    no_such_overload,
)

if TYPE_CHECKING:
    from claimfit.dra.cel.values import Value

__all__ = ["compare", "constant_keys", "contains", "different", "equal", "is_ordered", "same"]


def equal(left: Value, right: Value) -> bool:
    """Whether two values are equal; raises where cel-go makes an error of it.

    Values of different types are not equal, numbers are compared across their types, and a value
    of Kubernetes' own types on the left refuses every other type.
    """
    kind = type(left)
    if left is None or right is None:
        return left is right
    if kind is str or kind is bool or kind is bytes:
        return kind is type(right) and left == right
    if kind in NUMERIC:
        return type(right) in NUMERIC and left == right
    if isinstance(left, list):
        return isinstance(right, list) and _lists_equal(left, right)
    if isinstance(left, MapValue):
        return isinstance(right, MapValue) and _maps_equal(left, right)
    if isinstance(left, Opaque):
        return left.equals(right)
    return _others_equal(left, right)


def _others_equal(left: Value, right: Value) -> bool:
    if isinstance(left, Duration):
        return isinstance(right, Duration) and left.nanos == right.nanos
    if isinstance(left, Timestamp):
        return isinstance(right, Timestamp) and left.nanos == right.nanos
    if isinstance(left, Optional):
        if not isinstance(right, Optional):
            return False
        if isinstance(left.value, _Missing) or isinstance(right.value, _Missing):
            return left.value is right.value
        return equal(left.value, right.value)
    return isinstance(left, TypeValue) and isinstance(right, TypeValue) and left.name == right.name


def _lists_equal(left: list[Value], right: list[Value]) -> bool:
    return len(left) == len(right) and all(map(_not_different, left, right))


def _not_different(left: Value, right: Value) -> bool:
    """Whether two members do not differ; an error is no difference (as in cel-go)."""
    try:
        return equal(left, right)
    except EvalError:
        return True


def _maps_equal(left: MapValue, right: MapValue) -> bool:
    if len(left) != len(right):
        return False
    for key, value in left.items():
        other = right.find(key)
        if isinstance(other, _Missing) or not _not_different(value, other):
            return False
    return True


def same(left: Value, right: Value) -> bool:
    """Whether two values are equal, an error being no."""
    try:
        return equal(left, right)
    except EvalError:
        return False


def contains(items: list[Value], value: Value) -> bool:
    """Whether `value` is in `items`."""
    if type(value) is str:
        return value in items
    return any(same(value, item) for item in items)


_ORDERED: Final = frozenset((bool, str, bytes))


def compare(left: Value, right: Value) -> int:
    """Return -1, 0 or 1; raises for types without an order between them, and for NaN."""
    kind = type(left)
    if kind in NUMERIC:
        return _compare_numbers(left, right)
    if kind in _ORDERED:
        if type(right) is not kind:
            raise no_such_overload()
        return (left > right) - (left < right)  # type: ignore[operator]  # same kind, ordered
    if isinstance(left, Duration) and isinstance(right, Duration):
        return (left.nanos > right.nanos) - (left.nanos < right.nanos)
    if isinstance(left, Timestamp) and isinstance(right, Timestamp):
        return (left.nanos > right.nanos) - (left.nanos < right.nanos)
    raise no_such_overload()


def _compare_numbers(left: Value, right: Value) -> int:
    if isinstance(left, float) and math.isnan(left):
        raise EvalError("NaN values cannot be ordered")
    if type(right) not in NUMERIC:
        raise no_such_overload()
    if isinstance(right, float) and math.isnan(right):
        raise EvalError("NaN values cannot be ordered")
    return (left > right) - (left < right)  # type: ignore[operator]  # numbers, see above


def is_ordered(value: Value) -> bool:
    """Whether the type of `value` has an order."""
    kind = type(value)
    return kind in NUMERIC or kind in _ORDERED or kind in {Duration, Timestamp}


def different(left: Value, right: Value) -> bool:
    """Whether two values are not equal; what cannot be compared is different."""
    try:
        return not equal(left, right)
    except EvalError:
        return True


def constant_keys(items: list[Value]) -> frozenset[object] | None:
    """Return the keys that a constant list holds, equal numbers of other types included.

    None where an item is not of a basic type: then the list is searched.
    """
    keys: set[object] = set()
    for item in items:
        kind = type(item)
        if kind not in {bool, int, Uint, float, str}:
            return None
        keys.add(map_key(item))
        if isinstance(item, float):
            if item == item // 1:
                if -(2.0**63) < item < 2.0**63:
                    keys.add((int, int(item)))
                if 0 <= item < 2.0**64:
                    keys.add((Uint, int(item)))
        elif isinstance(item, int) and kind is not bool:
            keys.add((float, float(item)))
            if kind is int and item >= 0:
                keys.add((Uint, int(item)))
            if kind is Uint and item < 1 << 63:
                keys.add((int, int(item)))
    return frozenset(keys)
