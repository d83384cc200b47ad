"""Small GGUF models, tensor by tensor as llama.cpp names them."""

from __future__ import annotations

from support.gguf_writer import Array, Tensor

__all__ = ["WIDTH", "attention", "dense_model", "feed_forward", "keys_of", "model_tensors"]

WIDTH = 512
VOCABULARY = 1000


def keys_of(architecture: str, layers: int, **more: object) -> dict[str, object]:
    """Return the keys of a decoder with 8 heads of 64 and 2 key/value heads.

    Names in `more` have ``__`` for a dot: ``attention__sliding_window``.
    """
    own = {
        "block_count": layers,
        "context_length": 4096,
        "embedding_length": WIDTH,
        "attention.head_count": 8,
        "attention.head_count_kv": 2,
    }
    own |= {name.replace("__", "."): value for name, value in more.items()}
    return {"general.architecture": architecture} | {
        f"{architecture}.{name}": value for name, value in own.items() if value is not None
    }


def attention(layer: int, *, kv_width: int = 128, value_width: int | None = None) -> list[Tensor]:
    """Return the attention of a layer: 512 x 512 twice, keys and values, a norm of 512."""
    values = kv_width if value_width is None else value_width
    return [
        Tensor(f"blk.{layer}.attn_norm.weight", (WIDTH,), "F32"),
        Tensor(f"blk.{layer}.attn_q.weight", (WIDTH, WIDTH), "Q4_K"),
        Tensor(f"blk.{layer}.attn_k.weight", (WIDTH, kv_width), "Q4_K"),
        Tensor(f"blk.{layer}.attn_v.weight", (WIDTH, values), "Q6_K"),
        Tensor(f"blk.{layer}.attn_output.weight", (WIDTH, WIDTH), "Q4_K"),
    ]


def feed_forward(layer: int, width: int = 1024) -> list[Tensor]:
    """Return a gated feed-forward: three matrices of 512 x `width`."""
    return [
        Tensor(f"blk.{layer}.ffn_gate.weight", (WIDTH, width), "Q4_K"),
        Tensor(f"blk.{layer}.ffn_up.weight", (WIDTH, width), "Q4_K"),
        Tensor(f"blk.{layer}.ffn_down.weight", (width, WIDTH), "Q4_K"),
    ]


def model_tensors(layers: list[list[Tensor]], *more: Tensor) -> list[Tensor]:
    """Return embedding, final norm, `layers` and `more`."""
    return [
        Tensor("token_embd.weight", (WIDTH, VOCABULARY), "Q4_K"),
        Tensor("output_norm.weight", (WIDTH,), "F32"),
        *(tensor for layer in layers for tensor in layer),
        *more,
    ]


def dense_model(layers: int = 2) -> tuple[dict[str, object], list[Tensor]]:
    """Return keys and tensors of a llama with `layers` layers and a tied head."""
    keys = keys_of("llama", layers)
    keys["general.file_type"] = 15
    keys["tokenizer.ggml.tokens"] = Array("text", [f"t{i}" for i in range(VOCABULARY)])
    blocks = [attention(layer) + feed_forward(layer) for layer in range(layers)]
    return keys, model_tensors(blocks)
