"""Small clusters in the words of the API, for tests about pods and claims."""

from __future__ import annotations

import json
from typing import Any

from claimfit.diagnose.cluster import Cluster
from claimfit.dra.profile import profile
from claimfit.dra.reading import Objects, read_objects

__all__ = ["claim", "cluster", "device", "gpu_class", "node", "objects", "pod", "published"]

Manifest = dict[str, Any]


def objects(*manifests: Manifest) -> Objects:
    """Return what is read of `manifests`."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)})
    return read_objects(text.encode(), "test", everything=True)


def cluster(*manifests: Manifest, kubernetes: str = "1.36", gates: str = "") -> Cluster:
    """Return a cluster of `manifests`."""
    return Cluster(objects(*manifests), profile(kubernetes, gates))


def device(name: str, memory: str = "80Gi", **more: Any) -> Manifest:
    """Return a GPU."""
    attributes = {"type": {"string": "gpu"}, "productName": {"string": "A100"}}
    return {
        "name": name,
        "attributes": attributes,
        "capacity": {"memory": {"value": memory}},
        **more,
    }


def published(node_name: str, *devices: Manifest, slices: int = 1) -> Manifest:
    """Return a slice of one node, of a pool that announces `slices`."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node_name}-gpus"},
        "spec": {
            "driver": "gpu.test",
            "nodeName": node_name,
            "pool": {"name": node_name, "generation": 1, "resourceSliceCount": slices},
            "devices": list(devices),
        },
    }


def gpu_class(name: str = "gpu.test", **spec: Any) -> Manifest:
    """Return the class of all GPUs."""
    selectors = [{"cel": {"expression": "device.driver == 'gpu.test'"}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": selectors, **spec},
    }


def claim(
    name: str = "want",
    count: int = 1,
    *expressions: str,
    holds: tuple[str, ...] = (),
    **more: Any,
) -> Manifest:
    """Return a claim for `count` GPUs, which holds ``NODE/DEVICE`` ones."""
    exact = {
        "deviceClassName": "gpu.test",
        "count": count,
        "selectors": [{"cel": {"expression": text}} for text in expressions],
    }
    made: Manifest = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exact}], **more}},
    }
    if holds:
        places = [item.split("/") for item in holds]
        results = [
            {"request": "gpu", "driver": "gpu.test", "pool": pool, "device": name}
            for pool, name in places
        ]
        only = [{"key": "metadata.name", "operator": "In", "values": [places[0][0]]}]
        made["status"] = {
            "allocation": {
                "devices": {"results": results},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": only}]},
            },
            "reservedFor": [{"resource": "pods", "name": f"{name}-pod", "uid": "u"}],
        }
    return made


def node(name: str, **spec: Any) -> Manifest:
    """Return a node of 8 CPUs, 32Gi and 110 pods."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": spec,
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}},
    }


def pod(name: str = "p", *claims: str, requests: Manifest | None = None, **spec: Any) -> Manifest:
    """Return a pod with claims by name."""
    containers = [{"name": "main", "resources": {"requests": requests or {}}}]
    entries = [{"name": f"c{at}", "resourceClaimName": item} for at, item in enumerate(claims)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"containers": containers, "resourceClaims": entries, **spec},
    }
