"""Pods, what stamps them out, and quotas: the parts that decide whether a pod gets its devices.

Field names are those of core/v1, apps/v1 and batch/v1. Kept apart from `objects`, because only the
commands about pods pay for these types.
"""

from typing import Final

import msgspec

from claimfit.dra.objects import (
    DeviceClass,
    DeviceTaintRule,
    Metadata,
    Node,
    NodeSelector,
    Quantity,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)

__all__ = [
    "KINDS",
    "Container",
    "DaemonSet",
    "Deployment",
    "Job",
    "Pod",
    "PodClaim",
    "PodSpec",
    "ReplicaSet",
    "ResourceQuota",
    "StatefulSet",
    "Toleration",
    "WholeList",
    "Workload",
]


class _Object(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Base of every object, as in `objects`."""


class ContainerClaim(_Object, frozen=True):
    """A claim of the pod that a container may use."""

    name: str
    request: str = ""


class ContainerResources(_Object, frozen=True):
    """What a container asks for."""

    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    claims: list[ContainerClaim] = []


class Container(_Object, frozen=True):
    """A container, as far as resources go."""

    name: str = ""
    resources: ContainerResources = ContainerResources()
    restart_policy: str | None = None


class PodClaim(_Object, frozen=True):
    """An entry of ``spec.resourceClaims``."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class Toleration(_Object, frozen=True):
    """A taint of nodes that a pod accepts."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class NodeAffinity(_Object, frozen=True):
    """The nodes that a pod requires."""

    required: NodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(_Object, frozen=True):
    """What a pod wants to be near to; affinity between pods is kept to be named."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: dict[str, object] | None = None
    pod_anti_affinity: dict[str, object] | None = None


class SchedulingGate(_Object, frozen=True):
    """Something that holds a pod back from scheduling."""

    name: str


class PodSpec(_Object, frozen=True):
    """The part of a pod that scheduling reads."""

    containers: list[Container] = []
    init_containers: list[Container] = []
    resource_claims: list[PodClaim] = []
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: list[Toleration] = []
    overhead: dict[str, Quantity] = {}
    scheduler_name: str = ""
    scheduling_gates: list[SchedulingGate] = []
    topology_spread_constraints: list[dict[str, object]] = []
    volumes: list[dict[str, object]] = []


class PodClaimStatus(_Object, frozen=True):
    """Which claim was made for an entry of the pod."""

    name: str
    resource_claim_name: str | None = None


class PodStatus(_Object, frozen=True):
    """What became of a pod."""

    phase: str = ""
    resource_claim_statuses: list[PodClaimStatus] = []


class Pod(_Object, frozen=True, tag_field="kind", tag="Pod"):
    """A Pod."""

    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PodTemplate(_Object, frozen=True):
    """What pods are stamped from."""

    spec: PodSpec = PodSpec()
    metadata: Metadata = Metadata()


class WorkloadSpec(_Object, frozen=True):
    """The part of a Deployment, StatefulSet, ReplicaSet, DaemonSet or Job that says how many pods.

    `replicas` and, for a Job, `completions` and `parallelism` have the API's default of 1.
    """

    template: PodTemplate = PodTemplate()
    replicas: int | None = None
    completions: int | None = None
    parallelism: int | None = None


class Workload(_Object, frozen=True):
    """Anything that stamps out pods; each kind is a class of its own, so that it has a tag."""

    metadata: Metadata
    spec: WorkloadSpec = WorkloadSpec()

    @property
    def kind(self) -> str:
        """The kind, such as ``Deployment``."""
        return type(self).__name__

    @property
    def pods(self) -> int:
        """How many pods run at a time; of a DaemonSet 1, its number being that of the nodes."""
        if self.kind == "Job":
            least = [x for x in (self.spec.parallelism, self.spec.completions) if x is not None]
            return min(least, default=1)
        return 1 if self.spec.replicas is None else self.spec.replicas


class Deployment(Workload, frozen=True, tag_field="kind", tag="Deployment"):
    """A Deployment."""


class StatefulSet(Workload, frozen=True, tag_field="kind", tag="StatefulSet"):
    """A StatefulSet."""


class ReplicaSet(Workload, frozen=True, tag_field="kind", tag="ReplicaSet"):
    """A ReplicaSet."""


class DaemonSet(Workload, frozen=True, tag_field="kind", tag="DaemonSet"):
    """A DaemonSet."""


class Job(Workload, frozen=True, tag_field="kind", tag="Job"):
    """A Job."""


class QuotaSpec(_Object, frozen=True):
    """Limits of a namespace."""

    hard: dict[str, Quantity] = {}
    scopes: list[str] = []


class QuotaStatus(_Object, frozen=True):
    """What of a quota is used."""

    used: dict[str, Quantity] = {}


class ResourceQuota(_Object, frozen=True, tag_field="kind", tag="ResourceQuota"):
    """A ResourceQuota."""

    metadata: Metadata
    spec: QuotaSpec = QuotaSpec()
    status: QuotaStatus = QuotaStatus()


KINDS: Final[dict[tuple[str, str], type[Pod | Workload | ResourceQuota]]] = {
    ("v1", "Pod"): Pod,
    ("v1", "ResourceQuota"): ResourceQuota,
    ("apps/v1", "Deployment"): Deployment,
    ("apps/v1", "StatefulSet"): StatefulSet,
    ("apps/v1", "ReplicaSet"): ReplicaSet,
    ("apps/v1", "DaemonSet"): DaemonSet,
    ("batch/v1", "Job"): Job,
}
"""(apiVersion, kind) -> its type."""


class WholeList(msgspec.Struct, gc=False):
    """A List of nothing but kinds that are read, in versions that need no conversion."""

    kind: str
    items: list[
        ResourceSlice
        | DeviceClass
        | ResourceClaim
        | ResourceClaimTemplate
        | Node
        | DeviceTaintRule
        | Pod
        | ResourceQuota
        | Deployment
        | StatefulSet
        | ReplicaSet
        | DaemonSet
        | Job
    ]
