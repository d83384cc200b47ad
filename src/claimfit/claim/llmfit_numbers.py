"""Numbers as llmfit reads and prints them: the rules of Rust's standard library and serde_json.

The dialect's output is equal to llmfit's to the byte, so its number text is Rust's, not Python's.
Each rule here is stated where it differs from Python's and was checked against llmfit 1.1.17; the
parity tests check it again whenever the program is installed.
"""

from __future__ import annotations

import math
from typing import Final

__all__ = ["display", "json_number", "one_decimal", "parse_float", "tenths"]

_WORDS: Final = frozenset({"inf", "infinity", "nan"})
_DIGITS: Final = frozenset("0123456789")
_JSON_FIXED_FROM: Final = 1e-5
"""serde_json writes magnitudes from here on without an exponent; Python's repr starts at 1e-4."""


def parse_float(text: str) -> float | None:
    """Return the 64-bit float that Rust's `f64::from_str` reads in `text`, None where it refuses.

    Narrower than Python's `float`: ASCII digits only, no surrounding white space, no underscores.
    """
    unsigned = text[1:] if text[:1] in {"+", "-"} else text
    if unsigned.lower() in _WORDS and unsigned.isascii():
        return float(text)
    mantissa, exponent_mark, exponent = unsigned.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    if not (whole or fraction) or not _DIGITS.issuperset(whole + fraction):
        return None
    if exponent_mark:
        exponent_digits = exponent[1:] if exponent[:1] in {"+", "-"} else exponent
        if not exponent_digits or not _DIGITS.issuperset(exponent_digits):
            return None
    return float(text)


def display(value: float) -> str:
    """Return finite `value` as Rust's ``{}``: shortest digits that read back, never an exponent."""
    text = repr(value)
    mantissa, _, exponent = text.partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.removeprefix("-").partition(".")
    fraction = fraction.rstrip("0")  # repr writes 20.0 where Rust writes 20
    if exponent:
        whole, fraction = _shifted(whole, fraction, int(exponent))
    return f"{sign}{whole}.{fraction}" if fraction else sign + whole


def _shifted(whole: str, fraction: str, places: int) -> tuple[str, str]:
    """Return the digits of ``whole.fraction`` with the point moved `places` to the right."""
    digits = whole + fraction
    point = len(whole) + places
    if point <= 0:
        return "0", "0" * -point + digits
    return digits[:point].ljust(point, "0"), digits[point:]


def json_number(value: float) -> str:
    """Return finite `value` as serde_json writes it: ``20.0``, ``1e+16``, ``0.00001``, ``1e-6``."""
    text = repr(value)
    if "e-" not in text:
        return text
    if abs(value) >= _JSON_FIXED_FROM:
        return display(value)
    mantissa, _, exponent = text.partition("e-")
    return f"{mantissa}e-{exponent.lstrip('0')}"


def one_decimal(value: float) -> str:
    """Return finite `value` as Rust's ``{:.1}``: of the exact binary value, ties to even.

    Python's format does the same, which is why 1.25 is "1.2" here and 1.3 from `tenths`.
    """
    return f"{value:.1f}"


def tenths(value: float) -> float:
    """Return ``(value * 10).round() / 10`` as Rust computes it: ties away from zero."""
    scaled = value * 10.0
    whole = float(math.trunc(scaled))
    if abs(scaled - whole) >= 0.5:  # exact: both operands are within a factor of two
        whole += math.copysign(1.0, scaled)
    return whole / 10.0
