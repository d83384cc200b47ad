"""Checks of literals after the type check (cel-go cel/validator.go and ext/formatting.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.dra.cel.dispatch import implementation
from claimfit.dra.cel.regular_expressions import problem
from claimfit.dra.cel.source import Issue
from claimfit.dra.cel.string_format import check_call
from claimfit.dra.cel.syntax import Call, ListLiteral, Literal, MapLiteral, Node, children
from claimfit.dra.cel.values import EvalError

if TYPE_CHECKING:
    from claimfit.dra.cel.environment import Environment
    from claimfit.dra.cel.source import Source
    from claimfit.dra.cel.types import Type

__all__ = ["validate"]


def validate(tree: Node, environment: Environment, source: Source) -> list[Issue]:
    """Return what is wrong with literals of the checked `tree`.

    Times and patterns must be readable, lists and maps of one type (those for ``format`` aside),
    and constant formats must suit their arguments.
    """
    found: list[Issue] = []

    def report(node: Node, message: str) -> None:
        found.append(Issue(source.location(node.offset), message))

    pending: list[tuple[Node, bool]] = [(tree, False)]
    while pending:
        node, exempt = pending.pop()
        if isinstance(node, Call):
            wrong = _call_problem(node, environment)
            if wrong is not None:
                report(*wrong)
            exempt = exempt or node.function == "format"
        elif not exempt:
            for wrong in _mixed(node):
                report(*wrong)
        pending += [(child, exempt) for child in children(node)]
    return found


def _call_problem(node: Call, environment: Environment) -> tuple[Node, str] | None:
    if node.function == "format" and "string_format" in node.overloads:
        return check_call(node)
    first = node.arguments[0] if node.arguments else None
    if not isinstance(first, Literal):
        return None
    if node.function in {"duration", "timestamp"}:
        try:
            implementation(node, environment).run(first.value)
        except EvalError:
            return first, f"invalid {node.function} argument"
    elif node.function == "matches" and isinstance(first.value, str) and problem(first.value):
        return first, "invalid matches argument"
    return None


def _mixed(node: Node) -> list[tuple[Node, str]]:
    """Return the members of a list or a map whose type differs from the first one's."""
    found: list[tuple[Node, str]] = []
    if isinstance(node, ListLiteral):
        first: Type | None = None
        for place, element in enumerate(node.elements):
            kind = element.type.parameters[0] if place in node.optional else element.type
            if first is None:
                first = kind
            elif not first.exactly(kind):
                found.append((element, _mismatch(first, kind)))
                break
    elif isinstance(node, MapLiteral):
        types: list[Type] = []
        for entry in node.entries:
            if not isinstance(entry.key, Node):
                continue
            kind = entry.value.type.parameters[0] if entry.optional else entry.value.type
            if not types:
                types = [entry.key.type, kind]
                continue
            pairs = ((entry.key, types[0], entry.key.type), (entry.value, types[1], kind))
            for member, wanted, given in pairs:
                if not wanted.exactly(given):
                    found.append((member, _mismatch(wanted, given)))
    return found


def _mismatch(wanted: Type, given: Type) -> str:
    return f"expected type '{wanted}' but found '{given}'"
