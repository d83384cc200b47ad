"""Byte ranges and stores that hold their files in memory, and count what is read of them."""

from __future__ import annotations

from claimfit.errors import InputError

__all__ = ["MemoryFile", "MemoryStore"]


class MemoryFile:
    """A `ByteRange` over bytes. `size` may claim something else than is there, or nothing."""

    def __init__(self, content: bytes, name: str = "model.gguf", size: int | None = -1) -> None:
        self.content = content
        self.name = name
        self.size = len(content) if size == -1 else size
        self.reads: list[tuple[int, int]] = []

    def read(self, offset: int, length: int) -> bytes:
        assert offset >= 0
        assert length >= 0
        self.reads.append((offset, length))
        return self.content[offset : offset + length]


class MemoryStore:
    """A `FileStore` over a dict."""

    def __init__(self, files: dict[str, bytes], name: str = "folder") -> None:
        self.files = files
        self.name = name

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self.files))

    def open(self, name: str) -> MemoryFile:
        if name not in self.files:
            raise InputError("FIL001", "no such file", place=name)
        return MemoryFile(self.files[name], name)
