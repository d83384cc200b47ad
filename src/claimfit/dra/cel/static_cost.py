"""The worst-case cost of an expression, which the API server limits to 1,000,000.

Follows cel-go (checker/cost.go) with the sizes that Kubernetes declares for a device
(k8s.io/dynamic-resource-allocation/cel): 32 domains of at most 63 characters, 32 names of at most
32, values of at most 64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.dra.cel.call_estimates import library_estimate
from claimfit.dra.cel.declared_sizes import declared_size
from claimfit.dra.cel.estimate import LARGEST, UNKNOWN, ZERO, CallEstimate, Operand, Range, exactly
from claimfit.dra.cel.nodes import ACCUMULATOR
from claimfit.dra.cel.syntax import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)

if TYPE_CHECKING:
    from claimfit.dra.cel.environment import Environment
    from claimfit.dra.cel.types import Type

__all__ = ["static_cost"]

_STRING: Final = 0.1
_PATTERN: Final = 0.25
_ONE: Final = exactly(1)


class _Members(NamedTuple):
    """The sizes of a list's or a map's members."""

    kind: str
    key: Range
    value: Range


class _Variable(NamedTuple):
    """A variable of a fold."""

    path: tuple[str, ...]
    size: Range | None
    members: _Members | None


def static_cost(tree: Node, environment: Environment) -> int:
    """Return the highest cost that evaluating the checked `tree` can have."""
    return _Estimator(environment).cost(tree).high


class _Estimator:
    """One estimate."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.paths: dict[int, tuple[str, ...]] = {}
        self.sizes: dict[int, Range] = {}
        self.members: dict[int, _Members] = {}
        self.variables: dict[str, list[_Variable]] = {}

    # --- nodes ------------------------------------------------------------------------------------

    def cost(self, node: Node) -> Range:
        if isinstance(node, Call):
            return self.call(node)
        if isinstance(node, Select):
            return self.select(node)
        if isinstance(node, Ident):
            return self.ident(node, node.name)
        if isinstance(node, ListLiteral):
            return self.list_literal(node)
        if isinstance(node, MapLiteral):
            return self.map_literal(node)
        if isinstance(node, Comprehension):
            return self.binding(node) if _is_binding(node) else self.fold(node)
        if isinstance(node, StructLiteral):
            return exactly(40)
        return ZERO

    def ident(self, node: Node, name: str) -> Range:
        variable = self.variable(name)
        self.paths[node.number] = variable.path if variable else (name,)
        return _ONE

    def select(self, node: Select) -> Range:
        if node.resolved:
            return self.ident(node, node.resolved)
        total = self.cost(node.operand)
        if node.test_only:
            return total
        if node.operand.type.kind in {"map", "struct", "parameter"}:
            total = total.plus(_ONE)
        self.paths[node.number] = (*self.path(node.operand), node.field)
        return total

    def list_literal(self, node: ListLiteral) -> Range:
        total = exactly(10)
        item = Range(LARGEST if node.elements else 0, 0)
        for element in node.elements:
            total = total.plus(self.cost(element))
            item = item.union(self.size_or_unknown(element))
        self.members[node.number] = _Members("list", _ONE, item)
        return total

    def map_literal(self, node: MapLiteral) -> Range:
        total = exactly(30)
        key = value = Range(LARGEST if node.entries else 0, 0)
        for entry in node.entries:
            if isinstance(entry.key, Node):
                total = total.plus(self.cost(entry.key))
                key = key.union(self.size_or_unknown(entry.key))
            total = total.plus(self.cost(entry.value))
            value = value.union(self.size_or_unknown(entry.value))
        self.members[node.number] = _Members("map", key, value)
        return total

    def binding(self, node: Comprehension) -> Range:
        total = self.cost(node.subject).plus(self.cost(node.initial))
        self.push(node.accumulator, self.local(node.initial))
        total = total.plus(self.cost(node.result))
        self.pop(node.accumulator)
        self.copy_sizes(node, node.result)
        return total

    def fold(self, node: Comprehension) -> Range:
        total = self.cost(node.subject).plus(self.cost(node.initial))
        self.push(node.accumulator, self.local(node.initial))
        self.push_variables(node)
        condition = self.cost(node.condition)
        step = self.cost(node.step)
        self.pop(node.first)
        if node.second:
            self.pop(node.second)
        total = total.plus(self.cost(node.result))
        self.pop(node.accumulator)
        count = self.size_or_unknown(node.subject)
        total = total.plus(count.times(step.plus(condition)))
        if isinstance(node.initial, Literal):
            self.set_size(node, self.size(node.initial))
        elif isinstance(node.initial, ListLiteral | MapLiteral):
            self.set_size(node, count)
            self.set_members(node, self.members_of(node.step))
        return total

    def push_variables(self, node: Comprehension) -> None:
        members = self.members_of(node.subject)
        kind = members.kind if members else node.subject.type.kind
        path = self.path(node.subject)
        key = members.key if members else None
        value = members.value if members else None
        listed = kind == "list"
        if node.second:
            first = (*path, "@indices" if listed else "@keys")
            second = (*path, "@items" if listed else "@values")
            self.push(node.first, _Variable(first, key, None))
            self.push(node.second, _Variable(second, value, None))
            return
        only = (*path, "@items" if listed else "@keys")
        self.push(node.first, _Variable(only, value if listed else key, None))

    # --- calls ------------------------------------------------------------------------------------

    def call(self, node: Call) -> Range:
        if node.function == "dyn":
            total = self.cost(node.arguments[0]).plus(_ONE)
            self.copy_sizes(node, node.arguments[0])
            return total
        costs = []
        arguments = []
        for argument in node.arguments:
            costs.append(self.cost(argument))
            arguments.append(self.operand(argument))
        total = ZERO
        target = None
        if node.target is not None:
            total = self.cost(node.target)
            target = self.operand(node.target)
        price = Range(LARGEST, 0)
        result: Range | None = None
        for overload in node.overloads:
            estimate = self.overload(node, overload, target, arguments, costs)
            price = price.union(estimate.cost)
            if estimate.size is not None:
                result = estimate.size if result is None else result.union(estimate.size)
            result = self.indexed(node, overload, result)
            if result is None:
                result = self.size(node)
        self.set_size(node, result)
        return total.plus(price)

    def indexed(self, node: Call, overload: str, result: Range | None) -> Range | None:
        """Note the path of an indexed member; return the size known for it."""
        if overload not in {"index_list", "index_map"}:
            return result
        holder = node.arguments[0]
        step = "@items" if overload == "index_list" else "@values"
        members = self.members_of(holder)
        self.paths[node.number] = (*self.path(holder), step)
        return members.value if members else None

    def overload(
        self,
        node: Call,
        overload: str,
        target: Operand | None,
        arguments: list[Operand],
        costs: list[Range],
    ) -> CallEstimate:
        together = ZERO
        for cost in costs:
            together = together.plus(cost)
        estimate = library_estimate(
            self.environment.minor, node.function, overload, target, arguments
        )
        if estimate is None:
            if overload in {"logical_or", "logical_and"}:
                return CallEstimate(Range(costs[0].low, costs[0].plus(costs[1]).high))
            if overload == "conditional":
                return self.conditional(node, arguments, costs)
            estimate = self.standard(node, overload, target, arguments)
        return CallEstimate(estimate.cost.plus(together), estimate.size)

    def conditional(self, node: Call, arguments: list[Operand], costs: list[Range]) -> CallEstimate:
        size = _size(arguments[1]).union(_size(arguments[2]))
        self.set_members(node, self.joined_members(node.arguments[1], node.arguments[2]))
        return CallEstimate(costs[0].plus(costs[1].union(costs[2])), size)

    def standard(
        self, node: Call, overload: str, target: Operand | None, arguments: list[Operand]
    ) -> CallEstimate:
        """Return the estimate of a standard function without its arguments' costs."""
        if overload in {"add_string", "add_bytes", "add_list"}:
            size = _size(arguments[0]).plus(_size(arguments[1]))
            members = self.joined_members(node.arguments[0], node.arguments[1])
            self.set_members(node, members)
            return CallEstimate(_ONE if overload == "add_list" else size.by(_STRING), size)
        if overload in _COMPARED:
            high = min(_size(arguments[0]).high, _size(arguments[1]).high)
            return CallEstimate(Range(1 if high else 0, high).by(_STRING))
        return _by_overload(self.environment.minor, overload, target, arguments)

    def joined_members(self, left: Node, right: Node) -> _Members | None:
        one, two = self.members_of(left), self.members_of(right)
        if one is None or two is None:
            return None
        return _Members(one.kind, one.key.union(two.key), one.value.union(two.value))

    # --- sizes and paths --------------------------------------------------------------------------

    def operand(self, node: Node) -> Operand:
        path = self.path(node)
        if path and path[0] in {ACCUMULATOR, "__result__"}:
            path = ()
        return Operand(node, node.type, path, self.size(node))

    def path(self, node: Node) -> tuple[str, ...]:
        if isinstance(node, Ident):
            variable = self.variable(node.name)
            if variable is not None:
                return variable.path
        return self.paths.get(node.number, ())

    def size(self, node: Node) -> Range | None:
        known = self.sizes.get(node.number)
        if known is not None:
            return known
        known = _literal_size(node)
        if known is not None:
            return known
        known = declared_size(self.path(node))
        if known is not None:
            self.sizes[node.number] = known
            return known
        if _is_scalar(node.type):
            return _ONE
        if isinstance(node, Ident):
            variable = self.variable(node.name)
            if variable is not None:
                return variable.size
        return None

    def size_or_unknown(self, node: Node) -> Range:
        return self.size(node) or UNKNOWN

    def set_size(self, node: Node, size: Range | None) -> None:
        if size is not None:
            self.sizes[node.number] = size

    def members_of(self, node: Node) -> _Members | None:
        known = self.members.get(node.number)
        if known is None and isinstance(node, Ident):
            variable = self.variable(node.name)
            known = variable.members if variable else None
        return known

    def set_members(self, node: Node, members: _Members | None) -> None:
        if members is not None:
            self.members[node.number] = members

    def copy_sizes(self, to: Node, source: Node) -> None:
        self.set_size(to, self.size(source))
        self.set_members(to, self.members_of(source))

    def local(self, node: Node) -> _Variable:
        return _Variable(self.path(node), self.size(node), self.members_of(node))

    def variable(self, name: str) -> _Variable | None:
        stack = self.variables.get(name)
        return stack[-1] if stack else None

    def push(self, name: str, variable: _Variable) -> None:
        self.variables.setdefault(name, []).append(variable)

    def pop(self, name: str) -> None:
        self.variables[name].pop()


_COMPARED: Final = frozenset(
    f"{relation}_{kind}"
    for relation in ("less", "greater", "less_equals", "greater_equals")
    for kind in ("string", "bytes")
) | {"equals", "not_equals"}


def _is_binding(node: Comprehension) -> bool:
    """Whether a fold is what ``cel.bind`` and the like expand to."""
    return (
        isinstance(node.subject, ListLiteral)
        and not node.subject.elements
        and isinstance(node.condition, Literal)
        and node.condition.value is False
        and node.accumulator != "__result__"
    )


def _size(operand: Operand) -> Range:
    return operand.size or UNKNOWN


def _literal_size(node: Node) -> Range | None:
    if isinstance(node, Literal):
        return exactly(len(node.value) if isinstance(node.value, str | bytes) else 1)
    if isinstance(node, ListLiteral):
        return exactly(len(node.elements))
    return exactly(len(node.entries)) if isinstance(node, MapLiteral) else None


def _is_scalar(kind: Type) -> bool:
    if kind.is_optional:
        return _is_scalar(kind.parameters[0])
    return kind.kind in {"bool", "double", "duration", "int", "timestamp", "uint"}


def _by_overload(
    minor: int, overload: str, target: Operand | None, arguments: list[Operand]
) -> CallEstimate:
    if overload == "string_format" and target is not None:
        return CallEstimate(_size(target).by(_STRING))
    if overload == "string_to_bytes":
        size = _size(arguments[0])
        return CallEstimate(size.by(_STRING), Range(size.low, size.high * 4 & LARGEST))
    if overload == "bytes_to_string":
        size = _size(arguments[0])
        return CallEstimate(size.by(_STRING), Range(size.low // 4, size.high))
    if overload == "strings_quote":
        size = _size(arguments[0])
        return CallEstimate(size.by(_STRING), Range(size.low + 2, size.high * 2 + 2 & LARGEST))
    if overload in {"starts_with_string", "ends_with_string"}:
        return CallEstimate(_size(arguments[0]).by(_STRING))
    if overload == "in_list":
        return CallEstimate(_size(arguments[1]).by(1))
    if overload == "matches_string" and target is not None:
        return CallEstimate(_matching(target, arguments[0]))
    if overload == "matches" and minor >= 37:
        return CallEstimate(_matching(arguments[0], arguments[1]))
    if overload == "contains_string" and target is not None:
        return CallEstimate(_size(target).by(_STRING).times(_size(arguments[0]).by(_STRING)))
    return CallEstimate(_ONE)


def _matching(subject: Operand, pattern: Operand) -> Range:
    return _size(subject).plus(_ONE).by(_STRING).times(_size(pattern).by(_PATTERN))
