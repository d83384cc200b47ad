"""What one decode step moves through the memory of one device, in bytes.

Decoding is bound by memory traffic: a step reads every weight that some sequence of the batch
needs, and the cache of every sequence. Two things make that less than "the file": the embedding is
looked up row by row (unless it is the output head too), and in a layer of experts only the experts
are read that some token of the batch was routed to.

With several streams a step has more to do: while one stream decodes an answer, each of the others
ends and is replaced once, and the prompts of the newcomers are read in between. Each step then
carries, for each other stream, as many prompt tokens as there are for each token of the answers.

Pure arithmetic on the model's shape; how fast the bytes move is `claimfit.sizing.speed`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from claimfit.errors import SizingError
from claimfit.model.facts import Cache, ModelFacts, active_layer_parameters
from claimfit.model.quantization import quantization
from claimfit.records import NamedTuple
from claimfit.sizing.kv_cache import cache_dtype, token_bytes
from claimfit.sizing.weights import element_bytes, loaded_weights

if TYPE_CHECKING:
    from claimfit.sizing.plan import EngineChoice, Parallelism, Workload
    from claimfit.sizing.weights import LoadedWeights

__all__ = ["StepTraffic", "cache_bytes", "distinct_experts", "step_traffic"]

_SPARSE_TOKENS: Final = 2048
"""Tokens that sparse attention with an indexer reads in full (index_topk of DeepSeek V3.2)."""

_INDEPENDENCE: Final = 0.8
"""Share of the tokens of a batch that are routed independently of the others: experts are not
equally popular. Fitted to rows of vLLM and SGLang at 4 to 256 streams (docs/speed.md)."""

_KEY_AND_VALUE: Final = 320
"""Elements of one MLA head's key (128 and rope 64) and value (128) where the facts state none."""

_MULTIPLIED: Final = frozenset({"float", "fp8", "fp4"})
"""Families of quantization whose values tensor cores multiply as they are stored (INT8 too)."""
_MOSTLY_16_BITS: Final = 12.0
_MOSTLY_8_BITS: Final = 6.0
_LARGEST_COUNT: Final = 10**9
"""Far beyond any context or batch, and small enough for every product to stay a finite float."""


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
    vocabulary: int
    """Entries of the vocabulary: what a sampler goes through."""
    operations: float
    """Floating-point operations: two per active parameter and sequence."""
    sequences: int
    """Sequences in one step: the concurrency, or one pipeline stage's share of it."""
    hidden_bytes: int
    """Activations that one collective moves: 2 bytes x hidden size x sequences."""
    dense_bits: int = 16
    """Format of the dense weights: 16, 8 or 4 when it is one that tensor cores multiply as it is
    stored (16-bit floats; FP8, INT8; NVFP4, MXFP4), 0 for those that are unpacked first."""
    expert_bits: int = 16
    """The same of the routed experts."""
    latent_layers: int = 0
    """Layers of multi-head latent attention, which has more and smaller matrices."""
    indexed_layers: int = 0
    """Layers whose sparse attention has an indexer."""
    prompt_tokens: float = 0.0
    """Tokens of other streams' prompts that a step reads too."""
    prompt_operations: float = 0.0
    """Floating-point operations of their matrices."""
    prompt_attention_operations: float = 0.0
    """Floating-point operations of their attention."""

    @property
    def weight_bytes(self) -> int:
        """All weights that the step reads."""
        return self.dense_bytes + self.expert_bytes


def distinct_experts(experts: int, per_token: int, tokens: float) -> float:
    """Return how many experts of one layer a batch of `tokens` touches on average.

    Each token picks `per_token` of `experts`; with independent, even routing an expert stays
    untouched with probability (1 - k/E)^B, hence E * (1 - (1 - k/E)^B).
    """
    return experts * (1.0 - math.pow(1.0 - per_token / experts, tokens))


def cache_bytes(cache: Cache, tokens: int, cache_element: float, tensor: int) -> float:
    """Return the bytes of one layer's cache of one sequence of `tokens` that a step reads.

    `claimfit.sizing.kv_cache` says what a token takes on one rank. A recurrent state is read and
    written, so it counts twice; sparse attention reads the keys of its indexer, then few tokens.
    """
    each = token_bytes(cache, tensor, cache_element)
    if cache.kind == "linear":
        return 2 * each
    if cache.kind == "sliding" and cache.window:
        return min(tokens, cache.window) * each
    if cache.index_size:
        attended = token_bytes(cache._replace(index_size=0), tensor, cache_element)
        return tokens * (each - attended) + min(tokens, _SPARSE_TOKENS) * attended
    return tokens * each


def step_traffic(
    model: ModelFacts, engine: EngineChoice, workload: Workload, parallelism: Parallelism
) -> StepTraffic:
    """Return what one decode step reads when every sequence holds `workload.context_tokens`.

    With pipeline stages a token passes all of them one after the other, so the bytes are those of
    the whole model, while each stage works on its share of the sequences.

    Raises:
        SizingError: SIZ050 for a model that generates nothing, SIZ056 for a context, a concurrency
            or a parallelism out of range; SIZ003 (`cache_dtype`).
        ModelError: unknown quantization (`loaded_weights`).
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
    for place, value in (
        ("context", workload.context_tokens),
        ("concurrency", workload.concurrency),
        ("tensor parallelism", parallelism.tensor),
        ("pipeline parallelism", parallelism.pipeline),
    ):
        if not 1 <= value <= _LARGEST_COUNT:
            raise SizingError(
                "SIZ056",
                "out of range",
                place=place,
                found=value,
                expected=f"a whole number from 1 to {_LARGEST_COUNT}",
            )
    element = element_bytes(workload.quantization)
    _, cache_element = cache_dtype(workload.kv_dtype, engine.name, element)
    sequences = -(-workload.concurrency // parallelism.pipeline)
    tensor = parallelism.tensor
    loaded = loaded_weights(model, workload.quantization, engine.name)
    split = loaded.split
    dense = (split.output or split.embedding) + sum(split.layers)
    expert, expert_layers = 0.0, 0
    for layer, layer_experts in zip(model.layers, split.experts, strict=True):
        mixture = layer.mixture
        if mixture is not None and mixture.experts:
            expert_layers += 1
            tokens = 1 + _INDEPENDENCE * (sequences - 1)
            touched = distinct_experts(mixture.experts, mixture.experts_per_token, tokens)
            expert += layer_experts * touched / mixture.experts
    kept = sum(
        cache_bytes(layer.cache, workload.context_tokens, cache_element, tensor)
        for layer in model.layers
    )
    in_layers = sum(active_layer_parameters(layer) for layer in model.layers)
    active = in_layers + (model.output_parameters or model.embedding_parameters)
    dense_bits, expert_bits = _formats(model, loaded)
    ratio = workload.prompt_ratio
    prompts = (sequences - 1) * ratio
    return StepTraffic(
        dense_bytes=round(dense / tensor),
        expert_bytes=round(expert / tensor),
        cache_bytes=round(kept * sequences),
        layers=len(model.layers),
        expert_layers=expert_layers,
        state_layers=sum(layer.cache.kind == "linear" for layer in model.layers),
        vocabulary=model.vocabulary_size,
        operations=2.0 * active * sequences / tensor,
        sequences=sequences,
        hidden_bytes=2 * model.hidden_size * sequences,
        dense_bits=dense_bits,
        expert_bits=expert_bits,
        latent_layers=sum(layer.cache.kind == "mla" for layer in model.layers),
        indexed_layers=sum(layer.cache.index_size > 0 for layer in model.layers),
        prompt_tokens=prompts,
        prompt_operations=2.0 * in_layers * prompts / tensor,
        prompt_attention_operations=prompts
        * _attention_operations(model, workload.context_tokens * ratio / (1 + ratio))
        / tensor,
    )


def _formats(model: ModelFacts, loaded: LoadedWeights) -> tuple[int, int]:
    """Return `StepTraffic.dense_bits` and `expert_bits` of weights as they are loaded."""
    dense = experts = 0
    for layer in model.layers:
        dense += layer.mixer_parameters + layer.feed_forward_parameters
        if layer.mixture is not None:
            dense += layer.mixture.shared_parameters + layer.mixture.router_parameters
            experts += layer.mixture.experts * layer.mixture.expert_parameters
    scheme = quantization(loaded.scheme)
    multiplied = scheme.family in _MULTIPLIED or scheme.name == "INT8"
    dense_bits = _format(8 * sum(loaded.split.layers) / max(1, dense), multiplied)
    if not experts:
        return dense_bits, dense_bits
    return dense_bits, _format(8 * sum(loaded.split.experts) / experts, multiplied)


def _format(bits: float, multiplied: bool) -> int:
    """Return the format of weights that take `bits` on average, scales and exceptions included."""
    if bits > _MOSTLY_16_BITS:
        return 16
    if not multiplied:
        return 0
    return 8 if bits > _MOSTLY_8_BITS else 4


def _attention_operations(model: ModelFacts, tokens: float) -> float:
    """Return the operations of attention for each token of a prompt of `tokens`, on average.

    A token attends to half of its prompt: 2 operations for each element of key and value.
    """
    total = 0.0
    for layer in model.layers:
        cache = layer.cache
        seen = tokens / 2
        if cache.kind == "sliding" and cache.window:
            seen = min(seen, cache.window)
        elif cache.index_size:
            seen = min(seen, _SPARSE_TOKENS)
        elif cache.kind not in {"full", "mla", "sliding"}:
            continue
        elements = cache.key_size + cache.value_size
        if cache.kind == "mla" and not (cache.key_size and cache.value_size):
            elements = _KEY_AND_VALUE
        total += 2.0 * layer.heads * elements * seen
    return total
