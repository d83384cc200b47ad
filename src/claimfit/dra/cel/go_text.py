"""How Go writes and reads numbers, strings and times, where CEL shows or takes them as text."""

from __future__ import annotations

import math
import re
from typing import Final

from claimfit.dra.cel.values import Duration, Timestamp

__all__ = [
    "days_in_month",
    "double_text",
    "duration_text",
    "quoted",
    "timestamp_rfc3339",
    "timestamp_text",
]

_SECOND: Final = 10**9
_DAY: Final = 86400
_INT64: Final = 1 << 63
EARLIEST_SECOND: Final = -62135596800  # 0001-01-01T00:00:00Z, cel-go common/types/timestamp.go
LATEST_SECOND: Final = 253402300799  # 9999-12-31T23:59:59Z

_UNITS: Final = {
    "ns": 1,
    "us": 1000,
    "µs": 1000,
    "μs": 1000,
    "ms": 10**6,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_DURATION_PART: Final = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?([^0-9.]+)")
_RFC3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})"
    r"(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEXADECIMAL: Final = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+"
)
_NAMED: Final = re.compile(r"[+-]?(?:inf|infinity)|nan", re.IGNORECASE)


# --- numbers --------------------------------------------------------------------------------------


def double_text(value: float) -> str:
    """Return `value` as ``%g`` does: the fewest digits, from 10**6 on with an exponent."""
    special = _special(value)
    if special is not None:
        return special
    sign = "-" if math.copysign(1, value) < 0 else ""
    if value == 0:
        return f"{sign}0"
    mantissa, _, power = _shortest(abs(value)).partition("e")
    digits, exponent = mantissa.replace(".", ""), int(power)
    if -4 <= exponent < 6:
        return sign + _plain(digits, exponent)
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def fixed_text(value: float) -> str:
    """Return `value` without exponent and with the fewest digits that identify it."""
    special = _special(value)
    if special is not None:
        return special
    mantissa, _, power = _shortest(abs(value)).partition("e")
    sign = "-" if math.copysign(1, value) < 0 else ""
    return sign + ("0" if value == 0 else _plain(mantissa.replace(".", ""), int(power)))


def _special(value: float) -> str | None:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return None


def _shortest(value: float) -> str:
    """Return the fewest digits that identify `value`, with an exponent: ``1.5e3``."""
    digits = repr(value)
    mantissa, _, power = digits.partition("e")
    whole, _, fraction = mantissa.partition(".")
    if fraction == "0":
        fraction = ""
    exponent = int(power or 0) + len(whole) - 1
    significant = (whole + fraction).lstrip("0")
    exponent -= len(whole + fraction) - len(significant) if significant else 0
    significant = significant.rstrip("0") or "0"
    return f"{significant[0]}.{significant[1:]}e{exponent}"


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def parse_double(written: str) -> float | None:
    """Return the double that Go's ParseFloat reads, None for an error, overflow included."""
    if _NAMED.fullmatch(written):
        return float(written)
    if _DECIMAL.fullmatch(written):
        value = float(written)
    elif _HEXADECIMAL.fullmatch(written):
        try:
            value = float.fromhex(written)
        except OverflowError:
            return None
    else:
        return None
    return None if math.isinf(value) else value


def parse_bool(written: str) -> bool | None:
    """Return the bool that Go's ParseBool reads, or None."""
    if written in {"1", "t", "T", "TRUE", "true", "True"}:
        return True
    return False if written in {"0", "f", "F", "FALSE", "false", "False"} else None


# --- strings --------------------------------------------------------------------------------------

_QUOTED: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quoted(value: str) -> str:
    """Return `value` as ``%q`` does."""
    return '"' + "".join(map(_quoted_character, value)) + '"'


def _quoted_character(char: str) -> str:
    simple = _QUOTED.get(char)
    if simple is not None:
        return simple
    point = ord(char)
    if char.isprintable() and (point != 0x20 or char == " "):
        return char
    if point < 0x80:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def quoted_bytes(value: bytes) -> str:
    """Return `value` as ``%q`` does: text where it is UTF-8, ``\\x`` for other bytes."""
    decoded = value.decode("utf-8", errors="surrogateescape")
    parts = [
        f"\\x{ord(char) - 0xDC00:02x}" if 0xDC80 <= ord(char) <= 0xDCFF else _quoted_character(char)
        for char in decoded
    ]
    return '"' + "".join(parts) + '"'


# --- durations ------------------------------------------------------------------------------------


def parse_duration(written: str) -> Duration | None:
    """Return the duration that Go's ParseDuration reads, or None."""
    body = written[1:] if written[:1] in {"+", "-"} else written
    if body == "0":
        return Duration(0)
    if not body:
        return None
    total = at = 0
    while at < len(body):
        part = _DURATION_PART.match(body, at)
        if part is None or not (part[1] or part[3]):
            return None
        unit = _UNITS.get(part[4])
        if unit is None or len(part[1]) > 20:
            return None
        total += int(part[1] or 0) * unit
        if part[3]:
            fraction = part[3][:18]
            total += int(float(int(fraction)) * (float(unit) / float(10 ** len(fraction))))
        if total > _INT64:
            return None
        at = part.end()
    if written.startswith("-"):
        return Duration(-total)
    return None if total > _INT64 - 1 else Duration(total)


def seconds_text(nanos: int) -> str:
    """Return the seconds of a duration with ``s``, as ``string()`` writes it."""
    whole = abs(nanos) // _SECOND
    seconds = whole + (abs(nanos) % _SECOND) / 1e9
    return fixed_text(-seconds if nanos < 0 else float(seconds)) + "s"


def duration_text(nanos: int) -> str:
    """Return a duration as Go prints it: ``1h2m3.5s``."""
    if nanos == 0:
        return "0s"
    sign, rest = ("-", -nanos) if nanos < 0 else ("", nanos)
    if rest < _SECOND:
        for unit, size in (("ms", 10**6), ("µs", 1000), ("ns", 1)):
            if rest >= size:
                return f"{sign}{_decimal(rest, size)}{unit}"
    minutes, left = divmod(rest, 60 * _SECOND)
    shown = f"{_decimal(left, _SECOND)}s"
    if minutes:
        shown = f"{minutes % 60}m{shown}"
    if minutes >= 60:
        shown = f"{minutes // 60}h{shown}"
    return sign + shown


def _decimal(nanos: int, unit: int) -> str:
    whole, rest = divmod(nanos, unit)
    fraction = str(rest).rjust(len(str(unit)) - 1, "0").rstrip("0") if rest else ""
    return f"{whole}.{fraction}" if fraction else str(whole)


# --- timestamps -----------------------------------------------------------------------------------


def parse_timestamp(written: str) -> Timestamp | None:
    """Return the moment that an RFC 3339 text names, or None; its range is not checked."""
    shape = _RFC3339.fullmatch(written)
    if shape is None:
        return None
    year, month, day, hour, minute, second = (int(shape[place]) for place in range(1, 7))
    if not (1 <= month <= 12 and 1 <= day <= days_in_month(year, month)):
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    offset = 0
    if shape[8]:
        hours, minutes = int(shape[9]), int(shape[10])
        if hours > 24 or minutes > 59:
            return None
        offset = (hours * 60 + minutes) * (-60 if shape[8] == "-" else 60)
    seconds = days_from_civil(year, month, day) * _DAY + hour * 3600 + minute * 60 + second - offset
    nanos = int((shape[7] or "")[:9].ljust(9, "0"))
    return Timestamp(seconds * _SECOND + nanos, offset)


def timestamp_rfc3339(moment: Timestamp) -> str:
    """Return `moment` as RFC 3339 in the offset that it was written with."""
    seconds, nanos = divmod(moment.nanos, _SECOND)
    days, rest = divmod(seconds + moment.offset_seconds, _DAY)
    year, month, day = civil_from_days(days)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    clock = f"{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}{fraction}"
    zone = "Z"
    if moment.offset_seconds:
        minutes = abs(moment.offset_seconds) // 60
        sign = "-" if moment.offset_seconds < 0 else "+"
        zone = f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{year:04d}-{month:02d}-{day:02d}T{clock}{zone}"


def timestamp_text(moment: Timestamp) -> str:
    """Return `moment` as Go prints it: ``2024-01-02 03:04:05 +0000 UTC``."""
    written = timestamp_rfc3339(moment)
    date, _, rest = written.partition("T")
    if rest.endswith("Z"):
        return f"{date} {rest[:-1]} +0000 UTC"
    zone = rest[-6:].replace(":", "")
    return f"{date} {rest[:-6]} {zone} {zone}"


def days_in_month(year: int, month: int) -> int:
    """Return the number of days of a month."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in {4, 6, 9, 11} else 31


def days_from_civil(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 of a date of the proleptic Gregorian calendar."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Return year, month and day of the date `days` after 1970-01-01."""
    era, of_era = divmod(days + 719468, 146097)
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return year + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1
