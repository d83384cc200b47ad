"""Keeps what was read of remote files, so that the same model costs no network again.

One file per remote file, named by a digest of its key; the key holds what makes the content final:
a commit hash, or an address and its validator. An entry is one line of JSON (what it holds, and a
digest over it) followed by the bytes. It is written beside and renamed, so that a reader never sees
half of one; whatever is wrong with an entry, it is read anew and replaced.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from typing import TYPE_CHECKING, Final

from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.storage.remote_file import RemoteFile

__all__ = ["Cache", "CachedFile", "Entry"]

_VERSION: Final = 1
_LARGEST_ENTRY_BYTES: Final = 64 << 20


class Entry(NamedTuple):
    """What is known of one remote file."""

    size: int | None
    etag: str
    segments: tuple[tuple[int, bytes], ...]
    """(offset, bytes) as they were read."""


class Cache:
    """Entries in a folder; with an empty folder name nothing is kept."""

    def __init__(self, folder: str) -> None:
        self._folder = f"{folder}/remote" if folder else ""

    def load(self, key: str) -> Entry | None:
        """Return the entry of `key`; None when there is none, or none that can be trusted."""
        if not self._folder:
            return None
        try:
            with open(self._path(key), "rb") as file:  # noqa: PTH123  # pathlib costs start-up
                raw = file.read(_LARGEST_ENTRY_BYTES + 1)
        except OSError:
            return None
        try:
            return _decoded(raw, key)
        except (ValueError, TypeError, KeyError, RecursionError):
            return None  # corrupt or of another version: as good as absent, and replaced later

    def store(self, key: str, entry: Entry) -> None:
        """Keep `entry`. A cache that cannot be written to is no failure: it is only slower."""
        if not self._folder or sum(len(part) for _, part in entry.segments) > _LARGEST_ENTRY_BYTES:
            return
        path = self._path(key)
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)  # noqa: PTH103  # as above
            descriptor, beside = tempfile.mkstemp(dir=self._folder, prefix=".new-")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(_encoded(key, entry))
                os.replace(beside, path)  # noqa: PTH105  # as above
            except BaseException:
                os.unlink(beside)  # noqa: PTH108  # as above
                raise
        except OSError:
            return

    def _path(self, key: str) -> str:
        return f"{self._folder}/{hashlib.sha256(key.encode()).hexdigest()}"


def _encoded(key: str, entry: Entry) -> bytes:
    body = b"".join(part for _, part in entry.segments)
    head = {
        "version": _VERSION,
        "key": key,
        "size": entry.size,
        "etag": entry.etag,
        "segments": [[offset, len(part)] for offset, part in entry.segments],
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    return json.dumps(head).encode() + b"\n" + body


def _decoded(raw: bytes, key: str) -> Entry | None:
    line, newline, body = raw.partition(b"\n")
    head = json.loads(line)
    whole = (
        newline
        and head["version"] == _VERSION
        and head["key"] == key
        and head["sha256"] == hashlib.sha256(body).hexdigest()
    )
    if not whole:
        return None
    segments, at = [], 0
    for offset, length in head["segments"]:
        segments.append((int(offset), body[at : at + int(length)]))
        at += int(length)
    size = head["size"]
    return Entry(None if size is None else int(size), str(head["etag"]), tuple(segments))


class CachedFile:
    """A remote file of which earlier reads are answered from the cache.

    The file itself is opened only when something is read that is not there. `keep` writes back what
    was read in the meantime.
    """

    def __init__(
        self,
        cache: Cache,
        key: str,
        name: str,
        source: Callable[[], RemoteFile],
        *,
        unchanged: Callable[[str], bool] | None = None,
    ) -> None:
        """Look the file up.

        Args:
            cache: where entries are.
            key: what the entry is kept under.
            name: of the file, for errors.
            source: opens the file itself.
            unchanged: asks whether the file still has a validator; None when `key` already says
                which content it is.
        """
        self._cache = cache
        self._key = key
        self._open = source
        self._source: RemoteFile | None = None
        self._segments: list[tuple[int, bytes]] = []
        self._changed = False
        self._validated = unchanged is not None
        self.name = name
        self.size: int | None = None
        entry = cache.load(key)
        if entry is None or (unchanged is not None and not (entry.etag and unchanged(entry.etag))):
            return
        self.size = entry.size
        self._segments = list(entry.segments)

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, fewer where the file ends."""
        if self.size is not None:
            length = max(0, min(length, self.size - offset))
        for start, part in self._segments:
            at = offset - start
            if at >= 0 and at + length <= len(part):
                return part[at : at + length]
        if self._source is None:
            self._source = self._open()
        body = self._source.read(offset, length)
        if self._source.size is not None:
            self.size = self._source.size
        self._segments.append((offset, body))
        self._changed = True
        return body

    def keep(self) -> None:
        """Write back what was read, if anything was and it can be recognised later."""
        etag = "" if self._source is None else self._source.etag
        if self._changed and (etag or not self._validated):
            self._cache.store(self._key, Entry(self.size, etag, tuple(self._segments)))
        self._changed = False
