"""Writes GGUF files after docs/gguf.md of ggml-org/ggml: valid ones, and ones that lie.

Independent of the reader under test: type numbers and block sizes are spelled out here again.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

__all__ = ["Array", "Raw", "Tensor", "gguf_bytes", "key_bytes", "tensor_bytes", "text_bytes"]

_BLOCKS = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_K": (12, 256, 144), "Q6_K": (14, 256, 210)}
_BLOCKS |= {"Q8_0": (8, 32, 34), "MXFP4": (39, 32, 17), "BF16": (30, 1, 2), "Q4_0": (2, 32, 18)}


class Array(NamedTuple):
    """An array of one type: a struct code such as "I", or "text"."""

    code: str
    items: list[object]


class Raw(NamedTuple):
    """Bytes to write as they are: a type number and the value after it."""

    content: bytes


class Tensor(NamedTuple):
    """A tensor; `offset` None follows the one before, `type` may be a number."""

    name: str
    dimensions: tuple[int, ...]
    type: str | int = "F16"
    offset: int | None = None


_CODES = {"B": 0, "b": 1, "H": 2, "h": 3, "I": 4, "i": 5, "f": 6, "?": 7, "Q": 10, "q": 11, "d": 12}


def text_bytes(text: str | bytes, order: str = "<") -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack(f"{order}Q", len(raw)) + raw


def key_bytes(name: str, value: object, order: str = "<") -> bytes:
    head = text_bytes(name, order)
    match value:
        case Raw(content):
            return head + content
        case Array("text", items):
            body = b"".join(text_bytes(item, order) for item in items)
            return head + struct.pack(f"{order}IIQ", 9, 8, len(items)) + body
        case Array(code, items):
            numbers = struct.pack(f"{order}{len(items)}{code}", *items)
            return head + struct.pack(f"{order}IIQ", 9, _CODES[code], len(items)) + numbers
        case bool():
            return head + struct.pack(f"{order}I?", 7, value)
        case int():
            return head + struct.pack(f"{order}II", 4, value)
        case float():
            return head + struct.pack(f"{order}If", 6, value)
        case str():
            return head + struct.pack(f"{order}I", 8) + text_bytes(value, order)
    raise TypeError(type(value))


def tensor_size(tensor: Tensor) -> int:
    if isinstance(tensor.type, int):
        return 0
    _, elements, size = _BLOCKS[tensor.type]
    count = 1
    for dimension in tensor.dimensions:
        count *= dimension
    return count // elements * size


def tensor_bytes(tensor: Tensor, offset: int, order: str = "<") -> bytes:
    number = tensor.type if isinstance(tensor.type, int) else _BLOCKS[tensor.type][0]
    rank = len(tensor.dimensions)
    return (
        text_bytes(tensor.name, order)
        + struct.pack(f"{order}I{rank}Q", rank, *tensor.dimensions)
        + struct.pack(f"{order}IQ", number, offset)
    )


def gguf_bytes(
    keys: dict[str, object] | list[tuple[str, object]],
    tensors: list[Tensor] | None = None,
    *,
    version: int = 3,
    order: str = "<",
    alignment: int = 32,
    key_count: int | None = None,
    tensor_count: int | None = None,
    data: bool = True,
) -> bytes:
    """Return a GGUF file; tensor data, all zero, follows when `data` is set."""
    pairs = list(keys.items()) if isinstance(keys, dict) else keys
    tensors = tensors or []
    table, end = b"", 0
    for tensor in tensors:
        offset = -(-end // alignment) * alignment if tensor.offset is None else tensor.offset
        table += tensor_bytes(tensor, offset, order)
        end = max(end, offset + tensor_size(tensor))
    head = b"GGUF" + struct.pack(
        f"{order}IQQ",
        version,
        len(tensors) if tensor_count is None else tensor_count,
        len(pairs) if key_count is None else key_count,
    )
    head += b"".join(key_bytes(name, value, order) for name, value in pairs) + table
    if not data:
        return head
    return head.ljust(-(-len(head) // alignment) * alignment, b"\0") + bytes(end)
