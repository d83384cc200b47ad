"""Parameters and cache of grouped-query attention, in the variants of the model types.

Shapes are those of the modeling code of each type: query, key, value and output projection with
their biases, norms on queries and keys, gates and sinks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.model.facts import Cache
from claimfit.model.shape import Mixer

if TYPE_CHECKING:
    from claimfit.model.facts import CacheKind
    from claimfit.model.shape import Shape

__all__ = ["block_attention", "grouped_query", "indexed", "plain_attention"]


def plain_attention(shape: Shape, kind: CacheKind, window: int) -> Mixer:
    """Return the attention of a layer whose cache is `kind`; `window` is 0 unless it slides."""
    match shape.family.mixer:
        case "gemma-4":
            return _gemma4(shape, kind, window)
        case "mimo-v2":
            return _mimo_v2(shape, kind, window)
        case "step-3.5":
            return _step35(shape, kind, window)
        case "step-3":
            return _step3(shape)
        case "falcon":
            return _falcon(shape)
        case _:
            size = shape.head_size
            value = shape.fields.optional_count("v_head_dim", default=size, least=1, most=65_536)
            return grouped_query(shape, kind, window, shape.heads, shape.kv_heads, (size, value))


def grouped_query(  # the five sizes of an attention and what it belongs to
    shape: Shape,
    kind: CacheKind,
    window: int,
    heads: int,
    kv_heads: int,
    sizes: tuple[int, int],
) -> Mixer:
    """Return attention of `heads` query and `kv_heads` key/value heads of (key, value) `sizes`."""
    hidden, family = shape.hidden_size, shape.family
    key_size, value_size = sizes
    query, key, value = heads * key_size, kv_heads * key_size, kv_heads * value_size
    gate = query if shape.trait(family.output_gate) else 0
    parameters = hidden * (query + gate + key + value + heads * value_size)
    if shape.trait(family.qkv_bias):
        parameters += query + gate + key + value
    if shape.trait(family.output_bias):
        parameters += hidden
    if family.sinks:
        parameters += heads
    parameters += _query_key_norms(shape, heads, kv_heads, key_size)
    return Mixer(parameters, heads, _cache(kind, kv_heads, sizes, window))


def _cache(kind: CacheKind, kv_heads: int, sizes: tuple[int, int], window: int) -> Cache:
    if kind == "sliding":
        return Cache("sliding", kv_heads, *sizes, window=window)
    return Cache("full", kv_heads, *sizes) if kind == "full" else Cache(kind)


def _query_key_norms(shape: Shape, heads: int, kv_heads: int, size: int) -> int:
    family = shape.family
    if not family.qk_norm:
        return 0
    if family.qk_norm_key and not shape.fields.flag(family.qk_norm_key, default=False):
        return 0
    if family.qk_norm == "head":
        return 2 * shape.norm(size)
    width = (heads + kv_heads) * size
    return width if family.qk_norm == "per-head" else shape.norm(width)


def indexed(shape: Shape, mixer: Mixer) -> Mixer:
    """Return `mixer` with MiniMax-M3's block indexer: two projections, two norms, a cached key."""
    section = shape.fields.section("sparse_attention_config")
    fields = shape.fields if section is None else section
    heads = fields.count("sparse_num_index_heads", "index_n_heads", most=65_536)
    size = fields.count("sparse_index_dim", "index_head_dim", most=65_536)
    parameters = shape.hidden_size * (heads + 1) * size + 2 * size
    return mixer._replace(
        parameters=mixer.parameters + parameters, cache=mixer.cache._replace(index_size=size)
    )


def _gemma4(shape: Shape, kind: CacheKind, window: int) -> Mixer:
    """Return Gemma 4's attention: wider heads, fewer key heads and shared K = V in full layers.

    Layers that share another layer's cache have key and value projections in the file all the
    same. Whether a sharing layer slides is told by `window`.
    """
    fields, hidden, heads = shape.fields, shape.hidden_size, shape.heads
    slides = window > 0
    size, kv_heads, projections = shape.head_size, shape.kv_heads, 2
    if not slides:
        size = fields.count("global_head_dim", most=65_536)
        if fields.flag("attention_k_eq_v", default=False):
            projections = 1
            kv_heads = fields.optional_count(
                "num_global_key_value_heads", default=kv_heads, least=1, most=65_536
            )
    width = heads * size
    parameters = 2 * hidden * width + projections * hidden * kv_heads * size + 2 * size
    return Mixer(parameters, heads, _cache(kind, kv_heads, (size, size), window))


def _mimo_v2(shape: Shape, kind: CacheKind, window: int) -> Mixer:
    """Return MiMo-V2's attention: sliding layers have head counts and sizes of their own."""
    fields = shape.fields
    prefix = "swa_" if kind == "sliding" else ""
    heads = fields.optional_count(f"{prefix}num_attention_heads", default=shape.heads, least=1)
    kv_heads = fields.optional_count(
        f"{prefix}num_key_value_heads", default=shape.kv_heads, least=1
    )
    size = fields.optional_count(f"{prefix}head_dim", default=shape.head_size, least=1, most=65_536)
    value = fields.optional_count(f"{prefix}v_head_dim", "v_head_dim", default=size, least=1)
    mixer = grouped_query(shape, kind, window, heads, kv_heads, (size, value))
    name = "add_swa_attention_sink_bias" if prefix else "add_full_attention_sink_bias"
    sinks = heads if fields.flag(name, default=False) else 0
    return mixer._replace(parameters=mixer.parameters + sinks)


def _step35(shape: Shape, kind: CacheKind, window: int) -> Mixer:
    """Return Step 3.5's attention: other head counts in sliding layers, a gate per head."""
    fields, heads, kv_heads = shape.fields, shape.heads, shape.kv_heads
    other = fields.section("attention_other_setting")
    if kind == "sliding" and other is not None:
        heads = other.optional_count("num_attention_heads", default=heads, least=1, most=65_536)
        kv_heads = other.optional_count(
            "num_attention_groups", "num_key_value_heads", default=kv_heads, least=1, most=65_536
        )
    size = shape.head_size
    mixer = grouped_query(shape, kind, window, heads, kv_heads, (size, size))
    gate = shape.hidden_size * heads
    if not fields.flag("use_head_wise_attn_gate", default=True):
        gate = 0
    return mixer._replace(parameters=mixer.parameters + gate)


def _step3(shape: Shape) -> Mixer:
    """Return Step 3's multi-matrix factorization: a shared low-rank query, one key/value head."""
    hidden, size = shape.hidden_size, shape.head_size
    rank = shape.fields.count("share_q_dim")
    width = shape.heads * size
    parameters = hidden * rank + rank + rank * width + 2 * hidden * size + width * hidden
    return Mixer(parameters, shape.heads, Cache("full", 1, size, size))


def _falcon(shape: Shape) -> Mixer:
    """Return Falcon's attention with the norms of the layer, one or two by its parallel layout."""
    fields = shape.fields
    size = shape.head_size
    mixer = grouped_query(shape, "full", 0, shape.heads, shape.kv_heads, (size, size))
    new = fields.flag("new_decoder_architecture", default=False)
    norms = 1
    if new:
        norms = fields.optional_count("num_ln_in_parallel_attn", default=2, least=1, most=2)
    elif not fields.flag("parallel_attn", default=True):
        norms = 2
    extra = norms * shape.norm(shape.hidden_size)
    return mixer._replace(parameters=mixer.parameters + extra)


def block_attention(shape: Shape, layer: int) -> Mixer:
    """Return the attention of `layer` that `block_configs` states (Nemotron NAS), norm included.

    Raises:
        InputError: CFG001 to CFG004, the block is malformed or asks for what is not sized here.
    """
    block = shape.fields.element("block_configs", layer).required("attention")
    hidden = shape.hidden_size
    if block.flag("no_op", default=False):
        return Mixer(0, 0, Cache("none"))
    if block.flag("replace_with_linear", default=False):
        return Mixer(hidden * hidden + hidden, 0, Cache("none"))
    group = block.count("n_heads_in_group", most=65_536)
    if shape.heads % group:
        raise block.contradiction("n_heads_in_group", group, f"a divisor of {shape.heads}")
    size = shape.head_size
    mixer = grouped_query(shape, "full", 0, shape.heads, shape.heads // group, (size, size))
    return mixer._replace(parameters=mixer.parameters + hidden)
