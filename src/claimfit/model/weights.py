"""Bytes of a model's weights by part: from the file's headers, or from shapes and a quantization.

The parts are those that sizing treats differently: a pipeline stage holds its own layers, the first
one the embedding, the last one the output head; experts are read by their share; the rest is
replicated. Parameters that are in a repository but not loaded (multi-token prediction) are left
out.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

from claimfit.model.gemma3n import PER_LAYER_EMBEDDING
from claimfit.model.ggml_types import TYPE_BITS
from claimfit.model.gguf_recipes import RECIPES, Recipe, type_in_layer
from claimfit.model.quantization import quantization as named
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from claimfit.model.facts import Layer, ModelFacts
    from claimfit.model.quantization import Quantization

__all__ = ["WeightSplit", "weight_split"]

_NATIVE_BITS: Final = {"F32": 32.0, "F16": 16.0, "BF16": 16.0}


class WeightSplit(NamedTuple):
    """Bytes of the weights that an engine loads."""

    embedding: int
    """Input embedding; read as output head too when the model is tied."""
    output: int
    """Output head; 0 when tied or absent."""
    layers: tuple[int, ...]
    """Per layer, without routed experts."""
    experts: tuple[int, ...]
    """Per layer, all routed experts of it."""
    other: int
    """Components outside the layers."""
    bits_source: str
    """Where the bytes are from, for a report."""

    @property
    def total(self) -> int:
        """All bytes together."""
        return self.embedding + self.output + sum(self.layers) + sum(self.experts) + self.other


def weight_split(facts: ModelFacts, quantization: Quantization | None = None) -> WeightSplit:
    """Return the bytes of the weights of `facts` stored in `quantization` (default: its own).

    With a file whose headers were read and no other quantization asked for, the bytes are the
    file's own. Otherwise they are computed from the shapes; bytes are rounded up per part.

    Raises:
        ModelError: QNT001 when the model's own quantization has no known name.
    """
    file = facts.file
    if file is not None and (quantization is None or quantization.name == file.quantization):
        return WeightSplit(
            file.embedding_bytes,
            file.output_bytes,
            file.layer_bytes,
            file.expert_bytes,
            file.other_bytes,
            f"headers of {', '.join(file.files)}" if file.files else "file headers",
        )
    chosen = named(facts.quantization) if quantization is None else quantization
    if chosen.name == facts.quantization:
        chosen = chosen.with_group_size(facts.group_size)
    if chosen.recipe:
        return _by_recipe(facts, chosen)
    return _by_part(facts, chosen)


def _bytes(parameters: int, bits: float) -> int:
    return ceil(parameters * bits / 8)


def _by_part(facts: ModelFacts, chosen: Quantization) -> WeightSplit:
    """Return the split of a scheme that gives each part of the model one width."""
    native = _NATIVE_BITS.get(facts.dtype, 16.0)
    parts = dict(facts.part_quantization) if facts.quantization == chosen.name else {}

    def bits(part: str, default: float) -> float:
        stated = parts.get(part)
        if stated is None:
            return default or native
        return named(stated).bits_per_weight

    # A scheme for experts only, asked for a model without experts, quantizes its layers.
    body = chosen.body_bits or (0.0 if facts.is_mixture else chosen.expert_bits)
    mixer = {kind: bits("attention", body) for kind in ("full", "sliding", "mla", "shared", "none")}
    mixer["linear"] = bits("linear_attention", body)
    dense = bits("feed_forward", body)
    shared = bits("shared_experts", body)
    experts = bits("experts", chosen.expert_bits)

    def layer_bytes(layer: Layer) -> int:
        total = layer.mixer_parameters * mixer[layer.cache.kind]
        total += layer.feed_forward_parameters * dense
        if layer.mixture is not None:
            total += layer.mixture.shared_parameters * shared
            total += layer.mixture.router_parameters * native
        return ceil(total / 8)

    return WeightSplit(
        _bytes(facts.embedding_parameters, bits("embedding", chosen.embedding_bits)),
        _bytes(facts.output_parameters, bits("output", chosen.output_bits)),
        tuple(layer_bytes(layer) for layer in facts.layers),
        tuple(_bytes(_expert_parameters(layer), experts) for layer in facts.layers),
        _bytes(_other_parameters(facts), native),
        f"shapes x {chosen.name}",
    )


def _expert_parameters(layer: Layer) -> int:
    mixture = layer.mixture
    return 0 if mixture is None else mixture.experts * mixture.expert_parameters


def _other_parameters(facts: ModelFacts) -> int:
    return sum(part.parameters for part in facts.components if part.loaded)


class _Roles(NamedTuple):
    """Parameters of one layer by the role that a recipe gives a type to."""

    query: int
    key: int
    value: int
    attention_output: int
    mixer_rest: int
    """Gates, low-rank projections, state-space matrices; the base type."""
    small: int
    """Norms and biases, kept in F32."""


def _roles(layer: Layer, hidden: int) -> _Roles:
    """Split the mixer of `layer`; shapes that are no plain attention are all `mixer_rest`."""
    cache = layer.cache
    if cache.kind in ("full", "sliding"):
        query = layer.heads * cache.key_size * hidden
        key = cache.kv_heads * cache.key_size * hidden
        value = cache.kv_heads * cache.value_size * hidden
        output = layer.heads * cache.value_size * hidden
        rest = layer.mixer_parameters - query - key - value - output
        if rest >= 0:
            small = rest if rest < 32 * hidden else 0  # a handful of vectors
            return _Roles(query, key, value, output, rest - small, small)
    return _Roles(0, 0, 0, 0, layer.mixer_parameters, 0)


def _by_recipe(facts: ModelFacts, chosen: Quantization) -> WeightSplit:
    """Return the split of a GGUF quantization, tensor role by tensor role."""
    recipe = RECIPES[chosen.recipe]
    embedding_type = recipe.embedding or recipe.base
    if facts.tied:
        embedding_type = recipe.output
    counted = len(facts.layers)
    grouped = facts.kv_heads > 0 and facts.heads >= 4 * facts.kv_heads
    per_layer = tuple(
        _layer_by_recipe(layer, facts.hidden_size, recipe, (index, counted), grouped=grouped)
        for index, layer in enumerate(facts.layers)
    )
    tables = sum(part.parameters for part in facts.components if part.name == PER_LAYER_EMBEDDING)
    return WeightSplit(
        _bytes(facts.embedding_parameters, TYPE_BITS[embedding_type]),
        _bytes(facts.output_parameters, TYPE_BITS[recipe.output]),
        tuple(layer for layer, _ in per_layer),
        tuple(experts for _, experts in per_layer),
        _bytes(tables, TYPE_BITS[embedding_type])
        + _bytes(_other_parameters(facts) - tables, _NATIVE_BITS["F16"]),
        f"shapes x llama.cpp's recipe of {chosen.recipe}",
    )


def _layer_by_recipe(
    layer: Layer, hidden: int, recipe: Recipe, position: tuple[int, int], *, grouped: bool
) -> tuple[int, int]:
    """Return the bytes of `layer` without its routed experts, and of those experts."""
    base = recipe.base
    eight = layer.mixture is not None and layer.mixture.experts == 8
    value = type_in_layer(recipe.value, base, *position)
    if grouped and recipe.grouped_value:
        value = recipe.grouped_value
    # Seventy-billion models share one value head among 8 query heads and keep it at Q5_K.
    if position[1] == 80 and grouped and value in ("Q3_K", "Q4_K"):
        value = "Q5_K"
    key = "Q8_0" if eight else recipe.key or base
    value = "Q8_0" if eight else value
    output = recipe.attention_output or base
    if eight and recipe.eight_expert_output:
        output = recipe.eight_expert_output
    gate_up = TYPE_BITS[type_in_layer(recipe.gate_up, base, *position)]
    down = TYPE_BITS[type_in_layer(recipe.down, base, *position)]
    roles = _roles(layer, hidden)
    bits = (
        roles.query * TYPE_BITS[recipe.query or base]
        + roles.key * TYPE_BITS[key]
        + roles.value * TYPE_BITS[value]
        + roles.attention_output * TYPE_BITS[output]
        + roles.mixer_rest * TYPE_BITS[base]
        + roles.small * 32
    )
    down_size = hidden * layer.intermediate_size
    bits += _feed_forward_bits(layer.feed_forward_parameters, down_size, gate_up, down)
    mixture = layer.mixture
    if mixture is None:
        return ceil(bits / 8), 0
    one = _feed_forward_bits(mixture.expert_parameters, down_size, gate_up, down)
    if recipe.expert:
        one = mixture.expert_parameters * TYPE_BITS[recipe.expert]
    shared = mixture.shared_parameters * (one / max(1, mixture.expert_parameters))
    if recipe.expert:
        shared = mixture.shared_parameters * TYPE_BITS[base]
    bits += shared + mixture.router_parameters * 32
    return ceil(bits / 8), ceil(mixture.experts * one / 8)


def _feed_forward_bits(parameters: int, down_size: int, gate_up: float, down: float) -> float:
    """Return the bits of a feed-forward of `parameters`, `down_size` of which project down."""
    down_parameters = min(down_size, parameters)
    return down_parameters * down + (parameters - down_parameters) * gate_up
