"""Feed-forward of a layer: dense, or routed experts with shared ones beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from claimfit.model.facts import Mixture

if TYPE_CHECKING:
    from claimfit.model.shape import Shape

__all__ = ["FeedForward", "dense", "expert_layers", "experts"]

_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
_PER_TOKEN = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "top_k_experts",
    "experts_per_token",
    "moe_topk",
    "moe_top_k",
    "moe_k",
    "num_selected_experts",
)
_WIDTH = ("intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size", "d_ff", "hidden_dim")


class FeedForward(NamedTuple):
    """What follows the mixer in a layer."""

    parameters: int
    mixture: Mixture | None
    intermediate_size: int


def has_experts(shape: Shape) -> bool:
    """Return whether the configuration has routed experts at all."""
    return shape.fields.optional_count(*_EXPERTS) > 1


def _width(shape: Shape, *names: str) -> int:
    return shape.fields.count(*names, *_WIDTH)


def _feed_forward(shape: Shape, width: int) -> int:
    """Return the parameters of one feed-forward of `width`."""
    hidden, family = shape.hidden_size, shape.family
    gated = shape.trait(family.gated, default=True)
    ups = 2 if gated else 1
    parameters = hidden * width * (ups + 1)
    if shape.trait(family.mlp_bias):
        parameters += ups * width + hidden
    return parameters


def dense(shape: Shape, width: int = 0) -> FeedForward:
    """Return a dense feed-forward of `width`, by default the configuration's."""
    width = width or _width(shape, "intermediate_size_mlp", "dense_intermediate_size")
    return FeedForward(_feed_forward(shape, width), None, width)


def experts(shape: Shape) -> FeedForward:
    """Return the routed experts of one layer, with shared experts and router.

    Raises:
        InputError: CFG001 to CFG003, a count is missing or more experts are active than exist.
    """
    fields, family = shape.fields, shape.family
    count = fields.count(*_EXPERTS, most=65_536)
    active = fields.count(*_PER_TOKEN, most=65_536)
    if active > count:
        raise fields.contradiction("num_experts_per_tok", active, f"at most {count} experts")
    width = _width(shape, "moe_intermediate_size", "expert_intermediate_size")
    one = _feed_forward(shape, width)
    router = shape.hidden_size * count
    if shape.trait(family.router_bias):
        router += count
    shared = _shared_width(shape, width)
    shared_parameters = _feed_forward(shape, shared) if shared else 0
    if shared and family.shared_gate:
        shared_parameters += shape.hidden_size
    return FeedForward(0, Mixture(count, active, one, shared_parameters, router), width)


def _shared_width(shape: Shape, expert_width: int) -> int:
    """Return the width of all shared experts together, 0 when there are none."""
    fields = shape.fields
    stated = fields.optional_count(
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "shared_intermediate_size",
        "share_expert_dim",
    )
    number = fields.optional_count(
        "n_shared_experts", "num_shared_experts", "moe_num_shared_experts", default=1, most=65_536
    )
    if stated:
        return stated * number
    if any(
        name in fields
        for name in ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts")
    ):
        return expert_width * number
    return 0


def expert_layers(shape: Shape) -> tuple[bool, ...]:
    """Return for each layer whether its feed-forward is routed experts.

    Raises:
        InputError: CFG002 or CFG003, a list has another length than there are layers.
    """
    layers = shape.layers
    if not has_experts(shape):
        return (False,) * layers
    fields = shape.fields
    kinds = fields.items("mlp_layer_types")
    if kinds is not None:
        if len(kinds) != layers:
            raise fields.contradiction("mlp_layer_types", f"{len(kinds)} items", f"{layers} items")
        return tuple(kind != "dense" for kind in kinds)
    frequency = fields.raw("moe_layer_freq")
    if isinstance(frequency, list):
        marks = fields.counts("moe_layer_freq", most=1)
        if marks is None or len(marks) != layers:
            raise fields.contradiction("moe_layer_freq", frequency, f"{layers} items")
        return tuple(mark == 1 for mark in marks)
    return tuple(_is_sparse(shape, layer) for layer in range(layers))


def _is_sparse(shape: Shape, layer: int) -> bool:
    """Return whether `layer` has experts by the rules that are written as numbers."""
    fields = shape.fields
    if layer in (fields.counts("mlp_only_layers") or ()):
        return False
    if layer < fields.optional_count("first_k_dense_replace", "num_dense_layers"):
        return False
    start = fields.optional_count("moe_layer_start_index")
    if layer < start or layer > fields.optional_count("moe_layer_end_index", default=layer):
        return False
    for name in ("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"):
        step = fields.optional_count(name, default=1)
        if step > 1 and (layer + 1) % step:
            return False
    step = fields.optional_count("moe_layer_freq", default=1, least=1)
    return layer % step == 0
