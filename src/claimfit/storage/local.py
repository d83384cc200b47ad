"""Files and folders of this machine, as `ByteRange` and `FileStore`."""

from __future__ import annotations

import os
import stat
from typing import Final

from claimfit.errors import InputError

__all__ = ["LocalFile", "LocalFolder"]

_DEEPEST: Final = 2  # repositories keep split GGUF files one folder down, by quantization
_MOST_FILES: Final = 10_000


class LocalFile:
    """A regular file, read at offsets through one descriptor that is closed with the object."""

    def __init__(self, path: str) -> None:
        """Open `path`.

        Raises:
            InputError: FIL001 when it does not exist, FIL002 when it cannot be read, FIL003 when it
                is no regular file.
        """
        self.name = path
        self._descriptor = -1
        try:
            # O_NONBLOCK: opening a named pipe must not wait for its writer.
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            status = os.fstat(self._descriptor)
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from error
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise InputError(
                "FIL003", "not a regular file", place=path, expected="a file, or a folder of files"
            )
        self.size: int | None = status.st_size

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, fewer at the end of the file."""
        parts = []
        while length > 0:
            try:
                part = os.pread(self._descriptor, length, offset)
            except (OSError, OverflowError) as error:
                raise _unreadable(self.name, error) from error
            if not part:
                break
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Close the file; reading it afterwards fails."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.close()


class LocalFolder:
    """A folder and what is directly in it or one folder down; hidden files are left out."""

    def __init__(self, path: str) -> None:
        self.name = path
        self._names: tuple[str, ...] | None = None

    def names(self) -> tuple[str, ...]:
        """Return the paths of the files, relative to the folder, sorted.

        Raises:
            InputError: FIL001 when there is no such folder, FIL002 when it cannot be read or holds
                more files than any model.
        """
        if self._names is None:
            found: list[str] = []
            _collect(self.name, "", 1, found)
            self._names = tuple(sorted(found))
        return self._names

    def open(self, name: str) -> LocalFile:
        """Return the file `name`."""
        return LocalFile(os.path.join(self.name, name))  # noqa: PTH118  # pathlib costs start-up


def _collect(root: str, inside: str, depth: int, found: list[str]) -> None:
    path = os.path.join(root, inside)  # noqa: PTH118  # as above
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                name = f"{inside}/{entry.name}" if inside else entry.name
                if entry.is_file():
                    found.append(name)
                elif depth < _DEEPEST and entry.is_dir(follow_symlinks=False):
                    _collect(root, name, depth + 1, found)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if len(found) > _MOST_FILES:
        raise InputError(
            "FIL002",
            "the folder holds more files than a model",
            place=root,
            expected=f"at most {_MOST_FILES}",
            fix="name the model's own folder",
        )


def _unreadable(path: str, error: Exception) -> InputError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return InputError("FIL001", "no such file or folder", place=path)
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError("FIL002", "cannot be read", place=path, found=reason)
