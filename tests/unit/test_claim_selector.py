"""Selectors: the text, line by line, that the API server gets."""

from __future__ import annotations

import pytest

from claimfit.claim.device_test import DeviceTest, ProductTerm, unmet
from claimfit.claim.selector import expression
from claimfit.errors import InexpressibleError
from support.cel_subset import conjuncts


def test_llmfit_ai_is_asked_for_memory_bandwidth_and_health() -> None:
    """The six conjuncts of specification 000, in its order and words."""
    test = DeviceTest(
        "llmfit.ai",
        memory_capacity="memory",
        memory_mib=6 * 1024,
        bandwidth_attribute="memoryBandwidthGBs",
        bandwidth_gbs=203,
        health_attribute="healthy",
        healthy_value="true",
    )
    assert expression(test).lines == (
        "'memory' in device.capacity['llmfit.ai'] &&",
        "device.capacity['llmfit.ai'].memory.compareTo(quantity('6Gi')) >= 0 &&",
        "'memoryBandwidthGBs' in device.attributes['llmfit.ai'] &&",
        "device.attributes['llmfit.ai'].memoryBandwidthGBs >= 203 &&",
        "'healthy' in device.attributes['llmfit.ai'] &&",
        "device.attributes['llmfit.ai'].healthy",
    )


def test_nvidia_is_asked_for_type_memory_and_products() -> None:
    """Products stand for the speed that the driver does not publish."""
    test = DeviceTest(
        "gpu.nvidia.com",
        "type",
        ("gpu",),
        "memory",
        72112,
        product_attribute="productName",
        terms=(ProductTerm(("NVIDIA H100 80GB HBM3", "NVIDIA H200")),),
    )
    assert expression(test).lines == (
        "'type' in device.attributes['gpu.nvidia.com'] &&",
        "device.attributes['gpu.nvidia.com'].type == 'gpu' &&",
        "'memory' in device.capacity['gpu.nvidia.com'] &&",
        "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('72112Mi')) >= 0 &&",
        "'productName' in device.attributes['gpu.nvidia.com'] &&",
        "device.attributes['gpu.nvidia.com'].productName in ['NVIDIA H100 80GB HBM3',",
        "'NVIDIA H200']",
    )


def test_a_product_without_memory_is_asked_for_by_name_alone() -> None:
    """Where one product publishes no memory, the others bring their floor themselves."""
    test = DeviceTest(
        "gpu.nvidia.com",
        memory_capacity="memory",
        memory_mib=40000,
        product_attribute="productName",
        terms=(ProductTerm(("NVIDIA A40",)), ProductTerm(("NVIDIA GB10",), has_memory=False)),
    )
    assert conjuncts(expression(test)) == [
        "'productName' in device.attributes['gpu.nvidia.com']",
        (
            "((device.attributes['gpu.nvidia.com'].productName == 'NVIDIA A40' && "
            "'memory' in device.capacity['gpu.nvidia.com'] && "
            "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40000Mi')) >= 0) || "
            "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA GB10')"
        ),
    ]


def test_names_that_cel_reserves_are_looked_up_by_index() -> None:
    """`in` is no field name, and a string health is compared."""
    test = DeviceTest("x.y", health_attribute="in", healthy_value='"Healthy"')
    assert expression(test) == (
        "'in' in device.attributes['x.y'] && device.attributes['x.y']['in'] == \"Healthy\""
    )


def test_an_attribute_of_another_domain_keeps_it() -> None:
    """`resource.kubernetes.io/pcieRoot` is looked up in its own domain."""
    test = DeviceTest("x.y", "resource.kubernetes.io/pcieRoot", ("pci0000:00",))
    assert expression(test) == (
        "'pcieRoot' in device.attributes['resource.kubernetes.io'] && "
        "device.attributes['resource.kubernetes.io'].pcieRoot == 'pci0000:00'"
    )


def test_a_product_list_beyond_the_limit_of_the_api_is_refused() -> None:
    """10,240 bytes is what the API server compiles at most."""
    names = tuple(f"Product number {number:04d} of a long list" for number in range(400))
    test = DeviceTest("x.y", product_attribute="model", terms=(ProductTerm(names),))
    with pytest.raises(InexpressibleError) as refusal:
        expression(test)
    assert refusal.value.code == "CLM016"


def test_unmet_says_what_a_device_lacks_in_numbers() -> None:
    """The H100 at 80Gi, a device without memory, and a wrong kind."""
    test = DeviceTest("gpu.nvidia.com", "type", ("gpu",), "memory", 81920)
    assert unmet(test, {"type": "gpu"}, {"memory": "81559Mi"}) == (
        "publishes 81559Mi, 361Mi short of 80Gi"
    )
    assert unmet(test, {"type": "gpu"}, {}) == "publishes no memory"
    assert unmet(test, {"type": "mig"}, {"memory": "81920Mi"}) == "type is mig, not gpu"
    assert unmet(test, {"type": "gpu"}, {"memory": "80Gi"}) == ""
    assert DeviceTest("x.y", product_attribute="model").admits_nothing
    assert unmet(DeviceTest("x.y", product_attribute="model"), {"model": "a"}, {}) == (
        "model a is not among the admitted"
    )


def test_a_named_product_of_another_kind_is_not_taken_for_unlisted() -> None:
    """With --unlisted admit a slice named like an admitted board is refused, here as in CEL."""
    term = ProductTerm(("NVIDIA H100 80GB HBM3",), kind="gpu", has_memory=False)
    test = DeviceTest(
        "gpu.nvidia.com",
        kind_attribute="type",
        memory_capacity="memory",
        memory_mib=1,
        product_attribute="productName",
        terms=(term,),
        admits_unlisted=True,
    )
    board = {"productName": "NVIDIA H100 80GB HBM3"}

    assert unmet(test, {**board, "type": "gpu"}, {"memory": "1Mi"}) == ""
    assert unmet(test, {**board, "type": "mig"}, {"memory": "1Mi"}) == "type is mig, not gpu"
    assert unmet(test, board, {"memory": "1Mi"}) == "type is absent, not gpu"
