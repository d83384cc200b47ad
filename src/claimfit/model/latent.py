"""Parameters and cache of attention that caches a latent vector instead of keys and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.model.facts import Cache
from claimfit.model.shape import Mixer

if TYPE_CHECKING:
    from claimfit.model.shape import Shape

__all__ = ["compressed_attention", "latent_attention"]


def latent_attention(shape: Shape, layer: int) -> Mixer:
    """Return multi-head latent attention (DeepSeek V2 and later, Kimi, GLM-5).

    The cache is one latent and one rope key per token, whatever the number of heads; a sparse
    indexer (DeepSeek V3.2) adds a key of its own in the layers that compute one.
    """
    fields, hidden, heads = shape.fields, shape.hidden_size, shape.heads
    nope = fields.count("qk_nope_head_dim", least=0, most=65_536)
    rope = fields.count("qk_rope_head_dim", least=0, most=65_536)
    latent = fields.count("kv_lora_rank", most=1_000_000)
    value = fields.count("v_head_dim", most=65_536)
    rank = fields.optional_count("q_lora_rank", most=1_000_000)
    biased = shape.trait(shape.family.qkv_bias)
    query = heads * (nope + rope)
    parameters = hidden * query
    if rank:
        parameters = hidden * rank + rank + rank * query + (rank if biased else 0)
    parameters += hidden * (latent + rope) + latent + (latent + rope if biased else 0)
    parameters += latent * heads * (nope + value) + heads * value * hidden
    if shape.trait(shape.family.output_bias):
        parameters += hidden
    if fields.flag("mla_use_output_gate", default=False):
        parameters += hidden * heads * value
    cache = Cache("mla", 1, latent_size=latent, rope_size=rope)
    index = _index_size(shape, layer)
    if index:
        index_heads = fields.count("index_n_heads", most=65_536)
        parameters += (rank or hidden) * index_heads * index + hidden * (index + index_heads)
        parameters += 2 * index  # LayerNorm on the index key
        cache = cache._replace(index_size=index)
    return Mixer(parameters, heads, cache)


def _index_size(shape: Shape, layer: int) -> int:
    """Return the size of the index key that `layer` computes, 0 without an indexer of its own."""
    fields = shape.fields
    if "index_head_dim" not in fields:
        return 0
    kinds = fields.items("indexer_types")
    if kinds is not None:
        if len(kinds) != shape.layers:
            raise fields.contradiction("indexer_types", kinds, f"a list of {shape.layers} items")
        if kinds[layer] == "shared":
            return 0
    return fields.count("index_head_dim", most=65_536)


def compressed_attention(shape: Shape, ratio: int) -> Mixer:
    """Return DeepSeek V4's attention whose layer keeps one entry for each `ratio` tokens.

    Every layer attends to a window of the last tokens; with a ratio it also attends to compressed
    entries, with a ratio of 4 chosen by an indexer. Per token the cache holds 1/ratio of an entry,
    which `latent_size` states rounded up; the window, which does not grow, is `state_elements`.
    """
    fields, hidden, heads = shape.fields, shape.hidden_size, shape.heads
    size = shape.head_size
    rank = fields.count("q_lora_rank")
    groups = fields.count("o_groups", most=65_536)
    output = groups * fields.count("o_lora_rank")
    window = fields.count("sliding_window")
    parameters = hidden * rank + rank + rank * heads * size + hidden * size + size
    parameters += heads * size // groups * output + output * hidden + heads
    if not ratio:
        return Mixer(parameters, heads, Cache("sliding", 1, size, 0, window=window))
    parts = 2 if ratio <= 4 else 1  # overlapping windows hold two series
    parameters += 2 * hidden * parts * size + ratio * parts * size + size
    cache = Cache("mla", 1, latent_size=-(-size // ratio), state_elements=window * size)
    if ratio <= 4:
        index = fields.count("index_head_dim", most=65_536)
        index_heads = fields.count("index_n_heads", most=65_536)
        parameters += 2 * hidden * 2 * index + ratio * 2 * index + index
        parameters += rank * index_heads * index + hidden * index_heads
        cache = cache._replace(index_size=-(-index // ratio))
    return Mixer(parameters, heads, cache)
