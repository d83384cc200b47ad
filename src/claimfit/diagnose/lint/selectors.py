"""Rules for CEL expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claimfit.diagnose.lint.linting import Checked
    from claimfit.diagnose.lint.published import World

__all__ = ["check"]


def check(checked: Checked, world: World) -> None:
    """Report on the selectors of `checked`."""
