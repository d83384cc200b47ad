"""How one Kubernetes decides: which of upstream's three allocators runs, and what it does its way.

Upstream keeps three implementations side by side (packages ``stable``, ``incubating`` and
``experimental`` below k8s.io/dynamic-resource-allocation/structured/internal) and takes the first
that supports every feature that is on. What differs between them, and between minors, is one
field each in `Behaviour`; read in the modules v0.34.13, v0.35.10, v0.36.3 and v0.37.2 and judged by
running them (tests/oracle).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from claimfit.dra.profile import Profile

__all__ = ["Behaviour", "Features", "Variant", "behaviour", "features_of", "variant_of"]

Variant = Literal["stable", "incubating", "experimental"]


class Features(NamedTuple):
    """What kube-scheduler switches on in the allocator (structured.Features).

    List-typed attributes are handed over from 1.37 on only: the scheduler of 1.36 turns them on in
    selectors, never in the allocator.
    """

    admin_access: bool = False
    consumable_capacity: bool = False
    binding: bool = False
    device_status: bool = False
    device_taints: bool = False
    list_attributes: bool = False
    partitionable: bool = False
    prioritized_list: bool = False
    fractional_range: bool = False


class Behaviour(NamedTuple):
    """What the chosen allocator does.

    Attributes:
        minor: the Kubernetes minor.
        variant: the implementation.
        features: what is on.
        sorts: pools by driver and name, slices by name; else slices keep the order of the list, and
            upstream's order of pools is random (a Go map). Here pools are always sorted.
        node_slices_first: slices of the node come before those that several nodes reach.
        binding_last: pools with binding conditions come after those without.
        whole_pools: completeness and counters are judged over the slices of all nodes, bad pools
            are passed over. Before, only slices for the node count, an incomplete pool can be
            allocated from and an invalid one ends the attempt.
        counters_follow_node: slices of counters obey their node selection; else every node has
            them.
        counter_scope: what a counter's name is unique in. ``pool name`` is a defect of 1.35.10 and
            1.36.3: two drivers with the same names share one budget.
        restarts: the next device of a request is looked for from the start again (permutations).
        clean_rollback: a device that is given up leaves nothing behind. 1.34 and 1.35 forget to
            give back counters, constraints and capacity in some cases.
        sub_request_zero: All-mode devices after the first are looked up in alternative 0 (defect of
            1.34 and 1.35), and up-front matches are remembered under the alternative before.
        all_effects: every taint must be tolerated, whatever its effect (1.34).
        capacity_by_index: the capacity check before taking looks at the wrong device (1.34).
        skips_counters: a shared device that already has a user does not draw counters again.
        distinct_by_request: distinct constraints remember one value per request (until 1.36).
        distinct_by_identity: values of different devices never count as equal (1.34).
        has_distinct: distinct constraints are known.
        checks_capacity_gate: refuses capacity requests while their gate is off.
        copies_tolerations: results carry the tolerations of the request.
        binds_to_node: a device that binds ties the claim to the node.
        config_once: a configuration is listed once, and for all requests without naming them.
        static_all: All mode looks at what a device has, not at what is left of it.
        capacity_errors: an unusable capacity value ends the attempt instead of skipping the device.
        limit_counts_requests: wording of the refusal of more than 32 devices.
        names_device: selector errors name the device and hint at guards.
    """

    minor: int
    variant: Variant
    features: Features
    sorts: bool
    node_slices_first: bool
    binding_last: bool
    whole_pools: bool
    counters_follow_node: bool
    counter_scope: Literal["slice", "pool name", "pool"]
    restarts: bool
    clean_rollback: bool
    sub_request_zero: bool
    all_effects: bool
    capacity_by_index: bool
    skips_counters: bool
    distinct_by_request: bool
    distinct_by_identity: bool
    has_distinct: bool
    checks_capacity_gate: bool
    copies_tolerations: bool
    binds_to_node: bool
    config_once: bool
    static_all: bool
    capacity_errors: bool
    limit_counts_requests: bool
    names_device: bool


_EARLY_STABLE: Final = Features()
_ORIGINAL: Final = Features(
    admin_access=True, prioritized_list=True, partitionable=True, device_taints=True
)
_CONSUMABLE: Final = _ORIGINAL._replace(binding=True, device_status=True, consumable_capacity=True)
_LISTS: Final = _CONSUMABLE._replace(list_attributes=True)


def features_of(profile: Profile) -> Features:
    """Return what kube-scheduler of `profile` hands to the allocator."""
    on = profile.enabled
    binding, status = on("DRADeviceBindingConditions"), on("DRAResourceClaimDeviceStatus")
    if profile.minor > 34:  # one feature since 1.35, two before
        binding = status = binding and status
    return Features(
        admin_access=on("DRAAdminAccess"),
        consumable_capacity=on("DRAConsumableCapacity"),
        binding=binding,
        device_status=status,
        device_taints=on("DRADeviceTaints"),
        list_attributes=profile.minor >= 37 and on("DRAListTypeAttributes"),
        partitionable=on("DRAPartitionableDevices"),
        prioritized_list=on("DRAPrioritizedList"),
        fractional_range=profile.minor >= 37 and on("DRAFractionalCapacityRange"),
    )


def variant_of(minor: int, features: Features) -> Variant:
    """Return the first implementation of `minor` that supports all of `features`."""
    stable, incubating = _EARLY_STABLE, _ORIGINAL
    if minor >= 36:
        stable, incubating = _ORIGINAL, _CONSUMABLE
    if minor >= 37:
        incubating = _CONSUMABLE._replace(fractional_range=True)
    if _covers(stable, features):
        return "stable"
    return "incubating" if _covers(incubating, features) else "experimental"


def behaviour(minor: int, features: Features) -> Behaviour:
    """Return what the allocator that `minor` chooses for `features` does."""
    variant = variant_of(minor, features)
    stable = variant == "stable"
    newest = variant == "experimental" or (variant == "incubating" and minor >= 36)
    old_pools = minor == 34 or (minor == 35 and stable)
    scope: Literal["slice", "pool name", "pool"] = "pool name"
    if old_pools:
        scope = "slice"
    elif minor >= 37:
        scope = "pool"
    return Behaviour(
        minor=minor,
        variant=variant,
        features=features,
        sorts=minor >= 36 and not stable,
        node_slices_first=minor >= 36 and not stable,
        binding_last=newest,
        whole_pools=not old_pools,
        counters_follow_node=minor >= 37 and not stable,
        counter_scope=scope,
        restarts=minor <= 35 or stable,
        clean_rollback=minor >= 36,
        sub_request_zero=minor <= 35,
        all_effects=minor == 34,
        capacity_by_index=minor == 34,
        skips_counters=minor >= 35,
        distinct_by_request=minor <= 36,
        distinct_by_identity=minor == 34,
        has_distinct=newest,
        checks_capacity_gate=newest,
        copies_tolerations=not old_pools,
        binds_to_node=newest,
        config_once=minor >= 37,
        static_all=minor >= 37,
        capacity_errors=minor >= 37,
        limit_counts_requests=minor != 36,
        names_device=minor >= 37,
    )


def _covers(supported: Features, wanted: Features) -> bool:
    return all(have or not want for have, want in zip(supported, wanted, strict=True))
