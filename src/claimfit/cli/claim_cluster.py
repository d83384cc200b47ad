"""The cluster of ``claimfit claim --cluster`` as the inventory that claims are planned against."""

from __future__ import annotations

import sys

from claimfit.claim.inventory import InventoryDevice
from claimfit.dra.inventory import inventory
from claimfit.records import NamedTuple
from claimfit.storage.cluster_files import read_cluster

__all__ = ["ClusterInventory", "read_inventory"]


class ClusterInventory(NamedTuple):
    """What was read; satisfies `claimfit.claim.inventory.Inventory`."""

    source: str
    device_classes: tuple[str, ...]
    devices: tuple[InventoryDevice, ...]


def read_inventory(source: str) -> ClusterInventory:
    """Return what `source` publishes, devices of broken pools left out.

    Devices that other claims hold or that are tainted are kept: the claim may wait for them. Raises
    what `claimfit.storage.cluster_files.read_cluster` raises.
    """
    objects = read_cluster(source, sys.stdin.buffer)
    devices = tuple(
        InventoryDevice(
            row.node,
            row.id.driver,
            {
                name: item.value
                for name, item in row.device.attributes.items()
                if item.value is not None
            },
            {name: str(item.value) for name, item in row.device.capacity.items()},
        )
        for row in inventory(objects.slices, objects.claims, objects.nodes)
        if row.pool_problem is None
    )
    classes = tuple(item.metadata.name for item in objects.classes)
    return ClusterInventory(source, classes, devices)
