"""Only type-checked, never run: what a user of the Python API writes must pass mypy strict."""

from __future__ import annotations

from typing import assert_type

from claimfit.hardware import Accelerator, DriverDescription, accelerator, driver
from claimfit.model import ModelFacts, Sources, built_in, find_model
from claimfit.sizing import (
    DeviceNeed,
    EngineChoice,
    Parallelism,
    Rate,
    Workload,
    largest_context,
    rate,
    size,
)
from claimfit.units import Bytes, Estimate


def size_a_model(name: str) -> DeviceNeed:
    """Find a model and size it for two devices."""
    model = find_model(name, Sources(built_in()))
    assert_type(model, ModelFacts)
    need = size(model, EngineChoice("vllm"), Workload(8192), Parallelism(tensor=2))
    assert_type(need.floor, Bytes)
    assert_type(need.component("weights"), Estimate)
    assert_type(need._replace(utilization=0.9), DeviceNeed)
    return need


def speed_on(name: str, model: ModelFacts) -> Rate:
    """Give the speed on a device of the table."""
    device = accelerator(name)
    assert_type(device, Accelerator)
    assert_type(driver("gpu.nvidia.com"), DriverDescription)
    engine, workload = EngineChoice("vllm"), Workload(8192)
    longest = largest_context(model, engine, workload, device_memory=Bytes.of_gib(24))
    assert_type(longest, int)
    return rate(model, device, engine, workload, Parallelism())
