"""What is known of drivers and devices in one command, the user's own files included."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from claimfit.cli.own_files import own_drivers
from claimfit.hardware.accelerators import accelerators
from claimfit.hardware.drivers import known_driver
from claimfit.hardware.identification import DeviceIndex
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from claimfit.hardware.facts import Accelerator, DriverDescription

__all__ = ["Hardware", "hardware_of"]


class Hardware(NamedTuple):
    """Drivers by name, devices by what they publish, and the whole accelerator table."""

    describe: Callable[[str], DriverDescription | None]
    identify: Callable[[str, Mapping[str, str | int | bool], Mapping[str, str]], Accelerator | None]
    accelerators: tuple[Accelerator, ...]


def hardware_of(driver_files: Sequence[str]) -> Hardware:
    """Return the shipped table and descriptions with those of `driver_files` before them."""
    files = own_drivers(driver_files)
    own = tuple(item.driver for item in files)
    known = tuple(device for item in files for device in item.accelerators) + accelerators()

    @cache
    def describe(name: str) -> DriverDescription | None:
        return known_driver(name, own)

    return Hardware(describe, DeviceIndex(known).identify, known)
