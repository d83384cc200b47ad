"""The sample clusters: as their generator writes them, in the drivers' words, within API limits."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from claimfit.dra.reading import read_objects
from claimfit.errors import HardwareError
from claimfit.hardware.drivers import driver
from claimfit.hardware.identification import identify
from claimfit.hardware.samples import sample_names, sample_path
from claimfit.units.quantity import Quantity

ROOT = Path(__file__).parents[2]
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
TAINT_KEY = re.compile(r"([-a-z0-9.]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def items(name: str, kind: str = "") -> list[dict]:
    """Return the objects of a sample, of one kind if given."""
    found = json.loads(Path(sample_path(name)).read_text(encoding="utf-8"))["items"]
    return [item for item in found if kind in ("", item["kind"])]


def published(name: str) -> list[tuple[str, dict, dict]]:
    """Return (driver, slice, device) of every published device of a sample."""
    return [
        (part["spec"]["driver"], part, device)
        for part in items(name, "ResourceSlice")
        for device in part["spec"]["devices"]
    ]


def plain(device: dict) -> dict[str, object]:
    """Return the attributes of a device as name -> value."""
    return {name: next(iter(box.values())) for name, box in device["attributes"].items()}


def test_the_five_samples_exist_and_others_are_refused() -> None:
    """Each name has a file; an unknown one lists the names."""
    assert sample_names() == ("mixed", "amd", "intel", "llmfit", "tpu-gaudi")
    for name in sample_names():
        assert items(name)
    for name in ("", "Mixed", "../accelerators", "mixed.json"):
        with pytest.raises(HardwareError) as refusal:
            sample_path(name)
        assert refusal.value.code == "HWD003"
        assert refusal.value.candidates == sample_names()


@pytest.mark.parametrize("name", sample_names())
def test_a_sample_is_what_its_generator_writes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python tools/samples.py` would change nothing."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    try:
        import samples  # type: ignore[import-not-found]

        text = samples.rendered(name)
    finally:
        for module in ("samples", "sample_objects", "sample_gpus", "sample_others"):
            sys.modules.pop(module, None)

    assert text == Path(sample_path(name)).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sample_names())
def test_devices_publish_what_the_driver_is_described_with(name: str) -> None:
    """Attributes and capacities are described, with type and kind; `always` ones are there."""
    for driver_name, _, device in published(name):
        description = driver(driver_name)
        values = plain(device)
        kind_value = values.get(description.kind_attribute)
        kind = next(
            item.name
            for item in description.kinds
            if not description.kind_attribute or item.value == kind_value
        )
        for key, box in device["attributes"].items():
            attribute = description.attribute(key)
            assert attribute is not None, (device["name"], key)
            assert list(box) == [attribute.type], (device["name"], key)
            assert not attribute.kinds or kind in attribute.kinds, (device["name"], key)
        for key in device.get("capacity", {}):
            capacity = description.capacity(key)
            assert capacity is not None, (device["name"], key)
            assert not capacity.kinds or kind in capacity.kinds, (device["name"], key)
        for part in description.attributes:
            assert not part.always or part.name in values, (device["name"], part.name)


@pytest.mark.parametrize("name", sample_names())
def test_the_reader_of_kubernetes_objects_takes_all_of_a_sample(name: str) -> None:
    """No object of a sample is refused or left out by the reader that `fit` uses."""
    objects = read_objects(Path(sample_path(name)).read_bytes(), name)

    assert len(objects.slices) == len(items(name, "ResourceSlice"))
    assert len(objects.nodes) == len(items(name, "Node"))
    assert len(objects.claims) == len(items(name, "ResourceClaim"))


@pytest.mark.parametrize("name", sample_names())
def test_slices_are_within_the_limits_of_the_api(name: str) -> None:
    """Names, counts, texts and quantities are ones that a Kubernetes API server takes."""
    for part in items(name, "ResourceSlice"):
        devices = part["spec"]["devices"]
        tainted = any("taints" in device for device in devices)
        assert SUBDOMAIN.fullmatch(part["metadata"]["name"])
        assert 1 <= len(devices) <= (64 if tainted else 128)
        assert len({device["name"] for device in devices}) == len(devices)
        for device in devices:
            assert LABEL.fullmatch(device["name"]), device["name"]
            assert len(device["attributes"]) + len(device.get("capacity", {})) <= 32
            for box in device["attributes"].values():
                value = next(iter(box.values()))
                assert not isinstance(value, str) or len(value) <= 64
                assert "version" not in box or SEMVER.fullmatch(value), value
            for capacity in device.get("capacity", {}).values():
                assert str(Quantity.parse(capacity["value"])) == capacity["value"]
            for taint in device.get("taints", []):
                assert TAINT_KEY.fullmatch(taint["key"])
                assert taint["effect"] in {"NoSchedule", "NoExecute"}


@pytest.mark.parametrize("name", sample_names())
def test_objects_refer_to_each_other(name: str) -> None:
    """Slices are of nodes that exist, claims of classes and devices that exist, each held once."""
    nodes = {item["metadata"]["name"] for item in items(name, "Node")}
    classes = {item["metadata"]["name"] for item in items(name, "DeviceClass")}
    there = Counter(
        (driver_name, part["spec"]["pool"]["name"], device["name"])
        for driver_name, part, device in published(name)
    )
    held: Counter[tuple[str, str, str]] = Counter()

    assert {part["spec"]["nodeName"] for part in items(name, "ResourceSlice")} == nodes
    for claim in items(name, "ResourceClaim"):
        for request in claim["spec"]["devices"]["requests"]:
            assert request["exactly"]["deviceClassName"] in classes
        if "status" in claim:
            results = claim["status"]["allocation"]["devices"]["results"]
            held.update((item["driver"], item["pool"], item["device"]) for item in results)
    assert set(held) <= set(there)
    assert set(held.values()) <= {1}
    assert set(there.values()) == {1}


def test_the_mixed_cluster_is_the_one_in_the_docs() -> None:
    """8 H200 of which 2 are held, 8 H100 of which 1 is free, a tainted H100, MIG, a GB10."""
    found = Counter(
        (part["spec"]["nodeName"], known.id if known else "unknown")
        for driver_name, part, device in published("mixed")
        for known in [
            identify(
                driver_name,
                plain(device),
                {key: box["value"] for key, box in device.get("capacity", {}).items()},
            )
        ]
    )
    held = Counter(
        item["pool"]
        for claim in items("mixed", "ResourceClaim")
        if "status" in claim
        for item in claim["status"]["allocation"]["devices"]["results"]
    )
    tainted = [device["name"] for _, _, device in published("mixed") if "taints" in device]

    assert found == {
        ("gpu-1", "nvidia-h200"): 8,
        ("gpu-2", "nvidia-h100-sxm"): 8,
        ("gpu-3", "nvidia-h100-sxm"): 4,
        ("gpu-4", "nvidia-l40s"): 2,
        ("gpu-5", "nvidia-a100-pcie-40-mig-1g.5gb"): 9,
        ("gpu-5", "nvidia-a100-pcie-40-mig-2g.10gb"): 1,
        ("gpu-5", "nvidia-a100-pcie-40-mig-3g.20gb"): 1,
        ("gpu-6", "nvidia-a100-sxm-80"): 4,
        ("gpu-7", "nvidia-h100-nvl"): 2,
        ("spark-1", "nvidia-gb10"): 1,
        ("ws-1", "nvidia-rtx-4090"): 1,
        ("ws-1", "nvidia-rtx-3060-8"): 1,
    }
    assert held == {"gpu-1": 2, "gpu-2": 7, "gpu-3": 1, "gpu-5": 1}
    assert tainted == ["gpu-3"]


def test_the_traps_are_in_the_samples() -> None:
    """A pool that is incomplete, devices that report nothing, one under VFIO, ill ones."""
    incomplete = [
        part["spec"]["nodeName"]
        for part in items("mixed", "ResourceSlice")
        if part["spec"]["pool"]["resourceSliceCount"] > 1
    ]
    blind = [
        plain(device)
        for _, _, device in published("intel")
        if device["capacity"]["memory"]["value"] == "0"
    ]
    ill = [
        device["name"]
        for _, _, device in published("tpu-gaudi")
        if plain(device).get("healthy") is False
    ]

    assert incomplete == ["gpu-6"]
    assert [values["model"] for values in blind] == ["Unknown", "Unknown"]
    assert "xe-vfio-pci" in {plain(device)["driver"] for _, _, device in published("intel")}
    assert len(ill) == 1
    assert all("capacity" not in device for _, _, device in published("tpu-gaudi"))
