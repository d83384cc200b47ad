"""Which tensor- and pipeline-parallel sizes an engine accepts for a model, and why not the others.

vLLM and SGLang split by head: the query heads must divide, key/value heads must divide or be
repeated evenly, the padded vocabulary must divide, and a quantized matrix is only cut between the
groups that share a scale. llama.cpp splits models by layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.errors import SizingError
from claimfit.model.quantization import quantization
from claimfit.records import NamedTuple
from claimfit.sizing.engines import profiles

if TYPE_CHECKING:
    from claimfit.model.facts import ModelFacts
    from claimfit.model.quantization import Quantization
    from claimfit.sizing.plan import EngineChoice, Parallelism

__all__ = ["TensorSize", "check_parallelism", "tensor_sizes"]

_VOCABULARY_PAD: Final = 64
"""vLLM's VocabParallelEmbedding pads the vocabulary to 64 before it is cut."""
_MOST_DEVICES: Final = 1024


class TensorSize(NamedTuple):
    """One tensor-parallel size."""

    size: int
    allowed: bool
    reason: str
    """Why it is refused; empty when it is allowed."""


def tensor_sizes(
    model: ModelFacts, engine: EngineChoice, quantization_name: str = "", limit: int = 8
) -> tuple[TensorSize, ...]:
    """Return every size from 1 to `limit` with the verdict of `engine`'s rules.

    `quantization_name` is the workload's; empty means the model's own.

    Raises:
        SizingError: SIZ010, unknown engine. ModelError: QNT001, unknown quantization.
    """
    name = profiles(engine.name)[0].name
    scheme = quantization(quantization_name or model.quantization)
    group = scheme.group_size
    if model.group_size and (not quantization_name or scheme.name == model.quantization):
        group = model.group_size
    return tuple(_verdict(model, name, scheme, group, size) for size in range(1, limit + 1))


def check_parallelism(
    model: ModelFacts, engine: EngineChoice, quantization_name: str, parallelism: Parallelism
) -> None:
    """Raise unless `engine` can split `model` so.

    Raises:
        SizingError: SIZ020 tensor-parallel size, with the sizes that would do; SIZ021 more pipeline
            stages than layers; SIZ001 a size that is no count; SIZ010 unknown engine.
    """
    tensor, pipeline = parallelism.tensor, parallelism.pipeline
    for place, size in (("tensor-parallel size", tensor), ("pipeline-parallel size", pipeline)):
        if not 1 <= size <= _MOST_DEVICES:
            raise SizingError(
                "SIZ001",
                "the number is out of range",
                place=place,
                found=size,
                expected=f"1 to {_MOST_DEVICES}",
            )
    if pipeline > len(model.layers):
        raise SizingError(
            "SIZ021",
            "more pipeline stages than layers",
            place="pipeline-parallel size",
            found=pipeline,
            expected=f"at most {len(model.layers)}, the layers of {model.name}",
        )
    if tensor == 1:
        return
    verdicts = tensor_sizes(model, engine, quantization_name, max(tensor, 8))
    refused = verdicts[tensor - 1]
    if refused.allowed:
        return
    valid = tuple(str(item.size) for item in verdicts if item.allowed)
    raise SizingError(
        "SIZ020",
        f"{model.name} cannot be split over {tensor} devices: {refused.reason}",
        place="tensor-parallel size",
        found=tensor,
        expected=f"one of {', '.join(valid)}",
        fix=f"use one of these sizes, or pipeline stages (--pp {tensor})"
        if tensor <= len(model.layers)
        else "",
        candidates=valid,
    )


def _verdict(
    model: ModelFacts, engine: str, scheme: Quantization, group: int, size: int
) -> TensorSize:
    if size == 1:
        return TensorSize(1, allowed=True, reason="")
    if engine == "llama.cpp":
        reason = "llama.cpp splits a model by layer: use pipeline stages"
    else:
        reason = (
            _head_reason(model, size)
            or _vocabulary_reason(model, size)
            or _width_reason(model, scheme, group, size)
            or _output_reason(model, scheme, group, size)
        )
    return TensorSize(size, not reason, reason)


def _head_reason(model: ModelFacts, size: int) -> str:
    for heads in sorted({layer.heads for layer in model.layers if layer.heads}):
        if heads % size:
            divisors = ", ".join(str(n) for n in range(1, heads + 1) if heads % n == 0)
            return f"{size} does not divide {heads} attention heads (divisors: {divisors})"
    shared = {
        layer.cache.kv_heads
        for layer in model.layers
        if layer.cache.kind in ("full", "sliding") and layer.cache.kv_heads
    }
    for heads in sorted(shared):
        if (heads % size) if heads >= size else (size % heads):
            relation = "does not divide" if heads >= size else "is no multiple of"
            return f"{size} {relation} {heads} key/value heads"
    return ""


def _vocabulary_reason(model: ModelFacts, size: int) -> str:
    padded = -(-model.vocabulary_size // _VOCABULARY_PAD) * _VOCABULARY_PAD
    if padded % size:
        return f"{size} does not divide the vocabulary of {padded} (padded to {_VOCABULARY_PAD})"
    return ""


def _width_reason(model: ModelFacts, scheme: Quantization, group: int, size: int) -> str:
    """Return why feed-forward widths do not divide, in whole groups of a quantization."""
    unit = _unit(model, scheme, group)
    widths = {
        (layer.intermediate_size, layer.mixture is not None)
        for layer in model.layers
        if layer.intermediate_size
    }
    for width, experts in sorted(widths):
        what = "the width of an expert" if experts else "the feed-forward width"
        if width % size:
            return f"{size} does not divide {what}, {width}"
        if unit > 1 and width % unit == 0 and (width // size) % unit:
            return (
                f"{what}, {width} / {size} = {width // size}, cuts through the groups of {unit} "
                f"that share a scale in {scheme.name}"
            )
    return ""


def _output_reason(model: ModelFacts, scheme: Quantization, group: int, size: int) -> str:
    """Return why the input of the attention's output projection cuts through a group."""
    unit = _unit(model, scheme, group)
    if unit == 1:
        return ""
    for layer in model.layers:
        width = layer.heads * layer.cache.value_size
        if width % unit == 0 and (width // size) % unit:
            return (
                f"the attention output, {width} / {size} = {width // size}, cuts through the "
                f"groups of {unit} that share a scale in {scheme.name}"
            )
    return ""


def _unit(model: ModelFacts, scheme: Quantization, group: int) -> int:
    """Return how many neighbouring weights of the cut dimension must stay on one rank."""
    if scheme.family == "fp8" and scheme.name == model.quantization:
        return model.group_size or 1
    if scheme.name == "MXFP4":
        return 1  # vLLM pads experts of MXFP4 to whole blocks
    grouped = scheme.family in ("awq", "gptq", "autoround", "int", "fp4")
    return max(1, group) if grouped else 1
