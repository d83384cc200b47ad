"""Decides, as Kubernetes would, which devices claims get on a node.

`Allocator` holds a cluster and the rules; `decide` answers for one node. First fit in upstream's
order, so the devices are the ones that Kubernetes would choose; what is random upstream (the order
of pools before 1.36, and with the stable allocator) is sorted here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.dra.allocator.attempt import AttemptAborted
from claimfit.dra.allocator.behaviour import behaviour, features_of
from claimfit.dra.allocator.capacity import CapacityError, shortfall
from claimfit.dra.allocator.constraints import build_constraints
from claimfit.dra.allocator.pruning import prune
from claimfit.dra.allocator.requests import MOST_RESULTS, ClaimRequests, claim_text, read_request
from claimfit.dra.allocator.results import allocation
from claimfit.dra.allocator.search import BudgetSpent, Plan, Search
from claimfit.dra.allocator.selectors import Selectors
from claimfit.dra.allocator.state import AllocatedState
from claimfit.dra.pools import Slices, gather
from claimfit.dra.verdict import Verdict
from claimfit.errors import InputError, RequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claimfit.dra.allocator.behaviour import Behaviour
    from claimfit.dra.allocator.constraints import Constraint
    from claimfit.dra.allocator.requests import Request
    from claimfit.dra.allocator.selectors import Evaluator
    from claimfit.dra.objects import (
        AllocationResult,
        DeviceClass,
        Node,
        ResourceClaim,
        ResourceSlice,
    )
    from claimfit.dra.pools import Pool, PooledDevice
    from claimfit.dra.profile import Profile
    from claimfit.dra.verdict import Outcome

__all__ = ["BUDGET_STEPS", "Allocator"]

BUDGET_STEPS: Final = 200_000
"""Steps after which a search is given up: two seconds or so."""


class Allocator:
    """A cluster, and the rules to allocate from it.

    Attributes:
        rules: how the chosen implementation of upstream behaves.
        state: what is handed out already; may be replaced between decisions.
    """

    def __init__(
        self,
        rules: Behaviour,
        slices: Iterable[ResourceSlice],
        classes: Iterable[DeviceClass],
        evaluate: Evaluator,
        state: AllocatedState | None = None,
        *,
        budget: int = BUDGET_STEPS,
        pruned: bool = True,
    ) -> None:
        """Index the slices.

        `evaluate` answers CEL expressions. `pruned` off makes the search take every step that
        upstream takes; the answers are the same.
        """
        self.rules = rules
        self.state = AllocatedState() if state is None else state
        self.slices = Slices(slices)
        self.classes = {item.metadata.name: item for item in classes}
        self.selectors = Selectors(evaluate)
        self._budget = budget
        self._pruned = pruned

    @classmethod
    def for_profile(
        cls,
        profile: Profile,
        slices: Iterable[ResourceSlice],
        classes: Iterable[DeviceClass],
        evaluate: Evaluator,
        state: AllocatedState | None = None,
        *,
        budget: int = BUDGET_STEPS,
    ) -> Allocator:
        """Return an allocator with the rules of a Kubernetes version and its gates."""
        rules = behaviour(profile.minor, features_of(profile))
        return cls(rules, slices, classes, evaluate, state, budget=budget)

    def decide(self, node: Node, claims: Sequence[ResourceClaim]) -> Verdict:
        """Return what becomes of `claims`, which have no allocation yet, on `node`.

        Raises `RequestError` ALC001 for a claim that has one, and `InputError` ALC002 for an amount
        in the objects that is no quantity.
        """
        for claim in claims:
            if claim.status.allocation is not None:
                raise RequestError(
                    "ALC001",
                    "the claim is allocated already",
                    place=claim_text(claim),
                    fix="leave it out of the claims to allocate; what it holds counts as in use",
                )
        try:
            return self._decided(node, claims)
        except InputError as error:
            raise InputError(
                "ALC002",
                f"an amount in a slice or a claim cannot be read: {error.message}",
                place=node.metadata.name,
                found=error.found,
                expected="a Kubernetes quantity, such as 80Gi",
            ) from error

    def _decided(self, node: Node, claims: Sequence[ResourceClaim]) -> Verdict:
        plan = Plan(gather(self.slices, node, self.rules))
        search = Search(plan, node, self.state, self.selectors, self.rules, self._budget)
        try:
            constraints = [self._prepared(plan, search, claim) for claim in claims]
            feasible = not self._pruned or prune(plan, search, constraints, self.state, self.rules)
            chosen = search.run(constraints) if feasible else None
            if chosen is not None:
                allocations = tuple(
                    allocation(claim, picked, node.metadata.name, self.rules)
                    for claim, picked in zip(plan.claims, chosen, strict=True)
                )
                return self._verdict(node, search, "allocated", allocations)
        except AttemptAborted as abort:
            return self._verdict(node, search, "aborted", abort=abort)
        except BudgetSpent:
            return self._verdict(node, search, "undecided")
        if self.rules.whole_pools and any(pool.problem == "invalid" for pool in plan.pools):
            local = AttemptAborted("pool-invalid", "invalid resource pools were encountered")
            return self._verdict(node, search, "node-error", abort=local)
        return self._verdict(node, search, "unsatisfiable")

    def _verdict(
        self,
        node: Node,
        search: Search,
        outcome: Outcome,
        allocations: tuple[AllocationResult, ...] = (),
        abort: AttemptAborted | None = None,
    ) -> Verdict:
        return Verdict(
            node=node.metadata.name,
            outcome=outcome,
            allocations=allocations,
            code=abort.code if abort else "",
            error=abort.text if abort else "",
            device=abort.device if abort else None,
            request=abort.request if abort else "",
            steps=search.steps,
            profile=f"1.{self.rules.minor} {self.rules.variant}",
        )

    def _prepared(self, plan: Plan, search: Search, claim: ResourceClaim) -> list[Constraint]:
        """Read a claim into the plan; raises `AttemptAborted` for what is refused beforehand."""
        name = claim_text(claim)
        prepared = ClaimRequests(claim, name, [])
        plan.claims.append(prepared)
        total = 0
        for index, wanted in enumerate(claim.spec.devices.requests):
            position = (len(plan.claims) - 1, index)
            alternatives: list[Request] = []
            prepared.requests.append(alternatives)
            for request in read_request(name, position, wanted, self.classes, self.rules):
                alternatives.append(request)
                if request.all_mode:
                    found = self._all_devices(plan.pools, search, request)
                    plan.all_devices[request.key] = found
                    request.count = len(found)
            fewest = min(request.count for request in alternatives)
            if self.rules.limit_counts_requests and fewest > MOST_RESULTS - total:
                text = f"claim {name}, request {wanted.name}: adding {fewest} devices exceeds the "
                text += f"claim limit of {MOST_RESULTS}, with {total} already accounted for"
                raise AttemptAborted("result-limit", text, None, wanted.name)
            total += fewest
        if total > MOST_RESULTS:
            text = f"claim {name}: number of requested devices {total} exceeds the claim limit of "
            raise AttemptAborted("result-limit", f"{text}{MOST_RESULTS}")
        return build_constraints(prepared, self.rules)

    def _all_devices(
        self, pools: list[Pool], search: Search, request: Request
    ) -> list[PooledDevice]:
        """Return what mode All stands for: every device that is selected, in order."""
        key = request.key
        if self.rules.sub_request_zero:
            key = (key[0], key[1], max(0, key[2] - 1))
        place = f"claim {request.claim_name}, request {request.name}"
        found: list[PooledDevice] = []
        for pool in pools:
            if pool.problem in {"incomplete", "invalid"}:
                state = "being updated" if pool.problem == "incomplete" else "invalid"
                text = f"asks for all devices, but resource pool {pool.id} is currently {state}"
                code = f"pool-{pool.problem}"
                raise AttemptAborted(code, f"{place}: {text}", None, request.full_name)
            found += [
                entry
                for entry in pool.devices
                if search.selectable(key, request, entry) and self._big_enough(request, entry)
            ]
        return found

    def _big_enough(self, request: Request, entry: PooledDevice) -> bool:
        """Return whether mode All counts a device, going by its capacity."""
        if not self.rules.features.consumable_capacity:
            return True
        consumed = {} if self.rules.static_all else self.state.consumed.get(entry.id, {})
        try:
            return shortfall(request.capacity, entry, consumed, {}, self.rules) is None
        except CapacityError as error:
            place = f"claim {request.claim_name}, request {request.name}"
            text = f"{place}: checking capacity for device {entry.id.device}: {error}"
            raise AttemptAborted("capacity-error", text, entry.id, request.full_name) from error
