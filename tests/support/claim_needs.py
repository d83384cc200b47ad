"""Needs and accelerators of stated shape for the tests of claims."""

from __future__ import annotations

from typing import Any

from claimfit.claim.need import ClaimNeed
from claimfit.hardware.drivers import target
from claimfit.hardware.facts import Accelerator, PublishedDevice
from claimfit.sizing.plan import EngineChoice, Workload
from support.sizing_models import llama_8b


def need_for(to: str, /, **fields: Any) -> ClaimNeed:
    """Return the need for an 8 B model with 8192 tokens on the target called `to`."""
    chosen = target(to)
    fields.setdefault("model", llama_8b())
    fields.setdefault("engine", EngineChoice("vllm"))
    fields.setdefault("workload", Workload(8192))
    return ClaimNeed(driver=chosen.driver, device_class=chosen.device_class, **fields)


def board(
    name: str,
    memory_mib: int | None,
    bandwidth_gbs: float | None = 2000.0,
    *,
    product: str = "",
    kind: str = "gpu",
    driver: str = "gpu.nvidia.com",
    known_mib: int | None = None,
) -> Accelerator:
    """Return an accelerator that `driver` publishes as `product` of `kind`."""
    attributes = (("type", kind), ("productName", product or name))
    capacities = () if memory_mib is None else (("memory", f"{memory_mib}Mi"),)
    return Accelerator(
        id=name.lower().replace(" ", "-"),
        vendor="nvidia",
        name=name,
        memory_mib=memory_mib,
        memory_known_mib=known_mib or memory_mib,
        memory_visible_mib=None,
        bandwidth_gbs=bandwidth_gbs,
        tflops_fp16=None,
        tflops_fp8=None,
        tflops_fp4=None,
        link_gbs=None,
        parent="",
        profile="",
        memory_slices=0,
        published=(PublishedDevice(driver, attributes, capacities),),
        unified_memory=memory_mib is None,
        sources=(),
        uncertain=(),
    )
