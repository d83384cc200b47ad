"""Whether a model fits a group of like devices, how many of them one replica takes, and why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from claimfit.records import NamedTuple
from claimfit.sizing.inverse import largest_context
from claimfit.sizing.memory import size
from claimfit.sizing.parallel import tensor_sizes
from claimfit.sizing.plan import Parallelism
from claimfit.sizing.speed import rate
from claimfit.sizing.support import engine_refusal
from claimfit.units import MIB, Bytes

if TYPE_CHECKING:
    from claimfit.hardware.facts import Accelerator
    from claimfit.model.facts import ModelFacts
    from claimfit.sizing.calibration import Calibration
    from claimfit.sizing.plan import DeviceNeed, EngineChoice, Rate, Workload

__all__ = ["FitQuestion", "Verdict", "judge"]

Reason = Literal[
    "fits", "memory", "speed", "engine", "count", "unknown-memory", "zero-memory", "parallelism"
]


class FitQuestion(NamedTuple):
    """What is to be served, and how."""

    model: ModelFacts
    engine: EngineChoice
    workload: Workload
    min_tps: float = 0.0
    """Tokens per second that each stream must reach (p10); 0 asks for none."""
    tensor: int = 0
    """Devices of a tensor-parallel group; 0 is the smallest that fits."""
    pipeline: int = 1
    calibration: Calibration | None = None


class Verdict(NamedTuple):
    """The answer for one kind of device, as many as there are in one place."""

    reason: Reason
    text: str
    """Why not, with the numbers; or what is used when it fits."""
    tensor: int
    devices_per_replica: int
    need: DeviceNeed | None
    memory: Bytes | None
    """Of one device: as published, or as known where nothing is published."""
    rate: Rate | None
    longest_context: int
    """Tokens, at the same concurrency; 0 when not even the weights fit."""
    decodes: bool = True
    """Whether there is a decode speed to know: False for models that embed or rerank."""

    @property
    def fits(self) -> bool:
        """Whether a replica fits."""
        return self.reason == "fits"

    @property
    def headroom(self) -> Bytes:
        """Published memory of a device less what a claim asks for; negative when short."""
        if self.need is None or self.memory is None:
            return Bytes(0)
        return self.memory - self.need.floor


def judge(
    question: FitQuestion,
    accelerator: Accelerator | None,
    memory: Bytes | None,
    devices: int,
    board_reserve: Bytes,
    *,
    alone: bool = False,
) -> Verdict:
    """Return the verdict for `devices` like devices with `memory` bytes each.

    `alone` says that devices of this kind cannot work together, whatever their number.

    Tries tensor-parallel sizes upward and takes the first that holds the model and reaches the
    speed; when none does, the verdict is that of the size that came nearest.
    """
    if memory is None and accelerator is not None and accelerator.memory_known_mib:
        memory = Bytes(accelerator.memory_known_mib * MIB)
    if memory is None:
        return _unanswered("unknown-memory", "publishes no memory and is not in the table")
    if memory == 0:
        return _unanswered("zero-memory", "publishes 0 memory: the driver could not read it")
    if accelerator is not None:
        weights = question.workload.quantization or question.model.quantization
        refusal = engine_refusal(question.engine, weights, accelerator)
        if refusal:
            return _unanswered("engine", refusal)
    together = min(devices, 1) if alone else devices
    sizes, refusal = _sizes(question, together)
    if not sizes:
        return _unanswered("parallelism", refusal)
    verdicts = []
    for tensor in sizes:
        verdict = _at(question, accelerator, memory, tensor, board_reserve)
        if verdict.fits:
            return verdict
        verdicts.append(verdict)
    return verdicts[-1] if alone else _nearest(question, verdicts, devices)


def _unanswered(reason: Reason, text: str) -> Verdict:
    return Verdict(reason, text, 0, 0, None, None, None, 0)


def _sizes(question: FitQuestion, devices: int) -> tuple[list[int], str]:
    """Return the tensor-parallel sizes to try, or none and why."""
    limit = devices // question.pipeline
    if question.tensor:
        if question.tensor > limit:
            wanted = question.tensor * question.pipeline
            return [], f"needs {wanted} of a kind, the node has {devices}"
        return [question.tensor], ""
    if limit == 0:
        return [], f"needs {question.pipeline} of a kind, the node has {devices}"
    offered = tensor_sizes(
        question.model, question.engine, question.workload.quantization, limit=limit
    )
    return [item.size for item in offered if item.allowed and item.size <= limit], ""


def _at(
    question: FitQuestion,
    accelerator: Accelerator | None,
    memory: Bytes,
    tensor: int,
    board_reserve: Bytes,
) -> Verdict:
    parallelism = Parallelism(tensor, question.pipeline)
    need = size(
        question.model,
        question.engine,
        question.workload,
        parallelism,
        board_reserve=board_reserve,
        device_memory=memory,
    )
    speed = None
    decodes = question.model.task == "generate"
    if decodes and accelerator is not None and accelerator.bandwidth_gbs:
        speed = rate(
            question.model,
            accelerator,
            question.engine,
            question.workload,
            parallelism,
            question.calibration,
        )
    reason, text = _reason(question, need, memory, speed)
    context = largest_context(
        question.model,
        question.engine,
        question.workload,
        parallelism,
        device_memory=memory,
        board_reserve=board_reserve,
    )
    devices = parallelism.devices
    return Verdict(reason, text, tensor, devices, need, memory, speed, context, decodes)


def _reason(
    question: FitQuestion, need: DeviceNeed, memory: Bytes, speed: Rate | None
) -> tuple[Reason, str]:
    if need.floor > memory:
        short = (need.floor - memory).mib_up
        return "memory", f"short by {short:,} MiB: needs {need.floor.mib_up:,}, has {_mib(memory)}"
    if question.min_tps and speed is None:
        return "speed", "its speed is unknown: no bandwidth is published or known"
    if question.min_tps and speed is not None and speed.p10 < question.min_tps:
        return "speed", f"too slow: p10 is {speed.p10:.1f} of {question.min_tps:g} tok/s"
    return "fits", f"{(memory - need.floor).mib_up:,} MiB left"


def _mib(memory: Bytes) -> str:
    return f"{int(memory) // MIB:,}"


def _nearest(question: FitQuestion, verdicts: list[Verdict], devices: int) -> Verdict:
    """Return the verdict that says most: too slow before too small, the largest size last."""
    slow = [item for item in verdicts if item.reason == "speed"]
    if slow:
        fastest = max(slow, key=lambda item: item.rate.p10 if item.rate else 0.0)
        if fastest.devices_per_replica == 1:
            return fastest
        return fastest._replace(text=f"{fastest.text} with {fastest.devices_per_replica} devices")
    last = verdicts[-1]
    if question.tensor or last.tensor * 2 <= devices:
        return last
    more = [
        item.size
        for item in tensor_sizes(
            question.model, question.engine, question.workload.quantization, limit=64
        )
        if item.allowed and item.size > last.tensor
    ]
    for tensor in more:
        parallelism = Parallelism(tensor, question.pipeline)
        need = size(question.model, question.engine, question.workload, parallelism)
        if last.memory is not None and need.floor <= last.memory:
            text = f"needs {parallelism.devices} of a kind, the node has {devices}"
            return last._replace(reason="count", text=text)
    return last
