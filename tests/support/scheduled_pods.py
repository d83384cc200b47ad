"""Runs pods with claims on a real cluster, and tells what became of them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from support.api_client import collection_path
from support.cluster_objects import pod
from support.predictions import Device

if TYPE_CHECKING:
    from support.api_client import Object
    from support.control_plane import ControlPlane

__all__ = ["given", "is_running", "refusal", "settled", "start", "tell"]


def start(plane: ControlPlane, space: str, manifest: Object, count: int) -> None:
    """Create a template and pods that use it."""
    metadata = {**manifest["metadata"], "namespace": space}
    plane.create({**manifest, "metadata": metadata})
    entry = {"name": "model", "resourceClaimTemplateName": metadata["name"]}
    for number in range(count):
        plane.create(pod(f"replica-{number}", space, [entry]))


def is_running(item: Object) -> bool:
    """Whether a pod runs."""
    return bool(item["status"]["phase"] == "Running")


def refusal(item: Object) -> str:
    """Return the scheduler's words why a pod is not placed, or nothing."""
    for condition in item["status"].get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return (
                str(condition.get("message", "")) if condition["reason"] == "Unschedulable" else ""
            )
    return ""


def settled(plane: ControlPlane, space: str, expected: int) -> tuple[int, list[str]]:
    """Return how many pods run, and what the scheduler says of the others, once all are decided."""

    def decided(pods: list[Object]) -> tuple[int, list[str]] | None:
        running = sum(map(is_running, pods))
        refusals = [refusal(item) for item in pods if not is_running(item)]
        return (running, refusals) if running >= expected and all(refusals) else None

    return plane.wait_for(
        collection_path("v1", "Pod", space), decided, f"{expected} pods run, the others are refused"
    )


def given(plane: ControlPlane, space: str) -> list[list[tuple[str, Device]]]:
    """Return the request and the devices of each allocated claim."""
    claims = plane.items(collection_path("resource.k8s.io/v1", "ResourceClaim", space))
    return [
        [
            (item["request"], Device(item["driver"], item["pool"], item["device"]))
            for item in found["status"]["allocation"]["devices"]["results"]
        ]
        for found in claims
        if "allocation" in found.get("status", {})
    ]


def tell(what: object, allocations: list[list[tuple[str, Device]]]) -> None:
    """Print what each claim was given."""
    for results in allocations:
        devices = ", ".join(f"{device.node}/{device.name}" for _, device in results)
        sys.stdout.write(f"{what}: {results[0][0]} -> {devices}\n")
