"""Tables for people: aligned columns, folded at spaces where a terminal is too narrow for them."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.cli.lines import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Literal

__all__ = ["write_table"]

_FIGURES: Final = re.compile(r"[-+]?\d[\d.,]*( ?(%|[MBT]|Mi|GiB))?( {2}\d[\d.,]*)*")
"""A figure with or without its unit, or several side by side."""
_GAP: Final = 2


class _Column(NamedTuple):
    """What a column needs."""

    title: str
    figures: bool
    """Figures are aligned right and never folded."""
    widest: int
    narrowest: int
    """Characters below which a word would be cut."""


def write_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write `rows` under `header` to stdout.

    A terminal that is too narrow gets cells folded at spaces. Where that is not enough, and in a
    pipe, lines stay whole: a terminal wraps them, and a value is never cut.
    """
    rows = [[visible(cell) for cell in row] for row in rows]
    columns = [_column(title, [row[index] for row in rows]) for index, title in enumerate(header)]
    if sys.stdout.isatty():
        import shutil

        widths = _folded_widths(columns, shutil.get_terminal_size().columns)
        if widths:
            _write_folded(columns, rows, widths)
            return
    for line in _lines(columns, [header, *rows]):
        sys.stdout.write(line.rstrip() + "\n")


def _column(title: str, cells: Sequence[str]) -> _Column:
    filled = [cell for cell in cells if cell and cell != "-"]
    figures = bool(filled) and all(_FIGURES.fullmatch(cell) for cell in filled)
    words = title.split() if figures else " ".join([title, *cells]).split()
    whole = cells if figures else ()
    return _Column(
        title,
        figures,
        widest=max(map(len, (title, *cells))),
        narrowest=max(map(len, (*words, *whole))),
    )


def _lines(columns: Sequence[_Column], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    for line in lines:
        yield (" " * _GAP).join(
            cell.rjust(column.widest) if column.figures else cell.ljust(column.widest)
            for cell, column in zip(line, columns, strict=True)
        )


def _folded_widths(columns: Sequence[_Column], room: int) -> list[int]:
    """Return widths that fit into `room`; empty if that needs no folding, or more than folding."""
    widths = [column.widest for column in columns]
    excess = sum(widths) + _GAP * (len(widths) - 1) - room
    if excess <= 0 or excess > sum(column.widest - column.narrowest for column in columns):
        return []
    for _ in range(excess):
        spare = [
            (column.figures, widths[index], index)  # titles of figures fold first
            for index, column in enumerate(columns)
            if widths[index] > column.narrowest
        ]
        widths[max(spare)[-1]] -= 1
    return widths


def _write_folded(
    columns: Sequence[_Column], rows: Sequence[Sequence[str]], widths: Sequence[int]
) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
    for column, width in zip(columns, widths, strict=True):
        justify: Literal["left", "right"] = "right" if column.figures else "left"
        table.add_column(column.title, justify=justify, width=width)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # Text: names are data, never markup
    Console(width=sum(widths) + _GAP * len(widths)).print(table)
