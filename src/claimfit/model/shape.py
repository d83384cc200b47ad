"""The sizes that every layer of a model shares, read once and checked against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from claimfit.model.facts import Cache
    from claimfit.model.families import Family
    from claimfit.model.fields import Fields

__all__ = [
    "HEAD_COUNTS",
    "HIDDEN_SIZES",
    "KV_HEAD_COUNTS",
    "LAYER_COUNTS",
    "MOST_LAYERS",
    "Mixer",
    "Shape",
    "read_shape",
]

MOST_LAYERS = 4096
"""No model has more; a count beyond it would only fill memory."""

HIDDEN_SIZES = ("hidden_size", "n_embd", "d_model", "dim", "model_dim")
LAYER_COUNTS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HEAD_COUNTS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
KV_HEAD_COUNTS = (
    "num_key_value_heads",
    "num_kv_heads",
    "n_head_kv",
    "kv_n_heads",
    "multi_query_group_num",
    "num_attention_groups",
)


class Mixer(NamedTuple):
    """The token mixer of one layer: attention, state space or none."""

    parameters: int
    heads: int
    cache: Cache


class Shape(NamedTuple):
    """Common sizes of a decoder or encoder."""

    fields: Fields
    family: Family
    hidden_size: int
    layers: int
    heads: int
    """0 where no layer attends."""
    kv_heads: int
    head_size: int
    context_tokens: int

    def trait(self, value: bool | str, *, default: bool = False) -> bool:  # a trait is bool or key
        """Return a family trait: itself, or what the configuration says under that key."""
        return self.fields.flag(value, default=default) if isinstance(value, str) else value

    def norm(self, width: int) -> int:
        """Return the parameters of a norm over `width`."""
        if not self.family.norm_weight:
            return 0
        return width * 2 if self.family.norm_bias else width


def read_shape(fields: Fields, family: Family, *, context_tokens: int) -> Shape:
    """Read and check the common sizes.

    Raises:
        InputError: CFG001 to CFG003, a size is missing, impossible or contradicts another.
    """
    hidden = fields.count(*HIDDEN_SIZES)
    layers = _layers(fields)
    heads = fields.count(*HEAD_COUNTS, most=65_536) if family.attends else 0
    if not heads or family.mixer == "mla":  # latent attention states its head sizes by other names
        return Shape(fields, family, hidden, layers, heads, min(heads, 1), 0, context_tokens)
    kv_heads = 1 if family.mixer == "nas" else _kv_heads(fields, heads)
    head_size = _head_size(fields, hidden, heads)
    return Shape(fields, family, hidden, layers, heads, kv_heads, head_size, context_tokens)


def _layers(fields: Fields) -> int:
    """Return the number of layers: stated, or the length of the list that has one item for each."""
    if not any(name in fields for name in LAYER_COUNTS):
        for name in ("layers_block_type", "layer_types", "hybrid_override_pattern"):
            listed = fields.raw(name)
            if isinstance(listed, list | str) and 0 < len(listed) <= MOST_LAYERS:
                return len(listed)
    return fields.count(*LAYER_COUNTS, most=MOST_LAYERS)


def _kv_heads(fields: Fields, heads: int) -> int:
    if fields.flag("multi_query", default=False) and not fields.flag(
        "new_decoder_architecture", default=False
    ):
        return 1
    section = fields.section("attn_config") or fields  # DBRX
    kv_heads = section.optional_count(*KV_HEAD_COUNTS, default=heads, least=1, most=65_536)
    if heads and heads % kv_heads:
        raise fields.contradiction(
            "num_key_value_heads", kv_heads, f"a divisor of num_attention_heads ({heads})"
        )
    return kv_heads


def _head_size(fields: Fields, hidden: int, heads: int) -> int:
    stated = fields.optional_count(
        "head_dim", "attention_head_dim", "kv_channels", "d_kv", least=1, most=65_536
    )
    if stated:
        return stated
    if hidden % heads:
        raise fields.contradiction(
            "num_attention_heads",
            heads,
            f"a divisor of hidden_size ({hidden}), or head_dim stated",
        )
    return hidden // heads
