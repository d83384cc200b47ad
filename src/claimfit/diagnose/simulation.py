"""Places pods one after the other, as kube-scheduler would if nobody else came.

Of several nodes that fit, the one whose alternatives score best is taken (the score of the plugin
DynamicResources: 8 minus the position of each alternative), then the first by name: the other
scores of kube-scheduler are not modelled. Pods of one workload are alike: what a node said to one
of them holds for the next, until something on the node changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from claimfit.diagnose.asking import pod_of
from claimfit.diagnose.cluster import Cluster, namespaced
from claimfit.diagnose.explaining import decide, explain
from claimfit.diagnose.question import about_pod
from claimfit.dra.inventory import inventory
from claimfit.dra.objects import ConsumerReference, ResourceClaimStatus
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from claimfit.diagnose.question import Question
    from claimfit.diagnose.tree import Answer, NodeAnswer
    from claimfit.dra.inventory import DeviceId
    from claimfit.dra.objects import Device, ResourceClaim
    from claimfit.dra.pods import Pod, Workload
    from claimfit.dra.reading import Objects

__all__ = ["MOST_PODS", "FreeDevices", "Group", "Placement", "Simulation", "simulate"]

MOST_PODS: Final = 20_000
"""Where filling a cluster ends; a pod without claims would fit for ever."""

_MOST_ALTERNATIVES: Final = 8
_PRODUCT_NAMES: Final = ("productName", "model", "accelerator")


class Placement(NamedTuple):
    """A pod on its node, with the claims that it got."""

    pod: str
    node: str
    claims: tuple[ResourceClaim, ...]


class Group(NamedTuple):
    """The pods of one manifest.

    Attributes:
        name: such as ``Deployment serving/chat``.
        placements: in order.
        wanted: how many pods; None when it was filled up.
        pending: the answer for the first pod that fits nowhere, or None.
    """

    name: str
    placements: tuple[Placement, ...]
    wanted: int | None
    pending: Answer | None


class FreeDevices(NamedTuple):
    """Devices of one product: how many there are, and how many a plain claim could get."""

    driver: str
    product: str
    total: int
    before: int
    after: int


class Simulation(NamedTuple):
    """What became of all pods."""

    groups: tuple[Group, ...]
    free: tuple[FreeDevices, ...]

    @property
    def placed(self) -> int:
        """How many pods have a node."""
        return sum(len(group.placements) for group in self.groups)

    @property
    def complete(self) -> bool:
        """Whether every pod that was wanted has one."""
        return all(group.pending is None or group.wanted is None for group in self.groups)


def simulate(
    manifests: Objects,
    cluster: Cluster,
    *,
    until_full: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> Simulation:
    """Place the pods of `manifests`: pods first, then workloads, each in the order of reading.

    `cluster` holds the manifests too, and is changed: it keeps what was placed. With `until_full`
    each workload gets pods until one fits nowhere; a pod alone counts as a workload of its own.
    `progress` is told how many pods are placed.
    """
    before = _free(cluster)
    groups: list[Group] = []
    counted = 0
    for name, pods, wanted in _groups(manifests, cluster, until_full=until_full):
        placements, pending = [], None
        alike = _Alike(cluster)
        for pod in pods:
            question = about_pod(pod, cluster)
            placement = alike.place(question)
            if placement is None:
                pending = explain(question, cluster)
                break
            placements.append(placement)
            counted += 1
            progress(counted)
        groups.append(Group(name, tuple(placements), wanted, pending))
    after = _free(cluster)
    free = tuple(
        FreeDevices(driver, product, total, available, after[driver, product][1])
        for (driver, product), (total, available) in before.items()
    )
    return Simulation(tuple(groups), free)


def _groups(
    manifests: Objects, cluster: Cluster, *, until_full: bool
) -> Iterator[tuple[str, Iterator[Pod], int | None]]:
    """Yield (name, its pods, how many are wanted)."""
    for pod in manifests.pods:
        name = f"Pod {namespaced(pod.metadata.name, pod.metadata.namespace)}"
        if until_full:
            yield name, _copies(pod), None
        else:
            yield name, iter((pod,)), 1
    for workload in manifests.workloads:
        meta = workload.metadata
        name = f"{workload.kind} {namespaced(meta.name, meta.namespace)}"
        number = len(cluster.nodes) if workload.kind == "DaemonSet" else workload.pods
        most = MOST_PODS if until_full else number
        yield name, _stamped(workload, most), None if until_full else number


def _stamped(workload: Workload, number: int) -> Iterator[Pod]:
    return (pod_of(workload, str(index)) for index in range(number))


def _copies(pod: Pod) -> Iterator[Pod]:
    for index in range(MOST_PODS):
        name = f"{pod.metadata.name}-{index}"
        meta = msgspec.structs.replace(pod.metadata, name=name, uid="")
        yield msgspec.structs.replace(pod, metadata=meta)


class _Alike:
    """Places pods that differ in nothing but their names."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._nodes = {node.metadata.name: node for node in cluster.nodes}
        self._known: dict[str, NodeAnswer] = {}
        self._failed = False  # an error ends the attempts of all pods that are alike
        self._apart = not cluster.allocator.slices.shared
        """Whether what one node hands out is no other node's."""

    def place(self, question: Question) -> Placement | None:
        """Return where the pod goes, having counted it there; None when it fits nowhere."""
        if question.allocated or not self._apart:
            self._known.clear()
        missing = [node for name, node in self._nodes.items() if name not in self._known]
        for answer in decide(question, self._cluster, missing, reasons=False):
            self._known[answer.node] = answer
            if answer.state == "failed":
                self._failed = True
        if question.refused or self._failed:
            return None
        chosen = self._chosen(question)
        if chosen is None:
            return None
        del self._known[chosen.node]
        (answer,) = decide(question, self._cluster, [self._nodes[chosen.node]], reasons=False)
        return self._take(question, answer)

    def _chosen(self, question: Question) -> NodeAnswer | None:
        """Return the node with the best score, of equals the first by name."""
        fitting = (self._known[name] for name in self._nodes if self._known[name].state == "fits")
        if not any(
            request.first_available
            for claim in question.waiting
            for request in claim.spec.devices.requests
        ):
            return next(fitting, None)
        return max(fitting, key=_score, default=None)

    def _take(self, question: Question, answer: NodeAnswer) -> Placement:
        pod = question.pod
        assert pod is not None  # noqa: S101  # only pods are placed
        name = pod.metadata.name
        user = ConsumerReference(name, "pods", pod.metadata.uid)
        claims = []
        for claim, allocation in zip(answer.claims, answer.allocations, strict=True):
            status = ResourceClaimStatus(allocation, [*claim.status.reserved_for, user])
            claims.append(msgspec.structs.replace(claim, status=status))
        for claim in question.allocated:
            users = [*claim.status.reserved_for, user]
            status = msgspec.structs.replace(claim.status, reserved_for=users)
            claims.append(msgspec.structs.replace(claim, status=status))
        for claim in claims:
            self._cluster.hold(claim)
        self._cluster.run(pod, answer.node)
        return Placement(namespaced(name, pod.metadata.namespace), answer.node, tuple(claims))


def _score(answer: NodeAnswer) -> int:
    """Return what the plugin DynamicResources scores: each alternative by its position."""
    total = 0
    for claim, allocation in zip(answer.claims, answer.allocations, strict=True):
        positions = {
            f"{request.name}/{alternative.name}": index
            for request in claim.spec.devices.requests
            for index, alternative in enumerate(request.first_available)
        }
        chosen = {item.request for item in allocation.devices.results} & positions.keys()
        total += sum(_MOST_ALTERNATIVES - positions[name] for name in chosen)
    return total


def _free(cluster: Cluster) -> dict[tuple[str, str], tuple[int, int]]:
    """Return (driver, product) -> (devices, of them free)."""
    rows = inventory(cluster.objects.slices, cluster.objects.claims, cluster.nodes)
    seen: dict[DeviceId, bool] = {}
    products: dict[tuple[str, str], list[bool]] = {}
    for row in rows:
        if row.id not in seen:
            seen[row.id] = row.free
            key = (row.id.driver, product_name(row.device))
            products.setdefault(key, []).append(row.free)
    return {key: (len(free), sum(free)) for key, free in sorted(products.items())}


def product_name(device: Device) -> str:
    """Return what a device calls itself, or an empty text."""
    for name in _PRODUCT_NAMES:
        found = device.attributes.get(name)
        if found is not None and found.string:
            return found.string
    return ""
