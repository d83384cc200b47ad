"""The cost of an evaluation as it grows, the results that calls still look for, and variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.dra.cel.values import MISSING, EvalError, Panic, Value

if TYPE_CHECKING:
    from claimfit.dra.cel.steps import FoldStep

__all__ = ["COST_LIMIT", "LIMIT_EXCEEDED", "Frame", "Meter", "Result"]


COST_LIMIT: Final = 1_000_000
"""resource.k8s.io CELSelectorExpressionMaxCost: for the estimate and for each evaluation."""


LIMIT_EXCEEDED: Final = "operation cancelled: actual cost limit exceeded"
"""What the scheduler says when an evaluation costs more."""

_UINT64: Final = (1 << 64) - 1

Result = Value | EvalError


class Meter:
    """The cost so far, and the results that calls still look for."""

    __slots__ = ("_places", "_stack", "cost", "limit", "minor")

    def __init__(self, minor: int, limit: int = COST_LIMIT) -> None:
        self.cost = 0
        self.limit = limit
        self.minor = minor
        self._stack: list[tuple[int, Result]] = []
        self._places: dict[int, list[int]] = {}

    def add(self, cost: int) -> None:
        """Count the cost of a call; a negative depth of ``flatten`` wraps around, as in Go."""
        self.cost = (self.cost + cost) & _UINT64

    def allow(self, cost: int) -> None:
        """End the evaluation ahead of a call that costs more than is left."""
        if self.cost + cost > self.limit:
            self.cost += cost
            raise Panic(LIMIT_EXCEEDED)

    def push(self, number: int, result: Result) -> None:
        """Note the result of a step; raises `Panic` once the cost is beyond the limit."""
        self._places.setdefault(number, []).append(len(self._stack))
        self._stack.append((number, result))
        if self.cost > self.limit:
            raise Panic(LIMIT_EXCEEDED)

    def drop(self, number: int) -> None:
        """Forget the last result of a step and all that came after it."""
        places = self._places.get(number)
        if places:
            self._cut(places[-1])

    def take(self, numbers: list[int]) -> list[Result] | None:
        """Return the results of steps, last one first off the stack; None when one is missing."""
        found: list[Result] = []
        for number in reversed(numbers):
            places = self._places.get(number)
            if not places:
                return None
            place = places[-1]
            found.append(self._stack[place][1])
            self._cut(place)
        found.reverse()
        return found

    def _cut(self, place: int) -> None:
        stack, places = self._stack, self._places
        while len(stack) > place:
            number, _ = stack.pop()
            places[number].pop()


class Frame:
    """Variables of a fold, over those outside."""

    __slots__ = ("fold", "meter", "outer", "values")

    def __init__(self, meter: Meter, outer: Frame | None, fold: FoldStep | None) -> None:
        self.meter = meter
        self.outer = outer
        self.fold = fold
        self.values: dict[str, Result] = {}

    def resolve(self, name: str) -> Value:
        """Return a variable, the accumulator computed when it is first asked for."""
        frame: Frame | None = self
        while frame is not None:
            found = frame.values.get(name, MISSING)
            if found is MISSING and frame.fold is not None and name == frame.fold.accumulator:
                found = frame.fold.start(frame)
            if found is not MISSING:
                if isinstance(found, EvalError):
                    raise EvalError(found.message)
                return found  # type: ignore[return-value]  # not MISSING
            frame = frame.outer
        raise EvalError("no such attribute(s): %s", name)
