"""The text of an expression, positions in it, and messages that point at it.

Positions are 0-based offsets in code points, as in cel-go; lines end at ``\\n`` only. A message is
printed with its line and a caret below, which is what the API server shows to the user.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

__all__ = ["NOWHERE", "Issue", "Location", "Source", "display"]

_LONGEST_SNIPPET_BYTES = 16384  # cel-go common/error.go: longer lines are not repeated
_MOST_ISSUES = 100  # cel-go common/errors.go: what is beyond is only counted


class Location(NamedTuple):
    """Where something stands: 1-based line, 0-based column in code points."""

    line: int
    column: int


NOWHERE = Location(-1, -1)
"""The place of a problem with the expression as a whole."""


class Issue(NamedTuple):
    """One problem of an expression."""

    location: Location
    message: str


class Source:
    """An expression's text with its lines."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0]
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)

    def location(self, offset: int) -> Location:
        """Return line and column of `offset`."""
        line = bisect_right(self._starts, offset)
        return Location(line, offset - self._starts[line - 1])

    def offset(self, location: Location) -> int:
        """Return the offset of `location`."""
        return self._starts[location.line - 1] + location.column

    def line(self, number: int) -> str | None:
        """Return the text of line `number`, or None when there is no such line."""
        if not 1 <= number <= len(self._starts) or not self.text:
            return None
        start = self._starts[number - 1]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[start:end]


def display(issues: list[Issue], source: Source) -> str:
    """Return `issues` in order of place, each with its source line and a caret."""
    ordered = sorted(issues[:_MOST_ISSUES], key=lambda issue: issue.location)
    blocks = [_block(issue, source) for issue in ordered]
    if len(issues) > _MOST_ISSUES:
        blocks.append(f"{len(issues) - _MOST_ISSUES} more errors were truncated")
    return "\n".join(blocks)


def _block(issue: Issue, source: Source) -> str:
    line, column = issue.location
    head = f"ERROR: <input>:{line}:{column + 1}: {issue.message}"
    snippet = source.line(line)
    if snippet is None or len(snippet.encode(errors="replace")) > _LONGEST_SNIPPET_BYTES:
        return head
    snippet = snippet.replace("\t", " ")
    before = "".join("." if ord(char) < 0x80 else "\uff0e" for char in snippet[: max(column, 0)])
    wide = 0 <= column < len(snippet) and ord(snippet[column]) >= 0x80
    return f"{head}\n | {snippet}\n | {before}{chr(0xFF3E) if wide else '^'}"
