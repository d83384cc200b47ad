"""Splits the tensors of a safetensors model by the part of the model that they belong to.

Names are those that transformers gives its modules: ``model.layers.7.mlp.gate_proj.weight``,
``model.layers.7.mlp.experts.3.up_proj.weight``, ``transformer.h.7.attn.c_attn.weight``. The number
of layers comes from the configuration; a layer beyond it predicts further tokens (DeepSeek-V3 keeps
it as layer 61) and is not loaded for plain serving.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from claimfit.errors import InputError
from claimfit.model.facts import FileWeights
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from claimfit.model.facts import ModelFacts
    from claimfit.model.safetensors import StoredTensor

__all__ = ["Place", "file_weights", "place_of"]

Part = Literal["embedding", "output", "layer", "expert", "other", "unloaded"]

_LAYER: Final = re.compile(r"(?:^|\.)(?:layers?|h|blocks?)\.([0-9]{1,5})(?:\.|$)")
_EXPERT: Final = re.compile(r"\.(?:experts|switch_mlp)(?:\.|$)")
_EMBEDDINGS: Final = frozenset(
    {
        "embed_in",
        "embed_tokens",
        "embedding",
        "embeddings",
        "tok_embeddings",
        "word_embeddings",
        "wte",
    }
)
_OUTPUTS: Final = frozenset({"embed_out", "lm_head", "output", "output_layer"})
_TOWER: Final = re.compile(
    r"audio|vision|visual|image|speech|siglip|projector|resampler|merger|multi_modal|mm_",
    re.IGNORECASE,
)
_UNLOADED: Final = re.compile(
    r"(?:^|\.)(?:mtp|nextn|mtp_[a-z_]+)(?:\.|$)"  # predicts further tokens
    r"|^(?:talker|code2wav|token2wav)\."  # speaks; text is served without it
)


class Place(NamedTuple):
    """Where a tensor belongs."""

    part: Part
    layer: int = -1


def place_of(name: str, layers: int) -> Place:
    """Return where the tensor `name` of a model of `layers` layers belongs."""
    if _UNLOADED.search(name):
        return Place("unloaded")
    layer = _LAYER.search(name)
    before = name if layer is None else name[: layer.start()]
    if _TOWER.search(before):
        return Place("other")
    if layer is not None:
        index = int(layer[1])
        if index >= layers:
            return Place("unloaded", index)
        return Place("expert" if _EXPERT.search(name) else "layer", index)
    words = name.split(".")
    module = words[-2] if len(words) > 1 else ""
    if module in _EMBEDDINGS:
        return Place("embedding")
    return Place("output" if module in _OUTPUTS else "other")


def file_weights(
    tensors: tuple[StoredTensor, ...], files: tuple[str, ...], facts: ModelFacts, place: str
) -> FileWeights:
    """Return the bytes of `tensors` by part of the model that `facts` describe.

    A head that is stored although the configuration ties it to the embedding, or the model only
    embeds, is not loaded.

    Raises:
        InputError: SAF010 when the files lack a layer that the configuration has, or hold more
            layers than it has and than it predicts further tokens with.
    """
    layers = len(facts.layers)
    sums: dict[Part, int] = {}
    layer_bytes, expert_bytes = [0] * layers, [0] * layers
    types: dict[str, tuple[int, int]] = {}
    beyond: set[int] = set()
    for tensor in tensors:
        elements, size = types.get(tensor.dtype, (0, 0))
        types[tensor.dtype] = (elements + tensor.elements, size + tensor.bytes)
        part, index = place_of(tensor.name, layers)
        if part == "output" and not facts.output_parameters:
            part = "unloaded"
        if part == "layer":
            layer_bytes[index] += tensor.bytes
        elif part == "expert":
            expert_bytes[index] += tensor.bytes
        else:
            sums[part] = sums.get(part, 0) + tensor.bytes
        if part == "unloaded" and index >= 0:
            beyond.add(index)
    _check_layers(layer_bytes, beyond, place)
    return FileWeights(
        total_bytes=sum(tensor.bytes for tensor in tensors),
        embedding_bytes=sums.get("embedding", 0),
        output_bytes=sums.get("output", 0),
        layer_bytes=tuple(layer_bytes),
        expert_bytes=tuple(expert_bytes),
        other_bytes=sums.get("other", 0),
        unloaded_bytes=sums.get("unloaded", 0),
        quantization=facts.quantization,
        types=tuple(
            sorted(
                ((name, elements, size) for name, (elements, size) in types.items()),
                key=lambda item: (-item[2], item[0]),
            )
        ),
        files=files,
    )


_MOST_PREDICTION_LAYERS: Final = 4
"""DeepSeek-V3 and GLM-4.5 keep 1; MiMo keeps 3."""


def _check_layers(layer_bytes: list[int], beyond: set[int], place: str) -> None:
    """Refuse files that cannot belong to the configuration beside them."""
    layers = len(layer_bytes)
    empty = [index for index, size in enumerate(layer_bytes) if not size]
    if not empty and len(beyond) <= _MOST_PREDICTION_LAYERS:
        return
    found = f"no tensor of layer {empty[0]}" if empty else f"layers up to {max(beyond)}"
    raise InputError(
        "SAF010",
        "config.json and the weights contradict each other",
        place=place,
        found=found,
        expected=f"layers 0 to {layers - 1}",
        fix="take both from the same repository and revision",
    )
