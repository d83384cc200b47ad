"""Which published devices any DeviceClass of the cluster selects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.dra.cel.program import Program, compile_selector

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claimfit.dra.inventory import PublishedRow
    from claimfit.dra.objects import DeviceClass
    from claimfit.dra.profile import Profile

__all__ = ["with_class_obstacles"]


def with_class_obstacles(
    rows: Iterable[PublishedRow], classes: Iterable[DeviceClass], profile: Profile
) -> list[PublishedRow]:
    """Return `rows`, those that no class selects with that as their obstacle.

    A claim names a class, so a device outside every class is given to nobody. Without any class in
    `classes` nothing is known of them, and the rows stay as they are. A selector that does not
    compile or raises on a device does not select it.
    """
    programs = [_programs(item, profile) for item in classes]
    if not programs:
        return list(rows)
    return [
        row
        if row.obstacle or any(_selects(group, row) for group in programs)
        else row._replace(obstacle="no device class of the cluster selects it")
        for row in rows
    ]


def _programs(device_class: DeviceClass, profile: Profile) -> Sequence[Program] | None:
    """Return the selectors of `device_class`, or None when one of them can never be evaluated."""
    programs = []
    for selector in device_class.spec.selectors:
        compiled = compile_selector(selector.cel.expression if selector.cel else "", profile)
        if not isinstance(compiled, Program):
            return None
        programs.append(compiled)
    return programs


def _selects(programs: Sequence[Program] | None, row: PublishedRow) -> bool:
    if programs is None:
        return False
    return all(item.evaluate(row.device, row.id.driver).matches for item in programs)
