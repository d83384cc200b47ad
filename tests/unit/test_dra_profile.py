"""Which Kubernetes decides: versions, gates and what is on by default."""

from __future__ import annotations

import pytest

from claimfit.dra.profile import GATES, MINORS, profile
from claimfit.errors import UsageError


@pytest.mark.parametrize("version", ["1.36", "v1.36", "1.36.3", "v1.36.0-rc.1"])
def test_versions(version: str) -> None:
    """A minor is named alone, with a v, or by any of its releases."""
    assert profile(version).kubernetes == "1.36"


@pytest.mark.parametrize("version", ["1.33", "1.38", "2.36", "", "1", "1.", "1.x", "36", "1.036x"])
def test_unknown_versions(version: str) -> None:
    """A version that is not offered is refused with those that are."""
    with pytest.raises(UsageError) as refused:
        profile(version)
    assert refused.value.code == "DRA101"
    assert refused.value.place == "--kubernetes"


def test_defaults_follow_the_releases() -> None:
    """Beta gates are on from the minor in which their release turned them on."""
    assert not profile("1.34").enabled("DRAConsumableCapacity")
    assert profile("1.36").enabled("DRAConsumableCapacity")
    assert profile("1.34").enabled("DRAPrioritizedList")
    assert not profile("1.36").enabled("DRAListTypeAttributes")
    for minor in MINORS:
        on = profile(f"1.{minor}").gates
        assert all(GATES[name].alpha <= minor for name in on)
        if minor > MINORS[0]:
            assert on >= profile(f"1.{minor - 1}").gates


def test_gates_are_set_in_order() -> None:
    """Settings are applied from left to right; spaces around them do not matter."""
    assert profile("1.36", "DRAListTypeAttributes=true").enabled("DRAListTypeAttributes")
    off = profile("1.36", "DRADeviceTaints=false, DRAConsumableCapacity=false")
    assert not off.enabled("DRADeviceTaints")
    assert not off.enabled("DRAConsumableCapacity")
    both = profile("1.36", "DRADeviceTaints=false,DRADeviceTaints=true")
    assert both == profile("1.36")


@pytest.mark.parametrize(
    ("gates", "code"),
    [
        ("Nope=true", "DRA102"),
        ("DRAListTypeAttribute=true", "DRA102"),
        ("DRADerivedAttributes=true", "DRA102"),
        ("DRADeviceTaints", "DRA103"),
        ("DRADeviceTaints=yes", "DRA103"),
        ("DRADeviceTaints=True", "DRA103"),
        ("DynamicResourceAllocation=false", "DRA104"),
        ("DRAPrioritizedList=false", "DRA104"),
    ],
)
def test_settings_that_are_refused(gates: str, code: str) -> None:
    """Unknown gates, unreadable settings and gates that are fixed have their own codes."""
    with pytest.raises(UsageError) as refused:
        profile("1.36", gates)
    assert refused.value.code == code
    assert refused.value.place == "--feature-gates"


def test_a_misspelt_gate_is_corrected() -> None:
    """The nearest gates of the version are named."""
    with pytest.raises(UsageError) as refused:
        profile("1.36", "DRAListTypeAttribute=true")
    assert "DRAListTypeAttributes" in refused.value.candidates


def test_gates_whose_rules_are_left_out_are_named() -> None:
    """An alpha gate of 1.37 that allocation does not model is no silent option."""
    rules = profile("1.37", "DRADerivedAttributes=true,DRAListTypeAttributes=true")

    assert rules.not_modelled == ("DRADerivedAttributes",)
    assert profile("1.37").not_modelled == ()
