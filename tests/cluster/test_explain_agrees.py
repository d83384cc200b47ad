"""The real scheduler says of a waiting pod what `claimfit explain` says that it would.

All samples are loaded. Each case runs one pod; once the scheduler has decided, everything is
read back as kubectl would print it and explained: verdict and line of the event must be the same.
A change that is suggested is made, and the pod must then be placed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from claimfit.diagnose.cluster import Cluster
from claimfit.diagnose.explaining import explain
from claimfit.diagnose.question import about_pod
from claimfit.diagnose.suggestions import suggestions
from claimfit.diagnose.what_if import changed_question
from claimfit.dra.profile import profile
from claimfit.dra.reading import read_objects
from support.api_client import collection_path, path_of
from support.cluster_objects import pod

if TYPE_CHECKING:
    from claimfit.diagnose.tree import Answer
    from support.api_client import Object
    from support.control_plane import ControlPlane

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.xdist_group("cluster"),
    pytest.mark.usefixtures("cordoned"),
]

MEMORY = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('80Gi')) >= 0"
GUARDED = f"'memory' in device.capacity['gpu.nvidia.com'] && {MEMORY}"
PRODUCT = "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA H100 80GB HBM3'"
CPUS = {"cpu": "5k"}
PLUGIN = {"example.com/accelerator": "1"}
READ = (
    ("v1", "Node"),
    ("v1", "Pod"),
    ("resource.k8s.io/v1", "ResourceSlice"),
    ("resource.k8s.io/v1", "DeviceClass"),
    ("resource.k8s.io/v1", "ResourceClaim"),
    ("resource.k8s.io/v1", "ResourceClaimTemplate"),
)


def template(
    space: str, count: int, *expressions: str, device_class: str = "gpu.nvidia.com"
) -> Object:
    """Return a template of a claim."""
    exactly = {
        "deviceClassName": device_class,
        "count": count,
        "selectors": [{"cel": {"expression": text}} for text in expressions],
    }
    requests = [{"name": "gpu", "exactly": exactly}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "asked", "namespace": space},
        "spec": {"spec": {"devices": {"requests": requests}}},
    }


def decided(plane: ControlPlane, space: str, name: str) -> tuple[bool, str]:
    """Return whether the pod is placed, or what the scheduler says of it, once it has decided."""

    def answer(pods: list[Object]) -> tuple[bool, str] | None:
        for item in pods:
            if item["metadata"]["name"] != name:
                continue
            if item["spec"].get("nodeName"):
                return True, ""
            for condition in item["status"].get("conditions", []):
                message = str(condition.get("message", ""))
                if condition.get("reason") == "SchedulingGated":
                    continue
                # A claim that is not made yet is no answer: the controller is a moment behind.
                if condition["type"] == "PodScheduled" and "not created yet" not in message:
                    return False, message
        return None

    return plane.wait_for(collection_path("v1", "Pod", space), answer, f"pod {name} is decided")


def explained(plane: ControlPlane, space: str, name: str) -> tuple[Answer, Any, Cluster]:
    """Return what claimfit says of the pod, from what the API server holds."""
    items = [
        {"apiVersion": version, "kind": kind, **item}
        for version, kind in READ
        for item in plane.items(collection_path(version, kind).replace("/namespaces/default", ""))
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    objects = read_objects(text.encode(), "cluster", everything=True)
    cluster = Cluster(objects, profile(f"1.{plane.minor}"))
    question = about_pod(cluster.pods[f"{space}/{name}"], cluster)
    return explain(question, cluster), question, cluster


@pytest.mark.parametrize(
    ("count", "expressions", "device_class", "outcome"),
    [
        (16, (), "gpu.nvidia.com", "pending"),
        (2, (GUARDED, PRODUCT), "gpu.nvidia.com", "pending"),
        (1, (MEMORY,), "gpu.nvidia.com", "aborted"),
        (1, ("device.attributes['gpu.nvidia.com'].nothing == 1",), "gpu.nvidia.com", "aborted"),
        (1, (), "no.such.class", "refused"),
        (3, (), "mig.nvidia.com", "fits"),
        (1, ("false",), "gpu.amd.com", "pending"),
    ],
)
def test_verdict_and_event_agree(
    count: int,
    expressions: tuple[str, ...],
    device_class: str,
    outcome: str,
    kubernetes: ControlPlane,
    space: str,
) -> None:
    """One pod of each kind of reason: the same verdict, and the same words."""
    kubernetes.create(template(space, count, *expressions, device_class=device_class))
    entry = {"name": "gpu", "resourceClaimTemplateName": "asked"}
    if outcome != "fits":
        kubernetes.create(pod("asking", space, [entry]))
        placed, line = decided(kubernetes, space, "asking")
        answer, _, _ = explained(kubernetes, space, "asking")
        assert not placed
        assert answer.scheduler_line == line
        assert answer.outcome == outcome
        return
    gated = pod("asking", space, [entry])
    gated["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    kubernetes.create(gated)
    answer, question, cluster = explained(kubernetes, space, "asking")
    free = question._replace(refused=(), scheduler_text="")
    assert explain(free, cluster).outcome == outcome
    assert answer.outcome == "refused"
    kubernetes.patch(path_of(gated), {"spec": {"schedulingGates": None}})
    assert decided(kubernetes, space, "asking") == (True, "")


@pytest.mark.parametrize(
    "change",
    [
        {"nodeSelector": {"zone": "nowhere"}},
        {"nodeSelector": {"kubernetes.io/hostname": "gpu-5"}},
        {"containers": [{"name": "engine", "image": "x", "resources": {"requests": CPUS}}]},
        {"containers": [{"name": "engine", "image": "x", "resources": {"limits": PLUGIN}}]},
    ],
    ids=["label", "one node", "CPUs", "extended resource"],
)
def test_filters_of_nodes_agree(
    change: dict[str, Any], kubernetes: ControlPlane, space: str
) -> None:
    """A pod that its own fields keep from every node: the same words again."""
    kubernetes.create(template(space, 1))
    asking = pod("asking", space, [{"name": "gpu", "resourceClaimTemplateName": "asked"}])
    asking["spec"].update(change)
    kubernetes.create(asking)

    placed, line = decided(kubernetes, space, "asking")

    answer, _, _ = explained(kubernetes, space, "asking")
    assert not placed
    assert answer.scheduler_line == line


def test_what_is_suggested_gets_the_pod_placed(kubernetes: ControlPlane, space: str) -> None:
    """The first suggestion for two H100 of 80Gi, asked for instead, is granted."""
    kubernetes.create(template(space, 2, GUARDED, PRODUCT))
    entry = {"name": "gpu", "resourceClaimTemplateName": "asked"}
    kubernetes.create(pod("asking", space, [entry]))
    assert not decided(kubernetes, space, "asking")[0]
    answer, question, cluster = explained(kubernetes, space, "asking")

    first = suggestions(question, answer, cluster)[0]

    (claim,) = changed_question(question, [first.change], cluster.profile).waiting
    (request,) = claim.spec.devices.requests
    assert request.exactly is not None
    texts = [item.cel.expression for item in request.exactly.selectors if item.cel]
    better = template(space, request.exactly.count, *texts)
    better["metadata"]["name"] = "better"
    kubernetes.create(better)
    kubernetes.create(
        pod("content", space, [{"name": "gpu", "resourceClaimTemplateName": "better"}])
    )
    assert decided(kubernetes, space, "content") == (True, "")
