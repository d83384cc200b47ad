"""The real scheduler gives claims of claimfit the devices that `claimfit fit` says fit.

All sample clusters are loaded side by side: their nodes and drivers differ. Each test asks claimfit
first, then runs pods, and prints which devices they were given.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import pytest

from claimfit.hardware.samples import sample_names
from support.api_client import collection_path
from support.cluster_objects import loaded, pod, sample_objects
from support.predictions import Device, claim, fitting_groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.api_client import Object
    from support.control_plane import ControlPlane
    from support.predictions import Group

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster")]

LLAMA_70B = "meta-llama/Llama-3.3-70B-Instruct"
QWEN_8B = "Qwen/Qwen3-8B"


class Case(NamedTuple):
    """A model on a driver of a sample."""

    sample: str
    target: str
    model: str
    options: tuple[str, ...] = ()
    devices: int = 0
    """Devices of a replica; 0 leaves it to claimfit."""
    partitions: bool | None = None
    """Whether the class selects MIG slices, which share their driver with whole boards."""

    def __str__(self) -> str:
        """Return the name of the test."""
        count = f"x{self.devices}" if self.devices else ""
        name = self.model.partition("/")[2]
        return "-".join(filter(None, (self.target, name, *self.options, count)))


NVIDIA = "gpu.nvidia.com"
CASES = [
    Case("mixed", NVIDIA, QWEN_8B, ("--context", "32768"), partitions=False),
    Case("mixed", NVIDIA, "Qwen/Qwen3-30B-A3B", ("--min-tps", "40"), partitions=False),
    Case("mixed", NVIDIA, LLAMA_70B, ("--quant", "FP8"), partitions=False),
    Case("mixed", NVIDIA, LLAMA_70B, devices=2, partitions=False),
    Case("mixed", NVIDIA, LLAMA_70B, devices=4, partitions=False),
    Case("mixed", "mig.nvidia.com", "Qwen/Qwen3-0.6B", partitions=True),
    Case("amd", "gpu.amd.com", LLAMA_70B),
    Case("amd", "gpu.amd.com", LLAMA_70B, devices=2),
    Case("amd", "gpu.amd.com", LLAMA_70B, devices=4),
    Case("intel", "gpu.intel.com", QWEN_8B),
    Case("intel", "gpu.intel.com", QWEN_8B, devices=2),
    Case("llmfit", "gpu.llmfit.ai", QWEN_8B),
    Case("tpu-gaudi", "gaudi.intel.com", LLAMA_70B, devices=2),
    Case("tpu-gaudi", "tpu.google.com", LLAMA_70B, devices=8),
    Case("tpu-gaudi", "neuron.aws.com", LLAMA_70B, devices=4),
]
NOWHERE = [
    # More devices than are free of the only node that has enough of them.
    Case("mixed", NVIDIA, "deepseek-ai/DeepSeek-R1", devices=8, partitions=False),
    # The largest slice of the sample is 3g.20gb with 20096Mi.
    Case("mixed", "mig.nvidia.com", QWEN_8B, partitions=True),
    # No node of the sample has four boards of a kind that are large enough.
    Case("intel", "gpu.intel.com", LLAMA_70B, devices=4),
]
ALTERNATIVES = [
    Case("mixed", NVIDIA, LLAMA_70B, ("--quant", "FP8"), partitions=False),
    Case("amd", "gpu.amd.com", LLAMA_70B),
    Case("intel", "gpu.intel.com", QWEN_8B),
]


@pytest.fixture(scope="module")
def cordoned(kubernetes: ControlPlane) -> Iterator[set[str]]:
    """Load all samples; yield the names of the nodes that take no pods."""
    everything = [item for name in sample_names() for item in sample_objects(name, f"{name}-")]
    objects = as_of(kubernetes.minor, everything)
    with loaded(kubernetes, objects):
        nodes = [item for item in objects if item["kind"] == "Node"]
        yield {item["metadata"]["name"] for item in nodes if item["spec"].get("unschedulable")}


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


# --- what runs --------------------------------------------------------------------------------


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


def predicted(case: Case, tier: Object, driver: str, cordoned: set[str]) -> list[Group]:
    """Return the groups with free replicas of a tier, on nodes that take pods."""
    speed = () if "--min-tps" in case.options else ("--min-tps", "20")  # as `claim` assumes
    tensor = ("--tp", str(tier["tensorParallel"]))
    groups = fitting_groups(case.sample, case.model, driver, *speed, *case.options, *tensor)
    return [
        group
        for group in groups
        if group.replicas
        and not any(device.node in cordoned for device in group.free)
        and case.partitions in (None, any("-mig-" in device.name for device in group.free))
    ]


def written(case: Case, *more: str) -> Object:
    """Return what claimfit writes for a case, as a template."""
    count = ("--count", str(case.devices)) if case.devices else ()
    return claim(case.model, "--target", case.target, "--template", *case.options, *count, *more)


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
    answer = written(case)
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
    answer = written(case)
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
    answer = written(case, "--alternatives")
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
    answer = written(case, "--alternatives")
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
    answer = written(case)
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
    case = Case("tpu-gaudi", "gaudi.intel.com", LLAMA_70B, devices=2)
    answer = claim(case.model, "--target", case.target, "--count", str(case.devices))
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
