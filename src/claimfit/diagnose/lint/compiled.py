"""Compiles an expression for lint: the program, or the first problem with its place."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from claimfit.dra.cel.checker import check
from claimfit.dra.cel.environment import environment
from claimfit.dra.cel.parser import parse
from claimfit.dra.cel.program import Program, compile_selector
from claimfit.dra.cel.source import Source

if TYPE_CHECKING:
    from claimfit.dra.cel.syntax import Node
    from claimfit.dra.profile import Profile

__all__ = ["Compiled", "compiled"]


class Compiled(NamedTuple):
    """What came of compiling.

    Attributes:
        program: None when there is a problem.
        problem: the API server's words, without source lines.
        offset: where in the expression, -1 when nowhere.
        partial: the tree as far as it was understood, for explaining a problem.
    """

    program: Program | None
    problem: str = ""
    offset: int = -1
    partial: Node | None = None


@lru_cache(maxsize=1024)
def compiled(expression: str, profile: Profile, *, new: bool) -> Compiled:
    """Return `expression` compiled for `profile`, as a new or as a stored one."""
    result = compile_selector(expression, profile, new=new)
    if isinstance(result, Program):
        return Compiled(result)
    if not result.issues:
        return Compiled(None, result.text)
    first = min(result.issues, key=lambda issue: issue.location)
    source = Source(expression)
    line, column = first.location
    if line < 1:
        return Compiled(None, f"compilation failed: {first.message}")
    problem = f"compilation failed: ERROR: <input>:{line}:{column + 1}: {first.message}"
    return Compiled(
        None, problem, source.offset(first.location), _partial(source, profile, new=new)
    )


def _partial(source: Source, profile: Profile, *, new: bool) -> Node | None:
    """Return the tree with the types that could be found, None for a syntax error."""
    known = environment(profile, new=new)
    tree, issues = parse(source, known.macros, backticks=known.backticks)
    if tree is None or issues:
        return None
    check(tree, known, source)
    return tree
