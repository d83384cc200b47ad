"""What decoding costs on each kind of accelerator, as fitted coefficients.

The numbers stand in ``data/speed.json``; ``tools/fit_speed.py`` writes it from measured rows and
records for each entry how many rows it rests on. An accelerator that was measured under an engine
has its own entry; one that was not takes its family's; a family without rows takes the engine's
device-independent prior, which is wide.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final, Literal, cast

from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from typing import TypedDict

    from claimfit.hardware.facts import Accelerator
    from claimfit.sizing.plan import EngineChoice
    from claimfit.units import Basis

    class _Entry(TypedDict):
        coefficients: dict[str, float]
        rows: int
        dated: str

    class _Document(TypedDict):
        devices: dict[str, dict[str, _Entry]]
        families: dict[str, dict[str, _Entry]]
        priors: dict[str, _Entry]


__all__ = [
    "Coefficients",
    "Family",
    "arithmetic_tflops",
    "coefficients",
    "family",
    "prior",
    "unpacks",
]

Family = Literal[
    "cuda-datacentre",
    "cuda-consumer",
    "cuda-unified",
    "cuda-old",
    "rocm-datacentre",
    "rocm-consumer",
    "rocm-unified",
    "metal",
    "metal-old",
    "xpu",
    "xpu-unified",
    "gaudi",
    "tpu",
    "neuron",
    "unknown",
]
"""Devices whose decode behaves alike: one software stack and one kind of memory."""

_SINGLE_PRECISION_TFLOPS: Final = {
    "nvidia-gtx-1080-ti": 11.3,
    "nvidia-gtx-1070": 6.5,
    "nvidia-gtx-1050-ti": 2.1,
    "intel-lunar-lake-140v": 4.0,
}
"""10**12 FP32 operations per second of boards that have no fast 16-bit arithmetic or are not known
to use it: cores x 2 x boost clock, from general knowledge. Unpacking 4-bit weights takes them some
34 (Pascal) to 70 (integrated Intel) operations per weight, more time than reading the weight."""

_UNMEASURED_WIDER: Final = 1.5
"""Exponent on the spread for a family that nobody measured under the engine: it may differ from all
families that were measured by more than those differ from each other."""

_HBM_PRODUCTS: Final = frozenset(
    {"a30", "a100", "a800", "b100", "b200", "b300", "gb200", "gb300", "gh200"}
    | {"h20", "h100", "h200", "h800", "p100", "rubin", "v100"}
)
_OLD_METAL: Final = frozenset(
    {"m1", "m2"}
)  # before Apple GPU family 9, which caches registers dynamically
_PASCAL_AND_OLDER: Final = frozenset({"gtx", "k80", "m40", "m60", "p4", "p6", "p40"})


class Coefficients(NamedTuple):
    """What one decode step costs on a kind of device under an engine."""

    efficiency: float
    """Share of peak bandwidth that dense weights are read at."""
    expert_efficiency: float
    """The same for routed experts, whose reads are scattered."""
    cache_efficiency: float
    """The same for keys, values and states."""
    step_us: float
    """Fixed cost of a step: scheduling, sampling, the first and last kernels."""
    layer_us: float
    """Fixed cost of a layer: kernel launches and the drain between them."""
    expert_layer_us: float
    """More of it in a layer of experts: routing, gathering."""
    state_layer_us: float
    """More of it in a layer with a recurrent state."""
    sequence_us: float
    """Cost of each sequence of the batch: sampling, detokenizing, bookkeeping."""
    vocabulary_us: float
    """Cost of each sequence per 1000 entries of the vocabulary: samplers on the CPU."""
    collective_us: float
    """Latency of one collective between tensor-parallel ranks."""
    compute_efficiency: float
    """Share of `arithmetic_tflops` that decoding reaches, at two operations per parameter."""
    low: float
    """p10 as a share of p50."""
    high: float
    """p90 as a multiple of p50."""
    basis: Basis
    source: str
    eight_bit_efficiency: float = 0.0
    """`efficiency` of dense weights in 8 bits that are multiplied as stored; 0 is as of others."""
    four_bit_efficiency: float = 0.0
    """The same for 4 bits."""
    expert_eight_bit_efficiency: float = 0.0
    """`expert_efficiency` of experts in 8 bits that are multiplied as stored; 0 is as of others."""
    expert_four_bit_efficiency: float = 0.0
    """The same for 4 bits."""
    unpack_operations: float = 0.0
    """Floating-point operations that unpacking one byte of the other formats displaces."""
    latent_layer_us: float = 0.0
    """More fixed cost of a layer of latent attention."""
    indexed_layer_us: float = 0.0
    """More of it where sparse attention has an indexer."""
    link_efficiency: float = 1.0
    """Share of the link's bandwidth that collectives move at."""
    prompt_efficiency: float = 0.4
    """Share of the arithmetic rate that prompts reach in dense models."""
    prompt_expert_efficiency: float = 0.2
    """The same in models with experts."""
    attention_efficiency: float = 0.4
    """Share of the 16-bit rate that the attention of prompts reaches."""
    expert_low: float = 0.0
    """p10 as a share of p50 for models with experts; 0 is that of the others."""
    expert_high: float = 0.0
    """The same of p90."""

    def read_efficiency(self, bits: int, *, experts: bool) -> float:
        """Return the share of peak bandwidth that weights of a format (`dense_bits`) are read at.

        Weights that are unpacked first, bits 0, are read like those of 16 bits.
        """
        if experts:
            own = {8: self.expert_eight_bit_efficiency, 4: self.expert_four_bit_efficiency}
            return own.get(bits) or self.expert_efficiency
        own = {8: self.eight_bit_efficiency, 4: self.four_bit_efficiency}
        return own.get(bits) or self.efficiency

    def spread(self, *, experts: bool) -> tuple[float, float]:
        """Return p10 and p90 as multiples of p50."""
        if experts and self.expert_low:
            return self.expert_low, self.expert_high
        return self.low, self.high


def family(device: Accelerator) -> Family:
    """Return the family that `device` behaves like, from its vendor, id and kind of memory."""
    words = device.id.split("-")
    if device.vendor == "nvidia":
        if device.unified_memory:
            return "cuda-unified"
        if not _PASCAL_AND_OLDER.isdisjoint(words):
            return "cuda-old"
        return "cuda-consumer" if _HBM_PRODUCTS.isdisjoint(words) else "cuda-datacentre"
    if device.vendor == "amd":
        if any(word.startswith("mi") and word[2:3].isdigit() for word in words):
            return "rocm-datacentre"  # MI300A too, whose unified memory is HBM
        return "rocm-unified" if device.unified_memory else "rocm-consumer"
    if device.vendor == "apple":
        return "metal" if _OLD_METAL.isdisjoint(words) else "metal-old"
    if device.vendor.startswith("intel"):
        if "gaudi" in device.id:
            return "gaudi"
        return "xpu-unified" if device.unified_memory else "xpu"
    if device.vendor == "google":
        return "tpu"
    return "neuron" if device.vendor == "aws" else "unknown"


def arithmetic_tflops(device: Accelerator, bits: int = 16) -> float | None:
    """Return the rate at which `device` multiplies a format, None when it is not known.

    `bits` is as in `StepTraffic.dense_bits`. What the device has no units for is unpacked to 16.
    """
    half = device.tflops_fp16 or _SINGLE_PRECISION_TFLOPS.get(device.id)
    if bits == 8:
        return device.tflops_fp8 or half
    return (bits == 4 and device.tflops_fp4) or half


def unpacks(device: Accelerator, bits: int) -> bool:
    """Return whether `device` unpacks weights of a format before it multiplies them."""
    if bits == 16:
        return False
    return not (device.tflops_fp8 if bits == 8 else bits == 4 and device.tflops_fp4)


def coefficients(device: Accelerator, engine: EngineChoice) -> Coefficients:
    """Return the fitted coefficients of `device`, else of its family, else the prior, widened."""
    table = _table()
    name = _profile(engine)
    own = table.devices.get(device.id, {}).get(name)
    if own is not None:
        return own
    kin = table.families.get(family(device), {}).get(name)
    if kin is not None:
        return kin
    assumed = table.priors[name]
    return assumed._replace(
        low=assumed.low**_UNMEASURED_WIDER,
        high=assumed.high**_UNMEASURED_WIDER,
        expert_low=assumed.expert_low**_UNMEASURED_WIDER,
        expert_high=assumed.expert_high**_UNMEASURED_WIDER,
    )


def prior(engine: EngineChoice) -> Coefficients:
    """Return the coefficients of `engine` that all measured devices together give."""
    return _table().priors[_profile(engine)]


def _profile(engine: EngineChoice) -> str:
    return engine.name if engine.name in {"llama.cpp", "sglang"} else "vllm"


class _Table(NamedTuple):
    devices: dict[str, dict[str, Coefficients]]
    families: dict[str, dict[str, Coefficients]]
    priors: dict[str, Coefficients]


_loaded: list[_Table] = []  # read once per process, on first use


def _table() -> _Table:
    if not _loaded:
        path = os.path.join(os.path.dirname(__file__), os.pardir, "data", "speed.json")  # noqa: PTH118, PTH120  # cold path: pathlib costs start-up time
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  # the same
            document = cast("_Document", json.load(file))
        _loaded.append(
            _Table(
                {
                    name: _entries(group, name, "measured")
                    for name, group in document["devices"].items()
                },
                {
                    name: _entries(group, name, "family")
                    for name, group in document["families"].items()
                },
                _entries(document["priors"], "all devices", "physics"),
            )
        )
    return _loaded[0]


def _entries(group: dict[str, _Entry], name: str, basis: Basis) -> dict[str, Coefficients]:
    return {
        engine: Coefficients(
            **entry["coefficients"],
            basis=basis,
            source=f"{entry['rows']} measured rows of {name} under {engine} ({entry['dated']})",
        )
        for engine, entry in group.items()
    }
