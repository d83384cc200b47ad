"""Tables for people: rich on a terminal, plain aligned columns in a pipe; the same words."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

from claimfit.cli.lines import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["write_table"]

_FIGURES: Final = re.compile(r"[-+]?\d[\d.,]*( ?(%|[MBT]|Mi|GiB))?( {2}\d[\d.,]*)*")
"""A figure with or without its unit, or several side by side."""


def write_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write `rows` under `header` to stdout.

    A column of figures is aligned right. On a terminal rich folds
    columns to its width; in a pipe nothing is cut or folded.
    """
    rows = [[visible(cell) for cell in row] for row in rows]
    right = [_is_numeric([row[index] for row in rows]) for index in range(len(header))]
    if sys.stdout.isatty():
        _write_rich(header, rows, right)
    else:
        _write_plain(header, rows, right)


def _is_numeric(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell and cell != "-"]
    return bool(filled) and all(_FIGURES.fullmatch(cell) for cell in filled)


def _write_plain(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]
) -> None:
    lines = [header, *rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(header))]
    for line in lines:
        cells = [
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(line, widths, right, strict=True)
        ]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def _write_rich(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title, flush in zip(header, right, strict=True):
        table.add_column(title, justify="right" if flush else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # Text: names are data, never markup
    Console().print(table)
