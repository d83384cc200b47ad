"""Short forms for the objects of allocator tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from claimfit.dra.allocation import Allocator
from claimfit.dra.objects import DeviceClass, Node, ResourceClaim, ResourceSlice
from claimfit.dra.profile import profile

if TYPE_CHECKING:
    from claimfit.dra.verdict import Verdict

__all__ = [
    "DRIVER",
    "NODE",
    "allocator",
    "chosen",
    "claim",
    "decide",
    "device",
    "device_class",
    "exact",
    "holding",
    "node",
    "published",
    "read",
]

DRIVER = "gpu.example"
NODE = "node-a"
_Kind = TypeVar("_Kind")


def read(value: dict[str, Any], kind: type[_Kind]) -> _Kind:
    """Return an object from its JSON form."""
    return msgspec.json.decode(msgspec.json.encode(value), type=kind)


def node(name: str = NODE, **labels: str) -> Node:
    """Return a node."""
    meta = {"name": name, "labels": labels}
    return read({"apiVersion": "v1", "kind": "Node", "metadata": meta}, Node)


def device(name: str, memory: str = "", **more: Any) -> dict[str, Any]:
    """Return a device; keywords become fields, `attributes` are given as plain values."""
    made: dict[str, Any] = {"name": name}
    attributes = more.pop("attributes", {})
    if attributes:
        kinds: dict[type, str] = {str: "string", int: "int", bool: "bool", list: "strings"}
        made["attributes"] = {
            key: value if isinstance(value, dict) else {kinds[type(value)]: value}
            for key, value in attributes.items()
        }
    if memory:
        made["capacity"] = {"memory": {"value": memory}}
    return made | more


def published(
    *devices: dict[str, Any],
    name: str = "slice",
    driver: str = DRIVER,
    pool: str = NODE,
    generation: int = 1,
    count: int = 1,
    **place: Any,
) -> dict[str, Any]:
    """Return a slice, of the node if nothing else is said."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": driver,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
            **(place or {"nodeName": NODE}),
            **({"devices": list(devices)} if devices else {}),
        },
    }


def device_class(name: str = "gpu", *expressions: str, **more: Any) -> dict[str, Any]:
    """Return a class."""
    selectors = [{"cel": {"expression": text}} for text in expressions]
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass"}
    return {**head, "metadata": {"name": name}, "spec": {"selectors": selectors, **more}}


def exact(name: str = "r", count: int = 1, *expressions: str, **more: Any) -> dict[str, Any]:
    """Return a request for `count` devices of class gpu."""
    body: dict[str, Any] = {"deviceClassName": "gpu", "count": count, **more}
    if body.get("allocationMode") == "All":
        del body["count"]
    if expressions:
        body["selectors"] = [{"cel": {"expression": text}} for text in expressions]
    return {"name": name, "exactly": body}


def claim(*requests: dict[str, Any], name: str = "claim", **more: Any) -> dict[str, Any]:
    """Return a claim in namespace ns; keywords become fields of its devices."""
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
    meta = {"name": name, "namespace": "ns"}
    return {**head, "metadata": meta, "spec": {"devices": {"requests": list(requests), **more}}}


def holding(*devices: str, name: str = "older", **more: Any) -> dict[str, Any]:
    """Return a claim that holds devices of the node's pool."""
    results = [
        {"request": "r", "driver": DRIVER, "pool": NODE, "device": item, **more} for item in devices
    ]
    status = {"allocation": {"devices": {"results": results}}}
    return {**claim(exact(), name=name), "status": status}


def allocator(
    slices: list[dict[str, Any]],
    *,
    classes: list[dict[str, Any]] | None = None,
    allocated: list[dict[str, Any]] | None = None,
    kubernetes: str = "1.36",
    gates: str = "",
    **more: Any,
) -> Allocator:
    """Return an allocator with the real CEL."""
    return Allocator.for_profile(
        profile(kubernetes, gates),
        [read(item, ResourceSlice) for item in slices],
        [read(item, DeviceClass) for item in classes or [device_class()]],
        [read(item, ResourceClaim) for item in allocated or []],
        **more,
    )


def decide(
    slices: list[dict[str, Any]], *claims: dict[str, Any], at: Node | None = None, **more: Any
) -> Verdict:
    """Return the verdict on `claims` on the node."""
    made = allocator(slices, **more)
    return made.decide(at or node(), [read(item, ResourceClaim) for item in claims])


def chosen(verdict: Verdict) -> list[str]:
    """Return the names of the devices, as REQUEST=DEVICE; the outcome if there are none."""
    if not verdict.fits:
        return [verdict.outcome]
    return [
        f"{result.request}={result.device}"
        for allocation in verdict.allocations
        for result in allocation.devices.results
    ]
