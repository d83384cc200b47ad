"""The DRA drivers that claimfit knows: what each publishes, and which of them a user means.

One file per driver in `data/drivers/`, in the same form as a user's own (`--driver-file`), read by
the same checks (`claimfit.hardware.driver_file`). Selector writing, `fit` and lint read nothing but
these descriptions.
"""

from __future__ import annotations

import json
import os.path
from functools import cache
from typing import TYPE_CHECKING, Final

from claimfit.errors import HardwareError
from claimfit.hardware.driver_file import described
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.hardware.facts import DeviceClassDescription, DriverDescription

__all__ = ["Target", "driver", "driver_names", "drivers", "known_driver", "target"]

_FOLDER: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data/drivers")  # noqa: PTH118, PTH120  # pathlib costs 3 ms at start-up

_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "gpu.nvidia.com": ("nvidia", "mig.nvidia.com", "vfio.gpu.nvidia.com"),
    "gpu.amd.com": ("amd",),
    "gpu.intel.com": ("intel", "xe", "gpu-vfio.intel.com"),
    "gaudi.intel.com": ("gaudi", "habana"),
    "tpu.google.com": ("tpu",),
    "neuron.aws.com": ("neuron",),
    "llmfit.ai": ("llmfit", "gpu.llmfit.ai", "npu.llmfit.ai", "cpu.llmfit.ai", "nic.llmfit.ai"),
    "gpu.example.com": ("example",),
    "compute-domain.nvidia.com": (
        "compute-domain-daemon.nvidia.com",
        "compute-domain-default-channel.nvidia.com",
    ),
    "dra.net": ("dranet",),
    "dra.cpu": (),
    "hami-core-gpu.project-hami.io": ("hami",),
    "qat.intel.com": (),
}
"""Driver -> its short names and device classes, so that finding one reads one file, not all.

A test compares this with the files."""


class Target(NamedTuple):
    """What a claim is written for: a driver and one of its device classes."""

    driver: DriverDescription
    device_class: DeviceClassDescription


def driver_names() -> tuple[str, ...]:
    """Return the names of the shipped drivers, those that serve models first."""
    return tuple(_NAMES)


def drivers() -> tuple[DriverDescription, ...]:
    """Return every shipped description."""
    return tuple(_shipped(name) for name in _NAMES)


def known_driver(name: str, own: Sequence[DriverDescription] = ()) -> DriverDescription | None:
    """Return the description of the driver called exactly `name`, or None.

    Descriptions in `own` (from files of the user) win over shipped ones of the same name.
    """
    for description in own:
        if description.name == name:
            return description
    return _shipped(name) if name in _NAMES else None


def driver(name: str, own: Sequence[DriverDescription] = ()) -> DriverDescription:
    """Return the driver that `name` means: its name, one of its classes, or a short name.

    Raises:
        HardwareError: DRV001, no driver is called so.
    """
    return _found(name, own)[0]


def target(name: str, own: Sequence[DriverDescription] = ()) -> Target:
    """Return the driver and the device class that `name` means.

    A class name means that class; a driver's name or short name means its default class.

    Raises:
        HardwareError: DRV001, no driver is called so; DRV010, its devices serve no models.
    """
    description, wanted = _found(name, own)
    device_class = next(item for item in description.classes if item.name == wanted)
    kind = description.kind(device_class.kind)
    if not description.serves_models or (kind is not None and not kind.serves):
        raise HardwareError(
            "DRV010",
            "no model can be served on the devices of this driver or class",
            found=name,
            expected="a driver of accelerators",
            candidates=tuple(item.name for item in drivers() if item.serves_models),
        )
    return Target(description, device_class)


def _found(name: str, own: Sequence[DriverDescription]) -> tuple[DriverDescription, str]:
    """Return the driver that `name` means and the class that is meant."""
    for description in own:
        found = _class_meant(name, description)
        if found:
            return description, found
    folded = name.casefold() if len(name) <= 253 else name  # longest DNS name
    for shipped, others in _NAMES.items():
        if folded == shipped or folded in others:
            description = _shipped(shipped)
            return description, _class_meant(folded, description) or description.default_class
    raise HardwareError(
        "DRV001",
        "unknown driver",
        found=name,
        expected="the name of a DRA driver or of one of its device classes",
        fix="describe it in a file and pass --driver-file FILE",
        candidates=_nearest(name, own),
    )


def _class_meant(name: str, description: DriverDescription) -> str:
    if any(item.name == name for item in description.classes):
        return name
    named = name == description.name or name.casefold() in description.aliases
    return description.default_class if named else ""


def _nearest(name: str, own: Sequence[DriverDescription]) -> tuple[str, ...]:
    from difflib import get_close_matches

    spellings = {spelling: key for key, others in _NAMES.items() for spelling in (key, *others)}
    for description in own:
        for spelling in (description.name, *description.aliases):
            spellings[spelling] = description.name
    close = get_close_matches(name[:253].casefold(), sorted(spellings), n=5, cutoff=0.5)
    return tuple(dict.fromkeys(spellings[spelling] for spelling in close)) or tuple(_NAMES)[:8]


@cache
def _shipped(name: str) -> DriverDescription:
    path = f"{_FOLDER}/{name}.json"
    with open(path, encoding="utf-8") as stream:  # noqa: PTH123  # as above
        return described(json.load(stream), place=path).driver
