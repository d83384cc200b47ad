"""Device tests as CEL for resource.k8s.io/v1: guarded, one conjunct per line, cheap.

An attribute or capacity that a device does not publish must make it a non-match. In CEL looking it
up is an error, and an error does not skip the device: it aborts the scheduler's attempt for the
whole pod. So every look-up stands behind ``'name' in device.attributes['domain']``; ``&&`` and
``||`` absorb the error of one side when the other decides.

Limits of the API (resource.k8s.io/v1 types.go): an expression has at most 10,240 bytes and a
static cost of 1,000,000. A guard and a comparison cost about 10, ``in`` a list its length; no
comprehension, regular expression or conversion of a device's value is ever written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from claimfit.errors import InexpressibleError
from claimfit.manifests.emitter import Folded
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from claimfit.claim.device_test import DeviceTest, ProductTerm

__all__ = ["LONGEST_EXPRESSION", "cel_string", "expression"]

LONGEST_EXPRESSION: Final = 10_240
"""Bytes; CELSelectorExpressionMaxLength of resource.k8s.io/v1."""
_WIDTH: Final = 88
"""Columns after which a list of products continues on the next line."""
_IDENTIFIER: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_CEL_WORDS: Final = frozenset(
    (
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import"),
        *("in", "let", "loop", "namespace", "null", "package", "return", "true", "var", "void"),
        "while",
    )
)
"""Reserved words and literals (CEL specification, section Syntax): no field may be selected so."""
_ESCAPES: Final = {"'": "\\'", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def expression(test: DeviceTest) -> Folded:
    """Return `test`, which admits something, as one CEL expression, folded into its lines.

    Raises `InexpressibleError` CLM016 when it is longer than the API accepts.
    """
    lines: list[str] = []
    for conjunct in _conjuncts(test):
        if lines:
            lines[-1] += " &&"
        lines += conjunct
    text = Folded(lines)
    size = len(text.encode())
    if size > LONGEST_EXPRESSION:
        raise InexpressibleError(
            "CLM016",
            "the selector is longer than the API accepts",
            found=f"{size} bytes",
            expected=f"at most {LONGEST_EXPRESSION}",
            fix="name fewer products in the driver file, or lower --min-tps",
        )
    return text


def cel_string(text: str) -> str:
    """Return `text` as a CEL string literal without any character that is not printable."""
    return "'" + "".join(_char(char) for char in text) + "'"


def _char(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _conjuncts(test: DeviceTest) -> Iterator[Sequence[str]]:
    """Yield the conjuncts in order, each as its lines."""
    if test.kinds:
        kind = _attribute(test, test.kind_attribute)
        yield (_has_attribute(test, test.kind_attribute),)
        yield (_one_of(kind, test.kinds),)
    if test.memory_mib and test.every_product_has_memory:
        yield (_has_memory(test),)
        yield (_memory(test, ">=", test.memory_mib),)
    if test.bandwidth_gbs:
        yield (_has_attribute(test, test.bandwidth_attribute),)
        yield (f"{_attribute(test, test.bandwidth_attribute)} >= {test.bandwidth_gbs}",)
    if test.product_attribute:
        yield (_has_attribute(test, test.product_attribute),)
        yield _products(test)
    if test.health_attribute:
        health = _attribute(test, test.health_attribute)
        yield (_has_attribute(test, test.health_attribute),)
        yield (health if test.healthy_value == "true" else f"{health} == {test.healthy_value}",)


def _products(test: DeviceTest) -> list[str]:
    """Return the lines of the conjunct on products: any of the terms, or none of the refused."""
    terms = [_term(test, term) for term in test.terms]
    if test.admits_unlisted:
        terms.append(_unlisted(test))
    if len(terms) == 1:
        return terms[0]
    lines: list[str] = []
    for term in terms:
        if lines:
            lines[-1] += " ||"
        several = any(line.endswith(" &&") for line in term)
        lines += _in_parentheses(term) if several else term
    return _in_parentheses(lines)


def _in_parentheses(lines: list[str]) -> list[str]:
    lines[0] = "(" + lines[0]
    lines[-1] += ")"
    return lines


def _term(test: DeviceTest, term: ProductTerm) -> list[str]:
    product = _attribute(test, test.product_attribute)
    conditions = []
    if term.kind:
        if not test.kinds:
            conditions.append(_has_attribute(test, test.kind_attribute))
        conditions.append(f"{_attribute(test, test.kind_attribute)} == {cel_string(term.kind)}")
    if term.has_memory:
        floor = max(term.at_least_mib, test.memory_mib)
        if not test.every_product_has_memory:
            conditions.append(_has_memory(test))
        if not test.every_product_has_memory or floor > test.memory_mib:
            conditions.append(_memory(test, ">=", floor))
        if term.below_mib:
            conditions.append(_memory(test, "<", term.below_mib))
    return _all_of(_product_list(product, term.products), conditions)


def _unlisted(test: DeviceTest) -> list[str]:
    product = _attribute(test, test.product_attribute)
    named = sorted(
        {*test.refused_products, *(name for term in test.terms for name in term.products)}
    )
    lines = _product_list(product, tuple(named))
    lines = ["!(" + lines[0], *lines[1:]]
    lines[-1] += ")"
    if not test.memory_mib or test.every_product_has_memory:
        return lines
    return _all_of(lines, [_has_memory(test), _memory(test, ">=", test.memory_mib)])


def _all_of(lines: list[str], conditions: list[str]) -> list[str]:
    """Return `lines` and each of `conditions` on a line of its own, joined by ``&&``."""
    for condition in conditions:
        lines[-1] += " &&"
        lines.append(condition)
    return lines


def _product_list(product: str, names: Sequence[str]) -> list[str]:
    """Return ``product == 'x'`` or ``product in [...]``, the list broken into lines at commas."""
    if len(names) == 1:
        return [f"{product} == {cel_string(names[0])}"]
    lines = [f"{product} in ["]
    for name in names:
        item = f"{cel_string(name)}, "
        if len(lines[-1]) + len(item) > _WIDTH:
            lines[-1] = lines[-1].rstrip()
            lines.append("")
        lines[-1] += item
    lines[-1] = lines[-1].removesuffix(", ") + "]"
    return lines


def _one_of(value: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{value} == {cel_string(names[0])}"
    return f"{value} in [{', '.join(cel_string(name) for name in names)}]"


def _has_attribute(test: DeviceTest, name: str) -> str:
    domain, bare = _split(test, name)
    return f"{cel_string(bare)} in device.attributes[{cel_string(domain)}]"


def _attribute(test: DeviceTest, name: str) -> str:
    domain, bare = _split(test, name)
    return f"device.attributes[{cel_string(domain)}]{_selected(bare)}"


def _has_memory(test: DeviceTest) -> str:
    domain, bare = _split(test, test.memory_capacity)
    return f"{cel_string(bare)} in device.capacity[{cel_string(domain)}]"


def _memory(test: DeviceTest, comparison: str, mib: int) -> str:
    domain, bare = _split(test, test.memory_capacity)
    memory = f"device.capacity[{cel_string(domain)}]{_selected(bare)}"
    return f"{memory}.compareTo(quantity({cel_string(str(Quantity.of_mib(mib)))})) {comparison} 0"


def _split(test: DeviceTest, name: str) -> tuple[str, str]:
    """Return (domain, id) of an attribute or capacity; without a domain it is the driver's own."""
    domain, slash, bare = name.partition("/")
    return (domain, bare) if slash else (test.driver, name)


def _selected(name: str) -> str:
    plain = re.fullmatch(_IDENTIFIER, name, re.ASCII) and name not in _CEL_WORDS
    return f".{name}" if plain else f"[{cel_string(name)}]"
