"""Published devices and the accelerators that they are."""

from __future__ import annotations

import pytest

from claimfit.errors import InputError
from claimfit.hardware.accelerators import accelerators
from claimfit.hardware.identification import DeviceIndex, identify

NVIDIA = "gpu.nvidia.com"
AMD = "gpu.amd.com"
MI = 1 << 20


def gpu(product: str) -> dict[str, object]:
    """Return the attributes of a whole NVIDIA board."""
    return {"type": "gpu", "productName": product, "architecture": "Ampere"}


def slice_of(product: str, profile: str) -> dict[str, object]:
    """Return the attributes of a MIG slice."""
    return {"type": "mig", "productName": product, "profile": profile}


@pytest.mark.parametrize(
    ("driver", "attributes", "memory", "identifier"),
    [
        # One name, two memory sizes.
        (NVIDIA, gpu("NVIDIA GeForce RTX 3060"), "8Gi", "nvidia-rtx-3060-8"),
        (NVIDIA, gpu("NVIDIA GeForce RTX 3060"), "12Gi", "nvidia-rtx-3060"),
        (NVIDIA, gpu("NVIDIA GeForce RTX 3080"), "10Gi", "nvidia-rtx-3080"),
        (NVIDIA, gpu("NVIDIA GeForce RTX 3080"), "12Gi", "nvidia-rtx-3080-12"),
        (NVIDIA, gpu("NVIDIA GeForce RTX 4060 Ti"), "8188Mi", "nvidia-rtx-4060-ti-8"),
        (NVIDIA, gpu("NVIDIA GeForce RTX 4060 Ti"), "16380Mi", "nvidia-rtx-4060-ti-16"),
        (NVIDIA, gpu("NVIDIA H100 80GB HBM3"), "81559Mi", "nvidia-h100-sxm"),
        (NVIDIA, gpu("NVIDIA H100 PCIe"), "81559Mi", "nvidia-h100-pcie"),
        # ECC off: 16/15 of what is published with ECC.
        (NVIDIA, gpu("NVIDIA A10"), "24564Mi", "nvidia-a10"),
        # The name holds the memory of the CPU.
        (NVIDIA, gpu("NVIDIA GH200 480GB"), "97871Mi", "nvidia-gh200-96"),
        # No memory is published, and none is expected.
        (NVIDIA, gpu("NVIDIA GB10"), None, "nvidia-gb10"),
        # Profile names drift, media extensions add a suffix: same slice.
        (NVIDIA, slice_of("NVIDIA H100 80GB HBM3", "3g.40gb"), "40448Mi", "3g.40gb"),
        (NVIDIA, slice_of("NVIDIA H100 80GB HBM3", "3g.39gb"), "40448Mi", "3g.40gb"),
        (NVIDIA, slice_of("NVIDIA H100 80GB HBM3", "1g.10gb+me"), "9984Mi", "1g.10gb"),
        (NVIDIA, slice_of("NVIDIA H100 80GB HBM3", "1g.20gb"), "20096Mi", "1g.20gb"),
        (NVIDIA, slice_of("NVIDIA A100-PCIE-40GB", "1g.5gb"), "4864Mi", "1g.5gb"),
        (
            AMD,
            {"type": "amdgpu", "productName": "AMD_Instinct_MI300X_OAM"},
            "196592Mi",
            "amd-mi300x",
        ),
        ("gaudi.intel.com", {"model": "Gaudi3", "healthy": True}, None, "intel-gaudi3"),
        ("tpu.google.com", {"tpuGen": "v5lite", "chipCount": 4}, None, "google-tpu-v5e"),
        ("neuron.aws.com", {"instanceType": "trn2.48xlarge"}, None, "aws-trainium2"),
        (
            "gpu.intel.com",
            {"model": "B60", "family": "Arc Pro B-Series"},
            "24480Mi",
            "intel-arc-pro-b60",
        ),
        # Nameplate only: 32 GB as GiB less what the driver keeps.
        (
            "gpu.intel.com",
            {"model": "B70", "family": "Arc Pro B-Series"},
            "32640Mi",
            "intel-arc-pro-b70",
        ),
    ],
)
def test_a_device_is_known_by_all_that_it_publishes(
    driver: str, attributes: dict[str, object], memory: str | None, identifier: str
) -> None:
    """Driver, product, kind, profile and memory together name the device."""
    found = identify(driver, attributes, {} if memory is None else {"memory": memory})

    assert found is not None
    assert found.id.endswith(identifier)


@pytest.mark.parametrize(
    ("driver", "attributes", "memory"),
    [
        (NVIDIA, gpu("NVIDIA GeForce RTX 3060"), None),
        (NVIDIA, gpu("NVIDIA GeForce RTX 3060"), "24Gi"),
        (NVIDIA, gpu("NVIDIA GeForce RTX 3060"), "0"),
        (NVIDIA, gpu("NVIDIA H100 80GB HBM3"), "40448Mi"),
        (NVIDIA, slice_of("NVIDIA H100 80GB HBM3", "3g.40gb"), "81559Mi"),
        (NVIDIA, slice_of("NVIDIA H100 80GB HBM3", "1c.3g.40gb"), "40448Mi"),
        (NVIDIA, {"type": "vfio", "productName": "NVIDIA A100-PCIE-40GB"}, None),
        (NVIDIA, {"productName": "NVIDIA H100 80GB HBM3"}, "81559Mi"),
        (NVIDIA, gpu("NVIDIA Unheard-of"), "80Gi"),
        ("gpu.intel.com", {"model": "Unknown", "pciId": "0xe211"}, "0"),
        (AMD, {"type": "amdgpu", "productName": "AMD_Instinct_MI300X_OAM"}, "0"),
        (
            AMD,
            {
                "type": "amdgpu-partition",
                "productName": "AMD_Instinct_MI300X_OAM",
                "partitionProfile": "cpx_nps4",
            },
            "98296Mi",
        ),
        ("unheard.example.com", gpu("NVIDIA H100 80GB HBM3"), "81559Mi"),
        (NVIDIA, {"type": "gpu", "productName": ["NVIDIA H100 80GB HBM3"]}, "81559Mi"),
        (NVIDIA, {"type": "gpu", "productName": 7}, "81559Mi"),
        (NVIDIA, {}, None),
    ],
)
def test_what_does_not_agree_is_not_known(
    driver: str, attributes: dict[str, object], memory: str | None
) -> None:
    """A wrong kind, profile or memory, or a driver that reports nothing, names no device."""
    assert identify(driver, attributes, {} if memory is None else {"memory": memory}) is None


def test_partition_of_an_instinct_is_half_the_board() -> None:
    """A dpx_nps1 partition carries the product name of the board and half its memory."""
    found = identify(
        AMD,
        {
            "type": "amdgpu-partition",
            "productName": "AMD_Instinct_MI300X_OAM",
            "partitionProfile": "dpx_nps1",
        },
        {"memory": "98296Mi"},
    )

    assert found is not None
    assert (found.id, found.bandwidth_gbs) == ("amd-mi300x-dpx", 5300 / 2)


def test_names_may_be_qualified_with_the_driver() -> None:
    """`gpu.nvidia.com/productName` is `productName`, in attributes and capacities."""
    found = identify(
        NVIDIA,
        {f"{NVIDIA}/type": "gpu", f"{NVIDIA}/productName": "NVIDIA L4"},
        {f"{NVIDIA}/memory": 23034 * MI},
    )

    assert found is not None
    assert found.id == "nvidia-l4"


def test_a_capacity_that_is_no_quantity_is_an_error() -> None:
    """A broken slice is reported, not read as an unknown device."""
    with pytest.raises(InputError):
        identify(NVIDIA, gpu("NVIDIA L4"), {"memory": "lots"})


def test_everything_that_is_published_is_identified_as_itself() -> None:
    """Each device of the table, published exactly as the table says, is that device."""
    index = DeviceIndex(accelerators())
    for item in accelerators():
        for published in item.published:
            found = index.identify(
                published.driver, dict(published.attributes), dict(published.capacities)
            )
            if item.memory_mib is None and published.driver in {NVIDIA, AMD, "gpu.intel.com"}:
                continue  # nobody has seen what it publishes
            assert found == item


def test_twins_are_not_told_apart() -> None:
    """Two devices that publish the same are no answer, whatever their order."""
    twin = next(item for item in accelerators() if item.id == "nvidia-l4")
    index = DeviceIndex([twin, twin._replace(id="other")])

    attributes, capacities = (dict(part) for part in twin.published[0][1:])
    assert index.identify(NVIDIA, attributes, capacities) is None
