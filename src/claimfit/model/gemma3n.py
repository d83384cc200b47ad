"""What Gemma 3n and 4 add to every layer: per-layer embeddings, and AltUp and LAuReL in 3n."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.model.facts import Component

if TYPE_CHECKING:
    from claimfit.model.shape import Shape

__all__ = ["PER_LAYER_EMBEDDING", "layer_additions", "model_additions"]

PER_LAYER_EMBEDDING: Final = "per-layer embedding"
"""Name of the component that is looked up like the embedding, in every layer."""


def layer_additions(shape: Shape) -> int:
    """Return the parameters that one layer has besides mixer, feed-forward and the usual norms."""
    fields, hidden = shape.fields, shape.hidden_size
    inputs = fields.optional_count("hidden_size_per_layer_input")
    added = 2 * hidden * inputs + hidden if inputs else 0
    streams = fields.optional_count("altup_num_inputs", most=1024)
    if streams:
        added += 2 * hidden + streams * hidden + streams**2 + streams**3
    rank = fields.optional_count("laurel_rank")
    if rank:
        added += 2 * hidden * rank + hidden
    if "global_head_dim" in fields and "laurel_rank" not in fields:
        added += 1  # Gemma 4 scales each layer
    return added


def model_additions(shape: Shape) -> list[Component]:
    """Return the parts outside the layers."""
    fields, hidden = shape.fields, shape.hidden_size
    inputs = fields.optional_count("hidden_size_per_layer_input")
    if not inputs:
        return []
    vocabulary = fields.count("vocab_size_per_layer_input")
    width = shape.layers * inputs
    parts = [
        Component(PER_LAYER_EMBEDDING, vocabulary * width),
        Component("per-layer projection", hidden * width + inputs),
    ]
    streams = fields.optional_count("altup_num_inputs", most=1024)
    if streams > 1:
        parts.append(Component("altup projections", 2 * (streams - 1) * hidden * hidden))
    return parts
