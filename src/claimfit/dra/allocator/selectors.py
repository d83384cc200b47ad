"""Whether the selectors of a class and of a request admit a device.

The evaluator of CEL is handed in: a function of expression and device. What an evaluation answers
is remembered per expression and device for as long as the `Selectors` live, because the same
question comes up for every node and every attempt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from claimfit.dra.allocator.attempt import AttemptAborted

if TYPE_CHECKING:
    from claimfit.dra.allocator.requests import Request
    from claimfit.dra.objects import DeviceSelector
    from claimfit.dra.pools import PooledDevice

__all__ = ["Evaluator", "SelectorProblem", "Selectors", "problem_text"]

_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with "
    "has() for optional fields"
)
"""What Kubernetes 1.37 appends to a missing key (cel/errors.go)."""


class SelectorProblem(NamedTuple):
    """An expression that could not be compiled, or that failed on a device."""

    text: str
    compile: bool = False


class Evaluator(Protocol):
    """Answers whether an expression is true for a device."""

    def __call__(self, expression: str, device: PooledDevice, /) -> bool | SelectorProblem:
        """Return the truth, or why there is none."""


class Selectors:
    """Answers of selectors, remembered."""

    __slots__ = ("_answers", "_evaluate")

    def __init__(self, evaluate: Evaluator) -> None:
        self._evaluate = evaluate
        self._answers: dict[str, dict[PooledDevice, bool | SelectorProblem]] = {}

    def answer(self, expression: str, device: PooledDevice) -> bool | SelectorProblem:
        """Return what `expression` says about `device`."""
        known = self._answers.get(expression)
        if known is None:
            known = self._answers[expression] = {}
        found = known.get(device)
        if found is None:
            found = known[device] = self._evaluate(expression, device)
        return found

    def admits(self, request: Request, device: PooledDevice, *, names_device: bool) -> bool:
        """Return whether class and request select `device`, the class being asked first.

        The first false answer decides. Raises `AttemptAborted` for a selector that fails first.
        """
        for selectors in (request.class_selectors, request.selectors):
            for index, selector in enumerate(selectors):
                found = self.answer(_expression(selector), device)
                if found is True:
                    continue
                if found is False:
                    return False
                owner = f"claim {request.claim_name}"
                if selectors is request.class_selectors:
                    owner = f"class {request.class_name}"
                text = problem_text(owner, index, device, found, names_device=names_device)
                raise AttemptAborted("selector-error", text, device.id, request.full_name)
        return True


def problem_text(
    owner: str, index: int, device: PooledDevice, problem: SelectorProblem, *, names_device: bool
) -> str:
    """Return the sentence of kube-scheduler for a selector that failed."""
    if problem.compile:
        return f"{owner}: selector #{index}: CEL compile error: {problem.text}"
    if not names_device:
        return f"{owner}: selector #{index}: CEL runtime error: {problem.text}"
    hint = _HINT if "no such key:" in problem.text else ""
    place = f"{owner}: selector #{index} on device {device.path}"
    return f"{place}: CEL runtime error: {problem.text}{hint}"


def _expression(selector: DeviceSelector) -> str:
    return selector.cel.expression if selector.cel is not None else ""
