"""Walks forward over the header of a GGUF file and reads only what it must.

A window of the file is held at a time; it starts small and doubles while the header goes on, so
that a short header costs one small read and a vocabulary of megabytes costs few requests. Text that
nobody needs is stepped over: inside the window without decoding it, beyond it without reading it.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, Literal, NoReturn

from claimfit.errors import InputError

if TYPE_CHECKING:
    from claimfit.model.byte_range import ByteRange

__all__ = ["HEADER_LIMIT_BYTES", "Cursor"]

HEADER_LIMIT_BYTES: Final = 64 << 20
"""No header is longer: a vocabulary of 262,144 tokens with merges and scores takes 12 MiB."""
_FIRST_WINDOW_BYTES: Final = 64 << 10
_LARGEST_WINDOW_BYTES: Final = 2 << 20


class Cursor:
    """A position in a file, with reads that move it.

    Every failure is an `InputError`: GGU003 when the file ends too early, GGU004 when a count or
    the header itself exceeds what a header can hold, GGU005 when text is too long or not UTF-8.
    """

    def __init__(self, source: ByteRange, byte_order: Literal["<", ">"] = "<") -> None:
        self.source = source
        self.position = 0
        self._window = b""
        self._window_start = 0
        self._next_window = _FIRST_WINDOW_BYTES
        self.set_byte_order(byte_order)

    def set_byte_order(self, byte_order: Literal["<", ">"]) -> None:
        """Read numbers as little (``<``) or big (``>``) endian from here on."""
        self.byte_order = byte_order
        self._u32 = Struct(f"{byte_order}I")
        self._u64 = Struct(f"{byte_order}Q")

    def fail(
        self, code: str, message: str, *, found: str = "", expected: str = "", fix: str = ""
    ) -> NoReturn:
        """Raise `InputError` `code` at this position."""
        place = f"{self.source.name} at byte {self.position}"
        raise InputError(code, message, place=place, found=found, expected=expected, fix=fix)

    def u32(self, what: str) -> int:
        """Return the next 4 bytes as a number."""
        at = self._hold(4, what)
        value: int = self._u32.unpack_from(self._window, at)[0]
        self.position += 4
        return value

    def u64(self, what: str) -> int:
        """Return the next 8 bytes as a number."""
        at = self._hold(8, what)
        value: int = self._u64.unpack_from(self._window, at)[0]
        self.position += 8
        return value

    def count(self, what: str, *, least_bytes: int, most: int) -> int:
        """Return the next 8 bytes as a count of things that take `least_bytes` each or more."""
        value = self.u64(what)
        room = self._room() // least_bytes
        if value > min(most, room):
            self.fail(
                "GGU004",
                f"more {what} than the file can hold",
                found=str(value),
                expected=f"at most {min(most, room)}",
            )
        return value

    def take(self, length: int, what: str) -> bytes:
        """Return the next `length` bytes."""
        if length > self._room():
            self._truncated(what)
        at = self._hold(length, what)
        self.position += length
        return self._window[at : at + length]

    def skip(self, length: int, what: str) -> None:
        """Step over `length` bytes; those beyond the window are not read."""
        if length > self._room():
            self._truncated(what)
        self.position += length

    def text(self, longest: int, what: str) -> str:
        """Return the next string, which has at most `longest` bytes."""
        length = self.u64(what)
        if length > longest:
            self.fail(
                "GGU005",
                f"{what} is too long",
                found=f"{length} bytes",
                expected=f"at most {longest}",
            )
        try:
            return self.take(length, what).decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                "GGU005",
                f"{what} is not UTF-8",
                place=f"{self.source.name} at byte {self.position - length}",
                found=str(error.reason),
            ) from error

    def skip_texts(self, count: int, what: str) -> None:
        """Step over `count` strings.

        The hot loop of this reader: a vocabulary has hundreds of thousands of them.
        """
        unpack = self._u64.unpack_from
        while count:
            at = self._hold(8, what)
            window = self._window
            last = len(window) - 8
            while count and at <= last:
                at += 8 + unpack(window, at)[0]
                count -= 1
            target = self._window_start + at
            self.skip(target - self.position, what)

    def _room(self) -> int:
        """Return how many bytes can still follow: to the end of the file, or of any header."""
        limit = HEADER_LIMIT_BYTES
        if self.source.size is not None:
            limit = min(limit, self.source.size)
        return max(0, limit - self.position)

    def _hold(self, length: int, what: str) -> int:
        """Make the window hold the next `length` bytes; return where in it they start."""
        at = self.position - self._window_start
        if at >= 0 and at + length <= len(self._window):
            return at
        if length > self._room():
            self._truncated(what)
        wanted = max(length, self._next_window)
        self._next_window = min(self._next_window * 2, _LARGEST_WINDOW_BYTES)
        self._window = b""  # never two windows in memory
        self._window = self.source.read(self.position, wanted)
        self._window_start = self.position
        if len(self._window) < length:
            self._truncated(what)
        return 0

    def _truncated(self, what: str) -> NoReturn:
        size = self.source.size
        if size is None or size > HEADER_LIMIT_BYTES:
            self.fail(
                "GGU004",
                f"{what} runs beyond the longest header",
                expected=f"a header within {HEADER_LIMIT_BYTES >> 20} MiB",
            )
        self.fail(
            "GGU003",
            f"the file ends inside {what}",
            found=f"{size} bytes",
            fix="download the file again; its size is in the repository's file list",
        )
