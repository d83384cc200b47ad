"""Shares of a device's capacity: what a request consumes, and whether that is left.

Rules: consumable_capacity.go in k8s.io/dynamic-resource-allocation/structured. Amounts are nanos.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.dra.amounts import amount, nanos_of, whole
from claimfit.units.quantity import Quantity, QuantityFormat

if TYPE_CHECKING:
    from claimfit.dra.allocator.behaviour import Behaviour
    from claimfit.dra.allocator.state import Consumed
    from claimfit.dra.objects import CapacityRequestPolicy, DeviceCapacity
    from claimfit.dra.pools import PooledDevice

__all__ = ["CapacityError", "Shortfall", "consumption", "shortfall"]

_NANOS: Final = 10**9
_MILLI: Final = 10**6
_LARGEST: Final = 2**63 - 1
_UNREPRESENTABLE: Final = "capacity request cannot be represented in the device's range arithmetic"


class CapacityError(Exception):
    """An amount that Kubernetes refuses to compute with (fatal from 1.37 on)."""

    def __init__(self, capacity: str, problem: str) -> None:
        super().__init__(f'capacity "{capacity}": {problem}')


class Shortfall(NamedTuple):
    """Why a device cannot serve a request.

    Attributes:
        kind: ``missing`` (the device has no such capacity), ``policy`` (no such share is given out)
            or ``short``.
        capacity: its name.
        wanted: nanos that the request would consume.
        left: nanos that are not consumed; for ``policy`` the full amount.
    """

    kind: str
    capacity: str
    wanted: int
    left: int


def shortfall(
    asked: dict[str, Quantity] | None,
    entry: PooledDevice,
    consumed: Consumed,
    taking: Consumed,
    rules: Behaviour,
) -> Shortfall | None:
    """Return what keeps `entry` from serving `asked`, or None; the first in order of names.

    `consumed` is held by allocated claims, `taking` by this attempt. Raises `CapacityError`.
    """
    capacities = entry.device.capacity
    for name, missing in (asked or {}).items():
        if name not in capacities:
            return Shortfall("missing", name, missing.nanos, 0)
    wanted = {
        name: _consumed(name, (asked or {}).get(name), capacities[name], rules)[0]
        for name in sorted(capacities)
    }
    for name, nanos in wanted.items():
        capacity = capacities[name]
        total = nanos_of(capacity.value)
        if _violates(nanos, capacity.request_policy, rules):
            return Shortfall("policy", name, nanos, total)
        left = total - consumed.get(name, 0) - taking.get(name, 0)
        if nanos > left:
            return Shortfall("short", name, nanos, left)
    return None


def consumption(
    asked: dict[str, Quantity] | None, entry: PooledDevice, rules: Behaviour
) -> dict[str, Quantity]:
    """Return what a share of `entry` consumes of every capacity; raises `CapacityError`."""
    return {
        name: Quantity(*_consumed(name, (asked or {}).get(name), capacity, rules))
        for name, capacity in entry.device.capacity.items()
    }


def _consumed(
    name: str, asked: Quantity | None, capacity: DeviceCapacity, rules: Behaviour
) -> tuple[int, QuantityFormat]:
    nanos, notation = _rounded(name, asked, capacity, rules)
    if nanos < 0 and rules.capacity_errors:
        raise CapacityError(name, "capacity value is negative")
    return nanos, notation


def _rounded(
    name: str, asked: Quantity | None, capacity: DeviceCapacity, rules: Behaviour
) -> tuple[int, QuantityFormat]:
    policy = capacity.request_policy
    if asked is None:
        given = capacity.value if policy is None or policy.default is None else policy.default
        found = amount(given)
        return found.nanos, found.format
    if policy is not None and policy.valid_range is not None and policy.valid_range.min is not None:
        return _rounded_to_range(name, asked.nanos, policy, rules)
    if policy is not None and policy.valid_values:
        for value in policy.valid_values:
            if asked.nanos <= nanos_of(value):
                return nanos_of(value), amount(value).format
    return asked.nanos, asked.format


def _rounded_to_range(
    name: str, asked: int, policy: CapacityRequestPolicy, rules: Behaviour
) -> tuple[int, QuantityFormat]:
    """Round up to the next step above the minimum."""
    valid = policy.valid_range
    least = amount(valid.min if valid is not None and valid.min is not None else 0)
    if valid is None or asked < least.nanos:
        return least.nanos, least.format
    if valid.step is None:
        return asked, least.format
    unit = _unit(policy, rules)
    step, notation = amount(valid.step), amount(valid.step).format
    if rules.capacity_errors:
        _refuse_unrepresentable(name, asked, unit)
    each = _in_units(step.nanos, unit)
    if each <= 0:
        raise CapacityError(name, f"a step of {valid.step} reaches no amount")
    base = _in_units(least.nanos, unit)
    steps = -(-(_in_units(asked, unit) - base) // each)
    if rules.capacity_errors and base >= 0 and steps > (_LARGEST - base) // each:
        range_name = "MaxInt64" if unit == _NANOS else "the milli-value range"
        text = f"rounding request {Quantity(asked)} up to the next step passes {range_name}"
        raise CapacityError(name, f"{_UNREPRESENTABLE}: {text}")
    return (base + steps * each) * unit, notation if rules.capacity_errors else "BinarySI"


def _refuse_unrepresentable(name: str, asked: int, unit: int) -> None:
    if unit == _MILLI and not _milli(asked):
        text = f"request {Quantity(asked)} is not a representable milli value"
        raise CapacityError(name, f"{_UNREPRESENTABLE}: {text}")
    if unit == _NANOS and asked > _LARGEST * _NANOS:
        text = f"request {Quantity(asked)} exceeds MaxInt64"
        raise CapacityError(name, f"{_UNREPRESENTABLE}: {text}")


def _violates(nanos: int, policy: CapacityRequestPolicy | None, rules: Behaviour) -> bool:
    """Return whether the device gives out no share of this size."""
    if policy is None or (policy.default is not None and nanos == nanos_of(policy.default)):
        return False
    valid = policy.valid_range
    if valid is not None:
        if valid.max is not None and nanos > nanos_of(valid.max):
            return True
        if valid.step is None:
            return False
        unit = _unit(policy, rules)
        each = _in_units(nanos_of(valid.step), unit)
        base = _in_units(nanos_of(valid.min), unit) if valid.min is not None else 0
        return each <= 0 or (_in_units(nanos, unit) - base) % each != 0
    if policy.valid_values:
        return all(nanos != nanos_of(value) for value in policy.valid_values)
    return False


def _unit(policy: CapacityRequestPolicy, rules: Behaviour) -> int:
    """Return the unit of steps: thousandths where the gate is on and all bounds are such."""
    valid = policy.valid_range
    if valid is None or not rules.features.fractional_range:
        return _NANOS
    bounds = [nanos_of(item) for item in (valid.min, valid.max, valid.step) if item is not None]
    positive = valid.step is None or nanos_of(valid.step) >= _MILLI
    return _MILLI if positive and all(_milli(item) for item in bounds) else _NANOS


def _milli(nanos: int) -> bool:
    return nanos % _MILLI == 0 and abs(nanos // _MILLI) <= _LARGEST


def _in_units(nanos: int, unit: int) -> int:
    return whole(nanos) if unit == _NANOS else nanos // _MILLI
