"""Kubernetes objects as `kubectl -o json` prints them, for the invented clusters of samples.py.

Names and ids that a cluster makes up are derived from what they belong to: the same on every run.
"""

from __future__ import annotations

import hashlib

from claimfit.hardware.drivers import driver

CREATED = "2026-10-01T08:00:00Z"

Object = dict[str, object]


def token(*parts: str, length: int = 5) -> str:
    """Return the suffix that Kubernetes would make up for a generated name."""
    alphabet = "bcdfghjklmnpqrstvwxz2456789"
    digest = hashlib.sha256("/".join(parts).encode()).digest()
    return "".join(alphabet[byte % len(alphabet)] for byte in digest[:length])


def uuid(*parts: str) -> str:
    """Return a UUID that depends on `parts` only."""
    text = hashlib.sha256("/".join(parts).encode()).hexdigest()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:32]}"


def attribute(value: str | int | bool) -> Object:
    """Return a DeviceAttribute of the type of `value`."""
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": value}
    return {"string": value}


def version(value: str) -> Object:
    """Return a DeviceAttribute of type version."""
    return {"version": value}


def device(
    name: str, attributes: dict[str, str | int | bool | Object], capacity: dict[str, str]
) -> Object:
    """Return a Device without what is empty."""
    found: Object = {
        "name": name,
        "attributes": {
            key: value if isinstance(value, dict) else attribute(value)
            for key, value in attributes.items()
        },
    }
    if capacity:
        found["capacity"] = {key: {"value": value} for key, value in capacity.items()}
    return found


def taint(of: Object, key: str, value: str, effect: str) -> Object:
    """Return device `of` with a taint."""
    mark = {"key": key, "value": value, "effect": effect, "timeAdded": CREATED}
    return {**of, "taints": [mark]}


def node(
    name: str, *, cpu: int, memory: str, labels: dict[str, str], cordoned: bool = False
) -> Object:
    """Return a Node that is ready."""
    amounts = {"cpu": str(cpu), "memory": memory, "pods": "110"}
    spec: Object = {"podCIDR": "10.244.0.0/24"}
    if cordoned:
        spec["unschedulable"] = True
        spec["taints"] = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": uuid("node", name),
            "creationTimestamp": CREATED,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **labels},
        },
        "spec": spec,
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
            ],
        },
    }


def slice_of(
    node_name: str, driver_name: str, devices: list[Object], *, generation: int = 1, slices: int = 1
) -> Object:
    """Return the ResourceSlice with which a node publishes `devices`."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {
            "name": f"{node_name}-{driver_name}-{token(node_name, driver_name)}",
            "uid": uuid("slice", node_name, driver_name),
            "creationTimestamp": CREATED,
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "name": node_name,
                    "uid": uuid("node", node_name),
                    "controller": True,
                }
            ],
        },
        "spec": {
            "driver": driver_name,
            "nodeName": node_name,
            "pool": {
                "name": node_name,
                "generation": generation,
                "resourceSliceCount": slices,
            },
            "devices": devices,
        },
    }


def classes(driver_name: str) -> list[Object]:
    """Return the DeviceClasses that the installation of a driver creates."""
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {
                "name": item.name,
                "uid": uuid("class", item.name),
                "creationTimestamp": CREATED,
            },
            "spec": {"selectors": [{"cel": {"expression": text}} for text in item.selectors]},
        }
        for item in driver(driver_name).classes
    ]


def claim(
    namespace: str,
    name: str,
    device_class: str,
    held: tuple[str, str, list[str]] | None,
    *,
    pod: str = "",
    count: int = 1,
) -> Object:
    """Return a ResourceClaim; `held` is driver, node and devices, `pod` the one that uses it."""
    request: Object = {
        "name": "gpu",
        "exactly": {
            "deviceClassName": device_class,
            "allocationMode": "ExactCount",
            "count": len(held[2]) if held else count,
        },
    }
    found: Object = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uuid("claim", namespace, name),
            "creationTimestamp": CREATED,
        },
        "spec": {"devices": {"requests": [request]}},
    }
    if held:
        driver_name, node_name, devices = held
        status: Object = {
            "allocation": {
                "devices": {
                    "results": [
                        {"driver": driver_name, "pool": node_name, "device": item, "request": "gpu"}
                        for item in devices
                    ]
                },
                "nodeSelector": {
                    "nodeSelectorTerms": [
                        {
                            "matchFields": [
                                {"key": "metadata.name", "operator": "In", "values": [node_name]}
                            ]
                        }
                    ]
                },
            }
        }
        if pod:
            status["reservedFor"] = [
                {"resource": "pods", "name": pod, "uid": uuid("pod", namespace, pod)}
            ]
        found["status"] = status
    return found
