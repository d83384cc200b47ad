"""Rules for the request policy of a shared capacity (consumable capacity, KEP 5075)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from claimfit.diagnose.lint.finding import Report
    from claimfit.diagnose.lint.parts import Part
    from claimfit.diagnose.lint.paths import Path

__all__ = ["check_policy"]

MOST_VALUES: Final = 10
_NANOS: Final = 10**9
_MILLI: Final = 10**6
_FRACTIONS: Final = "DRAFractionalCapacityRange"
"""The gate (on since 1.37) with which fractions of a unit count."""


def check_policy(policy: Part, value: Quantity | None, report: Report) -> None:
    """Report what the API server refuses in the policy of a capacity of `value`."""
    most = value or Quantity(0)
    valid_range = policy.part("validRange")
    if policy.count("validValues") and valid_range is not None:
        report.forbidden(
            policy.path,
            'exactly one policy can be specified, cannot specify "validValues" and "validRange" '
            "at the same time",
        )
        return
    default = policy.quantity("default")
    for field in ("validValues", "validRange"):
        asked = policy.count(field) > 0 if field == "validValues" else valid_range is not None
        if asked and default is None:
            report.required(policy.at("default"), f"required when {field} is defined")
            return
    if default is None:
        return
    if policy.count("validValues"):
        _check_values(policy, default, most, report)
    elif valid_range is not None:
        _check_range(valid_range, default, most, report)


def _check_values(policy: Part, default: Quantity, most: Quantity, report: Report) -> None:
    values, path = policy.quantities("validValues"), policy.at("validValues")
    for index in range(len(values) - 1):
        if values[index] > values[index + 1]:
            detail = "values must be sorted in ascending order"
            report.invalid((*path, index + 1), str(values[index + 1]), detail)
    if len(values) > MOST_VALUES:
        report.too_many(path, len(values), MOST_VALUES)
        values = []  # the server looks at none of them, so that the default is not among them
    unit = 1 if report.profile.enabled(_FRACTIONS) else _NANOS  # the server compares whole numbers
    seen = set()
    for index, value in enumerate(values):
        if value > most:
            detail = f"option is larger than capacity value: {most}"
            report.invalid((*path, index), str(value), detail)
        if _in_units(value, unit) in seen:
            report.duplicate((*path, index), str(_in_units(value, unit)))
        seen.add(_in_units(value, unit))
    if default not in values:
        detail = "default value is not valid according to the requestPolicy"
        report.invalid(path, str(default), detail)


def _check_range(part: Part, default: Quantity, most: Quantity, report: Report) -> None:
    low, high, step = (part.quantity(field) for field in ("min", "max", "step"))
    if low is None:
        report.required(part.at("min"), "required when validRange is defined")
        return
    _check_bounds(part, default, most, report)
    fractional = any(
        value is not None and value.nanos % _NANOS for value in (default, low, high, step)
    )
    milli = fractional and report.profile.enabled(_FRACTIONS)
    if milli and not _check_milli(part, default, report):
        return
    if step is None:
        return
    unit = _MILLI if milli else _NANOS
    path = part.at("step")
    if low + step > most:
        detail = f"one step {low + step} is larger than capacity value: {most}"
        report.invalid(path, str(step), detail)
    for value in (default, high):
        if value is not None:
            _check_step(value, low, step, unit, path, report)


def _check_bounds(part: Part, default: Quantity, most: Quantity, report: Report) -> None:
    """Report bounds that do not enclose one another, the default and the capacity."""
    low, high = part.quantity("min") or Quantity(0), part.quantity("max")
    if low > most:
        report.invalid(part.at("min"), str(low), f"min is larger than capacity value: {most}")
    if default < low:
        report.invalid(part.at("min"), str(default), f"default is less than min: {low}")
    if high is not None:
        path = part.at("max")
        if low > high:
            report.invalid(path, str(low), f"min is larger than max: {high}")
        if high > most:
            report.invalid(path, str(high), f"max is larger than capacity value: {most}")
        if default > high:
            report.invalid(path, str(default), f"default is more than max: {high}")


def _check_milli(part: Part, default: Quantity, report: Report) -> bool:
    """Report amounts finer than a thousandth; return whether there is none."""
    named = {field: part.quantity(field) for field in ("min", "max", "step")}
    fine = [
        (field, value)
        for field, value in {"default": default, **named}.items()
        if value is not None and value.nanos % _MILLI
    ]
    for field, value in fine:
        report.invalid(part.at(field), str(value), "value cannot be represented as a milli value")
    return not fine


def _check_step(
    value: Quantity, low: Quantity, step: Quantity, unit: int, path: Path, report: Report
) -> None:
    width = _in_units(step, unit)
    if width == 0:
        # The API server divides by it; what it answers then is no verdict on the manifest.
        report.invalid(path, str(step), "must not be zero")
    elif (_in_units(value, unit) - _in_units(low, unit)) % width:
        report.invalid(
            path, str(value), f"value is not a multiple of a given step ({step}) from ({low})"
        )


def _in_units(value: Quantity, unit: int) -> int:
    """Return `value` in units of so many nanos, rounded away from zero as Quantity.Value() does."""
    whole = -(-abs(value.nanos) // unit)
    return -whole if value.nanos < 0 else whole
