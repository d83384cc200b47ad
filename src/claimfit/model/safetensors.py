"""Reads the header of a safetensors file: which tensors it holds, never a tensor.

The format (README of huggingface/safetensors): 8 bytes with the header's length, little endian; a
JSON object with ``dtype``, ``shape`` and ``data_offsets`` of each tensor; then the data, without
holes or overlaps, to the end of the file. The library allows headers of 100 MB; here 32 MiB is the
limit, at 120 bytes a tensor enough for 280,000 tensors in one file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from claimfit.errors import InputError
from claimfit.model.json_text import read_json_object
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from claimfit.model.byte_range import ByteRange, FileStore

__all__ = ["StoredTensor", "read_header", "read_tensors", "weight_files"]

_HEADER_LIMIT_BYTES: Final = 32 << 20
_INDEX_LIMIT_BYTES: Final = 32 << 20
_FIRST_READ_BYTES: Final = 96 << 10
"""The length and most headers: one request for a shard of a usual model."""
_LARGEST: Final = 2**63 - 1
_MOST_DIMENSIONS: Final = 16
_INDEX: Final = "model.safetensors.index.json"
_SHARD: Final = re.compile(r"^(.+)-([0-9]{5,6})-of-([0-9]{5,6})\.safetensors$", re.DOTALL)
_MOST_SHARDS: Final = 4096
_NOT_WEIGHTS: Final = ("adapter_model", "training_args", "optimizer", "scheduler")

DTYPE_BITS: Final[dict[str, int]] = {
    "BOOL": 8,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "U16": 16,
    "I16": 16,
    "F16": 16,
    "BF16": 16,
    "U32": 32,
    "I32": 32,
    "F32": 32,
    "C64": 64,
    "U64": 64,
    "I64": 64,
    "F64": 64,
}
"""Bits per element: `Dtype` in safetensors/src/tensor.rs of huggingface/safetensors 0.6."""


class StoredTensor(NamedTuple):
    """One tensor of a file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    elements: int
    bytes: int
    offset: int
    """From the start of the file's data."""


def weight_files(store: FileStore) -> tuple[str, ...]:
    """Return the safetensors files that hold the model in `store`; none when there are none.

    ``model.safetensors``, or a numbered set, or what the index names, or the only file there is.

    Raises:
        InputError: SAF007 when a file is missing, SAF008 when it is unclear which files are meant,
            SAF006 for an unusable index.
    """
    names = store.names()
    there = tuple(
        name
        for name in names
        if name.endswith(".safetensors") and "/" not in name and not name.startswith(_NOT_WEIGHTS)
    )
    if "model.safetensors" in there:
        return ("model.safetensors",)
    numbered = _numbered(store.name, there)
    if numbered:
        return numbered
    if _INDEX in names:
        return _indexed(store, set(names))
    if len(there) > 1:
        raise InputError(
            "SAF008",
            "several safetensors files, and nothing that says which belong together",
            place=store.name,
            expected=f"model.safetensors, a numbered set, or {_INDEX}",
            candidates=there,
        )
    return there


def _numbered(place: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the numbered set, that of ``model-`` before others; none when there is none.

    Index and count may have different widths: DeepSeek-V3 starts at model-00001-of-000163.
    """
    sets: dict[tuple[str, int, str], set[str]] = {}
    for name in names:
        shard = _SHARD.match(name)
        if shard is not None and 1 <= int(shard[3]) <= _MOST_SHARDS:
            sets.setdefault((shard[1], len(shard[2]), shard[3]), set()).add(name)
    if not sets:
        return ()
    chosen = [key for key in sets if key[0] == "model"] or list(sets)
    if len(chosen) > 1:
        raise InputError(
            "SAF008",
            "several sets of safetensors files",
            place=place,
            expected="one set of shards",
            candidates=tuple(f"{stem}-*-of-{count}.safetensors" for stem, _, count in chosen),
        )
    stem, width, count = chosen[0]
    wanted = tuple(
        f"{stem}-{index:0{width}}-of-{count}.safetensors" for index in range(1, int(count) + 1)
    )
    _refuse_missing(place, wanted, sets[chosen[0]])
    return wanted


def _indexed(store: FileStore, there: set[str]) -> tuple[str, ...]:
    source = store.open(_INDEX)
    raw = source.read(0, _INDEX_LIMIT_BYTES + 1)
    if len(raw) > _INDEX_LIMIT_BYTES:
        raise InputError("SAF006", "the index is too long", place=f"{store.name}/{_INDEX}")
    index = read_json_object(raw, code="SAF006", place=f"{store.name}/{_INDEX}")
    files = index.get("weight_map")
    if not isinstance(files, dict) or not all(isinstance(name, str) for name in files.values()):
        raise InputError(
            "SAF006",
            "not a usable index",
            place=f"{store.name}/{_INDEX}: weight_map",
            expected="an object of file names by tensor name",
        )
    wanted = tuple(sorted(set(files.values())))
    _refuse_missing(store.name, wanted, there)
    return wanted


def _refuse_missing(place: str, wanted: tuple[str, ...], there: set[str]) -> None:
    missing = [name for name in wanted if name not in there]
    if missing:
        raise InputError(
            "SAF007",
            f"{len(missing)} of {len(wanted)} files of the model are missing",
            place=place,
            found=", ".join(missing),
            fix="download the whole repository",
        )


def read_tensors(store: FileStore, files: tuple[str, ...]) -> tuple[StoredTensor, ...]:
    """Return the tensors of all `files` of `store`.

    Raises:
        InputError: SAF001 to SAF005 for a header, SAF009 when two files hold the same tensor.
    """
    found: dict[str, StoredTensor] = {}
    for file in files:
        for tensor in read_header(store.open(file)):
            if tensor.name in found:
                raise InputError(
                    "SAF009",
                    "the tensor is in two files",
                    place=f"{store.name}/{file}",
                    found=tensor.name,
                    fix="keep one set of weights in the folder",
                )
            found[tensor.name] = tensor
    return tuple(found.values())


def read_header(source: ByteRange) -> tuple[StoredTensor, ...]:
    """Return the tensors of the file `source`, in the order of their data.

    Raises:
        InputError: SAF001 to SAF005, see docs/errors/SAF.md.
    """
    raw = _header_bytes(source)
    header = read_json_object(raw, code="SAF003", place=source.name)
    tensors = [
        _tensor(name, entry, f"{source.name}: {name}")
        for name, entry in header.items()
        if name != "__metadata__"
    ]
    tensors.sort(key=lambda tensor: (tensor.offset, tensor.bytes))
    end = 0
    for tensor in tensors:
        if tensor.offset != end:
            raise InputError(
                "SAF005",
                f"the tensor {'overlaps another one' if tensor.offset < end else 'leaves a hole'}",
                place=f"{source.name}: {tensor.name}",
                found=f"data from byte {tensor.offset}",
                expected=f"data from byte {end}, where the one before ends",
            )
        end += tensor.bytes
    length = 8 + len(raw) + end
    if source.size is not None and source.size != length:
        raise InputError(
            "SAF005",
            "the file is longer or shorter than its tensors",
            place=source.name,
            found=f"{source.size} bytes",
            expected=f"{length} bytes",
            fix="download the file again: it was cut, or copied before it was complete",
        )
    return tuple(tensors)


def _header_bytes(source: ByteRange) -> bytes:
    start = source.read(0, _FIRST_READ_BYTES)
    if len(start) < 8:
        raise InputError(
            "SAF001",
            "not a safetensors file",
            place=source.name,
            found=f"{len(start)} bytes",
            expected="the header's length in 8 bytes",
        )
    length = int.from_bytes(start[:8], "little")
    size = source.size
    if length > _HEADER_LIMIT_BYTES or start[8:9] not in {b"{", b""}:
        raise InputError(
            "SAF001",
            "not a safetensors file",
            place=source.name,
            found=f"a header of {length} bytes that starts with {start[8:9]!r}",
            expected=f"a JSON header of up to {_HEADER_LIMIT_BYTES >> 20} MiB",
            fix="git lfs pull" if start.startswith(b"version ") else "",
        )
    raw = start[8 : 8 + length]
    if len(raw) < length and len(start) == _FIRST_READ_BYTES:
        raw += source.read(len(start), length - len(raw))
    if len(raw) < length:
        raise InputError(
            "SAF002",
            "the file ends inside its header",
            place=source.name,
            found=f"{8 + len(raw) if size is None else size} bytes",
            expected=f"a header of {length} bytes",
            fix="download the file again",
        )
    return raw


def _tensor(name: str, entry: object, place: str) -> StoredTensor:
    if not isinstance(entry, dict):
        raise _wrong(place, entry, "an object")
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    bits = DTYPE_BITS.get(dtype) if isinstance(dtype, str) else None
    if bits is None:
        raise InputError(
            "SAF004",
            "unknown element type",
            place=place,
            found=dtype,
            expected=", ".join(DTYPE_BITS),
        )
    dimensions = _counts(shape, place, "a list of up to 16 sizes", _MOST_DIMENSIONS)
    begin_end = _counts(offsets, place, "two offsets", 2)
    elements = 1
    for dimension in dimensions:
        elements *= dimension
    if len(begin_end) != 2 or elements * bits % 8 or elements * bits // 8 > _LARGEST:
        raise _wrong(place, entry, "a shape of whole bytes, and two offsets")
    begin, end = begin_end
    if end - begin != elements * bits // 8:
        raise InputError(
            "SAF004",
            "the tensor's data is longer or shorter than its shape",
            place=place,
            found=f"{end - begin} bytes",
            expected=f"{elements * bits // 8} bytes: {list(dimensions)} of {dtype}",
        )
    return StoredTensor(name, str(dtype), dimensions, elements, end - begin, begin)


def _counts(value: object, place: str, expected: str, most: int) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > most:
        raise _wrong(place, value, expected)
    for item in value:
        if not isinstance(item, int) or isinstance(item, bool) or not 0 <= item <= _LARGEST:
            raise _wrong(place, item, f"{expected}, each from 0 to 2**63 - 1")
    return tuple(value)


def _wrong(place: str, found: object, expected: str) -> InputError:
    return InputError(
        "SAF004", "not a usable tensor record", place=place, found=found, expected=expected
    )
