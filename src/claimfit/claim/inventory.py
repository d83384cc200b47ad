"""What a cluster publishes, as far as a claim is chosen by it.

`claimfit.fit` reads clusters; this module says what `plan_claim` needs of one, so that a claim can
be planned against any source that has these three answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    AttributeValue: TypeAlias = "str | int | bool | Sequence[str] | Sequence[int] | Sequence[bool]"

__all__ = ["Inventory", "InventoryDevice"]


class InventoryDevice(NamedTuple):
    """One device in a ResourceSlice."""

    node: str
    """Node from which it can be used; a device that several nodes reach is listed for each."""
    driver: str
    attributes: Mapping[str, AttributeValue]
    """By name as published, bare or qualified; versions as strings."""
    capacities: Mapping[str, str]
    """By name as published; values are quantities."""


class Inventory(Protocol):
    """A cluster, or a description of one."""

    @property
    def source(self) -> str:
        """What the user called it: a file, `sample:mixed`."""

    @property
    def device_classes(self) -> Sequence[str]:
        """Names of the DeviceClasses that exist; empty when the source does not tell."""

    @property
    def devices(self) -> Sequence[InventoryDevice]:
        """Every published device that is usable, in the order of publishing."""
