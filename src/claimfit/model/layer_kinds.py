"""Which kind of token mixer each layer has, from the many ways configurations say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from claimfit.model.shape import Shape

__all__ = ["LayerKind", "layer_kinds"]

LayerKind = Literal["full", "sliding", "chunked", "mla", "linear", "feed_forward", "experts"]
"""feed_forward and experts: layers without a mixer (Nemotron-H)."""

_WORDS: Final[dict[str, LayerKind]] = {
    "full_attention": "full",
    "attention": "full",
    "full": "full",
    "global": "full",
    "sliding_attention": "sliding",
    "sliding": "sliding",
    "local": "sliding",
    "chunked_attention": "chunked",
    "linear_attention": "linear",
    "mamba": "linear",
    "mamba2": "linear",
    "conv": "linear",
    "recurrent": "linear",
    "deepseek_sparse_attention": "mla",
    "mlp": "feed_forward",
    "moe": "experts",
    "hybrid": "full",
}

_PATTERN_LETTERS: Final[dict[str, LayerKind]] = {
    "M": "linear",
    "*": "full",
    "-": "feed_forward",
    "E": "experts",
}


def layer_kinds(shape: Shape) -> tuple[LayerKind, ...]:
    """Return the mixer kind of each layer.

    Raises:
        InputError: CFG002 to CFG004, a list of kinds is malformed, has another length than there
            are layers, or names a kind that is not known.
    """
    listed = _listed(shape)
    if listed is not None:
        return listed
    attention: LayerKind = "mla" if shape.family.mixer == "mla" else "full"
    fields, layers = shape.fields, shape.layers
    every = fields.optional_count("full_attention_interval", default=0)
    if every:
        return tuple(attention if (i + 1) % every == 0 else "linear" for i in range(layers))
    window = fields.optional_count("sliding_window", "sliding_window_size")
    if not window or not fields.flag("use_sliding_window", default=True):
        return (attention,) * layers
    pattern = _window_pattern(shape)
    if pattern:
        return tuple("full" if (i + 1) % pattern == 0 else "sliding" for i in range(layers))
    if "max_window_layers" in fields and fields.flag("use_sliding_window", default=False):
        first = fields.optional_count("max_window_layers")
        return tuple("sliding" if i >= first else "full" for i in range(layers))
    if shape.family.window_everywhere:
        return ("sliding",) * layers
    return tuple([attention] * layers)


def _window_pattern(shape: Shape) -> int:
    fields = shape.fields
    return fields.optional_count("sliding_window_pattern", default=shape.family.window_pattern)


def _listed(shape: Shape) -> tuple[LayerKind, ...] | None:
    """Return kinds that the configuration lists layer by layer."""
    fields = shape.fields
    words = fields.items("layer_types", "layers_block_type")
    if words is None:
        return None
    name = "layer_types" if "layer_types" in fields else "layers_block_type"
    if len(words) != shape.layers:
        raise fields.contradiction(
            name, words, f"a list of {shape.layers} items, one for each layer"
        )
    kinds: list[LayerKind] = []
    for word in words:
        kind = _WORDS.get(word) if isinstance(word, str) else None
        if kind is None:
            raise fields.unsupported(name, word, f"one of {', '.join(_WORDS)}")
        kinds.append("mla" if kind == "full" and shape.family.mixer == "mla" else kind)
    return tuple(kinds)
