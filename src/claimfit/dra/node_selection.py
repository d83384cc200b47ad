"""Whether a node selector matches a node: the rules of core/v1 (k8s.io/component-helpers)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claimfit.dra.objects import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

__all__ = ["selects"]


def selects(selector: NodeSelector, node: Node) -> bool:
    """Return whether one term of `selector` matches `node`; an empty term matches nothing."""
    return any(_term(term, node) for term in selector.node_selector_terms)


def _term(term: NodeSelectorTerm, node: Node) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    labels = node.metadata.labels
    fields = {"metadata.name": node.metadata.name}
    return all(_requirement(item, labels) for item in term.match_expressions) and all(
        _requirement(item, fields) for item in term.match_fields
    )


def _requirement(requirement: NodeSelectorRequirement, labels: dict[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _ordered(requirement, value)
        case _:  # the API server accepts no other operator; an unknown one selects nothing
            return False


def _ordered(requirement: NodeSelectorRequirement, value: str | None) -> bool:
    """Compare as integers; what is no integer, or not exactly one bound, does not match."""
    if value is None or len(requirement.values) != 1:
        return False
    left, right = _integer(value), _integer(requirement.values[0])
    if left is None or right is None:
        return False
    return left > right if requirement.operator == "Gt" else left < right


def _integer(text: str) -> int | None:
    """Return what Go's strconv.ParseInt(text, 10, 64) gives, or None where it fails."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not digits.isascii() or not digits.isdigit() or len(digits) > 19:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
