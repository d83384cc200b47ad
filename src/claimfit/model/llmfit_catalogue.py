"""llmfit's catalogue as an index that answers one name without reading the other 15,854.

llmfit parses its whole catalogue on every start. Here the dump is written once as an index file (by
`claimfit.storage.llmfit_dump`) and a look-up reads the block of names and one record.

The file::

    claimfit llmfit index 1
    {"version": ..., "program": ..., "models": N, "names": [bytes, crc32], "claims": ..., ...}
    names    "\n" + lower-case names, one a line, in llmfit's order
    claims   "\n" + the object name that llmfit derives from each, in the same order
    rows     N times: offset, length and crc32 of a record, 4 bytes each, little-endian
    records  N JSON arrays: the fields of `LlmfitModel` in order

Names are matched as llmfit matches them: case does not matter, the whole name first, then a part of
it that only one model has.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final
from zlib import crc32

from claimfit.errors import InputError, ModelError
from claimfit.model.llmfit_entry import WHITE_SPACE, LlmfitModel, claim_name, slug
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from claimfit.model.byte_range import ByteRange

__all__ = ["Index", "IndexKey", "LlmfitCatalogue", "index_bytes"]

_MAGIC: Final = b"claimfit llmfit index 1\n"
_HEADER_BYTES: Final = 512
_ROW_BYTES: Final = 12
_CANDIDATES: Final = 10
"""Names that llmfit lists when several match."""


class IndexKey(NamedTuple):
    """What an index was made of; another key means that it is out of date."""

    version: str
    """Release of the `llmfit` package."""
    program: str
    """Size and modification time of its program."""


def index_bytes(models: Sequence[LlmfitModel], key: IndexKey) -> bytes:
    """Return the index file of `models`.

    Raises `InputError` LCT003 for a name that cannot stand on a line of its own.
    """
    for model in models:
        if not model.name or any(char < " " for char in model.name):
            raise InputError(
                "LCT003",
                "a model name that cannot be indexed",
                found=model.name,
                expected="at least one character, none of them a control character",
            )
    names = _lines(model.name.lower() for model in models)
    claims = _lines(claim_name(model.name) for model in models)
    rows = bytearray()
    records = bytearray()
    for model in models:
        record = json.dumps(list(model), ensure_ascii=False, separators=(",", ":")).encode()
        for number in (len(records), len(record), crc32(record)):
            rows += number.to_bytes(4, "little")
        records += record
    header = {
        "version": key.version,
        "program": key.program,
        "models": len(models),
        "names": [len(names), crc32(names)],
        "claims": [len(claims), crc32(claims)],
        "records": len(records),
    }
    first = _MAGIC + json.dumps(header).encode() + b"\n"
    return first.ljust(_HEADER_BYTES) + names + claims + bytes(rows) + bytes(records)


def _lines(names: Iterator[str]) -> bytes:
    return ("\n" + "".join(f"{name}\n" for name in names)).encode()


class Index:
    """An index file, of which a look-up reads only what it needs.

    Every method raises `InputError` LCT004 where the file is not what `index_bytes` wrote: cut
    short, changed, or of another layout. The caller then makes it anew.
    """

    __slots__ = ("_blocks", "_claims", "_file", "_names", "_records", "_rows", "key", "models")

    def __init__(self, file: ByteRange) -> None:
        self._file = file
        header = self._header()
        self.key = IndexKey(str(header.get("version")), str(header.get("program")))
        self.models = self._count(header.get("models"))
        self._blocks: dict[str, bytes] = {}
        start = _HEADER_BYTES
        self._names = self._block(start, header.get("names"))
        self._claims = self._block(start + self._names[1], header.get("claims"))
        self._rows = self._claims[0] + self._claims[1]
        self._records = self._rows + self.models * _ROW_BYTES
        size = self._records + self._count(header.get("records"))
        if file.size is not None and file.size != size:
            raise self._broken(file.size, str(size) + " bytes")

    def _header(self) -> dict[str, object]:
        first = self._file.read(0, _HEADER_BYTES)
        if len(first) != _HEADER_BYTES or not first.startswith(_MAGIC):
            raise self._broken(first[: len(_MAGIC)], _MAGIC.decode().strip())
        try:
            header = json.loads(first[len(_MAGIC) :])
        except ValueError as error:
            raise self._broken(str(error), "a header in JSON") from error
        if not isinstance(header, dict):
            raise self._broken(header, "a header in JSON")
        return header

    def _count(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
            raise self._broken(value, "a count")
        return value

    def _block(self, start: int, described: object) -> tuple[int, int, int]:
        if not isinstance(described, list) or len(described) != 2:
            raise self._broken(described, "length and checksum of a block")
        return start, self._count(described[0]), self._count(described[1])

    def _broken(self, found: object, expected: str) -> InputError:
        return InputError(
            "LCT004",
            "not an index of llmfit's catalogue",
            place=self._file.name,
            found=found,
            expected=expected,
            fix="delete it; it is made anew",
        )

    def _lines(self, block: tuple[int, int, int]) -> bytes:
        start, length, checksum = block
        data = self._file.read(start, length)
        if len(data) != length or crc32(data) != checksum or data.count(b"\n") != self.models + 1:
            raise self._broken("another checksum", "the checksum in its header")
        return data

    def names(self) -> list[str]:
        """Return all names in lower case, in llmfit's order."""
        return self._lines(self._names).decode(errors="replace").split("\n")[1:-1]

    def positions_of(self, name: str) -> Iterator[int]:
        """Yield the positions of the models called `name`, in any case."""
        return _found(self._lines(self._names), f"\n{name.lower()}\n")

    def positions_with(self, part: str) -> Iterator[int]:
        """Yield the positions of the models whose name contains `part`, in any case."""
        return _found(self._lines(self._names), part.lower())

    def positions_ending(self, ending: str) -> Iterator[int]:
        """Yield the positions of the models whose name ends in `ending`, in any case."""
        return _found(self._lines(self._names), f"{ending.lower()}\n")

    def positions_claiming(self, object_name: str) -> Iterator[int]:
        """Yield the positions of the models from whose names llmfit makes `object_name`."""
        return _found(self._lines(self._claims), f"\n{object_name}\n")

    def model(self, position: int) -> LlmfitModel:
        """Return the model at `position`, below `models`."""
        row = self._file.read(self._rows + position * _ROW_BYTES, _ROW_BYTES)
        offset, length, checksum = (
            int.from_bytes(row[at : at + 4], "little") for at in range(0, _ROW_BYTES, 4)
        )
        record = self._file.read(self._records + offset, length)
        if len(record) != length or crc32(record) != checksum:
            raise self._broken("another checksum", "the checksum in its row")
        try:
            return LlmfitModel(*json.loads(record))
        except (TypeError, ValueError) as error:  # written by another release of claimfit
            raise self._broken(str(error), "the fields of a model") from error


def _found(lines: bytes, wanted: str) -> Iterator[int]:
    """Yield the number of each of `lines` that has `wanted`; a line break is where a line ends.

    `lines` begins and ends with a line break, so line 0 follows the first one.
    """
    text = wanted.encode(errors="replace")
    if b"\n" in text.strip(b"\n"):  # no name has one, and it would match across names
        return
    breaks_before_line_0 = 0 if text.startswith(b"\n") else 1
    breaks = counted = 0
    at = lines.find(text)
    while at >= 0:
        breaks += lines.count(b"\n", counted, at)
        yield breaks - breaks_before_line_0
        counted = at
        at = lines.find(text, lines.find(b"\n", at + 1))  # the rest of this line may have it again


class LlmfitCatalogue:
    """llmfit's models as one of its commands sees them: the package's, the user's, the updates.

    An entry of the user's hides those of the package with the same `slug`; one that ``llmfit
    update`` fetched is seen only when neither has its slug.
    """

    __slots__ = ("_added", "_hidden", "_index")

    def __init__(
        self,
        index: Index | None,
        custom: Sequence[LlmfitModel] = (),
        updates: Sequence[LlmfitModel] = (),
    ) -> None:
        self._index = index
        slugs = {slug(model.name) for model in custom}
        packaged: dict[int, str] = {}
        if index is not None and (custom or updates):
            packaged = {position: slug(name) for position, name in enumerate(index.names())}
        self._hidden = {position for position, known in packaged.items() if known in slugs}
        slugs.update(packaged.values())
        self._added = [*custom, *(model for model in updates if slug(model.name) not in slugs)]

    def select(self, selector: str) -> LlmfitModel:
        """Return the model that `selector` means to llmfit.

        Raises `ModelError` LLM010 (empty), LLM011 (no model has it), LLM012 (several have it).
        """
        wanted = selector.strip(WHITE_SPACE).lower()
        if not wanted:
            raise ModelError("LLM010", "Model selector cannot be empty")
        whole = self._matches(wanted, whole=True)
        if len(whole) == 1:
            return whole[0]
        part = self._matches(wanted, whole=False)
        if len(part) == 1:
            return part[0]
        shown = selector.strip(WHITE_SPACE)
        if not part:
            raise ModelError("LLM011", f"No model found matching '{shown}'.")
        raise ModelError(
            "LLM012",
            f"Model selector '{shown}' is ambiguous",
            candidates=tuple(model.name for model in part[:_CANDIDATES]),
        )

    def _matches(self, wanted: str, *, whole: bool) -> list[LlmfitModel]:
        """Return the models that match, at most one more than are ever listed."""
        found: list[LlmfitModel] = []
        if self._index is not None:
            look = self._index.positions_of if whole else self._index.positions_with
            for position in look(wanted):
                if position not in self._hidden:
                    found.append(self._index.model(position))
                if len(found) > _CANDIDATES:
                    return found
        for model in self._added:
            name = model.name.lower()
            if name == wanted if whole else wanted in name:
                found.append(model)
        return found

    def sharing_claim_name(self, model: LlmfitModel) -> tuple[str, ...]:
        """Return the names of the other models for which llmfit makes the same object name."""
        object_name = claim_name(model.name)
        others: list[str] = []
        if self._index is not None:
            others += (
                self._index.model(position).name
                for position in self._index.positions_claiming(object_name)
                if position not in self._hidden
            )
        others += (added.name for added in self._added if claim_name(added.name) == object_name)
        return tuple(name for name in others if name != model.name)
