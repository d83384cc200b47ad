"""The user's folders, by the XDG base directory specification.

A relative path in a variable is ignored, as the specification demands; without a variable the
folder lies in the home directory.
"""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["cache_folder", "configuration_folder", "user_folder"]

# ruff: noqa: PTH111, PTH117, PTH118  # os.path: pathlib costs 5 ms of the start of `claim`


def configuration_folder(environment: Mapping[str, str]) -> str:
    """Return `$XDG_CONFIG_HOME/claimfit`: models and calibration of the user."""
    return os.path.join(user_folder(environment, "XDG_CONFIG_HOME", ".config"), "claimfit")


def cache_folder(environment: Mapping[str, str]) -> str:
    """Return `$XDG_CACHE_HOME/claimfit`: what can be fetched or built again."""
    return os.path.join(user_folder(environment, "XDG_CACHE_HOME", ".cache"), "claimfit")


def user_folder(environment: Mapping[str, str], variable: str, default: str) -> str:
    """Return the folder that `variable` names, else `default` in the home directory."""
    configured = environment.get(variable, "")
    if os.path.isabs(configured):
        return configured
    return os.path.join(environment.get("HOME") or os.path.expanduser("~"), default)
