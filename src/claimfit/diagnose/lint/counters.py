"""Rules for shared counters, which partitions of a board draw on (KEP 4815)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.diagnose.lint.names import label

if TYPE_CHECKING:
    from claimfit.diagnose.lint.finding import Report
    from claimfit.diagnose.lint.parts import Part

__all__ = ["check_consumptions", "check_counter_sets", "device_parts"]

MOST_COUNTER_SETS: Final = 8
MOST_COUNTERS: Final = 32
MOST_CONSUMPTIONS: Final = 2
_MOST_OLD_COUNTERS: Final = 1024
"""Of all devices of a slice, in 1.34."""


def device_parts(spec: Part) -> list[tuple[Part, Part]]:
    """Return (named device, what it has); they differ in v1beta1, which has it under ``basic``."""
    return [(item, item.part("basic") or item) for item in spec.parts("devices")]


def check_counter_sets(spec: Part, report: Report) -> None:
    sets = spec.parts("sharedCounters")
    if report.profile.minor < 35:
        _check_old_counters(spec, report)
    elif spec.count("sharedCounters") > MOST_COUNTER_SETS:
        count = spec.count("sharedCounters")
        report.too_many(spec.at("sharedCounters"), count, MOST_COUNTER_SETS)
        return
    _check_counters(sets, "name", report)


def _check_old_counters(spec: Part, report: Report) -> None:
    """Check what 1.34 asked of counters: sets in the same slice, and totals over all of them."""
    known = {item.text("name"): item.entries("counters") for item in spec.parts("sharedCounters")}
    total = sum(map(len, known.values()))
    if total > MOST_COUNTERS:
        detail = f"the total number of shared counters must not exceed {MOST_COUNTERS}"
        report.invalid(spec.at("sharedCounters"), total, detail)
    whole = 0
    for _, device in device_parts(spec):
        own = sum(item.count("counters") for item in device.parts("consumesCounters"))
        whole += own
        if own > MOST_COUNTERS:
            detail = f"the total number of counters must not exceed {MOST_COUNTERS}"
            report.invalid(device.path, own, detail)
        for consumption in device.parts("consumesCounters"):
            name = consumption.text("counterSet")
            if name not in known:
                detail = "must reference a counterSet defined in the ResourceSlice sharedCounters"
                report.invalid(consumption.at("counterSet"), name, detail)
                continue
            for counter in consumption.entries("counters"):
                if counter not in known[name]:
                    detail = "must reference a counter defined in the ResourceSlice sharedCounters"
                    report.invalid(consumption.at("counters"), counter, detail, key=counter)
    if whole > _MOST_OLD_COUNTERS:
        detail = f"the total number of counters in devices must not exceed {_MOST_OLD_COUNTERS}"
        report.invalid(spec.at("devices"), whole, detail)


def check_consumptions(device: Part, report: Report) -> None:
    count = device.count("consumesCounters")
    if count > MOST_CONSUMPTIONS and report.profile.minor >= 35:
        report.too_many(device.at("consumesCounters"), count, MOST_CONSUMPTIONS)
        return
    _check_counters(device.parts("consumesCounters"), "counterSet", report)


def _check_counters(holders: list[Part], field: str, report: Report) -> None:
    """Report on the name and the counters of each of `holders`, and on names used twice."""
    seen: set[str] = set()
    for holder in holders:
        name = holder.text(field)
        if not name:
            report.required(holder.at(field))
        else:
            for problem in label(name):
                report.invalid(holder.at(field), name, problem)
        counters = holder.entries("counters")
        if not counters:
            report.required(holder.at("counters"))
        elif len(counters) > MOST_COUNTERS and report.profile.minor >= 35:
            report.too_many(holder.at("counters"), len(counters), MOST_COUNTERS)
        else:
            for counter in counters:
                for problem in label(counter):
                    report.invalid(holder.at("counters"), counter, problem, key=counter)
        if name in seen:
            report.duplicate(holder.path, name)
        seen.add(name)
