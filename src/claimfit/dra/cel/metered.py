"""Evaluation with Kubernetes' run-time cost: step by step as cel-go's interpreter takes them.

The cost of an evaluation is defined by cel-go's plan of it (interpreter/planner.go, decorators.go,
attributes.go, interpretable.go, runtimecost.go): which lists are folded ahead, which accesses are
steps of their own, and which values a call finds on the stack of results. So this plan has the same
steps, with the same numbers. `evaluator` gives the same answers faster and counts nothing.

A step evaluates to a value or raises `EvalError`; like a value, an error is a result that is noted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from claimfit.dra.cel.access import as_key, member, member_if_present, plain_map
from claimfit.dra.cel.dispatch import implementation, with_pattern
from claimfit.dra.cel.runtime_cost import LIST_COST, MAP_COST, call_cost
from claimfit.dra.cel.syntax import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
)
from claimfit.dra.cel.values import (
    MISSING,
    NONE,
    EvalError,
    FailureError,
    MapValue,
    MutableList,
    MutableMap,
    Optional,
    Panic,
    TypeValue,
    Uint,
    Value,
    equal,
    go_type,
    map_key,
    no_such_overload,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.cel.environment import Environment

__all__ = ["COST_LIMIT", "Meter", "Plan", "PlanError"]

COST_LIMIT: Final = 1_000_000
"""resource.k8s.io CELSelectorExpressionMaxCost: for the estimate and for each evaluation."""

CONVERSIONS: Final = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
)
"""Functions that are carried out ahead when their operand is a constant."""

_UINT64: Final = (1 << 64) - 1

Result = Value | EvalError


class PlanError(FailureError):
    """The expression checks but no program can be made of it; the message is cel-go's."""


class Meter:
    """The cost so far, and the results that calls still look for."""

    __slots__ = ("_places", "_stack", "cost", "limit", "minor")

    def __init__(self, minor: int, limit: int = COST_LIMIT) -> None:
        self.cost = 0
        self.limit = limit
        self.minor = minor
        self._stack: list[tuple[int, Result]] = []
        self._places: dict[int, list[int]] = {}

    def push(self, number: int, result: Result) -> None:
        """Note the result of a step; raises `Panic` once the cost is beyond the limit."""
        self._places.setdefault(number, []).append(len(self._stack))
        self._stack.append((number, result))
        if self.cost > self.limit:
            raise Panic("operation cancelled: actual cost limit exceeded")

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

    def __init__(self, meter: Meter, outer: Frame | None, fold: _Fold | None) -> None:
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


class Step(Protocol):
    """One step of a plan."""

    @property
    def number(self) -> int:
        """The number that its result is noted under."""

    def run(self, frame: Frame) -> Value:
        """Return its value; notes the result."""


class Plan:
    """A program that counts what it costs."""

    __slots__ = ("_minor", "_root")

    def __init__(self, tree: Node, environment: Environment) -> None:
        """Plan `tree`, which is checked; raises `PlanError`."""
        self._minor = environment.minor
        self._root = _Planner(environment).plan(tree)

    def run(self, device: Value, limit: int = COST_LIMIT) -> tuple[Result | Panic, int]:
        """Return the result for `device` (the variable's value) and the cost."""
        meter = Meter(self._minor, limit)
        frame = Frame(meter, None, None)
        frame.values["device"] = device
        try:
            return self._root.run(frame), meter.cost
        except (EvalError, Panic) as problem:
            return problem, meter.cost


# --- steps ----------------------------------------------------------------------------------------


class _Constant:
    """A value known ahead; costs nothing."""

    __slots__ = ("number", "value")

    def __init__(self, number: int, value: Value) -> None:
        self.number = number
        self.value = value

    def run(self, frame: Frame) -> Value:
        frame.meter.push(self.number, self.value)
        return self.value


class _Noted:
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


class _Call(_Noted):
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
        if self.lenient:
            return self.implement(*_both(self.operands, frame))
        return self.implement(*[operand.run(frame) for operand in self.operands])

    def settle(self, meter: Meter, result: Result) -> None:
        operands = meter.take([operand.number for operand in self.operands])
        if operands is not None:
            cost = call_cost(meter.minor, self.function, self.overload, operands, result)
            meter.cost = (meter.cost + cost) & _UINT64  # a negative depth of flatten wraps around


def _both(operands: list[Step], frame: Frame) -> tuple[Value, Value]:
    first, second = operands
    try:
        left = first.run(frame)
    except EvalError:
        _quietly(second, frame)
        raise
    return left, second.run(frame)


def _quietly(step: Step, frame: Frame) -> None:
    try:
        step.run(frame)
    except EvalError:
        return  # the error before it is the one that counts


class _NotStrictlyFalse(_Call):
    """True unless the operand is false; errors count as true."""

    __slots__ = ()

    def compute(self, frame: Frame) -> Value:
        try:
            value = self.operands[0].run(frame)
        except EvalError:
            return True
        return value if isinstance(value, bool) else True


class _Logic(_Noted):
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


class _OptionalOr(_Noted):
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


class _Member(_Noted):
    """``in`` with a constant list, prepared as a set; costs nothing."""

    __slots__ = ("keys", "value")

    def __init__(self, number: int, value: Step, keys: frozenset[object]) -> None:
        self.number = number
        self.value = value
        self.keys = keys

    def compute(self, frame: Frame) -> Value:
        return map_key(self.value.run(frame)) in self.keys


class _List(_Noted):
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


class _Map(_Noted):
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


class _Fold(_Noted):
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


def fold_entries(subject: Value, *, pairs: bool) -> list[tuple[Value, Value]]:
    """Return what a fold goes through: members or keys, or with `pairs` keys and values."""
    if isinstance(subject, MapValue):
        if pairs:
            return list(subject.items())
        return [(key, None) for key in subject.keys()]  # noqa: SIM118  # MapValue is no dict
    if isinstance(subject, list):
        if pairs:
            return list(enumerate(subject))
        return [(item, None) for item in subject]
    if pairs:
        raise EvalError("unsupported comprehension range type: %s", go_type(subject))
    raise EvalError("got '%s', expected iterable type", go_type(subject))


# --- attributes: names and values with accesses to their members ----------------------------------


class _Key:
    """An access with a constant key; `test` only asks whether it is there."""

    __slots__ = ("key", "number", "optional", "test")

    def __init__(self, number: int, key: Value, *, optional: bool, test: bool = False) -> None:
        self.number = number
        self.key = key
        self.optional = optional
        self.test = test

    def get(self, frame: Frame, holder: Value) -> Value:
        """Return the member, or with `test` whether there is one."""
        try:
            if self.test:
                found: Value = member_if_present(holder, self.key) is not MISSING
            else:
                found = member(holder, self.key)
        except EvalError as error:
            self.note(frame.meter, error)
            raise
        self.note(frame.meter, found)
        return found

    def get_if_present(self, frame: Frame, holder: Value) -> object:
        """Return the member or `MISSING`; only what is there is noted."""
        found = member_if_present(holder, self.key)
        if found is not MISSING:
            self.note(frame.meter, found)  # type: ignore[arg-type]  # not MISSING
        return found

    def note(self, meter: Meter, result: Result) -> None:
        meter.cost += 1
        meter.push(self.number, result)


class _ComputedKey:
    """An access with a computed key.

    Where the key is itself an attribute, only its own accesses are noted, not the attribute.
    """

    __slots__ = ("attribute", "number", "optional", "relative", "test")

    def __init__(
        self, number: int, attribute: _Attribute, *, optional: bool, relative: bool
    ) -> None:
        self.number = number
        self.attribute = attribute
        self.optional = optional
        self.relative = relative
        self.test = False

    def get(self, frame: Frame, holder: Value) -> Value:
        """Return the member."""
        try:
            found = member(holder, as_key(self.attribute.resolve(frame)))
        except EvalError as error:
            self.note(frame.meter, error)
            raise
        self.note(frame.meter, found)
        return found

    def get_if_present(self, frame: Frame, holder: Value) -> object:
        """Return the member or `MISSING`."""
        found = member_if_present(holder, as_key(self.attribute.resolve(frame)))
        if found is not MISSING:
            self.note(frame.meter, found)  # type: ignore[arg-type]  # not MISSING
        return found

    def note(self, meter: Meter, result: Result) -> None:
        if self.relative:
            meter.drop(self.number)
        meter.cost += 1
        meter.push(self.number, result)


class _Attribute:
    """Base: something named or computed, and accesses to apply to it."""

    __slots__ = ("accesses", "own")

    def __init__(self, own: int) -> None:
        self.own = own
        self.accesses: list[_Key | _ComputedKey] = []

    @property
    def number(self) -> int:
        return self.accesses[-1].number if self.accesses else self.own

    def add(self, access: _Key | _ComputedKey) -> None:
        self.accesses.append(access)

    def resolve(self, frame: Frame) -> Value:
        raise NotImplementedError

    def applied(self, frame: Frame, value: Value) -> Value:
        """Return the member that the accesses lead to; once optional, all are."""
        optional = isinstance(value, Optional)
        if isinstance(value, Optional):
            if value.value is MISSING:
                return value
            value = plain_map(value.value)  # type: ignore[arg-type]  # not MISSING
        for access in self.accesses:
            optional = optional or access.optional
            if not optional:
                value = access.get(frame, value)
                continue
            found = access.get_if_present(frame, value)
            if found is MISSING:
                return NONE
            value = found  # type: ignore[assignment]  # not MISSING
        return Optional(value) if optional else value


class _Named(_Attribute):
    """A variable."""

    __slots__ = ("name",)

    def __init__(self, own: int, name: str) -> None:
        super().__init__(own)
        self.name = name

    def resolve(self, frame: Frame) -> Value:
        return self.applied(frame, frame.resolve(self.name))


class _Relative(_Attribute):
    """A computed value."""

    __slots__ = ("operand",)

    def __init__(self, own: int, operand: Step) -> None:
        super().__init__(own)
        self.operand = operand

    def resolve(self, frame: Frame) -> Value:
        return self.applied(frame, self.operand.run(frame))


class _Conditional(_Attribute):
    """One of two attributes."""

    __slots__ = ("condition", "falsy", "truthy")

    def __init__(self, own: int, condition: Step, truthy: _Attribute, falsy: _Attribute) -> None:
        super().__init__(own)
        self.condition = condition
        self.truthy = truthy
        self.falsy = falsy

    @property
    def number(self) -> int:
        same = self.truthy.number == self.falsy.number
        return self.truthy.number if same else self.own

    def add(self, access: _Key | _ComputedKey) -> None:
        self.truthy.add(access)
        self.falsy.add(access)

    def resolve(self, frame: Frame) -> Value:
        value = self.condition.run(frame)
        if value is True:
            return self.truthy.resolve(frame)
        if value is False:
            return self.falsy.resolve(frame)
        raise no_such_overload()


class _Access(_Noted):
    """The step that evaluates an attribute; with `test` the question whether it is there."""

    __slots__ = ("attribute", "test", "test_number")

    def __init__(self, attribute: _Attribute, *, test_number: int = 0) -> None:
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
        if isinstance(attribute, _Conditional):
            for part in (attribute.falsy, attribute.truthy, attribute.condition):
                meter.drop(part.number)
        else:
            meter.drop(attribute.number)
            meter.cost += 1
        if self.test_number:
            meter.cost -= 1


# --- the planner ----------------------------------------------------------------------------------


class _Planner:
    """Makes steps of nodes."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment

    def plan(self, node: Node) -> Step:
        if isinstance(node, Call):
            return self.call(node)
        if isinstance(node, Select):
            return self.select(node)
        if isinstance(node, Ident):
            return self.ident(node.number, node, node.name)
        if isinstance(node, Literal):
            return _Constant(node.number, node.value)
        if isinstance(node, ListLiteral):
            return self.list_literal(node)
        if isinstance(node, MapLiteral):
            return self.map_literal(node)
        if not isinstance(node, Comprehension):
            raise PlanError("messages cannot be built")
        parts = (node.initial, node.subject, node.condition, node.step, node.result)
        initial, subject, condition, step, result = map(self.plan, parts)
        return _Fold(node, (initial, subject, condition, step, result))

    def ident(self, number: int, node: Node, name: str) -> Step:
        if node.type.kind == "type":
            return _Constant(number, TypeValue(name))
        return _Access(_Named(number, name))

    def select(self, node: Select) -> Step:
        if node.resolved:
            return self.ident(node.number, node, node.resolved)
        access = self.attribute(self.plan(node.operand))
        key = _Key(node.number, node.field, optional=False, test=node.test_only)
        access.attribute.add(key)
        if node.test_only:
            return _Access(access.attribute, test_number=node.number)
        return access

    def attribute(self, step: Step, number: int = 0) -> _Access:
        """Return `step` as one that takes accesses."""
        if isinstance(step, _Access) and not step.test_number:
            return step
        return _Access(_Relative(number or step.number, step))

    def index(self, node: Call) -> Step:
        operand, key = node.arguments
        optional = node.function != "_[_]"
        access = self.attribute(self.plan(operand))
        found = self.plan(key)
        number = node.number
        if isinstance(found, _Constant):
            if not isinstance(found.value, str | int | float):
                raise PlanError("invalid qualifier type: %s", go_type(found.value))
            access.attribute.add(_Key(number, found.value, optional=optional))
        elif isinstance(found, _Access):
            computed = _ComputedKey(number, found.attribute, optional=optional, relative=False)
            access.attribute.add(computed)
        else:
            relative = _Relative(number, found)
            access.attribute.add(_ComputedKey(number, relative, optional=optional, relative=True))
        return access

    def call(self, node: Call) -> Step:
        if node.function in {"_[_]", "_[?_]", "_?._"}:
            return self.index(node)
        nodes = [node.target, *node.arguments] if node.target else node.arguments
        operands = [self.plan(operand) for operand in nodes]
        number, function = node.number, node.function
        if function in {"_&&_", "_||_"}:
            return _Logic(number, operands, decisive=function == "_||_")
        if function == "_?_:_":
            return self.conditional(number, operands)
        if function in {"_==_", "_!=_"}:
            return self.equality(number, function, operands)
        if function in {"or", "orValue"}:
            strict = self.environment.minor >= 37
            return _OptionalOr(number, *operands, unwraps=function == "orValue", strict=strict)
        if function == "@not_strictly_false":
            return _NotStrictlyFalse(
                number, function, "not_strictly_false", bool, operands, dynamic=False
            )
        return self.function(node, operands)

    def function(self, node: Call, operands: list[Step]) -> Step:
        found = implementation(node, self.environment)
        pattern = operands[1] if len(operands) > 1 else None
        if isinstance(pattern, _Constant) and isinstance(pattern.value, str):
            prepared = with_pattern(node, pattern.value)
            if isinstance(prepared, str):
                raise PlanError(prepared)
            found = prepared or found
        step = _Call(
            node.number,
            node.function,
            found.overload,
            found.run,
            operands,
            dynamic=found.dynamic,
        )
        first = operands[0] if operands else None
        if node.function in CONVERSIONS and isinstance(first, _Constant) and len(operands) == 1:
            try:
                return _Constant(node.number, found.run(first.value))
            except EvalError as problem:
                raise PlanError(problem.message) from None
        if found.overload == "in_list" and isinstance(operands[1], _Constant):
            return self.membership(step, operands[0], operands[1].value)
        return step

    def conditional(self, number: int, operands: list[Step]) -> Step:
        condition, truthy, falsy = operands
        branches = [
            branch.attribute if isinstance(branch, _Access) else _Relative(branch.number, branch)
            for branch in (truthy, falsy)
        ]
        return _Access(_Conditional(number, condition, branches[0], branches[1]))

    def equality(self, number: int, function: str, operands: list[Step]) -> Step:
        if function == "_==_":
            return _Call(number, function, "equals", equal, operands, dynamic=False)
        return _Call(number, function, "not_equals", different, operands, dynamic=False)

    def membership(self, step: _Call, value: Step, items: Value) -> Step:
        if not isinstance(items, list):
            return step
        if not items:
            return _Constant(step.number, value=False)
        keys = constant_keys(items)
        return step if keys is None else _Member(step.number, value, keys)

    def list_literal(self, node: ListLiteral) -> Step:
        elements = [self.plan(element) for element in node.elements]
        step = _List(node.number, elements, node.optional)
        if all(isinstance(element, _Constant) for element in elements):
            return self.folded(step)
        return step

    def map_literal(self, node: MapLiteral) -> Step:
        entries = [
            (self.plan(entry.key), self.plan(entry.value), entry.optional)
            for entry in node.entries
            if isinstance(entry.key, Node)
        ]
        step = _Map(node.number, entries)
        if all(isinstance(part, _Constant) for entry in entries for part in entry[:2]):
            return self.folded(step)
        return step

    def folded(self, step: _List | _Map) -> Step:
        frame = Frame(Meter(self.environment.minor), None, None)
        try:
            return _Constant(step.number, step.compute(frame))
        except Panic as problem:
            raise PlanError(problem.message) from None


def different(left: Value, right: Value) -> bool:
    """Whether two values are not equal; what cannot be compared is different."""
    try:
        return not equal(left, right)
    except EvalError:
        return True


def constant_keys(items: list[Value]) -> frozenset[object] | None:
    """Return the keys that a constant list holds, equal numbers of other types included.

    None where an item is not of a basic type: then the list is searched.
    """
    keys: set[object] = set()
    for item in items:
        kind = type(item)
        if kind not in {bool, int, Uint, float, str}:
            return None
        keys.add(map_key(item))
        if isinstance(item, float):
            if item == item // 1:
                if -(2.0**63) < item < 2.0**63:
                    keys.add((int, int(item)))
                if 0 <= item < 2.0**64:
                    keys.add((Uint, int(item)))
        elif isinstance(item, int) and kind is not bool:
            keys.add((float, float(item)))
            if kind is int and item >= 0:
                keys.add((Uint, int(item)))
            if kind is Uint and item < 1 << 63:
                keys.add((int, int(item)))
    return frozenset(keys)
