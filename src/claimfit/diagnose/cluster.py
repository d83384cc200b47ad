"""A cluster as the diagnoses see it: its objects by name, its nodes, and an allocator over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.dra.allocation import Allocator
from claimfit.dra.allocator.state import AllocatedState, allocated_state
from claimfit.dra.inventory import ANY_NODE
from claimfit.dra.objects import Metadata, Node

if TYPE_CHECKING:
    from claimfit.dra.objects import DeviceClass, ResourceClaim, ResourceClaimTemplate
    from claimfit.dra.pods import Pod
    from claimfit.dra.profile import Profile
    from claimfit.dra.reading import Objects

__all__ = ["IMPLICIT_PREFIX", "Cluster", "namespaced"]

IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Every class can be asked for as an extended resource of this prefix (resource/v1 types.go)."""

_DEFAULT_NAMESPACE = "default"
_MADE_FOR = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a claim that was made of a template: the entry of the pod."""
_ENDED = ("Succeeded", "Failed")


def namespaced(name: str, namespace: str) -> str:
    """Return NAMESPACE/NAME."""
    return f"{namespace or _DEFAULT_NAMESPACE}/{name}"


class Cluster:
    """Objects of one moment, and the rules to decide by.

    Attributes:
        objects: what was read.
        profile: the rules.
        nodes: the Node objects; where there are none, a bare node per name that a slice gives.
        nodes_known: whether `nodes` are real, so that filters of nodes can be judged.
        allocator: decides about devices, with what the claims hold as its state.
        claims: NAMESPACE/NAME -> claim; `templates` and `pods` likewise.
        classes: by name.
        generated: (namespace, entry of a pod) -> the claims that were made for such entries.
        placed: node -> the pods that run on it.
    """

    __slots__ = (
        "allocator",
        "claims",
        "classes",
        "generated",
        "nodes",
        "nodes_known",
        "objects",
        "placed",
        "pods",
        "profile",
        "templates",
    )

    def __init__(self, objects: Objects, profile: Profile) -> None:
        """Index `objects`."""
        self.objects = objects
        self.profile = profile
        self.nodes_known = bool(objects.nodes)
        self.nodes = sorted(
            objects.nodes or _bare_nodes(objects), key=lambda node: node.metadata.name
        )
        self.claims: dict[str, ResourceClaim] = {
            namespaced(item.metadata.name, item.metadata.namespace): item for item in objects.claims
        }
        self.templates: dict[str, ResourceClaimTemplate] = {
            namespaced(item.metadata.name, item.metadata.namespace): item
            for item in objects.templates
        }
        self.pods: dict[str, Pod] = {
            namespaced(item.metadata.name, item.metadata.namespace): item for item in objects.pods
        }
        self.classes: dict[str, DeviceClass] = {
            item.metadata.name: item for item in objects.classes
        }
        self.generated: dict[tuple[str, str], list[ResourceClaim]] = {}
        for claim in objects.claims:
            entry = claim.metadata.annotations.get(_MADE_FOR)
            if entry is not None:
                self.generated.setdefault((claim.metadata.namespace, entry), []).append(claim)
        self.placed: dict[str, list[Pod]] = {}
        for pod in objects.pods:
            if pod.spec.node_name and pod.status.phase not in _ENDED:
                self.placed.setdefault(pod.spec.node_name, []).append(pod)
        self.allocator = Allocator.for_profile(
            profile,
            objects.slices,
            objects.classes,
            objects.claims,
            taint_rules=objects.taint_rules,
        )

    def hold(self, claim: ResourceClaim) -> None:
        """Add a claim, or give one an allocation, and count what it holds as in use."""
        key = namespaced(claim.metadata.name, claim.metadata.namespace)
        known = self.claims.get(key)
        if known is not None:
            self.objects.claims = [item for item in self.objects.claims if item is not known]
        self.claims[key] = claim
        self.objects.claims.append(claim)
        state = self.allocator.state
        added = allocated_state([claim], shares=self.profile.enabled("DRAConsumableCapacity"))
        consumed = dict(state.consumed)
        for device, amounts in added.consumed.items():
            before = consumed.get(device, {})
            consumed[device] = {
                name: before.get(name, 0) + amounts.get(name, 0) for name in {*before, *amounts}
            }
        holders = dict(state.holders)
        for device, names in added.holders.items():
            holders[device] = (*holders.get(device, ()), *names)
        self.allocator.state = AllocatedState(
            state.exclusive | added.exclusive, state.shared | added.shared, consumed, holders
        )

    def run(self, pod: Pod, node: str) -> None:
        """Count a pod as running on a node."""
        self.placed.setdefault(node, []).append(pod)

    def node(self, name: str) -> Node | None:
        """Return the node called `name`."""
        return next((node for node in self.nodes if node.metadata.name == name), None)

    def class_of_resource(self, resource: str) -> DeviceClass | None:
        """Return the class that stands for an extended resource, or None.

        Of several, the newest, then the first by name (extended resource cache of kube-scheduler).
        """
        if resource.startswith(IMPLICIT_PREFIX):
            return self.classes.get(resource.removeprefix(IMPLICIT_PREFIX))
        named = [c for c in self.classes.values() if c.spec.extended_resource_name == resource]
        if not named:
            return None
        newest = max(item.metadata.creation_timestamp or "" for item in named)
        youngest = [c for c in named if (c.metadata.creation_timestamp or "") == newest]
        return min(youngest, key=lambda item: item.metadata.name)

    def users(self, claim: str) -> list[str]:
        """Return who has reserved the claim NAMESPACE/NAME, such as ``pod batch/train-0-xk2lp``."""
        found = self.claims.get(claim)
        if found is None:
            return []
        namespace = claim.partition("/")[0]
        return [
            f"{item.resource.removesuffix('s')} {namespace}/{item.name}"
            for item in found.status.reserved_for
        ]


def _bare_nodes(objects: Objects) -> list[Node]:
    """Return a node for each name in slices, or one that stands for any."""
    names = {item.spec.node_name for item in objects.slices if item.spec.node_name}
    names |= {
        device.node_name
        for item in objects.slices
        for device in item.spec.devices
        if device.node_name
    }
    chosen = sorted(names) or ([ANY_NODE] if objects.slices else [])
    return [Node(Metadata(name=name, labels={"kubernetes.io/hostname": name})) for name in chosen]
