"""The macros: calls that the parser rewrites into folds, presence tests and bindings.

Each macro follows its counterpart in cel-go (parser/macro.go, cel/library.go, ext/bindings.go,
ext/comprehensions.go, ext/lists.go): the same nodes in the same order, since cost and messages
depend on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from claimfit.dra.cel.nodes import ACCUMULATOR, Nodes
from claimfit.dra.cel.syntax import Call, Comprehension, Ident, ListLiteral, Node, Select

__all__ = ["MacroError", "Macros"]

Macro = Callable[[Nodes, Node, list[Node]], Node | None]
"""(factory, target, arguments) -> the rewritten node, or None to leave the call alone.

A function has no target and gets its first argument for it.
"""

_OLD_ACCUMULATOR: Final = "__result__"
_UNUSED: Final = "#unused"
_SORT_INPUT: Final = "@__sortBy_input__"


class MacroError(Exception):
    """A macro got arguments that it cannot use."""

    def __init__(self, node: Node, message: str) -> None:
        super().__init__(message)
        self.offset = node.offset
        self.message = message


class Macros:
    """The macros of one environment, by name, argument count and call style."""

    __slots__ = ("_table",)

    def __init__(self, groups: tuple[str, ...]) -> None:
        self._table: dict[tuple[str, int, bool], Macro] = {}
        for group in groups:
            self._table.update(_GROUPS[group])

    def find(self, name: str, count: int, *, receiver: bool) -> Macro | None:
        """Return the macro that such a call names, or None."""
        return self._table.get((name, count, receiver))


def _has(nodes: Nodes, _target: Node, arguments: list[Node]) -> Node:
    tested = arguments[0]
    if not isinstance(tested, Select):
        raise MacroError(tested, "invalid argument to has() macro")
    return nodes.presence(tested.operand, tested.field)


def _variable(node: Node, message: str) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node, message)
    return node.name


def _one_variable(node: Node, message: str) -> str:
    name = _variable(node, message)
    if name in {ACCUMULATOR, _OLD_ACCUMULATOR}:
        raise MacroError(node, "iteration variable overwrites accumulator variable")
    return name


def _two_variables(arguments: list[Node]) -> tuple[str, str]:
    first, second = arguments[:2]
    key = _variable(first, "argument must be a simple name")
    value = _variable(second, "argument must be a simple name")
    if key == value:
        raise MacroError(second, f"duplicate variable name: {key}")
    for name, node in ((key, first), (value, second)):
        if name in {ACCUMULATOR, _OLD_ACCUMULATOR}:
            raise MacroError(node, "iteration variable overwrites accumulator variable")
    return key, value


def _variables(arguments: list[Node], count: int) -> tuple[str, str]:
    if count == 2:
        return _two_variables(arguments)
    return _one_variable(arguments[0], "argument must be a simple name"), ""


def _fold(
    nodes: Nodes, target: Node, variables: tuple[str, str], parts: tuple[Node, Node, Node, Node]
) -> Node:
    return nodes.fold(target, variables, ACCUMULATOR, *parts)


def _all(count: int) -> Macro:
    def expand(nodes: Nodes, target: Node, arguments: list[Node]) -> Node:
        variables = _variables(arguments, count)
        initial = nodes.constant(value=True)
        condition = nodes.call("@not_strictly_false", nodes.accumulator())
        step = nodes.call("_&&_", nodes.accumulator(), arguments[count])
        return _fold(nodes, target, variables, (initial, condition, step, nodes.accumulator()))

    return expand


def _exists(count: int) -> Macro:
    def expand(nodes: Nodes, target: Node, arguments: list[Node]) -> Node:
        variables = _variables(arguments, count)
        initial = nodes.constant(value=False)
        condition = nodes.call("@not_strictly_false", nodes.call("!_", nodes.accumulator()))
        step = nodes.call("_||_", nodes.accumulator(), arguments[count])
        return _fold(nodes, target, variables, (initial, condition, step, nodes.accumulator()))

    return expand


def _exists_one(count: int) -> Macro:
    def expand(nodes: Nodes, target: Node, arguments: list[Node]) -> Node:
        variables = _variables(arguments, count)
        initial = nodes.constant(0)
        condition = nodes.constant(value=True)
        added = nodes.call("_+_", nodes.accumulator(), nodes.constant(1))
        step = nodes.call("_?_:_", arguments[count], added, nodes.accumulator())
        result = nodes.call("_==_", nodes.accumulator(), nodes.constant(1))
        return _fold(nodes, target, variables, (initial, condition, step, result))

    return expand


def _map(nodes: Nodes, target: Node, arguments: list[Node]) -> Node:
    name = _one_variable(arguments[0], "argument is not an identifier")
    initial = nodes.elements()
    condition = nodes.constant(value=True)
    step = nodes.call("_+_", nodes.accumulator(), nodes.elements(arguments[-1]))
    if len(arguments) == 3:
        step = nodes.call("_?_:_", arguments[1], step, nodes.accumulator())
    return _fold(nodes, target, (name, ""), (initial, condition, step, nodes.accumulator()))


def _filter(nodes: Nodes, target: Node, arguments: list[Node]) -> Node:
    name = _one_variable(arguments[0], "argument is not an identifier")
    initial = nodes.elements()
    condition = nodes.constant(value=True)
    added = nodes.call("_+_", nodes.accumulator(), nodes.elements(arguments[0]))
    step = nodes.call("_?_:_", arguments[1], added, nodes.accumulator())
    return _fold(nodes, target, (name, ""), (initial, condition, step, nodes.accumulator()))


def _transform_list(nodes: Nodes, target: Node, arguments: list[Node]) -> Node:
    variables = _two_variables(arguments)
    step = nodes.call("_+_", nodes.accumulator(), nodes.elements(arguments[-1]))
    if len(arguments) == 4:
        step = nodes.call("_?_:_", arguments[2], step, nodes.accumulator())
    initial, condition = nodes.elements(), nodes.constant(value=True)
    return _fold(nodes, target, variables, (initial, condition, step, nodes.accumulator()))


def _transform_map(*, entries: bool) -> Macro:
    def expand(nodes: Nodes, target: Node, arguments: list[Node]) -> Node:
        variables = _two_variables(arguments)
        if entries:
            step = nodes.call("cel.@mapInsert", nodes.accumulator(), arguments[-1])
        else:
            gathered, key = nodes.accumulator(), nodes.ident(variables[0])
            step = nodes.call("cel.@mapInsert", gathered, key, arguments[-1])
        if len(arguments) == 4:
            step = nodes.call("_?_:_", arguments[2], step, nodes.accumulator())
        initial, condition = nodes.empty_map(), nodes.constant(value=True)
        return _fold(nodes, target, variables, (initial, condition, step, nodes.accumulator()))

    return expand


def _bind(nodes: Nodes, target: Node, arguments: list[Node]) -> Node | None:
    if not isinstance(target, Ident) or target.name != "cel":
        return None
    name = _variable(arguments[0], "cel.bind() variable names must be simple identifiers")
    return nodes.fold(
        nodes.elements(),
        (_UNUSED, ""),
        name,
        arguments[1],
        nodes.constant(value=False),
        nodes.ident(name),
        arguments[2],
    )


def _opt_map(method: str, *, flat: bool) -> Macro:
    def expand(nodes: Nodes, target: Node, arguments: list[Node]) -> Node:
        name = _variable(arguments[0], f"{method}() variable name must be a simple identifier")
        present = nodes.method("hasValue", target)
        empty = nodes.elements()
        value = nodes.method("value", nodes.copy(target))
        never = nodes.constant(value=False)
        bound = nodes.fold(
            empty, (_UNUSED, ""), name, value, never, nodes.ident(name), arguments[1]
        )
        mapped = bound if flat else nodes.call("optional.of", bound)
        return nodes.call("_?_:_", present, mapped, nodes.call("optional.none"))

    return expand


def _sort_by(nodes: Nodes, target: Node, arguments: list[Node]) -> Node:
    listed = nodes.ident(_SORT_INPUT)
    if not isinstance(target, ListLiteral | Select | Ident | Comprehension | Call):
        raise MacroError(
            target,
            "sortBy can only be applied to a list, identifier, comprehension, call or select "
            "expression",
        )
    keys = _map(nodes, nodes.copy(listed), arguments)
    ordered = nodes.method("@sortByAssociatedKeys", nodes.copy(listed), keys)
    empty, never = nodes.elements(), nodes.constant(value=False)
    return nodes.fold(empty, (_UNUSED, ""), _SORT_INPUT, target, never, listed, ordered)


_GROUPS: Final[dict[str, dict[tuple[str, int, bool], Macro]]] = {
    "standard": {
        ("has", 1, False): _has,
        ("all", 2, True): _all(1),
        ("exists", 2, True): _exists(1),
        ("exists_one", 2, True): _exists_one(1),
        ("map", 2, True): _map,
        ("map", 3, True): _map,
        ("filter", 2, True): _filter,
    },
    "existsOne": {("existsOne", 2, True): _exists_one(1)},
    "optional": {
        ("optMap", 2, True): _opt_map("optMap", flat=False),
        ("optFlatMap", 2, True): _opt_map("optFlatMap", flat=True),
    },
    "two variables": {
        ("all", 3, True): _all(2),
        ("exists", 3, True): _exists(2),
        ("existsOne", 3, True): _exists_one(2),
        ("exists_one", 3, True): _exists_one(2),
        ("transformList", 3, True): _transform_list,
        ("transformList", 4, True): _transform_list,
        ("transformMap", 3, True): _transform_map(entries=False),
        ("transformMap", 4, True): _transform_map(entries=False),
        ("transformMapEntry", 3, True): _transform_map(entries=True),
        ("transformMapEntry", 4, True): _transform_map(entries=True),
    },
    "lists": {("sortBy", 2, True): _sort_by},
    "bind": {("bind", 3, True): _bind},
}
