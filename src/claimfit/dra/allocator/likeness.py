"""Nodes that give the same answer: a signature of all that the allocator looks at.

Two nodes whose pools have the same devices in the same order, as far as the claims can tell, get
the same verdict with devices at the same positions. A cluster of thousands of like nodes is decided
by a handful of searches. Where a node has something that depends on more than its own devices, it
has no signature and is decided by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.dra.allocator.attempt import AttemptAborted
from claimfit.dra.allocator.constraints import attribute_of, set_of, typed_value
from claimfit.dra.allocator.taints import untolerated

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from claimfit.dra.allocator.behaviour import Behaviour
    from claimfit.dra.allocator.constraints import TypedValue
    from claimfit.dra.allocator.requests import ClaimRequests, Request
    from claimfit.dra.allocator.selectors import Selectors
    from claimfit.dra.allocator.state import AllocatedState
    from claimfit.dra.objects import DeviceCapacity
    from claimfit.dra.pools import Pool, PooledDevice, PooledSlice

__all__ = ["Likeness"]


class Likeness:
    """Numbers for devices, slices and nodes that the same claims cannot tell apart."""

    __slots__ = (
        "_asks",
        "_attributes",
        "_kinds",
        "_numbers",
        "_requests",
        "_rules",
        "_selectors",
        "_state",
    )

    def __init__(
        self,
        claims: Sequence[ClaimRequests],
        state: AllocatedState,
        selectors: Selectors,
        rules: Behaviour,
    ) -> None:
        self._requests: list[Request] = [
            request
            for claim in claims
            for alternatives in claim.requests
            for request in alternatives
        ]
        self._attributes = sorted(
            {
                constraint.match_attribute or constraint.distinct_attribute or ""
                for claim in claims
                for constraint in claim.claim.spec.devices.constraints
            }
        )
        self._asks = any(request.capacity for request in self._requests)
        self._state = state
        self._selectors = selectors
        self._rules = rules
        self._kinds: dict[Hashable, int] = {}
        self._numbers: dict[PooledSlice, tuple[int, ...] | None] = {}

    def signature(self, pools: list[Pool]) -> tuple[Hashable, ...] | None:
        """Return what decides about a node with `pools`; None when it is not only that."""
        found: list[Hashable] = []
        draws = False
        for pool in pools:
            if pool.others:
                return None
            found.append(pool.problem)
            for part in pool.slices:
                numbers = self._numbers.get(part, ())
                if numbers == ():
                    numbers = self._numbers[part] = self._slice(part)
                if numbers is None:
                    return None
                found.append(numbers)
            if pool.counters:
                draws = True
                found.append(
                    tuple(
                        (name, tuple(sorted(amounts.items())))
                        for name, amounts in sorted(pool.counters.items())
                    )
                )
        if draws and len({pool.id.pool for pool in pools}) < len(pools):
            return None  # pools of one name may share their counters
        return (*found, *(self._pattern(pools, name) for name in self._attributes))

    def _slice(self, part: PooledSlice) -> tuple[int, ...] | None:
        spec = part.spec
        if spec.per_device_node_selection or (
            spec.shared_counters and self._rules.counter_scope == "slice"
        ):
            return None
        numbers = [len(part.devices)]
        for entry in part.devices:
            try:
                kind = self._kind(entry)
            except AttemptAborted:  # a selector fails: whether it is met depends on the search
                return None
            numbers.append(self._kinds.setdefault(kind, len(self._kinds)))
        return tuple(numbers)

    def _kind(self, entry: PooledDevice) -> Hashable:
        """Return everything about a device that any rule looks at."""
        device, state, rules = entry.device, self._state, self._rules
        admits, names_device = self._selectors.admits, rules.names_device
        selected = tuple(
            [admits(request, entry, names_device=names_device) for request in self._requests]
        )
        allocated = state.allocated(entry.id)
        special = device.taints or device.consumes_counters or device.binding_conditions
        shares = device.allow_multiple_allocations
        plain = not (allocated or special or shares or self._asks)
        if plain and not any(map(_matters, device.capacity.values())):
            return selected
        return (
            selected,
            entry.id in state.exclusive,
            entry.id in state.shared,
            tuple(sorted(state.consumed.get(entry.id, {}).items())),
            tuple([untolerated(device, request, rules) is None for request in self._requests]),
            bool(device.binding_conditions),
            bool(shares),
            tuple([(name, repr(item)) for name, item in device.capacity.items()]),
            tuple(map(repr, device.consumes_counters)),
        )

    def _pattern(self, pools: list[Pool], name: str) -> tuple[Hashable, ...]:
        """Return which devices of a node have equal values of an attribute, not which values.

        Constraints only compare values, so a node whose boards are a, a, b is like one of c, c, d.
        """
        numbers: dict[TypedValue, int] = {}
        found: list[Hashable] = []
        for pool in pools:
            for part in pool.slices:
                for entry in part.devices:
                    attribute = attribute_of(entry, name)
                    if attribute is None:
                        found.append(None)
                        continue
                    scalar = typed_value(attribute)
                    values = (scalar,) if scalar.kind else sorted(set_of(attribute))
                    each = [numbers.setdefault(value, len(numbers)) for value in values]
                    found.append((bool(scalar.kind), *each))
        return tuple(found)


def _matters(capacity: DeviceCapacity) -> bool:
    """Return whether a capacity may speak against a request that asks for none."""
    return capacity.request_policy is not None or str(capacity.value)[:1] == "-"
