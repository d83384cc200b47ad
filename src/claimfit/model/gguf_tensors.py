"""Sorts the tensors of a GGUF model by the part of the model that they belong to.

Tensor names are those of gguf-py/gguf/constants.py in ggml-org/llama.cpp: ``token_embd.weight``,
``blk.7.ffn_down_exps.weight``. Every tensor is counted exactly once; a name that is not known here
counts with the attention (in a layer) or as a component of its own (outside), never gets lost.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from claimfit.errors import InputError

if TYPE_CHECKING:
    from claimfit.model.gguf import GgufTensor

__all__ = ["LayerTensors", "ModelTensors", "Role", "sort_tensors"]

Role = Literal["mixer", "feed_forward", "expert", "shared", "router"]

_LAYER: Final = re.compile(r"^blk\.(0|[1-9][0-9]{0,4})\.(.+)$", re.DOTALL)
_ONE_EXPERT: Final = re.compile(r"^ffn_(?:gate|up|down)\.([0-9]{1,5})\.")  # before April 2024
_DENSE: Final = re.compile(r"^(?:ffn_(?:gate|up|down)\.|channel_mix_)")
_COMPONENTS: Final[dict[str, str]] = {
    "output_norm": "norms outside layers",
    "token_embd_norm": "norms outside layers",
    "position_embd": "position embedding",
    "token_types": "token type embedding",
    "per_layer_token_embd": "per-layer embedding",
    "per_layer_model_proj": "per-layer projection",
    "per_layer_proj_norm": "per-layer projection",
    "altup_proj": "altup",
    "altup_unembd_proj": "altup",
    "rope_freqs": "rope factors",
    "rope_factors_long": "rope factors",
    "rope_factors_short": "rope factors",
    "cls": "classifier",
    "dense_2": "dense head",
    "dense_3": "dense head",
    "v": "vision tower",
    "mm": "vision projector",
    "a": "audio tower",
}
"""First word of a name outside the layers -> component."""


class LayerTensors:
    """What one layer has: elements and bytes by role, and the names that tell its kind."""

    __slots__ = (
        "bytes",
        "elements",
        "expert_count",
        "expert_width",
        "first",
        "names",
        "shapes",
        "width",
    )

    def __init__(self) -> None:
        self.elements: dict[Role, int] = {}
        self.bytes: dict[Role, int] = {}
        self.names: set[str] = set()
        """Base names: ``attn_k``, ``ssm_in``."""
        self.shapes: dict[str, tuple[int, ...]] = {}
        """Dimensions of the weights by base name."""
        self.expert_count = 0
        self.expert_width = 0
        self.width = 0

    def has(self, *prefixes: str) -> bool:
        """Return whether a tensor's base name starts with one of `prefixes`."""
        return any(name.startswith(prefixes) for name in self.names)

    def count(self, role: Role) -> int:
        """Return the elements of `role`."""
        return self.elements.get(role, 0)

    def add(self, rest: str, tensor: GgufTensor) -> None:
        """Count `tensor`, whose name goes on with `rest` after the layer number."""
        role = _role(rest)
        self.elements[role] = self.elements.get(role, 0) + tensor.elements
        self.bytes[role] = self.bytes.get(role, 0) + tensor.bytes
        base = rest.rsplit(".", 1)[0] if rest.endswith((".weight", ".bias", ".scale")) else rest
        self.names.add(base)
        if not rest.endswith(".weight"):
            return
        self.shapes[base] = tensor.dimensions
        if role == "expert":
            self._add_expert(rest, base, tensor)
        elif base == "ffn_down" and tensor.dimensions:
            self.width = tensor.dimensions[0]

    def _add_expert(self, rest: str, base: str, tensor: GgufTensor) -> None:
        one = _ONE_EXPERT.match(rest)
        if one is not None:
            self.expert_count = max(self.expert_count, int(one[1]) + 1)
        elif base == "ffn_down_exps" and len(tensor.dimensions) == 3:
            self.expert_count = tensor.dimensions[2]
        if base.startswith("ffn_down") and "chexps" not in base and tensor.dimensions:
            self.expert_width = tensor.dimensions[0]


class ModelTensors:
    """All tensors of a model, sorted."""

    __slots__ = (
        "component_bytes",
        "component_elements",
        "embedding",
        "layers",
        "output_bytes",
        "output_elements",
        "types",
    )

    def __init__(self, layers: int) -> None:
        self.layers = [LayerTensors() for _ in range(layers)]
        self.embedding: GgufTensor | None = None
        self.output_elements = 0
        self.output_bytes = 0
        self.component_elements: dict[str, int] = {}
        self.component_bytes: dict[str, int] = {}
        self.types: dict[str, tuple[int, int]] = {}
        """Type name -> (elements, bytes)."""


def sort_tensors(
    tensors: tuple[GgufTensor, ...], layers: int, predicting: int, file: str
) -> ModelTensors:
    """Return `tensors` of a model of `layers` layers, sorted.

    The last `predicting` layers are for multi-token prediction; quantizers may leave them out.

    Raises:
        InputError: GGU022 when it is an encoder-decoder model, GGU023 when a tensor belongs to a
            layer that the model does not have, or a layer has no tensor.
    """
    sorted_ = ModelTensors(layers)
    for tensor in tensors:
        elements, size = sorted_.types.get(tensor.type.name, (0, 0))
        sorted_.types[tensor.type.name] = (elements + tensor.elements, size + tensor.bytes)
        layer = _LAYER.match(tensor.name)
        if layer is None:
            _add_outside(sorted_, tensor, file)
        elif int(layer[1]) < layers:
            sorted_.layers[int(layer[1])].add(layer[2], tensor)
        else:
            raise InputError(
                "GGU023",
                "a tensor belongs to a layer that the model does not have",
                place=f"{file}: {tensor.name}",
                expected=f"layers 0 to {layers - 1} (block_count)",
            )
    for index, layer_tensors in enumerate(sorted_.layers[: layers - predicting]):
        if not layer_tensors.names:
            raise InputError(
                "GGU023",
                "a layer has no tensors",
                place=f"{file}: blk.{index}",
                expected=f"tensors in each of {layers} layers (block_count)",
                fix="give a whole model: this file holds a part of one",
            )
    return sorted_


def _add_outside(sorted_: ModelTensors, tensor: GgufTensor, file: str) -> None:
    first = tensor.name.partition(".")[0]
    if tensor.name == "token_embd.weight":
        sorted_.embedding = tensor
        return
    if first == "output":
        sorted_.output_elements += tensor.elements
        sorted_.output_bytes += tensor.bytes
        return
    if first in {"enc", "dec"}:
        raise InputError(
            "GGU022",
            "an encoder-decoder model is not served by the engines that claimfit sizes",
            place=f"{file}: {tensor.name}",
        )
    name = _COMPONENTS.get(first, first)
    elements = sorted_.component_elements
    elements[name] = elements.get(name, 0) + tensor.elements
    sorted_.component_bytes[name] = sorted_.component_bytes.get(name, 0) + tensor.bytes


def _role(rest: str) -> Role:
    base = rest.partition(".")[0]
    if base.startswith(("ffn_gate_inp", "exp_probs_b")):
        return "router"
    if base.startswith("ffn_") and base.endswith("exps") and not base.startswith("ffn_norm"):
        return "expert"
    if _ONE_EXPERT.match(rest):
        return "expert"
    if base.startswith("ffn_") and base.endswith("_shexp"):
        return "shared"
    if base.startswith("ffn_latent"):  # Nemotron 3: narrows the stream for all routed experts
        return "shared"
    return "feed_forward" if _DENSE.match(rest) else "mixer"
