"""Bytes of weights on each pipeline stage of one tensor-parallel rank.

A stage holds its layers, the first one the embedding, the last one the output head. Within a stage
matrices are split over the tensor-parallel ranks; what an engine keeps whole on every rank is
counted whole: norms, expert routers, the down-projections of MLA, key and value projections once
there are more ranks than key/value heads, and the table of rotary angles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.model.quantization import quantization
from claimfit.model.weights import weight_split
from claimfit.records import NamedTuple
from claimfit.units.amounts import GIB

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.model.facts import Layer, ModelFacts
    from claimfit.model.weights import WeightSplit
    from claimfit.sizing.engines import EngineProfile
    from claimfit.sizing.plan import Parallelism

__all__ = [
    "LoadedWeights",
    "StageWeights",
    "element_bytes",
    "loaded_weights",
    "stage_layers",
    "stage_weights",
]

_MXFP4_INTERMEDIATE_PAD: Final = 128
_MXFP4_HIDDEN_PAD: Final = 256
"""vLLM's MXFP4 kernels pad one expert's width and the hidden size to these multiples
(vllm/model_executor/layers/quantization/mxfp4.py); a gpt-oss-20b start-up agrees within 1 %."""


_LEAST_TOWER: Final = 0.8 * GIB
"""A SigLIP tower of 0.43 billion parameters in 16 bits, where the facts name none."""


_MLA_HEAD: Final = 128
"""Key (rope apart) and value size of one MLA head where the facts state none (DeepSeek V2, V3)."""


class LoadedWeights(NamedTuple):
    """Bytes by part, and what they are stored in."""

    split: WeightSplit
    scheme: str
    """Canonical quantization."""
    by_recipe: bool
    """Whether a GGUF recipe stands in for a file."""


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


def loaded_weights(model: ModelFacts, quantization_name: str, engine: str) -> LoadedWeights:
    """Return the weights as `engine` loads them; an empty name is the model's own quantization.

    Raises:
        ModelError: QNT001, unknown quantization.
    """
    if not quantization_name and model.quantization == "F32" and engine != "llama.cpp":
        quantization_name = "BF16"
    if engine == "llama.cpp" and model.file is None:
        # Files that llama.cpp calls MXFP4 keep everything but the experts in Q8_0, not in 16 bits
        # (ggml-org/gpt-oss-20b-GGUF is 12.1 GB, openai/gpt-oss-20b 13.8 GB).
        named = quantization(quantization_name or model.quantization).name
        quantization_name = "MXFP4_MOE" if named == "MXFP4" else quantization_name
    if not quantization_name:
        scheme = quantization(model.quantization)
        split = weight_split(model)
    else:
        scheme = quantization(quantization_name)
        split = weight_split(model, scheme)
    from_file = model.file is not None and scheme.name == model.file.quantization
    return LoadedWeights(split, scheme.name, bool(scheme.recipe) and not from_file)


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
    loaded: LoadedWeights,
    parallelism: Parallelism,
    profile: EngineProfile,
    element: int,
) -> tuple[StageWeights, ...]:
    """Return the bytes of every stage, first to last."""
    counts = stage_layers(len(model.layers), parallelism.pipeline, profile.name)
    stages = []
    first = 0
    for stage, count in enumerate(counts):
        held = slice(first, first + count)
        ends = _end_bytes(model, loaded.split, profile.name, stage, len(counts))
        body = _body_bytes(model, loaded, held, parallelism.tensor, profile.name, element)
        divided = body + ends / parallelism.tensor
        other = float(loaded.split.other) if stage == 0 else 0.0
        low = (divided + other / parallelism.tensor) * 0.995
        # 33 start-ups of vLLM 0.19 lie within 0.1 % below and 0.5 % above this account; files
        # made by a GGUF recipe differ by up to 2 % from what the recipe says.
        high = (divided + other) * (1.025 if loaded.by_recipe else 1.01)
        if stage == 0 and model.multimodal and profile.name != "llama.cpp":
            high += _multimodal_extra(model, loaded.split, parallelism.tensor)
        stages.append(StageWeights(first, count, low, divided + other, high))
        first += count
    return tuple(stages)


def _end_bytes(model: ModelFacts, split: WeightSplit, engine: str, stage: int, stages: int) -> int:
    """Return the embedding of the first stage and the head of the last.

    llama.cpp keeps the input embedding in host memory. A tied head is a second copy there, and
    where the last stage is not the first.
    """
    on_host = engine == "llama.cpp"
    total = split.embedding if stage == 0 and not on_host else 0
    if stage == stages - 1:
        copied = model.tied and split.output == 0 and (on_host or stage > 0)
        total += split.embedding if copied else split.output
    return total


def _body_bytes(
    model: ModelFacts,
    loaded: LoadedWeights,
    held: slice,
    tensor: int,
    engine: str,
    element: int,
) -> float:
    """Return the bytes of the layers in `held` on one rank, with the table of rotary angles."""
    split = loaded.split
    body = sum(split.layers[held])
    experts = float(sum(split.experts[held]))
    if engine == "llama.cpp":
        return body + experts
    if engine == "vllm" and loaded.scheme == "MXFP4":
        experts *= _expert_padding(model, tensor)
    whole = 0.0
    if tensor > 1:
        layers = model.layers[held]
        whole = _replicated_bytes(layers, split.layers[held], model.hidden_size, tensor, element)
    return (body - whole + experts) / tensor + whole + _rotary_bytes(model, element)


def _multimodal_extra(model: ModelFacts, split: WeightSplit, tensor: int) -> float:
    """Return what a multimodal model may take beyond its checkpoint.

    llm-d planner's study of vLLM 0.19 saw 3 to 9 % for some of them, without the cause; a tower
    held in float32, or a second copy of a tied embedding, bounds it.
    """
    copy = split.embedding / tensor if model.tied else 0.0
    return min(max(float(split.other), copy, _LEAST_TOWER), 0.09 * split.total)


def _replicated_bytes(
    layers: Sequence[Layer], held: Sequence[int], hidden: int, tensor: int, element: int
) -> float:
    """Return how many bytes of `layers`, which take `held`, are whole on every rank."""
    total = 0.0
    memo: dict[tuple[int, int], float] = {}
    for layer, bytes_held in zip(layers, held, strict=True):
        key = (id(layer), bytes_held)
        found = memo.get(key)
        if found is None:
            small, projections = _replicated_parameters(layer, hidden, tensor)
            parameters = layer.mixer_parameters + layer.feed_forward_parameters
            if layer.mixture is not None:
                parameters += layer.mixture.shared_parameters + layer.mixture.router_parameters
            each = bytes_held / parameters if parameters else 0.0
            found = memo[key] = min(bytes_held, small * element + projections * each)
        total += found
    return total


def _replicated_parameters(layer: Layer, hidden: int, tensor: int) -> tuple[float, float]:
    """Return the whole parameters that stay in the model's type, and those that are quantized."""
    cache = layer.cache
    small = 4.0 * hidden  # two norms, and those of queries and keys where there are any
    if layer.mixture is not None:
        small += layer.mixture.router_parameters
    if cache.kind == "mla":
        down = hidden * (cache.latent_size + cache.rope_size)
        return small, down + _query_down(layer, hidden)
    if cache.kv_heads and tensor > cache.kv_heads:
        # Each rank holds one key/value head of kv_heads, where an even split were kv_heads/tensor
        # of one: of the projections' P bytes a share s is whole with s + (1-s)/t = 1/kv_heads.
        projections = hidden * cache.kv_heads * (cache.key_size + cache.value_size)
        return small, projections * (tensor / cache.kv_heads - 1) / (tensor - 1)
    return small, 0.0


def _query_down(layer: Layer, hidden: int) -> float:
    """Return the parameters of MLA's query down-projection, which every rank holds.

    Its rank q is no fact of its own; it follows from the mixer's parameters:
    ``mixer = hidden*q + q*heads*key + hidden*(latent+rope) + latent*heads*(nope+value)
    + heads*value*hidden`` (DeepSeek-V2 report, appendix on MLA; norms are negligible).
    """
    cache, heads = layer.cache, layer.heads
    if not heads:
        return 0.0
    key = cache.key_size or _MLA_HEAD + cache.rope_size
    value = cache.value_size or _MLA_HEAD
    rest = layer.mixer_parameters - hidden * (cache.latent_size + cache.rope_size)
    rest -= cache.latent_size * heads * (key - cache.rope_size + value)
    rest -= heads * value * hidden
    rank = rest / (hidden + heads * key)
    # Without a query down-projection the remainder is hidden*heads*key: no low rank.
    return hidden * rank if 0 < rest < 0.9 * hidden * heads * key else 0.0


def _rotary_bytes(model: ModelFacts, element: int) -> int:
    """Return the table of rotary angles: context x rotated size, once per size.

    Seen in start-ups as the gap between checkpoint and loaded size: 131072 x 128 x 2 bytes is
    0.031 GiB, Llama-3.1-8B loads 0.033 more than its file, on each of its ranks.
    """
    sizes = {
        layer.cache.rope_size or layer.cache.key_size
        for layer in model.layers
        if layer.cache.kind in ("full", "sliding", "mla")
    }
    return model.context_tokens * element * sum(sizes)


def _expert_padding(model: ModelFacts, tensor: int) -> float:
    """Return the factor by which vLLM's MXFP4 kernels enlarge expert weights."""
    layer = next((layer for layer in model.layers if layer.mixture is not None), None)
    if layer is None:
        return 1.0
    width = layer.intermediate_size / tensor
    if not width or not model.hidden_size:
        return 1.0
    padded = _up(width, _MXFP4_INTERMEDIATE_PAD) * _up(model.hidden_size, _MXFP4_HIDDEN_PAD)
    return padded / (width * model.hidden_size)


def _up(value: float, multiple: int) -> int:
    return -int(-value // multiple) * multiple
