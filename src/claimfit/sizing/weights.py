"""Bytes of weights on each pipeline stage of one tensor-parallel rank.

A stage holds its layers, the first one the embedding, the last one the output head. Within a stage
matrices are split over the tensor-parallel ranks; what an engine keeps whole on every rank is
counted whole: norms, expert routers, the down-projections of MLA, key and value projections once
there are more ranks than key/value heads, and the table of rotary angles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.model.quantization import quantization
from claimfit.model.weights import weight_split
from claimfit.units.amounts import GIB

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.model.facts import Layer, ModelFacts
    from claimfit.model.weights import WeightSplit
    from claimfit.sizing.engines import EngineProfile
    from claimfit.sizing.plan import Parallelism

__all__ = ["StageWeights", "element_bytes", "loaded_weights", "stage_layers", "stage_weights"]

_MXFP4_INTERMEDIATE_PAD: Final = 128
_MXFP4_HIDDEN_PAD: Final = 256
"""vLLM's MXFP4 kernels pad one expert's width and the hidden size to these multiples
(vllm/model_executor/layers/quantization/mxfp4.py); a gpt-oss-20b start-up agrees within 1 %."""


_LEAST_TOWER: Final = 0.8 * GIB
"""A SigLIP tower of 0.43 billion parameters in 16 bits, where the facts name none."""


class StageWeights(NamedTuple):
    """Bytes on one rank of one pipeline stage."""

    first_layer: int
    layers: int
    low: float
    expected: float
    high: float


def element_bytes(quantization_name: str) -> int:
    """Return the bytes of one activation: 4 only when F32 is asked for by name.

    vLLM and SGLang turn a float32 checkpoint into 16 bits unless told otherwise.
    """
    return 4 if quantization_name and quantization(quantization_name).name == "F32" else 2


def loaded_weights(model: ModelFacts, quantization_name: str, engine: str) -> WeightSplit:
    """Return the bytes by part as `engine` loads them.

    Raises:
        ModelError: QNT001, unknown quantization.
    """
    if quantization_name:
        return weight_split(model, quantization(quantization_name))
    if model.quantization == "F32" and engine != "llama.cpp":
        return weight_split(model, quantization("BF16"))
    return weight_split(model)


def stage_layers(layers: int, pipeline: int, engine: str) -> tuple[int, ...]:
    """Return how many layers each pipeline stage holds.

    vLLM (`get_pp_indices`) and SGLang give what does not divide evenly to the stages before the
    last, from the back: 10 layers on 4 stages are 2, 3, 3, 2. llama.cpp splits by memory share,
    which on equal devices is even; the first stages get the remainder.
    """
    each, rest = divmod(layers, pipeline)
    counts = [each] * pipeline
    for extra in range(rest):
        if engine == "llama.cpp":
            counts[extra] += 1
        else:
            counts[-2 - extra] += 1
    return tuple(counts)


def stage_weights(
    model: ModelFacts,
    split: WeightSplit,
    parallelism: Parallelism,
    profile: EngineProfile,
    element: int,
) -> tuple[StageWeights, ...]:
    """Return the bytes of every stage, first to last."""
    tensor = parallelism.tensor
    counts = stage_layers(len(model.layers), parallelism.pipeline, profile.name)
    padding = _expert_padding(model, split, tensor) if profile.name == "vllm" else 1.0
    rotary = _rotary_bytes(model, element) if profile.name != "llama.cpp" else 0
    host_embedding = profile.name == "llama.cpp"
    stages = []
    first = 0
    for stage, count in enumerate(counts):
        last = stage == len(counts) - 1
        layers = model.layers[first : first + count]
        body = sum(split.layers[first : first + count])
        experts = sum(split.experts[first : first + count]) * padding
        whole = _replicated_bytes(layers, model.hidden_size, tensor, element) if tensor > 1 else 0
        ends = 0
        if stage == 0 and not host_embedding:
            ends += split.embedding
        if last:
            tied_copy = split.output == 0 and (host_embedding or stage > 0) and model.tied
            ends += split.embedding if tied_copy else split.output
        divided = (body - min(whole, body) + experts + ends) / tensor + min(whole, body) + rotary
        other = split.other if stage == 0 else 0
        low = (divided + other / tensor) * 0.995
        high = (divided + other) * _above(split)
        if stage == 0 and model.multimodal and not host_embedding:
            high += _multimodal_extra(model, split, tensor)
        stages.append(StageWeights(first, count, low, divided + other, high))
        first += count
    return tuple(stages)


def _above(split: WeightSplit) -> float:
    """Return the factor of the upper bound.

    33 start-ups of vLLM 0.19 lie within 0.1 % below and 0.5 % above the account of this module;
    files made by a GGUF recipe differ by up to 2 % from what the recipe says.
    """
    return 1.025 if "recipe" in split.bits_source else 1.01


def _multimodal_extra(model: ModelFacts, split: WeightSplit, tensor: int) -> float:
    """Return what a multimodal model may take beyond its checkpoint.

    llm-d planner's study of vLLM 0.19 saw 3 to 9 % for some of them, without the cause; a tower
    held in float32, or a second copy of a tied embedding, bounds it.
    """
    copy = split.embedding / tensor if model.tied else 0.0
    return max(float(split.other), copy, _LEAST_TOWER)


def _replicated_bytes(layers: Sequence[Layer], hidden: int, tensor: int, element: int) -> float:
    """Return the bytes of `layers` that every rank holds in excess of its share, scaled to whole.

    The result is what is taken out of the divided bytes and added back undivided.
    """
    total = 0.0
    memo: dict[int, float] = {}
    for layer in layers:
        key = id(layer)
        found = memo.get(key)
        if found is None:
            found = memo[key] = _replicated_parameters(layer, hidden, tensor)
        total += found
    return total * element


def _replicated_parameters(layer: Layer, hidden: int, tensor: int) -> float:
    cache = layer.cache
    whole = 4.0 * hidden  # two norms, and those of queries and keys where there are any
    if layer.mixture is not None:
        whole += layer.mixture.router_parameters
    if cache.kind == "mla":
        whole += hidden * (cache.latent_size + cache.rope_size) + _query_down(layer, hidden)
    elif cache.kv_heads and tensor > cache.kv_heads:
        # Each rank holds one key/value head of kv_heads, where an even split were kv_heads/tensor
        # of one: of the projections' P bytes a share s is whole with s + (1-s)/t = 1/kv_heads.
        projections = hidden * cache.kv_heads * (cache.key_size + cache.value_size)
        share = (tensor / cache.kv_heads - 1) / (tensor - 1)
        whole += projections * share
    return whole


def _query_down(layer: Layer, hidden: int) -> float:
    """Return the parameters of MLA's query down-projection, which every rank holds.

    Its rank q is no fact of its own; it follows from the mixer's parameters:
    ``mixer = hidden*q + q*heads*key + hidden*(latent+rope) + latent*heads*(nope+value)
    + heads*value*hidden`` (DeepSeek-V2 report, appendix on MLA; norms are negligible).
    """
    cache, heads = layer.cache, layer.heads
    if not cache.key_size or not heads:
        return 0.0
    value = cache.value_size or cache.key_size
    rest = layer.mixer_parameters - hidden * (cache.latent_size + cache.rope_size)
    rest -= cache.latent_size * heads * (cache.key_size - cache.rope_size + value)
    rest -= heads * value * hidden
    rank = rest / (hidden + heads * cache.key_size)
    # Without a query down-projection the remainder is hidden*heads*key: no low rank.
    full_rank = hidden * heads * cache.key_size
    return hidden * rank if 0 < rest < 0.9 * full_rank else 0.0


def _rotary_bytes(model: ModelFacts, element: int) -> int:
    """Return the table of rotary angles: context x rotated size, once per attention kind.

    Seen in start-ups as the gap between checkpoint and loaded size: 131072 x 128 x 2 bytes is
    0.031 GiB, Llama-3.1-8B loads 0.033 more than its file, on each of its ranks.
    """
    sizes = {
        (layer.cache.kind == "sliding", layer.cache.rope_size or layer.cache.key_size)
        for layer in model.layers
        if layer.cache.kind in ("full", "sliding", "mla")
    }
    return model.context_tokens * element * sum(size for _, size in sizes)


def _expert_padding(model: ModelFacts, split: WeightSplit, tensor: int) -> float:
    """Return the factor by which vLLM's MXFP4 kernels enlarge expert weights, else 1."""
    layer = next((layer for layer in model.layers if layer.mixture is not None), None)
    if layer is None or "MXFP4" not in (model.quantization, split.bits_source.split()[-1]):
        return 1.0
    width = layer.intermediate_size / tensor
    if not width or not model.hidden_size:
        return 1.0
    padded = _up(width, _MXFP4_INTERMEDIATE_PAD) * _up(model.hidden_size, _MXFP4_HIDDEN_PAD)
    return padded / (width * model.hidden_size)


def _up(value: float, multiple: int) -> int:
    return -int(-value // multiple) * multiple
