"""The fitted table: complete, sane, and found by device, family, engine in that order."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from claimfit.hardware.accelerators import accelerators
from claimfit.sizing.coefficients import (
    Coefficients,
    arithmetic_tflops,
    coefficients,
    family,
    prior,
    unpacks,
)
from claimfit.sizing.plan import EngineChoice
from support.speed_devices import ROUND, device

DATA = Path(__file__).parents[2] / "src" / "claimfit" / "data" / "speed.json"
ENGINES = ("llama.cpp", "vllm", "sglang")
NUMBERS = set(Coefficients._fields) - {"basis", "source"}
OF_SERVERS = {
    "eight_bit_efficiency",
    "four_bit_efficiency",
    "expert_eight_bit_efficiency",
    "expert_four_bit_efficiency",
    "unpack_operations",
    "latent_layer_us",
    "indexed_layer_us",
    "link_efficiency",
    "prompt_efficiency",
    "prompt_expert_efficiency",
    "attention_efficiency",
}
"""What rows of single streams of packed weights, as those of llama.cpp, say nothing about."""


def entries() -> list[tuple[str, dict[str, object]]]:
    """Return every entry of the file with its path."""
    document = json.loads(DATA.read_text(encoding="utf-8"))
    grouped = [
        (f"{kind}/{name}/{engine}", entry)
        for kind in ("devices", "families")
        for name, engines in document[kind].items()
        for engine, entry in engines.items()
    ]
    return grouped + [(f"priors/{name}", entry) for name, entry in document["priors"].items()]


@pytest.mark.parametrize(("name", "entry"), entries(), ids=[name for name, _ in entries()])
def test_entries_are_physical(name: str, entry: dict[str, object]) -> None:
    """Shares of peak below 1, positive times, p10 below p50 below p90, rows and date recorded."""
    found = entry["coefficients"]
    assert isinstance(found, dict)
    assert set(found) == (NUMBERS - OF_SERVERS if "llama.cpp" in name else NUMBERS)
    assert all(math.isfinite(value) and value >= 0 for value in found.values())
    for share in (name for name in found if name.endswith("efficiency")):
        assert 0.02 < found[share] <= 0.95
    assert 0 < found["low"] < 1 < found["high"]
    assert 0 < found["expert_low"] < 1 < found["expert_high"]
    assert isinstance(entry["rows"], int)
    assert entry["rows"] >= 1
    assert str(entry["dated"]).count("-") == 2


def test_priors_cover_every_engine_and_strangers_are_wider() -> None:
    """Where nothing was measured the interval is wider than where the family was."""
    document = json.loads(DATA.read_text(encoding="utf-8"))
    for engine in map(EngineChoice, ENGINES):
        stranger = coefficients(device(), engine)
        assert prior(engine).basis == stranger.basis == "physics"
        assert stranger.low == pytest.approx(prior(engine).low ** 1.5)
        assert stranger.expert_high == pytest.approx(prior(engine).expert_high ** 1.5)
        for engines in document["families"].values():
            if engine.name in engines:
                assert stranger.low < engines[engine.name]["coefficients"]["low"]


def test_devices_of_the_file_are_in_the_accelerator_table() -> None:
    """An entry of its own is for an accelerator that a user can name."""
    document = json.loads(DATA.read_text(encoding="utf-8"))

    assert set(document["devices"]) <= {item.id for item in accelerators()}


def test_device_before_family_before_prior() -> None:
    """A measured device, a relative of it, and a stranger."""
    engine = EngineChoice("llama.cpp")
    measured = next(item for item in accelerators() if item.id == "nvidia-gb10")
    relative = next(item for item in accelerators() if item.id == "nvidia-rtx-4080-super")

    assert coefficients(measured, engine).basis == "measured"
    assert coefficients(relative, engine).basis == "family"
    assert coefficients(device(), engine).basis == "physics"


def test_every_listed_accelerator_has_a_family() -> None:
    """No accelerator of the table falls through."""
    assert [item.id for item in accelerators() if family(item) == "unknown"] == []


@pytest.mark.parametrize(
    ("identifier", "vendor", "unified", "expected"),
    [
        ("nvidia-h100-sxm", "nvidia", False, "cuda-datacentre"),
        ("nvidia-h100-sxm-mig-1g.10gb", "nvidia", False, "cuda-datacentre"),
        ("nvidia-l40s", "nvidia", False, "cuda-consumer"),
        ("nvidia-rtx-a1000", "nvidia", False, "cuda-consumer"),
        ("nvidia-gb10", "nvidia", True, "cuda-unified"),
        ("nvidia-gtx-1070", "nvidia", False, "cuda-old"),
        ("amd-mi300a", "amd", True, "rocm-datacentre"),
        ("amd-rx-7900-xt", "amd", False, "rocm-consumer"),
        ("amd-strix-halo", "amd", True, "rocm-unified"),
        ("apple-m1-max", "apple", True, "metal-old"),
        ("apple-m4-pro", "apple", True, "metal"),
        ("intel-arc-b580", "intel", False, "xpu"),
        ("intel-lunar-lake-140v", "intel", True, "xpu-unified"),
        ("intel-gaudi3", "intel-habana", False, "gaudi"),
        ("google-tpu-v5e", "google", False, "tpu"),
        ("aws-trainium2", "aws", False, "neuron"),
        ("someone-else", "someone", False, "unknown"),
    ],
)
def test_family_of_a_device(identifier: str, vendor: str, unified: bool, expected: str) -> None:
    """Software stack and kind of memory decide."""
    assert family(device(identifier, vendor, unified_memory=unified)) == expected


@pytest.mark.parametrize(
    ("bits", "on_16", "on_8", "on_4"),
    [(16, 100.0, 100.0, 100.0), (8, 100.0, 200.0, 200.0), (4, 100.0, 100.0, 400.0)],
)
def test_formats_are_multiplied_where_there_are_units(bits, on_16, on_8, on_4) -> None:
    """FP8 runs at 16-bit speed on Ampere, FP4 on Hopper: unpacked first; not so on Blackwell."""
    ampere = device(tflops_fp16=100.0)
    hopper = device(tflops_fp16=100.0, tflops_fp8=200.0)
    blackwell = device(tflops_fp16=100.0, tflops_fp8=200.0, tflops_fp4=400.0)

    found = [arithmetic_tflops(card, bits) for card in (ampere, hopper, blackwell)]

    assert found == [on_16, on_8, on_4]
    assert [unpacks(card, bits) for card in (ampere, hopper, blackwell)] == [
        bits < 16,
        bits == 4,
        False,
    ]


def test_integer_formats_are_unpacked_everywhere() -> None:
    """AWQ, GPTQ and GGUF types have no unit of their own on any device."""
    assert unpacks(device(tflops_fp16=1.0, tflops_fp8=2.0, tflops_fp4=4.0), 0)


def test_formats_have_their_own_share_of_the_bandwidth() -> None:
    """A format without one is read like the others."""
    own = ROUND._replace(eight_bit_efficiency=0.7, expert_four_bit_efficiency=0.6)

    assert [own.read_efficiency(bits, experts=False) for bits in (16, 8, 4, 0)] == [
        0.8,
        0.7,
        0.8,
        0.8,
    ]
    assert [own.read_efficiency(bits, experts=True) for bits in (16, 8, 4, 0)] == [
        0.5,
        0.5,
        0.6,
        0.5,
    ]


def test_models_with_experts_have_a_spread_of_their_own() -> None:
    """Where none is stated it is that of dense models."""
    assert ROUND.spread(experts=True) == ROUND.spread(experts=False) == (0.8, 1.25)
    wide = ROUND._replace(expert_low=0.5, expert_high=2.0)
    assert (wide.spread(experts=True), wide.spread(experts=False)) == ((0.5, 2.0), (0.8, 1.25))
