"""Where ``claimfit fit`` looks: a cluster that was read, or accelerators of the table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.cli.hardware import Hardware
    from claimfit.fit.groups import DeviceGroup
    from claimfit.hardware.facts import Accelerator

__all__ = ["Cluster", "FitContext", "accelerators_of", "read_groups"]


class FitContext(NamedTuple):
    """Where to look and how to print."""

    hardware: Hardware
    cluster: str
    """Source of a cluster, or empty."""
    device: str
    """Name of one accelerator, or empty."""
    devices_per_node: int
    as_json: bool
    verbose: bool


class Cluster(NamedTuple):
    """What a cluster publishes, in groups of like devices."""

    groups: list[DeviceGroup]
    notes: tuple[str, ...]
    """What to say about how it was read, one sentence each."""


def read_groups(context: FitContext) -> Cluster:
    """Return the device groups of the cluster that `context` names."""
    from claimfit.dra.inventory import inventory
    from claimfit.fit.groups import device_groups
    from claimfit.storage.cluster_files import read_cluster

    objects = read_cluster(context.cluster, sys.stdin.buffer)
    rows = inventory(objects.slices, objects.claims, objects.nodes)
    if objects.classes:
        from claimfit.dra.class_selection import with_class_obstacles
        from claimfit.dra.profile import profile

        rows = with_class_obstacles(rows, objects.classes, profile())
    groups = device_groups(rows, context.hardware.describe, context.hardware.identify)
    notes = list(objects.notes)
    if objects.other_kinds:
        kinds = ", ".join(f"{number} {kind}" for kind, number in objects.other_kinds.items())
        notes.append(f"not read: {kinds}")
    return Cluster(groups, tuple(notes))


def accelerators_of(context: FitContext) -> Sequence[Accelerator]:
    """Return the accelerator that was named, or all that are known."""
    known = context.hardware.accelerators
    if not context.device:
        return known
    from claimfit.hardware.accelerators import accelerator

    return (accelerator(context.device, known),)
