"""Which questions a cluster, a target and manifests make: who is asked about, under which rules."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from claimfit.diagnose.cluster import namespaced
from claimfit.diagnose.question import Question, about_claim, about_pod
from claimfit.dra.objects import Metadata, ResourceClaim
from claimfit.dra.pods import Pod
from claimfit.dra.profile import DEFAULT_MINOR, MINORS
from claimfit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claimfit.diagnose.cluster import Cluster
    from claimfit.dra.objects import Node, ResourceClaimTemplate
    from claimfit.dra.pods import Workload
    from claimfit.dra.reading import Objects

__all__ = ["cluster_version", "pod_of", "questions_of", "target_question"]

_KINDS: Final = {
    "pod": "pod",
    "pods": "pod",
    "po": "pod",
    "claim": "claim",
    "resourceclaim": "claim",
    "resourceclaims": "claim",
}


def cluster_version(nodes: Iterable[Node]) -> str:
    """Return the newest minor that a kubelet reports and whose rules are known, else the default.

    The API server is at least as new as its kubelets.
    """
    found = []
    for node in nodes:
        parts = node.status.node_info.kubelet_version.removeprefix("v").split(".")
        if len(parts) > 1 and parts[0] == "1" and parts[1].isascii() and parts[1].isdigit():
            found.append(int(parts[1][:4]))
    known = [minor for minor in found if minor in MINORS]
    return f"1.{max(known, default=DEFAULT_MINOR)}"


def target_question(target: str, namespace: str, cluster: Cluster) -> Question:
    """Return the question about ``pod/NAME`` or ``claim/NAME``.

    Raises `UsageError` EXP006 for another kind, EXP007 for an object that is not there.
    """
    written, slash, name = target.partition("/")
    kind = _KINDS.get(written.casefold())
    if not slash or not name or kind is None:
        raise UsageError(
            "EXP006",
            "this kind of object cannot be explained",
            place="TARGET",
            found=target,
            expected="pod/NAME or claim/NAME",
        )
    key = namespaced(name, namespace)
    known: Iterable[str] = cluster.pods if kind == "pod" else cluster.claims
    if kind == "pod" and key in cluster.pods:
        return about_pod(cluster.pods[key], cluster)
    if kind == "claim" and key in cluster.claims:
        return about_claim(cluster.claims[key], cluster)
    same = sorted(item for item in known if item.partition("/")[2] == name)
    raise UsageError(
        "EXP007",
        f"there is no {kind} {key}",
        place="TARGET",
        found=target,
        expected=f"a {kind} of the cluster" + ("" if list(known) else f"; no {kind} was given"),
        fix=f"-n {same[0].partition('/')[0]}" if same else "",
        candidates=tuple(same or get_close_matches(key, list(known), 3, 0.5)),
    )


def questions_of(manifests: Objects, cluster: Cluster) -> list[Question]:
    """Return what manifests ask for: their pods, else a pod of each workload, else claims.

    Raises `UsageError` EXP008 when there is none of these.
    """
    found = [about_pod(pod, cluster) for pod in manifests.pods]
    for workload in manifests.workloads:
        question = about_pod(pod_of(workload, "0"), cluster)
        found.append(question._replace(notes=(*question.notes, *_shared_claims(workload))))
    if not found:
        found = [
            about_claim(claim, cluster)
            for claim in manifests.claims
            if claim.status.allocation is None
        ]
        found += [about_claim(_stamped(item), cluster) for item in manifests.templates]
    if not found:
        raise UsageError(
            "EXP008",
            "the manifests ask for nothing",
            place="-f",
            expected="a Pod, a workload, a ResourceClaim without allocation or a template of one",
        )
    return found


def pod_of(workload: Workload, number: str) -> Pod:
    """Return a pod as `workload` stamps it out."""
    meta, template = workload.metadata, workload.spec.template
    own = Metadata(f"{meta.name}-{number}", meta.namespace, labels=template.metadata.labels)
    return Pod(own, template.spec)


def _stamped(template: ResourceClaimTemplate) -> ResourceClaim:
    meta = template.metadata
    return ResourceClaim(Metadata(meta.name, meta.namespace), template.spec.spec)


def _shared_claims(workload: Workload) -> Iterator[str]:
    """Yield a sentence for each claim that all pods of `workload` share."""
    if workload.pods < 2:
        return
    meta = workload.metadata
    for entry in workload.spec.template.spec.resource_claims:
        if entry.resource_claim_name:
            name = namespaced(entry.resource_claim_name, meta.namespace)
            owner = f"{workload.kind} {namespaced(meta.name, meta.namespace)}"
            yield (
                f"all {workload.pods} pods of {owner} share claim {name}: the same devices, so the "
                "same node, and nothing divides their memory; with a template each pod gets a "
                "claim of its own"
            )
