"""Files of the user's own that several verbs read: drivers and calibration."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING, Final

from claimfit.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from claimfit.hardware.driver_file import DriverFile
    from claimfit.sizing.calibration import Calibration

__all__ = ["own_drivers", "read_bytes", "user_calibration"]

_LARGEST_FILE: Final = 16 << 20

# ruff: noqa: PTH113, PTH118, PTH123  # os.path: pathlib costs 5 ms of the start


def own_drivers(paths: Sequence[str]) -> tuple[DriverFile, ...]:
    """Return the drivers that the files of ``--driver-file`` describe.

    Raises `InputError` FIL101 or FIL102 for a file, `HardwareError` DRV... for what it says.
    """
    if not paths:
        return ()
    from claimfit.hardware.driver_file import load_driver_file

    return tuple(load_driver_file(read_bytes(path), path) for path in paths)


def user_calibration(path: str, environment: Mapping[str, str]) -> Calibration | None:
    """Return the calibration in `path`, else the user's own, else None.

    Raises `InputError` FIL101 or FIL102 for a file, CAL... for what it says.
    """
    from claimfit.storage.user_folders import configuration_folder

    chosen = path or os.path.join(configuration_folder(environment), "calibration.json")
    if not path and not os.path.isfile(chosen):
        return None
    from claimfit.sizing.calibration import load_calibration

    return load_calibration(read_bytes(chosen).decode("utf-8", "replace"), chosen)


def read_bytes(path: str) -> bytes:
    """Return the content of `path`; raises `InputError` FIL101 unreadable, FIL102 too large."""
    try:
        with open(path, "rb") as stream:
            text = stream.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            "FIL101", f"cannot be read: {reason}", place=path, expected="a readable file"
        ) from None
    if len(text) > _LARGEST_FILE:
        raise InputError("FIL102", f"larger than {_LARGEST_FILE >> 20} MiB", place=path)
    return text
