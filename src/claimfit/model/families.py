"""What a model type fixes beyond its configuration: norms, biases, patterns and default values.

A configuration says how many heads there are, not whether the query projection has a bias: that is
in the code of the model type. `FAMILIES` holds those facts, read from `configuration_*.py` and
`modeling_*.py` of huggingface/transformers 5.24 or, for types that live beside their weights, from
the shapes in their published files. A string in place of a bool names the configuration key that
decides (absent means no).

`defaults` are values that the type's configuration class assumes and that published files leave
out; nothing else is ever assumed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FAMILIES", "LLAMA_LIKE", "Family"]

QkNorm = Literal["", "head", "width", "heads", "shared-width"]
"""Norm on queries and keys: none; one vector per head size; one of the full projected width; one
vector per head (each head its own weights)."""

Mixer = Literal["attention", "mla", "mla-v4", "fused"]


class Family(NamedTuple):
    """The facts of one model type."""

    norms: int = 2
    """Norm vectors of hidden size per layer."""
    norm_bias: bool = False
    """LayerNorm (weight and bias) instead of RMSNorm."""
    norm_weight: bool = True
    """OLMo's norms have no parameters."""
    qkv_bias: bool | str = False
    output_bias: bool | str = False
    mlp_bias: bool | str = False
    gated: bool | str = True
    """Gate, up and down projection; otherwise up and down."""
    qk_norm: QkNorm = ""
    qk_norm_key: str = ""
    """Configuration key that must be true for `qk_norm`; empty is always."""
    output_gate: bool | str = False
    """The query projection also makes a gate (twice the width)."""
    sinks: bool = False
    """One learned sink per query head."""
    mixer: Mixer = "attention"
    linear: Literal["", "delta-net", "kda", "lightning", "mamba1", "mamba2", "short-conv"] = ""
    """What a `linear_attention`, `mamba` or `conv` layer is."""
    parallel_state: bool = False
    """Attention and a state-space mixer side by side in every layer (Falcon-H1)."""
    window_pattern: int = 0
    """Every n-th layer is full attention, the others slide; 0 when there is no pattern."""
    window_everywhere: bool = False
    """A sliding_window in the configuration holds for every layer."""
    router_bias: bool | str = False
    """One number per expert beside the router matrix (bias or score correction)."""
    expert_bias: bool = False
    shared_gate: bool = False
    """A one-column gate for the shared experts."""
    output_head_bias: bool = False
    embedding_norm: bool = False
    """A norm right after the embedding."""
    final_norm: bool = True
    positions: str = ""
    """Configuration key with the number of learned position vectors."""
    position_offset: int = 0
    encoder: bool = False
    """Bidirectional: no cache, and no head for text generation."""
    defaults: Mapping[str, object] = {}  # never changed; a NamedTuple field


def _assuming(family: Family, defaults: Mapping[str, object]) -> Family:
    """Return `family` with `defaults` added to its own."""
    return family._replace(defaults={**family.defaults, **defaults})


_UNTIED: Final = {"tie_word_embeddings": False}
_TIED: Final = {"tie_word_embeddings": True}

LLAMA_LIKE: Final = Family(
    qkv_bias="attention_bias", output_bias="attention_bias", mlp_bias="mlp_bias", defaults=_UNTIED
)
"""The common decoder: grouped-query attention, gated feed-forward, two RMSNorms."""

_MISTRAL: Final = Family(window_everywhere=True, defaults=_UNTIED)
_QWEN2: Final = Family(qkv_bias=True, defaults=_UNTIED)
_QWEN3: Final = _assuming(LLAMA_LIKE, {"head_dim": 128})._replace(qk_norm="head", mlp_bias=False)
_GEMMA: Final = Family(
    qkv_bias="attention_bias",
    output_bias="attention_bias",
    defaults={**_TIED, "head_dim": 256, "vocab_size": 256000},
)
_DEEPSEEK: Final = Family(
    mixer="mla", qkv_bias="attention_bias", output_bias="attention_bias", defaults=_UNTIED
)
_BERT: Final = Family(
    norm_bias=True,
    qkv_bias=True,
    output_bias=True,
    mlp_bias=True,
    gated=False,
    embedding_norm=True,
    final_norm=False,
    positions="max_position_embeddings",
    encoder=True,
    defaults=_TIED,
)

FAMILIES: Final[dict[str, Family]] = {
    "llama": LLAMA_LIKE,
    "mistral": _MISTRAL,
    "qwen2": _QWEN2,
    "qwen3": _QWEN3,
    "qwen3_moe": _QWEN3,
}
"""model_type -> facts."""
