"""Engine profiles: versions, defaults, and what is refused."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimfit.errors import SizingError
from claimfit.sizing.engines import engine_names, profile, profiles
from claimfit.sizing.plan import EngineChoice


@pytest.mark.parametrize(
    ("version", "label", "utilization"),
    [
        ("0.19.0", "0.19", 0.9),
        ("v0.19.1", "0.19", 0.9),
        ("0.20.2rc1", "0.19", 0.9),
        ("0.21", "0.21", 0.9),
        ("0.22.0", "0.22", 0.92),
        ("0.30.1.dev3+gabc", "0.22", 0.92),
        ("", "0.22", 0.92),
        ("0.11.2", "0.11", 0.9),
    ],
)
def test_vllm_versions(version: str, label: str, utilization: float) -> None:
    """0.19 was measured; the default share is 0.92 from 0.22 on."""
    found = profile(EngineChoice("vllm", version))
    assert (found.label, found.utilization) == (label, utilization)


def test_only_the_measured_version_says_measured() -> None:
    """Other versions carry a weaker basis."""
    assert profile(EngineChoice("vllm", "0.19.0")).basis == "measured"
    assert profile(EngineChoice("vllm", "0.25.0")).basis == "family"


@pytest.mark.parametrize("version", ["0.45.0", "1.2.3", "0.8.5"])
def test_a_version_outside_is_answered_wider_with_a_warning(version: str) -> None:
    """The nearest profile, extrapolated, and the range that is known."""
    found = profile(EngineChoice("vllm", version))
    assert found.basis == "extrapolated"
    assert found.widened > 1
    assert version in found.warning
    assert "0.11 to before 0.31" in found.warning


@pytest.mark.parametrize("name", ["vLLM", "llamacpp", "llama-cpp", "SGLang", "llama.cpp"])
def test_spelling_of_engines(name: str) -> None:
    """Case and the usual other spellings do not matter."""
    assert profiles(name)


@pytest.mark.parametrize("name", ["tensorrt-llm", "", "ollama", "vllm\n"])
def test_an_unknown_engine_lists_the_known(name: str) -> None:
    """No default engine is guessed."""
    with pytest.raises(SizingError) as caught:
        profile(EngineChoice(name))
    assert caught.value.code == "SIZ010"
    assert caught.value.candidates == engine_names() == ("vllm", "sglang", "llama.cpp")


@pytest.mark.parametrize(
    ("engine", "version"),
    [
        ("vllm", "latest"),
        ("vllm", "v"),
        ("vllm", "19"),
        ("vllm", "0"),
        ("vllm", "-0.19"),
        ("vllm", "٠.١٩"),
        ("vllm", "9" * 5000),
        ("llama.cpp", "master"),
    ],
)
def test_an_unreadable_version_is_an_error(engine: str, version: str) -> None:
    """A name, a sign, other digits or 5000 of them are no version."""
    with pytest.raises(SizingError) as caught:
        profile(EngineChoice(engine, version))
    assert caught.value.code == "SIZ011"


def test_builds_of_llama_cpp_are_open_upwards() -> None:
    """Builds count up daily: any from b6500 on is inside, older ones are warned about."""
    assert not profile(EngineChoice("llama.cpp", "b9999")).warning
    assert profile(EngineChoice("llama.cpp", "b3000")).warning


@given(st.text(max_size=60))
def test_any_text_is_a_version_or_an_error(text: str) -> None:
    """Nothing but SizingError leaves the parser."""
    try:
        found = profile(EngineChoice("vllm", text))
    except SizingError as error:
        assert error.code == "SIZ011"
    else:
        assert found.name == "vllm"


def test_ranges_do_not_overlap_and_leave_no_gap() -> None:
    """Within the known range every version has exactly one profile."""
    for name in engine_names():
        known = profiles(name)
        for earlier, later in pairwise(known):
            assert earlier.until == later.first
