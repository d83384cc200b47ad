"""Regular expressions of CEL: those of RE2, which match in linear time.

Python's `re` backtracks, and differs in syntax; google-re2 is the library that Go's regexp follows.
It is imported when the first expression needs it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from claimfit.dra.cel.values import EvalError

if TYPE_CHECKING:
    from typing import Protocol

    class Match(Protocol):
        """A place where a pattern matched."""

        def group(self) -> str:
            """Return the text that matched."""

    class Pattern(Protocol):
        """A compiled pattern."""

        def search(self, text: str) -> Match | None:
            """Return the first match, or None."""

        def finditer(self, text: str) -> Iterator[Match]:
            """Return all matches."""

    from collections.abc import Iterator

__all__ = ["compiled", "problem"]


def compiled(pattern: str) -> Pattern:
    """Return `pattern` compiled; raises `EvalError` with what Go's regexp says."""
    found = _compiled(pattern)
    if isinstance(found, str):
        raise EvalError(found)
    return found


def problem(pattern: str) -> str:
    """Return what is wrong with `pattern`, or nothing."""
    found = _compiled(pattern)
    return found if isinstance(found, str) else ""


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Pattern | str:
    import re2  # type: ignore[import-untyped]  # google-re2 has no stubs

    options = re2.Options()
    options.log_errors = False
    try:
        found: Pattern = re2.compile(pattern, options)
    except re2.error as refused:
        reason = refused.args[0] if refused.args else ""
        said = reason.decode() if isinstance(reason, bytes) else str(reason)
        return _in_words_of_go(said)
    return found


_WORDS: Final = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "trailing \\": "trailing backslash at end of expression",
}
"""RE2's words for what Go's regexp says in others."""


def _in_words_of_go(said: str) -> str:
    reason, _, part = said.partition(": ")
    return f"error parsing regexp: {_WORDS.get(reason, reason)}: `{part}`"
