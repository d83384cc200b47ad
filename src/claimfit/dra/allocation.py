"""Decides, as Kubernetes would, which devices claims get on a node.

`Allocator` holds a cluster and the rules; `decide` answers for one node, `decide_all` for many.
First fit in upstream's order, so the devices are the ones that Kubernetes would choose; what is
random upstream (the order of pools before 1.36, and with the stable allocator) is sorted here.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.dra.allocator.attempt import AttemptAborted
from claimfit.dra.allocator.behaviour import behaviour, features_of
from claimfit.dra.allocator.capacity import CapacityError, shortfall
from claimfit.dra.allocator.constraints import build_constraints
from claimfit.dra.allocator.likeness import Likeness
from claimfit.dra.allocator.pruning import prune
from claimfit.dra.allocator.requests import MOST_RESULTS, ClaimRequests, claim_text, read_request
from claimfit.dra.allocator.results import allocation
from claimfit.dra.allocator.search import BudgetSpent, Plan, Search
from claimfit.dra.allocator.selectors import Selectors
from claimfit.dra.allocator.state import AllocatedState, allocated_state
from claimfit.dra.allocator.taints import with_taint_rules
from claimfit.dra.pools import Slices, gather
from claimfit.dra.verdict import Verdict
from claimfit.errors import InputError, RequestError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from claimfit.dra.allocator.behaviour import Behaviour
    from claimfit.dra.allocator.constraints import Constraint
    from claimfit.dra.allocator.requests import Request
    from claimfit.dra.allocator.reservations import Chosen
    from claimfit.dra.allocator.selectors import Evaluator
    from claimfit.dra.objects import (
        AllocationResult,
        DeviceClass,
        DeviceTaintRule,
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


class _Solution(NamedTuple):
    """A verdict with what it takes to transfer it to a like node."""

    verdict: Verdict
    pools: list[Pool]
    claims: list[ClaimRequests]
    chosen: list[list[Chosen]]


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
        self._pools: dict[str, tuple[Node, list[Pool]]] = {}
        self._budget = budget
        self._pruned = pruned

    @classmethod
    def for_profile(
        cls,
        profile: Profile,
        slices: Iterable[ResourceSlice],
        classes: Iterable[DeviceClass],
        allocated: Iterable[ResourceClaim] = (),
        *,
        taint_rules: Iterable[DeviceTaintRule] = (),
        budget: int = BUDGET_STEPS,
    ) -> Allocator:
        """Return an allocator as kube-scheduler of `profile` has it.

        `allocated` are claims with what they hold; `taint_rules` count where their gate is on.
        """
        from claimfit.dra.allocator.expressions import cel_evaluator

        features = features_of(profile)
        if profile.enabled("DRADeviceTaintRules"):
            slices = with_taint_rules(slices, taint_rules)
        state = allocated_state(allocated, shares=features.consumable_capacity)
        rules = behaviour(profile.minor, features)
        return cls(rules, slices, classes, cel_evaluator(profile), state, budget=budget)

    def pools_of(self, node: Node) -> list[Pool]:
        """Return the pools of `node` in the order in which they are tried, gathered once."""
        known = self._pools.get(node.metadata.name)
        if known is None or known[0] is not node:
            known = (node, gather(self.slices, node, self.rules))
            self._pools[node.metadata.name] = known
        return known[1]

    def decide(self, node: Node, claims: Sequence[ResourceClaim]) -> Verdict:
        """Return what becomes of `claims`, which have no allocation yet, on `node`.

        Raises `RequestError` ALC001 for a claim that has one, and `InputError` ALC002 for an amount
        in the objects that is no quantity.
        """
        _refuse_allocated(claims)
        with _readable_amounts(node):
            pools = self.pools_of(node)
            return self._solved(node, pools, claims).verdict

    def decide_all(
        self, nodes: Iterable[Node], claims: Sequence[ResourceClaim]
    ) -> Iterator[Verdict]:
        """Yield the verdict of each node; nodes that the claims cannot tell apart share a search.

        Raises as `decide` does.
        """
        _refuse_allocated(claims)
        likeness = self._likeness(claims)
        known: dict[Hashable, _Solution] = {}
        for node in nodes:
            with _readable_amounts(node):
                pools = self.pools_of(node)
                signature = likeness.signature(pools) if likeness is not None else None
                solution = known.get(signature) if signature is not None else None
                if solution is not None:
                    yield self._transferred(solution, node, pools)
                    continue
                solution = self._solved(node, pools, claims)
                if signature is not None and solution.verdict.outcome != "aborted":
                    known[signature] = solution
                yield solution.verdict

    def _likeness(self, claims: Sequence[ResourceClaim]) -> Likeness | None:
        """Return what tells nodes apart; None for claims that every node refuses beforehand."""
        prepared = []
        for index, claim in enumerate(claims):
            name = claim_text(claim)
            try:
                requests = [
                    list(read_request(name, (index, position), wanted, self.classes, self.rules))
                    for position, wanted in enumerate(claim.spec.devices.requests)
                ]
            except (AttemptAborted, InputError):
                return None
            prepared.append(ClaimRequests(claim, name, requests))
        return Likeness(prepared, self.state, self.selectors, self.rules)

    def _solved(self, node: Node, pools: list[Pool], claims: Sequence[ResourceClaim]) -> _Solution:
        plan = Plan(pools)
        search = Search(plan, node, self.state, self.selectors, self.rules, self._budget)
        try:
            constraints = [self._prepared(plan, search, claim) for claim in claims]
            feasible = not self._pruned or prune(plan, search, constraints, self.state, self.rules)
            chosen = search.run(constraints) if feasible else None
            if chosen is not None:
                allocations = self._allocations(plan.claims, chosen, node)
                verdict = self._verdict(node, search, "allocated", allocations)
                return _Solution(verdict, pools, plan.claims, chosen)
        except AttemptAborted as abort:
            return _Solution(self._verdict(node, search, "aborted", abort=abort), pools, [], [])
        except BudgetSpent:
            return _Solution(self._verdict(node, search, "undecided"), pools, [], [])
        verdict = self._verdict(node, search, "unsatisfiable")
        if self.rules.whole_pools and any(pool.problem == "invalid" for pool in pools):
            local = AttemptAborted("pool-invalid", "invalid resource pools were encountered")
            verdict = self._verdict(node, search, "node-error", abort=local)
        return _Solution(verdict, pools, [], [])

    def _transferred(self, solution: _Solution, node: Node, pools: list[Pool]) -> Verdict:
        """Return the verdict of a like node: the devices at the same positions."""
        verdict = solution.verdict._replace(node=node.metadata.name)
        if not solution.chosen:
            return verdict
        theirs = [entry for pool in solution.pools for entry in pool.devices]
        mine = [entry for pool in pools for entry in pool.devices]
        counterpart = dict(zip(theirs, mine, strict=True))
        chosen = [
            [item._replace(entry=counterpart[item.entry]) for item in picked]
            for picked in solution.chosen
        ]
        return verdict._replace(allocations=self._allocations(solution.claims, chosen, node))

    def _allocations(
        self, claims: list[ClaimRequests], chosen: list[list[Chosen]], node: Node
    ) -> tuple[AllocationResult, ...]:
        return tuple(
            allocation(claim, picked, node.metadata.name, self.rules)
            for claim, picked in zip(claims, chosen, strict=True)
        )

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


def _refuse_allocated(claims: Sequence[ResourceClaim]) -> None:
    for claim in claims:
        if claim.status.allocation is not None:
            raise RequestError(
                "ALC001",
                "the claim is allocated already",
                place=claim_text(claim),
                fix="leave it out of the claims to allocate; what it holds counts as in use",
            )


@contextmanager
def _readable_amounts(node: Node) -> Iterator[None]:
    """Name the node with an amount that is no quantity."""
    try:
        yield
    except InputError as error:
        raise InputError(
            "ALC002",
            f"an amount in a slice or a claim cannot be read: {error.message}",
            place=node.metadata.name,
            found=error.found,
            expected="a Kubernetes quantity, such as 80Gi",
        ) from error
