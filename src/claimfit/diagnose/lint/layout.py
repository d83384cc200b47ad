"""Where the parts of a YAML or JSON text begin and end, so that a fix can change just them.

The reader keeps where things begin. Ends are found by a second look at the parse events, made only
when a finding has a fix or points into a text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from claimfit.manifests.reader import Mark

__all__ = ["Layout", "Span"]

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


class Span(NamedTuple):
    """A value as it is written.

    Attributes:
        start: offset of its first character.
        stop: offset after its last one; of a block collection, after its last scalar.
        style: ``'`` or ``"`` quoted, ``|`` or ``>`` block, empty for plain; ``{`` for a collection
            in flow style, ``-`` for one in block style.
    """

    start: int
    stop: int
    style: str


class Layout:
    """The values of one text, by where they start."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = [0]
        at = text.find("\n")
        while at >= 0:
            self._lines.append(at + 1)
            at = text.find("\n", at + 1)
        self._spans: dict[int, Span] | None = None

    def offset(self, mark: Mark) -> int:
        """Return the offset of `mark`."""
        return self._lines[min(mark.line, len(self._lines)) - 1] + mark.column - 1

    def position(self, offset: int) -> tuple[int, int]:
        """Return (line, column), both from 1, of `offset`."""
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def line_starts(self, first: int, last: int) -> list[int]:
        """Return where the lines that begin after `first` and not after `last` start."""
        return self._lines[bisect_right(self._lines, first) : bisect_right(self._lines, last)]

    def span(self, mark: Mark) -> Span | None:
        """Return the value that starts at `mark`; None for an alias or an empty value."""
        if self._spans is None:
            self._spans = _spans(self)
        return self._spans.get(self.offset(mark))


def _spans(layout: Layout) -> dict[int, Span]:
    """Return the scalars and collections of a text, the outer one where two start together.

    Only a key and the block mapping that it begins start together, and keys are not asked for.
    """
    import yaml

    spans: dict[int, Span] = {}
    open_collections: list[tuple[int, bool]] = []
    last_scalar = 0
    # YAML has no halves of surrogate pairs, which JSON has: an escape as wide takes their place.
    text = _SURROGATE.sub(r"\\u0041", layout.text)
    for event in yaml.parse(text, Loader=getattr(yaml, "CLoader", yaml.Loader)):
        if isinstance(event, yaml.ScalarEvent):
            start, stop = _offset(layout, event.start_mark), _offset(layout, event.end_mark)
            style = event.style or ""
            if style in {"|", ">"}:
                stop = len(layout.text[:stop].rstrip())
            last_scalar = max(stop, start)
            if start not in spans:
                spans[start] = Span(start, stop, style)
        elif isinstance(event, yaml.CollectionStartEvent):
            start = _offset(layout, event.start_mark)
            open_collections.append((start, bool(event.flow_style)))
            spans[start] = Span(start, start, "{" if event.flow_style else "-")
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            start, flow = open_collections.pop()
            if flow:
                last_scalar = _offset(layout, event.end_mark)
            spans[start] = Span(start, last_scalar, "{" if flow else "-")
    return spans


def _offset(layout: Layout, mark: object) -> int:
    line, column = getattr(mark, "line", 0), getattr(mark, "column", 0)
    starts = layout._lines  # noqa: SLF001  # same module
    return starts[min(line, len(starts) - 1)] + column
