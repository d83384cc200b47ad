"""What one decode step moves through the memory of one device, in bytes.

Decoding is bound by memory traffic: a step reads every weight that some sequence of the batch
needs, and the cache of every sequence. Two things make that less than "the file": the embedding is
looked up row by row (unless it is the output head too), and in a layer of experts only the experts
are read that some token of the batch was routed to.

Pure arithmetic on the model's shape; how fast the bytes move is `claimfit.sizing.speed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.errors import SizingError
from claimfit.model.facts import Cache, ModelFacts, active_layer_parameters
from claimfit.model.quantization import quantization
from claimfit.model.weights import weight_split

if TYPE_CHECKING:
    from claimfit.sizing.plan import Parallelism, Workload

__all__ = ["StepTraffic", "cache_bytes", "distinct_experts", "step_traffic"]

_STATE_BYTES: Final = 4  # engines keep recurrent states in float32 (llama.cpp, vLLM's default)

_CACHE_BYTES: Final[dict[str, float]] = {
    # Bytes per cached element. Block formats of llama.cpp carry a 16-bit scale per 32 elements
    # (ggml-common.h: block_q8_0 is 34 bytes, block_q4_0 18, block_q4_1 20, block_q5_0 22, q5_1 24).
    "": 2.0,
    "AUTO": 2.0,
    "BF16": 2.0,
    "F16": 2.0,
    "FP16": 2.0,
    "F32": 4.0,
    "FP8": 1.0,
    "FP8_E4M3": 1.0,
    "FP8_E5M2": 1.0,
    "INT8": 1.0,
    "Q8_0": 34 / 32,
    "Q5_1": 24 / 32,
    "Q5_0": 22 / 32,
    "Q4_1": 20 / 32,
    "Q4_0": 18 / 32,
    "IQ4_NL": 18 / 32,
}


class StepTraffic(NamedTuple):
    """One decode step of one tensor-parallel rank, through all pipeline stages."""

    dense_bytes: int
    """Weights that every step reads: mixers, dense and shared feed-forward, router, output head."""
    expert_bytes: int
    """Routed experts that the batch touches, on average."""
    cache_bytes: int
    """Keys, values, latents and states of every sequence of the batch."""
    layers: int
    expert_layers: int
    state_layers: int
    """Layers with a recurrent state instead of keys and values."""
    operations: float
    """Floating-point operations: two per active parameter and sequence."""
    sequences: int
    """Sequences in one step: the concurrency, or one pipeline stage's share of it."""
    hidden_bytes: int
    """Activations that one collective moves: 2 bytes x hidden size x sequences."""

    @property
    def weight_bytes(self) -> int:
        """All weights that the step reads."""
        return self.dense_bytes + self.expert_bytes


def distinct_experts(experts: int, per_token: int, tokens: int) -> float:
    """Return how many experts of one layer a batch of `tokens` touches on average.

    Each token picks `per_token` of `experts`; with independent, even routing an expert stays
    untouched with probability (1 - k/E)^B, hence E * (1 - (1 - k/E)^B).
    """
    return experts * (1.0 - (1.0 - per_token / experts) ** tokens)


def cache_bytes(cache: Cache, tokens: int, element_bytes: float, tensor: int) -> float:
    """Return the bytes of one layer's cache of one sequence of `tokens` that a step reads.

    Keys and values split over tensor-parallel ranks by head, a head at least; the latent of MLA is
    whole on every rank. A recurrent state is read and written, so it counts twice.
    """
    if cache.kind in {"full", "sliding"}:
        kept = min(tokens, cache.window) if cache.kind == "sliding" and cache.window else tokens
        heads = -(-cache.kv_heads // tensor)
        return kept * heads * (cache.key_size + cache.value_size) * element_bytes
    if cache.kind == "mla":
        width = cache.latent_size + cache.rope_size + cache.index_size
        return tokens * width * element_bytes
    if cache.kind == "linear":
        state = (cache.state_elements + cache.convolution_elements) * _STATE_BYTES
        return 2 * state / tensor
    return 0.0  # shared reads what another layer's row already counted; none keeps nothing


def step_traffic(model: ModelFacts, workload: Workload, parallelism: Parallelism) -> StepTraffic:
    """Return what one decode step reads when every sequence holds `workload.context_tokens`.

    With pipeline stages a token passes all of them one after the other, so the bytes are those of
    the whole model, while each stage works on its share of the sequences.

    Raises:
        SizingError: SIZ050 for a model that generates nothing, SIZ051 for an unknown cache type.
        ModelError: unknown quantization (`claimfit.model.quantization`).
    """
    if model.task != "generate":
        raise SizingError(
            "SIZ050",
            "a model that does not generate text has no decode speed",
            place=model.name,
            found=model.task,
            expected="a generative model",
            fix="leave out --min-tps",
        )
    element_bytes = _element_bytes(workload.kv_dtype)
    sequences = -(-workload.concurrency // parallelism.pipeline)
    chosen = quantization(workload.quantization) if workload.quantization else None
    split = weight_split(model, chosen)
    head = split.output or split.embedding
    dense = head + sum(split.layers)
    expert = 0.0
    expert_layers = 0
    for layer, layer_experts in zip(model.layers, split.experts, strict=True):
        mixture = layer.mixture
        if mixture is None or mixture.experts == 0:
            continue
        expert_layers += 1
        touched = distinct_experts(mixture.experts, mixture.experts_per_token, sequences)
        expert += layer_experts * touched / mixture.experts
    tensor = parallelism.tensor
    kept = sum(
        cache_bytes(layer.cache, workload.context_tokens, element_bytes, tensor)
        for layer in model.layers
    )
    active = sum(active_layer_parameters(layer) for layer in model.layers)
    active += model.output_parameters or model.embedding_parameters
    return StepTraffic(
        dense_bytes=round(dense / tensor),
        expert_bytes=round(expert / tensor),
        cache_bytes=round(kept * sequences),
        layers=len(model.layers),
        expert_layers=expert_layers,
        state_layers=sum(1 for layer in model.layers if layer.cache.kind == "linear"),
        operations=2.0 * active * sequences / tensor,
        sequences=sequences,
        hidden_bytes=2 * model.hidden_size * sequences,
    )


def _element_bytes(kv_dtype: str) -> float:
    known = _CACHE_BYTES.get(kv_dtype.upper())
    if known is None:
        raise SizingError(
            "SIZ051",
            "unknown cache type",
            place="--kv-dtype",
            found=kv_dtype,
            expected="one of " + ", ".join(sorted(name for name in _CACHE_BYTES if name)),
        )
    return known
