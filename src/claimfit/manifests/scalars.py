"""What a plain YAML scalar means to kubectl: the rules of sigs.k8s.io/yaml (go-yaml v2)."""

from __future__ import annotations

import re
from typing import Final

from claimfit.errors import InputError

__all__ = ["UNSIGNED_64", "Scalar", "resolve"]

Scalar = str | int | float | bool | None

UNSIGNED_64: Final = 2**64
"""Integers from here on are read differently by every reader, so they are refused."""

_TRUE: Final = frozenset({"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})
_FALSE: Final = frozenset(
    {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}
)
_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_INTEGER: Final = re.compile(r"[-+]?(0b[01]+|0o[0-7]+|0x[0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASES: Final = {"0b": 2, "0o": 8, "0x": 16}


def resolve(text: str, place: str) -> Scalar:
    """Return what the unquoted scalar `text` means.

    Raises `InputError` MAN008 for a number that no two readers agree on: not finite, or an integer
    beyond 64 bits.
    """
    if text in _NULL:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if text[0] not in "+-.0123456789":
        return text
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(digits):
        return _integer(digits, text, place)
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        if abs(number) == float("inf"):
            raise InputError("MAN008", "number too large", place=place, found=text, fix="quote it")
        return number
    if text.lstrip("+-").lower() in {".inf", ".nan"}:
        raise InputError("MAN008", "not a finite number", place=place, found=text, fix="quote it")
    return text


def _integer(signed: str, text: str, place: str) -> int:
    digits = signed.lstrip("+-")
    base = _BASES.get(digits[:2].lower())
    if base is not None:
        significant = digits[2:].lstrip("0")
    else:
        base = 8 if digits.startswith("0") else 10
        significant = digits.lstrip("0")
    # 2**64 has 65 binary digits; a bound on the text keeps int() from a quadratic conversion.
    magnitude = int(significant or "0", base) if len(significant) <= 65 else UNSIGNED_64
    if magnitude >= UNSIGNED_64:
        raise InputError(
            "MAN008", "integer beyond 64 bits", place=place, found=text, fix="quote it"
        )
    return -magnitude if signed.startswith("-") else magnitude
