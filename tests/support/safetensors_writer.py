"""Writes safetensors files and small Hugging Face folders after the format's description."""

from __future__ import annotations

import json
import struct

__all__ = ["LLAMA", "header_bytes", "llama_tensors", "safetensors_bytes"]

_BITS = {"F4": 4, "F6_E2M3": 6, "U8": 8, "F8_E4M3": 8, "BF16": 16, "F16": 16, "F32": 32, "I64": 64}

LLAMA: dict[str, object] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
    "vocab_size": 100,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
"""A llama of 64 wide: heads of 16, 2 of them for keys and values."""

_LAYER = {
    "input_layernorm": (64,),
    "post_attention_layernorm": (64,),
    "self_attn.q_proj": (64, 64),
    "self_attn.k_proj": (32, 64),
    "self_attn.v_proj": (32, 64),
    "self_attn.o_proj": (64, 64),
    "mlp.gate_proj": (128, 64),
    "mlp.up_proj": (128, 64),
    "mlp.down_proj": (64, 128),
}


def llama_tensors(layers: int = 2) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return the tensors of `LLAMA` by name: type and shape."""
    names = {"model.embed_tokens": (100, 64), "model.norm": (64,), "lm_head": (100, 64)}
    for layer in range(layers):
        names |= {f"model.layers.{layer}.{part}": shape for part, shape in _LAYER.items()}
    return {f"{name}.weight": ("BF16", shape) for name, shape in names.items()}


def header_bytes(header: object) -> bytes:
    """Return a length and a header, which may be raw bytes, without data."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw


def safetensors_bytes(
    tensors: dict[str, tuple[str, tuple[int, ...]]], *, data: bool = True
) -> bytes:
    """Return a file with `tensors` one after the other, their data all zero."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, shape) in tensors.items():
        count = 1
        for dimension in shape:
            count *= dimension
        begin, end = end, end + count * _BITS[dtype] // 8
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}
    return header_bytes(header) + (bytes(end) if data else b"")
