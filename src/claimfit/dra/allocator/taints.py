"""Taints of devices, tolerations of requests, and rules that taint.

Rules: ToleratesTaint in k8s.io/dynamic-resource-allocation/resourceclaim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claimfit.dra.allocator.behaviour import Behaviour
    from claimfit.dra.allocator.requests import Request
    from claimfit.dra.objects import (
        Device,
        DeviceTaint,
        DeviceTaintRule,
        DeviceToleration,
        ResourceSlice,
    )

__all__ = ["tolerates", "untolerated", "with_taint_rules"]

_PREVENTING = ("NoSchedule", "NoExecute")


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Return whether `toleration` accepts `taint`; an empty effect or key accepts any."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in {"", "Equal"}:
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def untolerated(device: Device, request: Request, rules: Behaviour) -> DeviceTaint | None:
    """Return the first taint that keeps `request` from the device, or None."""
    if not rules.features.device_taints:
        return None
    for taint in device.taints:
        preventing = rules.all_effects or taint.effect in _PREVENTING
        if preventing and not any(tolerates(item, taint) for item in request.tolerations):
            return taint
    return None


def with_taint_rules(
    slices: Iterable[ResourceSlice], taint_rules: Iterable[DeviceTaintRule]
) -> list[ResourceSlice]:
    """Return `slices` with the taints of the rules (gate DRADeviceTaintRules) added to devices."""
    active = [rule for rule in taint_rules if rule.spec.device_selector is not None]
    if not active:
        return list(slices)
    return [_tainted(item, active) for item in slices]


def _tainted(published: ResourceSlice, active: list[DeviceTaintRule]) -> ResourceSlice:
    spec = published.spec
    devices = []
    for device in spec.devices:
        added = [
            rule.spec.taint
            for rule in active
            if _selects(rule, spec.driver, spec.pool.name, device.name)
        ]
        taints = [*device.taints, *added]
        devices.append(msgspec.structs.replace(device, taints=taints) if added else device)
    return msgspec.structs.replace(published, spec=msgspec.structs.replace(spec, devices=devices))


def _selects(rule: DeviceTaintRule, driver: str, pool: str, device: str) -> bool:
    selector = rule.spec.device_selector
    if selector is None:
        return False
    asked = ((selector.driver, driver), (selector.pool, pool), (selector.device, device))
    return all(wanted is None or wanted == found for wanted, found in asked)
