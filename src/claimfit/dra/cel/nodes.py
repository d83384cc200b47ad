"""Makes numbered syntax nodes: for the parser, and for the macros that it expands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.dra.cel.syntax import (
    Call,
    Comprehension,
    Entry,
    FoldParts,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
    StructLiteral,
)

if TYPE_CHECKING:
    from claimfit.dra.cel.syntax import Node
    from claimfit.dra.cel.values import Value

__all__ = ["ACCUMULATOR", "Nodes"]

ACCUMULATOR: Final = "@result"
"""The variable that folds gather into; no name that can be written."""


class Nodes:
    """Numbers nodes in order; what a macro makes stands at `place`, the macro's parenthesis."""

    __slots__ = ("_last", "place")

    def __init__(self) -> None:
        self._last = 0
        self.place = 0

    def number(self) -> int:
        """Return the next number."""
        self._last += 1
        return self._last

    def discard(self, number: int) -> None:
        """Give `number` back when it was the last one (as cel-go does for expanded macros)."""
        if number == self._last:
            self._last -= 1

    # --- at a place of their own ------------------------------------------------------------------

    def literal(self, offset: int, value: Value) -> Literal:
        """Return a constant."""
        return Literal(self.number(), offset, value)

    def list_of(
        self, number: int, offset: int, elements: list[Node], optional: frozenset[int]
    ) -> ListLiteral:
        """Return a list."""
        return ListLiteral(number, offset, elements, optional)

    def map_of(self, number: int, offset: int, entries: list[Entry]) -> MapLiteral:
        """Return a map."""
        return MapLiteral(number, offset, entries)

    def message(self, number: int, offset: int, name: str, entries: list[Entry]) -> StructLiteral:
        """Return a message."""
        return StructLiteral(number, offset, name, entries)

    # --- at the place of the macro ----------------------------------------------------------------

    def constant(self, value: Value) -> Node:
        """Return a constant."""
        return Literal(self.number(), self.place, value)

    def ident(self, name: str) -> Node:
        """Return a variable."""
        return Ident(self.number(), self.place, name)

    def accumulator(self) -> Node:
        """Return the variable that the fold gathers into."""
        return self.ident(ACCUMULATOR)

    def call(self, function: str, *arguments: Node) -> Node:
        """Return an operator or a function call."""
        return Call(self.number(), self.place, function, [*arguments])

    def method(self, function: str, target: Node, *arguments: Node) -> Node:
        """Return a method call."""
        return Call(self.number(), self.place, function, [*arguments], target)

    def elements(self, *elements: Node) -> Node:
        """Return a list."""
        return ListLiteral(self.number(), self.place, [*elements])

    def empty_map(self) -> Node:
        """Return a map without entries."""
        return MapLiteral(self.number(), self.place, [])

    def presence(self, operand: Node, field: str) -> Node:
        """Return the question whether `operand` has `field`."""
        return Select(self.number(), self.place, operand, field, test_only=True)

    def fold(
        self,
        subject: Node,
        variables: tuple[str, str],
        accumulator: str,
        initial: Node,
        condition: Node,
        step: Node,
        result: Node,
    ) -> Node:
        """Return a fold; variables are (each, "") or (key, value)."""
        parts = FoldParts(subject, initial, condition, step, result)
        return Comprehension(self.number(), self.place, variables, accumulator, parts)

    def copy(self, node: Node) -> Node:
        """Return `node` again, with numbers of its own but in the same place."""
        number = self.number()
        made = self._copy(node, number)
        made.start, made.stop = node.start, node.stop
        return made

    def _copy(self, node: Node, number: int) -> Node:
        offset = node.offset
        if isinstance(node, Literal):
            return Literal(number, offset, node.value)
        if isinstance(node, Ident):
            return Ident(number, offset, node.name)
        if isinstance(node, Select):
            operand = self.copy(node.operand)
            return Select(number, offset, operand, node.field, test_only=node.test_only)
        if isinstance(node, Call):
            arguments = [self.copy(argument) for argument in node.arguments]
            target = None if node.target is None else self.copy(node.target)
            return Call(number, offset, node.function, arguments, target)
        if isinstance(node, ListLiteral):
            return ListLiteral(number, offset, [*map(self.copy, node.elements)], node.optional)
        if isinstance(node, MapLiteral):
            return MapLiteral(number, offset, [self._copy_entry(entry) for entry in node.entries])
        if isinstance(node, StructLiteral):
            entries = [self._copy_entry(entry) for entry in node.entries]
            return StructLiteral(number, offset, node.name, entries)
        if not isinstance(node, Comprehension):
            raise TypeError(type(node))
        parts = (node.subject, node.initial, node.condition, node.step, node.result)
        copies = FoldParts(*map(self.copy, parts))
        return Comprehension(number, offset, (node.first, node.second), node.accumulator, copies)

    def _copy_entry(self, entry: Entry) -> Entry:
        number = self.number()
        key = entry.key if isinstance(entry.key, str) else self.copy(entry.key)
        value = self.copy(entry.value)
        return Entry(number, self.place, key, value, optional=entry.optional)
