"""Ranges of sizes and costs, and what is known ahead about one call's operands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from claimfit.dra.cel.syntax import Node
    from claimfit.dra.cel.types import Type

__all__ = ["LARGEST", "UNKNOWN", "ZERO", "CallEstimate", "Operand", "Range", "exactly"]

LARGEST: Final = (1 << 64) - 1
"""The largest uint64, which stands for no bound; sums and products stop there."""


class Range(NamedTuple):
    """A size or a cost between two bounds."""

    low: int
    high: int

    def plus(self, other: Range) -> Range:
        """Return the sum."""
        return Range(min(self.low + other.low, LARGEST), min(self.high + other.high, LARGEST))

    def times(self, other: Range) -> Range:
        """Return the product."""
        return Range(min(self.low * other.low, LARGEST), min(self.high * other.high, LARGEST))

    def union(self, other: Range) -> Range:
        """Return the range that covers both."""
        return Range(min(self.low, other.low), max(self.high, other.high))

    def by(self, factor: float) -> Range:
        """Return the product with a factor, rounded up."""
        return Range(factored(self.low, factor), factored(self.high, factor))


UNKNOWN: Final = Range(0, LARGEST)
ZERO: Final = Range(0, 0)


def exactly(value: int) -> Range:
    """Return the range that holds one value."""
    return Range(value, value)


def factored(value: int, factor: float) -> int:
    """Return `value` x `factor` rounded up, computed in double as cel-go does."""
    product = float(value) * factor
    return LARGEST if product >= 2.0**64 else math.ceil(product)


class CallEstimate(NamedTuple):
    """What a call costs beside its operands, and how large its result is, if that is known."""

    cost: Range
    size: Range | None = None


class Operand(NamedTuple):
    """A target or an argument.

    Attributes:
        node: its syntax, None for the members of a list.
        type: its type.
        path: the names that lead to it from a variable, empty when it is computed.
        size: its size, None when nothing bounds it.
    """

    node: Node | None
    type: Type
    path: tuple[str, ...]
    size: Range | None
