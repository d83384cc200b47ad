"""Puts the objects of a sample cluster onto a real API server, and takes them away again.

A sample is what kubectl prints of a running cluster, so more is made true than a create does: the
status of claims, the pods that claims are reserved for (controllers take a reservation back whose
pod does not exist), the identities of owners, and namespaces.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
from collections import Counter
from typing import TYPE_CHECKING, Final

from claimfit.hardware.samples import sample_path
from support.api_client import collection_path, path_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from support.api_client import ApiClient, Object

__all__ = [
    "as_of",
    "empty_namespace",
    "load",
    "loaded",
    "namespace",
    "pod",
    "sample_objects",
    "unload",
]

_SERVER_MADE: Final = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")
_PROTECTION: Final = "resource.kubernetes.io/delete-protection"
"""The finalizer of an allocated claim: the controller frees devices only of claims with it."""
_ORDER: Final = ("Node", "DeviceClass", "ResourceSlice", "ResourceClaim")
_CLAIM: Final = "resource.k8s.io/v1"
_WORKLOADS: Final = (
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "Job"),
)


def sample_objects(name: str, prefix: str = "") -> list[Object]:
    """Return the objects of a sample; `prefix` goes before the names of its namespaces."""
    objects = json.loads(pathlib.Path(sample_path(name)).read_text(encoding="utf-8"))["items"]
    for item in objects:
        if "namespace" in item["metadata"]:
            item["metadata"]["namespace"] = prefix + item["metadata"]["namespace"]
    return sorted(objects, key=lambda item: _ORDER.index(item["kind"]))


def as_of(minor: int, objects: list[Object]) -> list[Object]:
    """Return objects without the devices that older minors give out: `fit` goes by 1.36.

    Taints of devices are behind a gate before 1.36, and 1.34 uses pools that are incomplete.
    """
    slices = Counter(
        (item["spec"]["driver"], item["spec"]["pool"]["name"])
        for item in objects
        if item["kind"] == "ResourceSlice"
    )
    kept = []
    for item in objects:
        if item["kind"] == "ResourceSlice":
            spec = item["spec"]
            made = spec["pool"]
            complete = slices[spec["driver"], made["name"]] == made["resourceSliceCount"]
            if minor < 35 and not complete:
                continue
            if minor < 36:
                spec["devices"] = [device for device in spec["devices"] if "taints" not in device]
        kept.append(item)
    return kept


def pod(name: str, space: str, claims: Iterable[Object], node: str = "") -> Object:
    """Return a pod of one container that uses claims, given as entries of `spec.resourceClaims`."""
    entries = list(claims)
    container = {
        "name": "engine",
        "image": "example.invalid/engine:1",
        "resources": {"claims": [{"name": item["name"]} for item in entries]},
    }
    spec: Object = {
        "containers": [container],
        "resourceClaims": entries,
        "terminationGracePeriodSeconds": 1,
    }
    if node:
        spec["nodeName"] = node
    metadata = {"name": name, "namespace": space}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@contextlib.contextmanager
def namespace(client: ApiClient, name: str) -> Iterator[str]:
    """Yield a new namespace; at the end its pods are gone and its claims have freed their devices.

    The namespace itself goes in the background, which takes the controllers some seconds.
    """
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    try:
        yield name
    finally:
        empty_namespace(client, name)
        client.delete(f"/api/v1/namespaces/{name}")


def empty_namespace(client: ApiClient, name: str) -> None:
    """Delete workloads, pods and claims, and wait until they are gone."""
    for version, kind in _WORKLOADS:
        client.delete(collection_path(version, kind, name))
    kinds = [collection_path("v1", "Pod", name), collection_path(_CLAIM, "ResourceClaim", name)]
    for kind in kinds:
        client.delete(kind)
    for kind in kinds:
        client.wait_for(kind, lambda found: None if found else True, f"{kind} is empty")


@contextlib.contextmanager
def loaded(client: ApiClient, objects: list[Object]) -> Iterator[None]:
    """Have objects on the API server while the context lasts."""
    try:
        load(client, objects)
        yield
    finally:
        unload(client, objects)


def load(client: ApiClient, objects: list[Object]) -> None:
    """Create objects, and wait until nodes are schedulable."""
    identities: dict[str, str] = {}
    for name in _namespaces(objects):
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for item in objects:
        made = client.create(_new(item, identities))
        identities[item["metadata"].get("uid", "")] = made["metadata"]["uid"]
        if item["kind"] == "ResourceClaim":
            _allocate(client, item)
    _wait_ready(client, objects)


def unload(client: ApiClient, objects: list[Object]) -> None:
    """Delete objects, and wait for those that nodes and controllers let go."""
    for name in _namespaces(objects):
        empty_namespace(client, name)
        client.delete(f"/api/v1/namespaces/{name}")
    for item in objects:
        if "namespace" not in item["metadata"]:
            client.delete(path_of(item))


def _namespaces(objects: list[Object]) -> list[str]:
    return sorted({item["metadata"].get("namespace", "") for item in objects} - {""})


def _new(item: Object, identities: dict[str, str]) -> Object:
    """Return an object as it is first created; only nodes bring their status.

    Owners get the uid under which they were created: the garbage collector deletes what is owned by
    an object that does not exist.
    """
    metadata = {key: value for key, value in item["metadata"].items() if key not in _SERVER_MADE}
    if owners := metadata.get("ownerReferences"):
        metadata["ownerReferences"] = [
            {**owner, "uid": identities.get(owner["uid"], owner["uid"])} for owner in owners
        ]
    if "allocation" in item.get("status", {}) and item["kind"] == "ResourceClaim":
        metadata["finalizers"] = [_PROTECTION]
    kept = {key: value for key, value in item.items() if key != "status" or item["kind"] == "Node"}
    return {**kept, "metadata": metadata}


def _allocate(client: ApiClient, claim: Object) -> None:
    """Give a claim its status, and run the pods that it is reserved for."""
    status = claim.get("status")
    if not status:
        return
    space, name = claim["metadata"]["namespace"], claim["metadata"]["name"]
    users = []
    for user in status.get("reservedFor", []):
        entry = {"name": "devices", "resourceClaimName": name}
        made = client.create(pod(user["name"], space, [entry], _node_of(status["allocation"])))
        users.append({**user, "uid": made["metadata"]["uid"]})
    change = {"status": {**status, "reservedFor": users} if users else status}
    client.patch(f"{path_of(claim)}/status", change)


def _node_of(allocation: Object) -> str:
    """Return the node that an allocation is bound to."""
    term = allocation["nodeSelector"]["nodeSelectorTerms"][0]
    return str(term["matchFields"][0]["values"][0])


def _wait_ready(client: ApiClient, objects: list[Object]) -> None:
    """Wait until the node lifecycle controller has taken the taints of a new node away."""
    names = {item["metadata"]["name"] for item in objects if item["kind"] == "Node"}

    def settled(found: list[Object]) -> bool | None:
        mine = [item for item in found if item["metadata"]["name"] in names]
        return True if all(not _is_new(item) for item in mine) else None

    client.wait_for("/api/v1/nodes", settled, "nodes without the taint not-ready")


def _is_new(node: Object) -> bool:
    return any(
        taint["key"] == "node.kubernetes.io/not-ready" for taint in node["spec"].get("taints", [])
    )
