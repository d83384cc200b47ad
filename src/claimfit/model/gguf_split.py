"""Joins the parts of a split GGUF into one model.

`gguf-split` of ggml-org/llama.cpp names parts ``NAME-00002-of-00003.gguf`` and writes three keys
into each: `split.no` (from 0), `split.count` and `split.tensors.count` (of all parts together). The
other keys stand in the first part only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from claimfit.errors import InputError
from claimfit.model.gguf import GgufHeader, read_header
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from claimfit.model.byte_range import FileStore
    from claimfit.model.gguf import GgufTensor, Value

__all__ = ["GgufModel", "base_name", "part_names", "read_model"]

_PART: Final = re.compile(r"^(.*)-([0-9]{5})-of-([0-9]{5})(\.gguf)$", re.IGNORECASE | re.DOTALL)
_MOST_PARTS: Final = 1024


class GgufModel(NamedTuple):
    """The header of a whole model, whether it was split or not."""

    files: tuple[str, ...]
    values: dict[str, Value]
    array_lengths: dict[str, int]
    tensors: tuple[GgufTensor, ...]


def base_name(name: str) -> str:
    """Return the model's name in a file name: no folders, no part number, no ``.gguf``."""
    stem = name.rpartition("/")[2]
    part = _PART.match(stem)
    if part is not None:
        return part[1]
    return stem[: -len(".gguf")] if stem.lower().endswith(".gguf") else stem


def part_names(name: str) -> tuple[str, ...]:
    """Return the names of all parts of the set that `name` belongs to; itself when it is none.

    Raises:
        InputError: GGU014 when the name counts more parts than any set has, or none.
    """
    part = _PART.match(name)
    if part is None:
        return (name,)
    count = int(part[3])
    if not 1 <= int(part[2]) <= count <= _MOST_PARTS:
        raise InputError(
            "GGU014",
            "the file name numbers an impossible part",
            place=name,
            found=f"part {int(part[2])} of {count}",
            expected=f"part 1 to N of N, N at most {_MOST_PARTS}",
        )
    return tuple(f"{part[1]}-{index:05}-of-{part[3]}{part[4]}" for index in range(1, count + 1))


def read_model(store: FileStore, name: str) -> GgufModel:
    """Return the model of which the file `name` of `store` is the whole or any part.

    Raises:
        InputError: GGU014 when a part is missing or says that it belongs elsewhere; and what
            `claimfit.model.gguf.read_header` raises.
    """
    names = part_names(name)
    if len(names) > 1:
        there = set(store.names())
        missing = tuple(part for part in names if part not in there)
        if missing:
            raise InputError(
                "GGU014",
                f"{len(missing)} of {len(names)} parts of the model are missing",
                place=store.name,
                found=", ".join(missing),
                fix="put all parts beside one another",
            )
    headers = [read_header(store.open(part)) for part in names]
    for index, header in enumerate(headers):
        _check_part(header, index, len(headers))
    tensors = tuple(tensor for header in headers for tensor in header.tensors)
    _check_whole(headers, tensors)
    first = headers[0]
    return GgufModel(names, first.values, first.array_lengths, tensors)


def _check_part(header: GgufHeader, index: int, count: int) -> None:
    said_count = header.values.get("split.count", 1)
    said_index = header.values.get("split.no", 0)
    if said_count == count and said_index == index:
        return
    if said_count in {0, 1} and count == 1:
        return
    raise InputError(
        "GGU014",
        "the file is another part than its name says",
        place=header.file,
        found=f"split.no {said_index!r}, split.count {said_count!r}",
        expected=f"split.no {index}, split.count {count}",
        fix="give parts their names back: NAME-00001-of-00003.gguf",
    )


def _check_whole(headers: list[GgufHeader], tensors: tuple[GgufTensor, ...]) -> None:
    first = headers[0]
    declared = first.values.get("split.tensors.count", len(tensors))
    if len(headers) > 1 and declared != len(tensors):
        raise InputError(
            "GGU014",
            "the parts hold another number of tensors than the first one says",
            place=first.file,
            found=f"{len(tensors)} tensors",
            expected=f"{declared!r} (split.tensors.count)",
        )
    names = {tensor.name for tensor in tensors}
    if len(names) < len(tensors):
        raise InputError("GGU011", "a tensor is in several parts", place=first.file)
