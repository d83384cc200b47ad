"""Asks the CEL programs of a profile, as `Selectors` wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.dra.allocator.selectors import SelectorProblem
from claimfit.dra.cel.program import Program, compile_selector

if TYPE_CHECKING:
    from claimfit.dra.allocator.selectors import Evaluator
    from claimfit.dra.pools import PooledDevice
    from claimfit.dra.profile import Profile

__all__ = ["cel_evaluator"]


def cel_evaluator(profile: Profile) -> Evaluator:
    """Return the evaluator of stored expressions under `profile`; each is compiled once."""
    programs: dict[str, Program | SelectorProblem] = {}

    def evaluate(expression: str, entry: PooledDevice) -> bool | SelectorProblem:
        program = programs.get(expression)
        if program is None:
            program = programs[expression] = _compiled(expression, profile)
        if isinstance(program, SelectorProblem):
            return program
        result = program.evaluate(entry.device, entry.id.driver)
        return SelectorProblem(result.error) if result.error else result.matches

    return evaluate


def _compiled(expression: str, profile: Profile) -> Program | SelectorProblem:
    compiled = compile_selector(expression, profile)
    if isinstance(compiled, Program):
        return compiled
    return SelectorProblem(compiled.text, compile=True)
