"""How deep operators, selections and method calls nest, which cel-go limits to 250."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.dra.cel.syntax import Node

__all__ = ["Heights"]


class Heights:
    """The height of each node that has one above 0."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[int, tuple[int, Node]] = {}  # holds the nodes, so that ids stay theirs

    def keep(self, node: Node, parts: Sequence[Node]) -> None:
        """Give `node` the height of the highest of `parts`."""
        height = self._highest(parts)
        if height:
            self._found[id(node)] = (height, node)

    def raised(self, node: Node, parts: Sequence[Node]) -> int:
        """Return the height of `node`, which adds a level to the highest of `parts`."""
        height = self._highest(parts) + 1
        self._found[id(node)] = (height, node)
        return height

    def _highest(self, parts: Sequence[Node]) -> int:
        found = self._found
        return max((found[id(part)][0] for part in parts if id(part) in found), default=0)
