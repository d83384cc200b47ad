"""Which parts of a model a quantization leaves out, from the module names that it lists.

A checkpoint lists modules that keep the model's own element type (`ignore`,
`modules_to_not_convert`, `exclude_modules`) or the type of each quantized module
(`quantized_layers`), as names, globs or regular expressions. Only the part that a name belongs to
matters here, and whether the names cover most layers that have this part; a few whole layers that
are left out do not change the size by 1 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from claimfit.model.facts import Layer

__all__ = ["PARTS", "covered_parts", "part_of_module", "parts_of"]

PARTS: Final = (
    "attention",
    "linear_attention",
    "feed_forward",
    "shared_experts",
    "experts",
    "embedding",
    "output",
)

_SMALL: Final = (
    "norm",
    "indexer",
    "bias",
    "conv1d",
    "router",
    "vision",
    "visual",
    "mtp",
    "eh_proj",
)
"""Modules that hold next to nothing, or are not part of the layers."""

_MARKS: Final = (
    ("shared_expert", "shared_experts"),
    ("shared_mlp", "shared_experts"),
    ("experts", "experts"),
    ("linear_attn", "linear_attention"),
    ("mamba", "linear_attention"),
    ("mixer.in_proj", "linear_attention"),
    ("mixer.out_proj", "linear_attention"),
    ("self_attn", "attention"),
    ("attn", "attention"),
    ("attention", "attention"),
    ("mixer.q_proj", "attention"),
    ("lm_head", "output"),
    ("embed", "embedding"),
    ("mlp", "feed_forward"),
    ("feed_forward", "feed_forward"),
    ("ffn", "feed_forward"),
)
"""First mark that occurs in a module name decides its part."""

_PARTIAL: Final = ("kv_b_proj", "k_proj", "v_proj", "o_proj", "kv_a_proj", "index_")
"""Attention matrices whose absence alone does not mean that attention is left out."""


def part_of_module(name: str) -> str:
    """Return the part that the module, glob or pattern `name` belongs to, empty for none."""
    lowered = name.lower().replace("\\.", ".")
    if lowered in ("head", "output"):
        return "output"
    if lowered.endswith((".gate", "_gate")) or any(word in lowered for word in _SMALL):
        return ""
    part = next((part for mark, part in _MARKS if mark in lowered), "")
    if part == "attention" and any(word in lowered for word in _PARTIAL):
        return ""
    return part


def parts_of(layers: Iterable[Layer]) -> Mapping[str, int]:
    """Return how many layers have each part."""
    counts = dict.fromkeys(PARTS, 0)
    counts["embedding"] = counts["output"] = 1
    for layer in layers:
        if layer.cache.kind == "linear":
            counts["linear_attention"] += 1
        elif layer.heads:
            counts["attention"] += 1
        if layer.feed_forward_parameters:
            counts["feed_forward"] += 1
        if layer.mixture is not None:
            counts["experts"] += 1
            counts["shared_experts"] += 1 if layer.mixture.shared_parameters else 0
    return counts


def covered_parts(names: Iterable[str], present: Mapping[str, int]) -> frozenset[str]:
    """Return the parts of which `names` cover at least half of the layers that have them.

    A name without a layer number (a glob or a pattern) covers all layers.
    """
    seen: dict[str, set[str]] = {}
    whole: set[str] = set()
    for name in names:
        part = part_of_module(name)
        if not part or not present[part]:
            continue
        number = _layer_number(name)
        if number:
            seen.setdefault(part, set()).add(number)
        else:
            whole.add(part)
            if "self_attn" in name and present["linear_attention"]:
                whole.add("linear_attention")  # Kimi names its recurrent mixers self_attn too
    return frozenset(whole) | {
        part for part, numbers in seen.items() if 2 * len(numbers) >= present[part]
    }


def _layer_number(name: str) -> str:
    """Return the first component of `name` that is a number, empty when there is none."""
    return next((word for word in name.split(".") if word.isdigit()), "")
