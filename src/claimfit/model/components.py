"""Parts of a model outside embedding, layers and output head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.model.facts import Component, layer_parameters
from claimfit.model.gemma3n import model_additions
from claimfit.model.towers import tower_components

if TYPE_CHECKING:
    from claimfit.model.facts import Layer
    from claimfit.model.families import Family
    from claimfit.model.fields import Fields
    from claimfit.model.shape import Shape

__all__ = ["read_components"]

_PREDICTION = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")


def read_components(
    root: Fields, shape: Shape, layers: tuple[Layer, ...], vocabulary: int, notes: list[str]
) -> tuple[Component, ...]:
    """Return the components; what could not be counted is said in `notes`.

    Raises:
        InputError: CFG001 or CFG002, a size is missing or malformed.
    """
    family, fields, hidden = shape.family, shape.fields, shape.hidden_size
    norms = family.embedding_norms + (1 if family.final_norm else 0)
    parts = [Component("norms outside layers", norms * shape.norm(hidden))]
    if family.positions:
        vectors = fields.count(family.positions) + family.extra_positions
        parts.append(Component("position embedding", vectors * hidden))
    if family.token_types:
        kinds = fields.optional_count("type_vocab_size", default=2, most=1_000_000)
        parts.append(Component("token type embedding", kinds * hidden))
    if family.pooler:
        parts.append(Component("pooler", hidden * hidden + hidden))
    if shape.trait(family.head_bias):
        parts.append(Component("output head bias", vocabulary))
    streams = fields.optional_count("hc_mult", most=1024)
    if streams:
        parts.append(Component("hyper-connection head", streams * (streams * hidden + 1) + 1))
    parts += model_additions(shape)
    parts += tower_components(root, hidden, notes)
    parts += _prediction(shape, layers, vocabulary)
    return tuple(part for part in parts if part.parameters)


def _prediction(shape: Shape, layers: tuple[Layer, ...], vocabulary: int) -> list[Component]:
    """Return multi-token-prediction layers: in the file, not loaded for plain serving.

    Each is one more layer, three norms and a projection of twice the hidden size to it; where the
    family says so, with copies of embedding and head.
    """
    fields, family, hidden = shape.fields, shape.family, shape.hidden_size
    count = fields.optional_count(*_PREDICTION, most=1024)
    if not count or family.prediction == "none" or family.encoder:
        return []
    one = _prediction_layer(family, layers) + 2 * hidden * hidden + 3 * hidden
    one += family.prediction_copies * vocabulary * hidden
    return [Component("multi-token prediction", count * one, loaded=False)]


def _prediction_layer(family: Family, layers: tuple[Layer, ...]) -> int:
    """Return the parameters of the layer inside one multi-token-prediction module."""
    attending = [layer for layer in layers if layer.heads]
    last = attending[-1] if attending else layers[-1]
    if family.prediction == "mixer-and-experts":
        experts = [layer for layer in layers if layer.mixture is not None]
        return layer_parameters(last) + (layer_parameters(experts[-1]) if experts else 0)
    if family.prediction == "dense-sliding":
        sliding = [layer for layer in attending if layer.cache.kind == "sliding"]
        mixer = (sliding or attending)[-1].mixer_parameters if attending else 0
        return mixer + max(layer.feed_forward_parameters for layer in layers)
    return layer_parameters(last)
