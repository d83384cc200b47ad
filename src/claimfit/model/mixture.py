"""Feed-forward of a layer: dense, or routed experts with shared ones beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.model.facts import Mixture
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from claimfit.model.shape import Shape

__all__ = ["NOTHING", "FeedForward", "block_feed_forward", "dense", "expert_layers", "experts"]

_EXPERTS: Final = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
_PER_TOKEN: Final = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "top_k_experts",
    "experts_per_token",
    "moe_topk",
    "moe_top_k",
    "moe_k",
    "num_selected_experts",
)
_WIDTH: Final = ("intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size", "d_ff", "hidden_dim")
_DENSE_WIDTH: Final = ("intermediate_size_mlp", "dense_intermediate_size", "block_ff_dim")
_EXPERT_WIDTH: Final = ("moe_intermediate_size", "expert_intermediate_size")
_SHARED_WIDTH: Final = (
    "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "shared_intermediate_size",
    "share_expert_dim",
)
_SHARED: Final = (
    "n_shared_experts",
    "num_shared_experts",
    "moe_num_shared_experts",
    "num_shared_expert",
)
_MOST_EXPERTS: Final = 65_536
_FEED_FORWARD_WORDS: Final = ("dense", "sparse", "moe", "hash_moe")


class FeedForward(NamedTuple):
    """What follows the mixer in a layer."""

    parameters: int
    mixture: Mixture | None
    intermediate_size: int


NOTHING: Final = FeedForward(0, None, 0)


def _projections(shape: Shape, width: int, inputs: int) -> int:
    """Return the parameters of a feed-forward of `width` over `inputs` channels."""
    ups = 2 if shape.family.gated else 1
    parameters = inputs * width * (ups + 1)
    if shape.trait(shape.family.mlp_bias):
        parameters += ups * width + inputs
    return parameters


def dense(shape: Shape, layer: int) -> FeedForward:
    """Return the dense feed-forward of `layer`."""
    width = _dense_width(shape, layer)
    return FeedForward(_projections(shape, width, shape.hidden_size), None, width)


def _dense_width(shape: Shape, layer: int) -> int:
    """Return the width of a dense feed-forward, which may differ by layer (Gemma 3n and 4)."""
    fields = shape.fields
    names: tuple[str, ...] = (*_DENSE_WIDTH, *_WIDTH)
    if fields.raw(*names) is None and shape.family.width_factor:
        return shape.family.width_factor * shape.hidden_size
    if shape.family.linear == "mamba2" and "shared_intermediate_size" in fields:
        names = ("shared_intermediate_size",)  # Granite 4: the dense part is the shared expert
    width = fields.count_at(layer, *names)
    if fields.flag("block_auto_adjust_ff_dim", default=False):  # LFM2 rounds two thirds up
        multiple = fields.optional_count("block_multiple_of", default=256, least=1)
        multiplier = fields.number("block_ffn_dim_multiplier", default=1.0, most=64.0)
        width = -(-int(multiplier * (2 * width // 3)) // multiple) * multiple
    shared_layers = fields.optional_count("num_kv_shared_layers")
    if fields.flag("use_double_wide_mlp", default=False) and layer >= shape.layers - shared_layers:
        width *= 2
    return width


def experts(shape: Shape, layer: int) -> FeedForward:
    """Return the routed experts of `layer`, with the shared ones and the router.

    Raises:
        InputError: CFG001 to CFG003, a count is missing or more experts are active than exist.
    """
    fields, family, hidden = shape.fields, shape.family, shape.hidden_size
    section = fields.section("ffn_config") or fields  # DBRX
    count = section.count(*_EXPERTS, most=_MOST_EXPERTS)
    active = section.count_at(layer, *_PER_TOKEN, most=_MOST_EXPERTS)
    if active > count:
        name = next(name for name in _PER_TOKEN if name in section)
        raise section.contradiction(name, active, f"at most {count}, the number of experts")
    width = section.count_at(layer, *_EXPERT_WIDTH, *_WIDTH)
    # Experts that work in a latent space of their own have a projection into it and back.
    latent = fields.optional_count("moe_latent_size", "routed_expert_hidden_size")
    one = _projections(shape, width, latent or hidden)
    if family.expert_bias:
        one += 2 * width + hidden
    router = hidden * count + (count if shape.trait(family.router_bias) else 0)
    shared = _shared_width(shape, width, layer)
    beside = _projections(shape, shared, hidden) if shared else 0
    if shared and family.shared_gate:
        beside += hidden
    if latent:
        beside += 2 * hidden * latent
        beside += latent if fields.flag("latent_moe_use_norm", default=False) else 0
    mixture = Mixture(count, active, one, beside, router)
    if fields.flag("enable_moe_block", default=False):  # Gemma 4: dense and experts in parallel
        both = dense(shape, layer)
        extra = 4 * hidden + count  # three norms, the router's scales
        return FeedForward(both.parameters + extra, mixture, width)
    if fields.flag("parallel_attn_mlp_res", default=False):  # Arctic: a dense residual of its own
        return FeedForward(3 * hidden * hidden + hidden, mixture, width)
    return FeedForward(0, mixture, width)


def _shared_width(shape: Shape, expert_width: int, layer: int) -> int:
    """Return the width of all shared experts together, 0 when there are none."""
    fields = shape.fields
    stated = fields.optional_count(*_SHARED_WIDTH)
    if stated:
        return stated
    if fields.raw(*_SHARED) is None:
        return 0
    return expert_width * fields.count_at(layer, *_SHARED, least=0, most=_MOST_EXPERTS)


def block_feed_forward(shape: Shape, layer: int) -> FeedForward:
    """Return the feed-forward of `layer` that `block_configs` states (Nemotron NAS), norm included.

    The width is two thirds of the multiple of the hidden size, rounded up to 256, as Llama's.
    """
    block = shape.fields.element("block_configs", layer).required("ffn")
    hidden = shape.hidden_size
    if block.flag("no_op", default=False):
        return NOTHING
    if block.flag("replace_with_linear", default=False):
        return FeedForward(hidden * hidden + hidden, None, 0)
    multiple = block.number("ffn_mult", default=0.0, most=1024.0)
    width = block.optional_count("intermediate_size")
    if not width:
        if not multiple:
            raise block.missing(("ffn_mult",), "a number")
        width = -(-int(2 * multiple * hidden / 3) // 256) * 256
    return FeedForward(_projections(shape, width, hidden) + hidden, None, width)


def expert_layers(shape: Shape) -> tuple[bool, ...]:
    """Return for each layer whether its feed-forward is routed experts.

    Raises:
        InputError: CFG002 or CFG003, a list has another length than there are layers.
    """
    layers, fields = shape.layers, shape.fields
    section = fields.section("ffn_config") or fields
    if section.optional_count(*_EXPERTS) <= 1:
        return (False,) * layers
    kinds = fields.items("mlp_layer_types")
    if kinds is not None:
        if len(kinds) < layers:  # longer ones state the multi-token-prediction layers too
            raise fields.contradiction("mlp_layer_types", kinds, f"a list of {layers} items")
        unknown = next((kind for kind in kinds if kind not in _FEED_FORWARD_WORDS), None)
        if unknown is not None:
            raise fields.unsupported(
                "mlp_layer_types", unknown, f"one of {', '.join(_FEED_FORWARD_WORDS)}"
            )
        return tuple(kind != "dense" for kind in kinds[:layers])
    if isinstance(fields.raw("moe_layer_freq"), list):
        marks = fields.counts("moe_layer_freq", most=1) or []
        if len(marks) != layers:
            raise fields.contradiction("moe_layer_freq", marks, f"a list of {layers} items")
        return tuple(mark == 1 for mark in marks)
    listed = _listed_layers(shape)
    if listed is not None:
        return tuple(layer in listed for layer in range(layers))
    return _by_rule(shape)


def _listed_layers(shape: Shape) -> frozenset[int] | None:
    """Return the layers that are listed as sparse (Llama 4, Step 3), None without a list."""
    fields = shape.fields
    text = fields.raw("moe_layers_enum")
    if isinstance(text, str):
        words = [word.strip() for word in text.split(",") if word.strip()]
        if not all(word.isascii() and word.isdigit() and len(word) < 6 for word in words):
            raise fields.wrong("moe_layers_enum", text, "layer numbers between commas")
        return frozenset(int(word) for word in words)
    listed = fields.counts("moe_layers_enum", "moe_layers")
    return None if listed is None else frozenset(listed)


def _by_rule(shape: Shape) -> tuple[bool, ...]:
    """Return the sparse layers by the rules that are written as numbers."""
    fields, layers = shape.fields, shape.layers
    dense_layers = frozenset(fields.counts("mlp_only_layers") or ())
    first = max(
        fields.optional_count("first_k_dense_replace", "num_dense_layers"),
        fields.optional_count("moe_layer_start_index"),
    )
    last = fields.optional_count("moe_layer_end_index", default=layers - 1)
    # Every n-th layer, counted so that the first sparse one is n - 1.
    steps = [
        fields.optional_count(name, default=1, least=1)
        for name in (
            "decoder_sparse_step",
            "interleave_moe_layer_step",
            "moe_layer_interval",
            "moe_layer_frequency",
        )
    ]
    frequency = fields.optional_count("moe_layer_freq", default=1, least=1)
    period = fields.optional_count("expert_layer_period", default=1, least=1)
    offset = fields.optional_count("expert_layer_offset")
    return tuple(
        first <= layer <= last
        and layer not in dense_layers
        and all((layer + 1) % step == 0 for step in steps)
        and layer % frequency == 0
        and layer % period == offset % period
        for layer in range(layers)
    )
