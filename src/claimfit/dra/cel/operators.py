"""The operators of CEL on values: arithmetic with overflow, order, membership, conversion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from claimfit.dra.cel import go_text
from claimfit.dra.cel.comparison import compare, contains, is_ordered
from claimfit.dra.cel.values import (
    Duration,
    EvalError,
    MapValue,
    MutableList,
    Opaque,
    Panic,
    Timestamp,
    TypeValue,
    Uint,
    no_such_overload,
    size,
    type_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.cel.values import Value


__all__ = ["SINGLETONS", "duration", "int64", "timestamp", "uint64"]

_INT64: Final = 1 << 63
_UINT64: Final = 1 << 64
_SECOND: Final = 10**9
_MOST_ITEMS: Final = 4_000_000
"""Items of one list: going through them costs more than any evaluation may."""


def int64(value: int) -> int:
    """Return `value`, or raise when it is beyond int64."""
    if -_INT64 <= value < _INT64:
        return value
    raise EvalError("integer overflow")


def uint64(value: int) -> Uint:
    """Return `value` as uint, or raise when it is negative or beyond uint64."""
    if 0 <= value < _UINT64:
        return Uint(value)
    raise EvalError("unsigned integer overflow")


def duration(nanos: int) -> Duration:
    """Return a duration, or raise when it is beyond int64 nanoseconds."""
    if -_INT64 <= nanos < _INT64:
        return Duration(nanos)
    raise EvalError("duration overflow")


def timestamp(nanos: int, offset_seconds: int) -> Timestamp:
    """Return a moment, or raise when it is outside the years 1 to 9999."""
    if go_text.EARLIEST_SECOND <= nanos // _SECOND <= go_text.LATEST_SECOND:
        return Timestamp(nanos, offset_seconds)
    raise EvalError("timestamp overflow")


# --- arithmetic -----------------------------------------------------------------------------------


def _add(left: Value, right: Value) -> Value:
    kind = type(left)
    if kind is int:
        return int64(left + right) if type(right) is int else _refused()  # type: ignore[operator,arg-type]
    if kind is str:
        return left + right if type(right) is str else _refused()  # type: ignore[operator]
    if isinstance(left, list):
        return _concatenated(left, right)
    if isinstance(left, Uint):
        return uint64(int(left) + right) if type(right) is Uint else _refused()
    if kind is float or kind is bytes:
        return left + right if type(right) is kind else _refused()  # type: ignore[operator]
    if isinstance(left, Duration):
        if isinstance(right, Duration):
            return duration(left.nanos + right.nanos)
        if isinstance(right, Timestamp):
            return timestamp(left.nanos + right.nanos, right.offset_seconds)
        return _refused()
    if isinstance(left, Timestamp):
        if isinstance(right, Duration):
            return timestamp(left.nanos + right.nanos, left.offset_seconds)
        return _refused()
    raise _unsupported("_+_", left)


def _refused() -> Value:
    """Refuse a second operand."""
    raise no_such_overload()


def _unsupported(function: str, first: Value) -> EvalError:
    """Return the error for a first operand without that operation.

    Strings, durations and timestamps dispatch on their own in cel-go, and name no function then.
    """
    return no_such_overload("" if isinstance(first, str | Duration | Timestamp) else function)


def _concatenated(left: list[Value], right: Value) -> Value:
    if not isinstance(right, list):
        return _refused()
    if len(left) + len(right) > _MOST_ITEMS:
        raise Panic("a list of %s items is not built", len(left) + len(right))
    if isinstance(left, MutableList):
        left.extend(right)
        return left
    return left + right


def _subtract(left: Value, right: Value) -> Value:
    kind = type(left)
    if kind is int:
        return int64(left - right) if type(right) is int else _refused()  # type: ignore[operator,arg-type]
    if isinstance(left, Uint):
        return uint64(int(left) - int(right)) if isinstance(right, Uint) else _refused()
    if isinstance(left, float):
        return left - right if isinstance(right, float) else _refused()
    if isinstance(left, Duration):
        return duration(left.nanos - right.nanos) if isinstance(right, Duration) else _refused()
    if isinstance(left, Timestamp):
        if isinstance(right, Duration):
            return timestamp(left.nanos - right.nanos, left.offset_seconds)
        if isinstance(right, Timestamp):
            return duration(left.nanos - right.nanos)
        return _refused()
    raise _unsupported("_-_", left)


def _multiply(left: Value, right: Value) -> Value:
    kind = type(left)
    if kind is int:
        return int64(left * right) if type(right) is int else _refused()  # type: ignore[operator,arg-type]
    if isinstance(left, Uint):
        return uint64(int(left) * int(right)) if isinstance(right, Uint) else _refused()
    if isinstance(left, float):
        return left * right if isinstance(right, float) else _refused()
    raise _unsupported("_*_", left)


def _divide(left: Value, right: Value) -> Value:
    kind = type(left)
    if isinstance(left, float):
        return _quotient(left, right) if isinstance(right, float) else _refused()
    if kind is not int and kind is not Uint:
        raise _unsupported("_/_", left)
    if type(right) is not kind:
        return _refused()
    if right == 0:
        raise EvalError("division by zero")
    return _whole_quotient(left, right)  # type: ignore[arg-type]  # both of kind


def _whole_quotient(left: int, right: int) -> Value:
    """Return the quotient rounded towards zero."""
    whole = abs(left) // abs(right)
    if isinstance(left, Uint):
        return Uint(whole)
    return int64(-whole if (left < 0) != (right < 0) else whole)


def _quotient(left: float, right: float) -> float:
    """Return the IEEE quotient, zero divisors included."""
    if right:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _remainder(left: Value, right: Value) -> Value:
    kind = type(left)
    if kind is not int and kind is not Uint:
        raise _unsupported("_%_", left)
    if type(right) is not kind:
        return _refused()
    if right == 0:
        raise EvalError("modulus by zero")
    return _whole_remainder(left, right)  # type: ignore[arg-type]  # both of kind


def _whole_remainder(left: int, right: int) -> Value:
    """Return the remainder with the sign of `left`."""
    rest = abs(left) % abs(right)
    if isinstance(left, Uint):
        return Uint(rest)
    if left == -_INT64 and right == -1:
        raise EvalError("integer overflow")
    return -rest if left < 0 else rest


def _negate(value: Value) -> Value:
    if type(value) is int:
        return int64(-value)
    if isinstance(value, float):
        return -value
    if isinstance(value, Duration):
        return duration(-value.nanos)
    raise no_such_overload() if type(value) is bool else _unsupported("-_", value)


def _not(value: Value) -> Value:
    if type(value) is bool:
        return not value
    return _refused()


# --- order, membership, size ----------------------------------------------------------------------


def _ordering(sign: str, accept: frozenset[int]) -> Callable[[Value, Value], Value]:
    def ordered(left: Value, right: Value) -> Value:
        if not is_ordered(left):
            raise _unsupported(sign, left)
        return compare(left, right) in accept

    return ordered


def _in(value: Value, items: Value) -> Value:
    if isinstance(items, list):
        return contains(items, value)
    if isinstance(items, MapValue):
        return items.has(value)
    return _refused()


def _size(value: Value) -> Value:
    found = None if isinstance(value, Opaque) else size(value)
    if found is None:
        raise _unsupported("size", value)
    return found


def _matches(value: Value, pattern: Value) -> Value:
    if not isinstance(value, str):
        raise _unsupported("matches", value)
    if not isinstance(pattern, str):
        return _refused()
    from claimfit.dra.cel.regular_expressions import compiled

    return compiled(pattern).search(value) is not None


def _type(value: Value) -> Value:
    return TypeValue(type_name(value))


def _dyn(value: Value) -> Value:
    return value


SINGLETONS: Final[dict[str, Callable[..., Value]]] = {
    "_+_": _add,
    "_-_": _subtract,
    "_*_": _multiply,
    "_/_": _divide,
    "_%_": _remainder,
    "-_": _negate,
    "!_": _not,
    "_<_": _ordering("_<_", frozenset((-1,))),
    "_<=_": _ordering("_<=_", frozenset((-1, 0))),
    "_>_": _ordering("_>_", frozenset((1,))),
    "_>=_": _ordering("_>=_", frozenset((0, 1))),
    "@in": _in,
    "size": _size,
    "matches": _matches,
    "type": _type,
    "dyn": _dyn,
}
"""Functions that look at their operands themselves, by name: one for all overloads."""
