"""Bytes beside weights and cache: activation, runtime, graphs, adapters.

vLLM measures its activation with one dummy step of max_num_batched_tokens tokens and
max_num_seqs sequences. Its peak is the larger of two moments:

* sampling, after the last layer: logits in the model's type, then float32 copies of them, their
  softmax and random numbers: ``sequences x vocabulary x (type + 12.5 bytes)``. No rank takes a
  part of that off another, so tensor parallelism does not lower it.
* a layer: gate and up projection and their product, ``tokens x 3 x width / ranks``, and some
  copies of the hidden states; of experts once per expert that a token is sent to; of MLA the keys
  and values that are unpacked from the latents of a prefill chunk.

SGLang computes what it leaves free from the chunk size and the largest graph batch; llama.cpp
allocates one buffer for the largest moment of its compute graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.records import NamedTuple
from claimfit.units.amounts import GIB, MIB

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.model.facts import Layer, LoraAdapters, ModelFacts
    from claimfit.sizing.engines import EngineProfile

__all__ = [
    "Spread",
    "Stage",
    "activation",
    "graphs",
    "layer_peak",
    "lora",
    "runtime",
    "sampling_peak",
]

_VOCABULARY_PAD: Final = 64
_MLA_WORKSPACE_TOKENS: Final = 64 * 1024
"""Most cached tokens whose keys and values vLLM unpacks at once (MLACommonMetadataBuilder)."""
_MLA_HEAD_SIZE: Final = 256
"""Unpacked key and value of one MLA head where the facts do not state them (DeepSeek V2, V3)."""
_MOST_RANKS_SEEN: Final = 4
"""Largest tensor-parallel size among the measured start-ups."""
_VISION_DEPTH: Final = 27
_VISION_PARAMETERS: Final = 430_000_000
"""SigLIP so400m, where the facts name no larger tower."""
_VISION_COPIES: Final = 13
"""A vision tower keeps about 5 hidden and 2 x 4-fold feed-forward tensors per patch."""
_PATCHES_PER_TOKEN: Final = (1, 2, 6)
"""Patches that one image token stands for: none merged (LLaVA-Next); 2 x 2 merged (Qwen, Pixtral,
Llama 4) with half as much again. Gemma 3 pools 4 x 4, but its vocabulary keeps sampling larger."""


class Spread(NamedTuple):
    """Low, expected and high bytes."""

    low: float
    expected: float
    high: float


class Stage(NamedTuple):
    """The part of the engine whose overhead is asked for."""

    model: ModelFacts
    layers: Sequence[Layer]
    """Layers of this pipeline stage."""
    last: bool
    """Whether the stage ends in the output head and samples."""
    tensor: int
    pipeline: int
    element: int
    """Bytes of one activation."""
    context_tokens: int
    requests: int
    batched_tokens: int
    sequences: int
    graph_batch: int
    least_free: int
    """Bytes that SGLang leaves free of weights and cache at least."""
    cache_bytes: float
    """Bytes of one cached element."""


def _with(value: float, margin: tuple[float, float], widened: float) -> Spread:
    relative, absolute = margin
    off = (value * relative + absolute) * widened
    return Spread(max(0.0, value - off), value, value + off)


def activation(stage: Stage, profile: EngineProfile) -> Spread:
    """Return the peak of one step beside weights and cache."""
    if profile.name == "sglang":
        return _sglang_activation(stage)
    if profile.name == "llama.cpp":
        return _compute_buffer(stage, profile)
    sampling = sampling_peak(stage, profile)
    layer = max((layer_peak(one, stage, profile) for one in _distinct(stage.layers)), default=0.0)
    margins, widened = profile.margins, profile.widened
    sampled = _with(sampling, margins.activation, widened)
    layered = _with(layer, margins.layer_activation, widened)
    vision = _vision_peaks(stage)
    return Spread(
        max(sampled.low, layered.low, vision[0] if stage.model.multimodal else 0.0),
        max(sampling, layer, vision[1]),
        max(sampled.high, layered.high, vision[2]),
    )


def _distinct(layers: Sequence[Layer]) -> Sequence[Layer]:
    return tuple({id(layer): layer for layer in layers}.values())


def _hidden_states(stage: Stage) -> float:
    return float(stage.batched_tokens) * stage.model.hidden_size * stage.element


def sampling_peak(stage: Stage, profile: EngineProfile) -> float:
    """Return the bytes that live while tokens are drawn, after the last layer."""
    model, terms = stage.model, profile.overheads
    hidden = _hidden_states(stage)
    peak = terms.activation_base + terms.sampler_hidden * hidden
    if model.multimodal:
        peak += hidden  # the encoder's output for a full step stays cached beside it
    if stage.pipeline > 1:
        peak += 2 * hidden  # hidden state and residual that are received from the stage before
    if stage.last and model.task == "generate":
        vocabulary = -(-model.vocabulary_size // _VOCABULARY_PAD) * _VOCABULARY_PAD
        peak += float(stage.sequences) * vocabulary * (terms.sampler_bytes + stage.element)
    return peak


def layer_peak(layer: Layer, stage: Stage, profile: EngineProfile) -> float:
    """Return the bytes that live inside `layer`."""
    terms, tokens = profile.overheads, stage.batched_tokens
    hidden = _hidden_states(stage)
    width = layer.intermediate_size or _width(layer, stage.model.hidden_size)
    copies = terms.layer_hidden
    if layer.mixture is None:
        inner = 3.0 * tokens * width / stage.tensor * stage.element
    else:
        copies = terms.expert_hidden
        slots = tokens * layer.mixture.experts_per_token
        inner = slots * (3.0 * width / stage.tensor + 2.0 * stage.model.hidden_size) * stage.element
    if stage.pipeline > 1:
        copies += 2  # hidden state and residual that are received from the stage before
    peak = inner + copies * hidden
    cache = layer.cache
    if cache.kind == "mla":
        blocks = max(8 * stage.context_tokens, 64 * stage.sequences)
        heads = -(-layer.heads // stage.tensor)
        size = cache.key_size - cache.rope_size + cache.value_size if cache.key_size else 0
        unpacked = heads * (size or _MLA_HEAD_SIZE)
        peak += min(blocks, _MLA_WORKSPACE_TOKENS) * unpacked * stage.element
    return peak


def _width(layer: Layer, hidden: int) -> float:
    return layer.feed_forward_parameters / (3 * hidden) if hidden else 0.0


def _vision_peaks(stage: Stage) -> tuple[float, float, float]:
    """Return the peak of profiling the vision tower on a full step of image tokens.

    Its shape is no fact of the model, so it is drawn from its size: depth 27 (SigLIP), width from
    ``parameters = 12 x depth x width^2``. How many patches make one image token bounds it.
    """
    if not stage.model.multimodal:
        return 0.0, 0.0, 0.0
    parts = (part.parameters for part in stage.model.components if part.loaded)
    parameters = max(parts, default=0)
    parameters = max(parameters, _VISION_PARAMETERS)
    width = (parameters / (12 * _VISION_DEPTH)) ** 0.5
    least, usual, most = (
        stage.batched_tokens * patches * _VISION_COPIES * width * stage.element
        for patches in _PATCHES_PER_TOKEN
    )
    return least, usual, most


def _sglang_activation(stage: Stage) -> Spread:
    """1.5 MiB per token of the prefill chunk, at least 2048 of them (`mem_fraction_static`)."""
    value = max(stage.batched_tokens, 2048) * 1.5 * MIB
    return Spread(value, value, value)


def _compute_buffer(stage: Stage, profile: EngineProfile) -> Spread:
    """Return llama.cpp's compute buffer of one ubatch, flash attention on.

    The largest moment is either the logits of every token of the ubatch in float32 or a layer:
    the attention mask in float32 and once more in 16 bits over all cells, and the feed-forward in
    float32. Newer builds reserve logits for fewer tokens; the bounds hold both. The log of a 27B
    model with 200192 cells says 654.8 MiB: 512 x 200192 x 6 bytes is 586.5, 2 x 512 x 17408 x 4
    another 68.
    """
    model, tokens = stage.model, float(stage.batched_tokens)
    cells = -(-stage.context_tokens // profile.block_tokens) * profile.block_tokens
    caches = any(layer.cache.kind in ("full", "sliding", "mla") for layer in stage.layers)
    mask = tokens * cells * stage.requests * 6 if caches else 0.0
    inner = max((_ubatch_inner(layer, model.hidden_size) for layer in stage.layers), default=0.0)
    layer = mask + tokens * 4 * (inner + model.hidden_size)
    logits = 0.0
    if stage.last and model.task == "generate":
        logits = tokens * model.vocabulary_size * profile.overheads.sampler_bytes
    states = 2 * tokens * model.hidden_size * 4
    low = layer * 0.8
    expected = max(logits, layer) + states
    high = (max(logits, layer) + 0.5 * min(logits, layer) + 2 * states) * 1.1 + 64 * MIB
    if any(one.cache.kind == "sliding" for one in stage.layers):
        high += mask  # a second mask, of the sliding layers
    if stage.cache_bytes < 2:
        # Quantized keys and values of one layer are unpacked to 16 bits for a whole ubatch.
        elements = max((_cached(layer) for layer in stage.layers), default=0)
        high += float(cells) * stage.requests * elements * 2
    return Spread(low, expected, high)


def _cached(layer: Layer) -> int:
    cache = layer.cache
    return cache.kv_heads * (cache.key_size + cache.value_size) + cache.latent_size


def _ubatch_inner(layer: Layer, hidden: int) -> float:
    width = layer.intermediate_size or _width(layer, hidden)
    return 2 * width * (layer.mixture.experts_per_token if layer.mixture is not None else 1)


def runtime(stage: Stage, profile: EngineProfile) -> Spread:
    """Return what the process takes outside the framework's allocator: context, NCCL, kernels."""
    terms, margins = profile.overheads, profile.margins
    if stage.tensor > 1:
        value = terms.runtime_tensor + terms.runtime_per_rank * stage.tensor
    elif stage.pipeline > 1:
        value = terms.runtime_pipeline
    else:
        value = terms.runtime_single
    if profile.name == "sglang":
        # Constant metadata and an allowance per device of the replica (`mem_fraction_static`).
        value += 512 * MIB + stage.tensor * stage.pipeline / 8 * GIB
        kept = max(stage.batched_tokens, 2048) * 1.5 * MIB + stage.graph_batch * 2 * MIB
        kept += 512 * MIB + stage.tensor * stage.pipeline / 8 * GIB
        value += max(0.0, stage.least_free - kept)
    unseen = 1.5 if stage.tensor > _MOST_RANKS_SEEN else 1.0
    spread = _with(value, margins.runtime, profile.widened * unseen)
    if profile.name == "vllm" and stage.tensor == 1:
        # Four start-ups of Granite took 0.46 GiB where the other models took 0.25.
        return spread._replace(high=max(spread.high, 0.5 * GIB))
    return spread


def graphs(stage: Stage, profile: EngineProfile) -> Spread:
    """Return the memory of captured CUDA graphs."""
    if profile.name == "llama.cpp":
        return Spread(0.0, 0.0, 0.0)
    if profile.name == "sglang":
        value = float(stage.graph_batch * 2 * MIB)  # `mem_fraction_static`: 2 MiB per sequence
        return Spread(value, value, value)
    if stage.model.task != "generate":
        return _with(0.5 * profile.overheads.graph_base, (1.0, 0.0), profile.widened)
    terms = profile.overheads
    count = len(stage.layers)
    experts = sum(1 for layer in stage.layers if layer.mixture is not None)
    value = terms.graph_base + count * (
        terms.graph_layer + terms.graph_layer_hidden * stage.model.hidden_size / stage.tensor
    )
    value += experts * terms.graph_expert_layer
    margin = profile.margins.expert_graphs if experts else profile.margins.graphs
    return _with(value, margin, profile.widened)


def lora(stage: Stage, adapters: LoraAdapters | None) -> Spread:
    """Return the slots of resident adapters: rank x (inputs + outputs) of every matrix.

    vLLM splits one of each pair of matrices over the ranks and keeps the other whole (unless fully
    sharded), which is the expected value; low is both split. High adds adapters of the output head
    and slots of every expert.
    """
    if adapters is None:
        return Spread(0.0, 0.0, 0.0)
    model = stage.model
    down = up = experts = 0.0
    for layer in stage.layers:
        ins, outs = _adapted(layer, model.hidden_size)
        down += ins
        up += outs
        if layer.mixture is not None:
            experts += layer.mixture.experts * 3 * (model.hidden_size + layer.intermediate_size)
    scale = adapters.adapters * adapters.rank * stage.element
    head = model.vocabulary_size + model.hidden_size if stage.last else 0
    return Spread(
        scale * (down + up) / stage.tensor,
        scale * (down + up / stage.tensor),
        scale * (down + up + head + experts),
    )


def _adapted(layer: Layer, hidden: int) -> tuple[int, int]:
    """Return the inputs and the outputs of the adapted matrices of `layer`, added up."""
    cache = layer.cache
    query = layer.heads * (cache.key_size or hidden // max(1, layer.heads))
    value = cache.kv_heads * cache.value_size
    ins = 3 * hidden + query
    outs = query + cache.kv_heads * cache.key_size + value + hidden
    if layer.mixture is None:
        ins += 2 * hidden + layer.intermediate_size
        outs += 2 * layer.intermediate_size + hidden
    return ins, outs
