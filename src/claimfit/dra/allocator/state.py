"""What is already handed out: devices, shares and consumed capacity, from the claims' status.

As kube-scheduler gathers it (allocateddevices.go): access for administrators holds nothing; a share
holds its capacity and not the device, while gate DRAConsumableCapacity is on. Allocations that only
the scheduler has in flight are not in any object and cannot be known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from claimfit.dra.amounts import nanos_of
from claimfit.dra.inventory import DeviceId

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claimfit.dra.objects import ResourceClaim

__all__ = ["AllocatedState", "Consumed", "allocated_state"]

Consumed = dict[str, int]
"""Capacity -> nanos."""


class AllocatedState(NamedTuple):
    """Devices in use.

    Attributes:
        exclusive: devices that are held whole.
        shared: devices of which somebody has a share.
        consumed: what the shares of a device add up to.
        holders: who holds or shares a device, as NAMESPACE/NAME of claims.
    """

    exclusive: frozenset[DeviceId] = frozenset()
    shared: frozenset[DeviceId] = frozenset()
    consumed: dict[DeviceId, Consumed] = {}  # noqa: RUF012  # a default that nobody writes to
    holders: dict[DeviceId, tuple[str, ...]] = {}  # noqa: RUF012  # the same

    def allocated(self, device: DeviceId) -> bool:
        """Whether anybody holds the device or a share of it."""
        return device in self.exclusive or device in self.shared or device in self.consumed


def allocated_state(claims: Iterable[ResourceClaim], *, shares: bool) -> AllocatedState:
    """Return what `claims` hold; `shares` says whether shares are told from whole devices."""
    exclusive: set[DeviceId] = set()
    shared: set[DeviceId] = set()
    consumed: dict[DeviceId, Consumed] = {}
    holders: dict[DeviceId, tuple[str, ...]] = {}
    for claim in claims:
        if claim.status.allocation is None:
            continue
        owner = f"{claim.metadata.namespace or 'default'}/{claim.metadata.name}"
        for result in claim.status.allocation.devices.results:
            if result.admin_access:
                continue
            device = DeviceId(result.driver, result.pool, result.device)
            known = holders.get(device, ())
            if owner not in known:
                holders[device] = (*known, owner)
            if not shares or result.share_id is None:
                exclusive.add(device)
                continue
            shared.add(device)
            if result.consumed_capacity:
                total = consumed.setdefault(device, {})
                for name, value in result.consumed_capacity.items():
                    total[name] = total.get(name, 0) + nanos_of(value)
    return AllocatedState(frozenset(exclusive), frozenset(shared), consumed, holders)
