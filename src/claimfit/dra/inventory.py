"""Every published device of a cluster, where it is, and what keeps it from being handed out.

The first half of Kubernetes' allocation: pools with their generations and completeness
(notes at `Pool` in k8s.io/dynamic-resource-allocation/structured), devices in use, taints. No claim
is looked at here except for what it already holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from claimfit.dra.node_selection import selects
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claimfit.dra.objects import (
        Device,
        DeviceTaint,
        Node,
        ResourceClaim,
        ResourceSlice,
        ResourceSliceSpec,
    )

__all__ = ["ANY_NODE", "DeviceId", "PoolProblem", "PublishedRow", "inventory", "pool_problems"]

ANY_NODE = "(any node)"
"""Stands for the node of a device that all nodes can reach, where no Node object is known."""
_BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")


class DeviceId(NamedTuple):
    """The unique name of a device in a cluster."""

    driver: str
    pool: str
    device: str


class PoolProblem(NamedTuple):
    """Why Kubernetes does not use a pool."""

    driver: str
    pool: str
    kind: Literal["incomplete", "invalid"]
    text: str


class PublishedRow(NamedTuple):
    """One device as one node sees it."""

    node: str
    id: DeviceId
    device: Device
    held_by: str
    """`NAMESPACE/NAME` of the claim that holds the device, empty when it is free."""
    taints: tuple[DeviceTaint, ...]
    """Taints that a request without tolerations does not pass."""
    pool_problem: PoolProblem | None
    obstacle: str = ""
    """Why no pod can come by the device here at all, such as a cordoned node; else empty."""

    @property
    def sound(self) -> bool:
        """Whether a plain claim could be given this device if nobody held it."""
        return not self.obstacle and not self.taints and self.pool_problem is None

    @property
    def free(self) -> bool:
        """Whether a plain claim could be given this device now."""
        return self.sound and not self.held_by


def inventory(
    slices: Iterable[ResourceSlice], claims: Iterable[ResourceClaim], nodes: Iterable[Node]
) -> list[PublishedRow]:
    """Return a row for each device and each node that can reach it, in the order of publishing.

    Slices of an older generation of their pool are superseded and give no row. A device that all
    nodes can reach has a row for each of `nodes`, or one for `ANY_NODE` when there are none.
    """
    current = _current(slices)
    problems = {(item.driver, item.pool): item for item in _problems(current)}
    holders = _holders(claims)
    known = list(nodes)
    cordoned = {node.metadata.name for node in known if node.spec.unschedulable}
    rows = []
    for published in current:
        spec = published.spec
        driver, pool = spec.driver, spec.pool.name
        problem = problems.get((driver, pool))
        shared = [] if spec.per_device_node_selection else _reach(spec, known)
        for device in spec.devices:
            identity = DeviceId(driver, pool, device.name)
            taints = tuple(item for item in device.taints if item.effect in _BLOCKING_EFFECTS)
            holder = holders.get(identity, "")
            reached = _reach(device, known) if spec.per_device_node_selection else shared
            rows += [
                PublishedRow(
                    node,
                    identity,
                    device,
                    holder,
                    taints,
                    problem,
                    "the node is cordoned" if node in cordoned else "",
                )
                for node in reached
            ]
    return rows


def pool_problems(slices: Iterable[ResourceSlice]) -> list[PoolProblem]:
    """Return the pools that Kubernetes would not allocate from, in the order of publishing."""
    return list(_problems(_current(slices)))


def _current(slices: Iterable[ResourceSlice]) -> list[ResourceSlice]:
    """Return the slices of the newest generation of each pool."""
    everything = list(slices)
    newest: dict[tuple[str, str], int] = {}
    for item in everything:
        key = (item.spec.driver, item.spec.pool.name)
        newest[key] = max(newest.get(key, item.spec.pool.generation), item.spec.pool.generation)
    return [
        item
        for item in everything
        if item.spec.pool.generation == newest[item.spec.driver, item.spec.pool.name]
    ]


def _problems(current: list[ResourceSlice]) -> Iterator[PoolProblem]:
    pools: dict[tuple[str, str], list[ResourceSliceSpec]] = {}
    for item in current:
        pools.setdefault((item.spec.driver, item.spec.pool.name), []).append(item.spec)
    for (driver, pool), specs in pools.items():
        wanted = specs[0].pool.resource_slice_count
        if len(specs) != wanted:
            text = f"{len(specs)} of {wanted} slices are published"
            yield PoolProblem(driver, pool, "incomplete", text)
            continue
        names = [device.name for spec in specs for device in spec.devices]
        repeated = (
            sorted({name for name in names if names.count(name) > 1})
            if (len(set(names)) != len(names))
            else []
        )
        if repeated:
            text = f"device {repeated[0]} is published twice"
            yield PoolProblem(driver, pool, "invalid", text)


def _holders(claims: Iterable[ResourceClaim]) -> dict[DeviceId, str]:
    """Return who holds each device; access for administrators and shares hold nothing whole."""
    holders = {}
    for claim in claims:
        if claim.status.allocation is None:
            continue
        owner = f"{claim.metadata.namespace or 'default'}/{claim.metadata.name}"
        for result in claim.status.allocation.devices.results:
            if not result.admin_access and result.share_id is None:
                holders[DeviceId(result.driver, result.pool, result.device)] = owner
    return holders


def _reach(place: ResourceSliceSpec | Device, nodes: list[Node]) -> list[str]:
    """Return the nodes that a slice, or a device that selects for itself, can be used from."""
    if place.node_name is not None:
        return [place.node_name]
    if place.all_nodes:
        return [node.metadata.name for node in nodes] or [ANY_NODE]
    if place.node_selector is not None:
        selector = place.node_selector
        reached = [node.metadata.name for node in nodes if selects(selector, node)]
        return reached if nodes else [ANY_NODE]
    return []
