"""Counters that the partitions of a board share.

Rules: checkAvailableCounters in k8s.io/dynamic-resource-allocation/structured. A device fits while
no counter of its pool is drawn beyond what allocated devices leave of it; a pool in which any
counter is overdrawn already gives nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from claimfit.dra.amounts import nanos_of

if TYPE_CHECKING:
    from claimfit.dra.allocator.behaviour import Behaviour
    from claimfit.dra.allocator.state import AllocatedState
    from claimfit.dra.pools import CounterSets, Pool, PooledDevice, PoolId

__all__ = ["CounterShortfall", "Counters"]


class CounterShortfall(NamedTuple):
    """A counter of which too little is left; amounts in nanos."""

    counter_set: str
    counter: str
    wanted: int
    left: int


class Counters:
    """What is left of the counters during one attempt."""

    __slots__ = ("_drawn", "_left", "_pools", "_rules", "_state")

    def __init__(self, pools: list[Pool], state: AllocatedState, rules: Behaviour) -> None:
        self._pools = {pool.id: pool for pool in pools}
        self._state = state
        self._rules = rules
        self._left: dict[PoolId | str, CounterSets] = {}
        self._drawn: dict[PoolId | str, CounterSets] = {}

    def take(self, entry: PooledDevice) -> CounterShortfall | None:
        """Draw what `entry` consumes; return the counter that is short, having drawn nothing."""
        scope = self._scope(entry)
        left = self._left.get(scope)
        if left is None:
            left = self._left[scope] = self._available(entry)
        drawn = self._drawn.setdefault(scope, {})
        for consumed in entry.device.consumes_counters:
            amounts = drawn.setdefault(consumed.counter_set, {})
            for name, counter in consumed.counters.items():
                amounts[name] = amounts.get(name, 0) + nanos_of(counter.value)
        for set_name, amounts in left.items():
            taken = drawn.get(set_name, {})
            for name, available in amounts.items():
                if taken.get(name, 0) > available:
                    self.give(entry)
                    wanted = _consumption(entry, set_name, name)
                    rest = available - taken.get(name, 0)
                    return CounterShortfall(set_name, name, wanted, rest)
        return None

    def give(self, entry: PooledDevice) -> None:
        """Undo `take`."""
        drawn = self._drawn.setdefault(self._scope(entry), {})
        for consumed in entry.device.consumes_counters:
            amounts = drawn.setdefault(consumed.counter_set, {})
            for name, counter in consumed.counters.items():
                amounts[name] = amounts.get(name, 0) - nanos_of(counter.value)

    def _scope(self, entry: PooledDevice) -> PoolId | str:
        if self._rules.counter_scope == "slice":
            return entry.slice.name
        return (
            entry.slice.pool.pool if self._rules.counter_scope == "pool name" else entry.slice.pool
        )

    def _available(self, entry: PooledDevice) -> CounterSets:
        """Return the full amounts minus what allocated devices of the pool, on any node, draw."""
        if self._rules.counter_scope == "slice":
            left = {
                item.name: {
                    name: nanos_of(counter.value) for name, counter in item.counters.items()
                }
                for item in entry.slice.spec.shared_counters
            }
            drawing = entry.slice.devices
        else:
            pool = self._pools[entry.slice.pool]
            left = {name: dict(amounts) for name, amounts in pool.counters.items()}
            drawing = [item for part in (*pool.slices, *pool.others) for item in part.devices]
        for other in drawing:
            if other.device.consumes_counters and self._allocated(other):
                for consumed in other.device.consumes_counters:
                    amounts = left.get(consumed.counter_set, {})
                    for name, counter in consumed.counters.items():
                        if name in amounts:
                            amounts[name] -= nanos_of(counter.value)
        return left

    def _allocated(self, entry: PooledDevice) -> bool:
        if self._rules.minor >= 36:  # shares count since 1.36
            return self._state.allocated(entry.id)
        return entry.id in self._state.exclusive


def _consumption(entry: PooledDevice, counter_set: str, counter: str) -> int:
    """Return what the device draws of one counter."""
    return sum(
        nanos_of(consumed.counters[counter].value)
        for consumed in entry.device.consumes_counters
        if consumed.counter_set == counter_set and counter in consumed.counters
    )
