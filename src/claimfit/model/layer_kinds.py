"""Which kind of token mixer each layer has, from the many ways configurations say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from claimfit.model.fields import Fields
    from claimfit.model.shape import Shape

__all__ = ["LayerKind", "layer_kinds", "layer_window"]

LayerKind = Literal["full", "sliding", "chunked", "indexed", "linear", "feed_forward", "experts"]
"""full: the family's attention over all tokens. sliding, chunked: over a window of them.
indexed: full with an indexer (MiniMax-M3). linear: the family's recurrent mixer.
feed_forward, experts: a layer without a mixer (Nemotron-H).
"""

_WORDS: Final[dict[str, LayerKind]] = {
    "full_attention": "full",
    "attention": "full",
    "full": "full",
    "global": "full",
    "global_attention": "full",
    "hybrid": "full",
    "deepseek_sparse_attention": "full",
    "minimax_sparse_attention": "indexed",
    "minimax_m3_sparse": "indexed",
    "sliding_attention": "sliding",
    "sliding_window": "sliding",
    "sliding": "sliding",
    "local": "sliding",
    "chunked_attention": "chunked",
    "linear_attention": "linear",
    "kimi_delta_attention": "linear",
    "mamba": "linear",
    "mamba2": "linear",
    "conv": "linear",
    "mlp": "feed_forward",
    "moe": "experts",
}

_LETTERS: Final[dict[str, LayerKind]] = {
    "M": "linear",
    "*": "full",
    "-": "feed_forward",
    "E": "experts",
}
"""Letters of Nemotron-H's hybrid_override_pattern."""


def layer_kinds(shape: Shape) -> tuple[LayerKind, ...]:
    """Return the mixer kind of each layer.

    Raises:
        InputError: CFG002 to CFG004, a list of kinds is malformed, has another length than there
            are layers, or names a kind that is not known.
    """
    if not shape.family.attends:
        return _all("linear", shape)
    for reading in (_named, _lettered, _marked, _numbered, _periodic):
        kinds = reading(shape)
        if kinds is not None:
            return kinds
    return _windowed(shape)


def layer_window(shape: Shape, kind: LayerKind) -> int:
    """Return the tokens that a layer of `kind` attends to, 0 when all.

    A window that reaches over the whole context is none.
    """
    if kind == "chunked":
        window = shape.fields.count("attention_chunk_size")
    elif kind == "sliding":
        window = shape.fields.count("sliding_window", "sliding_window_size")
    else:
        return 0
    return 0 if window >= shape.context_tokens else window


def _all(kind: LayerKind, shape: Shape) -> tuple[LayerKind, ...]:
    return (kind,) * shape.layers


def _named(shape: Shape) -> tuple[LayerKind, ...] | None:
    """Read a list of words, one for each layer."""
    fields = shape.fields
    name = "layer_types" if "layer_types" in fields else "layers_block_type"
    words = fields.items(name)
    if words is None:
        return None
    prediction = fields.optional_count("num_nextn_predict_layers")
    if len(words) not in (shape.layers, shape.layers + prediction):
        raise fields.contradiction(
            name, words, f"a list of {shape.layers} items, one for each layer"
        )
    kinds: list[LayerKind] = []
    for word in words[: shape.layers]:
        kind = _WORDS.get(word) if isinstance(word, str) else None
        if kind is None:
            raise fields.unsupported(name, word, f"one of {', '.join(_WORDS)}")
        kinds.append(kind)
    return tuple(kinds)


def _lettered(shape: Shape) -> tuple[LayerKind, ...] | None:
    """Read a pattern of letters: Nemotron-H's, or EXAONE's and Cohere's L and G."""
    fields = shape.fields
    pattern = fields.text("hybrid_override_pattern")
    if pattern:
        if len(pattern) != shape.layers:
            raise fields.contradiction(
                "hybrid_override_pattern", pattern, f"{shape.layers} letters, one for each layer"
            )
        unknown = set(pattern) - _LETTERS.keys()
        if unknown:
            raise fields.unsupported(
                "hybrid_override_pattern", min(unknown), "letters M, *, - and E"
            )
        return tuple(_LETTERS[letter] for letter in pattern)
    if isinstance(fields.raw("sliding_window_pattern"), str):
        letters = fields.text("sliding_window_pattern")
        if not letters or set(letters) - {"L", "G"}:
            raise fields.wrong("sliding_window_pattern", letters, "a number or letters L and G")
        return tuple(
            "sliding" if letters[layer % len(letters)] == "L" else "full"
            for layer in range(shape.layers)
        )
    return None


def _marked(shape: Shape) -> tuple[LayerKind, ...] | None:
    """Read a list of 0 and 1, one for each layer."""
    fields = shape.fields
    sparse = fields.section("sparse_attention_config")
    readings: tuple[tuple[Fields | None, str, tuple[LayerKind, LayerKind]], ...] = (
        (fields, "attn_type_list", ("linear", "full")),
        (fields, "hybrid_layer_pattern", ("full", "sliding")),
        (sparse, "sparse_attention_freq", ("full", "indexed")),
    )
    for section, name, (zero, one) in readings:
        marks = None if section is None else section.counts(name, most=1)
        if marks is None:
            continue
        if len(marks) != shape.layers:
            raise fields.contradiction(name, marks, f"a list of {shape.layers} items")
        return tuple(one if mark else zero for mark in marks)
    return None


def _numbered(shape: Shape) -> tuple[LayerKind, ...] | None:
    """Read lists of layer numbers: Kimi's (from 1), Bamba's and LFM2's (from 0)."""
    fields = shape.fields
    section = fields.section("linear_attn_config")
    if section is not None and "full_attn_layers" in section:
        full = frozenset(section.counts("full_attn_layers", least=1) or ())
        return tuple("full" if i + 1 in full else "linear" for i in range(shape.layers))
    indices = fields.counts("attn_layer_indices", "full_attn_idxs")
    if indices is not None:
        full = frozenset(indices)
        return tuple("full" if i in full else "linear" for i in range(shape.layers))
    marks = fields.counts("no_rope_layers", most=1) or []
    if "attention_chunk_size" in fields:  # Llama 4: every fourth layer has no rope and sees all
        every = fields.optional_count("no_rope_layer_interval", default=4, least=1)
        if not marks:
            marks = [int((i + 1) % every != 0) for i in range(shape.layers)]
        if len(marks) != shape.layers:
            raise fields.contradiction("no_rope_layers", marks, f"a list of {shape.layers} items")
        return tuple("chunked" if mark else "full" for mark in marks)
    return None


def _periodic(shape: Shape) -> tuple[LayerKind, ...] | None:
    """Read a period of full layers among linear ones."""
    fields = shape.fields
    if not shape.family.linear or shape.family.parallel_state:
        return None
    period = fields.optional_count("attn_layer_period")
    if period:
        offset = fields.optional_count("attn_layer_offset")
        return tuple("full" if i % period == offset else "linear" for i in range(shape.layers))
    period = fields.optional_count("full_attention_interval")
    if period:
        return tuple("full" if (i + 1) % period == 0 else "linear" for i in range(shape.layers))
    if shape.family.linear == "mamba2" and "mamba_n_heads" not in fields:
        return _all("full", shape)
    raise fields.missing(("layer_types",), "a list with the kind of each layer")


def _windowed(shape: Shape) -> tuple[LayerKind, ...]:
    """Read a sliding window with the pattern of the family or the configuration."""
    fields, layers = shape.fields, shape.layers
    window = fields.optional_count("sliding_window", "sliding_window_size")
    if not window or not fields.flag("use_sliding_window", default=True):
        return _all("full", shape)
    pattern = fields.optional_count("sliding_window_pattern", default=shape.family.window_pattern)
    if pattern:
        return tuple("full" if (i + 1) % pattern == 0 else "sliding" for i in range(layers))
    if fields.flag("use_sliding_window", default=False):  # Qwen: the upper layers slide
        first = fields.optional_count("max_window_layers", default=layers)
        return tuple("sliding" if i >= first else "full" for i in range(layers))
    return _all("sliding" if shape.family.window_everywhere else "full", shape)
