"""Where model files come from, as the readers see them: named ranges of bytes.

The readers of headers (`claimfit.model.gguf`, `claimfit.model.safetensors`) are pure: they ask an
object for bytes and never open a file or a connection. `claimfit.storage` has the objects for local
files, HTTP servers and the hub; a test passes bytes in memory.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["ByteRange", "FileStore"]


class ByteRange(Protocol):
    """One file of which any range can be read."""

    @property
    def name(self) -> str:
        """The file as a user would recognise it in an error."""
        ...

    @property
    def size(self) -> int | None:
        """Bytes of the whole file; None as long as its source has not told."""
        ...

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`; fewer only where the file ends.

        Raises:
            InputError: the file cannot be read.
            EnvironmentFailure: its source does not answer.
        """
        ...


class FileStore(Protocol):
    """The files of one model: a folder, a repository at one revision, or an address."""

    @property
    def name(self) -> str:
        """The store as a user would recognise it in an error."""
        ...

    def names(self) -> tuple[str, ...]:
        """Return the paths of all files, relative to the store, sorted."""
        ...

    def open(self, name: str) -> ByteRange:
        """Return the file `name`, one of `names()`.

        Raises:
            InputError: there is no such file.
        """
        ...
