"""Evaluation with Kubernetes' run-time cost: step by step as cel-go's interpreter takes them.

The cost of an evaluation is defined by cel-go's plan of it (interpreter/planner.go, decorators.go,
attributes.go, interpretable.go, runtimecost.go): which lists are folded ahead, which accesses are
steps of their own, and which values a call finds on the stack of results. So this plan has the same
steps, with the same numbers. `evaluator` gives the same answers faster and counts nothing.

A step evaluates to a value or raises `EvalError`; like a value, an error is a result that is noted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.dra.cel.attributes import ComputedKey, Conditional, Key, Named, Relative
from claimfit.dra.cel.comparison import constant_keys, different, equal
from claimfit.dra.cel.dispatch import implementation, with_pattern
from claimfit.dra.cel.meter import COST_LIMIT, Frame, Meter
from claimfit.dra.cel.steps import (
    AccessStep,
    CallStep,
    Constant,
    FoldStep,
    ListStep,
    Logic,
    MapStep,
    Membership,
    NotStrictlyFalse,
    OptionalOr,
)
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
from claimfit.dra.cel.values import EvalError, Panic, PlanError, TypeValue, go_type

if TYPE_CHECKING:
    from claimfit.dra.cel.environment import Environment
    from claimfit.dra.cel.meter import Result
    from claimfit.dra.cel.steps import Step
    from claimfit.dra.cel.values import Value


__all__ = ["Plan"]


CONVERSIONS: Final = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
)
"""Functions that are carried out ahead when their operand is a constant."""


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


# --- attributes: names and values with accesses to their members ----------------------------------


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
            return Constant(node.number, node.value)
        if isinstance(node, ListLiteral):
            return self.list_literal(node)
        if isinstance(node, MapLiteral):
            return self.map_literal(node)
        if not isinstance(node, Comprehension):
            raise PlanError("messages cannot be built")
        parts = (node.initial, node.subject, node.condition, node.step, node.result)
        initial, subject, condition, step, result = map(self.plan, parts)
        return FoldStep(node, (initial, subject, condition, step, result))

    def ident(self, number: int, node: Node, name: str) -> Step:
        if node.type.kind == "type":
            return Constant(number, TypeValue(name))
        return AccessStep(Named(number, name))

    def select(self, node: Select) -> Step:
        if node.resolved:
            return self.ident(node.number, node, node.resolved)
        access = self.attribute(self.plan(node.operand))
        key = Key(node.number, node.field, optional=False, test=node.test_only)
        access.attribute.add(key)
        if node.test_only:
            return AccessStep(access.attribute, test_number=node.number)
        return access

    def attribute(self, step: Step, number: int = 0) -> AccessStep:
        """Return `step` as one that takes accesses."""
        if isinstance(step, AccessStep) and not step.test_number:
            return step
        return AccessStep(Relative(number or step.number, step))

    def index(self, node: Call) -> Step:
        operand, key = node.arguments
        optional = node.function != "_[_]"
        access = self.attribute(self.plan(operand))
        found = self.plan(key)
        number = node.number
        if isinstance(found, Constant):
            if not isinstance(found.value, str | int | float):
                raise PlanError("invalid qualifier type: %s", go_type(found.value))
            access.attribute.add(Key(number, found.value, optional=optional))
        elif isinstance(found, AccessStep):
            computed = ComputedKey(number, found.attribute, optional=optional, relative=False)
            access.attribute.add(computed)
        else:
            relative = Relative(number, found)
            access.attribute.add(ComputedKey(number, relative, optional=optional, relative=True))
        return access

    def call(self, node: Call) -> Step:
        if node.function in {"_[_]", "_[?_]", "_?._"}:
            return self.index(node)
        nodes = [node.target, *node.arguments] if node.target else node.arguments
        operands = [self.plan(operand) for operand in nodes]
        number, function = node.number, node.function
        if function in {"_&&_", "_||_"}:
            return Logic(number, operands, decisive=function == "_||_")
        if function == "_?_:_":
            return self.conditional(number, operands)
        if function in {"_==_", "_!=_"}:
            return self.equality(number, function, operands)
        if function in {"or", "orValue"}:
            strict = self.environment.minor >= 37
            return OptionalOr(number, *operands, unwraps=function == "orValue", strict=strict)
        if function == "@not_strictly_false":
            return NotStrictlyFalse(
                number, function, "not_strictly_false", bool, operands, dynamic=False
            )
        return self.function(node, operands)

    def function(self, node: Call, operands: list[Step]) -> Step:
        found = implementation(node, self.environment)
        pattern = operands[1] if len(operands) > 1 else None
        if isinstance(pattern, Constant) and isinstance(pattern.value, str):
            prepared = with_pattern(node, pattern.value)
            if isinstance(prepared, str):
                raise PlanError(prepared)
            found = prepared or found
        step = CallStep(
            node.number,
            node.function,
            found.overload,
            found.run,
            operands,
            dynamic=found.dynamic,
        )
        first = operands[0] if operands else None
        if node.function in CONVERSIONS and isinstance(first, Constant) and len(operands) == 1:
            try:
                return Constant(node.number, found.run(first.value))
            except EvalError as problem:
                raise PlanError(problem.message) from None
        if found.overload == "in_list" and isinstance(operands[1], Constant):
            return self.membership(step, operands[0], operands[1].value)
        return step

    def conditional(self, number: int, operands: list[Step]) -> Step:
        condition, truthy, falsy = operands
        branches = [
            branch.attribute if isinstance(branch, AccessStep) else Relative(branch.number, branch)
            for branch in (truthy, falsy)
        ]
        return AccessStep(Conditional(number, condition, branches[0], branches[1]))

    def equality(self, number: int, function: str, operands: list[Step]) -> Step:
        if function == "_==_":
            return CallStep(number, function, "equals", equal, operands, dynamic=False)
        return CallStep(number, function, "not_equals", different, operands, dynamic=False)

    def membership(self, step: CallStep, value: Step, items: Value) -> Step:
        if not isinstance(items, list):
            return step
        if not items:
            return Constant(step.number, value=False)
        keys = constant_keys(items)
        return step if keys is None else Membership(step.number, value, keys)

    def list_literal(self, node: ListLiteral) -> Step:
        elements = [self.plan(element) for element in node.elements]
        step = ListStep(node.number, elements, node.optional)
        if all(isinstance(element, Constant) for element in elements):
            return self.folded(step)
        return step

    def map_literal(self, node: MapLiteral) -> Step:
        entries = [
            (self.plan(entry.key), self.plan(entry.value), entry.optional)
            for entry in node.entries
            if isinstance(entry.key, Node)
        ]
        step = MapStep(node.number, entries)
        if all(isinstance(part, Constant) for entry in entries for part in entry[:2]):
            return self.folded(step)
        return step

    def folded(self, step: ListStep | MapStep) -> Step:
        frame = Frame(Meter(self.environment.minor), None, None)
        try:
            return Constant(step.number, step.compute(frame))
        except Panic as problem:
            raise PlanError(problem.message) from None
