"""Rules for clauses that are the same for every device: constants, values that no device has."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from claimfit.diagnose.lint.accesses import accesses, conjuncts, outcomes
from claimfit.diagnose.lint.guards import kind_hypothesis, passes
from claimfit.dra.cel.syntax import Call, Literal, Node, Select

if TYPE_CHECKING:
    from claimfit.diagnose.lint.finding import Report
    from claimfit.diagnose.lint.published import World
    from claimfit.diagnose.lint.selector import Selector

__all__ = ["check"]


def check(selector: Selector, report: Report, world: World) -> set[Node]:
    """Report clauses that are the same for every device; return them."""
    found: set[Node] = set()
    for clause in conjuncts(selector.program.tree):
        if isinstance(clause, Literal) and isinstance(clause.value, bool):
            found.add(clause)
            word = "true" if clause.value else "false"
            selector.add(
                report,
                "LNT050" if clause.value else "LNT049",
                "info" if clause.value else "error",
                clause,
                f"this clause is always {word}",
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
    selector.add(
        report,
        "LNT049",
        "warning",
        clause,
        f"this clause is false on every device of {world.source}: no driver is called "
        f"{literal.value}",
        fix=f"nearest: {', '.join(near)}",
    )
    return True


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
    selector.add(
        report,
        "LNT049",
        "warning",
        clause,
        f"this clause is false on every device that the class of the request lets in: "
        f"{driver.name} publishes {driver.kind_attribute} {values}",
        fix=f"the model is in {product}" if product else "",
    )
    return True
