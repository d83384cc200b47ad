"""What can be ruled out before the search, without changing what the search finds.

Every rule here is a necessary condition or a symmetry of the rules that `reservations` applies:

* a device that a request could not even take alone is no candidate of it;
* a value that a match constraint could not be met with makes its devices no candidates;
* requests that cannot all get their devices at once (a bipartite matching) have no solution, nor
  has an alternative beside them;
* after a device has failed, others that no rule can tell from it are passed over.

They hold where the outcome depends on the devices chosen and not on the way they were tried.
Where it does (a selector that fails, defects of older releases), nothing is pruned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from claimfit.dra.allocator.attempt import AttemptAborted
from claimfit.dra.allocator.constraints import attribute_of, set_of, typed_value
from claimfit.dra.allocator.counters import Counters
from claimfit.dra.allocator.taints import untolerated
from claimfit.dra.amounts import nanos_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from claimfit.dra.allocator.behaviour import Behaviour
    from claimfit.dra.allocator.constraints import Constraint, TypedValue
    from claimfit.dra.allocator.requests import ClaimRequests, Request
    from claimfit.dra.allocator.search import Key, Plan, Search
    from claimfit.dra.allocator.state import AllocatedState
    from claimfit.dra.pools import PooledDevice

__all__ = ["Together", "prune"]


class _Rule(NamedTuple):
    """A constraint, as far as pruning looks at it."""

    match: bool
    attribute: str
    requests: list[list[Request]]
    """The requests with alternatives that it covers."""


def prune(
    plan: Plan,
    search: Search,
    constraints: list[list[Constraint]],
    state: AllocatedState,
    rules: Behaviour,
) -> bool:
    """Fill `plan.candidates` and `plan.kinds`; return False when there is no solution."""
    if not _path_free(plan, rules):
        return True
    try:
        candidates = _alone(plan, search, state, rules)
    except AttemptAborted:  # something fails somewhere: the search finds out whether it gets there
        return True
    covered = _rules(plan, constraints)
    together = Together(plan, covered, candidates, rules)
    if not _narrowed(plan, covered, together) or not together.possible(()):
        return False
    plan.candidates = candidates
    plan.kinds = _kinds(plan, covered, candidates, state, rules)
    plan.together = together
    return True


def _path_free(plan: Plan, rules: Behaviour) -> bool:
    """Return whether the way of the search leaves no trace in its outcome."""
    if any(pool.problem == "invalid" for pool in plan.pools) and not rules.whole_pools:
        return False
    devices = [entry.device for pool in plan.pools for entry in pool.devices]
    features = rules.features
    draws = features.partitionable and any(device.consumes_counters for device in devices)
    if not rules.clean_rollback and (draws or features.consumable_capacity):
        return False
    if draws and rules.counter_scope == "pool name":
        names = [pool.id.pool for pool in plan.pools]
        if len(set(names)) != len(names):
            return False
    return all(_claim_path_free(claim, rules) for claim in plan.claims)


def _claim_path_free(claim: ClaimRequests, rules: Behaviour) -> bool:
    everything = [request for alternatives in claim.requests for request in alternatives]
    takes_all = [request for request in everything if request.all_mode]
    constraints = claim.claim.spec.devices.constraints
    if takes_all and (constraints or (rules.sub_request_zero and any(r.sub for r in takes_all))):
        return False
    several = any(request.count > 1 for request in everything)
    distinct = any(item.distinct_attribute for item in constraints)
    return not (distinct and several and rules.distinct_by_request)


# --- each request alone ---------------------------------------------------------------------------


def _alone(
    plan: Plan, search: Search, state: AllocatedState, rules: Behaviour
) -> dict[Key, list[PooledDevice]]:
    """Return the devices that each request of mode ExactCount could take if it were alone."""
    devices = [entry for pool in plan.pools for entry in pool.devices]
    counters = Counters(plan.pools, state, rules)
    found = {}
    for claim in plan.claims:
        for alternatives in claim.requests:
            for request in alternatives:
                if not request.all_mode:
                    # Selectors of all devices first: one that fails anywhere forbids pruning.
                    picked = [x for x in devices if search.selectable(request.key, request, x)]
                    found[request.key] = [
                        x for x in picked if _takes(request, x, search, counters, state, rules)
                    ]
    return found


def _takes(
    request: Request,
    entry: PooledDevice,
    search: Search,
    counters: Counters,
    state: AllocatedState,
    rules: Behaviour,
) -> bool:
    device, features = entry.device, rules.features
    if features.consumable_capacity and not search.held.has_room(request, entry):
        return False
    if not request.admin and entry.id in state.exclusive:
        return False
    if untolerated(device, request, rules) is not None:
        return False
    if not device.consumes_counters:
        return True
    if not features.partitionable:
        return False
    if features.consumable_capacity and device.allow_multiple_allocations:
        return True  # whether it draws depends on who shares it
    if counters.take(entry) is not None:
        return False
    counters.give(entry)
    return True


# --- constraints and numbers ----------------------------------------------------------------------


def _rules(plan: Plan, constraints: list[list[Constraint]]) -> list[_Rule]:
    rules = []
    for claim, built in zip(plan.claims, constraints, strict=True):
        for constraint, spec in zip(built, claim.claim.spec.devices.constraints, strict=True):
            covered = [
                [request for request in alternatives if constraint.applies(request)]
                for alternatives in claim.requests
            ]
            name = spec.match_attribute or spec.distinct_attribute or ""
            rules.append(_Rule(spec.match_attribute is not None, name, list(filter(None, covered))))
    return rules


def _narrowed(plan: Plan, covered: list[_Rule], together: Together) -> bool:
    """Take out devices that no constraint can be met with, until nothing changes."""
    candidates = together.candidates
    changed = True
    while changed:
        changed = False
        for rule in covered:
            usable = together.usable(rule, ())
            for alternatives in rule.requests:
                for request in alternatives:
                    known = candidates.get(request.key)
                    if known is None:
                        continue
                    kept = [entry for entry in known if usable(entry)]
                    if len(kept) < request.count:
                        kept = []
                    if len(kept) < len(known):
                        candidates[request.key] = kept
                        changed = True
        if not _enough(plan, candidates):
            return False
    return all(_distinct_enough(rule, plan, candidates) for rule in covered if not rule.match)


def _enough(plan: Plan, candidates: dict[Key, list[PooledDevice]]) -> bool:
    """Return whether each request has an alternative that has enough devices."""
    return all(
        any(
            len(candidates.get(item.key, plan.all_devices.get(item.key, ()))) >= max(item.count, 1)
            for item in alternatives
        )
        for claim in plan.claims
        for alternatives in claim.requests
    )


class Together:
    """Whether requests can all have their devices at once, as far as can be told beforehand."""

    __slots__ = ("_covered", "_fixed", "_known", "_plan", "_rules", "candidates")

    def __init__(
        self,
        plan: Plan,
        covered: list[_Rule],
        candidates: dict[Key, list[PooledDevice]],
        rules: Behaviour,
    ) -> None:
        self._plan = plan
        self._covered = covered
        self._rules = rules
        self._known: dict[tuple[Key, ...], bool] = {}
        self._fixed = [x[0] for claim in plan.claims for x in claim.requests if len(x) == 1]
        self.candidates = candidates

    def possible(self, chosen: tuple[Request, ...]) -> bool:
        """Return False when the fixed requests and the alternatives `chosen` cannot all be met."""
        keys = tuple(request.key for request in chosen)
        if keys not in self._known:
            served = [*self._fixed, *chosen]
            self._known[keys] = self._assignable(served, self._of) and not any(
                rule.match and self._none_possible(rule, chosen) for rule in self._covered
            )
        return self._known[keys]

    def usable(self, rule: _Rule, chosen: tuple[Request, ...]) -> Callable[[PooledDevice], bool]:
        """Return the test whether a device can be part of a solution as far as `rule` goes."""
        values = self._values(rule)
        possible = self._possible_values(rule, chosen, values) if rule.match else None
        if possible is None:
            return lambda entry: entry in values
        return lambda entry: not possible.isdisjoint(values.get(entry, ()))

    def _none_possible(self, rule: _Rule, chosen: tuple[Request, ...]) -> bool:
        possible = self._possible_values(rule, chosen, self._values(rule))
        return possible is not None and not possible

    def _possible_values(
        self,
        rule: _Rule,
        chosen: tuple[Request, ...],
        values: dict[PooledDevice, frozenset[TypedValue]],
    ) -> set[TypedValue] | None:
        """Return the values that a match can have; None when too few devices are bound to it."""
        under = {request.key for alternatives in rule.requests for request in alternatives}
        served = [x for x in (*self._fixed, *chosen) if x.key in under and x.key in self.candidates]
        if sum(request.count for request in served) < 2:
            return None
        found: set[TypedValue] = set()
        for value in set().union(*values.values()):

            def having(request: Request, value: TypedValue = value) -> list[PooledDevice]:
                return [x for x in self.candidates[request.key] if value in values.get(x, ())]

            if self._assignable(served, having):
                found.add(value)
        return found

    def _values(self, rule: _Rule) -> dict[PooledDevice, frozenset[TypedValue]]:
        """Return the values that each candidate has of the attribute of `rule`."""
        lists = self._rules.features.list_attributes
        values = {}
        for alternatives in rule.requests:
            for request in alternatives:
                for entry in self.candidates.get(request.key, ()):
                    attribute = attribute_of(entry, rule.attribute)
                    if attribute is not None:
                        scalar = lists or typed_value(attribute).kind
                        values[entry] = set_of(attribute) if scalar else frozenset()
        return values

    def _of(self, request: Request) -> list[PooledDevice]:
        return self.candidates.get(request.key) or self._plan.all_devices.get(request.key, [])

    def _assignable(
        self, requests: list[Request], devices: Callable[[Request], list[PooledDevice]]
    ) -> bool:
        """Return whether all requests can have different devices at once: augmenting paths.

        Requests of administrators and shared devices compete with nobody and are left out.
        """
        competing = []
        for request in requests:
            mine = devices(request)
            if len(mine) < request.count:
                return False
            if not request.admin and not any(_shared(entry, self._rules) for entry in mine):
                competing.append((request, mine))
        if len(competing) < 2:
            return True
        owner: dict[PooledDevice, int] = {}

        def place(index: int, visited: set[PooledDevice]) -> bool:
            for entry in competing[index][1]:
                if entry in visited:
                    continue
                visited.add(entry)
                other = owner.get(entry)
                if other is None or (other != index and place(other, visited)):
                    owner[entry] = index
                    return True
            return False

        return all(
            place(index, set())
            for index, (request, _) in enumerate(competing)
            for _ in range(request.count)
        )


def _fixed(plan: Plan, request: Request) -> bool:
    """Return whether `request` has to be served: it is no alternative among several."""
    return len(plan.claims[request.key[0]].requests[request.key[1]]) == 1


def _distinct_enough(rule: _Rule, plan: Plan, candidates: dict[Key, list[PooledDevice]]) -> bool:
    """Return whether there are as many values as devices that must differ."""
    fixed = [x[0] for x in rule.requests if _fixed(plan, x[0]) and x[0].key in candidates]
    needed = sum(request.count for request in fixed)
    found: set[TypedValue] = set()
    for request in fixed:
        for entry in candidates[request.key]:
            attribute = attribute_of(entry, rule.attribute)
            if attribute is not None:
                found |= set_of(attribute)
    return needed < 2 or len(found) >= needed


def _shared(entry: PooledDevice, rules: Behaviour) -> bool:
    return bool(rules.features.consumable_capacity and entry.device.allow_multiple_allocations)


# --- devices that no rule can tell apart ----------------------------------------------------------


def _kinds(
    plan: Plan,
    covered: list[_Rule],
    candidates: dict[Key, list[PooledDevice]],
    state: AllocatedState,
    rules: Behaviour,
) -> dict[PooledDevice, Hashable]:
    member: dict[PooledDevice, list[int]] = {}
    lists: Iterable[list[PooledDevice]] = (*candidates.values(), *plan.all_devices.values())
    for number, entries in enumerate(lists):
        for entry in entries:
            member.setdefault(entry, []).append(number)
    names = sorted({rule.attribute for rule in covered})
    return {
        entry: (
            tuple(numbers),
            tuple(_value(entry, name) for name in names),
            _draws(entry, rules),
            _share(entry, state, rules),
        )
        for entry, numbers in member.items()
    }


def _value(entry: PooledDevice, name: str) -> Hashable:
    attribute = attribute_of(entry, name)
    return None if attribute is None else (set_of(attribute), typed_value(attribute))


def _draws(entry: PooledDevice, rules: Behaviour) -> Hashable:
    if not rules.features.partitionable or not entry.device.consumes_counters:
        return None
    drawn = [
        (consumed.counter_set, name, nanos_of(counter.value))
        for consumed in entry.device.consumes_counters
        for name, counter in consumed.counters.items()
    ]
    place = entry.slice.name if rules.counter_scope == "slice" else entry.slice.pool
    return place, tuple(sorted(drawn))


def _share(entry: PooledDevice, state: AllocatedState, rules: Behaviour) -> Hashable:
    """Return what tells shared devices apart; a share is a device that others may have too."""
    if not _shared(entry, rules):
        return None
    if entry.id in state.shared or entry.id in state.consumed:
        return entry
    return tuple(sorted((name, repr(item)) for name, item in entry.device.capacity.items()))
