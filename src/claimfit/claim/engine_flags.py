"""The engine's command line that goes with a claim: what was sized is what must be started.

Spellings as in vLLM's `vllm serve`, SGLang's `sglang.launch_server` and llama.cpp's `llama-server`.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

from claimfit.model.quantization import quantization
from claimfit.sizing.kv_cache import cache_dtype
from claimfit.units import MIB

if TYPE_CHECKING:
    from claimfit.claim.need import ClaimNeed
    from claimfit.claim.products import Candidate
    from claimfit.claim.tiers import Tier

__all__ = ["command", "engine_flags", "engine_title", "share_of"]

_TITLES: Final = {"vllm": "vLLM", "sglang": "SGLang", "llama.cpp": "llama.cpp"}
_CACHE_TYPES: Final = {
    # vllm/config/cache.py CacheDType; sglang ServerArgs kv_cache_dtype. What is missing is the
    # model's own type there, which is what `auto` means.
    "vllm": {"F16": "float16", "BF16": "bfloat16", "FP8": "fp8"},
    "sglang": {"BF16": "bf16", "FP8": "fp8_e4m3"},
}
_LEAST_DEFAULT_SEQUENCES: Final = 256
"""Sequences that vLLM runs at most on small devices unless told otherwise (max_num_seqs)."""
_ALL_LAYERS: Final = 999
"""More layers than any model has: everything is offloaded."""


def engine_title(name: str) -> str:
    """Return the engine's name as its makers write it."""
    return _TITLES.get(name, name)


def engine_flags(need: ClaimNeed, tier: Tier) -> dict[str, str]:
    """Return flag -> value for the engine that serves `need` on the devices of `tier`."""
    if need.engine.name == "llama.cpp":
        return _llama_cpp(need, tier)
    return _sglang(need, tier) if need.engine.name == "sglang" else _vllm(need, tier)


def command(need: ClaimNeed, tier: Tier) -> str:
    """Return the command line, quoted for a shell."""
    from shlex import quote

    model = need.model.repository or need.model.name
    if need.engine.name == "llama.cpp":
        files = need.model.file.files if need.model.file else ()
        start = ["llama-server", "--model", files[0] if files else "MODEL.gguf"]
    elif need.engine.name == "sglang":
        start = ["python3", "-m", "sglang.launch_server", "--model-path", model]
    else:
        start = ["vllm", "serve", model]
    words = start + [word for pair in engine_flags(need, tier).items() for word in pair if word]
    return " ".join(quote(word) for word in words)


def share_of(tier: Tier, candidate: Candidate) -> float | None:
    """Return the share of a device that an engine may use when the claim takes a part of it."""
    memory_mib = candidate.memory_mib
    if not tier.share_mib or memory_mib is None:
        return None
    visible = memory_mib * MIB - tier.need.reserve
    return min(1.0, ceil(1000 * tier.need.total.high / visible) / 1000)


def _vllm(need: ClaimNeed, tier: Tier) -> dict[str, str]:
    workload, parallelism = need.workload, tier.parallelism
    flags = {"--max-model-len": str(workload.context_tokens)}
    if parallelism.tensor > 1:
        flags["--tensor-parallel-size"] = str(parallelism.tensor)
    if parallelism.pipeline > 1:
        flags["--pipeline-parallel-size"] = str(parallelism.pipeline)
    if not tier.share_mib:
        flags["--gpu-memory-utilization"] = f"{tier.need.utilization:g}"
    sequences = workload.max_sequences
    if not sequences and workload.concurrency > _LEAST_DEFAULT_SEQUENCES:
        sequences = workload.concurrency
    if sequences:
        flags["--max-num-seqs"] = str(sequences)
    if workload.max_batched_tokens:
        flags["--max-num-batched-tokens"] = str(workload.max_batched_tokens)
    if workload.lora is not None:
        flags["--enable-lora"] = ""
        flags["--max-loras"] = str(workload.lora.adapters)
        flags["--max-lora-rank"] = str(workload.lora.rank)
    if workload.kv_dtype:
        flags["--kv-cache-dtype"] = _cache_type(need)
    if _quantized_at_load(need):
        flags["--quantization"] = "fp8"
    return flags


def _sglang(need: ClaimNeed, tier: Tier) -> dict[str, str]:
    workload, parallelism = need.workload, tier.parallelism
    flags = {"--context-length": str(workload.context_tokens)}
    if parallelism.tensor > 1:
        flags["--tp-size"] = str(parallelism.tensor)
    if parallelism.pipeline > 1:
        flags["--pp-size"] = str(parallelism.pipeline)
    if workload.gpu_memory_utilization:
        flags["--mem-fraction-static"] = f"{workload.gpu_memory_utilization:g}"
    if workload.max_sequences:
        flags["--max-running-requests"] = str(workload.max_sequences)
    if workload.max_batched_tokens:
        flags["--chunked-prefill-size"] = str(workload.max_batched_tokens)
    if workload.lora is not None:
        flags["--enable-lora"] = ""
        flags["--max-loras-per-batch"] = str(workload.lora.adapters)
        flags["--max-lora-rank"] = str(workload.lora.rank)
    if workload.kv_dtype:
        flags["--kv-cache-dtype"] = _cache_type(need)
    if _quantized_at_load(need):
        flags["--quantization"] = "fp8"
    return flags


def _llama_cpp(need: ClaimNeed, tier: Tier) -> dict[str, str]:
    """Return the flags of llama-server; its context is the sum over all slots."""
    workload = need.workload
    slots = workload.max_sequences or workload.concurrency
    flags = {
        "--ctx-size": str(workload.context_tokens * slots),
        "--parallel": str(slots),
        "--n-gpu-layers": str(_ALL_LAYERS),
        "--flash-attn": "on",
    }
    if tier.parallelism.devices > 1:
        flags["--split-mode"] = "layer"
    if workload.max_batched_tokens:
        flags["--ubatch-size"] = str(workload.max_batched_tokens)
    if workload.kv_dtype:
        name = cache_dtype(workload.kv_dtype, need.engine.name, 2)[0].lower()
        flags["--cache-type-k"] = flags["--cache-type-v"] = name
    return flags


def _cache_type(need: ClaimNeed) -> str:
    """Return the engine's word for the cache type; what the user spelled precisely stays."""
    given = need.workload.kv_dtype.lower()
    if given.startswith("fp8_"):
        return given
    name = cache_dtype(given, need.engine.name, 2)[0]
    return _CACHE_TYPES[need.engine.name].get(name, "auto")


def _quantized_at_load(need: ClaimNeed) -> bool:
    """Return whether 16-bit weights become FP8 when the engine loads them."""
    asked = need.workload.quantization
    if not asked:
        return False
    stored = quantization(need.model.quantization)
    return quantization(asked).family == "fp8" and stored.family == "float"
