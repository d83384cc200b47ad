"""What a model may run on: accelerators, and what each DRA driver publishes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit._exports import lazy

if TYPE_CHECKING:
    from claimfit.hardware.accelerators import accelerator, table_version
    from claimfit.hardware.driver_file import DriverFile, load_driver_file
    from claimfit.hardware.drivers import Target, driver, target
    from claimfit.hardware.facts import Accelerator, DriverDescription
    from claimfit.hardware.identification import DeviceIndex, identify
    from claimfit.hardware.samples import sample_names, sample_path

__all__ = [
    "Accelerator",
    "DeviceIndex",
    "DriverDescription",
    "DriverFile",
    "Target",
    "accelerator",
    "driver",
    "identify",
    "load_driver_file",
    "sample_names",
    "sample_path",
    "table_version",
    "target",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Accelerator": "claimfit.hardware.facts",
        "DeviceIndex": "claimfit.hardware.identification",
        "DriverDescription": "claimfit.hardware.facts",
        "DriverFile": "claimfit.hardware.driver_file",
        "Target": "claimfit.hardware.drivers",
        "accelerator": "claimfit.hardware.accelerators",
        "driver": "claimfit.hardware.drivers",
        "identify": "claimfit.hardware.identification",
        "load_driver_file": "claimfit.hardware.driver_file",
        "sample_names": "claimfit.hardware.samples",
        "sample_path": "claimfit.hardware.samples",
        "table_version": "claimfit.hardware.accelerators",
        "target": "claimfit.hardware.drivers",
    },
)
