"""Tables: what a pipe gets, and what a narrow terminal makes of the same cells."""

from __future__ import annotations

import re
import sys

import pytest

from claimfit.cli.table import write_table

HEADER = ("node", "devices", "tok/s p10 p50 p90", "longest context")
ROWS = [
    ("gpu-1", "8 x NVIDIA H200 (143771Mi)", "117  167  200", "40,960"),
    ("gpu-2", "2 x NVIDIA L40S (46068Mi)", "27  39  46", "-"),
]
PLAIN = """\
node   devices                     tok/s p10 p50 p90  longest context
gpu-1  8 x NVIDIA H200 (143771Mi)      117  167  200           40,960
gpu-2  2 x NVIDIA L40S (46068Mi)          27  39  46                -
"""


def shown(
    columns: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """Return the table on a terminal of `columns`, or in a pipe; styles taken out."""
    if columns is not None:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        monkeypatch.setenv("COLUMNS", str(columns))
    write_table(HEADER, ROWS)
    return re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out)


@pytest.mark.parametrize("columns", [None, 69, 200, 40])
def test_lines_stay_whole(
    columns: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a pipe, where there is room (the lines have 69), and where folding would not help."""
    assert shown(columns, monkeypatch, capsys) == PLAIN


@pytest.mark.parametrize("columns", range(41, 69))
def test_narrow_terminal_folds_at_spaces(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No line is longer than the terminal and no word or row of figures is cut."""
    out = shown(columns, monkeypatch, capsys)

    assert max(len(line.rstrip()) for line in out.splitlines()) <= columns
    for value in ("(143771Mi)", "(46068Mi)", "117  167  200", "27  39  46", "40,960", "context"):
        assert value in out
