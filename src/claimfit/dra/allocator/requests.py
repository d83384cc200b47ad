"""Claims as the allocator sees them: requests and alternatives with their class, defaults applied.

`read_claims` makes the checks that need no device; their texts are those of Kubernetes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.dra.allocator.attempt import AttemptAborted
from claimfit.dra.amounts import amount

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from claimfit.dra.allocator.behaviour import Behaviour
    from claimfit.dra.objects import (
        CapacityRequests,
        DeviceClass,
        DeviceRequest,
        DeviceSelector,
        DeviceSubRequest,
        DeviceToleration,
        ExactDeviceRequest,
        ResourceClaim,
    )
    from claimfit.units.quantity import Quantity

__all__ = ["MOST_RESULTS", "ClaimRequests", "Request", "claim_text", "read_request"]

MOST_RESULTS: Final = 32
"""Devices per claim (AllocationResultsMaxSize)."""


class Request:
    """A request, or one alternative of one.

    Attributes:
        key: positions of claim, request and alternative; identifies it among the claims of a pod.
        claim_name: NAMESPACE/NAME.
        name: of the request or alternative alone; `base` is the request's, `sub` the alternative's
            or empty, `full_name` is what results and constraints call it.
        count: the number wanted; of mode All the number found, set by the up-front checks.
        capacity: capacity -> amount that is asked for; None when nothing is.
    """

    __slots__ = (
        "admin",
        "all_mode",
        "base",
        "capacity",
        "claim_name",
        "class_name",
        "class_selectors",
        "count",
        "device_class",
        "full_name",
        "key",
        "name",
        "selectors",
        "spec",
        "sub",
        "tolerations",
    )

    def __init__(
        self,
        claim_name: str,
        key: tuple[int, int, int],
        names: tuple[str, str],
        spec: ExactDeviceRequest | DeviceSubRequest,
        device_class: DeviceClass,
        *,
        admin: bool,
    ) -> None:
        self.claim_name = claim_name
        self.key = key
        self.base, self.sub = names
        self.name = self.sub or self.base
        self.full_name = f"{self.base}/{self.sub}" if self.sub else self.base
        self.spec = spec
        self.device_class = device_class
        self.class_name = device_class.metadata.name
        self.class_selectors: list[DeviceSelector] = device_class.spec.selectors
        self.selectors: list[DeviceSelector] = spec.selectors
        self.tolerations: list[DeviceToleration] = spec.tolerations
        self.admin = admin
        self.all_mode = spec.allocation_mode == "All"
        self.count = 0 if self.all_mode else spec.count or 1  # the API server's default
        self.capacity = _capacity(spec.capacity)


class ClaimRequests(NamedTuple):
    """A claim with its requests, each a list of alternatives (one, where there is no choice)."""

    claim: ResourceClaim
    name: str
    requests: list[list[Request]]


def claim_text(claim: ResourceClaim) -> str:
    """Return the claim's name as messages write it."""
    meta = claim.metadata
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


def read_request(
    claim_name: str,
    position: tuple[int, int],
    request: DeviceRequest,
    classes: Mapping[str, DeviceClass],
    rules: Behaviour,
) -> Iterator[Request]:
    """Yield the alternatives of `request` (one, where there is no choice), each when it is checked.

    Raises `AttemptAborted` for a gate that is off and for what no allocator can serve.
    """
    place = f"claim {claim_name}, request {request.name}"
    if request.first_available and not rules.features.prioritized_list:
        text = f"{place}: has subrequests, but the DRAPrioritizedList feature is disabled"
        raise AttemptAborted("gate-off", text, None, request.name)
    if rules.checks_capacity_gate and not rules.features.consumable_capacity:
        _refuse_capacity(claim_name, request, rules)
    if request.first_available:
        for index, spec in enumerate(request.first_available):
            names = (request.name, spec.name)
            yield _read(claim_name, (*position, index), names, spec, classes, rules)
        return
    if request.exactly is None:
        # Kubernetes' own code has no answer to this (a nil pointer); the API server never stores it
        text = f"{place}: neither exactly nor firstAvailable is set"
        raise AttemptAborted("request-empty", text, None, request.name)
    names = (request.name, "")
    yield _read(claim_name, (*position, 0), names, request.exactly, classes, rules)


def _refuse_capacity(claim_name: str, request: DeviceRequest, rules: Behaviour) -> None:
    exact = request.exactly is not None and request.exactly.capacity is not None
    asking = [spec.name for spec in request.first_available if spec.capacity is not None]
    if not exact and not asking:
        return
    whom = f"request {request.name}"
    if not exact and rules.minor > 34:
        whom = f"subrequest {asking[0]}"
    text = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
    raise AttemptAborted("gate-off", f"claim {claim_name}, {whom}: {text}", None, request.name)


def _read(
    claim_name: str,
    key: tuple[int, int, int],
    names: tuple[str, str],
    spec: ExactDeviceRequest | DeviceSubRequest,
    classes: Mapping[str, DeviceClass],
    rules: Behaviour,
) -> Request:
    full_name = "/".join(filter(None, names))
    place = f"claim {claim_name}, request {names[1] or names[0]}"
    for index, selector in enumerate(spec.selectors):
        if selector.cel is None:
            text = f"{place}, selector #{index}: CEL expression empty (unsupported selector type?)"
            raise AttemptAborted("selector-empty", text, None, full_name)
    access = getattr(spec, "admin_access", None)
    if access is not None and not rules.features.admin_access:
        text = f"{place}: admin access is requested, but the feature is disabled"
        raise AttemptAborted("gate-off", text, None, full_name)
    if not spec.device_class_name:
        text = f"{place}: missing device class name (unsupported request type?)"
        raise AttemptAborted("class-missing", text, None, full_name)
    found = classes.get(spec.device_class_name)
    if found is None:
        name = spec.device_class_name
        reason = f'deviceclass.resource.k8s.io "{name}" not found'
        text = f"{place}: could not retrieve device class {name}: {reason}"
        raise AttemptAborted("class-missing", text, None, full_name)
    if spec.allocation_mode not in {"", "ExactCount", "All"}:
        text = f"{place}: unsupported count mode {spec.allocation_mode}"
        raise AttemptAborted("mode-unknown", text, None, full_name)
    return Request(claim_name, key, names, spec, found, admin=bool(access))


def _capacity(asked: CapacityRequests | None) -> dict[str, Quantity] | None:
    if asked is None or not asked.requests:
        return None
    return {name: amount(value) for name, value in asked.requests.items()}
