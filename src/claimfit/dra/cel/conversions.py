"""Conversions between the basic types, and what timestamps and durations are made of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from claimfit.dra.cel import go_text
from claimfit.dra.cel.operators import duration, int64, timestamp, uint64
from claimfit.dra.cel.values import EvalError, Uint

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.cel.values import Duration, Timestamp, Value

__all__ = ["BOUND"]

_SECOND: Final = 10**9
_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_UNSIGNED: Final = re.compile(r"[0-9]+", re.ASCII)


def _failed(source: str, target: str) -> EvalError:
    return EvalError(f"type conversion error from '{source}' to '{target}'")


def _string_to_int(text: str) -> Value:
    digits = text.lstrip("+-0")
    if _INTEGER.fullmatch(text) and len(digits) <= 19 and -(1 << 63) <= int(text) < 1 << 63:
        return int(text)
    raise _failed("string", "int")


def _string_to_uint(text: str) -> Value:
    if _UNSIGNED.fullmatch(text) and len(text.lstrip("0")) <= 20 and int(text) < 1 << 64:
        return Uint(text)
    raise _failed("string", "uint")


def _string_to_double(text: str) -> Value:
    value = go_text.parse_double(text)
    if value is None:
        raise _failed("string", "double")
    return value


def _string_to_bool(text: str) -> Value:
    value = go_text.parse_bool(text)
    if value is None:
        raise _failed("string", "bool")
    return value


def _string_to_duration(text: str) -> Value:
    value = go_text.parse_duration(text)
    if value is None:
        raise _failed("string", "google.protobuf.Duration")
    return value


def _string_to_timestamp(text: str) -> Value:
    value = go_text.parse_timestamp(text)
    if value is None:
        raise _failed("string", "google.protobuf.Timestamp")
    return timestamp(value.nanos, value.offset_seconds)


def _double_to_int(value: float) -> Value:
    if not -(2.0**63) < value < 2.0**63:
        raise EvalError("integer overflow")
    return int(value)


def _double_to_uint(value: float) -> Value:
    if not 0 <= value < 2.0**64:
        raise EvalError("unsigned integer overflow")
    return Uint(int(value))


def _bytes_to_string(value: bytes) -> Value:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvalError("invalid UTF-8 in bytes, cannot convert to string") from None


def _same(value: Value) -> Value:
    return value


def _int_to_timestamp(seconds: int) -> Value:
    return timestamp(seconds * _SECOND, 0)


# --- parts of times -------------------------------------------------------------------------------

_PARTS: Final = {
    "year": 0,
    "month": 1,
    "day_of_year": 2,
    "day_of_month": 3,
    "day_of_month_1_based": 4,
    "day_of_week": 5,
    "hours": 6,
    "minutes": 7,
    "seconds": 8,
    "milliseconds": 9,
}


def _part(moment: Timestamp, offset_seconds: int, part: int) -> int:
    seconds, nanos = divmod(moment.nanos, _SECOND)
    days, rest = divmod(seconds + offset_seconds, 86400)
    year, month, day = go_text.civil_from_days(days)
    return (
        year,
        month - 1,
        days - go_text.days_from_civil(year, 1, 1),
        day - 1,
        day,
        (days + 4) % 7,
        rest // 3600,
        rest % 3600 // 60,
        rest % 60,
        nanos // 10**6,
    )[part]


def _utc_part(part: int) -> Callable[[Timestamp], Value]:
    return lambda moment: _part(moment, 0, part)


def _zone_part(part: int) -> Callable[[Timestamp, str], Value]:
    return lambda moment, zone: _part(moment, _offset(moment, zone), part)


def _offset(moment: Timestamp, zone: str) -> int:
    """Return the seconds east of UTC of a zone: its name, or hours and minutes."""
    hours, colon, minutes = zone.partition(":")
    if colon:
        for part in (hours, minutes):
            if not _INTEGER.fullmatch(part) or len(part) > 18:
                message = f"strconv.Atoi: parsing {go_text.quoted(part)}: invalid syntax"
                raise EvalError(message)
        sign = -1 if zone.startswith("-") else 1
        return (int(hours) * 60 + sign * int(minutes)) * 60
    if zone in {"", "UTC"}:
        return 0
    from datetime import UTC, datetime, timedelta
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        info = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise EvalError("unknown time zone %s", zone) from None
    seconds = moment.nanos // _SECOND
    try:
        there = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        found = there.astimezone(info).utcoffset()
    except OverflowError:
        return 0
    return int(found.total_seconds()) if found is not None else 0


def _checked_zone_part(part: int) -> Callable[[Timestamp, str], Value]:
    """cel-go 0.29 checks the minutes of an offset."""

    def found(moment: Timestamp, zone: str) -> Value:
        offset = _offset(moment, zone)
        _, colon, minutes = zone.partition(":")
        if colon and not 0 <= int(minutes) <= 59:
            raise EvalError("timezone offset minutes out of range [0, 59]: %s", zone)
        return _part(moment, offset, part)

    return found


def _truncated(nanos: int, unit: int) -> int:
    return nanos // unit if nanos >= 0 else -(-nanos // unit)


def _unit(size: int) -> Callable[[Duration], Value]:
    return lambda span: _truncated(span.nanos, size)


BOUND: Final[dict[str, Callable[..., Value]]] = {
    "bool_to_bool": _same,
    "string_to_bool": _string_to_bool,
    "bytes_to_bytes": _same,
    "string_to_bytes": str.encode,
    "double_to_double": _same,
    "int64_to_double": float,
    "string_to_double": _string_to_double,
    "uint64_to_double": float,
    "duration_to_duration": _same,
    "int64_to_duration": duration,
    "string_to_duration": _string_to_duration,
    "int64_to_int64": _same,
    "double_to_int64": _double_to_int,
    "duration_to_int64": lambda span: span.nanos,
    "string_to_int64": _string_to_int,
    "timestamp_to_int64": lambda moment: moment.nanos // _SECOND,
    "uint64_to_int64": lambda value: int64(int(value)),
    "string_to_string": _same,
    "bool_to_string": lambda value: "true" if value else "false",
    "bytes_to_string": _bytes_to_string,
    "double_to_string": go_text.double_text,
    "duration_to_string": lambda span: go_text.seconds_text(span.nanos),
    "int64_to_string": str,
    "timestamp_to_string": go_text.timestamp_rfc3339,
    "uint64_to_string": lambda value: str(int(value)),
    "ip_to_string": str,
    "cidr_to_string": str,
    "timestamp_to_timestamp": _same,
    "int64_to_timestamp": _int_to_timestamp,
    "string_to_timestamp": _string_to_timestamp,
    "uint64_to_uint64": _same,
    "double_to_uint64": _double_to_uint,
    "int64_to_uint64": uint64,
    "string_to_uint64": _string_to_uint,
    **{f"timestamp_to_{name}": _utc_part(place) for name, place in _PARTS.items()},
    **{f"timestamp_to_{name}_with_tz": _zone_part(place) for name, place in _PARTS.items()},
    "timestamp_to_seconds_tz": _zone_part(_PARTS["seconds"]),
    "duration_to_hours": _unit(3600 * _SECOND),
    "duration_to_minutes": _unit(60 * _SECOND),
    "duration_to_seconds": _unit(_SECOND),
    "duration_to_milliseconds": _unit(10**6),
}
"""What each overload does with operands of its types, by its name."""

SINCE_37: Final[dict[str, Callable[..., Value]]] = {
    **{f"timestamp_to_{name}_with_tz": _checked_zone_part(at) for name, at in _PARTS.items()},
    "timestamp_to_seconds_tz": _checked_zone_part(_PARTS["seconds"]),
}
"""Overloads that changed in 1.37."""
