"""Quantities against the answers of the Go package, and the deliberate differences."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from claimfit.errors import InputError
from claimfit.units.quantity import Quantity

VECTORS = json.loads(
    (Path(__file__).parent / "units_quantity_vectors.json").read_text(encoding="utf-8")
)["rows"]
MESSAGES = {"UNT001": "quantities", "UNT002": "unable"}


@pytest.mark.parametrize(("text", "canonical", "detail"), VECTORS)
def test_reads_and_prints_as_kubernetes_does(
    text: str, canonical: str | None, detail: str | None
) -> None:
    """Each text has the value, the canonical form or the error of k8s.io/apimachinery."""
    if canonical is None:
        with pytest.raises(InputError) as refusal:
            Quantity.parse(text)
        assert refusal.value.message.split()[0] == detail == MESSAGES[refusal.value.code]
        return
    quantity = Quantity.parse(text)
    assert str(quantity) == canonical
    if detail is not None:
        assert quantity.nanos == Decimal(detail) * 10**9


def test_h100_misses_80_gi_by_361_mi() -> None:
    """The published memory of an H100 is exactly 361 MiB short of 80Gi (80 x 1024 = 81920)."""
    short = Quantity.parse("80Gi") - Quantity.parse("81559Mi")
    assert str(short) == "361Mi"
    assert Quantity.parse("81559Mi") < Quantity.parse("80Gi")


@pytest.mark.parametrize(
    "text", ["9" * 1_000_000, "1e2001", "1e-2001", "1e99999999999999999999", "0." + "0" * 600 + "1"]
)
def test_refuses_what_nobody_should_compute(text: str) -> None:
    """Megabytes of digits and astronomic exponents are an error at once, not minutes of work."""
    with pytest.raises(InputError) as refusal:
        Quantity.parse(text, "capacity.memory")
    assert refusal.value.code == "UNT003"
    assert len(refusal.value.found) < 300


def test_ten_to_the_four_hundred_is_exact_and_no_int64() -> None:
    """A huge literal parses, compares and prints, and only fails to become an integer."""
    huge = Quantity.parse("1e400")
    assert huge.nanos == 10**409
    assert str(huge) == "10e399"
    assert not huge.is_integer
    with pytest.raises(InputError, match="cannot convert value to integer"):
        huge.as_integer()


def test_prints_what_it_means_beyond_the_suffixes() -> None:
    """1000E is printed as 1e21, where the Go package prints 1."""
    assert str(Quantity.parse("1000E")) == "1e21"
    assert Quantity.parse("1e21") == Quantity.parse("1000E")


@pytest.mark.parametrize(
    ("text", "fix"),
    [("4K", "4k is 1000, 4Ki is 1024"), ("80GB", "write 80G"), ("80GiB", "write 80Gi")],
)
def test_the_likely_slip_is_named(text: str, fix: str) -> None:
    """The suffixes of other tools are refused with the right spelling."""
    with pytest.raises(InputError) as refusal:
        Quantity.parse(text)
    assert refusal.value.fix == fix


def test_of_mib_prints_in_mi_or_larger() -> None:
    """A whole number of MiB is printed with the largest suffix that loses nothing."""
    assert str(Quantity.of_mib(81559)) == "81559Mi"
    assert str(Quantity.of_mib(81920)) == "80Gi"
    assert str(Quantity.of_bytes(1536 << 20)) == "1536Mi"
    assert Quantity.of_mib(1).as_integer() == 1048576


def test_sums_keep_the_notation_of_the_left_side() -> None:
    """Adding keeps the receiver's suffix family; zero takes the other's."""
    assert str(Quantity.parse("1Gi") + Quantity.parse("1k")) == "1073742824"
    assert str(Quantity.parse("0") + Quantity.parse("1Gi")) == "1Gi"
    assert Quantity.parse("-1").sign == -1
    assert Quantity.parse("0").sign == 0
    assert Quantity.parse("1n").sign == 1
