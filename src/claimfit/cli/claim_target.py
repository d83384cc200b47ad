"""The driver and device class that ``--target`` and ``--device-class`` mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.claim.names import check_subdomain
from claimfit.errors import UsageError
from claimfit.hardware.drivers import Target, drivers, target
from claimfit.hardware.facts import DeviceClassDescription

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from claimfit.hardware.facts import DriverDescription

__all__ = ["DEFAULT_TARGET", "chosen_target"]

DEFAULT_TARGET: Final = "llmfit.ai"


def chosen_target(arguments: argparse.Namespace, own: Sequence[DriverDescription] = ()) -> Target:
    """Return the driver and the class to write for.

    A class that a known driver installs selects that driver; any other is a class of the cluster's
    own, taken to select devices of the target driver, of the kind that the target means.

    Raises:
        HardwareError: DRV001 or DRV010, from the look-up of ``--target``.
        UsageError: CLM002, the class is no DNS subdomain; CLM003, it is another driver's.
    """
    asked: str = arguments.target or DEFAULT_TARGET
    wanted: str | None = arguments.device_class
    if wanted is None:
        return target(asked, own)
    check_subdomain(wanted, "--device-class")
    owner = _owner(wanted, own)
    if owner is None:
        chosen = target(asked, own)
        own_class = DeviceClassDescription(wanted, (), chosen.device_class.kind)
        return Target(chosen.driver, own_class)
    if arguments.target and target(asked, own).driver.name != owner.name:
        raise UsageError(
            "CLM003",
            "the device class selects devices of another driver",
            place="--device-class",
            found=wanted,
            expected=f"a class of {target(asked, own).driver.name}",
            fix=f"--target {owner.name}",
        )
    return target(wanted, (owner,))


def _owner(wanted: str, own: Sequence[DriverDescription]) -> DriverDescription | None:
    """Return the driver whose installation creates the class `wanted`, or None."""
    for description in (*own, *drivers()):
        if any(item.name == wanted for item in description.classes):
            return description
    return None
