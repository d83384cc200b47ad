"""What a model needs: bytes per device and tokens per second, each with bounds and source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit._exports import lazy

if TYPE_CHECKING:
    from claimfit.sizing.calibration import Calibration, load_calibration
    from claimfit.sizing.engines import engine_names
    from claimfit.sizing.inverse import largest_concurrency, largest_context
    from claimfit.sizing.memory import size
    from claimfit.sizing.offload import partial_offload
    from claimfit.sizing.parallel import TensorSize, check_parallelism, tensor_sizes
    from claimfit.sizing.plan import (
        ComponentNeed,
        DeviceNeed,
        EngineChoice,
        Parallelism,
        Rate,
        Workload,
    )
    from claimfit.sizing.speed import BandwidthFloor, bandwidth_floor, rate

__all__ = [
    "BandwidthFloor",
    "Calibration",
    "ComponentNeed",
    "DeviceNeed",
    "EngineChoice",
    "Parallelism",
    "Rate",
    "TensorSize",
    "Workload",
    "bandwidth_floor",
    "check_parallelism",
    "engine_names",
    "largest_concurrency",
    "largest_context",
    "load_calibration",
    "partial_offload",
    "rate",
    "size",
    "tensor_sizes",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "BandwidthFloor": "claimfit.sizing.speed",
        "Calibration": "claimfit.sizing.calibration",
        "ComponentNeed": "claimfit.sizing.plan",
        "DeviceNeed": "claimfit.sizing.plan",
        "EngineChoice": "claimfit.sizing.plan",
        "Parallelism": "claimfit.sizing.plan",
        "Rate": "claimfit.sizing.plan",
        "TensorSize": "claimfit.sizing.parallel",
        "Workload": "claimfit.sizing.plan",
        "bandwidth_floor": "claimfit.sizing.speed",
        "check_parallelism": "claimfit.sizing.parallel",
        "engine_names": "claimfit.sizing.engines",
        "largest_concurrency": "claimfit.sizing.inverse",
        "largest_context": "claimfit.sizing.inverse",
        "load_calibration": "claimfit.sizing.calibration",
        "partial_offload": "claimfit.sizing.offload",
        "rate": "claimfit.sizing.speed",
        "size": "claimfit.sizing.memory",
        "tensor_sizes": "claimfit.sizing.parallel",
    },
)
