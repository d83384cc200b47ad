"""An accelerator and coefficients of round numbers for the tests of decode speed."""

from __future__ import annotations

from claimfit.hardware.facts import Accelerator
from claimfit.sizing.coefficients import Coefficients
from claimfit.sizing.traffic import StepTraffic


def device(
    identifier: str = "example-card", vendor: str = "example", **facts: object
) -> Accelerator:
    """Return an accelerator of 1000 GB/s without TFLOPS."""
    values: dict[str, object] = dict.fromkeys(Accelerator._fields)
    values |= {
        "id": identifier,
        "vendor": vendor,
        "name": identifier,
        "bandwidth_gbs": 1000.0,
        "parent": "",
        "profile": "",
        "memory_slices": 0,
        "published": (),
        "unified_memory": False,
        "sources": (),
        "uncertain": (),
    }
    values = {
        name: value
        for name, value in values.items()
        if value is not None or name not in Accelerator._field_defaults
    }
    return Accelerator(**{**values, **facts})  # type: ignore[arg-type]


ROUND = Coefficients(
    efficiency=0.8,
    expert_efficiency=0.5,
    cache_efficiency=0.4,
    step_us=100.0,
    layer_us=10.0,
    expert_layer_us=20.0,
    state_layer_us=5.0,
    sequence_us=50.0,
    vocabulary_us=1.0,
    collective_us=10.0,
    compute_efficiency=0.5,
    low=0.8,
    high=1.25,
    basis="measured",
    source="round numbers",
)

STEP = StepTraffic(
    dense_bytes=4_000_000_000,
    expert_bytes=1_000_000_000,
    cache_bytes=200_000_000,
    layers=32,
    expert_layers=30,
    state_layers=2,
    vocabulary=100_000,
    operations=1e10,
    sequences=1,
    hidden_bytes=8192,
)
