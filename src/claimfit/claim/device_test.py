"""What a device must be, as values: written as CEL by `selector`, asked of a cluster by `unmet`.

Both read the same `DeviceTest`, so that what `--cluster` accepts is what the claim asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.records import NamedTuple
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from claimfit.claim.inventory import AttributeValue

__all__ = ["DeviceTest", "ProductTerm", "lookup", "unmet"]

_QUOTES: Final = "'\""


class ProductTerm(NamedTuple):
    """Products that may be given, and what else tells them from namesakes that may not."""

    products: tuple[str, ...]
    """Values of `DeviceTest.product_attribute`, sorted."""
    kind: str = ""
    """Value of the kind attribute, where it differs between the terms of one test."""
    at_least_mib: int = 0
    """Published memory from which on it is the right one; 0 when the test's own floor does."""
    below_mib: int = 0
    """Published memory below which it is the right one; 0 without such a bound."""
    has_memory: bool = True
    """False for products that publish no memory (GB10): their name is all there is to ask for."""


class DeviceTest(NamedTuple):
    """Conditions on one device. Empty and 0 ask for nothing."""

    driver: str
    kind_attribute: str = ""
    kinds: tuple[str, ...] = ()
    memory_capacity: str = ""
    memory_mib: int = 0
    bandwidth_attribute: str = ""
    bandwidth_gbs: int = 0
    product_attribute: str = ""
    """Empty when products are not asked for."""
    terms: tuple[ProductTerm, ...] = ()
    """Any of these products."""
    refused_products: tuple[str, ...] = ()
    """With `--unlisted admit`: listed products that are not good enough."""
    admits_unlisted: bool = False
    """Whether products outside `terms` and `refused_products` are accepted."""
    health_attribute: str = ""
    healthy_value: str = ""
    """CEL literal: true, or a quoted string."""

    @property
    def admits_nothing(self) -> bool:
        """Whether products are asked for and none is good enough."""
        return bool(self.product_attribute) and not self.terms and not self.admits_unlisted

    @property
    def every_product_has_memory(self) -> bool:
        """Whether the memory floor holds for all that is accepted, not only for some products."""
        return all(term.has_memory for term in self.terms)


def lookup(values: Mapping[str, AttributeValue], name: str, driver: str) -> AttributeValue | None:
    """Return the value published under `name`, bare or in the driver's own domain."""
    value = values.get(name)
    return values.get(f"{driver}/{name}") if value is None else value


def unmet(
    test: DeviceTest, attributes: Mapping[str, AttributeValue], capacities: Mapping[str, str]
) -> str:
    """Return why a published device of `test.driver` fails `test`, or "" when it passes.

    The conditions are taken in the order of the CEL expression. Raises `InputError` UNT... for a
    capacity that is no quantity.
    """
    kind = lookup(attributes, test.kind_attribute, test.driver) if test.kind_attribute else None
    if test.kinds and kind not in test.kinds:
        return f"{test.kind_attribute} is {_shown(kind)}, not {' or '.join(test.kinds)}"
    memory = _memory(test, capacities)
    if test.memory_mib and test.every_product_has_memory:
        short = _short(memory, test.memory_mib)
        if short:
            return short
    if test.bandwidth_gbs:
        bandwidth = lookup(attributes, test.bandwidth_attribute, test.driver)
        if not isinstance(bandwidth, int) or bandwidth < test.bandwidth_gbs:
            return f"{test.bandwidth_attribute} is {_shown(bandwidth)}, below {test.bandwidth_gbs}"
    if test.product_attribute:
        reason = _product(test, attributes, memory, kind)
        if reason:
            return reason
    if test.health_attribute:
        health = lookup(attributes, test.health_attribute, test.driver)
        if _literal(health) != test.healthy_value.strip(_QUOTES):
            return f"{test.health_attribute} is {_shown(health)}"
    return ""


def _memory(test: DeviceTest, capacities: Mapping[str, str]) -> Quantity | None:
    if not test.memory_capacity:
        return None
    name = test.memory_capacity
    text = capacities.get(name, capacities.get(f"{test.driver}/{name}"))
    return None if text is None else Quantity.parse(text, f"capacity {name}")


def _short(memory: Quantity | None, floor_mib: int) -> str:
    floor = Quantity.of_mib(floor_mib)
    if memory is None:
        return "publishes no memory"
    if memory < floor:
        return f"publishes {memory}, {floor - memory} short of {floor}"
    return ""


def _product(
    test: DeviceTest,
    attributes: Mapping[str, AttributeValue],
    memory: Quantity | None,
    kind: AttributeValue | None,
) -> str:
    product = lookup(attributes, test.product_attribute, test.driver)
    if product is None:
        return f"publishes no {test.product_attribute}"
    reason = ""
    for term in test.terms:
        if product not in term.products:
            continue
        if term.kind not in {"", kind}:
            reason = reason or f"{test.kind_attribute} is {_shown(kind)}, not {term.kind}"
            continue
        reason = _out_of_range(test, term, memory)
        if not reason:
            return ""
    unlisted = test.admits_unlisted and product not in test.refused_products
    if unlisted and not reason:
        return _short(memory, test.memory_mib) if test.memory_mib else ""
    return reason or f"{test.product_attribute} {_shown(product)} is not among the admitted"


def _out_of_range(test: DeviceTest, term: ProductTerm, memory: Quantity | None) -> str:
    if not term.has_memory:
        return ""
    short = _short(memory, max(term.at_least_mib, test.memory_mib))
    if short or not term.below_mib or memory is None or memory < Quantity.of_mib(term.below_mib):
        return short
    return f"publishes {memory}, which is another product of that name"


def _literal(value: AttributeValue | None) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shown(value: AttributeValue | None) -> str:
    return "absent" if value is None else _literal(value)
