"""What `claimfit fit` predicts of a sample cluster, and what `claimfit claim` writes for it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from support.api_client import Object

__all__ = ["Device", "Group", "claim", "fitting_groups"]


class Device(NamedTuple):
    """A device of the samples, whose pools are named like their nodes."""

    driver: str
    node: str
    name: str


class Group(NamedTuple):
    """Like devices of a node on which a replica of so many devices fits."""

    free: frozenset[Device]
    devices_per_replica: int

    @property
    def replicas(self) -> int:
        """Replicas that the free devices hold."""
        return len(self.free) // self.devices_per_replica


def claim(model: str, *options: str) -> Object:
    """Return what `claimfit claim MODEL OPTIONS -o json` prints."""
    return _output("claim", model, *options, accepted=(0,))


def fitting_groups(sample: str, model: str, driver: str, *options: str) -> list[Group]:
    """Return the groups of `driver` that `claimfit fit` says hold a replica, free devices only."""
    source = ("--cluster", f"sample:{sample}")
    answer = _output("fit", model, *source, *options, accepted=(0, 1))
    return [
        Group(
            frozenset(Device(driver, item["node"], name) for name in item["freeDevices"]),
            item["devicesPerReplica"],
        )
        for item in answer["groups"]
        if item["verdict"] == "fits" and item["driver"] == driver and not item["blocked"]
    ]


def _output(*arguments: str, accepted: tuple[int, ...]) -> Object:
    done = subprocess.run(
        [sys.executable, "-m", "claimfit", *arguments, "-o", "json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode in accepted, f"{arguments}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer
