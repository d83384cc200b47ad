"""What llama.cpp needs when only some layers are on the device (``--n-gpu-layers``).

It puts the last layers on the device, and the output head first of all; the rest stays in host
memory with its share of the cache. A claim always asks for full offload; this answers what a
smaller device could hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.records import NamedTuple
from claimfit.sizing.memory import size
from claimfit.units import Bytes

if TYPE_CHECKING:
    from claimfit.model.facts import ModelFacts
    from claimfit.sizing.plan import EngineChoice, Workload

__all__ = ["PartialOffload", "partial_offload"]

_NO_RESERVE: Final = Bytes(0)


class PartialOffload(NamedTuple):
    """A split of one model between a device and its host."""

    layers: int
    """Layers on the device, the value of ``--n-gpu-layers``."""
    of_layers: int
    device: Bytes
    """What the device holds, upper bound, reserve included."""
    host: Bytes
    """What stays in host memory: weights and cache of the other layers, and the embedding."""


def partial_offload(
    model: ModelFacts,
    engine: EngineChoice,
    workload: Workload,
    *,
    device_memory: Bytes,
    board_reserve: Bytes = _NO_RESERVE,
) -> PartialOffload | None:
    """Return the most layers that fit `device_memory`, None when not even one does.

    Only llama.cpp splits so.

    Raises:
        SizingError, ModelError: as `size` does.
    """
    count = len(model.layers)

    def on_device(layers: int) -> Bytes:
        part = _last(model, layers)
        return size(part, engine, workload, board_reserve=board_reserve).floor

    low, high = 0, count + 1
    while high - low > 1:
        middle = (low + high) // 2
        if on_device(middle) <= device_memory:
            low = middle
        else:
            high = middle
    if low == 0:
        return None
    whole = size(model, engine, workload)
    part = size(_last(model, low), engine, workload)
    kept = sum(
        whole.component(name).high - part.component(name).high for name in ("weights", "kv_cache")
    )
    embedding = _embedding(model, workload)
    return PartialOffload(low, count, on_device(low), Bytes(round(kept) + embedding))


def _embedding(model: ModelFacts, workload: Workload) -> int:
    from claimfit.sizing.weights import loaded_weights

    return loaded_weights(model, workload.quantization, "llama.cpp").split.embedding


def _last(model: ModelFacts, layers: int) -> ModelFacts:
    """Return `model` with its last `layers` only; of a file, with their bytes."""
    file = model.file
    if file is not None:
        file = file._replace(
            layer_bytes=file.layer_bytes[-layers:], expert_bytes=file.expert_bytes[-layers:]
        )
    return model._replace(layers=model.layers[-layers:], file=file)
