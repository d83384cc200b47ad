"""Rules for what selectors read: names that nobody publishes, wrong types, missing guards."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.diagnose.lint.accesses import Access, accesses, conjuncts, outcomes, walk
from claimfit.diagnose.lint.guards import kind_hypothesis, passes
from claimfit.diagnose.lint.names import semantic_version
from claimfit.diagnose.lint.published import STANDARD_DOMAIN
from claimfit.dra.cel.syntax import Call, ListLiteral, Literal, Node, Select
from claimfit.errors import InputError
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from claimfit.diagnose.lint.edits import Edit
    from claimfit.diagnose.lint.finding import Report, Severity
    from claimfit.diagnose.lint.published import World
    from claimfit.diagnose.lint.selectors import Selector

__all__ = ["Explained", "check"]

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
_PRODUCT_WORDS: Final = frozenset({"model", "product", "name", "card", "gpuModel", "modelName"})
_SHOWN: Final = 4


class Explained(NamedTuple):
    """What was reported and need not be said again."""

    reads: set[tuple[str, str, str]]
    clauses: set[Node]


def check(selector: Selector, report: Report, world: World) -> Explained:
    """Report on names and types in `selector`, and on clauses that are always the same."""
    reads: set[tuple[str, str, str]] = set()
    for access in accesses(selector.program.tree):
        if access.key not in reads and not _check_name(access, selector, report, world):
            reads.add(access.key)
    reads |= _check_types(selector, report, world)
    _check_constants(selector, report)
    return Explained(reads, _check_constant(selector, report, world))


# --- names ----------------------------------------------------------------------------------------


def _check_name(access: Access, selector: Selector, report: Report, world: World) -> bool:
    """Return whether what `access` reads is published somewhere, or may well be."""
    capacity = access.table == "capacity"
    names, others = world.capacities, world.attributes
    if not capacity:
        names, others = others, names
    where = (access.domain, access.name)
    if where in names:
        return True
    if where in others:
        _report_other_table(access, selector, report)
        return False
    if access.domain not in world.domains:
        return _check_domain(access, selector, report, world)
    near = list(world.near(access.name, access.domain, capacity=capacity))
    if access.domain == STANDARD_DOMAIN and not near:
        return True  # a standard name that no known driver publishes yet
    driver = next((item for item in world.described if item.name == access.domain), None)
    if driver is not None and not capacity and access.name in _PRODUCT_WORDS:
        near = [*driver.product_attributes, *near]
    if not near:
        offered = sorted(name for domain, name in names if domain == access.domain)
        near = offered[:_SHOWN]
    what = "capacity" if capacity else "attribute"
    consequence = (
        "the test for it is always false" if access.kind == "guard" else _no_such_key(access)
    )
    _add(
        "LNT044",
        "error" if world.snapshot and access.kind == "value" else "warning",
        access.node,
        f"no device of {world.source} has {what} {access.name} of domain {access.domain}: "
        f"{consequence}",
        selector,
        report,
        fix="nearest: " + ", ".join(dict.fromkeys(near)) if near else f"it publishes no {what}",
    )
    return False


def _no_such_key(access: Access) -> str:
    if access.kind == "optional":
        return "the optional is always empty"
    return f"it raises no such key: {access.name}"


def _report_other_table(access: Access, selector: Selector, report: Report) -> None:
    here, there = access.table, "attributes" if access.table == "capacity" else "capacity"
    words = {"attributes": "an attribute", "capacity": "a capacity"}
    right = f'device.{there}["{access.domain}"].{access.name}'
    raises = f"{_no_such_key(access)}" if access.kind != "guard" else "the test is always false"
    _add(
        "LNT048",
        "error",
        access.node,
        f"{access.name} is published as {words[there]}, not {words[here]}: {raises}",
        selector,
        report,
        fix=right,
    )


def _check_domain(access: Access, selector: Selector, report: Report, world: World) -> bool:
    """Report a domain that nobody publishes under; return False when it is likely a mistake."""
    homes = world.homes(access.name, capacity=access.table == "capacity")
    related = [home for home in homes if home.endswith(f".{access.domain}")]
    near = get_close_matches(access.domain[:63], sorted(world.domains), 2, 0.75)
    if not world.snapshot and not related and not near:
        return True  # a driver that nobody described
    offers = list(dict.fromkeys((*related, *(homes if world.snapshot else ()), *near)))
    fix = f"nearest: {', '.join(offers[:3])}" if offers else ""
    if related or (homes and world.snapshot):
        fix = f"{access.name} is published under {', '.join((related or list(homes))[:3])}"
    _add(
        "LNT045",
        "error" if world.snapshot and access.kind == "value" else "warning",
        access.node,
        f'nothing is published under domain "{access.domain}": an unknown domain is an empty map, '
        f"so {_no_such_key(access) if access.kind != 'guard' else 'the test is always false'}"
        f"{' (about the key, not the domain)' if access.kind == 'value' else ''}",
        selector,
        report,
        fix=fix,
    )
    return False


# --- types ----------------------------------------------------------------------------------------


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


def _check_types(selector: Selector, report: Report, world: World) -> set[tuple[str, str, str]]:
    """Report uses that do not suit the type; return what is read so."""
    wrong: set[tuple[str, str, str]] = set()
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
            ): f"semver({_written(use.access.node, selector)}, true).{method}(...)"
        }
        needs = "string" if method in _STRING_METHODS else "version"
        _add(
            "LNT047",
            "error",
            use.node,
            f"{use.access.name} is {article} {kind} attribute; {method} is a method of a {needs}: "
            "no such overload, it raises at run time",
            selector,
            report,
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
    written = _written(use.access.node, selector)
    if kind == "version" and isinstance(other, Literal) and isinstance(other.value, str):
        exact = semantic_version(other.value)
        maker = f"semver('{other.value}'{'' if exact else ', true'})"
        operator = sign if sign in {"==", "!=", "<", "<=", ">", ">="} else "=="
        fix = f"{written}.compareTo({maker}) {operator} 0"
        if exact and left_is_attribute and raises and "'" not in other.value:
            edits = selector.text.edit(use.node.start, use.node.stop, fix)
        fix += " (>= 0 for this version or newer)" if operator == "==" else ""
    _add(
        "LNT047",
        "error",
        use.node,
        f"{use.access.name} is {'an' if kind == 'int' else 'a'} {kind} attribute; {kind} {sign} "
        f"{literal} {consequence}",
        selector,
        report,
        fix=fix,
        edits=edits,
    )


def _example(access: Access, kind: str) -> str:
    right = {"int": "4", "bool": "true", "string": "'text'"}.get(kind)
    return f"compare {access.name} with {'an' if kind == 'int' else 'a'} {kind}" + (
        f", such as {right}" if right else ""
    )


def _written(node: Node, selector: Selector) -> str:
    return selector.text.text[node.start : node.stop]


# --- always the same ------------------------------------------------------------------------------


def _check_constant(selector: Selector, report: Report, world: World) -> set[Node]:
    """Report clauses that are the same for every device; return them."""
    found: set[Node] = set()
    for clause in conjuncts(selector.program.tree):
        if isinstance(clause, Literal) and isinstance(clause.value, bool):
            found.add(clause)
            word = "true" if clause.value else "false"
            _add(
                "LNT050" if clause.value else "LNT049",
                "info" if clause.value else "error",
                clause,
                f"this clause is always {word}",
                selector,
                report,
                fix="remove it" if clause.value else "no device is ever selected: remove it",
            )
        elif _is_false_for_all_kinds(clause, selector, report, world) or _is_unknown_driver(
            clause, selector, report, world
        ):
            found.add(clause)
    return found


def _is_unknown_driver(clause: Node, selector: Selector, report: Report, world: World) -> bool:
    """Report a comparison of device.driver with a name that is likely misspelt."""
    if not isinstance(clause, Call) or clause.function != "_==_":
        return False
    subject, literal = clause.arguments
    if not isinstance(subject, Select) or subject.field != "driver":
        return False
    known = {item.name for item in world.described} | world.drivers
    if not isinstance(literal, Literal) or not isinstance(literal.value, str):
        return False
    near = get_close_matches(literal.value[:63], sorted(known), 2, 0.85)
    if literal.value in known or not near:
        return False
    _add(
        "LNT049",
        "warning",
        clause,
        f"this clause is false on every device of {world.source}: no driver is called "
        f"{literal.value}",
        selector,
        report,
        fix=f"nearest: {', '.join(near)}",
    )
    return True


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


def _check_constants(selector: Selector, report: Report) -> None:
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
            _add(
                "LNT051" if text.endswith("K") else "LNT055",
                "error",
                literal,
                f"{node.function}('{text}') raises on every device: {problem}",
                selector,
                report,
                fix=fix,
            )


def _is_false_for_all_kinds(clause: Node, selector: Selector, report: Report, world: World) -> bool:
    """Report a comparison that no kind of device of its driver can pass, by the description."""
    read = next((item for item in accesses(clause) if item.kind == "value"), None)
    driver = next(
        (item for item in world.described if read is not None and item.name == read.domain), None
    )
    if read is None or driver is None or driver.name in world.drivers:
        return False
    kinds = [kind for kind in driver.kinds if kind.value]
    devices = [kind_hypothesis(driver, kind) for kind in kinds]
    reached = [device for device in devices if passes(selector, device)]
    if not reached or any(outcomes(clause, device) != {"false"} for device in reached):
        return False
    values = ", ".join(f'"{kind.value}"' for kind in kinds)
    product = driver.product_attributes[0] if driver.product_attributes else ""
    _add(
        "LNT049",
        "warning",
        clause,
        f"this clause is false on every device that the class of the request lets in: "
        f"{driver.name} publishes {driver.kind_attribute} {values}",
        selector,
        report,
        fix=f"the model is in {product}" if product else "",
    )
    return True


def _add(  # the parts of a finding
    code: str,
    severity: Severity,
    node: Node,
    message: str,
    selector: Selector,
    report: Report,
    *,
    fix: str = "",
    edits: tuple[Edit, ...] = (),
) -> None:
    position = selector.text.place(node.start)
    report.add_at(code, severity, selector.path, message, position, fix=fix, edits=edits)
