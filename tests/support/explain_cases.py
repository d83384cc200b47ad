"""Small clusters with one pod that waits, one for each kind of reason that `explain` gives.

The objects of a case bear its name, its driver as well, so that cases do not meet. Codes and
changes that are expected follow from how a case is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from support.api_client import Object

__all__ = ["CASES", "Case"]

DRA: Final = "resource.k8s.io/v1"
FREE_CPUS: Final = "8"


class Case(NamedTuple):
    """A pod that waits.

    Attributes:
        name: of the case, its driver and its class.
        code: the reason that must be in the answer.
        objects: nodes, class and slices.
        devices: `spec.devices` of the claim that the pod asks for.
        outcome: what `explain` must say.
        holders: claim -> `spec.devices` of what other pods hold.
        pod: fields of the pod's spec that differ.
        suggested: changes that must be among those that are suggested.
        gate: the feature without which the case means nothing.
        since: the first minor in which it is so, in the words that are expected.
    """

    name: str
    code: str
    objects: tuple[Object, ...]
    devices: Object
    outcome: str = "pending"
    holders: dict[str, Object] = {}  # noqa: RUF012  (a default that is only read)
    pod: Object = {}  # noqa: RUF012
    suggested: tuple[str, ...] = ()
    gate: str = "DynamicResourceAllocation"
    since: int = 34

    def __str__(self) -> str:
        """Return the name of the test."""
        return self.name


# --- objects --------------------------------------------------------------------------------------


def driver(case: str) -> str:
    """Return the driver of a case, which is its class too."""
    return f"gpu.case-{case}.example.com"


def node_of(case: str, number: int = 1) -> str:
    """Return the name of a node."""
    return f"case-{case}-{number}"


def node(case: str, number: int = 1, **spec: object) -> Object:
    """Return a node with few CPUs."""
    name = node_of(case, number)
    resources = {"cpu": FREE_CPUS, "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": spec,
        "status": {"allocatable": resources, "capacity": resources},
    }


def device_class(case: str, *more: str) -> Object:
    """Return a class of the devices of the driver, with more selectors."""
    texts = (f"device.driver == '{driver(case)}'", *more)
    return {
        "apiVersion": DRA,
        "kind": "DeviceClass",
        "metadata": {"name": driver(case)},
        "spec": {"selectors": selectors(*texts)},
    }


def device(name: str, memory: str = "80Gi", numa: int = 0, **more: object) -> Object:
    """Return a device; a memory of "" is not published."""
    found: Object = {"name": name, "attributes": {"numa": {"int": numa}}, **more}
    if memory:
        found.setdefault("capacity", {"memory": {"value": memory}})
    return found


def published(case: str, *devices: Object, number: int = 1, slices: int = 1) -> Object:
    """Return the slice of a node, of a pool of so many slices."""
    name = node_of(case, number)
    return {
        "apiVersion": DRA,
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": driver(case),
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": slices},
            "devices": list(devices),
        },
    }


def cluster(case: str, *devices: Object, slices: int = 1) -> tuple[Object, ...]:
    """Return a node, the class, and a slice with devices."""
    return (node(case), device_class(case), published(case, *devices, slices=slices))


def selectors(*texts: str) -> list[Object]:
    """Return CEL selectors."""
    return [{"cel": {"expression": text}} for text in texts]


def asks(case: str, *texts: str, **more: object) -> Object:
    """Return what an exact request asks for."""
    return {"deviceClassName": driver(case), "selectors": selectors(*texts), **more}


def one(case: str, *texts: str, **more: object) -> Object:
    """Return the devices of a claim with one request."""
    return {"requests": [{"name": "gpu", "exactly": asks(case, *texts, **more)}]}


def memory(case: str, least: str) -> str:
    """Return a clause about memory."""
    return f"device.capacity['{driver(case)}'].memory.compareTo(quantity('{least}')) >= 0"


# --- the request and its devices ------------------------------------------------------------------


def _class_missing() -> Case:
    name = "class-missing"
    objects = (node(name), published(name, device("a")))
    return Case(name, "class-missing", objects, one(name), "refused")


def _threshold() -> Case:
    """Devices of 81559Mi miss 80Gi = 81920Mi, and meet 79Gi = 80896Mi and 80G = 76294Mi."""
    name = "threshold"
    numa = f"device.attributes['{driver(name)}'].numa == 0"
    return Case(
        name,
        "request-selector-false",
        cluster(name, device("a", "81559Mi"), device("b", "40Gi")),
        one(name, f"{numa} && {memory(name, '80Gi')}"),
        suggested=("ask for 79Gi in clause 2", "ask for 80G in clause 2"),
    )


def _selector_fails() -> Case:
    """The first device has no memory: the attempt ends, although the second would do."""
    name = "selector-fails"
    return Case(
        name,
        "request-selector-error",
        cluster(name, device("a", ""), device("b")),
        one(name, memory(name, "80Gi")),
        "aborted",
        suggested=("guard clause 1 with a test that what it reads is there",),
    )


def _class_selector_false() -> Case:
    name = "class-false"
    objects = (
        node(name),
        device_class(name, memory(name, "80Gi")),
        published(name, device("a", "40Gi")),
    )
    return Case(name, "class-selector-false", objects, one(name))


def _class_selector_fails() -> Case:
    name = "class-fails"
    objects = (
        node(name),
        device_class(name, memory(name, "80Gi")),
        published(name, device("a", ""), device("b")),
    )
    return Case(name, "class-selector-error", objects, one(name), "aborted")


def _count() -> Case:
    name = "count"
    return Case(
        name,
        "too-few-devices",
        cluster(name, device("a"), device("b")),
        one(name, count=3),
        suggested=("ask for 2 devices",),
    )


def _constraint() -> Case:
    """Two devices in two NUMA nodes: no two have one in common."""
    name = "constraint"
    constraint = {"requests": ["gpu"], "matchAttribute": f"{driver(name)}/numa"}
    return Case(
        name,
        "constraint-groups",
        cluster(name, device("a", numa=0), device("b", numa=1)),
        {**one(name, count=2), "constraints": [constraint]},
        suggested=("ask for 1 device", "drop constraint 0"),
    )


def _attribute_missing() -> Case:
    name = "attribute"
    constraint = {"matchAttribute": f"{driver(name)}/rack"}
    return Case(
        name,
        "attribute-missing",
        cluster(name, device("a"), device("b")),
        {**one(name, count=2), "constraints": [constraint]},
        suggested=("drop constraint 0",),
    )


def _competition() -> Case:
    """Two devices serve either request, not two and one."""
    name = "competition"
    requests = [
        {"name": "many", "exactly": asks(name, count=2)},
        {"name": "one", "exactly": asks(name, count=1)},
    ]
    return Case(
        name,
        "competition",
        cluster(name, device("a"), device("b")),
        {"requests": requests},
        suggested=("ask for 1 device in request many",),
    )


def _first_available() -> Case:
    name = "alternatives"
    alternatives = [
        {"name": "four", **asks(name, count=4)},
        {"name": "large", **asks(name, memory(name, "141Gi"))},
    ]
    return Case(
        name,
        "request-selector-false",
        cluster(name, device("a"), device("b")),
        {"requests": [{"name": "gpu", "firstAvailable": alternatives}]},
        suggested=(
            "ask for 80Gi in clause 1 of request gpu/large",
            "ask for 2 devices in request gpu/four",
        ),
        gate="DRAPrioritizedList",
    )


def _all_constraint() -> Case:
    """All takes both devices, the constraint forbids the second."""
    name = "all-constraint"
    constraint = {"matchAttribute": f"{driver(name)}/numa"}
    return Case(
        name,
        "all-mode-constraint",
        cluster(name, device("a", numa=0), device("b", numa=1)),
        {**one(name, allocationMode="All"), "constraints": [constraint]},
        "aborted",
    )


def _result_limit() -> Case:
    """A claim holds 32 devices at most, these requests want 33.

    Patch releases of 1.34 say so in two ways.
    """
    name = "result-limit"
    requests = [
        {"name": "many", "exactly": asks(name, count=32)},
        {"name": "one", "exactly": asks(name)},
    ]
    devices = [device(f"d{number}") for number in range(33)]
    asked = {"requests": requests}
    return Case(name, "result-limit", cluster(name, *devices), asked, "aborted", since=35)


def _capacity_missing() -> Case:
    name = "capacity-missing"
    return Case(
        name,
        "capacity-missing",
        cluster(name, device("a", allowMultipleAllocations=True)),
        one(name, capacity={"requests": {"bandwidth": "1"}}),
        gate="DRAConsumableCapacity",
    )


def _capacity_policy() -> Case:
    """Shares of up to 4Gi are given out, 6Gi are wanted."""
    name = "capacity-policy"
    policy = {"default": "1Gi", "validRange": {"min": "1Gi", "max": "4Gi"}}
    capacity = {"memory": {"value": "10Gi", "requestPolicy": policy}}
    return Case(
        name,
        "capacity-policy",
        cluster(name, device("a", capacity=capacity, allowMultipleAllocations=True)),
        one(name, capacity={"requests": {"memory": "6Gi"}}),
        gate="DRAConsumableCapacity",
    )


# --- what others hold -----------------------------------------------------------------------------


def _in_use() -> Case:
    name = "in-use"
    return Case(
        name,
        "device-in-use",
        cluster(name, device("a"), device("b")),
        one(name, count=2),
        holders={"one": one(name)},
        suggested=("ask for 1 device", "free claim SPACE/one"),
    )


def _counters() -> Case:
    """The whole board is held, so that its slice has no memory left."""
    name = "counters"
    counters = {"memory": {"value": "80Gi"}}
    parts = [
        {
            "name": part,
            "attributes": {"whole": {"bool": whole}},
            "consumesCounters": [
                {"counterSet": "board", "counters": {"memory": {"value": amount}}}
            ],
        }
        for part, whole, amount in (("board", True, "80Gi"), ("slice", False, "10Gi"))
    ]
    shared = published(name, slices=2)
    shared["metadata"]["name"] += "-counters"
    shared["spec"]["sharedCounters"] = [{"name": "board", "counters": counters}]
    del shared["spec"]["devices"]
    whole = f"device.attributes['{driver(name)}'].whole"
    return Case(
        name,
        "counters-short",
        (*cluster(name, *parts, slices=2), shared),
        one(name, f"!{whole}"),
        holders={"board": one(name, whole)},
        suggested=("free claim SPACE/board",),
        gate="DRAPartitionableDevices",
    )


def _capacity() -> Case:
    """6Gi of 10Gi are consumed; another share of 6Gi has no room."""
    name = "capacity"
    share = {"capacity": {"requests": {"memory": "6Gi"}}}
    return Case(
        name,
        "capacity-short",
        cluster(name, device("a", "10Gi", allowMultipleAllocations=True)),
        one(name, **share),
        holders={"share": one(name, **share)},
        suggested=("free claim SPACE/share",),
        gate="DRAConsumableCapacity",
    )


def _all_in_use() -> Case:
    name = "all-in-use"
    return Case(
        name,
        "device-in-use",
        cluster(name, device("a"), device("b")),
        one(name, allocationMode="All"),
        holders={"one": one(name)},
        suggested=("free claim SPACE/one",),
    )


def _claim_elsewhere() -> Case:
    """The claim has its device on one node, the pod wants to go to another."""
    name = "elsewhere"
    chosen = {
        "nodeSelector": {"kubernetes.io/hostname": node_of(name, 2)},
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}],
    }
    return Case(
        name,
        "claim-elsewhere",
        (node(name, 2), *cluster(name, device("a"))),
        one(name),
        holders={"one": one(name)},
        pod=chosen,
    )


# --- pools and taints -----------------------------------------------------------------------------


def _incomplete() -> Case:
    """1.34 gives out devices of a pool that is incomplete."""
    name = "incomplete"
    objects = cluster(name, device("a"), slices=2)
    return Case(name, "pool-incomplete", objects, one(name), since=35)


def _all_incomplete() -> Case:
    """One of two pools of the node lacks a slice: what All means is not known, an error."""
    name = "all-incomplete"
    other = published(name, device("c"), slices=2)
    other["metadata"]["name"] += "-other"
    other["spec"]["pool"]["name"] += "-other"
    return Case(
        name,
        "pool-incomplete",
        (*cluster(name, device("a"), device("b")), other),
        one(name, allocationMode="All"),
        "aborted",
    )


def _all_invalid() -> Case:
    """Two slices of a pool have a device of one name."""
    name = "all-invalid"
    twin = published(name, device("a"), slices=2)
    twin["metadata"]["name"] += "-twin"
    return Case(
        name,
        "pool-invalid",
        (*cluster(name, device("a"), slices=2), twin),
        one(name, allocationMode="All"),
        "aborted",
    )


def _all_of_nothing() -> Case:
    name = "all-of-nothing"
    return Case(
        name,
        "no-devices",
        cluster(name, device("a", "40Gi")),
        one(name, memory(name, "80Gi"), allocationMode="All"),
        suggested=("ask for 40Gi in clause 1",),
    )


def _device_taint() -> Case:
    name = "device-taint"
    taint = {"key": "example.com/broken", "value": "fan", "effect": "NoSchedule"}
    return Case(
        name,
        "taint-untolerated",
        cluster(name, device("a", taints=[taint])),
        one(name),
        suggested=("tolerate example.com/broken=fan:NoSchedule",),
        gate="DRADeviceTaints",
    )


# --- the node and the pod -------------------------------------------------------------------------


def _cordoned() -> Case:
    name = "cordoned"
    objects = (node(name, unschedulable=True), *cluster(name, device("a"))[1:])
    return Case(
        name,
        "node-unschedulable",
        objects,
        one(name),
        suggested=(f"uncordon node {node_of(name)}",),
    )


def _node_taint() -> Case:
    name = "node-taint"
    taint = {"key": "example.com/batch", "value": "only", "effect": "NoSchedule"}
    objects = (node(name, taints=[taint]), *cluster(name, device("a"))[1:])
    return Case(
        name,
        "node-taint",
        objects,
        one(name),
        suggested=("tolerate example.com/batch=only:NoSchedule",),
    )


def _node_selector() -> Case:
    """The label is on one node, the device on the other."""
    name = "node-selector"
    objects = (node(name, 2), *cluster(name, device("a")))
    chosen = {"nodeSelector": {"kubernetes.io/hostname": node_of(name, 2)}}
    return Case(name, "node-affinity", objects, one(name), pod=chosen)


def _cpus() -> Case:
    name = "cpus"
    asked = {"requests": {"cpu": "9"}, "claims": [{"name": "gpu"}]}
    container = {"name": "engine", "image": "example.invalid/engine:1", "resources": asked}
    return Case(
        name,
        "node-resources",
        cluster(name, device("a")),
        one(name),
        pod={"containers": [container]},
    )


CASES: Final = [
    _class_missing(),
    _threshold(),
    _selector_fails(),
    _class_selector_false(),
    _class_selector_fails(),
    _count(),
    _constraint(),
    _attribute_missing(),
    _competition(),
    _first_available(),
    _in_use(),
    _counters(),
    _capacity(),
    _all_in_use(),
    _incomplete(),
    _all_incomplete(),
    _all_invalid(),
    _all_of_nothing(),
    _all_constraint(),
    _result_limit(),
    _capacity_missing(),
    _capacity_policy(),
    _claim_elsewhere(),
    _device_taint(),
    _cordoned(),
    _node_taint(),
    _node_selector(),
    _cpus(),
]
