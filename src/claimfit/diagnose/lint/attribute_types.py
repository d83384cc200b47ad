"""Rules for the types of what selectors compare, and for constants that do not convert."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.diagnose.lint.accesses import Access, accesses, walk
from claimfit.diagnose.lint.names import semantic_version
from claimfit.dra.cel.syntax import Call, ListLiteral, Literal, Node
from claimfit.errors import InputError
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from claimfit.diagnose.lint.edits import Edit
    from claimfit.diagnose.lint.finding import Report
    from claimfit.diagnose.lint.published import World
    from claimfit.diagnose.lint.selector import Key, Selector

__all__ = ["check", "check_constants"]

_ORDER: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_COMPARISONS: Final = _ORDER | {"_==_", "_!=_"}
_STRING_METHODS: Final = frozenset(
    {
        *("contains", "startsWith", "endsWith", "matches", "lowerAscii", "upperAscii", "split"),
        *("substring", "trim", "replace", "indexOf", "lastIndexOf", "charAt", "find", "findAll"),
    }
)
_VERSION_METHODS: Final = frozenset(
    {"major", "minor", "patch", "compareTo", "isLessThan", "isGreaterThan"}
)
_LITERALS: Final = {str: "string", bool: "bool", int: "int", float: "double"}


def check(selector: Selector, report: Report, world: World) -> set[Key]:
    """Report uses that do not suit the type; return what is read so."""
    wrong: set[Key] = set()
    for use in _uses(selector.program.tree):
        known = world.attributes.get((use.access.domain, use.access.name))
        if use.access.table != "attributes" or known is None or len(known.types) != 1:
            continue
        kind = next(iter(known.types))
        before = len(report.findings)
        if use.other is None:
            _check_method(use, kind, selector, report)
        else:
            _check_comparison(use, kind, selector, report)
        if len(report.findings) > before:
            wrong.add(use.access.key)
    return wrong


class _Use(NamedTuple):
    """A comparison or method of an attribute."""

    access: Access
    node: Call
    other: Node | None


def _uses(tree: Node) -> list[_Use]:
    found = []
    values = {id(item.node): item for item in accesses(tree) if item.kind == "value"}
    for node in walk(tree):
        if not isinstance(node, Call):
            continue
        if node.target is not None and id(node.target) in values:
            found.append(_Use(values[id(node.target)], node, None))
        elif node.function in _COMPARISONS or node.function == "@in":
            first, second = node.arguments
            if id(first) in values:
                found.append(_Use(values[id(first)], node, second))
            elif id(second) in values:
                found.append(_Use(values[id(second)], node, first))
    return found


def _check_method(use: _Use, kind: str, selector: Selector, report: Report) -> None:
    method = use.node.function
    wrong = (method in _STRING_METHODS and kind != "string") or (
        method in _VERSION_METHODS and kind != "version"
    )
    if wrong and not kind.endswith("s"):
        article = "an" if kind == "int" else "a"
        fixes = {
            (
                "string",
                "version",
            ): f"semver({selector.written(use.access.node)}, true).{method}(...)"
        }
        needs = "string" if method in _STRING_METHODS else "version"
        selector.add(
            report,
            "LNT047",
            "error",
            use.node,
            f"{use.access.name} is {article} {kind} attribute; {method} is a method of a {needs}: "
            "no such overload, it raises at run time",
            fix=fixes.get((kind, needs), _example(use.access, kind)),
        )


def _check_comparison(use: _Use, kind: str, selector: Selector, report: Report) -> None:
    other = use.other
    literals = other.elements if isinstance(other, ListLiteral) else [other]
    given = {
        _LITERALS[type(item.value)]
        for item in literals
        if isinstance(item, Literal) and type(item.value) in _LITERALS
    }
    if len(given) != 1 or kind.endswith("s"):
        return
    literal = next(iter(given))
    if literal == kind or {literal, kind} <= {"int", "double"}:
        return
    function = use.node.function
    sign = "in" if function == "@in" else function.strip("_")
    left_is_attribute = bool(use.node.arguments) and use.node.arguments[0] is use.access.node
    raises = function in _ORDER or (kind == "version" and left_is_attribute and sign != "!=")
    if function == "@in" and not left_is_attribute:
        return
    consequence = (
        "has no overload and raises at run time (it does not evaluate to false)"
        if raises
        else f"is always {'true' if sign == '!=' else 'false'}"
    )
    fix = _example(use.access, kind)
    edits: tuple[Edit, ...] = ()
    written = selector.written(use.access.node)
    if kind == "version" and isinstance(other, Literal) and isinstance(other.value, str):
        exact = semantic_version(other.value)
        maker = f"semver('{other.value}'{'' if exact else ', true'})"
        operator = sign if sign in {"==", "!=", "<", "<=", ">", ">="} else "=="
        fix = f"{written}.compareTo({maker}) {operator} 0"
        if exact and left_is_attribute and raises and "'" not in other.value:
            edits = selector.text.edit(use.node.start, use.node.stop, fix)
        fix += " (>= 0 for this version or newer)" if operator == "==" else ""
    selector.add(
        report,
        "LNT047",
        "error",
        use.node,
        f"{use.access.name} is {'an' if kind == 'int' else 'a'} {kind} attribute; {kind} {sign} "
        f"{literal} {consequence}",
        fix=fix,
        edits=edits,
    )


def _example(access: Access, kind: str) -> str:
    right = {"int": "4", "bool": "true", "string": "'text'"}.get(kind)
    return f"compare {access.name} with {'an' if kind == 'int' else 'a'} {kind}" + (
        f", such as {right}" if right else ""
    )


def _conversion_problem(node: Call, text: str) -> tuple[str, str]:
    """Return why a constant raises and how to write it; nothing when it converts."""
    if node.function == "quantity":
        try:
            Quantity.parse(text)
        except InputError as error:
            return error.message, error.fix
    strict = node.function == "semver" and len(node.arguments) == 1
    if strict and not semantic_version(text):
        return (
            "no version as semver.org writes it",
            f"semver('{text}', true) also takes v1.2 and 1.2",
        )
    return "", ""


def check_constants(selector: Selector, report: Report) -> None:
    """Report texts that are no quantity or version: the selector raises on every device."""
    for node in walk(selector.program.tree):
        literal = node.arguments[0] if isinstance(node, Call) and node.arguments else None
        if not isinstance(node, Call) or not isinstance(literal, Literal) or node.target:
            continue
        text = literal.value
        if not isinstance(text, str):
            continue
        problem, fix = _conversion_problem(node, text)
        if problem:
            selector.add(
                report,
                "LNT051" if text.endswith("K") else "LNT055",
                "error",
                literal,
                f"{node.function}('{text}') raises on every device: {problem}",
                fix=fix,
            )
