"""The layers of a language model, put together from mixers and feed-forwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.model.attention import block_attention, indexed, plain_attention
from claimfit.model.facts import Cache, Layer
from claimfit.model.gemma3n import layer_additions
from claimfit.model.latent import compressed_attention, latent_attention
from claimfit.model.layer_kinds import LayerKind, layer_kinds, layer_window
from claimfit.model.mixture import NOTHING, block_feed_forward, dense, expert_layers, experts
from claimfit.model.recurrent import recurrent_mixer
from claimfit.model.shape import Mixer

if TYPE_CHECKING:
    from claimfit.model.facts import CacheKind
    from claimfit.model.shape import Shape

__all__ = ["read_layers"]

_PER_LAYER_LISTS: Final = (
    "intermediate_size",
    "moe_intermediate_size",
    "moe_topk",
    "num_shared_expert",
    "indexer_types",
    "compress_ratios",
)
"""Fields that hold one number, or a list with one for each layer."""

_NO_MIXER: Final = Mixer(0, 0, Cache("none"))


def read_layers(shape: Shape) -> tuple[Layer, ...]:
    """Return all layers in order; layers that are alike are one object.

    Raises:
        InputError: CFG001 to CFG004.
    """
    if shape.family.mixer == "nas":
        return tuple(_block_layer(shape, layer) for layer in range(shape.layers))
    kinds = layer_kinds(shape)
    sparse = expert_layers(shape)
    own = _own_sizes(shape)
    first_shared = shape.layers - shape.fields.optional_count("num_kv_shared_layers")
    made: dict[tuple[object, ...], Layer] = {}
    layers = []
    for number, kind in enumerate(kinds):
        shares = number >= first_shared
        key = (kind, sparse[number], shares, own[number] if own else None)
        layer = made.get(key)
        if layer is None:
            layer = _layer(shape, number, kind, sparse=sparse[number], shares=shares)
            made[key] = layer
        layers.append(layer)
    return tuple(layers)


def _own_sizes(shape: Shape) -> list[object] | None:
    """Return what else tells layers of one kind apart, None when nothing does."""
    fields = shape.fields
    lists = [values for name in _PER_LAYER_LISTS if isinstance(values := fields.raw(name), list)]
    if not lists:
        return None
    if any(len(values) < shape.layers for values in lists):
        return list(range(shape.layers))  # too short a list is an error of whoever reads it
    keys = zip(*(values[: shape.layers] for values in lists), strict=True)
    return [key if all(isinstance(k, int | str) for k in key) else None for key in keys]


def _layer(shape: Shape, number: int, kind: LayerKind, *, sparse: bool, shares: bool) -> Layer:
    mixer = _mixer(shape, number, kind, shares=shares)
    if kind == "experts" or (sparse and kind != "feed_forward" and not _single(shape)):
        after = experts(shape, number)
    elif kind == "feed_forward" or not _single(shape):
        after = dense(shape, number)
    else:
        after = NOTHING
    norms = shape.family.norms * shape.norm(shape.hidden_size)
    return Layer(
        mixer.cache,
        mixer.heads,
        mixer.parameters + norms + layer_additions(shape),
        after.parameters,
        after.mixture,
        after.intermediate_size,
    )


def _single(shape: Shape) -> bool:
    """Return whether a layer is a mixer or a feed-forward, never both (Mamba, Nemotron-H)."""
    return shape.family.norms == 1 and shape.family.linear in ("mamba1", "mamba2")


def _mixer(shape: Shape, number: int, kind: LayerKind, *, shares: bool) -> Mixer:
    if kind in ("feed_forward", "experts"):
        return _NO_MIXER
    if kind == "linear":
        return recurrent_mixer(shape)
    if shape.family.mixer == "mla":
        return latent_attention(shape, number)
    if shape.family.mixer == "deepseek-v4":
        return _deepseek_v4(shape, number)
    window = layer_window(shape, kind)
    cached: CacheKind = "sliding" if window else "full"
    if shares:
        cached = "shared"
    elif shape.family.encoder:
        cached = "none"
    mixer = plain_attention(shape, cached, window)
    if kind == "indexed":
        mixer = indexed(shape, mixer)
    if shape.family.parallel_state:
        state = recurrent_mixer(shape)
        return Mixer(
            mixer.parameters + state.parameters,
            mixer.heads,
            mixer.cache._replace(
                state_elements=state.cache.state_elements,
                convolution_elements=state.cache.convolution_elements,
            ),
        )
    return mixer


def _deepseek_v4(shape: Shape, number: int) -> Mixer:
    """Return DeepSeek V4's mixer with the hyper-connections of its layer."""
    fields = shape.fields
    mixer = compressed_attention(shape, fields.count_at(number, "compress_ratios", least=0))
    streams = fields.optional_count("hc_mult", most=1024)
    mixing = (2 + streams) * streams
    connections = 2 * (mixing * streams * shape.hidden_size + mixing + 3) if streams else 0
    return mixer._replace(parameters=mixer.parameters + connections)


def _block_layer(shape: Shape, number: int) -> Layer:
    """Return a layer of Nemotron NAS; a part that is left out takes its norm with it."""
    mixer = block_attention(shape, number)
    after = block_feed_forward(shape, number)
    return Layer(
        mixer.cache,
        mixer.heads,
        mixer.parameters,
        after.parameters,
        after.mixture,
        after.intermediate_size,
    )
