"""What an expression reads of a device: so that like devices are evaluated once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.dra.cel.syntax import Call, Comprehension, Ident, Literal, Select, children

if TYPE_CHECKING:
    from claimfit.dra.cel.syntax import Node


__all__ = ["Read", "device_path", "reads"]


class Read(NamedTuple):
    """One thing that is read.

    Attributes:
        kind: driver, shared, attributes, capacity, or device for all of it.
        domain: of an attribute or a capacity; empty for all of them.
        name: of an attribute or a capacity; empty for all of the domain.
    """

    kind: str
    domain: str = ""
    name: str = ""

    def __str__(self) -> str:
        """Return it as an expression writes it."""
        if self.kind == "shared":
            return "device.allowMultipleAllocations"
        text = "device" if self.kind == "device" else f"device.{self.kind}"
        if self.domain:
            text += f'["{self.domain}"]'
        return f"{text}.{self.name}" if self.name else text


EVERYTHING: Final = Read("device")

_FIELDS: Final = {"driver": "driver", "allowMultipleAllocations": "shared"}


def reads(tree: Node) -> tuple[Read, ...]:
    """Return what `tree` reads, in the order in which it is written."""
    found: dict[Read, None] = {}
    _collect(tree, frozenset(), found)
    return tuple(found)


def _collect(node: Node, hidden: frozenset[str], found: dict[Read, None]) -> None:
    if "device" not in hidden:
        membership = _membership(node)
        path = membership or device_path(node)
        if path is not None:
            found[_read(path)] = None
            return
    if isinstance(node, Comprehension):
        inner = hidden | {node.first, node.second, node.accumulator}
        _collect(node.subject, hidden, found)
        _collect(node.initial, hidden, found)
        for part in (node.condition, node.step):
            _collect(part, inner, found)
        _collect(node.result, hidden | {node.accumulator}, found)
        return
    for child in children(node):
        _collect(child, hidden, found)


def device_path(node: Node) -> tuple[str, ...] | None:
    """Return the constant names that lead from ``device`` to `node`; None when it is no such."""
    path: list[str] = []
    while True:
        if isinstance(node, Ident):
            return tuple(reversed(path)) if node.name == "device" else None
        if isinstance(node, Select) and not node.resolved:
            path.append(node.field)
            node = node.operand
            continue
        if isinstance(node, Call) and node.function in {"_[_]", "_[?_]", "_?._"}:
            key = node.arguments[1]
            if isinstance(key, Literal) and isinstance(key.value, str):
                path.append(key.value)
                node = node.arguments[0]
                continue
        return None


def _membership(node: Node) -> tuple[str, ...] | None:
    """Return the path that ``"name" in device.attributes["domain"]`` asks for."""
    if not (isinstance(node, Call) and node.function == "@in"):
        return None
    key = node.arguments[0]
    if not (isinstance(key, Literal) and isinstance(key.value, str)):
        return None
    path = device_path(node.arguments[1])
    return (*path, key.value) if path is not None and len(path) == 2 else None


def _read(path: tuple[str, ...]) -> Read:
    if not path:
        return EVERYTHING
    kind = _FIELDS.get(path[0])
    if kind is not None:
        return Read(kind)
    if path[0] not in {"attributes", "capacity"}:
        return EVERYTHING
    if len(path) == 1:
        return Read(path[0])
    return Read(path[0], path[1], path[2] if len(path) > 2 else "")
