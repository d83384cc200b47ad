"""Conditions that follow from a driver's description alone: kinds of devices, and health."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claimfit.claim.device_test import DeviceTest
    from claimfit.hardware.facts import DeviceClassDescription, DeviceKind, DriverDescription

__all__ = ["with_health", "with_kinds"]


def with_kinds(
    driver: DriverDescription, device_class: DeviceClassDescription, test: DeviceTest
) -> DeviceTest:
    """Return `test` with the kinds that an engine can run on, where others could pass the rest.

    A driver that publishes bandwidth does so for accelerators; its CPUs serve models too, but no
    engine was sized for them here.
    """
    if not driver.kind_attribute:
        return test
    serving = [
        kind
        for kind in driver.serving_kinds(device_class)
        if _may_publish(driver, kind, driver.bandwidth_attribute)
    ]
    asked = (
        test.memory_capacity if test.memory_mib else "",
        test.product_attribute,
        test.bandwidth_attribute,
    )
    others = [
        kind
        for kind in driver.kinds
        if kind not in serving and all(_may_publish(driver, kind, name) for name in asked)
    ]
    if not others:
        return test
    values = tuple(sorted(kind.value for kind in serving))
    return test._replace(kind_attribute=driver.kind_attribute, kinds=values)


def with_health(driver: DriverDescription, test: DeviceTest) -> DeviceTest:
    """Return `test` with health, where every device publishes it.

    Where only some do, a guard would leave out the healthy rest; those drivers taint what is
    unhealthy, which keeps it from being allocated.
    """
    described = driver.attribute(driver.health_attribute)
    if described is None or not described.always:
        return test
    return test._replace(
        health_attribute=driver.health_attribute, healthy_value=driver.healthy_value
    )


def _may_publish(driver: DriverDescription, kind: DeviceKind, name: str) -> bool:
    """Return whether devices of `kind` may have the attribute or capacity `name` (or "")."""
    described = driver.capacity(name) or driver.attribute(name)
    return described is None or not described.kinds or kind.name in described.kinds
