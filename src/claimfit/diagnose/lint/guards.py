"""Selectors that read what a device may lack: found by thinking of a device without it.

For devices that are there, `claimfit.diagnose.lint.on_devices` asks the evaluator; this is for the
devices that a description says a driver may publish.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.diagnose.lint.accesses import Access, Hypothesis, accesses, conjuncts, outcomes
from claimfit.dra.cel.syntax import Call, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claimfit.diagnose.lint.edits import Edit
    from claimfit.diagnose.lint.finding import Report
    from claimfit.diagnose.lint.published import Known, World
    from claimfit.diagnose.lint.selector import Selector
    from claimfit.hardware.facts import DeviceKind, DriverDescription

__all__ = ["check", "guard_edits", "guarded", "kind_hypothesis", "passes"]

_OTHER_DRIVER = "another.driver.example"
_LOOSE = frozenset({"_||_", "_?_:_"})


def check(
    selector: Selector, explained: Iterable[tuple[str, str, str]], report: Report, world: World
) -> None:
    """Report reads without a guard of what devices of a driver may lack by its description.

    Drivers whose devices are there are left to `on_devices`; so are reads in `explained`.
    """
    done = set(explained)
    for access in accesses(selector.program.tree):
        if access.kind != "value" or access.key in done:
            continue
        done.add(access.key)
        names = world.attributes if access.table == "attributes" else world.capacities
        known = names.get((access.domain, access.name))
        reason = _may_lack(access, known, selector, world) if known is not None else ""
        if reason:
            report.add_at(
                "LNT046",
                "warning",
                selector.path,
                f"{selector.name} raises no such key: {access.name} on a device without it "
                f"({reason}); an evaluation error is not a non-match: kube-scheduler may abort the "
                "whole attempt",
                selector.text.place(access.node.start),
                fix=guarded(access, selector),
                edits=guard_edits(access, selector),
            )


def _may_lack(access: Access, known: Known, selector: Selector, world: World) -> str:
    """Return which devices get as far as the selector and may lack what it reads."""
    if not selector.class_name and access.domain in {item.name for item in world.described}:
        # A class looks at all devices of a cluster, whatever their driver.
        other = Hypothesis(_OTHER_DRIVER, {}, access.key)
        if "error" in outcomes(selector.program.tree, other):
            return f"every device of another driver: compare device.driver with '{access.domain}'"
    for driver in world.described:
        if driver.name not in known.drivers or driver.name in world.drivers:
            continue
        for kind in driver.kinds:
            certain = bool(known.kinds) and kind.name not in known.kinds
            if not certain and not known.maybe_absent:
                continue
            device = kind_hypothesis(driver, kind, access.key)
            if passes(selector, device) and "error" in outcomes(selector.program.tree, device):
                own = f"devices of kind {kind.name} have none" if certain else known.maybe_absent
                return f"{driver.name}: {own}"
    return ""


def kind_hypothesis(
    driver: DriverDescription, kind: DeviceKind, absent: tuple[str, str, str] | None = None
) -> Hypothesis:
    """Return what is known of every device of `kind`."""
    values = {}
    if driver.kind_attribute and kind.value:
        values[driver.name, driver.kind_attribute] = kind.value
    return Hypothesis(driver.name, values, absent)


def passes(selector: Selector, device: Hypothesis) -> bool:
    """Whether `device` may get past what is evaluated before `selector`."""
    return all("true" in outcomes(item.tree, device) for item in selector.before)


# --- the guarded form -----------------------------------------------------------------------------


def guarded(access: Access, selector: Selector) -> str:
    """Return the clause around `access` with the question before it whether it is there."""
    clause = _clause_of(access, selector.program.tree)
    written = selector.text.text[clause.start : clause.stop]
    if isinstance(clause, Call) and clause.function in _LOOSE and not written.startswith("("):
        written = f"({written})"
    return f"{_guard(access)} && {written}"


def guard_edits(access: Access, selector: Selector) -> tuple[Edit, ...]:
    """Return the edit that asks first.

    Nothing inside `!`, `||` and conditions, where the author must say which way a device without it
    goes.
    """
    clause = _clause_of(access, selector.program.tree)
    if isinstance(clause, Call) and clause.function in {*_LOOSE, "!_"}:
        return ()
    if any(mark in access.name + access.domain for mark in "'\\\n"):
        return ()
    return selector.text.edit(clause.start, clause.start, f"{_guard(access)} && ")


def _guard(access: Access) -> str:
    return f"'{access.name}' in device.{access.table}['{access.domain}']"


def _clause_of(access: Access, tree: Node) -> Node:
    for clause in conjuncts(tree):
        if clause.start <= access.node.start and access.node.stop <= clause.stop:
            return clause
    return tree
