"""What an attempt has taken so far, and how each device is given back.

Rules: allocateDevice and rollbackDevice in k8s.io/dynamic-resource-allocation/structured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from claimfit.dra.allocator.attempt import AttemptAborted
from claimfit.dra.allocator.capacity import CapacityError, consumption, shortfall
from claimfit.dra.allocator.counters import Counters
from claimfit.dra.allocator.taints import untolerated

if TYPE_CHECKING:
    from claimfit.dra.allocator.behaviour import Behaviour
    from claimfit.dra.allocator.constraints import Constraint
    from claimfit.dra.allocator.requests import Request
    from claimfit.dra.allocator.state import AllocatedState, Consumed
    from claimfit.dra.pools import Pool, PooledDevice
    from claimfit.units.quantity import Quantity

__all__ = ["Chosen", "Reservation", "Reservations"]


class Chosen(NamedTuple):
    """A device that was taken for a request."""

    request: Request
    entry: PooledDevice
    consumed: dict[str, Quantity] | None
    """What a share consumes; None for a device that is not shared."""


class Reservation:
    """One device that was taken, and what that changed."""

    __slots__ = (
        "added",
        "constraints",
        "consumed",
        "draws",
        "entry",
        "existed",
        "marked",
        "request",
    )

    def __init__(self, request: Request, entry: PooledDevice, *, draws: bool) -> None:
        self.request = request
        self.entry = entry
        self.draws = draws
        self.constraints = 0
        self.marked = False
        self.existed = False
        self.consumed: Consumed | None = None
        self.added = False


class Reservations:
    """The devices that an attempt holds.

    Attributes:
        results: claim -> the devices taken for it, in order.
        taken: device -> the claims that hold it whole.
        taking: device -> what shares of this attempt consume of it.
        constraints: claim -> its constraints.
    """

    __slots__ = ("_counters", "_rules", "_state", "constraints", "results", "taken", "taking")

    def __init__(
        self, pools: list[Pool], claims: int, state: AllocatedState, rules: Behaviour
    ) -> None:
        self._rules = rules
        self._state = state
        self._counters = Counters(pools, state, rules)
        self.constraints: list[list[Constraint]] = []
        self.results: list[list[Chosen]] = [[] for _ in range(claims)]
        self.taken: dict[PooledDevice, set[int]] = {}
        self.taking: dict[PooledDevice, Consumed] = {}

    def in_use(self, request: Request, entry: PooledDevice) -> bool:
        """Return whether somebody holds the device; to administrators only their own claim does."""
        holders = self.taken.get(entry)
        if request.admin:
            return holders is not None and request.key[0] in holders
        return holders is not None or entry.id in self._state.exclusive

    def touched(self, entry: PooledDevice) -> bool:
        """Return whether this attempt uses the device."""
        return entry in self.taken or entry in self.taking

    def has_room(self, request: Request, entry: PooledDevice) -> bool:
        """Return whether enough of every capacity is left; raises `AttemptAborted` from 1.37 on."""
        consumed = self._state.consumed.get(entry.id, {})
        taking = self.taking.get(entry, {})
        try:
            return shortfall(request.capacity, entry, consumed, taking, self._rules) is None
        except CapacityError as error:
            place = f"claim {request.claim_name}, request {request.name}"
            text = f"{place}: checking capacity for device {entry.path}: {error}"
            raise AttemptAborted("capacity-error", text, entry.id, request.full_name) from error

    def take(
        self, request: Request, entry: PooledDevice, position: int, *, must: bool
    ) -> Reservation | None:
        """Reserve a device, or return None.

        `position` is the place of the device within its request. With `must`, for mode All, a
        constraint that forbids the device raises `AttemptAborted`.
        """
        rules, device = self._rules, entry.device
        if self.in_use(request, entry):
            return None
        draws = bool(device.consumes_counters)
        if draws and not rules.features.partitionable:
            return None
        shares = bool(rules.features.consumable_capacity and device.allow_multiple_allocations)
        if draws and shares and rules.skips_counters and self._has_users(entry):
            draws = False
        if draws and self._counters.take(entry) is not None:
            return None
        held = Reservation(request, entry, draws=draws)
        if untolerated(device, request, rules) is not None:
            self._drop(held)
            return None
        if not self._constrain(held):
            if must:
                text = f"claim {request.claim_name}, request {request.name}: cannot add device "
                text += f"{entry.path} because a claim constraint would not be satisfied"
                raise AttemptAborted("all-mode-constraint", text, entry.id, request.full_name)
            return None
        if not shares:
            self.taken.setdefault(entry, set()).add(request.key[0])
            held.marked = True
        consumed = None
        if rules.features.consumable_capacity:
            if not self.has_room(request, self._checked(request, entry, position)):
                self._drop(held)
                return None
            if shares:
                consumed = self._consume(held)
        self.results[request.key[0]].append(Chosen(request, entry, consumed))
        held.added = True
        return held

    def give_back(self, held: Reservation) -> None:
        """Undo `take`; devices are given back in the reverse order."""
        if self._rules.clean_rollback:
            self._undo(held)
            return
        # 1.34 and 1.35 return the counters of devices that are not shared, and only those.
        shares = not held.marked
        held.draws = bool(held.entry.device.consumes_counters) and not shares
        self._undo(held)

    def _constrain(self, held: Reservation) -> bool:
        for constraint in self.constraints[held.request.key[0]]:
            if not constraint.add(held.request, held.entry):
                if not self._rules.clean_rollback:
                    held.draws = False  # 1.34 and 1.35 forget the counters here
                self._undo(held)
                return False
            held.constraints += 1
        return True

    def _drop(self, held: Reservation) -> None:
        """Give back a device that could not be taken after all: 1.34 and 1.35 forget to."""
        if self._rules.clean_rollback:
            self._undo(held)

    def _undo(self, held: Reservation) -> None:
        claim, entry = held.request.key[0], held.entry
        if held.added:
            self.results[claim].pop()
        if held.consumed is not None:
            self._release(held)
        if held.marked:
            holders = self.taken[entry]
            holders.discard(claim)
            if not holders:
                del self.taken[entry]
        for constraint in reversed(self.constraints[claim][: held.constraints]):
            constraint.remove(held.request)
        if held.draws:
            self._counters.give(entry)

    def _consume(self, held: Reservation) -> dict[str, Quantity]:
        consumed = consumption(held.request.capacity, held.entry, self._rules)
        held.consumed = {name: quantity.nanos for name, quantity in consumed.items()}
        held.existed = held.entry in self.taking
        total = self.taking.setdefault(held.entry, {})
        for name, nanos in held.consumed.items():
            total[name] = total.get(name, 0) + nanos
        return consumed

    def _release(self, held: Reservation) -> None:
        total = self.taking.get(held.entry)
        if total is None:
            return
        for name, nanos in (held.consumed or {}).items():
            total[name] -= nanos
        if any(total.values()):
            return
        if held.existed and self._rules.clean_rollback:
            self.taking[held.entry] = {}
        else:
            del self.taking[held.entry]

    def _has_users(self, entry: PooledDevice) -> bool:
        """Return whether somebody has a share of the device, so that its counters are drawn."""
        if entry.id in self._state.consumed or entry in self.taking:
            return True
        return self._rules.minor >= 37 and entry.id in self._state.shared

    def _checked(self, request: Request, entry: PooledDevice, position: int) -> PooledDevice:
        """Return the device whose capacity is looked at last; in 1.34 it is the wrong one."""
        if not self._rules.capacity_by_index:
            return entry
        devices = entry.slice.devices
        if position < len(devices):
            return devices[position]
        text = (
            f"kube-scheduler 1.34 crashes here: device {position} of request {request.name} is "
            f"looked up in a slice of {len(devices)}"
        )
        raise AttemptAborted("scheduler-crash", text, entry.id, request.full_name)
