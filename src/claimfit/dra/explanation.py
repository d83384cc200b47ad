"""Why claims do or do not get devices on a node: a tree of node, request, device and reason.

Upstream's allocator returns no reason. Here each device is held against each request alone, in the
allocator's own order of checks and in the state before the attempt; what only the combination of
requests rules out stands at the claim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from claimfit.dra.allocator.attempt import AttemptAborted
from claimfit.dra.allocator.capacity import CapacityError, shortfall
from claimfit.dra.allocator.constraints import attribute_of, set_of
from claimfit.dra.allocator.counters import Counters
from claimfit.dra.allocator.requests import claim_text, read_request
from claimfit.dra.allocator.selectors import SelectorProblem
from claimfit.dra.allocator.taints import untolerated
from claimfit.dra.pools import node_matches
from claimfit.dra.reasons import Reason
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from claimfit.dra.allocation import Allocator
    from claimfit.dra.allocator.requests import Request
    from claimfit.dra.inventory import DeviceId
    from claimfit.dra.objects import DeviceConstraint, DeviceSelector, Node, ResourceClaim
    from claimfit.dra.pools import Pool, PooledDevice
    from claimfit.dra.verdict import Verdict

__all__ = ["DeviceAnswer", "NodeExplanation", "RequestExplanation", "explain"]


class DeviceAnswer(NamedTuple):
    """What one device says to one request."""

    device: DeviceId
    reason: Reason | None
    """None when the device could serve the request."""


class RequestExplanation(NamedTuple):
    """What the devices of a node say to a request or alternative.

    Attributes:
        claim: NAMESPACE/NAME.
        request: its name in results and constraints.
        wanted: how many devices; of mode All the number that is selected.
        fitting: how many could serve it, if it were alone.
        devices: every device of the node with its answer.
        reason: why the request cannot be served even alone, or None.
    """

    claim: str
    request: str
    wanted: int
    fitting: int
    devices: list[DeviceAnswer]
    reason: Reason | None


class NodeExplanation(NamedTuple):
    """What a node says to claims.

    Attributes:
        verdict: the decision.
        pools: pools that are passed over, with the reason.
        requests: in the order of claims, requests and alternatives.
        reasons: what rules out the claims as a whole, most telling first.
    """

    verdict: Verdict
    pools: list[Reason]
    requests: list[RequestExplanation]
    reasons: list[Reason]


def explain(
    allocator: Allocator,
    node: Node,
    claims: Sequence[ResourceClaim],
    verdict: Verdict | None = None,
) -> NodeExplanation:
    """Return the verdict on `claims` on `node` with the reasons for it.

    `verdict` spares the decision where it was made already, in the same state.
    """
    if verdict is None:
        verdict = allocator.decide(node, claims)
    pools = allocator.pools_of(node)
    passed_over = [_pool_reason(pool) for pool in pools if pool.problem]
    reasons = []
    if verdict.error:
        reasons.append(Reason(verdict.code, verdict.error, verdict.device, {}))
    if verdict.outcome == "undecided":
        text = f"no answer after {verdict.steps} steps"
        reasons.append(Reason("undecided", text, None, {"steps": str(verdict.steps)}))
    examined = _Examination(allocator, node, pools)
    requests: list[RequestExplanation] = []
    for index, claim in enumerate(claims):
        alternatives = list(examined.claim(index, claim))
        requests += [item for group in alternatives for item in group]
        if verdict.outcome in {"unsatisfiable", "node-error", "undecided"}:
            reasons += examined.together(claim, alternatives)
    if verdict.outcome == "unsatisfiable" and not reasons:
        served = {item.request: item.fitting for item in requests}
        values = {name: str(number) for name, number in served.items()}
        text = "each request alone has enough devices, all together have not"
        reasons.append(Reason("competition", text, None, values))
    return NodeExplanation(verdict, passed_over, requests, reasons)


def _pool_reason(pool: Pool) -> Reason:
    values = {"driver": pool.id.driver, "pool": pool.id.pool}
    return Reason(f"pool-{pool.problem}", f"pool {pool.id}: {pool.text}", None, values)


class _Examination:
    """Holds devices of one node against requests."""

    def __init__(self, allocator: Allocator, node: Node, pools: list[Pool]) -> None:
        self.allocator = allocator
        self.rules = allocator.rules
        self.state = allocator.state
        self.node = node
        self.devices = [entry for pool in pools for entry in pool.devices]
        self.counters = Counters(pools, allocator.state, allocator.rules)

    def claim(self, index: int, claim: ResourceClaim) -> Iterator[list[RequestExplanation]]:
        """Yield for each request its alternatives, explained; what is refused ends it."""
        name = claim_text(claim)
        classes = self.allocator.classes
        for position, request in enumerate(claim.spec.devices.requests):
            try:
                found = list(read_request(name, (index, position), request, classes, self.rules))
            except AttemptAborted:
                return  # stands in the verdict
            yield [self.request(item) for item in found]

    def request(self, request: Request) -> RequestExplanation:
        """Return what each device says to `request`."""
        answers = [DeviceAnswer(entry.id, self.reason(request, entry)) for entry in self.devices]
        fitting = sum(answer.reason is None for answer in answers)
        wanted = request.count
        reason = None
        if request.all_mode:
            unselected = ("class-selector-false", "request-selector-false", "not-on-node")
            wanted = sum(
                answer.reason is None or answer.reason.code not in unselected for answer in answers
            )
            if wanted == 0:
                text = f"request {request.full_name} asks for all devices and there is none"
                reason = Reason("no-devices", text, None, {})
        if reason is None and fitting < wanted:
            values = {
                "wanted": str(wanted),
                "fitting": str(fitting),
                "devices": str(len(self.devices)),
            }
            text = (
                f"request {request.full_name}: {fitting} of {len(self.devices)} devices fit, "
                f"{wanted} wanted"
            )
            reason = Reason("too-few-devices", text, None, values)
        return RequestExplanation(
            request.claim_name, request.full_name, wanted, fitting, answers, reason
        )

    def reason(self, request: Request, entry: PooledDevice) -> Reason | None:
        """Return the first thing that speaks against the device, in the allocator's order."""
        return (
            self._in_use(request, entry)
            or self._selection(request, entry)
            or self._capacity(request, entry)
            or self._counter(entry)
            or self._taint(request, entry)
        )

    def _in_use(self, request: Request, entry: PooledDevice) -> Reason | None:
        if request.admin or entry.id not in self.state.exclusive:
            return None
        holders = ", ".join(self.state.holders.get(entry.id, ()))
        text = f"in use by claim {holders}" if holders else "in use"
        return Reason("device-in-use", text, entry.id, {"holders": holders})

    def _selection(self, request: Request, entry: PooledDevice) -> Reason | None:
        device, features = entry.device, self.rules.features
        if device.binding_conditions and not (features.binding and features.device_status):
            values = {"conditions": ", ".join(device.binding_conditions)}
            text = "has binding conditions, whose gates are off"
            return Reason("binding-unsupported", text, entry.id, values)
        failed = self._selectors("class", request.class_name, request.class_selectors, entry)
        failed = failed or self._selectors("request", request.full_name, request.selectors, entry)
        if failed is not None or not entry.slice.spec.per_device_node_selection:
            return failed
        place = (device.node_name, device.all_nodes, device.node_selector)
        if node_matches(self.node, *place):
            return None
        text = f"cannot be reached from node {self.node.metadata.name}"
        return Reason("not-on-node", text, entry.id, {"node": device.node_name or ""})

    def _selectors(
        self, owner: str, name: str, selectors: list[DeviceSelector], entry: PooledDevice
    ) -> Reason | None:
        for index, selector in enumerate(selectors):
            expression = selector.cel.expression if selector.cel is not None else ""
            found = self.allocator.selectors.answer(expression, entry)
            if found is True:
                continue
            values = {owner: name, "selector": str(index), "expression": expression}
            if not isinstance(found, SelectorProblem):
                text = f"selector #{index} of {owner} {name} is false"
                return Reason(f"{owner}-selector-false", text, entry.id, values)
            text = f"selector #{index} of {owner} {name} fails: {found.text}"
            values["error"] = found.text
            return Reason(f"{owner}-selector-error", text, entry.id, values)
        return None

    def _capacity(self, request: Request, entry: PooledDevice) -> Reason | None:
        if not self.rules.features.consumable_capacity:
            return None
        consumed = self.state.consumed.get(entry.id, {})
        try:
            short = shortfall(request.capacity, entry, consumed, {}, self.rules)
        except CapacityError as error:
            return Reason("capacity-error", str(error), entry.id, {})
        if short is None:
            return None
        wanted, left = _shown(short.wanted), _shown(short.left)
        values = {"capacity": short.capacity, "wanted": wanted, "left": left}
        if short.kind == "short":
            values["holders"] = ", ".join(self.state.holders.get(entry.id, ()))
        texts = {
            "missing": f"has no capacity {short.capacity}",
            "policy": f"gives out no share of {wanted} of capacity {short.capacity}",
            "short": f"{left} of capacity {short.capacity} is left, {wanted} wanted",
        }
        return Reason(f"capacity-{short.kind}", texts[short.kind], entry.id, values)

    def _counter(self, entry: PooledDevice) -> Reason | None:
        if not entry.device.consumes_counters:
            return None
        features = self.rules.features
        if not features.partitionable:
            return Reason("counters-unsupported", "draws on counters", entry.id, {})
        if features.consumable_capacity and entry.device.allow_multiple_allocations:
            return None
        short = self.counters.take(entry)
        if short is None:
            self.counters.give(entry)
            return None
        wanted, left = _shown(short.wanted), _shown(short.left)
        values = {
            "counter set": short.counter_set,
            "counter": short.counter,
            "wanted": wanted,
            "left": left,
            "holders": ", ".join(self._drawing(entry)),
        }
        text = f"{left} of counter {short.counter} in set {short.counter_set} is left"
        return Reason("counters-short", f"{text}, {wanted} wanted", entry.id, values)

    def _drawing(self, entry: PooledDevice) -> list[str]:
        """Return the allocated devices that draw on the counter sets of `entry`."""
        sets = {consumed.counter_set for consumed in entry.device.consumes_counters}
        found = []
        for part in self.allocator.slices.by_pool[entry.slice.pool]:
            for other in part.devices:
                drawn = {consumed.counter_set for consumed in other.device.consumes_counters}
                if sets & drawn and self.state.allocated(other.id):
                    holders = ", ".join(self.state.holders.get(other.id, ()))
                    found.append(f"{other.id.device} ({holders})" if holders else other.id.device)
        return found

    def _taint(self, request: Request, entry: PooledDevice) -> Reason | None:
        taint = untolerated(entry.device, request, self.rules)
        if taint is None:
            return None
        shown = f"{taint.key}={taint.value}:{taint.effect}"
        values = {"key": taint.key, "value": taint.value, "effect": taint.effect}
        return Reason("taint-untolerated", f"has the untolerated taint {shown}", entry.id, values)

    # --- the claim as a whole ---------------------------------------------------------------------

    def together(
        self, claim: ResourceClaim, alternatives: list[list[RequestExplanation]]
    ) -> Iterator[Reason]:
        """Yield what rules out a claim: requests that cannot be served, then constraints."""
        for group in alternatives:
            if group and all(item.reason is not None for item in group):
                yield from (item.reason for item in group if item.reason is not None)
        for index, constraint in enumerate(claim.spec.devices.constraints):
            reason = self._constraint(index, constraint, alternatives)
            if reason is not None:
                yield reason

    def _constraint(
        self,
        index: int,
        constraint: DeviceConstraint,
        alternatives: list[list[RequestExplanation]],
    ) -> Reason | None:
        """Return why the fixed requests that a constraint covers cannot meet it."""
        attribute = constraint.match_attribute or constraint.distinct_attribute or ""
        covered = [
            group[0]
            for group in alternatives
            if len(group) == 1
            and (not constraint.requests or group[0].request in constraint.requests)
        ]
        wanted = sum(item.wanted for item in covered)
        groups = {item.request: self._groups(item, attribute) for item in covered}
        values = {"attribute": attribute, "wanted": str(wanted)}
        for item in covered:
            counts = groups[item.request]
            shown = ", ".join(f"{value}: {number}" for value, number in sorted(counts.items()))
            values[f"devices of {item.request}"] = shown or "none"
        found = {value for counts in groups.values() for value in counts}
        if covered and not found:
            text = f"constraint #{index}: no device that fits has attribute {attribute}"
            return Reason("attribute-missing", text, None, values)
        if constraint.match_attribute is None:
            if len(found) >= wanted:
                return None
            text = f"{len(found)} different values of {attribute}, {wanted} wanted"
            return Reason("constraint-groups", f"constraint #{index}: {text}", None, values)
        if wanted < 2 or any(
            all(groups[item.request].get(value, 0) >= item.wanted for item in covered)
            for value in found
        ):
            return None
        text = f"no value of {attribute} has enough devices for {wanted}"
        return Reason("constraint-groups", f"constraint #{index}: {text}", None, values)

    def _groups(self, item: RequestExplanation, attribute: str) -> dict[str, int]:
        """Return how many fitting devices have each value."""
        fitting = {answer.device for answer in item.devices if answer.reason is None}
        counts: dict[str, int] = {}
        for entry in self.devices:
            found = attribute_of(entry, attribute) if entry.id in fitting else None
            if found is not None:
                for value in set_of(found):
                    shown = str(value.value)
                    counts[shown] = counts.get(shown, 0) + 1
        return counts


def _shown(nanos: int) -> str:
    """Return an amount with the binary suffix that loses nothing; of small counters the number."""
    return str(Quantity(nanos, "BinarySI"))
