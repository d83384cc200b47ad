"""Reads the header of a GGUF file: its keys and its tensor table, never a tensor.

The format is that of ggml-org/ggml docs/gguf.md: magic ``GGUF``, a version, the number of tensors
and of keys, the keys with typed values, then one record per tensor. Versions 2 and 3 have 64-bit
counts and differ in byte order only: a big-endian file is known by its version number.

A header is untrusted input. Counts, lengths, nesting and products are bounded before anything is
allocated for them, and tensors must lie inside the file without overlapping.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NoReturn

from claimfit.errors import InputError
from claimfit.model.ggml_types import GGML_TYPES
from claimfit.model.gguf_cursor import Cursor
from claimfit.model.gguf_file_types import REMOVED_TYPES
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from claimfit.model.byte_range import ByteRange
    from claimfit.model.ggml_types import GgmlType

__all__ = ["GgufHeader", "GgufTensor", "Value", "read_header"]

Value = int | float | bool | str | tuple[int | float | bool, ...]
"""A key's value. Arrays of text and long arrays keep only their length: `array_lengths`."""

_SCALARS: Final[dict[int, tuple[str, int]]] = {
    0: ("B", 1),
    1: ("b", 1),
    2: ("H", 2),
    3: ("h", 2),
    4: ("I", 4),
    5: ("i", 4),
    6: ("f", 4),
    7: ("?", 1),
    10: ("Q", 8),
    11: ("q", 8),
    12: ("d", 8),
}
"""Value type -> (struct code, bytes): gguf_metadata_value_type in gguf.md."""
_TEXT: Final = 8
_ARRAY: Final = 9

_MOST_KEYS: Final = 65_536
_MOST_TENSORS: Final = 65_536  # DeepSeek-V3 with one tensor per expert has 46,000
_LONGEST_KEY: Final = 65_535  # gguf.md
_LONGEST_NAME: Final = 1024  # ggml itself stops at 64
_LONGEST_KEPT_TEXT: Final = 4096
_LONGEST_KEPT_ARRAY: Final = 4096  # per-layer values; the longest known model has 162 layers
_DEEPEST_ARRAY: Final = 4
_MOST_DIMENSIONS: Final = 4  # GGML_MAX_DIMS
_LARGEST_TENSOR: Final = 2**63 - 1  # ggml counts elements and bytes in int64
_DEFAULT_ALIGNMENT: Final = 32
_LARGEST_ALIGNMENT: Final = 1 << 20


class GgufTensor(NamedTuple):
    """One row of the tensor table."""

    name: str
    dimensions: tuple[int, ...]
    """Fastest first, as ggml keeps them: (input, output, experts) of a matrix."""
    type: GgmlType
    elements: int
    bytes: int
    offset: int
    """From the start of the tensor data of its own file."""


class GgufHeader(NamedTuple):
    """What stands before the tensor data of one file."""

    file: str
    version: int
    big_endian: bool
    values: dict[str, Value]
    array_lengths: dict[str, int]
    """Length of every array, whether its elements are in `values` or not."""
    tensors: tuple[GgufTensor, ...]
    data_offset: int
    """Where the tensor data starts in the file."""


def read_header(source: ByteRange) -> GgufHeader:
    """Return the header of `source`.

    Raises:
        InputError: GGU001 to GGU013, see docs/errors/GGU.md.
    """
    cursor = Cursor(source)
    version = _version(cursor)
    tensor_count = cursor.count("tensors", least_bytes=24, most=_MOST_TENSORS)
    key_count = cursor.count("keys", least_bytes=13, most=_MOST_KEYS)
    values: dict[str, Value] = {}
    lengths: dict[str, int] = {}
    for _ in range(key_count):
        _read_key(cursor, values, lengths)
    tensors = tuple(_read_tensor(cursor) for _ in range(tensor_count))
    alignment = _alignment(source, values)
    data_offset = -(-cursor.position // alignment) * alignment
    _check_table(source, tensors, data_offset, alignment)
    return GgufHeader(
        file=source.name,
        version=version,
        big_endian=cursor.byte_order == ">",
        values=values,
        array_lengths=lengths,
        tensors=tensors,
        data_offset=data_offset,
    )


def _version(cursor: Cursor) -> int:
    magic = cursor.take(4, "the magic number")
    if magic != b"GGUF":
        cursor.fail(
            "GGU001",
            "not a GGUF file",
            found=repr(magic),
            expected="the magic number GGUF",
            fix="git lfs pull" if magic == b"vers" else "",
        )
    version = cursor.u32("the version")
    if version and version & 0xFFFF == 0:  # 3 written with the other byte order is 0x03000000
        version = int.from_bytes(version.to_bytes(4, "little"), "big")
        cursor.set_byte_order(">")
    if version not in {2, 3}:
        cursor.fail("GGU002", "unknown GGUF version", found=str(version), expected="2 or 3")
    return version


def _read_key(cursor: Cursor, values: dict[str, Value], lengths: dict[str, int]) -> None:
    key = cursor.text(_LONGEST_KEY, "a key")
    if key in values or key in lengths:
        cursor.fail("GGU007", "the key is there twice", found=key)
    kind = cursor.u32(f"the type of {key}")
    if kind in _SCALARS:
        code, width = _SCALARS[kind]
        values[key] = Struct(cursor.byte_order + code).unpack(cursor.take(width, key))[0]
    elif kind == _TEXT:
        _read_text(cursor, key, values)
    elif kind == _ARRAY:
        _read_array(cursor, key, values, lengths)
    else:
        _unknown_type(cursor, kind, key)


def _read_text(cursor: Cursor, key: str, values: dict[str, Value]) -> None:
    length = cursor.u64(key)
    if length > _LONGEST_KEPT_TEXT:  # a chat template or a licence: nothing that sizing needs
        cursor.skip(length, key)
        return
    raw = cursor.take(length, key)
    values[key] = raw.decode("utf-8", errors="replace")


def _read_array(
    cursor: Cursor, key: str, values: dict[str, Value], lengths: dict[str, int]
) -> None:
    kind = cursor.u32(f"the type of {key}")
    if kind not in _SCALARS:
        lengths[key] = _skip_array(cursor, key, kind, depth=1)
        return
    code, width = _SCALARS[kind]
    length = cursor.count(f"elements of {key}", least_bytes=width, most=_LARGEST_TENSOR)
    lengths[key] = length
    if length > _LONGEST_KEPT_ARRAY:
        cursor.skip(length * width, key)
        return
    layout = Struct(f"{cursor.byte_order}{length}{code}")
    values[key] = layout.unpack(cursor.take(length * width, key))


def _skip_array(cursor: Cursor, key: str, kind: int, depth: int) -> int:
    """Step over an array of text or of arrays, whose element type was just read."""
    if depth > _DEEPEST_ARRAY:
        cursor.fail(
            "GGU006", f"{key} nests too deeply", expected=f"at most {_DEEPEST_ARRAY} levels"
        )
    if kind in _SCALARS:
        width = _SCALARS[kind][1]
        length = cursor.count(f"elements of {key}", least_bytes=width, most=_LARGEST_TENSOR)
        cursor.skip(length * width, key)
        return length
    if kind == _TEXT:
        length = cursor.count(f"elements of {key}", least_bytes=8, most=_LARGEST_TENSOR)
        cursor.skip_texts(length, key)
        return length
    if kind != _ARRAY:
        _unknown_type(cursor, kind, key)
    length = cursor.count(f"elements of {key}", least_bytes=12, most=_LARGEST_TENSOR)
    for _ in range(length):
        _skip_array(cursor, key, cursor.u32(f"the type of {key}"), depth + 1)
    return length


def _unknown_type(cursor: Cursor, kind: int, key: str) -> NoReturn:
    cursor.fail(
        "GGU006", f"{key} has an unknown type", found=str(kind), expected="a type from 0 to 12"
    )


def _read_tensor(cursor: Cursor) -> GgufTensor:
    name = cursor.text(_LONGEST_NAME, "a tensor name")
    what = f"tensor {name}"
    rank = cursor.u32(what)
    if rank > _MOST_DIMENSIONS:
        cursor.fail(
            "GGU010",
            f"{what} has too many dimensions",
            found=str(rank),
            expected=f"at most {_MOST_DIMENSIONS}",
        )
    dimensions = tuple(cursor.u64(what) for _ in range(rank))
    number = cursor.u32(what)
    kind = GGML_TYPES.get(number)
    if kind is None:
        removed = REMOVED_TYPES.get(number)
        cursor.fail(
            "GGU009",
            f"{what} has {'a removed' if removed else 'an unknown'} type",
            found=f"{number} ({removed})" if removed else str(number),
            fix="quantize the model again: ggml no longer loads this type" if removed else "",
        )
    elements = 1
    for dimension in dimensions:
        elements *= dimension
    row = dimensions[0] if dimensions else 1
    size = elements // kind.block_elements * kind.block_bytes
    if not 0 < elements <= _LARGEST_TENSOR or size > _LARGEST_TENSOR or row % kind.block_elements:
        cursor.fail(
            "GGU010",
            f"{what} has an impossible shape",
            found=f"{list(dimensions)} of {kind.name}",
            expected=f"rows of whole blocks of {kind.block_elements}, none empty, within 63 bits",
        )
    return GgufTensor(name, dimensions, kind, elements, size, cursor.u64(what))


def _alignment(source: ByteRange, values: dict[str, Value]) -> int:
    value = values.get("general.alignment", _DEFAULT_ALIGNMENT)
    usable = (
        isinstance(value, int)
        and not isinstance(value, bool)
        and 0 < value <= _LARGEST_ALIGNMENT
        and value & (value - 1) == 0
    )
    if not usable:
        raise InputError(
            "GGU008",
            "not a usable alignment",
            place=f"{source.name}: general.alignment",
            found=value,
            expected=f"a power of two up to {_LARGEST_ALIGNMENT}",
        )
    return int(value)  # type: ignore[arg-type]  # `usable` says that it is an int


def _check_table(
    source: ByteRange, tensors: tuple[GgufTensor, ...], data_offset: int, alignment: int
) -> None:
    """Refuse names that occur twice, and tensors that overlap or leave the file."""
    seen: set[str] = set()
    for tensor in tensors:
        if tensor.name in seen:
            raise InputError(
                "GGU011", "the tensor is there twice", place=source.name, found=tensor.name
            )
        seen.add(tensor.name)
    end, before = 0, ""
    for tensor in sorted(tensors, key=lambda item: item.offset):
        place = f"{source.name}: {tensor.name}"
        if tensor.offset % alignment:
            raise InputError(
                "GGU012",
                "the tensor starts at no multiple of the alignment",
                place=place,
                found=f"offset {tensor.offset}",
                expected=f"a multiple of {alignment}",
            )
        if tensor.offset < end:
            raise InputError(
                "GGU013",
                "the tensor overlaps another one",
                place=place,
                found=f"offset {tensor.offset}, where {before} ends at {end}",
            )
        end, before = tensor.offset + tensor.bytes, tensor.name
        if source.size is not None and data_offset + end > source.size:
            raise InputError(
                "GGU012",
                "the tensor ends beyond the file",
                place=place,
                found=f"byte {data_offset + end} of {source.size}",
                fix="download the file again: it was cut, or copied before it was complete",
            )
