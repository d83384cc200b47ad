"""Lines for people. Names in them come from files, clusters and repositories and are only data.

A terminal obeys what it is sent: an escape sequence in a product name could recolour the answer or
move the cursor over it, a line break could fake a line. Both are printed as what they are.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from claimfit.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["visible", "write_line", "write_notes", "write_warnings"]

_LONGEST: Final = 2000


def visible(text: str) -> str:
    """Return `text` as one line in which control characters are spelled out."""
    return text if text.isprintable() else printable(text, _LONGEST)


def write_line(text: str = "") -> None:
    """Write one line of the result."""
    sys.stdout.write(visible(text) + "\n")


def write_notes(notes: Iterable[str]) -> None:
    """Write to stderr what was noticed about the input."""
    for note in notes:
        sys.stderr.write(f"note: {visible(note)}\n")


def write_warnings(warnings: Iterable[str]) -> None:
    """Write to stderr what may make the result worth less."""
    for warning in warnings:
        sys.stderr.write(f"warning: {visible(warning)}\n")
