"""Whether a node of a cluster has what a tier asks for, judged by the tier's own device test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.claim.device_test import lookup, unmet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.claim.inventory import Inventory, InventoryDevice
    from claimfit.claim.need import ClaimNeed
    from claimfit.claim.tiers import Tier

__all__ = ["match_names", "shortfall"]


def match_names(need: ClaimNeed, tiers: Sequence[Tier]) -> tuple[str, ...]:
    """Return the attributes that all devices of a claim must share, fully qualified, in order.

    Several devices are of one product, and of one kind where boards and their partitions, which
    carry the same name, are both admitted.
    """
    offered = dict(need.driver.match_attributes)
    several = [tier for tier in tiers if tier.parallelism.devices > 1]
    words = (["product"] if several else []) + list(need.same)
    names = [offered[word] for word in dict.fromkeys(words) if word in offered]
    kind = need.driver.kind_attribute
    partitions = {item.value for item in need.driver.kinds if item.profile_attribute}
    if any(len(tier.test.kinds) > 1 and partitions & set(tier.test.kinds) for tier in several):
        names.append(kind if "/" in kind else f"{need.driver.name}/{kind}")
    return tuple(names)


def shortfall(need: ClaimNeed, tier: Tier, inventory: Inventory) -> str:
    """Return why no node of `inventory` satisfies `tier`, or "" when one does.

    Devices that other claims hold count: a claim may wait for them.
    """
    devices = [item for item in inventory.devices if item.driver == need.driver.name]
    if not devices:
        return f"{need.driver.name} publishes no device there"
    good: list[InventoryDevice] = []
    reasons: dict[str, int] = {}
    for device in devices:
        reason = unmet(tier.test, device.attributes, device.capacities)
        if reason:
            reasons[reason] = reasons.get(reason, 0) + 1
        else:
            good.append(device)
    wanted = tier.parallelism.devices
    most = _most_together(good, match_names(need, [tier]), need.driver.name)
    if most >= wanted:
        return ""
    if good:
        return f"needs {wanted} such devices of a kind on one node, the fullest has {most}"
    common = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    shown = "; ".join(f"{number} x {reason}" for reason, number in common[:3])
    more = len(common) - 3
    return shown + (f"; and {more} other reasons" if more > 0 else "")


def _most_together(
    devices: Sequence[InventoryDevice], attributes: tuple[str, ...], driver: str
) -> int:
    """Return the largest number of `devices` on one node that agree in all of `attributes`."""
    groups: dict[tuple[object, ...], int] = {}
    for device in devices:
        values = []
        for name in attributes:
            value = lookup(device.attributes, name.removeprefix(f"{driver}/"), driver)
            if value is None:
                break  # a device without the attribute satisfies no constraint on it
            values.append(str(value))
        else:
            key = (device.node, *values)
            groups[key] = groups.get(key, 0) + 1
    return max(groups.values(), default=0)
