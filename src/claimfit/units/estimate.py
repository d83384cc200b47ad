"""A number with its bounds, where it came from and how far that can be trusted."""

from __future__ import annotations

from typing import Final, Literal

from claimfit.records import NamedTuple

__all__ = ["BASES", "Basis", "Estimate", "worst_basis"]

Basis = Literal["exact", "measured", "family", "physics", "extrapolated"]
"""How a figure was obtained, from best to worst.

exact: counted (file headers, arithmetic on the configuration).
measured: fitted on rows of this very engine version and device.
family: fitted on rows of the same kind of device or architecture.
physics: bandwidth and size only, no row behind it.
extrapolated: outside the range of whatever it was fitted on; the bounds are widened.
"""

BASES: Final[tuple[Basis, ...]] = ("exact", "measured", "family", "physics", "extrapolated")


class Estimate(NamedTuple):
    """Low, expected and high of one amount, in the unit that its owner states."""

    low: float
    expected: float
    high: float
    basis: Basis
    source: str

    @classmethod
    def exactly(cls, value: float, source: str) -> Estimate:
        """Return an estimate without spread."""
        return cls(value, value, value, "exact", source)

    def plus(self, other: Estimate, source: str) -> Estimate:
        """Return the sum; bounds add up, the worse basis holds."""
        return Estimate(
            self.low + other.low,
            self.expected + other.expected,
            self.high + other.high,
            worst_basis(self.basis, other.basis),
            source,
        )


def worst_basis(*bases: Basis) -> Basis:
    """Return the least trustworthy of `bases`; a sum is as good as its worst part."""
    return max(bases, key=BASES.index)
