"""What keeps a pod from a node before devices are looked at: the filters of kube-scheduler.

In its order (default plugins of 1.34 to 1.37): cordoned, node name, taints, selector and affinity,
resources. The first filter that refuses speaks for the node, as there. What is not judged is named
by `not_judged`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from claimfit.dra.amounts import nanos_of
from claimfit.dra.node_selection import selects
from claimfit.dra.objects import NodeTaint
from claimfit.dra.pods import PodSpec, Toleration
from claimfit.records import NamedTuple
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claimfit.diagnose.cluster import Cluster
    from claimfit.dra import objects
    from claimfit.dra.objects import Node
    from claimfit.dra.pods import Container, Pod

__all__ = ["Refusal", "not_judged", "pod_requests", "refusals"]

_CORDONED: Final = NodeTaint("node.kubernetes.io/unschedulable", "NoSchedule")
_NANOS: Final = 10**9
_KUBERNETES_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage", "pods")


class Refusal(NamedTuple):
    """Why a node is out of the question.

    Attributes:
        code: a reason code.
        text: with the values that were compared.
        scheduler_text: the words of kube-scheduler, which counts nodes by them.
        preemption: whether evicting pods could help, as kube-scheduler sees it.
    """

    code: str
    text: str
    scheduler_text: str
    preemption: bool = False


def refusals(pod: Pod | None, node: Node, cluster: Cluster) -> tuple[Refusal, ...]:
    """Return what the first filter that refuses says; several lines only for resources.

    Without a pod (a claim alone is asked about) a pod without tolerations and requests is meant.
    """
    spec = PodSpec() if pod is None else pod.spec
    for judge in (_cordoned, _named, _tainted, _selected):
        refusal = judge(spec, node, cluster)
        if refusal is not None:
            return (refusal,)
    return tuple(_resources(spec, node, cluster)) if pod is not None else ()


def not_judged(pod: Pod | None, cluster: Cluster) -> tuple[str, ...]:
    """Return what else could keep the pod from running, and is not looked at."""
    found = ["image pull", "preparation of devices on the node"]
    if not cluster.nodes_known:
        found.append("filters of nodes (no Node objects were given)")
    if pod is None:
        return tuple(found)
    spec = pod.spec
    if cluster.nodes_known and not cluster.placed:
        found.append("CPU and memory that other pods use (no running pods were given)")
    if spec.volumes:
        found.append("volumes")
    if spec.topology_spread_constraints:
        found.append("topology spread")
    affinity = spec.affinity
    if affinity and (affinity.pod_affinity or affinity.pod_anti_affinity):
        found.append("affinity between pods")
    if spec.scheduler_name not in {"", "default-scheduler"}:
        found.append(f"the rules of scheduler {spec.scheduler_name}")
    return tuple(found)


def tolerates(tolerations: Iterable[Toleration], taint: NodeTaint) -> bool:
    """Return whether one of `tolerations` accepts `taint` (core/v1 ToleratesTaint)."""
    return any(
        item.effect in {"", taint.effect}
        and (
            (item.key in {"", taint.key} if item.operator == "Exists" else item.key == taint.key)
            and (item.operator == "Exists" or item.value == taint.value)
        )
        and item.operator in {"", "Equal", "Exists"}
        for item in tolerations
    )


def _cordoned(spec: PodSpec, node: Node, _: Cluster) -> Refusal | None:
    if not node.spec.unschedulable or tolerates(spec.tolerations, _CORDONED):
        return None
    return Refusal("node-unschedulable", "cordoned", "node(s) were unschedulable")


def _named(spec: PodSpec, node: Node, _: Cluster) -> Refusal | None:
    if spec.node_name in {"", node.metadata.name}:
        return None
    text = f"the pod names node {spec.node_name}"
    return Refusal("node-name", text, "node(s) didn't match the requested node name")


def _tainted(spec: PodSpec, node: Node, _: Cluster) -> Refusal | None:
    for taint in node.spec.taints:
        if taint.effect in {"NoSchedule", "NoExecute"} and not tolerates(spec.tolerations, taint):
            shown = f"{taint.key}={taint.value}" if taint.value else taint.key
            said = "node(s) had untolerated taint(s)"
            return Refusal("node-taint", f"taint {shown}:{taint.effect} of the node", said)
    return None


def _selected(spec: PodSpec, node: Node, _: Cluster) -> Refusal | None:
    labels = node.metadata.labels
    said = "node(s) didn't match Pod's node affinity/selector"
    for key, value in sorted(spec.node_selector.items()):
        if labels.get(key) != value:
            found = labels.get(key, "no such label")
            text = f"nodeSelector wants {key}={value}, the node has {found}"
            return Refusal("node-affinity", text, said)
    required = (
        spec.affinity and spec.affinity.node_affinity and spec.affinity.node_affinity.required
    )
    if required and not selects(required, node):
        return Refusal("node-affinity", "required node affinity does not match", said)
    return None


def _resources(spec: PodSpec, node: Node, cluster: Cluster) -> Iterator[Refusal]:
    allocatable = node.status.allocatable
    if not allocatable:  # a node that is not known, or reports nothing: only devices can be judged
        for name, wanted in sorted(pod_requests(spec).items()):
            if "/" in name and wanted and not _stands_for_devices(name, node, cluster):
                text = f"{name}: {_amount(wanted, binary=False)} wanted, the node offers none"
                yield Refusal("node-resources", text, f"Insufficient {name}")
        return
    placed = cluster.placed.get(node.metadata.name, ())
    most = nanos_of(allocatable.get("pods", 0)) // _NANOS
    if len(placed) + 1 > most:
        yield Refusal(
            "node-resources",
            f"{len(placed)} of {most} pods run there",
            "Too many pods",
            preemption=True,
        )
    for name, wanted in sorted(pod_requests(spec).items(), key=_resource_order):
        if not wanted or _stands_for_devices(name, node, cluster):
            continue
        total = nanos_of(allocatable.get(name, 0))
        used = sum(pod_requests(other.spec).get(name, 0) for other in placed)
        if wanted <= total - used:
            continue
        binary = name in {"memory", "ephemeral-storage"}
        text = (
            f"{name}: {_amount(wanted, binary=binary)} wanted, "
            f"{_amount(total - used, binary=binary)} of {_amount(total, binary=binary)} left"
        )
        yield Refusal("node-resources", text, f"Insufficient {name}", preemption=wanted <= total)


def _resource_order(item: tuple[str, int]) -> tuple[int, str]:
    name = item[0]
    known = _KUBERNETES_RESOURCES
    return (known.index(name) if name in known else len(known), name)


def _stands_for_devices(name: str, node: Node, cluster: Cluster) -> bool:
    """Whether a class serves the resource here: the node itself offers none of it."""
    return (
        cluster.profile.enabled("DRAExtendedResource")
        and cluster.class_of_resource(name) is not None
        and nanos_of(node.status.allocatable.get(name, 0)) == 0
    )


def _amount(nanos: int, *, binary: bool) -> str:
    notation: Literal["BinarySI", "DecimalSI"] = "BinarySI" if binary else "DecimalSI"
    return str(Quantity(nanos, notation))


def pod_requests(spec: PodSpec) -> dict[str, int]:
    """Return what a pod asks of a node in nanos, as kube-scheduler adds it up.

    Containers and sidecars run together; each other init container runs before them, beside the
    sidecars that were started earlier (k8s.io/component-helpers/resource PodRequests).
    """
    together: dict[str, int] = {}
    for container in spec.containers:
        _add(together, _asked(container))
    highest: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    for container in spec.init_containers:
        asked = _asked(container)
        if container.restart_policy == "Always":
            _add(together, asked)
            _add(sidecars, asked)
            asked = dict(sidecars)
        else:
            _add(asked, sidecars)
        for name, amount in asked.items():
            highest[name] = max(highest.get(name, 0), amount)
    total = {
        name: max(together.get(name, 0), highest.get(name, 0)) for name in {*together, *highest}
    }
    _add(total, _nanos(spec.overhead))
    return total


def _asked(container: Container) -> dict[str, int]:
    """Return requests; what only has a limit is requested, as the API server defaults it."""
    return {**_nanos(container.resources.limits), **_nanos(container.resources.requests)}


def _nanos(amounts: dict[str, objects.Quantity]) -> dict[str, int]:
    return {name: nanos_of(value) for name, value in amounts.items()}


def _add(total: dict[str, int], more: dict[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount
