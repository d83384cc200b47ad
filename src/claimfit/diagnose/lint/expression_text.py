"""Where the characters of an expression stand in the file that quotes, folds or indents it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from claimfit.diagnose.lint.edits import Edit

if TYPE_CHECKING:
    from claimfit.diagnose.lint.layout import Layout, Span
    from claimfit.diagnose.lint.manifest import Manifest
    from claimfit.diagnose.lint.paths import Path

__all__ = ["ExpressionText"]

_ESCAPES: Final = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
_HEXADECIMAL: Final = {"x": 2, "u": 4, "U": 8}
_BLANK: Final = " \t\r\n"


class ExpressionText:
    """An expression as a scalar of a manifest.

    Places are looked up when they are asked for: a selector without findings needs none.

    Attributes:
        text: what the expression says.
    """

    def __init__(self, manifest: Manifest, path: Path, text: str) -> None:
        self.text = text
        self._manifest = manifest
        self._path = path

    @property
    def position(self) -> tuple[int, int]:
        """(line, column) of the scalar."""
        mark = self._manifest.mark(self._path)
        return mark.line, mark.column

    @cached_property
    def _layout(self) -> Layout:
        return self._manifest.layout

    @cached_property
    def _span(self) -> Span | None:
        return self._layout.span(self._manifest.mark(self._path))

    @cached_property
    def _offsets(self) -> list[int] | None:
        return _offsets(self._layout.text, self._span, self.text) if self._span else None

    def place(self, offset: int) -> tuple[int, int]:
        """Return (line, column) of the character at `offset`; of the scalar if that is unknown."""
        if self._offsets is None or not 0 <= offset < len(self._offsets):
            return self.position
        return self._layout.position(self._offsets[offset])

    def edit(self, start: int, stop: int, text: str) -> tuple[Edit, ...]:
        """Return the edit that writes `text` in the place of `start` to `stop`.

        Nothing where the file does not hold these characters as they are, or could not hold `text`.
        """
        if self._offsets is None or self._span is None or stop > len(self.text):
            return ()
        first = self._offsets[start]
        last = self._offsets[stop - 1] + 1 if stop > start else first
        written = self._layout.text[first:last]
        style = self._span.style
        if style == "'":
            quoted = text.replace("'", "''")
            same = written.replace("''", "'") == self.text[start:stop]
        elif style == '"':
            quoted = text.replace("\\", "\\\\").replace('"', '\\"')
            same = written == self.text[start:stop].replace("\\", "\\\\").replace('"', '\\"')
            # The quote of an escaped pair is what the map points at: take its backslash along.
            if start < len(self.text) and self._layout.text[first - 1 : first] == "\\":
                return ()
        elif not style:
            return self._plain_edit(start, stop, text)
        else:
            quoted, same = text, written == self.text[start:stop]
        return (Edit(first, last, quoted),) if same else ()

    def _plain_edit(self, start: int, stop: int, text: str) -> tuple[Edit, ...]:
        """Return the edit of a scalar without quotes, which may need some afterwards."""
        assert self._span is not None  # noqa: S101  # asked by `edit` only
        assert self._offsets is not None  # noqa: S101
        whole = self.text[:start] + text + self.text[stop:]
        if self._layout.text[self._span.start : self._span.stop] != self.text:
            plain = start > 0 and not _needs_quotes(text)
            first, last = self._offsets[start], self._offsets[max(stop - 1, start)]
            last = last + 1 if stop > start else first
            same = self._layout.text[first:last] == self.text[start:stop]
            return (Edit(first, last, text),) if plain and same else ()  # folded over lines
        if not _needs_quotes(whole):
            return (Edit(self._span.start + start, self._span.start + stop, text),)
        if '"' in whole or "\\" in whole:
            quoted = "'" + whole.replace("'", "''") + "'"
        else:
            quoted = f'"{whole}"'
        return (Edit(self._span.start, self._span.stop, quoted),)


def _needs_quotes(text: str) -> bool:
    """Whether YAML would read `text` without quotes as something else."""
    return text[:1] in "\"'!&*%@`[]{},#|>?:-" or ": " in text or " #" in text or text[-1:] == ":"


def _offsets(raw: str, span: Span, text: str) -> list[int] | None:
    """Return the offset in `raw` of each character of `text`, None when they cannot be matched."""
    at = span.start
    if span.style in {"|", ">"}:
        at = raw.find("\n", at) + 1  # after the header
    elif span.style:
        at += 1
    found: list[int] = []
    for char in text:
        at = _match(raw, at, span, char, found)
        if at < 0:
            return None
    return found


def _match(raw: str, at: int, span: Span, char: str, found: list[int]) -> int:
    """Note where `char` stands from `at` on, and return where to go on; -1 when it is not there."""
    if span.style == '"' and raw[at : at + 1] == "\\" and raw[at + 1 : at + 2] not in "\r\n":
        found.append(at)
        width = _HEXADECIMAL.get(raw[at + 1], 0)
        if width:
            pair = width == 4 and ord(char) > 0xFFFF  # JSON: two halves, an escape each
            return at + (12 if pair else 2 + width)
        return at + 2 if _ESCAPES.get(raw[at + 1]) == char else -1
    if char in _BLANK:
        if raw[at : at + 1] == char and char != "\n" and not _ends_line(raw, at):
            found.append(at)
            return at + 1
        # A line break that is folded into a space, with the indentation after it.
        found.append(at)
        if char == "\n" and span.style == "|":
            return raw.find("\n", at) + 1 or -1
        end = at
        while end < span.stop and raw[end] in _BLANK:
            end += 1
        return end if end > at else -1
    while at < span.stop and raw[at] in _BLANK:
        at += 1  # indentation
    if span.style == "'" and raw.startswith("''", at) and char == "'":
        found.append(at)
        return at + 2
    if raw[at : at + 1] != char:
        return -1
    found.append(at)
    return at + 1


def _ends_line(raw: str, at: int) -> bool:
    end = at
    while end < len(raw) and raw[end] in " \t":
        end += 1
    return end >= len(raw) or raw[end] in "\r\n"
