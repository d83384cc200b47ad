"""Argument parsing shared by the verbs: argparse whose errors are ours, and checked numbers."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Final, NoReturn

from claimfit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Parser", "add_output", "count", "positive_number", "share"]

_LARGEST_COUNT: Final = 2**53 - 1  # the largest integer that every JSON reader keeps exact


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help of a fixed width: argparse makes a formatter for every flag, and each asks for one."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises `UsageError` instead of printing and exiting."""

    def __init__(self, *, prog: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog or None,
            allow_abbrev=False,
            formatter_class=_HelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` CLI001 with argparse's message."""
        raise UsageError("CLI001", message, fix=f"see {self.prog} --help")

    def read(self, argv: Sequence[str]) -> argparse.Namespace:
        """Return the parsed `argv`; raises `UsageError` CLI001, and CLI007 for an empty value.

        An empty value is mostly a shell variable that is not set: taken for the default it would
        answer another question than the one that was asked.
        """
        for at, item in enumerate(argv):
            flag, equals, value = item.partition("=")
            if item and not (flag.startswith("--") and equals and not value):
                continue
            before = argv[at - 1] if at and argv[at - 1].startswith("-") else ""
            raise UsageError(
                "CLI007",
                "an empty value",
                place=flag or before or "arguments",
                expected="a value, or nothing at all for the default",
                fix="is a variable of the shell not set?",
            )
        return self.parse_args(argv)


def add_output(parser: argparse.ArgumentParser, *formats: str) -> None:
    """Add ``-o/--output`` with `formats`, the first being the default."""
    parser.add_argument(
        "-o", "--output", choices=formats, default=formats[0], help=f"default: {formats[0]}"
    )


def positive_number(flag: str) -> Callable[[str], float]:
    """Return a parser of finite numbers above 0 for `flag`; raises `UsageError` CLI002."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value <= 0:
            raise UsageError(
                "CLI002", "not a usable number", place=flag, found=text, expected="a number above 0"
            )
        return value

    return parse


def count(
    flag: str, least: int = 1, most: int = _LARGEST_COUNT, *, word: str = ""
) -> Callable[[str], int]:
    """Return a parser of whole numbers in `least`..`most` for `flag`; raises CLI003.

    `word` is what the flag takes beside a number; it is named in the error, not parsed here.
    """

    def parse(text: str) -> int:
        digits = text.strip()
        whole = digits.isascii() and digits.isdigit() and len(digits) <= len(str(most)) + 1
        if not whole or not least <= int(digits) <= most:
            raise UsageError(
                "CLI003",
                "not a usable count",
                place=flag,
                found=text,
                expected=f"a whole number from {least} to {most}"
                + (f", or {word}" if word else ""),
            )
        return int(digits)

    return parse


def share(flag: str) -> Callable[[str], float]:
    """Return a parser of shares above 0 and up to 1 for `flag`; raises `UsageError` CLI004."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or not 0 < value <= 1:
            raise UsageError(
                "CLI004",
                "not a share",
                place=flag,
                found=text,
                expected="a number above 0, at most 1",
            )
        return value

    return parse
