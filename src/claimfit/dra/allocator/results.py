"""The allocation that is written into a claim's status.

Rules: the second half of Allocate and createNodeSelector in structured; computeScore of the
scheduler plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.dra.allocator.attempt import AttemptAborted
from claimfit.dra.objects import (
    AllocationResult,
    DeviceAllocationConfig,
    DeviceAllocationResult,
    DeviceResult,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claimfit.dra.allocator.behaviour import Behaviour
    from claimfit.dra.allocator.requests import ClaimRequests, Request
    from claimfit.dra.allocator.reservations import Chosen
    from claimfit.dra.objects import ResourceClaim

__all__ = ["allocation", "alternative_score", "share_id"]

_MOST_ALTERNATIVES: Final = 8
"""FirstAvailableDeviceRequestMaxSize."""


def allocation(
    claim: ClaimRequests, chosen: list[Chosen], node: str, rules: Behaviour
) -> AllocationResult:
    """Return the allocation of `claim` with the devices in `chosen`."""
    picked = _picked(claim, chosen)
    results = [_result(item, index, rules) for index, item in enumerate(chosen)]
    config = _config(claim, picked, rules)
    return AllocationResult(
        devices=DeviceAllocationResult(results=results, config=config),
        node_selector=_node_selector(claim, chosen, node, rules),
    )


def share_id(claim: str, index: int) -> str:
    """Return an identity for a share, shaped like a UUID; Kubernetes draws a random one."""
    from hashlib import sha256

    digits = sha256(f"{claim}\n{index}".encode()).hexdigest()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))


def alternative_score(claims: Iterable[ResourceClaim]) -> int:
    """Return the node's score: each request with alternatives adds 8 for the first, 7 for the next.

    The claims carry their allocation in the status.
    """
    score = 0
    for claim in claims:
        if claim.status.allocation is None:
            continue
        served = {result.request for result in claim.status.allocation.devices.results}
        for request in claim.spec.devices.requests:
            for index, alternative in enumerate(request.first_available):
                if f"{request.name}/{alternative.name}" in served:
                    score += _MOST_ALTERNATIVES - index
    return score


def _picked(claim: ClaimRequests, chosen: list[Chosen]) -> list[Request]:
    """Return the request, or the alternative that was chosen, for each request of the claim."""
    by_position = {item.request.key[1]: item.request for item in chosen}
    return [
        by_position.get(index, alternatives[0]) for index, alternatives in enumerate(claim.requests)
    ]


def _result(item: Chosen, index: int, rules: Behaviour) -> DeviceResult:
    device, request = item.entry.device, item.request
    consumed: dict[str, str | int | float] = {
        name: str(quantity) for name, quantity in (item.consumed or {}).items()
    }
    binds = rules.features.binding
    return DeviceResult(
        request=request.full_name,
        driver=item.entry.id.driver,
        pool=item.entry.id.pool,
        device=item.entry.id.device,
        admin_access=True if request.admin else None,
        tolerations=request.tolerations if rules.copies_tolerations else [],
        binding_conditions=device.binding_conditions if binds else [],
        binding_failure_conditions=device.binding_failure_conditions if binds else [],
        share_id=None if item.consumed is None else share_id(request.claim_name, index),
        consumed_capacity=consumed,
    )


def _config(
    claim: ClaimRequests, picked: list[Request], rules: Behaviour
) -> list[DeviceAllocationConfig]:
    config: list[DeviceAllocationConfig] = []
    by_class: dict[str, list[str]] = {}
    for request in picked:
        if request.class_name in by_class:
            by_class[request.class_name].append(request.full_name)
            continue
        names = by_class[request.class_name] = [request.full_name]
        config += [
            DeviceAllocationConfig("FromClass", names, item.opaque)
            for item in request.device_class.spec.config
        ]
    for wanted in claim.claim.spec.devices.config:
        covered = [
            request
            for request in picked
            if request.base in wanted.requests or request.full_name in wanted.requests
        ]
        times = len(covered) if wanted.requests else 1
        if rules.config_once:
            times = min(times, 1)
        config += [DeviceAllocationConfig("FromClaim", wanted.requests, wanted.opaque)] * times
    if not rules.config_once:
        return config
    return [_for_all(item, picked) for item in config]


def _for_all(item: DeviceAllocationConfig, picked: list[Request]) -> DeviceAllocationConfig:
    """Leave out the names when they cover all requests."""
    named = item.requests
    if named and all(x.base in named or x.full_name in named for x in picked):
        return DeviceAllocationConfig(item.source, [], item.opaque)
    return item


def _node_selector(
    claim: ClaimRequests, chosen: list[Chosen], node: str, rules: Behaviour
) -> NodeSelector | None:
    term = NodeSelectorTerm([], [])
    for item in chosen:
        place = item.entry.slice.spec
        device = item.entry.device
        name, selector = place.node_name, place.node_selector
        if place.per_device_node_selection:
            name, selector = device.node_name, device.node_selector
        if name is not None or (rules.binds_to_node and device.binds_to_node):
            field = NodeSelectorRequirement("metadata.name", "In", [node])
            return NodeSelector([NodeSelectorTerm(match_fields=[field])])
        if selector is None or not selector.node_selector_terms:
            continue
        if len(selector.node_selector_terms) > 1:
            number = len(selector.node_selector_terms)
            text = f"unsupported ResourceSlice.NodeSelector with {number} terms"
            name = claim.claim.metadata.name
            raise AttemptAborted("node-selector", f"create NodeSelector for claim {name}: {text}")
        wanted = selector.node_selector_terms[0]
        _extend(term.match_fields, wanted.match_fields)
        _extend(term.match_expressions, wanted.match_expressions)
    return NodeSelector([term]) if term.match_fields or term.match_expressions else None


def _extend(known: list[NodeSelectorRequirement], added: list[NodeSelectorRequirement]) -> None:
    """Add the requirements that are not there yet; the order of values does not matter."""
    for item in added:
        if not any(
            (item.key, item.operator) == (other.key, other.operator)
            and set(item.values) == set(other.values)
            for other in known
        ):
            known.append(item)
