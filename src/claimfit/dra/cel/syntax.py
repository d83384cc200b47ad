"""The abstract syntax of CEL: eight kinds of node, each with its place in the text.

A node's `type` and, for calls, `overloads` are filled in by the checker. `number` tells nodes apart
in the run-time cost model, which is defined over numbered nodes (interpreter/runtimecost.go).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from claimfit.dra.cel.types import ERROR

if TYPE_CHECKING:
    from claimfit.dra.cel.types import Type
    from claimfit.dra.cel.values import Value

__all__ = [
    "Call",
    "Comprehension",
    "Entry",
    "FoldParts",
    "Ident",
    "ListLiteral",
    "Literal",
    "MapLiteral",
    "Node",
    "Select",
    "StructLiteral",
    "children",
]


class Node:
    """Base of all nodes.

    Attributes:
        number: unique in the expression.
        offset: where messages about this node point, in code points; for an operator or a call
            this is the operator sign or the opening parenthesis.
        start: first code point of the node's text.
        stop: code point after its last.
        type: the checked type; the error type before the check.
    """

    __slots__ = ("number", "offset", "start", "stop", "type")

    number: int
    offset: int
    start: int
    stop: int
    type: Type

    def __init__(self, number: int, offset: int) -> None:
        self.number = number
        self.offset = offset
        self.start = offset
        self.stop = offset
        self.type = ERROR


class Literal(Node):
    """A constant."""

    __slots__ = ("value",)

    def __init__(self, number: int, offset: int, value: Value) -> None:
        super().__init__(number, offset)
        self.value = value


class Ident(Node):
    """A variable, or a type name."""

    __slots__ = ("name",)

    def __init__(self, number: int, offset: int, name: str) -> None:
        super().__init__(number, offset)
        self.name = name


class Select(Node):
    """A field of a value; with `test_only` the question whether it is there, from ``has()``.

    `resolved` is set by the checker where the whole is a declared name with dots.
    """

    __slots__ = ("field", "operand", "resolved", "test_only")

    def __init__(
        self, number: int, offset: int, operand: Node, field: str, *, test_only: bool = False
    ) -> None:
        super().__init__(number, offset)
        self.operand = operand
        self.field = field
        self.test_only = test_only
        self.resolved = ""


class Call(Node):
    """An operator, a function (`target` None) or a method."""

    __slots__ = ("arguments", "function", "overloads", "target")

    overloads: tuple[str, ...]

    def __init__(
        self,
        number: int,
        offset: int,
        function: str,
        arguments: list[Node],
        target: Node | None = None,
    ) -> None:
        super().__init__(number, offset)
        self.function = function
        self.arguments = arguments
        self.target = target
        self.overloads = ()


class ListLiteral(Node):
    """A list; elements at `optional` positions are left out when they hold nothing."""

    __slots__ = ("elements", "optional")

    def __init__(
        self, number: int, offset: int, elements: list[Node], optional: frozenset[int] = frozenset()
    ) -> None:
        super().__init__(number, offset)
        self.elements = elements
        self.optional = optional


class Entry:
    """One entry of a map (`key` is a node) or of a message (`key` is a field name)."""

    __slots__ = ("key", "number", "offset", "optional", "value")

    def __init__(
        self, number: int, offset: int, key: Node | str, value: Node, *, optional: bool = False
    ) -> None:
        self.number = number
        self.offset = offset
        self.key = key
        self.value = value
        self.optional = optional


class MapLiteral(Node):
    """A map."""

    __slots__ = ("entries",)

    def __init__(self, number: int, offset: int, entries: list[Entry]) -> None:
        super().__init__(number, offset)
        self.entries = entries


class StructLiteral(Node):
    """A message with a type name; no message type can be built in this environment."""

    __slots__ = ("entries", "name")

    def __init__(self, number: int, offset: int, name: str, entries: list[Entry]) -> None:
        super().__init__(number, offset)
        self.name = name
        self.entries = entries


class FoldParts(NamedTuple):
    """What a fold goes over, starts with, checks, does and gives."""

    subject: Node
    initial: Node
    condition: Node
    step: Node
    result: Node


class Comprehension(Node):
    """A fold over a list or a map, which is what the macros expand to.

    `second` names the value of an entry when `first` names its key; empty with one variable.
    """

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

    def __init__(
        self,
        number: int,
        offset: int,
        variables: tuple[str, str],
        accumulator: str,
        parts: FoldParts,
    ) -> None:
        super().__init__(number, offset)
        self.first, self.second = variables
        self.accumulator = accumulator
        self.subject, self.initial, self.condition, self.step, self.result = parts


def children(node: Node) -> list[Node]:
    """Return the nodes directly below `node`, in source order."""
    if isinstance(node, Select):
        return [node.operand]
    if isinstance(node, Call):
        return [*([node.target] if node.target else ()), *node.arguments]
    if isinstance(node, ListLiteral):
        return node.elements
    if isinstance(node, MapLiteral | StructLiteral):
        found: list[Node] = []
        for entry in node.entries:
            if isinstance(entry.key, Node):
                found.append(entry.key)
            found.append(entry.value)
        return found
    if isinstance(node, Comprehension):
        return [node.subject, node.initial, node.condition, node.step, node.result]
    return []
