"""The steps of a plan: what is evaluated in one go, noted, and charged for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from claimfit.dra.cel.attributes import Conditional
from claimfit.dra.cel.folding import fold_entries
from claimfit.dra.cel.meter import Frame
from claimfit.dra.cel.printing import text
from claimfit.dra.cel.runtime_cost import LIST_COST, MAP_COST, call_cost, known_ahead
from claimfit.dra.cel.values import (
    MISSING,
    EvalError,
    MapValue,
    MutableList,
    MutableMap,
    Optional,
    map_key,
    no_such_overload,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.cel.attributes import Attribute
    from claimfit.dra.cel.meter import Meter, Result
    from claimfit.dra.cel.syntax import Comprehension
    from claimfit.dra.cel.values import Value


__all__ = [
    "AccessStep",
    "CallStep",
    "Constant",
    "FoldStep",
    "ListStep",
    "Logic",
    "MapStep",
    "Membership",
    "NotStrictlyFalse",
    "OptionalOr",
    "Step",
]


class Step(Protocol):
    """One step of a plan."""

    @property
    def number(self) -> int:
        """The number that its result is noted under."""

    def run(self, frame: Frame) -> Value:
        """Return its value; notes the result."""


class Constant:
    """A value known ahead; costs nothing."""

    __slots__ = ("number", "value")

    def __init__(self, number: int, value: Value) -> None:
        self.number = number
        self.value = value

    def run(self, frame: Frame) -> Value:
        frame.meter.push(self.number, self.value)
        return self.value


class Noted:
    """Base of steps whose result is noted after `settle` has counted its cost."""

    __slots__ = ("number",)

    number: int

    def run(self, frame: Frame) -> Value:
        try:
            value = self.compute(frame)
        except EvalError as error:
            self.settle(frame.meter, error)
            frame.meter.push(self.number, error)
            raise
        self.settle(frame.meter, value)
        frame.meter.push(self.number, value)
        return value

    def compute(self, frame: Frame) -> Value:
        """Return the value."""
        raise NotImplementedError

    def settle(self, meter: Meter, result: Result) -> None:
        """Count the cost of the step."""


class CallStep(Noted):
    """A function with all operands evaluated first.

    Two operands are evaluated even if the first fails; of more, the first failure ends it.
    """

    __slots__ = ("function", "implement", "lenient", "operands", "overload")

    def __init__(
        self,
        number: int,
        function: str,
        overload: str,
        implement: Callable[..., Value],
        operands: list[Step],
        *,
        dynamic: bool,
    ) -> None:
        self.number = number
        self.function = function
        self.overload = overload
        self.implement = implement
        self.operands = operands
        self.lenient = len(operands) == 2 and not dynamic

    def compute(self, frame: Frame) -> Value:
        operands: list[Value] = (
            _both(self.operands, frame)
            if self.lenient
            else [operand.run(frame) for operand in self.operands]
        )
        frame.meter.allow(known_ahead(self.overload, operands))
        return self.implement(*operands)

    def settle(self, meter: Meter, result: Result) -> None:
        operands = meter.take([operand.number for operand in self.operands])
        if operands is not None:
            cost = call_cost(meter.minor, self.function, self.overload, operands, result)
            meter.add(cost)


def _both(operands: list[Step], frame: Frame) -> list[Value]:
    first, second = operands
    try:
        left = first.run(frame)
    except EvalError:
        _quietly(second, frame)
        raise
    return [left, second.run(frame)]


def _quietly(step: Step, frame: Frame) -> None:
    try:
        step.run(frame)
    except EvalError:
        return  # the error before it is the one that counts


class NotStrictlyFalse(CallStep):
    """True unless the operand is false; errors count as true."""

    __slots__ = ()

    def compute(self, frame: Frame) -> Value:
        try:
            value = self.operands[0].run(frame)
        except EvalError:
            return True
        return value if isinstance(value, bool) else True


class Logic(Noted):
    """``&&`` or ``||``: the `decisive` value on either side wins over an error."""

    __slots__ = ("decisive", "terms")

    def __init__(self, number: int, terms: list[Step], *, decisive: bool) -> None:
        self.number = number
        self.terms = terms
        self.decisive = decisive

    def compute(self, frame: Frame) -> Value:
        failed: EvalError | None = None
        for term in self.terms:
            try:
                value = term.run(frame)
            except EvalError as error:
                failed = failed or error
                continue
            if value is self.decisive:
                return self.decisive
            if not isinstance(value, bool):
                failed = failed or no_such_overload()
        if failed is not None:
            raise failed
        return not self.decisive

    def settle(self, meter: Meter, result: Result) -> None:
        del result
        for term in self.terms:
            meter.drop(term.number)


class OptionalOr(Noted):
    """``or`` and ``orValue``: the second operand only where the first holds nothing."""

    __slots__ = ("first", "second", "strict", "unwraps")

    def __init__(
        self, number: int, first: Step, second: Step, *, unwraps: bool, strict: bool
    ) -> None:
        self.number = number
        self.first = first
        self.second = second
        self.unwraps = unwraps
        self.strict = strict

    def compute(self, frame: Frame) -> Value:
        value = self.first.run(frame)
        if not isinstance(value, Optional):
            if self.strict:
                raise no_such_overload()
            return value  # cel-go 0.26 passes on what is no optional
        if value.value is MISSING:
            return self.second.run(frame)
        return value.value if self.unwraps else value  # type: ignore[return-value]  # not MISSING


class Membership(Noted):
    """``in`` with a constant list, prepared as a set; costs nothing."""

    __slots__ = ("keys", "value")

    def __init__(self, number: int, value: Step, keys: frozenset[object]) -> None:
        self.number = number
        self.value = value
        self.keys = keys

    def compute(self, frame: Frame) -> Value:
        return map_key(self.value.run(frame)) in self.keys


class ListStep(Noted):
    """A list of computed elements."""

    __slots__ = ("elements", "optional")

    def __init__(self, number: int, elements: list[Step], optional: frozenset[int]) -> None:
        self.number = number
        self.elements = elements
        self.optional = optional

    def compute(self, frame: Frame) -> Value:
        found: list[Value] = []
        for place, element in enumerate(self.elements):
            value = element.run(frame)
            if place in self.optional:
                if not isinstance(value, Optional):
                    shown = text(value)
                    raise EvalError(
                        "cannot initialize optional list element from non-optional value %s", shown
                    )
                if value.value is MISSING:
                    continue
                value = value.value  # type: ignore[assignment]  # not MISSING
            found.append(value)
        return found

    def settle(self, meter: Meter, result: Result) -> None:
        del result
        meter.take([element.number for element in self.elements])
        meter.cost += LIST_COST


class MapStep(Noted):
    """A map of computed entries."""

    __slots__ = ("entries",)

    def __init__(self, number: int, entries: list[tuple[Step, Step, bool]]) -> None:
        self.number = number
        self.entries = entries

    def compute(self, frame: Frame) -> Value:
        found: dict[object, tuple[Value, Value]] = {}
        for key_step, value_step, optional in self.entries:
            key = key_step.run(frame)
            value = value_step.run(frame)
            if optional:
                if not isinstance(value, Optional):
                    raise EvalError(
                        "cannot initialize optional entry '%s' from non-optional value %s",
                        text(key),
                        text(value),
                    )
                if value.value is MISSING:
                    found.pop(map_key(key), None)
                    continue
                value = value.value  # type: ignore[assignment]  # not MISSING
            found[map_key(key)] = (key, value)
        return MapValue(found)

    def settle(self, meter: Meter, result: Result) -> None:
        del result
        meter.take([step.number for entry in self.entries for step in entry[:2]])
        meter.cost += MAP_COST


class FoldStep(Noted):
    """A comprehension."""

    __slots__ = (
        "accumulator",
        "condition",
        "first",
        "initial",
        "result",
        "second",
        "step",
        "subject",
    )

    def __init__(self, node: Comprehension, steps: tuple[Step, Step, Step, Step, Step]) -> None:
        self.number = node.number
        self.accumulator = node.accumulator
        self.first = node.first
        self.second = node.second
        self.initial, self.subject, self.condition, self.step, self.result = steps

    def start(self, frame: Frame) -> Result:
        """Return the accumulator's first value; an empty list or map will be changed in place."""
        try:
            value: Result = self.initial.run(frame.outer or frame)
        except EvalError as error:
            value = error
        if isinstance(value, list) and not value:
            value = MutableList()
        elif isinstance(value, MapValue) and not value.entries:
            value = MutableMap({})
        frame.values[self.accumulator] = value
        return value

    def compute(self, outer: Frame) -> Value:
        frame = Frame(outer.meter, outer, self)
        for first, second in self.entries(self.subject.run(outer)):
            frame.values[self.first] = first
            if self.second:
                frame.values[self.second] = second
            try:
                if self.condition.run(frame) is False:
                    break
            except EvalError:
                pass  # only false ends a fold
            try:
                value: Result = self.step.run(frame)
            except EvalError as error:
                value = error
            frame.values[self.accumulator] = value
        for name in {self.first, self.second} - {self.accumulator}:
            frame.values.pop(name, None)
        found = self.result.run(frame)
        if isinstance(found, MutableList):
            return list(found)
        return MapValue(found.entries) if isinstance(found, MutableMap) else found

    def entries(self, subject: Value) -> list[tuple[Value, Value]]:
        return fold_entries(subject, pairs=bool(self.second))

    def settle(self, meter: Meter, result: Result) -> None:
        del result
        meter.drop(self.subject.number)


class AccessStep(Noted):
    """The step that evaluates an attribute; with `test` the question whether it is there."""

    __slots__ = ("attribute", "test", "test_number")

    def __init__(self, attribute: Attribute, *, test_number: int = 0) -> None:
        self.attribute = attribute
        self.test_number = test_number

    @property
    def number(self) -> int:  # type: ignore[override]  # changes as accesses are added
        return self.test_number or self.attribute.number

    def compute(self, frame: Frame) -> Value:
        value = self.attribute.resolve(frame)
        if self.test_number and isinstance(value, Optional):
            return value.value is not MISSING
        return value

    def settle(self, meter: Meter, result: Result) -> None:
        del result
        attribute = self.attribute
        if isinstance(attribute, Conditional):
            for part in (attribute.falsy, attribute.truthy, attribute.condition):
                meter.drop(part.number)
        else:
            meter.drop(attribute.number)
            meter.cost += 1
        if self.test_number:
            meter.cost -= 1
