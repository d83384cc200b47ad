"""Runs selectors on the devices there are: which raise, and which clauses no device passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.diagnose.lint.accesses import Access, accesses, conjuncts
from claimfit.diagnose.lint.compiled import compiled
from claimfit.diagnose.lint.guards import guard_edits, guarded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claimfit.diagnose.lint.finding import Report
    from claimfit.diagnose.lint.published import World
    from claimfit.diagnose.lint.selector import Selector
    from claimfit.dra.cel.syntax import Node
    from claimfit.dra.inventory import PublishedRow

__all__ = ["check", "devices_reached"]

_NO_SUCH_KEY: Final = "no such key: "
_SHOWN: Final = 4


class _Verdict(NamedTuple):
    """What a selector says about one device."""

    row: PublishedRow
    matches: bool
    error: str

    @property
    def where(self) -> str:
        """Node and device, for messages."""
        return f"{self.row.node} device {self.row.id.device}"


def devices_reached(selector: Selector, world: World) -> list[PublishedRow]:
    """Return each device that passes what is evaluated before `selector`, once.

    Where the class of the request is not known, its devices are taken to be those of the drivers
    whose names the selector reads.
    """
    found = {}
    domains = {item.domain for item in accesses(selector.program.tree)}
    known = not selector.class_name or bool(selector.before)
    for row in world.rows:
        if not known and row.id.driver not in domains:
            continue
        if row.id not in found and all(
            item.evaluate(row.device, row.id.driver).matches for item in selector.before
        ):
            found[row.id] = row
    return list(found.values())


def check(
    selector: Selector,
    explained: Iterable[tuple[str, str, str]],
    clauses: Iterable[Node],
    report: Report,
    world: World,
) -> None:
    """Report errors on devices, and clauses that are false on all of them.

    Nothing is said again about the reads in `explained` and about `clauses`.
    """
    rows = devices_reached(selector, world)
    if not rows:
        return
    verdicts = []
    for row in rows:
        result = selector.program.evaluate(row.device, row.id.driver)
        verdicts.append(_Verdict(row, result.matches, result.error))
    raised = _report_errors(verdicts, set(explained), selector, report)
    if not selector.class_name:
        return  # a class without devices today is no mistake
    if not raised and not any(verdict.matches for verdict in verdicts):
        _report_false(rows, {id(clause) for clause in clauses}, selector, report, world)


# --- errors ---------------------------------------------------------------------------------------


def _report_errors(
    verdicts: list[_Verdict],
    explained: set[tuple[str, str, str]],
    selector: Selector,
    report: Report,
) -> bool:
    """Report each kind of error once, with a device that has it; return whether there is any."""
    groups: dict[str, list[_Verdict]] = {}
    for verdict in verdicts:
        if verdict.error:
            groups.setdefault(verdict.error, []).append(verdict)
    fitting = next((verdict for verdict in verdicts if verdict.matches), None)
    reads = [item for item in accesses(selector.program.tree) if item.kind == "value"]
    for error, raising in groups.items():
        name = error.removeprefix(_NO_SUCH_KEY) if error.startswith(_NO_SUCH_KEY) else ""
        access = next((item for item in reads if item.name == name), None) if name else None
        if access is not None and access.key in explained:
            continue
        if not name and _is_explained(error, explained, reads):
            continue
        _report_error(error, raising, access, fitting, selector, report)
    return bool(groups)


def _is_explained(error: str, explained: set[tuple[str, str, str]], reads: list[Access]) -> bool:
    """Whether a type that was reported already is what raises."""
    return error.startswith("no such overload") and any(item.key in explained for item in reads)


def _report_error(
    error: str,
    raising: list[_Verdict],
    access: Access | None,
    fitting: _Verdict | None,
    selector: Selector,
    report: Report,
) -> None:
    more = f" and {len(raising) - 1} more" if len(raising) > 1 else ""
    alone = (
        f"; {fitting.row.node} alone would satisfy it ({fitting.row.id.device})" if fitting else ""
    )
    node = access.node if access is not None else selector.program.tree
    report.add_at(
        "LNT046" if access is not None else "LNT054",
        "error",
        selector.path,
        f"{selector.name} raises on {raising[0].where}{more}: {error}{alone}. An evaluation error "
        "is not a non-match: kube-scheduler may abort the whole attempt",
        selector.text.place(node.start),
        fix=guarded(access, selector) if access is not None else "",
        edits=guard_edits(access, selector) if access is not None else (),
    )


# --- false everywhere -----------------------------------------------------------------------------


def _report_false(
    rows: list[PublishedRow], done: set[int], selector: Selector, report: Report, world: World
) -> None:
    """Report the clauses that no device passes; that together none does is for the allocator."""
    for clause in conjuncts(selector.program.tree):
        if id(clause) in done:
            continue
        text = selector.text.text[clause.start : clause.stop]
        program = compiled(text, world.profile, new=False).program
        if program is None:
            continue  # it needs what stands around it
        results = [program.evaluate(row.device, row.id.driver) for row in rows]
        if any(result.matches or result.error for result in results):
            continue
        seen, fix = _what_is_there(clause, rows, world)
        report.add_at(
            "LNT049",
            "error",
            selector.path,
            f"{selector.name}: this clause is false on every device ({len(rows)} there){seen}",
            selector.text.place(clause.start),
            fix=fix,
        )


def _what_is_there(clause: Node, rows: list[PublishedRow], world: World) -> tuple[str, str]:
    """Return what the devices have where `clause` looks, and where else to look."""
    read = next((item for item in accesses(clause) if item.kind == "value"), None)
    if read is None:
        return "", ""
    values = set()
    for row in rows:
        device = row.device
        for name in (f"{read.domain}/{read.name}", read.name):
            if read.table == "attributes" and name in device.attributes:
                value = device.attributes[name].value
                values.add(f'"{value}"' if isinstance(value, str) else str(value))
            elif read.table == "capacity" and name in device.capacity:
                values.add(str(device.capacity[name].value))
    shown = ", ".join(sorted(values)[:_SHOWN])
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    word = "attribute" if read.table == "attributes" else "capacity"
    seen = f": {word} {read.name} is {shown}{more} here" if values else ""
    driver = next((item for item in world.described if item.name == read.domain), None)
    fix = ""
    if driver is not None and driver.product_attributes and read.name == driver.kind_attribute:
        fix = f"the model is in {driver.product_attributes[0]}"
    return seen, fix
