"""Kubernetes quantities, exactly as the API server reads, compares and prints them.

A quantity is a number with a suffix (``80Gi``, ``81559Mi``, ``1500m``, ``1e3``) that Kubernetes
keeps to the nano; finer values are rounded away from zero. Here it is a whole number of nanos, so
that no comparison ever goes through a float: an H100 publishes ``81559Mi`` and a claim that asks
for ``80Gi`` must miss it by exactly ``361Mi``.

The rules are those of ``k8s.io/apimachinery/pkg/api/resource`` v0.36, oddities included: a text
without digits but with a suffix is 0, ``1.`` is 1, binary amounts stop at 2**63 - 1. Two deliberate
differences keep hostile input cheap and output true: exponents beyond 10**2000 and texts over 512
characters are refused (the Go code computes them, for minutes), and decimal amounts from 10**21 up
are printed with an exponent (the Go code drops the suffix and prints ``1000E`` as ``1``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from claimfit.errors import InputError

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Quantity", "QuantityFormat"]

QuantityFormat = Literal["DecimalSI", "DecimalExponent", "BinarySI"]
"""How a quantity was written, which decides how it is printed. Names as in the Go package."""

_NANOS: Final = 10**9
_LARGEST_INT64: Final = 2**63 - 1
_LONGEST_TEXT: Final = 512
_LARGEST_EXPONENT: Final = 2000

_SHAPE: Final = r"[+-]?([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)"
_EXPONENT: Final = r"[eE]([+-]?[0-9]+)"
_DECIMAL: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = ("", *_BINARY)

_SYNTAX_TEXT: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
"""What Kubernetes answers to a text of the wrong shape."""
_SUFFIX_TEXT: Final = "unable to parse quantity's suffix"
"""What Kubernetes answers to an unknown suffix."""


class Quantity:
    """An exact amount of something, in nanos, with the notation it was written in.

    Equality, order and hash follow the amount: ``200M`` equals ``0.2G``.
    """

    __slots__ = ("format", "nanos")

    nanos: int
    format: QuantityFormat

    def __init__(self, nanos: int, notation: QuantityFormat = "DecimalSI") -> None:
        self.nanos = nanos
        self.format = notation

    @classmethod
    def parse(cls, text: str, place: str = "") -> Self:
        """Return the amount that `text` writes.

        Raises `InputError` UNT001 (wrong shape) or UNT002 (unknown suffix), both with the words of
        Kubernetes, or UNT003 (beyond anything that is worth computing); `place` says where `text`
        stood.
        """
        if len(text) > _LONGEST_TEXT:
            raise _too_large(text, place)
        shape = re.fullmatch(_SHAPE, text)
        if shape is None or not text:
            raise InputError("UNT001", _SYNTAX_TEXT, place=place, found=text, fix=_example(text))
        whole, fraction, suffix = shape[1], shape[2] or "", shape[3]
        digits = int(whole + fraction or "0")
        nanos, notation = _scaled(digits, len(fraction), suffix, text, place)
        return cls(-nanos if text.startswith("-") else nanos, notation)

    @classmethod
    def of_mib(cls, mib: int) -> Self:
        """Return `mib` MiB, printed with a binary suffix."""
        return cls((mib << 20) * _NANOS, "BinarySI")

    @classmethod
    def of_bytes(cls, count: int) -> Self:
        """Return `count` bytes, printed with a binary suffix where one fits."""
        return cls(count * _NANOS, "BinarySI")

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.nanos > 0) - (self.nanos < 0)

    @property
    def is_integer(self) -> bool:
        """Whether the amount is whole and fits an int64."""
        fits = -_LARGEST_INT64 - 1 <= self.nanos // _NANOS <= _LARGEST_INT64
        return fits and self.nanos % _NANOS == 0

    def as_integer(self) -> int:
        """Return the amount; raises `InputError` UNT004 when it is fractional or beyond int64."""
        if not self.is_integer:
            raise InputError(
                "UNT004", "cannot convert value to integer", found=str(self), expected="an int64"
            )
        return self.nanos // _NANOS

    def __add__(self, other: Quantity) -> Quantity:
        """Return the sum, in this amount's notation (the other's, when this one is 0)."""
        return Quantity(self.nanos + other.nanos, self.format if self.nanos else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        """Return the difference, in this amount's notation (the other's, when this one is 0)."""
        return Quantity(self.nanos - other.nanos, self.format if self.nanos else other.format)

    def __eq__(self, other: object) -> bool:
        return self.nanos == other.nanos if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: Quantity) -> bool:
        return self.nanos < other.nanos

    def __le__(self, other: Quantity) -> bool:
        return self.nanos <= other.nanos

    def __gt__(self, other: Quantity) -> bool:
        return self.nanos > other.nanos

    def __ge__(self, other: Quantity) -> bool:
        return self.nanos >= other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __str__(self) -> str:
        """Return the canonical text: no fraction, the largest suffix that loses nothing."""
        if not self.nanos:
            return "0"
        whole, rest = divmod(abs(self.nanos), _NANOS)
        if self.format == "BinarySI" and not rest and whole >= 1 << 10:
            text = _binary_text(whole)
        else:
            text = _decimal_text(abs(self.nanos), self.format)
        return "-" + text if self.nanos < 0 else text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"


def _scaled(
    digits: int, fraction_digits: int, suffix: str, text: str, place: str
) -> tuple[int, QuantityFormat]:
    """Return (nanos, notation) of `digits` / 10**`fraction_digits` with `suffix`."""
    if suffix in _BINARY:
        nanos = _rounded_up(digits << _BINARY[suffix], 9 - fraction_digits)
        if 0 < nanos < _NANOS:
            return nanos, "DecimalSI"
        return min(nanos, _LARGEST_INT64 * _NANOS), "BinarySI"
    if suffix in _DECIMAL:
        return _rounded_up(digits, 9 + _DECIMAL[suffix] - fraction_digits), "DecimalSI"
    exponent = re.fullmatch(_EXPONENT, suffix)
    if exponent is None:
        raise InputError("UNT002", _SUFFIX_TEXT, place=place, found=text, fix=_example(text))
    power = int(exponent[1])
    if abs(power) > _LARGEST_EXPONENT:
        raise _too_large(text, place)
    return _rounded_up(digits, 9 + power - fraction_digits), "DecimalExponent"


def _rounded_up(number: int, power: int) -> int:
    """Return `number` x 10**`power`, rounded up to a whole number; `number` is not negative."""
    scale: int = 10 ** abs(power)
    return number * scale if power >= 0 else -(-number // scale)


def _binary_text(whole: int) -> str:
    step = 0
    while whole % 1024 == 0 and step < len(_BINARY_SUFFIX) - 1:
        whole //= 1024
        step += 1
    return f"{whole}{_BINARY_SUFFIX[step]}"


def _decimal_text(nanos: int, notation: QuantityFormat) -> str:
    digits = str(nanos)
    significant = digits.rstrip("0")
    exponent = len(digits) - len(significant) - 9
    spare = exponent % 3  # suffixes and exponents come in steps of a thousand
    mantissa, exponent = significant + "0" * spare, exponent - spare
    if notation == "DecimalExponent" or exponent not in _DECIMAL_SUFFIX:
        return f"{mantissa}e{exponent}" if exponent else mantissa
    return mantissa + _DECIMAL_SUFFIX[exponent]


def _too_large(text: str, place: str) -> InputError:
    return InputError(
        "UNT003",
        "quantity is beyond any amount",
        place=place,
        found=text,
        expected=f"at most {_LONGEST_TEXT} characters and an exponent up to {_LARGEST_EXPONENT}",
    )


def _example(text: str) -> str:
    """Return the likely repair of `text`, or an example of what is right."""
    stripped = "".join(text.split())
    if stripped.endswith("K") and stripped[:-1].isdigit():
        return f"{stripped[:-1]}k is 1000, {stripped[:-1]}Ki is 1024"
    for wrong, right in (("GB", "G"), ("MB", "M"), ("GiB", "Gi"), ("MiB", "Mi"), ("gi", "Gi")):
        if stripped.endswith(wrong) and stripped[: -len(wrong)].isdigit():
            return f"write {stripped[: -len(wrong)]}{right}"
    return "write a number and a suffix, such as 80Gi, 81559Mi or 1500m"
