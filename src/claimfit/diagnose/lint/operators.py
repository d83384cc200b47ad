"""Rewrites operators between quantities or versions, which have methods instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.diagnose.lint.accesses import walk
from claimfit.dra.cel.syntax import Call, Literal, Node

if TYPE_CHECKING:
    from claimfit.diagnose.lint.compiled import Compiled
    from claimfit.diagnose.lint.edits import Edit
    from claimfit.diagnose.lint.expression_text import ExpressionText

__all__ = ["Rewritten", "rewritten_operator"]

_ORDER: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_SUMS: Final = {"_+_": ("+", "add"), "_-_": ("-", "sub")}
_QUANTITY: Final = "kubernetes.Quantity"
_SEMVER: Final = "kubernetes.Semver"


class Rewritten(NamedTuple):
    """A comparison that does not compile, and one that does.

    Attributes:
        why: what is wrong.
        fix: the comparison rewritten.
        edits: the change of the file.
    """

    why: str
    fix: str
    edits: tuple[Edit, ...]


def rewritten_operator(result: Compiled, text: ExpressionText) -> Rewritten | None:
    """Return how to write the operator that `result` failed at, None for another fault."""
    if result.partial is None:
        return None
    for node in walk(result.partial):
        if isinstance(node, Call) and node.offset == result.offset and len(node.arguments) == 2:
            kinds = [_kind(argument) for argument in node.arguments]
            if _QUANTITY in kinds or _SEMVER in kinds:
                return _rewrite(node, kinds, text)
    return None


def _kind(node: Node) -> str:
    kind = getattr(node, "type", None)
    return str(getattr(kind, "name", ""))


def _rewrite(node: Call, kinds: list[str], text: ExpressionText) -> Rewritten | None:
    left, right = (text.text[part.start : part.stop] for part in node.arguments)
    quantity = _QUANTITY in kinds
    thing = "Quantity" if quantity else "Semver"
    if node.function in _ORDER:
        sign = _ORDER[node.function]
        maker = "quantity" if quantity else "semver"
        simple = {"Quantity": "'80Gi'", "Semver": "'1.2.3'"}[thing]
        subject, other = left, right
        if kinds[0] not in {_QUANTITY, _SEMVER}:
            mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
            subject, other, sign = right, left, mirrored[sign]
        made = kinds[0] == kinds[1]
        argument = other if made else _made(node, maker, other)
        fix = f"{subject}.compareTo({argument}) {sign} 0"
        exact = made or _is_literal(node)
        edits = text.edit(node.start, node.stop, fix) if exact and made else ()
        why = (
            f"{_ORDER[node.function]} is not defined for {thing}; use compareTo(...) {sign} 0 or "
            f"isGreaterThan/isLessThan, with {maker}({simple}) for a constant"
        )
        return Rewritten(why, fix, edits)
    if node.function in _SUMS and quantity:
        sign, method = _SUMS[node.function]
        return Rewritten(f"{sign} is not defined for {thing}", f"{left}.{method}({right})", ())
    return None


def _is_literal(node: Call) -> bool:
    return any(isinstance(argument, Literal) for argument in node.arguments)


def _made(node: Call, maker: str, other: str) -> str:
    """Return a literal as a quantity or version; a number is shown as one would write it."""
    literal = next((part for part in node.arguments if isinstance(part, Literal)), None)
    if literal is not None and isinstance(literal.value, int) and maker == "quantity":
        return f"quantity('{literal.value}')"
    return f"{maker}({other})"
