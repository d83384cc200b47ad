"""Parameters of vision towers and their projectors, where the shape is stated.

Each function is one published tower. A tower that is not among them is counted as a plain
transformer from its width, depth and feed-forward width, and a note says so; without those three it
is not counted, and a note says that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.model.facts import Component

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.model.fields import Fields

__all__ = ["tower_components"]

_MOST: Final = 1_000_000

_GEMMA3N_TOWERS: Final = 983_281_504
"""MobileNet-V5 and the audio encoder of Gemma 3n, one fixed network for both sizes: what the
published totals (5,439,438,272 and 7,849,978,192) hold beyond the shapes of the language model."""


def tower_components(root: Fields, text_hidden: int, notes: list[str]) -> list[Component]:
    """Return the towers beside the language model; what is not counted is said in `notes`.

    Raises:
        InputError: CFG002, a size of a tower is malformed.
    """
    parts = []
    vision = root.section("vision_config", "vision_tower_config")
    audio = root.section("audio_config")
    if root.text("model_type") == "gemma3n":
        if vision is None or audio is None:
            return []
        return [Component("vision and audio towers", _GEMMA3N_TOWERS)]
    if vision is not None:
        counted = _vision(root, vision, text_hidden, notes)
        if counted:
            parts.append(Component("vision tower", counted))
        else:
            notes.append("the vision tower is not counted: its shape is not stated")
    if audio is not None:
        if audio.text("model_type") == "gemma4_audio":
            parts.append(Component("audio tower", _gemma4_audio(audio, text_hidden)))
        else:
            notes.append("the audio tower is not counted")
    return parts


def _vision(root: Fields, vision: Fields, text_hidden: int, notes: list[str]) -> int:
    kind = vision.text("model_type") or root.text("model_type")
    if "vt_hidden_size" in vision:
        kind = "kimi_k25"
    counter = _TOWERS.get(kind) or _TOWERS.get(root.text("model_type"))
    if counter is not None:
        return counter(vision, text_hidden)
    plain = _plain(vision)
    if plain:
        notes.append(f"the vision tower {kind[:40]!r} is counted as a plain transformer")
    return plain


def _count(vision: Fields, *names: str, default: int = 0) -> int:
    return vision.optional_count(*names, default=default, most=_MOST)


def _block(hidden: int, width: int, *, gated: bool = False, bias: bool = True) -> int:
    """Return one transformer block of `hidden`: attention, feed-forward, two norms."""
    ups = 2 if gated else 1
    parameters = 4 * hidden * hidden + (ups + 1) * hidden * width
    if bias:
        parameters += 4 * hidden + ups * width + hidden
    return parameters


def _plain(vision: Fields) -> int:
    hidden = _count(vision, "hidden_size", "embed_dim", "width")
    depth = _count(vision, "num_hidden_layers", "depth", "layers")
    width = _count(vision, "intermediate_size", default=4 * hidden)
    return depth * (_block(hidden, width) + 4 * hidden)


def _qwen2(vision: Fields, text_hidden: int) -> int:
    """Return Qwen2-VL's tower; its `hidden_size` is the width of what it hands over."""
    hidden = _count(vision, "embed_dim", default=1280)
    width = hidden * _count(vision, "mlp_ratio", default=4)
    patches = 3 * 2 * _count(vision, "patch_size", default=14) ** 2 * hidden
    blocks = _count(vision, "depth", default=32) * (_block(hidden, width) + 4 * hidden)
    merged = 4 * hidden
    merger = 2 * hidden + merged * merged + merged + merged * text_hidden + text_hidden
    return patches + blocks + merger


def _qwen25(vision: Fields, text_hidden: int) -> int:
    """Return Qwen2.5-VL's tower: RMSNorms, gated feed-forward."""
    hidden = _count(vision, "hidden_size", default=1280)
    width = _count(vision, "intermediate_size", default=3420)
    patches = 3 * 2 * _count(vision, "patch_size", default=14) ** 2 * hidden
    blocks = _count(vision, "depth", default=32) * (_block(hidden, width, gated=True) + 2 * hidden)
    merged = 4 * hidden
    merger = hidden + merged * merged + merged + merged * text_hidden + text_hidden
    return patches + blocks + merger


def _qwen3(vision: Fields, text_hidden: int) -> int:
    """Return the tower of Qwen3-VL and Qwen3.5, with its deepstack mergers."""
    hidden = _count(vision, "hidden_size", default=1152)
    width = _count(vision, "intermediate_size", default=4304)
    temporal = _count(vision, "temporal_patch_size", default=2)
    patches = 3 * temporal * _count(vision, "patch_size", default=16) ** 2 * hidden + hidden
    positions = _count(vision, "num_position_embeddings", default=2304) * hidden
    blocks = _count(vision, "depth", default=27) * (_block(hidden, width) + 4 * hidden)
    merged = hidden * _count(vision, "spatial_merge_size", default=2) ** 2
    out = _count(vision, "out_hidden_size", default=text_hidden)
    projection = merged * merged + merged + merged * out + out
    deepstack = len(vision.items("deepstack_visual_indexes") or ()) * (2 * merged + projection)
    return patches + positions + blocks + 2 * hidden + projection + deepstack


def _siglip(vision: Fields, text_hidden: int) -> int:
    """Return SigLIP with Gemma 3's projector (one matrix, one norm)."""
    hidden = _count(vision, "hidden_size", default=1152)
    width = _count(vision, "intermediate_size", default=4304)
    patch = _count(vision, "patch_size", default=14) or 1
    positions = (_count(vision, "image_size", default=896) // patch) ** 2
    blocks = _count(vision, "num_hidden_layers", default=27) * (_block(hidden, width) + 4 * hidden)
    patches = 3 * patch**2 * hidden + hidden
    return patches + positions * hidden + blocks + 3 * hidden + hidden * text_hidden


def _pixtral(vision: Fields, text_hidden: int) -> int:
    """Return Pixtral's tower with Mistral 3's merging projector."""
    hidden = _count(vision, "hidden_size", default=1024)
    width = _count(vision, "intermediate_size", default=4096)
    layers = _count(vision, "num_hidden_layers", default=24)
    patches = 3 * _count(vision, "patch_size", default=16) ** 2 * hidden
    blocks = layers * (_block(hidden, width, gated=True, bias=False) + 2 * hidden)
    merger = hidden + 4 * hidden * hidden + hidden * text_hidden + text_hidden * text_hidden
    return patches + hidden + blocks + merger


def _llama4(vision: Fields, text_hidden: int) -> int:
    """Return Llama 4's tower with its pixel-shuffle adapter and projector."""
    hidden = _count(vision, "hidden_size", default=1408)
    width = _count(vision, "intermediate_size", default=5632)
    output = _count(vision, "projector_output_dim", default=4096)
    patch = _count(vision, "patch_size", default=14) or 1
    positions = (_count(vision, "image_size", default=336) // patch) ** 2 + 1
    blocks = _count(vision, "num_hidden_layers", default=34) * (_block(hidden, width) + 4 * hidden)
    adapter = width * _count(vision, "projector_input_dim", default=4096) + output * output
    outside = 3 * patch**2 * hidden + (positions + 1) * hidden + 4 * hidden
    return (
        outside + blocks + adapter + _count(vision, "vision_output_dim", default=4096) * text_hidden
    )


def _moonvit(vision: Fields, text_hidden: int) -> int:
    """Return MoonViT (Kimi) with its patch-merging projector."""
    hidden = _count(vision, "vt_hidden_size", "hidden_size", default=1152)
    width = _count(vision, "vt_intermediate_size", "intermediate_size", default=4304)
    layers = _count(vision, "vt_num_hidden_layers", "num_hidden_layers", default=27)
    patches = 3 * _count(vision, "patch_size", default=14) ** 2 * hidden + hidden
    height = _count(vision, "init_pos_emb_height", default=64)
    positions = height * _count(vision, "init_pos_emb_width", default=64) * hidden
    merged = 4 * hidden
    projector = 2 * hidden + merged * merged + merged + merged * text_hidden + text_hidden
    return (
        patches + positions + layers * (_block(hidden, width) + 4 * hidden) + 2 * hidden + projector
    )


def _gemma4(vision: Fields, text_hidden: int) -> int:
    """Return Gemma 4's tower: RMSNorms around attention and gated feed-forward, 2-D positions."""
    hidden = _count(vision, "hidden_size", default=768)
    width = _count(vision, "intermediate_size", default=3072)
    size = _count(vision, "head_dim", default=64)
    layers = _count(vision, "num_hidden_layers", default=16)
    block = _block(hidden, width, gated=True, bias=False) + 4 * hidden + 2 * size
    patches = 3 * _count(vision, "patch_size", default=16) ** 2 * hidden
    positions = 2 * _count(vision, "position_embedding_size", default=10_240) * hidden
    scales = 2 * hidden if vision.flag("standardize", default=False) else 0
    return patches + positions + layers * block + scales + hidden * text_hidden


def _gemma4_audio(audio: Fields, text_hidden: int) -> int:
    """Return Gemma 4's audio encoder: conformer layers and a projection.

    The four limits of each clipped linear are no parameters, and no published total counts them.
    """
    hidden = _count(audio, "hidden_size", default=1024)
    heads = _count(audio, "num_attention_heads", default=8) or 1
    output = _count(audio, "output_proj_dims", default=1536)
    kernel = _count(audio, "conv_kernel_size", default=5)
    layer = 16 * hidden**2 + 4 * hidden  # two feed-forwards with two norms each
    layer += 5 * hidden**2 + hidden // heads + 3 * hidden  # attention, positions, norms
    layer += 3 * hidden**2 + hidden * kernel + 2 * hidden  # light convolution
    channels = audio.counts("subsampling_conv_channels", most=_MOST) or [128, 32]
    first, last = channels[0], channels[-1]
    subsampling = 9 * first + first + 9 * first * last + last + first // 4 * last * hidden
    layers = _count(audio, "num_hidden_layers", default=12)
    projection = hidden * output + output + output * text_hidden
    return layers * layer + subsampling + projection


_TOWERS: Final[dict[str, Callable[[Fields, int], int]]] = {
    "qwen2_vl": _qwen2,
    "qwen2_5_vl": _qwen25,
    "qwen3_vl": _qwen3,
    "qwen3_vl_moe": _qwen3,
    "qwen3_5": _qwen3,
    "qwen3_5_moe": _qwen3,
    "qwen3_5_vision": _qwen3,
    "qwen3_5_moe_vision": _qwen3,
    "siglip_vision_model": _siglip,
    "pixtral": _pixtral,
    "llama4_vision_model": _llama4,
    "kimi_k25": _moonvit,
    "moonvit": _moonvit,
    "gemma4_vision": _gemma4,
}
"""model_type of a tower, or of the whole model -> its count."""
