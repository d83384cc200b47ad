"""Measured speeds of the user's own devices, and what they change in the coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from claimfit.hardware.facts import Accelerator
    from claimfit.sizing.coefficients import Coefficients
    from claimfit.sizing.plan import EngineChoice

__all__ = ["Calibration"]


class Calibration(NamedTuple):
    """What a user measured."""

    devices: tuple[str, ...] = ()

    def adjust(
        self, chosen: Coefficients, device: Accelerator, engine: EngineChoice
    ) -> Coefficients:
        """Return `chosen` as corrected by the measurements of this device under this engine."""
        return chosen
