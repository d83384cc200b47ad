"""claimfit's allocator and the real scheduler decide alike about claims of claimfit.

Pods are run one after the other. Before each, the objects of the cluster are read as claimfit reads
them; afterwards its allocator must name the devices that the scheduler chose on that node, or no
node at all where the pod waits.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from claimfit.dra.allocation import Allocator
from claimfit.dra.profile import profile
from claimfit.dra.reading import Objects, read_objects
from support.api_client import collection_path
from support.cluster_objects import pod
from support.scheduled_pods import refusal
from support.scheduler_cases import ALTERNATIVES, CASES, NOWHERE, Case, written

if TYPE_CHECKING:
    from claimfit.dra.objects import ResourceClaim
    from support.api_client import Object
    from support.control_plane import ControlPlane

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster")]

MOST_PODS = 3
DRA = "resource.k8s.io/v1"
READ = [
    "/api/v1/nodes",
    *(f"/apis/{DRA}/{kinds}" for kinds in ("resourceslices", "deviceclasses", "resourceclaims")),
]


def snapshot(plane: ControlPlane) -> Objects:
    """Return the objects of a cluster as claimfit reads them."""
    objects = Objects()
    for path in READ:
        objects.extend(read_objects(json.dumps(plane.get(path)).encode(), path))
    return objects


def comparable(allocation: Any) -> Any:
    """Return an allocation as JSON; when it was made does not matter."""
    found = json.loads(msgspec.json.encode(allocation))
    found.pop("allocationTimestamp", None)
    return found


def decided(item: Object | None) -> Object | None:
    """Return a pod once it runs or is refused."""
    return item if item and (item["status"]["phase"] == "Running" or refusal(item)) else None


@pytest.mark.parametrize(
    ("case", "options"),
    [
        *((case, ()) for case in (*CASES, *NOWHERE)),
        *((case, ("--alternatives",)) for case in ALTERNATIVES),
    ],
    ids=str,
)
def test_the_same_devices_in_the_same_order(
    case: Case, options: tuple[str, ...], kubernetes: ControlPlane, cordoned: set[str], space: str
) -> None:
    """Up to three pods: each allocation is equal, node selector and configuration included."""
    manifest = written(case, "--template", *options)["manifest"]
    metadata = {**manifest["metadata"], "namespace": space}
    kubernetes.create({**manifest, "metadata": metadata})
    entry = {"name": "model", "resourceClaimTemplateName": metadata["name"]}
    rules = profile(f"1.{kubernetes.minor}")
    for number in range(MOST_PODS):
        before = snapshot(kubernetes)
        name = f"replica-{number}"
        kubernetes.create(pod(name, space, [entry]))
        path = f"{collection_path('v1', 'Pod', space)}/{name}"
        made = kubernetes.wait_for_object(path, decided, "the pod runs or is refused")
        statuses = made["status"]["resourceClaimStatuses"]
        claims = collection_path(DRA, "ResourceClaim", space)
        (claim,) = (kubernetes.get(f"{claims}/{item['resourceClaimName']}") for item in statuses)
        allocator = Allocator.for_profile(rules, before.slices, before.classes, before.claims)
        if refusal(made):
            wanted = fresh(claim)
            for node in before.nodes:
                verdict = allocator.decide(node, [wanted])
                assert verdict.outcome == "unsatisfiable", (node.metadata.name, verdict)
            return
        (node,) = (item for item in before.nodes if item.metadata.name == made["spec"]["nodeName"])
        verdict = allocator.decide(node, [fresh(claim)])
        (allocation,) = verdict.allocations
        assert comparable(allocation) == comparable(claim["status"]["allocation"])


def fresh(claim: Object) -> ResourceClaim:
    """Return a claim as it was before it was allocated."""
    bare = {key: value for key, value in claim.items() if key != "status"}
    (read,) = read_objects(json.dumps(bare).encode(), "claim").claims
    return read
