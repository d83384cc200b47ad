"""Quantities of API objects as whole nanos, read once per distinct text."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from claimfit.dra import objects

__all__ = ["amount", "nanos_of", "whole"]

_NANOS = 10**9


def nanos_of(value: objects.Quantity) -> int:
    """Return the amount in nanos; raises `InputError` UNT001 to UNT003 for what is no quantity."""
    return _parsed(str(value)).nanos


def amount(value: objects.Quantity) -> Quantity:
    """Return the exact amount with its notation; raises as `nanos_of` does."""
    return _parsed(str(value))


def whole(nanos: int) -> int:
    """Return the amount rounded up to a whole number, away from zero, as Quantity.Value() does."""
    return -(-nanos // _NANOS) if nanos >= 0 else nanos // _NANOS


@lru_cache(maxsize=65536)
def _parsed(text: str) -> Quantity:
    return Quantity.parse(text)
