"""The real scheduler gives claims of claimfit the devices that `claimfit fit` says fit.

All sample clusters are loaded side by side: their nodes and drivers differ. Each test asks claimfit
first, then runs pods, and prints which devices they were given.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from support.api_client import collection_path
from support.cluster_objects import pod
from support.predictions import fitting_groups
from support.scheduled_pods import given, is_running, refusal, settled, start, tell
from support.scheduler_cases import ALTERNATIVES, CASES, NOWHERE, Case, asked, written

if TYPE_CHECKING:
    from support.api_client import Object
    from support.control_plane import ControlPlane
    from support.predictions import Device, Group

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster")]


def predicted(case: Case, tier: Object, driver: str, cordoned: set[str]) -> list[Group]:
    """Return the groups with free replicas of a tier, on nodes that take pods."""
    tensor = ("--tp", str(tier["tensorParallel"]))
    groups = fitting_groups(case.sample, case.model, driver, *asked(case), *tensor)
    return [
        group
        for group in groups
        if group.replicas
        and not any(device.node in cordoned for device in group.free)
        and case.partitions in (None, any("-mig-" in device.name for device in group.free))
    ]


def check_devices(allocations: list[list[tuple[str, Device]]]) -> None:
    """Check that no device was given twice."""
    used = Counter(device for results in allocations for _, device in results)
    assert set(used.values()) <= {1}, used


# --- tests ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_many_replicas_run_as_fit_says_and_on_those_devices(
    case: Case, kubernetes: ControlPlane, cordoned: set[str], space: str
) -> None:
    """One pod more than predicted: all but one run, on predicted devices, no device twice."""
    answer = written(case, "--template")
    (tier,) = answer["tiers"]
    groups = predicted(case, tier, answer["target"]["driver"], cordoned)
    replicas = sum(group.replicas for group in groups)
    assert replicas, "the case is of no use"

    start(kubernetes, space, answer["manifest"], replicas + 1)
    running, refusals = settled(kubernetes, space, replicas)

    allocations = given(kubernetes, space)
    tell(case, allocations)
    assert running == replicas
    assert len(refusals) == 1
    assert "cannot allocate all claims" in refusals[0]
    check_devices(allocations)
    for results in allocations:
        devices = {device for _, device in results}
        assert len(devices) == tier["devices"]
        assert any(devices <= group.free for group in groups), f"{devices} of no predicted group"


@pytest.mark.parametrize("case", NOWHERE, ids=str)
def test_a_claim_that_fits_nowhere_now_stays_pending_with_an_event(
    case: Case, kubernetes: ControlPlane, cordoned: set[str], space: str
) -> None:
    """`fit` has no free replica: the pod waits, and an event says so."""
    answer = written(case, "--template")
    (tier,) = answer["tiers"]
    assert not predicted(case, tier, answer["target"]["driver"], cordoned)

    start(kubernetes, space, answer["manifest"], 1)
    running, refusals = settled(kubernetes, space, 0)

    assert running == 0
    assert "cannot allocate all claims" in refusals[0]
    event = kubernetes.wait_for(
        collection_path("v1", "Event", space),
        lambda found: next((item for item in found if item["reason"] == "FailedScheduling"), None),
        "an event about the pod",
    )
    sys.stdout.write(f"{case}: {event['message']}\n")
    assert event["message"] == refusals[0]
    assert not given(kubernetes, space)


@pytest.mark.parametrize("case", ALTERNATIVES, ids=str)
def test_alternatives_are_used_in_order_until_no_device_is_left(
    case: Case, kubernetes: ControlPlane, cordoned: set[str], space: str
) -> None:
    """As many replicas of each tier as the free devices hold when earlier tiers come first."""
    answer = written(case, "--template", "--alternatives")
    driver = answer["target"]["driver"]
    groups = {tier["name"]: predicted(case, tier, driver, cordoned) for tier in answer["tiers"]}
    expected: Counter[str] = Counter()
    left: dict[frozenset[Device], int] = {}
    for tier in answer["tiers"]:
        for group in groups[tier["name"]]:
            free = left.get(group.free, len(group.free))
            expected[f"model/{tier['name']}"] += free // tier["devices"]
            left[group.free] = free % tier["devices"]
    expected = +expected
    assert len(expected) > 1, "the case is of no use"

    start(kubernetes, space, answer["manifest"], expected.total() + 1)
    running, _ = settled(kubernetes, space, expected.total())

    allocations = given(kubernetes, space)
    tell(case, allocations)
    assert running == expected.total()
    assert Counter(results[0][0] for results in allocations) == expected
    check_devices(allocations)
    for results in allocations:
        devices = {device for _, device in results}
        name = results[0][0].removeprefix("model/")
        assert any(devices <= group.free for group in groups[name])


@pytest.mark.parametrize("case", ALTERNATIVES, ids=str)
def test_the_first_replica_gets_the_first_alternative(
    case: Case, kubernetes: ControlPlane, cordoned: set[str], space: str
) -> None:
    """The scheduler prefers nodes with an earlier alternative, from 1.35 on."""
    if kubernetes.minor < 35:
        pytest.skip("1.34 does not score alternatives: any node with one of them may be taken")
    answer = written(case, "--template", "--alternatives")
    first = answer["tiers"][0]
    groups = predicted(case, first, answer["target"]["driver"], cordoned)

    start(kubernetes, space, answer["manifest"], 1)
    settled(kubernetes, space, 1)

    (results,) = given(kubernetes, space)
    tell(case, [results])
    assert {request for request, _ in results} == {f"model/{first['name']}"}
    assert any({device for _, device in results} <= group.free for group in groups)


def test_replicas_of_a_deployment_get_devices_of_their_own_and_free_them(
    kubernetes: ControlPlane, cordoned: set[str], space: str
) -> None:
    """Two replicas hold two slices; a third pod waits, and runs once the deployment is gone."""
    case = Case("mixed", "mig.nvidia.com", "Qwen/Qwen3-0.6B", partitions=True)
    answer = written(case, "--template")
    template = {**answer["manifest"]["metadata"], "namespace": space}
    kubernetes.create({**answer["manifest"], "metadata": template})
    entry = {"name": "model", "resourceClaimTemplateName": template["name"]}
    kubernetes.create(deployment("chat", space, entry, 2))
    pods = collection_path("v1", "Pod", space)

    def available(item: Object | None) -> bool | None:
        return True if item and item["status"].get("availableReplicas") == 2 else None

    chat = f"{collection_path('apps/v1', 'Deployment', space)}/chat"
    kubernetes.wait_for_object(chat, available, "two replicas are available")
    held = given(kubernetes, space)
    tell(case, held)
    assert len(held) == 2
    check_devices(held)

    kubernetes.create(pod("late", space, [entry]))
    late = f"{pods}/late"
    kubernetes.wait_for_object(late, lambda item: (item and refusal(item)) or None, "late waits")
    kubernetes.delete(chat)
    kubernetes.wait_for_object(late, lambda item: (item and is_running(item)) or None, "late runs")
    kubernetes.wait_for(
        collection_path("resource.k8s.io/v1", "ResourceClaim", space),
        lambda found: True if len(found) == 1 else None,
        "the claims of the deployment are gone",
    )
    ((result,),) = given(kubernetes, space)
    tell("after its deletion", [[result]])
    assert result in [item for results in held for item in results]


def test_pods_that_name_one_claim_share_its_devices(
    kubernetes: ControlPlane, cordoned: set[str], space: str
) -> None:
    """A claim, not a template: both pods run on the one node, on the same devices."""
    case = Case("tpu-gaudi", "gaudi.intel.com", "meta-llama/Llama-3.3-70B-Instruct", devices=2)
    answer = written(case)
    groups = predicted(case, answer["tiers"][0], "gaudi.intel.com", cordoned)
    metadata = {**answer["manifest"]["metadata"], "namespace": space}
    kubernetes.create({**answer["manifest"], "metadata": metadata})
    for name in ("one", "two"):
        entry = {"name": "model", "resourceClaimName": metadata["name"]}
        kubernetes.create(pod(name, space, [entry]))

    running, _ = settled(kubernetes, space, 2)

    allocations = given(kubernetes, space)
    tell("shared by two pods", allocations)
    assert running == 2
    (results,) = allocations
    devices = {device for _, device in results}
    assert any(devices <= group.free for group in groups)
    pods = kubernetes.items(collection_path("v1", "Pod", space))
    assert {item["spec"]["nodeName"] for item in pods} == {device.node for device in devices}


def deployment(name: str, space: str, entry: Object, replicas: int) -> Object:
    """Return a Deployment whose pods use a claim."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod(name, space, [entry])["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": space},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": template,
        },
    }
