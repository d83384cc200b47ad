"""What an expression reads of a device, and what it makes of a device that lacks some of it.

The abstract view of `&&` and `||` is CEL's own: false absorbs an error on either side of `&&`, true
on either side of `||`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.dra.cel.syntax import Call, Ident, Literal, Node, Select, children

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Access", "Hypothesis", "accesses", "conjuncts", "outcomes", "walk"]

_MAPS: Final = ("attributes", "capacity")
TRUE: Final = frozenset({"true"})
FALSE: Final = frozenset({"false"})
ERROR: Final = frozenset({"error"})
EITHER: Final = TRUE | FALSE

Outcomes = frozenset[str]
"""What an expression may come to: true, false, error."""


class Access(NamedTuple):
    """One place where an expression reads an attribute or a capacity by name.

    Attributes:
        node: the selection or index.
        table: ``attributes`` or ``capacity``.
        domain: the domain asked for.
        name: the identifier asked for.
        kind: ``value``; ``guard`` for ``in`` and ``has()``; ``optional`` for ``.?`` and ``[?]``.
    """

    node: Node
    table: str
    domain: str
    name: str
    kind: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Which attribute or capacity it is."""
        return self.table, self.domain, self.name


class Hypothesis(NamedTuple):
    """A device that is thought of.

    Attributes:
        driver: its driver, empty when unknown.
        values: what is known of its attributes: (domain, name) -> text.
        absent: the attribute or capacity that it lacks, None for nothing.
    """

    driver: str
    values: dict[tuple[str, str], str]
    absent: tuple[str, str, str] | None


def walk(tree: Node) -> Iterator[Node]:
    """Yield every node of `tree`, outer ones first."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending += reversed(children(node))


def accesses(tree: Node) -> list[Access]:
    """Return what `tree` reads by name, in the order of its text."""
    found = []
    for node in walk(tree):
        access = _access(node)
        if access is not None:
            found.append(access)
    return found


def conjuncts(tree: Node) -> list[Node]:
    """Return the parts of `tree` that `&&` joins at the top."""
    if isinstance(tree, Call) and tree.function == "_&&_":
        return [part for argument in tree.arguments for part in conjuncts(argument)]
    return [tree]


def _access(node: Node) -> Access | None:
    if isinstance(node, Select):
        table = _table(node.operand)
        if table is not None:
            return Access(node, *table, node.field, "guard" if node.test_only else "value")
    if not isinstance(node, Call) or len(node.arguments) != 2:
        return None
    first, second = node.arguments
    if node.function == "@in":
        table, name = _table(second), _text(first)
        if table is not None and name is not None:
            return Access(node, *table, name, "guard")
    elif node.function in {"_[_]", "_[?_]", "_?._"}:
        table, name = _table(first), _text(second)
        if table is not None and name is not None:
            kind = "value" if node.function == "_[_]" and _is_plain(first) else "optional"
            return Access(node, *table, name, kind)
    return None


def _table(node: Node) -> tuple[str, str] | None:
    """Return (table, domain) when `node` is the map of one domain."""
    if isinstance(node, Call) and node.function in {"_[_]", "_[?_]"} and len(node.arguments) == 2:
        table, domain = node.arguments
        if _is_device_map(table):
            text = _text(domain)
            return (table.field, text) if isinstance(table, Select) and text is not None else None
    return None


def _is_plain(node: Node) -> bool:
    return isinstance(node, Call) and node.function == "_[_]"


def _is_device_map(node: Node) -> bool:
    return (
        isinstance(node, Select)
        and node.field in _MAPS
        and isinstance(node.operand, Ident)
        and node.operand.name == "device"
    )


def _text(node: Node) -> str | None:
    return node.value if isinstance(node, Literal) and isinstance(node.value, str) else None


# --- what becomes of it ---------------------------------------------------------------------------


def outcomes(node: Node, device: Hypothesis) -> Outcomes:
    """Return what `node`, a truth value, may come to on `device`."""
    if isinstance(node, Literal) and isinstance(node.value, bool):
        return TRUE if node.value else FALSE
    if isinstance(node, Call):
        compound = _COMPOUNDS.get(node.function)
        if compound is not None:
            return compound(node, device)
        known = _comparison(node, device)
        if known is not None:
            return known
    access = _access(node)
    if access is not None and access.kind == "guard":
        return FALSE if access.key == device.absent else EITHER
    return ERROR if _reads_absent(node, device) else EITHER


def _and(node: Call, device: Hypothesis) -> Outcomes:
    return _joined(node, device, absorbing="false")


def _or(node: Call, device: Hypothesis) -> Outcomes:
    return _joined(node, device, absorbing="true")


def _joined(node: Call, device: Hypothesis, absorbing: str) -> Outcomes:
    found = [outcomes(part, device) for part in node.arguments]
    joined: set[str] = set()
    for one in found[0]:
        for other in found[1]:
            if absorbing in {one, other}:
                joined.add(absorbing)
            else:
                joined.add("error" if "error" in {one, other} else one)
    return frozenset(joined)


def _not(node: Call, device: Hypothesis) -> Outcomes:
    swapped = {"true": "false", "false": "true", "error": "error"}
    return frozenset(swapped[item] for item in outcomes(node.arguments[0], device))


def _conditional(node: Call, device: Hypothesis) -> Outcomes:
    condition, then, otherwise = node.arguments
    decided = outcomes(condition, device)
    result: Outcomes = ERROR if "error" in decided else frozenset()
    if "true" in decided:
        result |= outcomes(then, device)
    if "false" in decided:
        result |= outcomes(otherwise, device)
    return result


_COMPOUNDS: Final[dict[str, Callable[[Call, Hypothesis], Outcomes]]] = {
    "_&&_": _and,
    "_||_": _or,
    "!_": _not,
    "_?_:_": _conditional,
}


def _comparison(node: Call, device: Hypothesis) -> Outcomes | None:
    """Return what an equality with something known of `device` comes to."""
    if node.function not in {"_==_", "_!=_"} or len(node.arguments) != 2:
        return None
    for one, other in (node.arguments, reversed(node.arguments)):
        literal = _text(other)
        given = _known_text(one, device)
        if literal is not None and given:
            return TRUE if (given == literal) == (node.function == "_==_") else FALSE
    return None


def _known_text(node: Node, device: Hypothesis) -> str:
    if isinstance(node, Select) and node.field == "driver" and isinstance(node.operand, Ident):
        return device.driver
    access = _access(node)
    if access is None or access.kind != "value" or access.table != "attributes":
        return ""
    return (
        "" if access.key == device.absent else device.values.get((access.domain, access.name), "")
    )


def _reads_absent(node: Node, device: Hypothesis) -> bool:
    return device.absent is not None and any(
        access.kind == "value" and access.key == device.absent for access in accesses(node)
    )
