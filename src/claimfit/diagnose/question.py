"""What is asked: a pod with its claims, or a claim alone.

A pod's entries lead to claims as in kube-scheduler (k8s.io/dynamic-resource-allocation/
resourceclaim): by name, or to the one that was made of a template; where none was made yet, one is
made here as kube-controller-manager would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from claimfit.diagnose.cluster import namespaced
from claimfit.diagnose.quotas import quota_problems
from claimfit.dra.amounts import nanos_of
from claimfit.dra.objects import (
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    Metadata,
    ResourceClaim,
    ResourceClaimSpec,
)
from claimfit.dra.reasons import Reason
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claimfit.diagnose.cluster import Cluster
    from claimfit.dra.pods import Pod, PodClaim

__all__ = ["MOST_USERS", "Question", "about_claim", "about_pod", "implicit_claim"]

MOST_USERS: Final = 256
"""Pods that may share a claim (ResourceClaimReservedForMaxSize)."""

_NANOS: Final = 10**9


class Question(NamedTuple):
    """A pod or a claim that wants devices.

    Attributes:
        subject: such as ``pod serving/chat-0``.
        pod: None when a claim is asked about.
        waiting: claims without an allocation, in the order of the pod.
        allocated: claims that have theirs.
        made: names of claims that do not exist yet and were made of a template here.
        extended: extended resource -> how many, where a class stands for it.
        refused: why the pod cannot be scheduled on any node, with `texts`.
        scheduler_text: what kube-scheduler says to the first of `refused`; empty where it holds the
            pod back before its queue, which it does without a word.
        notes: what is told beside the verdict, one sentence each.
    """

    subject: str
    pod: Pod | None
    waiting: tuple[ResourceClaim, ...]
    allocated: tuple[ResourceClaim, ...] = ()
    made: tuple[str, ...] = ()
    extended: tuple[tuple[str, int], ...] = ()
    refused: tuple[Reason, ...] = ()
    scheduler_text: str = ""
    notes: tuple[str, ...] = ()

    @property
    def namespace(self) -> str:
        """The namespace of the pod or the claim."""
        owner = self.pod or (self.waiting or self.allocated)[0]
        return owner.metadata.namespace or "default"


def about_claim(claim: ResourceClaim, cluster: Cluster) -> Question:
    """Return the question about a claim alone, for a pod that can go anywhere."""
    claim = _in_namespace(claim)
    name = namespaced(claim.metadata.name, claim.metadata.namespace)
    if claim.status.allocation is not None:
        return Question(f"claim {name}", None, (), (claim,))
    refused = tuple(_classes_missing(claim, cluster))
    return Question(
        f"claim {name}",
        None,
        (claim,),
        refused=tuple(reason for reason, _ in refused),
        scheduler_text=refused[0][1] if refused else "",
    )


def _in_namespace(claim: ResourceClaim) -> ResourceClaim:
    """Return `claim` with the namespace that it gets when it is applied without one."""
    if claim.metadata.namespace:
        return claim
    meta = msgspec.structs.replace(claim.metadata, namespace="default")
    return msgspec.structs.replace(claim, metadata=meta)


def about_pod(pod: Pod, cluster: Cluster) -> Question:
    """Return the question about a pod: its claims, and what is wrong with them beforehand."""
    meta = pod.metadata
    name = namespaced(meta.name, meta.namespace)
    waiting: list[ResourceClaim] = []
    allocated: list[ResourceClaim] = []
    made: list[str] = []
    refused: list[tuple[Reason, str]] = []
    if pod.spec.scheduling_gates:
        gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
        text = f"scheduling gates hold the pod back: {gates}"
        refused.append((Reason("scheduling-gate", text, None, {"gates": gates}), ""))
    for entry in pod.spec.resource_claims:
        found = _claim(entry, pod, cluster)
        if isinstance(found, tuple):
            refused.append(found)
            continue
        found = _in_namespace(found)
        problem = _problem(found, pod)
        if problem is not None:
            refused.append(problem)
        if found.status.allocation is None:
            refused += _classes_missing(found, cluster)
            waiting.append(found)
        else:
            allocated.append(found)
        key = namespaced(found.metadata.name, found.metadata.namespace)
        if key not in cluster.claims:
            made.append(key)
    new = [
        claim
        for claim in waiting
        if namespaced(claim.metadata.name, claim.metadata.namespace) in made
    ]
    namespace = meta.namespace or "default"
    refused += [(x, "") for x in quota_problems(new, cluster.objects.quotas, namespace)]
    return Question(
        f"pod {name}",
        pod,
        tuple(waiting),
        tuple(allocated),
        tuple(made),
        tuple(_extended(pod, cluster)),
        tuple(reason for reason, _ in refused),
        refused[0][1] if refused else "",
        tuple(_unscheduled(pod, (*waiting, *allocated))),
    )


def _unscheduled(pod: Pod, claims: tuple[ResourceClaim, ...]) -> Iterator[str]:
    """Yield that a pod with a node of its own is in none of its claims' reservations."""
    if not pod.spec.node_name:
        return
    for claim in claims:
        if not any(item.name == pod.metadata.name for item in claim.status.reserved_for):
            name = namespaced(claim.metadata.name, claim.metadata.namespace)
            yield (
                f"the pod has node {pod.spec.node_name} but is missing in status.reservedFor of "
                f"claim {name}: it did not pass through a scheduler that reserves claims"
            )


def _claim(entry: PodClaim, pod: Pod, cluster: Cluster) -> ResourceClaim | tuple[Reason, str]:
    meta = pod.metadata
    named, template = entry.resource_claim_name, entry.resource_claim_template_name
    if bool(named) == bool(template):
        text = (
            f"entry {entry.name} of the pod must name exactly one of resourceClaimName and "
            "resourceClaimTemplateName"
        )
        return Reason("claim-entry", text, None, {"entry": entry.name}), ""
    if named:
        found = cluster.claims.get(namespaced(named, meta.namespace))
        if found is not None:
            return found
        text = f"claim {namespaced(named, meta.namespace)} does not exist"
        return Reason("claim-missing", text, None, {"claim": named}), ""
    for status in pod.status.resource_claim_statuses:
        if status.name == entry.name and status.resource_claim_name:
            made = cluster.claims.get(namespaced(status.resource_claim_name, meta.namespace))
            if made is not None:
                return made
    for claim in cluster.generated.get((meta.namespace, entry.name), ()):
        # Made, and the pod's status is not written yet.
        if claim.metadata.name.startswith(f"{meta.name}-{entry.name}-"):
            return claim
    pattern = cluster.templates.get(namespaced(template or "", meta.namespace))
    if pattern is not None:
        labels = pattern.spec.metadata.labels
        own = Metadata(f"{meta.name}-{entry.name}", meta.namespace, labels=labels)
        return ResourceClaim(own, pattern.spec.spec)
    text = f"template {namespaced(template or '', meta.namespace)} does not exist"
    return Reason("template-missing", text, None, {"template": template or ""}), ""


def _problem(claim: ResourceClaim, pod: Pod) -> tuple[Reason, str] | None:
    """Return what kube-scheduler finds wrong with a claim before it looks at nodes."""
    name = namespaced(claim.metadata.name, claim.metadata.namespace)
    if claim.metadata.deletion_timestamp:
        users = ", ".join(item.name for item in claim.status.reserved_for)
        text = f"claim {name} is being deleted" + (f"; still reserved by {users}" if users else "")
        return Reason("claim-deleted", text, None, {"claim": name, "users": users}), ""
    mine = any(item.uid == pod.metadata.uid for item in claim.status.reserved_for)
    if not mine and len(claim.status.reserved_for) >= MOST_USERS:
        text = f"claim {name} is in use by {MOST_USERS} pods, the most that may share one"
        return Reason("claim-full", text, None, {"claim": name}), "resourceclaim in use"
    return None


def _classes_missing(claim: ResourceClaim, cluster: Cluster) -> Iterator[tuple[Reason, str]]:
    """Yield the classes that requests name and that do not exist, each once."""
    seen: set[str] = set()
    for request in claim.spec.devices.requests:
        named = [
            (f"{request.name}/{sub.name}", sub.device_class_name) for sub in request.first_available
        ]
        if request.exactly is not None:
            named.append((request.name, request.exactly.device_class_name))
        for name, wanted in named:
            if not wanted or wanted in cluster.classes or wanted in seen:
                continue
            seen.add(wanted)
            values = {"class": wanted, "request": name, "present": ", ".join(cluster.classes)}
            text = f"DeviceClass {wanted} does not exist (request {name})"
            said = f"request {name}: device class {wanted} does not exist"
            yield Reason("class-missing", text, None, values), said


def _extended(pod: Pod, cluster: Cluster) -> Iterator[tuple[str, int]]:
    """Yield extended resources of the pod's containers that a class stands for."""
    if not cluster.profile.enabled("DRAExtendedResource"):
        return
    totals: dict[str, int] = {}
    for container in pod.spec.containers:
        for name, value in container.resources.limits.items():
            if "/" in name and cluster.class_of_resource(name) is not None:
                totals[name] = totals.get(name, 0) + nanos_of(value) // _NANOS
    yield from sorted((name, number) for name, number in totals.items() if number)


def implicit_claim(
    question: Question, offered: frozenset[str], cluster: Cluster
) -> ResourceClaim | None:
    """Return the claim that kube-scheduler makes for extended resources, but those `offered`.

    A resource that the node itself offers (a device plugin) is not claimed. Names of requests are
    upstream's: the positions of container and resource.
    """
    pod = question.pod
    wanted = {name for name, _ in question.extended if name not in offered}
    if pod is None or not wanted:
        return None
    requests = []
    before = len(pod.spec.init_containers)
    for at, container in enumerate(pod.spec.containers):
        asked = {**container.resources.limits, **container.resources.requests}
        for position, resource in enumerate(sorted(asked)):
            device_class = cluster.class_of_resource(resource) if resource in wanted else None
            number = nanos_of(asked[resource]) // _NANOS
            if device_class is None or not number:
                continue
            exact = ExactDeviceRequest(
                device_class.metadata.name, allocation_mode="ExactCount", count=number
            )
            requests.append(
                DeviceRequest(f"container-{before + at}-request-{position}", exactly=exact)
            )
    requests.sort(key=lambda item: item.name)
    meta = Metadata(f"{pod.metadata.name}-extended-resources", pod.metadata.namespace or "default")
    return ResourceClaim(meta, ResourceClaimSpec(DeviceClaim(requests)))
