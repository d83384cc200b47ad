"""The shipped driver descriptions: complete, consistent, and found by the names that users type."""

from __future__ import annotations

from pathlib import Path

import pytest

import claimfit
from claimfit.errors import HardwareError
from claimfit.hardware import drivers as module
from claimfit.hardware.accelerators import accelerators
from claimfit.hardware.drivers import driver, driver_names, drivers, known_driver, target

FOLDER = Path(claimfit.__file__).parent / "data/drivers"
ALL = drivers()
NAMES = [item.name for item in ALL]


def test_there_is_one_file_per_driver() -> None:
    """The index of names and the folder list the same drivers."""
    assert sorted(driver_names()) == sorted(path.stem for path in FOLDER.glob("*.json"))


@pytest.mark.parametrize("description", ALL, ids=NAMES)
def test_the_index_lists_the_classes_and_aliases_of_the_file(
    description: module.DriverDescription,
) -> None:
    """What finds a driver without reading its file is what the file says."""
    names = {*description.aliases, *(item.name for item in description.classes)}

    assert set(module._NAMES[description.name]) == names - {description.name}


@pytest.mark.parametrize(
    ("name", "driver_name", "class_name"),
    [
        ("gpu.nvidia.com", "gpu.nvidia.com", "gpu.nvidia.com"),
        ("nvidia", "gpu.nvidia.com", "gpu.nvidia.com"),
        ("NVIDIA", "gpu.nvidia.com", "gpu.nvidia.com"),
        ("mig.nvidia.com", "gpu.nvidia.com", "mig.nvidia.com"),
        ("amd", "gpu.amd.com", "gpu.amd.com"),
        ("intel", "gpu.intel.com", "gpu.intel.com"),
        ("gaudi", "gaudi.intel.com", "gaudi.intel.com"),
        ("tpu", "tpu.google.com", "tpu.google.com"),
        ("neuron", "neuron.aws.com", "neuron.aws.com"),
        ("llmfit", "llmfit.ai", "llmfit.ai"),
        ("npu.llmfit.ai", "llmfit.ai", "npu.llmfit.ai"),
        ("gpu.example.com", "gpu.example.com", "gpu.example.com"),
    ],
)
def test_a_target_is_a_driver_and_a_class(name: str, driver_name: str, class_name: str) -> None:
    """A class name means that class; a driver's name or short name its default class."""
    found = target(name)

    assert (found.driver.name, found.device_class.name) == (driver_name, class_name)
    assert driver(name).name == driver_name


@pytest.mark.parametrize("name", ["dra.net", "dra.cpu", "vfio.gpu.nvidia.com", "nic.llmfit.ai"])
def test_what_runs_no_model_is_no_target(name: str) -> None:
    """Networks, CPUs and VFIO functions are described, and refused as a target."""
    assert driver(name)
    with pytest.raises(HardwareError) as refusal:
        target(name)

    assert refusal.value.code == "DRV010"


@pytest.mark.parametrize("name", ["", "gpu.nvida.com", "\n", "x" * 10**6])
def test_an_unknown_driver_is_an_error_with_candidates(name: str) -> None:
    """An unknown name is refused and the nearest, or all, are named."""
    with pytest.raises(HardwareError) as refusal:
        driver(name)

    assert refusal.value.code == "DRV001"
    assert "gpu.nvidia.com" in refusal.value.candidates


def test_an_exact_name_is_looked_up_without_an_error() -> None:
    """`fit` meets drivers that nobody described: they are None, not a failure."""
    assert known_driver("gpu.amd.com") == driver("amd")
    assert known_driver("amd") is None
    assert known_driver("vendor.example.org") is None


@pytest.mark.parametrize("description", ALL, ids=NAMES)
def test_a_class_selects_by_driver_and_described_attributes(
    description: module.DriverDescription,
) -> None:
    """Every selector that is shipped checks the driver and reads only described attributes."""
    for item in description.classes:
        text = " ".join(item.selectors)
        assert f"device.driver == '{description.name}'" in text.replace('"', "'")
        for part in text.split("device.attributes[")[1:]:
            attribute = part.partition("]")[2].removeprefix(".").split(" ")[0]
            if attribute and attribute[0].isalpha():
                assert description.attribute(attribute), (item.name, attribute)


def test_only_llmfit_publishes_bandwidth() -> None:
    """The speed floor is an attribute of llmfit.ai and a set of products elsewhere."""
    assert [item.name for item in ALL if item.bandwidth_attribute] == ["llmfit.ai"]


def test_drivers_without_a_memory_capacity() -> None:
    """Gaudi, TPU and Neuron are asked for by product: they publish no memory."""
    blind = {item.name for item in ALL if item.serves_models and not item.memory_capacity}

    assert blind == {"gaudi.intel.com", "tpu.google.com", "neuron.aws.com"}
    for name in blind:
        assert driver(name).product_attributes


def test_the_serving_kinds_of_a_class() -> None:
    """A class that lets in everything serves the kinds that can; a MIG class MIG slices."""
    amd, mig, vfio = target("amd"), target("mig.nvidia.com"), driver("gpu.nvidia.com").classes[2]

    assert [kind.value for kind in amd.driver.serving_kinds(amd.device_class)] == [
        "amdgpu",
        "amdgpu-partition",
    ]
    assert [kind.value for kind in mig.driver.serving_kinds(mig.device_class)] == ["mig"]
    assert driver("gpu.nvidia.com").serving_kinds(vfio) == ()


def test_every_accelerator_is_published_in_the_words_of_its_driver() -> None:
    """Attributes and capacities of the table are described, and kinds and products findable."""
    for item in accelerators():
        for published in item.published:
            description = driver(published.driver)
            values = dict(published.attributes)
            for name, value in published.attributes:
                attribute = description.attribute(name)
                assert attribute is not None, (item.id, name)
                assert attribute.type == {str: "string", int: "int", bool: "bool"}[type(value)]
            for name, _ in published.capacities:
                assert description.capacity(name) is not None, (item.id, name)
            assert any(name in values for name in description.product_attributes), item.id
            if description.kind_attribute in values:
                kinds = {kind.value for kind in description.kinds if kind.serves}
                assert values[description.kind_attribute] in kinds


def test_the_reserve_covers_what_was_measured() -> None:
    """NVML total less torch total, where both were seen, is at most the driver's reserve."""
    reserve = driver("nvidia").board_reserve_mib
    for item in accelerators():
        seen = {"memory_mib", "memory_visible_mib"} - set(item.uncertain)
        if (
            item.vendor == "nvidia"
            and item.memory_mib
            and item.memory_visible_mib
            and len(seen) > 1
        ):
            assert 0 <= item.memory_mib - item.memory_visible_mib <= reserve, item.id
