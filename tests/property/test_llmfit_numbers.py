"""Number text of the llmfit dialect against the rules of Rust and serde_json, stated in decimal."""

from __future__ import annotations

import json
import math
import re
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimfit.claim.llmfit_numbers import display, json_number, one_decimal, parse_float, tenths

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SIZES = st.floats(min_value=0, max_value=1e12) | st.integers(0, 10**9).map(lambda n: n / 80)
"""GB of weights; multiples of 1/80 make ties of one decimal likely."""


@given(FINITE)
def test_display_reads_back_without_an_exponent(value: float) -> None:
    """Rust's ``{}``: the shortest digits that read back, positional, no trailing point or zero."""
    text = display(value)

    assert re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", text)
    assert float(text) == value
    assert Decimal(text) == Decimal(repr(value))


@given(FINITE)
def test_json_numbers_read_back_in_the_notation_of_serde_json(value: float) -> None:
    """Positional from 1e-5 to below 1e16, with a point; else an exponent without padding."""
    text = json_number(value)

    assert json.loads(text) == value
    assert Decimal(text) == Decimal(repr(value))
    if value == 0 or 1e-5 <= abs(value) < 1e16:
        assert re.fullmatch(r"-?[0-9]+\.[0-9]+", text)
    else:
        assert re.fullmatch(r"-?[1-9](\.[0-9]*[1-9])?e(\+[1-9][0-9]+|-[1-9][0-9]*)", text)


@given(SIZES)
def test_one_decimal_rounds_the_exact_value_half_to_even(value: float) -> None:
    """Rust's ``{:.1}`` of the exact binary value."""
    assert one_decimal(value) == str(Decimal(value).quantize(Decimal("0.1"), ROUND_HALF_EVEN))


@given(SIZES)
def test_tenths_round_the_product_half_away_from_zero(value: float) -> None:
    """``(x * 10.0).round() / 10.0``: the product is a float first, ties go away from zero."""
    product = Decimal(value * 10.0)

    assert tenths(value) == int(product.to_integral_value(ROUND_HALF_UP)) / 10.0
    assert tenths(-value) == -tenths(value)


@pytest.mark.parametrize(
    ("value", "shown", "in_json"),
    [
        (20.0, "20", "20.0"),
        (20.5, "20.5", "20.5"),
        (0.1, "0.1", "0.1"),
        (1e3, "1000", "1000.0"),
        (1e15, "1000000000000000", "1000000000000000.0"),
        (1e16, "10000000000000000", "1e+16"),
        (1.5e300, "15" + "0" * 299, "1.5e+300"),
        (1e-5, "0.00001", "0.00001"),
        (0.00001234, "0.00001234", "0.00001234"),
        (1e-6, "0.000001", "1e-6"),
        (1.5e-7, "0.00000015", "1.5e-7"),
        (5e-324, "0." + "0" * 323 + "5", "5e-324"),
    ],
)
def test_numbers_that_llmfit_was_seen_to_print(value: float, shown: str, in_json: str) -> None:
    """Observed with llmfit 1.1.17."""
    assert display(value) == shown
    assert json_number(value) == in_json


def test_ties() -> None:
    """1.25 GB is 1.2 in the comment and 1.3 in JSON, as llmfit 1.1.17 prints it."""
    assert (one_decimal(1.25), tenths(1.25)) == ("1.2", 1.3)
    assert (one_decimal(1.75), tenths(1.75)) == ("1.8", 1.8)


@given(st.text("0123456789.eE+-", max_size=12) | FINITE.map(repr))
def test_numbers_are_read_by_the_grammar_of_rust(text: str) -> None:
    """Digits with an optional point and exponent, a digit on either side of the point."""
    number = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
    expected = float(text) if re.fullmatch(number, text) else None

    assert parse_float(text) == expected


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "1_0", "0x10", "١", "infinit", "inf ", "+", "e5", "."]
)
def test_what_python_reads_and_rust_does_not(text: str) -> None:
    """Python's float() is more generous; llmfit's flags are not."""
    assert parse_float(text) is None


@pytest.mark.parametrize("text", ["inf", "+INF", "-Infinity", "nan", "-NaN"])
def test_words(text: str) -> None:
    """Rust reads these words in any case."""
    value = parse_float(text)

    assert value is not None
    assert not math.isfinite(value)
