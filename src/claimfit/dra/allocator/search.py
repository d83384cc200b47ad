"""The depth-first search for devices, step by step as upstream's.

Rules: allocateOne in k8s.io/dynamic-resource-allocation/structured. The search goes claim by claim,
request by request (alternatives in their order), device by device, and the first complete
assignment wins. `Plan.candidates` may leave devices out that lead nowhere, and `Plan.kinds` tells
which devices cannot be told apart; neither changes what is found (see `pruning`).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from claimfit.dra.allocator.attempt import AttemptAborted
from claimfit.dra.allocator.requests import MOST_RESULTS
from claimfit.dra.allocator.reservations import Reservations
from claimfit.dra.pools import Pool, node_matches

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from claimfit.dra.allocator.behaviour import Behaviour
    from claimfit.dra.allocator.constraints import Constraint
    from claimfit.dra.allocator.pruning import Together
    from claimfit.dra.allocator.requests import ClaimRequests, Request
    from claimfit.dra.allocator.reservations import Chosen, Reservation
    from claimfit.dra.allocator.selectors import Selectors
    from claimfit.dra.allocator.state import AllocatedState
    from claimfit.dra.objects import Node
    from claimfit.dra.pools import PooledDevice

__all__ = ["BudgetSpent", "Key", "Plan", "Search"]

Key = tuple[int, int, int]
"""Positions of claim, request and alternative."""


class BudgetSpent(Exception):  # noqa: N818  # an outcome; caught by `Allocator.decide`
    """The search took as many steps as it may."""


class _TooManyResults(Exception):  # noqa: N818  # upstream's signal; caught within the search
    """A claim would get more than 32 devices: skip back to the alternative before."""


class Plan:
    """The question of one attempt.

    Attributes:
        claims: with their requests, in order.
        pools: of the node, in order.
        all_devices: request -> the devices that mode All stands for.
        candidates: request -> the devices to try, where that is known beforehand.
        kinds: device -> what it is like, where that is known beforehand.
        together: what requests can have devices at once, where that is known; None when nothing is
            pruned.
    """

    __slots__ = ("all_devices", "candidates", "claims", "kinds", "pools", "together")

    def __init__(self, pools: list[Pool]) -> None:
        self.claims: list[ClaimRequests] = []
        self.pools = pools
        self.all_devices: dict[Key, list[PooledDevice]] = {}
        self.candidates: dict[Key, list[PooledDevice]] = {}
        self.kinds: dict[PooledDevice, Hashable] = {}
        self.together: Together | None = None


class Search:
    """One attempt to allocate claims on one node."""

    __slots__ = (
        "_budget",
        "_chosen",
        "_matches",
        "_plan",
        "_rules",
        "_selectors",
        "_state",
        "_usable",
        "held",
        "node",
        "steps",
    )

    def __init__(
        self,
        plan: Plan,
        node: Node,
        state: AllocatedState,
        selectors: Selectors,
        rules: Behaviour,
        budget: int,
    ) -> None:
        self._plan = plan
        self._state = state
        self._selectors = selectors
        self._rules = rules
        self._budget = budget
        self._chosen: tuple[Request, ...] = ()
        self._matches: dict[tuple[Key, PooledDevice], bool] = {}
        self._usable: list[PooledDevice | Pool] | None = None
        self.node = node
        self.held = Reservations([], 0, state, rules)
        self.steps = 0

    def selectable(self, key: Key, request: Request, entry: PooledDevice) -> bool:
        """Return whether class and request select the device and the node reaches it.

        `key` is under which the answer is remembered: the request's own, or (1.34 and 1.35, before
        the search) that of the alternative before. Raises `AttemptAborted` for a selector that
        fails.
        """
        features, device = self._rules.features, entry.device
        if device.binding_conditions and not (features.binding and features.device_status):
            return False
        known = self._matches.get((key, entry))
        if known is not None:
            return known
        found = self._selectors.admits(request, entry, names_device=self._rules.names_device)
        if found and entry.slice.spec.per_device_node_selection:
            place = (device.node_name, device.all_nodes, device.node_selector)
            found = node_matches(self.node, *place)
        self._matches[key, entry] = found
        return found

    def run(self, constraints: list[list[Constraint]]) -> list[list[Chosen]] | None:
        """Return the devices of each claim, or None when there is no assignment.

        Raises `AttemptAborted` and `BudgetSpent`.
        """
        self._matches.clear()
        self.held = Reservations(self._plan.pools, len(self._plan.claims), self._state, self._rules)
        self.held.constraints = constraints
        requests = sum(len(claim.requests) for claim in self._plan.claims)
        depth = 3 * requests + len(self._plan.claims) * (3 + 3 * MOST_RESULTS)
        limit = sys.getrecursionlimit()
        # A few frames per device, request and claim, bounded by the API's limits. Calls between
        # Python functions take no C stack since 3.11, so a higher limit is safe.
        sys.setrecursionlimit(max(limit, 1000 + depth))
        try:
            return self.held.results if self._claim(0) else None
        except _TooManyResults:  # cannot be: the smallest alternatives were counted before
            raise AttemptAborted("result-limit", "allocation max size exceeded") from None
        finally:
            sys.setrecursionlimit(limit)

    def _step(self) -> None:
        """Count one call of upstream's allocateOne."""
        self.steps += 1
        if self.steps > self._budget:
            raise BudgetSpent

    def _claim(self, claim: int) -> bool:
        if claim >= len(self._plan.claims):
            self._step()
            return True
        return self._request(claim, 0)

    def _request(self, claim: int, index: int) -> bool:
        self._step()
        requests = self._plan.claims[claim].requests
        if index >= len(requests):
            try:
                return self._claim(claim + 1)
            except _TooManyResults:
                return False
        alternatives = requests[index]
        if not alternatives[0].sub:
            return self._devices(alternatives[0], 0, 0)
        return self._alternative(alternatives)

    def _alternative(self, alternatives: list[Request]) -> bool:
        together, before = self._plan.together, self._chosen
        exceeded = True
        for request in alternatives:
            self._step()
            if len(alternatives) > 1:  # else it has to be served anyway
                self._chosen = (*before, request)
            try:
                possible = together is None or together.possible(self._chosen)
                found = possible and self._devices(request, 0, 0)
            except _TooManyResults:
                continue
            finally:
                self._chosen = before
            if found:
                return True
            exceeded = False
        if exceeded:
            raise _TooManyResults
        return False

    def _goes_on(self, held: Reservation, request: Request, position: int, start: int) -> bool:
        """Return whether everything after a device works out; if not, give it back."""
        self._step()
        try:
            found = self._devices(request, position, start)
        except _TooManyResults:
            self.held.give_back(held)
            raise
        if not found:
            self.held.give_back(held)
        return found

    def _devices(self, request: Request, position: int, start: int) -> bool:
        """Allocate what is left of a request, from its device `position` on, and all after it."""
        claim = request.key[0]
        if request.all_mode and not self._plan.all_devices[request.key]:
            return False
        if position >= request.count:
            return self._request(claim, request.key[1] + 1)
        if request.count - position > MOST_RESULTS - len(self.held.results[claim]):
            raise _TooManyResults
        if request.all_mode:
            return self._one_of_all(request, position)
        return self._one(request, position, start)

    def _one_of_all(self, request: Request, position: int) -> bool:
        entry = self._plan.all_devices[request.key][position]
        held = self.held.take(request, entry, position, must=True)
        if held is None:
            return False
        following = request
        if self._rules.sub_request_zero:
            following = self._plan.claims[request.key[0]].requests[request.key[1]][0]
        return self._goes_on(held, following, position + 1, 0)

    def _one(self, request: Request, position: int, start: int) -> bool:
        candidates = self._candidates(request)
        kinds = self._plan.kinds
        # What restarts tries permutations; when pruned, each set of devices is tried once.
        step = 0 if self._rules.restarts else 1
        follows = 1 if step or self._plan.together is not None else 0
        failed: set[Hashable] = set()
        for index in range(start, len(candidates)):
            entry = candidates[index]
            if isinstance(entry, Pool):  # only of 1.34: what is invalid ends the attempt
                text = f"pool {entry.id.pool} is invalid: {entry.text}"
                raise AttemptAborted("pool-invalid", text, None, request.full_name)
            kind: Hashable = kinds.get(entry)
            if kind is not None and self.held.touched(entry):
                kind = entry  # no longer like the others
            if kind in failed:
                continue
            held = self._taken(request, entry, position)
            if held is None:
                continue
            if self._goes_on(held, request, position + 1, (index + step) * follows):
                return True
            if kind is not None:
                failed.add(kind)
        return False

    def _taken(self, request: Request, entry: PooledDevice, position: int) -> Reservation | None:
        held = self.held
        if held.in_use(request, entry) or not self.selectable(request.key, request, entry):
            return None
        if self._rules.features.consumable_capacity and not held.has_room(request, entry):
            return None
        return held.take(request, entry, position, must=False)

    def _candidates(self, request: Request) -> Sequence[PooledDevice | Pool]:
        known = self._plan.candidates.get(request.key)
        if known is not None:
            return known
        if self._usable is None:
            self._usable = []
            for pool in self._plan.pools:
                if pool.problem == "invalid" and not self._rules.whole_pools:
                    self._usable.append(pool)
                else:
                    self._usable.extend(pool.devices)
        return self._usable
