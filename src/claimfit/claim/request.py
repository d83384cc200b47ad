"""The ResourceClaim or ResourceClaimTemplate of a plan, in resource.k8s.io/v1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.claim.names import content_room, generated_name, with_content_hash
from claimfit.claim.nodes import match_names
from claimfit.claim.selector import expression
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from claimfit.claim.planner import ClaimPlan
    from claimfit.claim.tiers import Tier
    from claimfit.manifests.emitter import Value

__all__ = ["API_VERSION", "REQUEST_NAME", "claim_name_of", "claim_object", "tier_name"]

API_VERSION: Final = "resource.k8s.io/v1"
REQUEST_NAME: Final = "model"


def claim_object(plan: ClaimPlan) -> dict[str, Value]:
    """Return the object that `plan` asks for, keys in the order of a manifest.

    Raises `InexpressibleError` CLM016 for a selector beyond the API's limit, `UsageError` CLM001
    when a name with its content hash is too long.
    """
    need = plan.need
    spec = _spec(plan)
    metadata: dict[str, Value] = {"name": claim_name_of(plan, spec)}
    if need.namespace:
        metadata["namespace"] = need.namespace
    kind = "ResourceClaimTemplate" if need.template else "ResourceClaim"
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": metadata,
        "spec": {"spec": spec} if need.template else spec,
    }


def claim_name_of(plan: ClaimPlan, spec: dict[str, Value]) -> str:
    """Return the name of the claim: given, or made from the model's; with a hash when asked."""
    need = plan.need
    if not need.hash_name:
        return need.name or generated_name(need.model.name)
    import json

    content = json.dumps(spec, sort_keys=True, separators=(",", ":"))
    return with_content_hash(need.name or generated_name(need.model.name, content_room()), content)


def tier_name(tier: Tier) -> str:
    """Return the name of the subrequest of `tier`."""
    return f"devices-{tier.parallelism.devices}"


def _spec(plan: ClaimPlan) -> dict[str, Value]:
    request: dict[str, Value] = {"name": REQUEST_NAME}
    if plan.need.alternatives:
        request["firstAvailable"] = [
            {"name": tier_name(tier), **_exact_request(plan, tier)} for tier in plan.tiers
        ]
    else:
        request["exactly"] = _exact_request(plan, plan.tier)
    devices: dict[str, Value] = {"requests": [request]}
    constraints: list[Value] = [
        {"requests": [REQUEST_NAME], "matchAttribute": name}
        for name in match_names(plan.need, plan.tiers)
    ]
    if constraints:
        devices["constraints"] = constraints
    return {"devices": devices}


def _exact_request(plan: ClaimPlan, tier: Tier) -> dict[str, Value]:
    request: dict[str, Value] = {
        "deviceClassName": plan.need.device_class.name,
        "selectors": [{"cel": {"expression": expression(tier.test)}}],
    }
    if tier.parallelism.devices > 1:
        request["allocationMode"] = "ExactCount"
        request["count"] = tier.parallelism.devices
    if tier.share_mib:
        memory = plan.need.driver.memory_capacity
        request["capacity"] = {"requests": {memory: str(Quantity.of_mib(tier.share_mib))}}
    return request
