"""Byte amounts: exact conversions, rounding up, and sums that stay amounts."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimfit.units import GIB, MIB, Bytes, Estimate, worst_basis


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (Bytes.of_gib(1), 1 << 30),
        (Bytes.of_gib(0.5), 1 << 29),
        (Bytes.of_mib(81559), 81559 * 1048576),
        (Bytes.of_gb(80), 80_000_000_000),
        (Bytes.of_gb(0.0000000001), 1),  # a tenth of a byte is rounded up
        (Bytes.of_gib(0), 0),
    ],
)
def test_conversions(amount: Bytes, expected: int) -> None:
    """GiB are 2**30, MiB 2**20, GB 10**9; parts of a byte are rounded up."""
    assert expected == amount


def test_gb_and_gib_differ_by_seven_percent() -> None:
    """An 80 GB amount is 74.5 GiB, never 80."""
    assert round(Bytes.of_gb(80).gib, 2) == 74.51
    assert Bytes.of_gib(80).gb == pytest.approx(85.899, abs=0.001)


@given(st.floats(min_value=0, max_value=1e9))
def test_conversion_is_exact_for_any_float(gib: float) -> None:
    """The result is the exact product rounded up, as decimal arithmetic has it."""
    exact = (Decimal(gib) * GIB).to_integral_value(ROUND_CEILING)

    assert int(exact) == Bytes.of_gib(gib)


@given(st.integers(min_value=0, max_value=2**60))
def test_mib_are_rounded_up(count: int) -> None:
    """What a claim asks for is at least the need and less than 1 MiB more."""
    mib = Bytes(count).mib_up

    assert count <= mib * MIB < count + MIB


def test_sums_and_differences_stay_amounts() -> None:
    """Arithmetic keeps the type, so a sum still prints with its unit."""
    total = sum([Bytes.of_gib(1), Bytes.of_gib(2)])

    assert isinstance(total, Bytes)
    assert str(total) == "3.0 GiB"
    assert isinstance(total - Bytes.of_gib(1), Bytes)


def test_the_worse_basis_holds_for_a_sum() -> None:
    """Bounds add up; a sum of measured and physics is physics."""
    measured = Estimate(1, 2, 3, "measured", "a")
    physics = Estimate(10, 20, 30, "physics", "b")

    assert measured.plus(physics, "sum") == Estimate(11, 22, 33, "physics", "sum")
    assert worst_basis("exact", "extrapolated", "family") == "extrapolated"
