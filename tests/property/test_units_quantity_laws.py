"""Quantities: laws that hold for every text of the grammar and every amount."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from claimfit.errors import InputError
from claimfit.units.quantity import Quantity

FACTORS = {
    **{s: Fraction(10) ** e for s, e in zip("num", (-9, -6, -3), strict=True)},
    "": Fraction(1),
    **{s: Fraction(1000) ** (i + 1) for i, s in enumerate("kMGTPE")},
    **{s + "i": Fraction(1024) ** (i + 1) for i, s in enumerate("KMGTPE")},
    **{f"e{e}": Fraction(10) ** e for e in range(-12, 30)},
}
NUMBERS = st.from_regex(r"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?", fullmatch=True)
TEXTS = st.builds("".join, st.tuples(NUMBERS, st.sampled_from(sorted(FACTORS))))
AMOUNTS = st.integers(-(10**30), 10**30)


def expected_nanos(text: str) -> int:
    """Work the value out with fractions: round away from zero at the nano, cap binary amounts."""
    suffix = max((s for s in FACTORS if s and text.endswith(s)), key=len, default="")
    number = Fraction(text.removesuffix(suffix).removesuffix("."))
    nanos = abs(number) * FACTORS[suffix] * 10**9
    rounded = -(-nanos.numerator // nanos.denominator)
    if suffix.endswith("i"):
        rounded = min(rounded, (2**63 - 1) * 10**9)
    return -rounded if number < 0 else rounded


@settings(max_examples=200)
@given(TEXTS)
def test_value_is_the_exact_fraction_rounded_up(text: str) -> None:
    """The value of any text equals exact rational arithmetic."""
    assert Quantity.parse(text).nanos == expected_nanos(text)


@settings(max_examples=200)
@given(TEXTS)
def test_canonical_text_reads_back_as_itself(text: str) -> None:
    """Printing loses nothing and is a fixed point."""
    quantity = Quantity.parse(text)
    again = Quantity.parse(str(quantity))
    assert again == quantity
    assert str(again) == str(quantity)


@given(AMOUNTS, AMOUNTS)
def test_order_hash_and_sums_follow_the_amount(one: int, two: int) -> None:
    """Comparison, hash, sum and difference are those of the nanos, whatever the notation."""
    left, right = Quantity(one, "BinarySI"), Quantity(two, "DecimalSI")
    assert (left < right, left <= right, left == right) == (one < two, one <= two, one == two)
    assert (left > right, left >= right) == (one > two, one >= two)
    assert (left + right).nanos == one + two
    assert (left - right).nanos == one - two
    assert hash(Quantity(one, "BinarySI")) == hash(Quantity(one))


@settings(max_examples=200)
@given(st.text(max_size=40))
def test_any_text_is_a_quantity_or_an_input_error(text: str) -> None:
    """Hostile text never raises anything else."""
    try:
        Quantity.parse(text)
    except InputError as error:
        assert error.code in {"UNT001", "UNT002", "UNT003"}
