"""Whether the worst-case cost of an expression can be trusted.

Kubernetes' estimate is too low where it misjudges the size of a value: ``"".split("a")`` is a list
of one element, for the estimate of none. A loop over such a list costs nothing in the estimate, so
the cost of an expression that has one is counted as it is evaluated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.dra.cel.reads import device_path
from claimfit.dra.cel.syntax import Call, Comprehension, ListLiteral, MapLiteral, children

if TYPE_CHECKING:
    from claimfit.dra.cel.syntax import Node

__all__ = ["is_foreseen"]

_GROWING: Final = frozenset(("findAll", "format", "join", "lists.range", "replace", "split"))
"""Functions whose results may be much larger than what they are made of."""


def is_foreseen(tree: Node) -> bool:
    """Whether all loops of `tree` go over what is written or published, and no value grows."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Comprehension):
            subject = node.subject
            if not isinstance(subject, ListLiteral | MapLiteral) and device_path(subject) is None:
                return False
        elif isinstance(node, Call) and node.function in _GROWING:
            return False
        pending += children(node)
    return True
