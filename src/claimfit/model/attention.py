"""Parameters and cache of attention layers.

Shapes are those of the modeling code of each model type (huggingface/transformers 5.24): q, k, v
and output projection with their biases, norms on queries and keys, gates, sinks.
"""

from __future__ import annotations

from claimfit.model.facts import Cache, CacheKind
from claimfit.model.shape import Mixer, Shape

__all__ = ["attention", "latent_attention"]


def attention(shape: Shape, kind: CacheKind, *, window: int = 0) -> Mixer:
    """Return grouped-query attention with the cache `kind` (full, sliding, shared or none)."""
    fields, _family = shape.fields, shape.family
    value_size = fields.optional_count("v_head_dim", default=shape.head_size, least=1)
    return _grouped_query(
        shape, kind, window, shape.heads, shape.kv_heads, (shape.head_size, value_size)
    )


def _grouped_query(
    shape: Shape,
    kind: CacheKind,
    window: int,
    heads: int,
    kv_heads: int,
    sizes: tuple[int, int],
) -> Mixer:
    hidden, family = shape.hidden_size, shape.family
    key_size, value_size = sizes
    query, key, value = heads * key_size, kv_heads * key_size, kv_heads * value_size
    output = heads * value_size
    gates = query if shape.trait(family.output_gate) else 0
    parameters = hidden * (query + gates + key + value + output)
    if shape.trait(family.qkv_bias):
        parameters += query + gates + key + value
    if shape.trait(family.output_bias):
        parameters += hidden
    if family.sinks:
        parameters += heads
    parameters += _query_key_norms(shape, heads, kv_heads, key_size)
    return Mixer(parameters, heads, cache_of(kind, kv_heads, key_size, value_size, window))


def cache_of(kind: CacheKind, kv_heads: int, key_size: int, value_size: int, window: int) -> Cache:
    """Return the cache of a grouped-query layer; kinds that store nothing keep their heads out."""
    if kind == "sliding":
        return Cache("sliding", kv_heads, key_size, value_size, window=window)
    if kind == "full":
        return Cache("full", kv_heads, key_size, value_size)
    return Cache(kind)


def _query_key_norms(shape: Shape, heads: int, kv_heads: int, size: int) -> int:
    family = shape.family
    if not family.qk_norm:
        return 0
    if family.qk_norm_key and not shape.fields.flag(family.qk_norm_key, default=False):
        return 0
    if family.qk_norm == "head":
        return 2 * shape.norm(size)
    return shape.norm(heads * size) + shape.norm(kv_heads * size)


def latent_attention(shape: Shape) -> Mixer:
    """Return multi-head latent attention (DeepSeek V2 and later, Kimi, GLM-5).

    The cache is one latent and one rope key per token, whatever the number of heads; a sparse
    indexer (DeepSeek V3.2) adds its own key per token.
    """
    fields, hidden, heads = shape.fields, shape.hidden_size, shape.heads
    nope = fields.count("qk_nope_head_dim", least=0)
    rope = fields.count("qk_rope_head_dim", least=0)
    latent = fields.count("kv_lora_rank")
    value = fields.count("v_head_dim")
    rank = fields.optional_count("q_lora_rank")
    bias = shape.trait(shape.family.qkv_bias)
    query = heads * (nope + rope)
    if rank:
        parameters = hidden * rank + rank + rank * query + (rank if bias else 0)
    else:
        parameters = hidden * query
    parameters += hidden * (latent + rope) + latent + (latent + rope if bias else 0)
    parameters += latent * heads * (nope + value)
    parameters += heads * value * hidden + (hidden if shape.trait(shape.family.output_bias) else 0)
    return Mixer(parameters, heads, Cache("mla", 1, latent_size=latent, rope_size=rope))
