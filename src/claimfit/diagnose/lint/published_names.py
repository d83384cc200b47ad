"""Rules for the names that selectors read: attributes, capacities and domains that nobody has."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from claimfit.diagnose.lint.accesses import Access, accesses
from claimfit.diagnose.lint.published import STANDARD_DOMAIN

if TYPE_CHECKING:
    from claimfit.diagnose.lint.finding import Report
    from claimfit.diagnose.lint.published import World
    from claimfit.diagnose.lint.selector import Key, Selector

__all__ = ["check"]

_PRODUCT_WORDS: Final = frozenset({"model", "product", "name", "card", "gpuModel", "modelName"})
"""What people call the product before they have read what a driver calls it."""
_SHOWN: Final = 4


def check(selector: Selector, report: Report, world: World) -> set[Key]:
    """Report names that nobody publishes; return what is read by them."""
    wrong: set[Key] = set()
    for access in accesses(selector.program.tree):
        if access.key not in wrong and not _check_name(access, selector, report, world):
            wrong.add(access.key)
    return wrong


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
    selector.add(
        report,
        "LNT044",
        "error" if world.snapshot and access.kind == "value" else "warning",
        access.node,
        f"no device of {world.source} has {what} {access.name} of domain {access.domain}: "
        f"{consequence}",
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
    selector.add(
        report,
        "LNT048",
        "error",
        access.node,
        f"{access.name} is published as {words[there]}, not {words[here]}: {raises}",
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
    selector.add(
        report,
        "LNT045",
        "error" if world.snapshot and access.kind == "value" else "warning",
        access.node,
        f'nothing is published under domain "{access.domain}": an unknown domain is an empty map, '
        f"so {_no_such_key(access) if access.kind != 'guard' else 'the test is always false'}"
        f"{' (about the key, not the domain)' if access.kind == 'value' else ''}",
        fix=fix,
    )
    return False
