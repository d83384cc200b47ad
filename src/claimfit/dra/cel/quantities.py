"""Quantities as CEL sees them: exact, with the representation that Kubernetes computes in.

Kubernetes keeps a quantity as an int64 with a power of ten, or, when that does not fit, as a
decimal of any size (k8s.io/apimachinery/pkg/api/resource). The two behave differently: only the
first can be an integer, and before 1.37 adding to the second changed it in place. So both are kept
apart here; amounts and comparisons are exact in either.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final

from claimfit.dra.cel.values import EvalError, Opaque, no_such_overload
from claimfit.errors import InputError
from claimfit.units.quantity import Quantity, QuantityFormat

if TYPE_CHECKING:
    from claimfit.dra.cel.values import Value

__all__ = ["CelQuantity"]

_INT64: Final = 1 << 63
_NANO: Final = -9
_MOST_TEXTS: Final = 16_384  # a text has 512 characters at most
_MOST_FACTORS: Final = 18  # decimal digits that always fit int64
_SHAPE: Final = re.compile(r"[+-]?0*([0-9]*)(?:\.([0-9]*))?([A-Za-z]*[+-]?[0-9]*)", re.ASCII)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


class _Decimal:
    """A decimal of any size; shared by the quantities that Kubernetes lets share it."""

    __slots__ = ("power", "unscaled")

    def __init__(self, unscaled: int, power: int) -> None:
        self.unscaled = unscaled
        self.power = power


class CelQuantity(Opaque):
    """A Quantity: `value` x 10**`power`, or `decimal` when it is set.

    `computed` marks the result of an addition: cel-go finds it equal to nothing when it stands on
    the right of ``==`` (it is a pointer there, and the comparison expects a value).
    """

    __slots__ = ("computed", "decimal", "notation", "power", "value")

    type_name: ClassVar[str] = "kubernetes.Quantity"
    go_type: ClassVar[str] = "cel.Quantity"

    def __init__(
        self,
        value: int,
        power: int,
        decimal: _Decimal | None = None,
        notation: QuantityFormat = "DecimalSI",
    ) -> None:
        self.value = value
        self.power = power
        self.decimal = decimal
        self.notation = notation
        self.computed = False

    @classmethod
    def parse(cls, text: str) -> CelQuantity:
        """Return the quantity that `text` writes; raises `EvalError` in Kubernetes' words."""
        return _parsed(text).fresh()

    @classmethod
    def of_int(cls, value: int) -> CelQuantity:
        """Return a whole amount."""
        return cls(value, 0, None, "DecimalExponent")

    @property
    def nanos(self) -> int:
        """The amount in nanos, exactly."""
        value, power = self.value, self.power
        if self.decimal is not None:
            value, power = self.decimal.unscaled, self.decimal.power
        scale: int = 10 ** (power - _NANO)
        return value * scale

    def equals(self, other: Value) -> bool:
        """Whether the amounts are the same; a computed `other` cannot be compared."""
        if not isinstance(other, CelQuantity):
            raise no_such_overload()
        if other.computed:
            raise no_such_overload()
        return self.nanos == other.nanos

    def compare(self, other: CelQuantity) -> int:
        """Return -1, 0 or 1. Compared with a decimal, this becomes one (as in Kubernetes)."""
        if self.decimal is None and other.decimal is not None:
            self._become_decimal()
        mine, theirs = self.nanos, other.nanos
        return (mine > theirs) - (mine < theirs)

    def sign(self) -> int:
        """Return -1, 0 or 1."""
        nanos = self.nanos
        return (nanos > 0) - (nanos < 0)

    def as_int64(self) -> int | None:
        """Return the amount, None when it is fractional, beyond int64 or kept as a decimal."""
        if self.decimal is not None or self.power < 0:
            return None
        whole = self.value * 10**self.power if self.power <= 40 else _INT64 * self.value
        return whole if -_INT64 <= whole < _INT64 else None

    def approximate(self) -> float:
        """Return the nearest double, computed as Kubernetes does."""
        value, power = self.value, self.power
        if self.decimal is not None:
            value, power = self.decimal.unscaled, self.decimal.power
        if power == 0:
            return _double(value)
        return _double(value) * _power_of_ten(power)

    def plus(self, other: CelQuantity, *, in_place: bool) -> CelQuantity:
        """Return the sum; with `in_place` a decimal receiver takes it too (before 1.37)."""
        if self.decimal is None and other.decimal is None:
            small = _small_sum(self, other)
            if small is not None:
                return self._made(other, *small)
        unscaled = self.nanos + other.nanos
        if self.decimal is not None and in_place:
            self.decimal.unscaled, self.decimal.power = unscaled, _NANO
            return self._made(other, 0, 0, self.decimal)
        return self._made(other, 0, 0, _Decimal(unscaled, _NANO))

    def minus(self, other: CelQuantity, *, in_place: bool) -> CelQuantity:
        """Return the difference; see `plus`."""
        if other.decimal is None:
            negative = CelQuantity(-other.value, other.power, None, other.notation)
        else:
            decimal = _Decimal(-other.decimal.unscaled, other.decimal.power)
            negative = CelQuantity(0, 0, decimal, other.notation)
        return self.plus(negative, in_place=in_place)

    def fresh(self) -> CelQuantity:
        """Return a copy that shares nothing."""
        decimal = self.decimal
        copied = None if decimal is None else _Decimal(decimal.unscaled, decimal.power)
        return CelQuantity(self.value, self.power, copied, self.notation)

    def _become_decimal(self) -> None:
        self.decimal = _Decimal(self.value, self.power)
        self.value = self.power = 0

    def _made(
        self, other: CelQuantity, value: int, power: int, decimal: _Decimal | None = None
    ) -> CelQuantity:
        notation = self.notation if self.nanos else other.notation
        made = CelQuantity(value, power, decimal, notation)
        made.computed = True
        return made

    def __str__(self) -> str:
        return str(Quantity(self.nanos, self.notation))


@lru_cache(maxsize=_MOST_TEXTS)
def _parsed(text: str) -> CelQuantity:
    """Return the quantity of `text`, one for all: a constant is read again for every device."""
    try:
        exact = Quantity.parse(text)
    except InputError as refused:
        raise EvalError(refused.message) from None
    small = _small(text)
    if small is not None:
        return CelQuantity(*small, notation=exact.format)
    return CelQuantity(0, 0, _Decimal(exact.nanos, _NANO), exact.format)


def _small(text: str) -> tuple[int, int] | None:
    """Return (value, power) where Kubernetes' fast path holds the quantity, else None."""
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        return None
    whole, fraction, suffix = shape[1] or "0", shape[2] or "", shape[3]
    if text.lstrip("+-").strip("0") == "":
        return 0, 0
    mantissa = 1
    if suffix in _BINARY:
        if fraction:
            return None
        exponent = _BINARY[suffix]
        mantissa = 1 << exponent
        spare = 15 - len(whole) - exponent * 3 // 10 - 1
        power = 0
    else:
        power = _DECIMAL[suffix] if suffix in _DECIMAL else _exponent(suffix)
        spare = _MOST_FACTORS - len(whole) - len(fraction)
    power -= len(fraction)
    if spare < 0 or power < _NANO:
        return None
    value = int(whole + fraction) * mantissa
    if value >= _INT64:
        return None
    return (-value if text.startswith("-") else value), power


def _exponent(suffix: str) -> int:
    return 18 if suffix == "E" else int(suffix[1:])


def _small_sum(left: CelQuantity, right: CelQuantity) -> tuple[int, int] | None:
    """Return the sum as int64 with a power of ten, None when it does not fit."""
    if right.value == 0:
        return left.value, left.power
    if left.value == 0:
        return right.value, right.power
    power = min(left.power, right.power)
    if max(left.power, right.power) - power > 20:
        return None
    mine = left.value * 10 ** (left.power - power)
    theirs = right.value * 10 ** (right.power - power)
    fits = all(-_INT64 <= part < _INT64 for part in (mine, theirs, mine + theirs))
    return (mine + theirs, power) if fits else None


def _double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _power_of_ten(power: int) -> float:
    if power < -323:
        return 0.0
    return float("inf") if power > 308 else float(f"1e{power}")
