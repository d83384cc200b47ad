"""The clauses of a selector: the parts that its top-level ``&&`` join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.dra.cel.program import Program, compile_selector
from claimfit.dra.cel.syntax import Call

if TYPE_CHECKING:
    from claimfit.dra.cel.syntax import Node
    from claimfit.dra.profile import Profile

__all__ = ["clauses"]


def clauses(expression: str, profile: Profile) -> tuple[str, ...]:
    """Return the parts of `expression` that must all hold; one that does not compile is one part.

    Each part is an expression of its own, on one line.
    """
    compiled = compile_selector(expression, profile)
    if not isinstance(compiled, Program):
        return (_one_line(expression),)
    found: list[str] = []
    _split(compiled.tree, compiled.source.text, found)
    return tuple(found)


def _split(node: Node, text: str, found: list[str]) -> None:
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Call) and part.function == "_&&_":
            waiting += reversed(part.arguments)
        else:
            found.append(_one_line(text[part.start : part.stop]))


def _one_line(text: str) -> str:
    """Return `text` with line breaks as spaces; a comment or a string with breaks is left alone."""
    if "//" in text or '"""' in text or "'''" in text:
        return text
    return " ".join(text.split("\n")).strip()
