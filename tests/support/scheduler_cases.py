"""Models on drivers of the sample clusters, for the tests on the real scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from support.predictions import claim

if TYPE_CHECKING:
    from support.api_client import Object

__all__ = ["ALTERNATIVES", "CASES", "NOWHERE", "Case", "asked", "written"]

LLAMA_70B = "meta-llama/Llama-3.3-70B-Instruct"
QWEN_8B = "Qwen/Qwen3-8B"


class Case(NamedTuple):
    """A model on a driver of a sample."""

    sample: str
    target: str
    model: str
    options: tuple[str, ...] = ()
    devices: int = 0
    """Devices of a replica; 0 leaves it to claimfit."""
    partitions: bool | None = None
    """Whether the class selects MIG slices, which share their driver with whole boards."""

    def __str__(self) -> str:
        """Return the name of the test."""
        count = f"x{self.devices}" if self.devices else ""
        name = self.model.partition("/")[2]
        return "-".join(filter(None, (self.target, name, *self.options, count)))


NVIDIA = "gpu.nvidia.com"
CASES = [
    Case("mixed", NVIDIA, QWEN_8B, ("--context", "32768"), partitions=False),
    Case("mixed", NVIDIA, "Qwen/Qwen3-30B-A3B", ("--min-tps", "40"), partitions=False),
    Case("mixed", NVIDIA, LLAMA_70B, ("--quant", "FP8"), partitions=False),
    Case("mixed", NVIDIA, LLAMA_70B, devices=2, partitions=False),
    Case("mixed", NVIDIA, LLAMA_70B, devices=4, partitions=False),
    Case("mixed", "mig.nvidia.com", "Qwen/Qwen3-0.6B", partitions=True),
    Case("amd", "gpu.amd.com", LLAMA_70B),
    Case("amd", "gpu.amd.com", LLAMA_70B, devices=2),
    Case("amd", "gpu.amd.com", LLAMA_70B, devices=4),
    Case("intel", "gpu.intel.com", QWEN_8B),
    Case("intel", "gpu.intel.com", QWEN_8B, devices=2),
    Case("llmfit", "gpu.llmfit.ai", QWEN_8B),
    Case("tpu-gaudi", "gaudi.intel.com", LLAMA_70B, devices=2),
    Case("tpu-gaudi", "tpu.google.com", LLAMA_70B, devices=8),
    Case("tpu-gaudi", "neuron.aws.com", LLAMA_70B, devices=4),
]
NOWHERE = [
    # More devices than are free of the only node that has enough of them.
    Case("mixed", NVIDIA, "deepseek-ai/DeepSeek-R1", devices=8, partitions=False),
    # The largest slice of the sample is 3g.20gb with 20096Mi.
    Case("mixed", "mig.nvidia.com", QWEN_8B, partitions=True),
    # No node of the sample has four boards of a kind that are large enough.
    Case("intel", "gpu.intel.com", LLAMA_70B, devices=4),
]
ALTERNATIVES = [
    Case("mixed", NVIDIA, LLAMA_70B, ("--quant", "FP8"), partitions=False),
    Case("amd", "gpu.amd.com", LLAMA_70B),
    Case("intel", "gpu.intel.com", "Qwen/Qwen3-14B"),
]


def asked(case: Case) -> tuple[str, ...]:
    """Return the options of `claim` and `fit` alike.

    The speed that is asked for is low, so that no case stands or falls with an estimate.
    """
    speed = () if "--min-tps" in case.options else ("--min-tps", "3")
    return (*case.options, *speed)


def written(case: Case, *more: str) -> Object:
    """Return what claimfit writes for a case."""
    count = ("--count", str(case.devices)) if case.devices else ()
    return claim(case.model, "--target", case.target, *asked(case), *count, *more)
