"""Turns measured speeds into observations: which model, which quantization, which accelerator.

Benchmarks name files and products; sizing needs the model's shape and an id of the accelerator
table. What cannot be told for certain is refused with the reason, never guessed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from claimfit.errors import ClaimfitError, ModelError
from claimfit.hardware.accelerators import accelerator
from claimfit.model.lookup import find_model
from claimfit.model.quantization import quantization
from claimfit.sizing.calibration import Observation
from claimfit.sizing.measured import Measured, Refused
from claimfit.sizing.plan import EngineChoice, Parallelism, Workload
from claimfit.sizing.traffic import StepTraffic, step_traffic
from claimfit.sizing.weights import loaded_weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claimfit.hardware.facts import Accelerator
    from claimfit.model.facts import ModelFacts
    from claimfit.model.lookup import Sources

__all__ = ["file_stem", "model_names", "observe"]

_SHARD: Final = re.compile(r"-\d{5}-of-\d{5}$")
_TYPE_SUFFIX: Final = re.compile(
    r"[-_.]((?:UD-|i1-)?(?:I?Q\d(?:_[0-9A-Z]+){0,3}|B?F16|F32|FP8|MXFP4|NVFP4|\d-?bit))$",
    re.IGNORECASE,
)
_PUBLISHER: Final = re.compile(r"^[A-Za-z0-9.-]{1,40}_")
_VARIANTS: Final = frozenset(
    {"d", "gre", "laptop", "max", "mobile", "nvl", "pro", "q", "super", "ti", "ultra", "xt", "xtx"}
)
_SIZE_TOLERANCE: Final = 0.15
"""Files of one type differ by a few per cent (importance matrix, output type); more is another."""


def observe(measured: Measured, sources: Sources, given_model: str = "") -> Observation | Refused:
    """Return `measured` as an observation, or the reason why it is none.

    Only `given_model`, which the user typed, may be a URL: a benchmark file must not make us fetch.
    """
    try:
        device = accelerator(measured.device) if measured.device else None
        if device is None:
            return Refused(measured.place, "the device is not named: give --device")
        if _is_another_variant(measured.device, device):
            return Refused(
                measured.place, f"{measured.device} is not {device.name}: give --device if it is"
            )
        if not device.bandwidth_gbs:
            return Refused(measured.place, f"no bandwidth is known for {device.id}")
        name, type_name = _model_and_type(measured)
        if not name:
            return Refused(measured.place, "the model is not named: give --model")
        if "://" in name and name != given_model:
            return Refused(measured.place, "the model is a URL: give it with --model")
        model = _found(name, sources)
        chosen = quantization(type_name).name if type_name else ""
        if measured.engine == "llama.cpp" and not chosen and model.file is None:
            return Refused(measured.place, "the quantization is not named: give --quant")
        if 0 <= measured.gpu_layers < len(model.layers):
            return Refused(
                measured.place,
                f"{measured.gpu_layers} of {len(model.layers)} layers ran on the device",
            )
        engine = EngineChoice(measured.engine, measured.engine_version)
        workload = Workload(
            measured.context_tokens, measured.concurrency, chosen, measured.kv_dtype
        )
        traffic = step_traffic(model, engine, workload, Parallelism(measured.tensor))
        if not measured.samples:
            traffic = traffic._replace(vocabulary=0)
        if measured.model_bytes:
            total = loaded_weights(model, chosen, measured.engine).split.total
            ratio = measured.model_bytes / total
            if abs(ratio - 1) > _SIZE_TOLERANCE:
                return Refused(
                    measured.place,
                    f"{measured.model_bytes / 1e9:.2f} GB of weights are not {model.name} in "
                    f"{chosen or model.quantization} ({total / 1e9:.2f} GB)",
                )
            traffic = _scaled(traffic, ratio)
    except ClaimfitError as error:
        near = f" (nearest: {', '.join(error.candidates[:3])})" if error.candidates else ""
        found = f" {error.found}" if error.found else ""
        return Refused(measured.place, f"{error.message}:{found}{near}" if found else error.message)
    return Observation(
        device=device.id,
        engine=measured.engine,
        engine_version=measured.engine_version,
        model=model.name,
        quantization=chosen or model.quantization,
        context_tokens=measured.context_tokens,
        concurrency=measured.concurrency,
        tensor=measured.tensor,
        tokens_per_second=measured.tokens_per_second,
        traffic=traffic,
        source=measured.place,
    )


def _is_another_variant(named: str, device: Accelerator) -> bool:
    """Return whether `named` and `device` differ in a word that makes another product.

    The accelerator table finds "RTX 4070 Ti" among the words of "RTX 4070 Ti SUPER", and a laptop's
    board has the desktop's number with less memory and bandwidth.
    """
    spellings = [device.id, device.name]
    spellings += [
        str(value)
        for item in device.published
        for key, value in item.attributes
        if key in {"productName", "model"}
    ]
    return all(_variant_words(named) != _variant_words(text) for text in spellings)


def _variant_words(text: str) -> frozenset[str]:
    return _VARIANTS.intersection(re.split(r"[^a-z0-9]+", text.lower()))


def file_stem(name: str) -> tuple[str, str]:
    """Return a model file's name without folder, part, extension and type, and that type.

    `models/Qwen3-8B-Q4_K_M-00001-of-00002.gguf` is ("Qwen3-8B", "Q4_K_M").
    """
    stem = name.replace("\\", "/").rsplit("/", 1)[-1]
    stem = _SHARD.sub("", stem.removesuffix(".gguf"))
    found = _TYPE_SUFFIX.search(stem)
    if found is None:
        return stem, ""
    return stem[: found.start()], found[1]


def model_names(name: str) -> Iterator[str]:
    """Yield the names that a benchmark's `name` may have in a catalogue, likeliest first."""
    yield name
    stem, _ = file_stem(name)
    if stem != name:
        yield stem
    bare = _PUBLISHER.sub("", stem)
    if bare != stem:
        yield stem.replace("_", "/", 1)
        yield bare


def _model_and_type(measured: Measured) -> tuple[str, str]:
    if measured.quantization:
        return measured.model, measured.quantization
    if measured.model.lower().endswith(".gguf") or measured.engine == "llama.cpp":
        return measured.model, file_stem(measured.model)[1]
    return measured.model, ""


def _found(name: str, sources: Sources) -> ModelFacts:
    first: ModelError | None = None
    for candidate in model_names(name):
        if _is_elsewhere(candidate, sources):
            continue  # only its name tells the model
        try:
            return find_model(candidate, sources)
        except ModelError as error:
            if first is None or error.code == "MOD002":
                first = error
    raise first or ModelError("MOD001", "unknown model", found=name)


def _is_elsewhere(name: str, sources: Sources) -> bool:
    """Return whether `name` is a model file that is not on this machine."""
    if "://" in name or not name.lower().endswith((".gguf", ".safetensors")):
        return False
    return sources.exists is None or not sources.exists(name)


def _scaled(traffic: StepTraffic, ratio: float) -> StepTraffic:
    """Return `traffic` with the weights of the very file that was measured."""
    return traffic._replace(
        dense_bytes=round(traffic.dense_bytes * ratio),
        expert_bytes=round(traffic.expert_bytes * ratio),
    )
