"""The pools that a node can allocate from, gathered from slices as Kubernetes does.

Rules: GatherPools in k8s.io/dynamic-resource-allocation/structured; `Behaviour` says which release.
`Slices` is built once per cluster, `gather` runs per node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from claimfit.dra.amounts import nanos_of
from claimfit.dra.inventory import DeviceId
from claimfit.dra.node_selection import selects

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claimfit.dra.allocator.behaviour import Behaviour
    from claimfit.dra.objects import Device, Node, NodeSelector, ResourceSlice

__all__ = ["Pool", "PoolId", "PooledDevice", "PooledSlice", "Slices", "gather", "node_matches"]

CounterSets = dict[str, dict[str, int]]
"""Counter set -> counter -> nanos."""


class PoolId(NamedTuple):
    """The unique name of a pool."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class PooledDevice:
    """A device with its place; one object per device of a cluster, so identity is equality."""

    __slots__ = ("device", "id", "slice")

    def __init__(self, device: Device, published: PooledSlice) -> None:
        self.device = device
        self.id = DeviceId(published.pool.driver, published.pool.pool, device.name)
        self.slice = published

    @property
    def path(self) -> str:
        """The name in messages: DRIVER/POOL/DEVICE."""
        return "/".join(self.id)


class PooledSlice:
    """A slice, with what every node asks of it worked out once."""

    __slots__ = (
        "binds",
        "counters",
        "devices",
        "generation",
        "index",
        "name",
        "pool",
        "spec",
        "wanted",
    )

    def __init__(self, published: ResourceSlice, index: int) -> None:
        self.index = index
        spec = published.spec
        self.spec = spec
        self.name = published.metadata.name
        self.pool = PoolId(spec.driver, spec.pool.name)
        self.generation = spec.pool.generation
        self.wanted = spec.pool.resource_slice_count
        self.devices = [PooledDevice(device, self) for device in spec.devices]
        self.counters = bool(spec.shared_counters)
        self.binds = any(device.binding_conditions for device in spec.devices)


class Pool(NamedTuple):
    """A pool as one node sees it.

    Attributes:
        id: driver and name.
        slices: the slices whose devices the node can use, in order; empty for a pool that is passed
            over.
        others: slices of the pool for other nodes; their devices draw on the same counters.
        counters: the counter sets with their full amounts.
        problem: why the pool is not used, or empty.
        text: the problem in words: what is duplicate or missing, or how many slices are there.
    """

    id: PoolId
    slices: list[PooledSlice]
    others: list[PooledSlice]
    counters: CounterSets
    problem: Literal["", "incomplete", "invalid", "obsolete"]
    text: str

    @property
    def devices(self) -> list[PooledDevice]:
        """The devices of `slices`, in order."""
        return [entry for part in self.slices for entry in part.devices]


class Slices:
    """All slices of a cluster, found by node and by pool."""

    __slots__ = ("_foreign", "by_node", "by_pool", "counters_by_pool", "shared")

    def __init__(self, published: Iterable[ResourceSlice]) -> None:
        self.by_node: dict[str, list[PooledSlice]] = {}
        self.shared: list[PooledSlice] = []
        self.by_pool: dict[PoolId, list[PooledSlice]] = {}
        self.counters_by_pool: dict[PoolId, list[PooledSlice]] = {}
        self._foreign: dict[Behaviour, list[Pool]] = {}
        for index, item in enumerate(published):
            entry = PooledSlice(item, index)
            self.by_pool.setdefault(entry.pool, []).append(entry)
            if entry.counters:
                self.counters_by_pool.setdefault(entry.pool, []).append(entry)
            if entry.spec.node_name:
                self.by_node.setdefault(entry.spec.node_name, []).append(entry)
            else:
                self.shared.append(entry)

    def foreign_problems(self, rules: Behaviour) -> list[Pool]:
        """Return the bad pools that every node sees because their slices of counters reach all.

        Until 1.36 slices of counters ignore their node. Where a node sees nothing else of a pool,
        the pool has no devices for it and only a problem matters, the same one for all nodes.
        """
        if rules not in self._foreign:
            pools = _grouped([x for part in self.counters_by_pool.values() for x in part], rules)
            built = [_built(pool, members, self, rules) for pool, members in pools.items()]
            self._foreign[rules] = [item for item in built if item.problem]
        return self._foreign[rules]


def node_matches(
    node: Node, name: str | None, all_nodes: bool | None, selector: NodeSelector | None
) -> bool:
    """Return whether a place (of a slice or a device) includes `node`."""
    if name:
        return node.metadata.name == name
    return bool(all_nodes) or (selector is not None and selects(selector, node))


def gather(slices: Slices, node: Node, rules: Behaviour) -> list[Pool]:
    """Return the pools of `node` in the order in which devices are tried.

    Pools with a problem are listed too (obsolete ones last): they decide about All mode, and they
    explain. Upstream's random order is replaced by the order of driver and name.
    """
    usable: list[Pool] = []
    binding: list[Pool] = []
    obsolete: list[Pool] = []
    grouped = _grouped(_relevant(slices, node, rules), rules)
    built = [_built(pool, members, slices, rules) for pool, members in grouped.items()]
    if _counters_reach_all(rules) and slices.counters_by_pool:
        built += [item for item in slices.foreign_problems(rules) if item.id not in grouped]
    for pool in built:
        if pool.problem == "obsolete":
            obsolete.append(pool)
        elif rules.binding_last and any(part.binds for part in pool.slices):
            binding.append(pool)
        else:
            usable.append(pool)
    for group in (usable, binding, obsolete):
        group.sort(key=lambda item: item.id)
    return usable + binding + obsolete


def _counters_reach_all(rules: Behaviour) -> bool:
    """Return whether slices of counters are relevant to every node."""
    partitions = rules.whole_pools and rules.features.partitionable
    return partitions and not rules.counters_follow_node


def _relevant(slices: Slices, node: Node, rules: Behaviour) -> list[PooledSlice]:
    """Return the slices that matter to `node`, in the order in which upstream meets them."""
    own = slices.by_node.get(node.metadata.name, [])
    shared = [item for item in slices.shared if _reaches(item, node, rules)]
    if _counters_reach_all(rules):
        own = [item for item in own if not item.counters]
        for pool in {item.pool for item in own + shared}:
            named = slices.counters_by_pool.get(pool, ())
            shared += [item for item in named if item.spec.node_name]
    own = [item for item in own if _reaches(item, node, rules)]
    if not rules.node_slices_first:
        return sorted(own + shared, key=lambda item: item.index)
    return own + sorted(shared, key=lambda item: item.index)


def _reaches(item: PooledSlice, node: Node, rules: Behaviour) -> bool:
    spec = item.spec
    apart = rules.whole_pools and item.counters
    if not rules.features.partitionable and (spec.per_device_node_selection is not None or apart):
        return False
    if item.counters and _counters_reach_all(rules):
        return True
    if spec.node_name or spec.all_nodes or spec.node_selector is not None:
        return node_matches(node, spec.node_name, spec.all_nodes, spec.node_selector)
    if not spec.per_device_node_selection:
        return False  # a kind of place that a later Kubernetes added
    return any(
        node_matches(node, device.node_name, device.all_nodes, device.node_selector)
        for device in spec.devices
    )


def _grouped(relevant: list[PooledSlice], rules: Behaviour) -> dict[PoolId, list[PooledSlice]]:
    """Return the slices of the newest generation of each pool."""
    if rules.binding_last and not rules.sorts:
        early = rules.whole_pools  # slices of counters are not set back, whatever they hold
        relevant = [x for x in relevant if not x.binds or (early and x.counters)] + [
            x for x in relevant if x.binds and not (early and x.counters)
        ]
    pools: dict[PoolId, list[PooledSlice]] = {}
    for item in relevant:
        members = pools.get(item.pool)
        if members is None or item.generation > members[0].generation:
            pools[item.pool] = [item]
        elif item.generation == members[0].generation:
            members.append(item)
    return pools


def _built(pool: PoolId, members: list[PooledSlice], slices: Slices, rules: Behaviour) -> Pool:
    wanted = members[0].wanted
    whole = members
    if len(members) != wanted and rules.whole_pools:
        published = slices.by_pool[pool]
        generation = members[0].generation
        if any(item.generation > generation for item in published):
            text = f"generation {generation} is being replaced by a newer one"
            return Pool(pool, [], [], {}, "obsolete", text)
        whole = [item for item in published if item.generation == generation]
    text = f"{len(whole)} of {wanted} slices of generation {members[0].generation} are published"
    if len(whole) != wanted and rules.whole_pools:
        return Pool(pool, [], [], {}, "incomplete", text)
    if rules.sorts:
        members = sorted(members, key=lambda item: item.name)
    if not rules.whole_pools:
        return _built_early(pool, members, text if len(members) != wanted else "")
    return _validated(pool, members, whole, rules)


def _built_early(pool: PoolId, members: list[PooledSlice], incomplete: str) -> Pool:
    """Build as 1.34 does: only device names are looked at, and incomplete pools are used."""
    repeated = _repeated_device(members)
    if repeated:
        return Pool(pool, members, [], {}, "invalid", repeated)
    return Pool(pool, members, [], {}, "incomplete" if incomplete else "", incomplete)


def _validated(
    pool: PoolId, members: list[PooledSlice], whole: list[PooledSlice], rules: Behaviour
) -> Pool:
    """Build from complete slices: `members` reach the node, `whole` are all of the pool."""
    present = {item.name for item in members}
    others = [item for item in whole if item.name not in present]
    if not rules.features.partitionable:
        repeated = _repeated_device(members)
        return _bad(pool, repeated) if repeated else Pool(pool, members, [], {}, "", "")
    sources = members + others if rules.counters_follow_node else members
    parts = [item for item in members if not item.counters]
    elsewhere = [item for item in others if not (rules.counters_follow_node and item.counters)]
    repeated = _repeated_device(parts)
    if repeated:
        return _bad(pool, repeated)
    counters: CounterSets = {}
    for published in sources:
        for counter_set in published.spec.shared_counters:
            if counter_set.name in counters:
                return _bad(pool, f"duplicate counter set name {counter_set.name}")
            counters[counter_set.name] = {
                name: nanos_of(counter.value) for name, counter in counter_set.counters.items()
            }
    checked = parts if rules.counters_follow_node else members
    text = _unknown_counter(checked + elsewhere, counters)
    return _bad(pool, text) if text else Pool(pool, parts, elsewhere, counters, "", "")


def _bad(pool: PoolId, text: str) -> Pool:
    return Pool(pool, [], [], {}, "invalid", text)


def _repeated_device(members: list[PooledSlice]) -> str:
    seen: set[str] = set()
    for item in members:
        for device in item.spec.devices:
            if device.name in seen:
                return f"duplicate device name {device.name}"
            seen.add(device.name)
    return ""


def _unknown_counter(members: list[PooledSlice], counters: CounterSets) -> str:
    for item in members:
        for device in item.spec.devices:
            for drawn in device.consumes_counters:
                known = counters.get(drawn.counter_set)
                if known is None:
                    return f"counter set {drawn.counter_set} not found"
                for name in drawn.counters:
                    if name not in known:
                        return f"counter {name} not found in counter set {drawn.counter_set}"
    return ""
