"""What is asked of the estimator and what it answers.

`size` (claimfit.sizing.memory) and `rate` (claimfit.sizing.speed) take the first half of these
types and return the second. Plain NamedTuples: cold path of ``claimfit claim``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.records import NamedTuple
from claimfit.units import Basis, Bytes, Estimate

if TYPE_CHECKING:
    from claimfit.model.facts import LoraAdapters

__all__ = ["ComponentNeed", "DeviceNeed", "EngineChoice", "Parallelism", "Rate", "Workload"]


class EngineChoice(NamedTuple):
    """The engine that will run. An empty version is the newest profile we have."""

    name: str
    """`vllm`, `sglang` or `llama.cpp`."""
    version: str = ""


class Workload(NamedTuple):
    """What the engine must sustain."""

    context_tokens: int
    """Longest request, prompt and answer together (max-model-len)."""
    concurrency: int = 1
    """Requests of that length that must be resident at once."""
    quantization: str = ""
    """Canonical name; empty is the model's own."""
    kv_dtype: str = ""
    """Canonical name of the cache type (auto, FP8, Q8_0 ...); empty is the engine's default."""
    gpu_memory_utilization: float = 0.0
    """Share of the device the engine may use; 0 is the engine's default."""
    max_batched_tokens: int = 0
    """0 is the engine's default (llama.cpp: ubatch)."""
    max_sequences: int = 0
    """0 is the engine's default (llama.cpp: parallel slots = concurrency)."""
    lora: LoraAdapters | None = None
    prompt_ratio: float = 1.0
    """Prompt tokens for each token of the answer, of all requests: what share of a step's work is
    reading the prompts of others."""


class Parallelism(NamedTuple):
    """Devices of one replica: tensor x pipeline."""

    tensor: int = 1
    pipeline: int = 1

    @property
    def devices(self) -> int:
        """Devices that one replica takes."""
        return self.tensor * self.pipeline


class ComponentNeed(NamedTuple):
    """One line of the memory account of a device, bytes."""

    name: str
    """weights, kv_cache, activation, runtime, graphs, lora."""
    bytes: Estimate


class DeviceNeed(NamedTuple):
    """The account of the heaviest device of a replica."""

    components: tuple[ComponentNeed, ...]
    total: Estimate
    """Bytes inside the engine's budget."""
    utilization: float
    """Share of the device that the engine may use."""
    reserve: Bytes
    """Published memory that the engine never sees on this driver."""
    floor: Bytes
    """What a claim asks for: total.high / utilization + reserve, rounded up to a whole MiB."""
    kv_bytes_per_token: float
    """Per device, for one token of one request beyond any window."""
    engine: str
    """Engine and version of the profile that was used, such as `vllm 0.19`."""
    basis: Basis
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]

    def component(self, name: str) -> Estimate:
        """Return the estimate of component `name` (0 when the account has no such line)."""
        for item in self.components:
            if item.name == name:
                return item.bytes
        return Estimate.exactly(0, "not part of this plan")


class Rate(NamedTuple):
    """Decode speed of one stream at the workload's concurrency, tokens per second."""

    p10: float
    p50: float
    p90: float
    aggregate_p50: float
    """All streams together."""
    active_bytes: int
    """Bytes of weights that one decode step reads on one device."""
    kv_bytes: int
    """Bytes of cache that one decode step reads on one device."""
    basis: Basis
    source: str
    terms: tuple[tuple[str, float], ...]
    """(term, milliseconds per step) of the p50."""
