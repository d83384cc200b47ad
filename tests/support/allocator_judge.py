"""Asks the Go judge of the allocator, and brings its answers and ours into one shape."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest

from claimfit.dra.allocation import Allocator
from claimfit.dra.allocator.behaviour import Features, behaviour
from claimfit.dra.allocator.state import AllocatedState
from claimfit.dra.amounts import nanos_of
from claimfit.dra.inventory import DeviceId
from support.allocator_scenarios import Scenario, answer
from support.kubernetes_build import JUDGED, BuildError, go_program, judge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claimfit.dra.verdict import Verdict

__all__ = ["decided", "features", "judged", "normal_answer", "normal_verdict", "program"]

SOURCES: Final = Path(__file__).parent.parent / "oracle" / "allocatorjudge"
_FIELDS: Final = {
    "AdminAccess": "admin_access",
    "ConsumableCapacity": "consumable_capacity",
    "DeviceTaints": "device_taints",
    "ListTypeAttributes": "list_attributes",
    "PartitionableDevices": "partitionable",
    "PrioritizedList": "prioritized_list",
    "FractionalCapacityRange": "fractional_range",
}


def program(minor: int) -> Path:
    """Return the judge; without Go the test is skipped, or fails where judges are required."""
    if go_program() is None:
        if os.environ.get("CLAIMFIT_REQUIRE_CLUSTER"):
            pytest.fail("no go command, and CLAIMFIT_REQUIRE_CLUSTER is set")
        pytest.skip("no go command: the allocator is not judged")
    try:
        return judge(SOURCES, JUDGED[minor])
    except BuildError as error:
        if os.environ.get("CLAIMFIT_REQUIRE_CLUSTER"):
            raise
        pytest.skip(f"the judge could not be built: {str(error)[-120:]}")


def judged(minor: int, questions: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the Go allocator of `minor` answers, in order."""
    lines = "\n".join(json.dumps(item) for item in questions)
    done = subprocess.run(
        [str(program(minor))], input=lines, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def features(asked: dict[str, bool]) -> Features:
    """Return the features that the judge was told."""
    chosen = {_FIELDS[name]: on for name, on in asked.items() if name in _FIELDS}
    both = asked.get("DeviceBindingAndStatus", False)
    binding = asked.get("DeviceBinding", both)
    status = asked.get("DeviceStatus", both)
    return Features(**chosen, binding=binding, device_status=status)


def decided(made: Scenario, *, pruned: bool = True, budget: int = 200_000) -> Verdict:
    """Return our verdict on a scenario."""
    node, slices, classes, claims = made.objects()
    consumed: dict[DeviceId, dict[str, int]] = {}
    for item in made.consumed:
        total = consumed.setdefault(DeviceId(*item["device"]), {})
        for name, value in item["capacity"].items():
            total[name] = total.get(name, 0) + nanos_of(value)
    state = AllocatedState(
        frozenset(DeviceId(*item) for item in made.exclusive),
        frozenset(DeviceId(*item) for item in made.shared),
        consumed,
        {},
    )
    rules = behaviour(made.minor, features(made.features))
    allocator = Allocator(rules, slices, classes, answer, state, budget=budget, pruned=pruned)
    return allocator.decide(node, claims)


def normal_verdict(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict in the shape in which both sides are compared."""
    results = [json.loads(msgspec.json.encode(item)) for item in verdict.allocations]
    return _normal(verdict.outcome, verdict.error, results)


def normal_answer(said: dict[str, Any]) -> dict[str, Any]:
    """Return an answer of the judge in the same shape."""
    outcome = "allocated" if said.get("results") is not None else "unsatisfiable"
    if said.get("error"):
        outcome = "node-error" if said.get("nodeLocal") else "aborted"
    return _normal(outcome, said.get("error", ""), said.get("results") or [])


def _normal(outcome: str, error: str, results: list[dict[str, Any]]) -> dict[str, Any]:
    for marker in ("CEL compile error:", 'capacity "', "panic", "kube-scheduler 1.34 crashes"):
        # The rest differs on purpose: cel-go's text, a random order of capacities, a stack.
        head, found, _ = error.partition(marker)
        error = f"{head}{found}" if found and marker[0] != "p" and marker[0] != "k" else error
        if found and marker[0] in "pk":
            error = "crash"
    return {
        "outcome": outcome,
        "error": error,
        "claims": [_normal_claim(item) for item in results],
    }


def _normal_claim(allocation: dict[str, Any]) -> dict[str, Any]:
    devices = []
    for result in allocation["devices"].get("results") or []:
        consumed = result.get("consumedCapacity") or {}
        devices.append(
            {
                "request": result["request"],
                "device": "/".join((result["driver"], result["pool"], result["device"])),
                "admin": bool(result.get("adminAccess")),
                "tolerations": result.get("tolerations") or [],
                "binding": result.get("bindingConditions") or [],
                "failure": result.get("bindingFailureConditions") or [],
                "share": "shareID" in result,
                "consumed": {name: nanos_of(value) for name, value in consumed.items()},
            }
        )
    config = [
        {
            "source": item["source"],
            "requests": item.get("requests") or [],
            "opaque": item.get("opaque"),
        }
        for item in allocation["devices"].get("config") or []
    ]
    terms = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    places = [
        {key: term.get(key) or [] for key in ("matchFields", "matchExpressions")} for term in terms
    ]
    for place in places:
        for requirements in place.values():
            for item in requirements:
                item["values"] = item.get("values") or []
    return {"devices": devices, "config": config, "nodeSelector": places}
