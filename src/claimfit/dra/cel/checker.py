"""Type checker: gives every node its type and every call its overloads, or says what is wrong.

Follows cel-go (checker/checker.go): a problem makes the node an error type, which goes with
everything, and the check goes on, so that independent problems are all reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.dra.cel import types as t
from claimfit.dra.cel.source import Issue
from claimfit.dra.cel.syntax import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
    StructLiteral,
)
from claimfit.dra.cel.unification import Unifier, most_general
from claimfit.dra.cel.values import Uint

if TYPE_CHECKING:
    from claimfit.dra.cel.environment import Environment, Function
    from claimfit.dra.cel.source import Source
    from claimfit.dra.cel.syntax import Node
    from claimfit.dra.cel.types import Type

__all__ = ["check"]


def check(tree: Node, environment: Environment, source: Source) -> list[Issue]:
    """Give each node of `tree` its type and overloads; return the problems found."""
    checker = _Checker(environment, source)
    checker.check(tree)
    for node in checker.typed:
        node.type = checker.unifier.substituted(node.type, dyn=True)
    return checker.issues


class _Checker:
    """One check."""

    def __init__(self, environment: Environment, source: Source) -> None:
        self.environment = environment
        self.source = source
        self.issues: list[Issue] = []
        self.unifier = Unifier()
        self.typed: list[Node] = []
        self.scopes: list[dict[str, Type]] = [{"device": t.struct("kubernetes.DRADevice")}]

    # --- bookkeeping ------------------------------------------------------------------------------

    def report(self, node: Node, message: str) -> None:
        self.issues.append(Issue(self.source.location(node.offset), message))

    def settle(self, node: Node, found: Type) -> None:
        node.type = found
        self.typed.append(node)

    def lookup(self, name: str) -> Type | None:
        name = name.removeprefix(".")
        for scope in reversed(self.scopes):
            found = scope.get(name)
            if found is not None:
                return found
        return self.environment.names.get(name)

    def function(self, name: str) -> Function | None:
        return self.environment.functions.get(name.removeprefix("."))

    # --- nodes ------------------------------------------------------------------------------------

    def check(self, node: Node) -> None:
        if isinstance(node, Call):
            self.call(node)
        elif isinstance(node, Select):
            self.select(node)
        elif isinstance(node, Ident):
            self.ident(node)
        elif isinstance(node, Literal):
            self.settle(node, _LITERAL_TYPES[type(node.value)])
        elif isinstance(node, ListLiteral):
            self.list_literal(node)
        elif isinstance(node, MapLiteral):
            self.map_literal(node)
        elif isinstance(node, Comprehension):
            self.fold(node)
        elif isinstance(node, StructLiteral):
            self.struct(node)

    def ident(self, node: Ident) -> None:
        found = self.lookup(node.name)
        if found is None:
            self.undeclared(node, node.name)
        else:
            node.name = node.name.removeprefix(".")
        self.settle(node, found or t.ERROR)

    def undeclared(self, node: Node, name: str) -> None:
        self.report(node, f"undeclared reference to '{name}' (in container '')")

    def select(self, node: Select) -> None:
        name = _qualified(node)
        if name is not None:
            found = self.lookup(name)
            if found is not None:
                node.resolved = name.removeprefix(".")
                self.settle(node, found)
                return
        result = self.field(node, node.operand, node.field, optional=False)
        if node.test_only:
            result = t.BOOL
        self.settle(node, self.unifier.substituted(result))

    def optional_select(self, node: Call) -> None:
        operand, field = node.arguments
        name = str(field.value) if isinstance(field, Literal) else ""
        result = self.field(node, operand, name, optional=True)
        self.settle(field, t.STRING)
        self.settle(node, self.unifier.substituted(result))
        node.overloads = ("select_optional_field",)

    def field(self, node: Node, operand: Node, field: str, *, optional: bool) -> Type:
        self.check(operand)
        target = self.unifier.substituted(operand.type)
        unwrapped = target.is_optional
        if unwrapped:
            target = target.parameters[0]
        result = t.ERROR
        if target.kind == "map":
            result = target.parameters[1]
        elif target.kind == "struct":
            result = self.struct_field(node, target, field)
        elif target.kind == "parameter":
            self.unifier.assignable(t.DYN, target)
            result = t.DYN
        else:
            if not target.is_dyn and target.kind != "error":
                self.report(node, f"type '{target}' does not support field selection")
            result = t.DYN
        return t.optional_of(result) if unwrapped or optional else result

    def struct_field(self, node: Node, target: Type, field: str) -> Type:
        if target.name != "kubernetes.DRADevice":
            self.report(node, f"unexpected failed resolution of '{target.name}'")
            return t.ERROR
        found = self.environment.fields.get(field)
        if found is None:
            self.report(node, f"undefined field '{field}'")
            return t.ERROR
        return found

    def list_literal(self, node: ListLiteral) -> None:
        item: Type | None = None
        for place, element in enumerate(node.elements):
            self.check(element)
            found = self.entry_type(element, optional=place in node.optional)
            item = self.joined(item, found)
        self.settle(node, t.list_of(item or self.unifier.fresh()))

    def map_literal(self, node: MapLiteral) -> None:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            if isinstance(entry.key, str):
                continue
            self.check(entry.key)
            key = self.joined(key, entry.key.type)
            self.check(entry.value)
            value = self.joined(value, self.entry_type(entry.value, optional=entry.optional))
        if key is None or value is None:
            key, value = self.unifier.fresh(), self.unifier.fresh()
        self.settle(node, t.map_of(key, value))

    def entry_type(self, node: Node, *, optional: bool) -> Type:
        """Return the type that `node` puts into an aggregate; an optional puts its value."""
        if not optional:
            return node.type
        if node.type.is_optional:
            return node.type.parameters[0]
        if not node.type.is_dyn:
            wanted = t.optional_of(node.type)
            self.report(node, f"expected type '{wanted}' but found '{node.type}'")
        return node.type

    def joined(self, before: Type | None, found: Type) -> Type:
        """Return the type that covers both."""
        if before is None:
            return found
        if self.unifier.assignable(before, found):
            return most_general(before, found)
        return t.DYN

    def struct(self, node: StructLiteral) -> None:
        """No message type can be built here; the values are checked all the same."""
        found = self.lookup(node.name)
        if found is None:
            self.undeclared(node, node.name)
        else:
            self.report(node, f"'{node.name}' is not a message type")
        for entry in node.entries:
            if found is not None:
                self.check(entry.value)
        self.settle(node, t.ERROR)

    def fold(self, node: Comprehension) -> None:
        self.check(node.subject)
        self.check(node.initial)
        first, second = self.variables(node, self.unifier.substituted(node.subject.type))
        self.scopes.append({node.accumulator: node.initial.type})
        inner = {node.first: first}
        if node.second:
            inner[node.second] = second
        self.scopes.append(inner)
        self.check(node.condition)
        self.expect(node.condition, t.BOOL)
        self.check(node.step)
        self.expect(node.step, node.initial.type)
        self.scopes.pop()
        self.check(node.result)
        self.scopes.pop()
        self.settle(node, self.unifier.substituted(node.result.type))

    def variables(self, node: Comprehension, subject: Type) -> tuple[Type, Type]:
        """Return the types of the one or two variables of a fold over `subject`."""
        if subject.kind == "list":
            item = subject.parameters[0]
            return (t.INT, item) if node.second else (item, item)
        if subject.kind == "map":
            return subject.parameters[0], subject.parameters[1]
        if subject.kind in {"dyn", "error", "parameter"}:
            self.unifier.assignable(t.DYN, subject)
            return t.DYN, t.DYN
        message = (
            f"expression of type '{subject}' cannot be range of a comprehension "
            "(must be list, map, or dynamic)"
        )
        self.report(node.subject, message)
        return t.ERROR, t.ERROR

    def expect(self, node: Node, wanted: Type) -> None:
        if not self.unifier.assignable(wanted, node.type):
            self.report(node, f"expected type '{wanted}' but found '{node.type}'")

    # --- calls ------------------------------------------------------------------------------------

    def call(self, node: Call) -> None:
        if node.function == "_?._":
            self.optional_select(node)
            return
        for argument in node.arguments:
            self.check(argument)
        if node.target is not None:
            prefix = _qualified(node.target)
            if prefix is not None:
                function = self.function(f"{prefix}.{node.function}")
                if function is not None:
                    node.target = None
                    self.resolve(node, function)
                    return
            self.check(node.target)
        function = self.function(node.function)
        if function is None:
            self.undeclared(node, node.function)
            self.settle(node, t.ERROR)
            return
        self.resolve(node, function)

    def resolve(self, node: Call, function: Function) -> None:
        node.function = function.name
        operands = [node.target, *node.arguments] if node.target else node.arguments
        given = [operand.type for operand in operands]
        if function.name in {"_&&_", "_||_"}:
            self.logic(node, function, given)
            return
        result: Type | None = None
        chosen: list[str] = []
        for overload in function.overloads:
            if overload.method is not (node.target is not None):
                continue
            arguments, returned = overload.arguments, overload.result
            if overload.generic:
                names: dict[str, Type] = {}
                arguments = tuple(self.unifier.renamed(one, names) for one in arguments)
                returned = self.unifier.renamed(returned, names)
            if not self.unifier.all_assignable(given, arguments):
                continue
            chosen.append(overload.name)
            returned = self.unifier.substituted(returned)
            if result is None:
                result = returned
            elif not result.is_dyn and not returned.exactly(result):
                result = t.DYN
        if result is None:
            shown = [self.unifier.substituted(one, dyn=True) for one in given]
            applied = t.function_text(shown, method=node.target is not None)
            message = f"found no matching overload for '{function.name}' applied to '{applied}'"
            self.report(node, message)
            self.settle(node, t.ERROR)
            return
        node.overloads = tuple(chosen)
        self.settle(node, result)

    def logic(self, node: Call, function: Function, given: list[Type]) -> None:
        """Check the operands of ``&&`` and ``||`` one by one."""
        fine = True
        for operand, found in zip(node.arguments, given, strict=True):
            if not self.unifier.assignable(found, t.BOOL):
                self.report(operand, f"expected type 'bool' but found '{found}'")
                fine = False
        node.overloads = (function.overloads[0].name,)
        self.settle(node, t.BOOL if fine else t.ERROR)


def _qualified(node: Node) -> str | None:
    """Return the name with dots that `node` writes, or None when it is more than a name."""
    parts: list[str] = []
    while isinstance(node, Select):
        if node.test_only:
            return None
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    parts.append(node.name)
    return ".".join(reversed(parts))


_LITERAL_TYPES: dict[type, Type] = {
    bool: t.BOOL,
    int: t.INT,
    Uint: t.UINT,
    float: t.DOUBLE,
    str: t.STRING,
    bytes: t.BYTES,
    type(None): t.NULL,
}
