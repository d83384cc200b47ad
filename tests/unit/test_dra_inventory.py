"""Published devices: generations, completeness, nodes that reach them, holders and taints."""

from __future__ import annotations

import pytest

from claimfit.dra.inventory import ANY_NODE, DeviceId, inventory, pool_problems
from claimfit.dra.node_selection import selects
from claimfit.dra.objects import (
    AllocationResult,
    Device,
    DeviceAllocationResult,
    DeviceResult,
    DeviceTaint,
    Metadata,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pool,
    ResourceClaim,
    ResourceClaimStatus,
    ResourceSlice,
    ResourceSliceSpec,
)


def published(
    *devices: Device, pool: str = "node-a", generation: int = 1, slices: int = 1, **where: object
) -> ResourceSlice:
    """Return a slice of driver `d` on node-a unless `where` says otherwise."""
    where = where or {"node_name": "node-a"}
    return ResourceSlice(
        Metadata(name="s"),
        ResourceSliceSpec("d", Pool(pool, generation, slices), devices=list(devices), **where),
    )


def node(name: str, **labels: str) -> Node:
    """Return a node."""
    return Node(Metadata(name=name, labels=labels))


def select(key: str, operator: str, *values: str) -> NodeSelector:
    """Return a selector of one expression."""
    return NodeSelector([NodeSelectorTerm([NodeSelectorRequirement(key, operator, list(values))])])


def test_older_generation_is_superseded() -> None:
    """Only the newest generation of a pool is offered."""
    rows = inventory([published(Device("old")), published(Device("new"), generation=2)], [], [])

    assert [row.id.device for row in rows] == ["new"]


def test_incomplete_pool_keeps_its_rows_and_says_why() -> None:
    """One slice of two: the device is listed, and is not free."""
    (row,) = inventory([published(Device("gpu-0"), slices=2)], [], [])

    assert not row.free
    assert row.pool_problem is not None
    assert row.pool_problem.kind == "incomplete"
    assert "1 of 2 slices" in row.pool_problem.text


def test_repeated_device_makes_the_pool_invalid() -> None:
    """The same name twice in one pool is what the allocator calls an invalid pool."""
    (problem,) = pool_problems([published(Device("gpu-0"), Device("gpu-0"))])

    assert problem.kind == "invalid"
    assert "gpu-0" in problem.text


def test_holder_is_the_claim_that_was_allocated() -> None:
    """An allocation holds its device; administrator access and shares do not."""
    results = [
        DeviceResult("r", "d", "node-a", "gpu-0"),
        DeviceResult("r", "d", "node-a", "gpu-1", admin_access=True),
        DeviceResult("r", "d", "node-a", "gpu-2", share_id="1"),
        DeviceResult("r", "other", "node-a", "gpu-3"),
    ]
    claim = ResourceClaim(
        Metadata(name="c", namespace="ns"),
        status=ResourceClaimStatus(AllocationResult(DeviceAllocationResult(results))),
    )
    devices = [Device(f"gpu-{index}") for index in range(4)]

    rows = inventory([published(*devices)], [claim], [])

    assert [row.held_by for row in rows] == ["ns/c", "", "", ""]
    assert rows[0].id == DeviceId("d", "node-a", "gpu-0")


@pytest.mark.parametrize(
    ("effect", "free"),
    [("NoSchedule", False), ("NoExecute", False), ("None", True), ("Unheard", True)],
)
def test_only_blocking_taints_count(effect: str, free: bool) -> None:
    """None and unknown effects are information; the other two need a toleration."""
    (row,) = inventory([published(Device("g", taints=[DeviceTaint("k", effect)]))], [], [])

    assert row.free is free


def test_devices_beyond_one_node() -> None:
    """All nodes, a selector, and selection per device, with and without known nodes."""
    nodes = [node("a", zone="1"), node("b", zone="2")]
    per_device = published(
        Device("x", node_name="b"),
        Device("y", node_selector=select("zone", "In", "1")),
        Device("z", all_nodes=True),
        pool="p",
        per_device_node_selection=True,
    )

    everywhere = published(Device("n"), pool="net", all_nodes=True)

    assert [(row.id.device, row.node) for row in inventory([per_device], [], nodes)] == [
        ("x", "b"),
        ("y", "a"),
        ("z", "a"),
        ("z", "b"),
    ]
    assert [row.node for row in inventory([everywhere], [], [])] == [ANY_NODE]
    nowhere = published(Device("n"), pool="q", node_selector=select("zone", "In", "9"))
    assert inventory([nowhere], [], nodes) == []


@pytest.mark.parametrize(
    ("operator", "values", "matches"),
    [
        # node has size=10, and no label "other"
        ("In", ("10", "11"), True),
        ("In", ("11",), False),
        ("NotIn", ("11",), True),
        ("NotIn", ("10",), False),
        ("Exists", (), True),
        ("DoesNotExist", (), False),
        ("Gt", ("9",), True),
        ("Gt", ("10",), False),
        ("Lt", ("11",), True),
        ("Lt", ("ten",), False),
        ("Gt", ("1", "2"), False),
        ("Gt", ("9" * 400,), False),
        ("Equals", ("10",), False),
    ],
)
def test_requirement_operators(operator: str, values: tuple[str, ...], matches: bool) -> None:
    """Each operator of core/v1; Gt and Lt compare integers and refuse anything else."""
    assert selects(select("size", operator, *values), node("n", size="10")) is matches


def test_absent_label() -> None:
    """NotIn and DoesNotExist hold for an absent label, the others do not."""
    bare = node("n")

    held = [
        operator
        for operator in ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
        if selects(select("other", operator, "1"), bare)
    ]

    assert held == ["NotIn", "DoesNotExist"]


def test_empty_term_matches_nothing() -> None:
    """A term without requirements selects no node; fields select by name."""
    by_field = NodeSelector(
        [NodeSelectorTerm([], [NodeSelectorRequirement("metadata.name", "In", ["n"])])]
    )

    assert not selects(NodeSelector([NodeSelectorTerm()]), node("n"))
    assert selects(by_field, node("n"))
    assert not selects(by_field, node("m"))
