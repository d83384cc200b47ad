"""Fields, keys and indexes of values, and the question whether they are there.

The rules are those of cel-go (interpreter/attributes.go): maps are asked for the key, lists for the
index, and anything else has no members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.dra.cel.printing import text
from claimfit.dra.cel.values import MISSING, EvalError, MapValue, Uint, go_type, type_name

if TYPE_CHECKING:
    from claimfit.dra.cel.values import Value


__all__ = ["as_key", "member", "member_if_present", "plain_map"]

_INT64 = 1 << 63


def member(holder: Value, key: Value) -> Value:
    """Return the value at `key`; raises when there is none."""
    found = member_if_present(holder, key)
    if found is MISSING:
        if isinstance(holder, list):
            raise EvalError("index out of bounds: %s", text(key))
        raise EvalError("no such key: %s", text(key))
    return found  # type: ignore[return-value]  # not MISSING


def member_if_present(holder: Value, key: Value) -> object:
    """Return the value at `key` or `MISSING`; raises when a list is asked for no number."""
    if isinstance(holder, MapValue):
        return holder.find(key)
    if isinstance(holder, list):
        place = _index(key)
        return holder[place] if 0 <= place < len(holder) else MISSING
    return MISSING


def _index(key: Value) -> int:
    if type(key) is int:
        return key
    if isinstance(key, float):
        if key == key // 1 and -_INT64 < key < _INT64:
            return int(key)
        raise EvalError("unsupported index value %s in list", text(key))
    if isinstance(key, Uint):
        if key < _INT64:
            return int(key)
        raise EvalError("unsupported index value %s in list", text(key))
    raise EvalError("unsupported index type '%s' in list", type_name(key))


def as_key(value: Value) -> Value:
    """Return a computed key; raises for types that cannot be one."""
    if isinstance(value, str | int | float):
        return value
    raise EvalError("invalid qualifier type: %s", go_type(value))


def plain_map(value: Value) -> Value:
    """Return what an optional holds, as members are looked up in it: maps without defaults."""
    return MapValue(value.entries) if isinstance(value, MapValue) else value
