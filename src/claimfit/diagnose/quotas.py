"""Whether ResourceQuotas leave room for claims that have to be created.

A quota counts devices per class, as ``CLASS.deviceclass.resource.k8s.io/devices``, and claims, as
``count/resourceclaims.resource.k8s.io`` (pkg/quota/v1/evaluator/core/resource_claims.go): what a
claim may get at most counts, 32 for mode All, and of alternatives the largest per class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.dra.amounts import nanos_of
from claimfit.dra.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claimfit.dra.objects import DeviceSubRequest, ExactDeviceRequest, ResourceClaim
    from claimfit.dra.pods import ResourceQuota

__all__ = ["quota_problems"]

_SUFFIX: Final = ".deviceclass.resource.k8s.io/devices"
_CLAIMS: Final = "count/resourceclaims.resource.k8s.io"
_ALL_COUNTS: Final = 32
_NANOS: Final = 10**9


def quota_problems(
    claims: Iterable[ResourceClaim], quotas: Iterable[ResourceQuota], namespace: str
) -> Iterator[Reason]:
    """Yield why a quota of `namespace` refuses the first of `claims` that is too much.

    Its values hold the sentence of the API server, which the controller that makes the claim writes
    into an event.
    """
    mine = [item for item in quotas if (item.metadata.namespace or "default") == namespace]
    added: dict[str, int] = {}
    for claim in claims:
        usage = _usage(claim)
        for quota in mine:
            for name, hard in sorted(quota.spec.hard.items()):
                wanted = usage.get(name, 0)
                limit = nanos_of(hard) // _NANOS
                used = nanos_of(quota.status.used.get(name, 0)) // _NANOS + added.get(name, 0)
                if not wanted or used + wanted <= limit:
                    continue
                text = (
                    f"quota {namespace}/{quota.metadata.name} leaves no room for claim "
                    f"{namespace}/{claim.metadata.name}: {name} is limited to {limit}, "
                    f"{used} used, {wanted} wanted"
                )
                said = (
                    f"exceeded quota: {quota.metadata.name}, requested: {name}={wanted}, "
                    f"used: {name}={used}, limited: {name}={limit}"
                )
                values = {
                    "quota": quota.metadata.name,
                    "resource": name,
                    "limit": str(limit),
                    "used": str(used),
                    "wanted": str(wanted),
                    "API server": said,
                }
                yield Reason("quota-exceeded", text, None, values)
                return
        for name, wanted in usage.items():
            added[name] = added.get(name, 0) + wanted


def _usage(claim: ResourceClaim) -> dict[str, int]:
    usage = {_CLAIMS: 1}
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            name = request.exactly.device_class_name + _SUFFIX
            usage[name] = usage.get(name, 0) + _most(request.exactly)
        largest: dict[str, int] = {}
        for alternative in request.first_available:
            name = alternative.device_class_name + _SUFFIX
            largest[name] = max(largest.get(name, 0), _most(alternative))
        for name, number in largest.items():
            usage[name] = usage.get(name, 0) + number
    return usage


def _most(spec: ExactDeviceRequest | DeviceSubRequest) -> int:
    return _ALL_COUNTS if spec.allocation_mode == "All" else spec.count or 1
