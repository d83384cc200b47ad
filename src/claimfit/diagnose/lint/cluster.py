"""Rules that hold a claim against what there is: classes, devices per node, attributes."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from claimfit.diagnose.lint.claim_rules import request_parts
from claimfit.diagnose.lint.pods import pod_of
from claimfit.diagnose.lint.published import devices_by_node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.diagnose.lint.linting import Checked, Context
    from claimfit.diagnose.lint.parts import Part
    from claimfit.diagnose.lint.published import World

__all__ = ["check"]

MOST_DEVICES: Final = 32
_LONGEST_NAME: Final = 63
_MISSPELT: Final = 0.85
"""Likeness from which a class that nobody described is rather a known one misspelt."""
_SHOWN: Final = 6


def check(objects: Sequence[Checked], world: World, context: Context) -> None:
    """Report on the claims among `objects` that `world` cannot satisfy."""
    for checked in objects:
        devices = checked.devices
        if devices is not None:
            for _, request in request_parts(devices):
                _check_class(checked, request, world, context)
            _check_limit(checked, devices)
            _check_counts(checked, devices, world)
            for constraint in devices.parts("constraints"):
                _check_constraint(checked, constraint, world)
        else:
            _check_extended_resources(checked, world)


# --- classes --------------------------------------------------------------------------------------


def _check_class(checked: Checked, request: Part, world: World, context: Context) -> None:
    name = request.text("deviceClassName")
    if not name or world.device_class(name) is not None:
        return
    present = sorted(item.metadata.name for item in world.objects.classes)
    installed = [item.name for driver in world.described for item in driver.classes]
    near = get_close_matches(name[:_LONGEST_NAME], present or installed, 3, 0.6)
    path = request.at("deviceClassName")
    if context.cluster is None and not (world.snapshot and present):
        near = get_close_matches(name[:_LONGEST_NAME], installed, 3, _MISSPELT)
        if near and name not in installed:  # else a class of the user's own
            checked.report.add(
                "LNT030",
                "warning",
                path,
                f"no known driver installs a DeviceClass {name}",
                fix=f"nearest: {', '.join(near)}",
            )
        return
    driver = world.description_of(name)[0]
    slices = ""
    if driver is not None and driver.name not in world.drivers:
        slices = (
            f"; no slice of driver {driver.name} exists either: it is not installed, or only a "
            "part of it"
        )
    listed = ", ".join(present[:_SHOWN]) + (
        f" and {len(present) - _SHOWN} more" if len(present) > _SHOWN else ""
    )
    checked.report.add(
        "LNT030",
        "error",
        path,
        f"DeviceClass {name} does not exist; present: {listed or 'none'}{slices}",
        fix=f"nearest: {', '.join(near)}" if near else "install the driver, or create the class",
    )


# --- counts ---------------------------------------------------------------------------------------


def _least(devices: Part) -> int:
    """Return how many devices a claim needs at least (All counts as none)."""
    total = 0
    alternatives: dict[str, list[int]] = {}
    for name, request in request_parts(devices):
        exact = (request.text("allocationMode") or "ExactCount") == "ExactCount"
        count = max(request.number("count"), 1) if exact else 0
        parent, slash, _ = name.partition("/")
        if slash:
            alternatives.setdefault(parent, []).append(count)
        else:
            total += count
    return total + sum(min(counts) for counts in alternatives.values())


def _check_limit(checked: Checked, devices: Part) -> None:
    least = _least(devices)
    if least > MOST_DEVICES >= devices.count("requests"):
        checked.report.add(
            "LNT031",
            "error",
            devices.at("requests"),
            f"number of requested devices {least} exceeds the claim limit of {MOST_DEVICES}: the "
            "API server stores the claim, the scheduler never allocates it",
            fix="ask for fewer, or use several claims (a pod may use more than one)",
            at_key=True,
        )


def _check_counts(checked: Checked, devices: Part, world: World) -> None:
    """Report requests for more devices than any node has."""
    if not world.rows:
        return
    for name, request in request_parts(devices):
        driver = world.description_of(request.text("deviceClassName"))[0]
        if driver is None or driver.name not in world.drivers or "/" in name:
            continue
        count = request.number("count") or 1
        most, where = 0, ""
        for node, rows in devices_by_node(world.rows):
            here = sum(1 for row in rows if row.id.driver == driver.name)
            if here > most:
                most, where = here, node
        if count > most and (request.text("allocationMode") or "ExactCount") == "ExactCount":
            checked.report.add(
                "LNT032",
                "error",
                request.at("count"),
                f"{count} devices of {driver.name} are on no node: the most is {most}, on {where}; "
                "a claim cannot span nodes",
                fix=f"count {most} or less, and more replicas",
            )


# --- constraints ----------------------------------------------------------------------------------


def _check_constraint(checked: Checked, constraint: Part, world: World) -> None:
    for field in ("matchAttribute", "distinctAttribute"):
        name = constraint.text(field)
        domain, slash, identifier = name.partition("/")
        if not slash or (domain, identifier) in world.attributes:
            continue
        path = constraint.at(field)
        if (domain, identifier) in world.capacities:
            checked.report.add(
                "LNT033",
                "error",
                path,
                f"{name} is a capacity; constraints compare attributes, so no device satisfies it",
            )
            continue
        if not world.snapshot and not _is_near(domain, world):
            continue  # a driver that nobody described
        near = world.near(identifier, domain)
        homes = world.homes(identifier)
        offers = [f"{domain}/{other}" for other in near] + [
            f"{home}/{identifier}" for home in homes
        ]
        checked.report.add(
            "LNT033",
            "error" if world.snapshot else "warning",
            path,
            f"no device of {world.source} has attribute {name}: a device without it never "
            "satisfies the constraint",
            fix=f"nearest: {', '.join(offers[:3])}" if offers else "",
        )


def _is_near(domain: str, world: World) -> bool:
    """Whether `domain` is known, or likely a known one misspelt."""
    near = get_close_matches(domain[:_LONGEST_NAME], sorted(world.domains), 1, 0.7)
    return domain in world.domains or bool(near)


# --- extended resources ---------------------------------------------------------------------------


def _check_extended_resources(checked: Checked, world: World) -> None:
    """Say what a limit means when a class carries its name."""
    pod = pod_of(checked.part, checked.manifest.kind)
    if pod is None or pod.spec.parts("resourceClaims"):
        return
    classes = {
        item.spec.extended_resource_name: item.metadata.name
        for item in world.objects.classes
        if item.spec.extended_resource_name
    }
    for container in pod.spec.parts("containers"):
        resources = container.below("resources")
        for name, amount in resources.entries("limits").items():
            if name not in classes:
                continue
            gate = "DRAExtendedResource"
            if world.profile.enabled(gate):
                checked.report.add(
                    "LNT026",
                    "info",
                    resources.at("limits", name),
                    f"class {classes[name]} carries extendedResourceName {name}: the scheduler "
                    f"makes an implicit claim for {amount} devices of that class",
                    at_key=True,
                )
            else:
                checked.report.add(
                    "LNT026",
                    "warning",
                    resources.at("limits", name),
                    f"class {classes[name]} carries extendedResourceName {name}, but feature gate "
                    f"{gate} is off in Kubernetes {world.profile.kubernetes}: the pod waits on "
                    f"Insufficient {name}",
                    fix=f"turn on {gate} (on by default since 1.36), or refer to a claim",
                    at_key=True,
                )
