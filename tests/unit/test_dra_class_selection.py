"""Devices that no class selects, and nodes that are cordoned, are given to nobody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claimfit.__main__ import main
from claimfit.dra.class_selection import with_class_obstacles
from claimfit.dra.inventory import DeviceId, PublishedRow, inventory
from claimfit.dra.objects import (
    CelSelector,
    Device,
    DeviceAttribute,
    DeviceClass,
    DeviceClassSpec,
    DeviceSelector,
    Metadata,
    Node,
    NodeSpec,
    Pool,
    ResourceSlice,
    ResourceSliceSpec,
)
from claimfit.dra.profile import profile
from claimfit.hardware.samples import sample_path


def row(name: str, **attributes: bool | str) -> PublishedRow:
    """Return a published device of driver d."""
    values = {
        key: DeviceAttribute(boolean=value)
        if isinstance(value, bool)
        else DeviceAttribute(string=value)
        for key, value in attributes.items()
    }
    return PublishedRow(
        "n", DeviceId("d", "n", name), Device(name, attributes=values), "", (), None
    )


def device_class(*expressions: str) -> DeviceClass:
    """Return a class with these selectors."""
    selectors = [DeviceSelector(CelSelector(text)) for text in expressions]
    return DeviceClass(Metadata(name="c"), DeviceClassSpec(selectors))


def obstacles(rows: list[PublishedRow], *classes: DeviceClass) -> list[bool]:
    """Return which rows no class selects."""
    return [bool(item.obstacle) for item in with_class_obstacles(rows, classes, profile())]


def test_a_device_needs_one_class_all_of_whose_selectors_hold() -> None:
    """Selectors of a class are joined by and, classes by or."""
    rows = [row("a", kind="gpu"), row("b", kind="gpu", managed=True), row("c", kind="nic")]
    gpus = device_class(
        "device.attributes['d'].kind == 'gpu'", "!('managed' in device.attributes['d'])"
    )
    nics = device_class("device.attributes['d'].kind == 'nic'")

    assert obstacles(rows, gpus) == [False, True, True]
    assert obstacles(rows, gpus, nics) == [False, True, False]


@pytest.mark.parametrize(
    "expression", ["device.attributes['d'].absent == 'x'", "device.nothing", "(("]
)
def test_a_selector_that_fails_selects_nothing(expression: str) -> None:
    """An error at run time or at compile time is no selection."""
    assert obstacles([row("a")], device_class(expression)) == [True]


def test_without_classes_nothing_is_known() -> None:
    """A source that holds no class says nothing about them."""
    assert obstacles([row("a")]) == [False]
    assert obstacles([row("a")], device_class()) == [False]


def test_a_cordoned_node_gives_no_device() -> None:
    """spec.unschedulable keeps pods, and so claims, from the node."""
    spec = ResourceSliceSpec("d", Pool("n", 1, 1), node_name="n", devices=[Device("a")])
    node = Node(Metadata(name="n"), NodeSpec(unschedulable=True))

    (only,) = inventory([ResourceSlice(Metadata(name="s"), spec)], [], [node])

    assert not only.free
    assert only.obstacle == "the node is cordoned"


def test_devices_of_another_owner_are_not_offered(capsys: pytest.CaptureFixture[str]) -> None:
    """llmfit.ai publishes boards that a vendor's driver manages; its classes leave them out."""
    main(["fit", "Qwen/Qwen3-8B", "--cluster", "sample:llmfit", "-o", "json"])
    answer = json.loads(capsys.readouterr().out)

    items = json.loads(Path(sample_path("llmfit")).read_text(encoding="utf-8"))["items"]
    managed = {
        (item["spec"]["nodeName"], device["name"])
        for item in items
        if item["kind"] == "ResourceSlice"
        for device in item["spec"]["devices"]
        if "vendorManaged" in device["attributes"]
    }
    free = {(group["node"], name) for group in answer["groups"] for name in group["freeDevices"]}
    assert managed
    assert not managed & free
