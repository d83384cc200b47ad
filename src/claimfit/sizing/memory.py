"""Memory of the heaviest device of a replica, by component, and the floor a claim asks for.

Every component has a low, an expected and a high value; a claim uses the high ones. The floor is
``total.high / utilization + reserve``, rounded up to a whole MiB: an engine that may use 0.9 of a
device needs a device that is so much larger than what it fills, and the driver publishes some
memory that no framework sees.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

from claimfit.errors import SizingError
from claimfit.records import NamedTuple
from claimfit.sizing import overhead
from claimfit.sizing.engines import BatchDefaults, EngineProfile, profile
from claimfit.sizing.kv_cache import CacheNeed, CachePlan, cache_dtype, cache_need
from claimfit.sizing.parallel import check_parallelism
from claimfit.sizing.plan import ComponentNeed, DeviceNeed, EngineChoice, Parallelism
from claimfit.sizing.weights import (
    LoadedWeights,
    StageWeights,
    element_bytes,
    loaded_weights,
    stage_weights,
)
from claimfit.units import MIB, Bytes, Estimate, worst_basis

if TYPE_CHECKING:
    from claimfit.model.facts import ModelFacts
    from claimfit.sizing.plan import Workload
    from claimfit.units import Basis

__all__ = ["size", "size_with"]

_MOST_TOKENS: Final = 1 << 40
_MOST_REQUESTS: Final = 1_000_000
_LEAST_SHARE: Final = 0.01
_SINGLE: Final = Parallelism()
_NO_RESERVE: Final = Bytes(0)


class _Plan(NamedTuple):
    """The question with its defaults filled in, the same for all stages."""

    model: ModelFacts
    workload: Workload
    parallelism: Parallelism
    profile: EngineProfile
    element: int
    cache_type: str
    cache_bytes: float
    loaded: LoadedWeights
    utilization: float
    reserve: Bytes


class _Batch(NamedTuple):
    tokens: int
    sequences: int
    graphs: int
    least_free: int


def size(
    model: ModelFacts,
    engine: EngineChoice,
    workload: Workload,
    parallelism: Parallelism = _SINGLE,
    *,
    board_reserve: Bytes = _NO_RESERVE,
    device_memory: Bytes | None = None,
) -> DeviceNeed:
    """Return what the heaviest device of one replica needs.

    Args:
        model: what is served.
        engine: who serves it; an empty version is the newest profile.
        workload: context, concurrent requests, quantization and engine settings; 0 and "" are
            the engine's defaults.
        parallelism: devices of the replica.
        board_reserve: published memory that the engine never sees on the target driver.
        device_memory: published memory of the device, where it is known. Engines choose larger
            steps on larger devices; without it the account is that of the smallest devices for
            which `floor` holds: every device that publishes at least `floor` is large enough for
            the steps that the engine will choose on it.

    Raises:
        SizingError: SIZ001 a number out of range, SIZ002 context beyond the model's, SIZ003 cache
            type, SIZ004 fewer sequences than requests, SIZ005 a fact that the model lacks, SIZ006
            fewer tokens than sequences in a step, SIZ010 engine, SIZ011 version, SIZ020
            tensor-parallel size, SIZ021 pipeline stages.
        ModelError: QNT001, unknown quantization.
    """
    return size_with(
        profile(engine),
        model,
        workload,
        parallelism,
        board_reserve=board_reserve,
        device_memory=device_memory,
        label=engine.version,
    )


def size_with(
    profile: EngineProfile,
    model: ModelFacts,
    workload: Workload,
    parallelism: Parallelism = _SINGLE,
    *,
    board_reserve: Bytes = _NO_RESERVE,
    device_memory: Bytes | None = None,
    label: str = "",
) -> DeviceNeed:
    """Return `size` for a profile at hand, such as one with coefficients of another fit."""
    _check(model, workload, profile)
    check_parallelism(model, EngineChoice(profile.name), workload.quantization, parallelism)
    element = 2 if profile.name == "llama.cpp" else element_bytes(workload.quantization)
    cache_type, cache_bytes = cache_dtype(workload.kv_dtype, profile.name, element)
    plan = _Plan(
        model,
        workload,
        parallelism,
        profile,
        element,
        cache_type,
        cache_bytes,
        loaded_weights(model, workload.quantization, profile.name),
        workload.gpu_memory_utilization or profile.utilization,
        board_reserve,
    )
    need = _choose(plan, device_memory)
    if not label:
        return need
    return need._replace(engine=f"{profile.name} {label} (profile {profile.label})")


def _choose(plan: _Plan, device_memory: Bytes | None) -> DeviceNeed:
    """Return the need under the batch defaults of the device, or of the devices it may be.

    Where the larger class's need fits the smallest device of that class, the smaller class's floor
    holds for all: a device below the boundary takes the smaller steps, one above it has the room.
    """
    classes = plan.profile.batch
    if device_memory is not None:
        known = [entry for entry in classes if entry.from_bytes <= device_memory]
        return _account(plan, known[-1] if known else classes[0])
    chosen = _account(plan, classes[-1])
    for entry, above in zip(reversed(classes[:-1]), reversed(classes[1:]), strict=True):
        if chosen.floor > above.from_bytes:
            break  # the smallest devices of the class above would not do
        smaller = _account(plan, entry)
        if smaller.floor >= above.from_bytes:
            break
        chosen = smaller
    return chosen


def _batch(plan: _Plan, defaults: BatchDefaults) -> _Batch:
    """Return the step that the engine will run, with the user's settings over its defaults."""
    workload = plan.workload
    tokens = workload.max_batched_tokens or defaults.batched_tokens
    if plan.profile.name != "vllm":
        split = plan.parallelism.tensor >= 4 and defaults.sequences_split
        graphs = defaults.sequences_split if split else defaults.sequences
        return _Batch(tokens, workload.concurrency, graphs, defaults.least_free)
    sequences = workload.max_sequences or min(defaults.sequences, tokens)
    if not workload.max_batched_tokens:
        # A step never holds more than every sequence in full; encoders take requests whole.
        tokens = min(tokens, sequences * workload.context_tokens)
        if plan.model.task != "generate":
            tokens = max(tokens, workload.context_tokens)
    return _Batch(tokens, max(sequences, workload.concurrency), 0, 0)


def _account(plan: _Plan, defaults: BatchDefaults) -> DeviceNeed:
    """Return the account of the heaviest stage."""
    batch = _batch(plan, defaults)
    stages = stage_weights(plan.model, plan.loaded, plan.parallelism, plan.profile, plan.element)
    last = len(stages) - 1
    needs = (
        _stage_need(plan, batch, stage, last=number == last) for number, stage in enumerate(stages)
    )
    return max(needs, key=lambda need: need.floor)


def _stage_need(plan: _Plan, batch: _Batch, held: StageWeights, *, last: bool) -> DeviceNeed:
    model, profile = plan.model, plan.profile
    layers = slice(held.first_layer, held.first_layer + held.layers)
    cache = cache_need(
        model.layers,
        layers,
        CachePlan(
            plan.workload.context_tokens,
            plan.workload.concurrency,
            batch.tokens,
            plan.parallelism.tensor,
            plan.cache_bytes,
        ),
        profile,
    )
    stage = overhead.Stage(
        model,
        model.layers[layers],
        last,
        plan.parallelism.tensor,
        plan.parallelism.pipeline,
        plan.element,
        plan.workload.context_tokens,
        plan.workload.concurrency,
        batch.tokens,
        batch.sequences,
        batch.graphs,
        batch.least_free,
        plan.cache_bytes,
    )
    components = _components(plan, held, cache, stage)
    total = _total(plan, components)
    floor = Bytes(ceil(total.high / plan.utilization) + plan.reserve)
    return DeviceNeed(
        components,
        total,
        plan.utilization,
        plan.reserve,
        Bytes(floor.mib_up * MIB),
        cache.per_token,
        f"{profile.name} {profile.label}",
        total.basis,
        _assumptions(plan, batch),
        (profile.warning,) if profile.warning else (),
    )


def _components(
    plan: _Plan, held: StageWeights, cache: CacheNeed, stage: overhead.Stage
) -> tuple[ComponentNeed, ...]:
    profile, basis = plan.profile, plan.profile.basis
    counted: Basis = "family" if plan.loaded.by_recipe else "exact"

    def part(name: str, spread: overhead.Spread) -> ComponentNeed:
        return ComponentNeed(name, Estimate(*spread, basis, profile.source))

    weights = Estimate(held.low, held.expected, held.high, counted, plan.loaded.split.bits_source)
    layout = f"cache layout of {profile.name}"
    kept = Estimate(cache.low, cache.expected, cache.high, "exact", layout)
    components = [
        ComponentNeed("weights", weights),
        ComponentNeed("kv_cache", kept),
        part("activation", overhead.activation(stage, profile)),
        part("runtime", overhead.runtime(stage, profile)),
    ]
    if profile.name != "llama.cpp":
        components.append(part("graphs", overhead.graphs(stage, profile)))
    if plan.workload.lora is not None:
        spread = overhead.lora(stage, plan.workload.lora)
        components.append(
            ComponentNeed("lora", Estimate(*spread, "physics", "rank x (inputs + outputs)"))
        )
    return tuple(components)


def _total(plan: _Plan, components: tuple[ComponentNeed, ...]) -> Estimate:
    """Return the bytes inside the engine's budget.

    SGLang's fraction, when the user gives one, holds weights and cache alone; everything else must
    find room in what it leaves free, so the budget is the larger of the two views.
    """
    low = sum(item.bytes.low for item in components)
    expected = sum(item.bytes.expected for item in components)
    high = sum(item.bytes.high for item in components)
    basis = worst_basis(*(item.bytes.basis for item in components))
    if plan.profile.name == "sglang" and plan.workload.gpu_memory_utilization:
        static = [item.bytes for item in components if item.name in ("weights", "kv_cache", "lora")]
        share = plan.utilization
        low = max(sum(part.low for part in static), share * low)
        expected = max(sum(part.expected for part in static), share * expected)
        high = max(sum(part.high for part in static), share * high)
    return Estimate(low, expected, high, basis, "sum of the components")


def _assumptions(plan: _Plan, batch: _Batch) -> tuple[str, ...]:
    workload, profile = plan.workload, plan.profile
    assumed = []
    if not workload.quantization:
        assumed.append(f"weights as published: {plan.model.quantization}")
        if plan.loaded.scheme != "F32" and plan.model.quantization == "F32":
            assumed[-1] = f"{profile.name} loads the F32 checkpoint in 16 bits"
    if (
        not workload.gpu_memory_utilization
        and profile.utilization_flag == "--gpu-memory-utilization"
    ):
        assumed.append(f"{profile.utilization_flag} {profile.utilization:g}, the default")
    if profile.name == "vllm" and not workload.max_sequences:
        least = profile.batch[0].sequences
        if workload.concurrency > least:
            assumed.append(f"--max-num-seqs {workload.concurrency}, above the default of {least}")
    if profile.name == "llama.cpp":
        assumed.append(
            "all layers on the device, flash attention on, input embedding in host memory"
        )
        if not workload.max_batched_tokens:
            assumed.append(f"ubatch of {batch.tokens} tokens")
    if not workload.kv_dtype and any(layer.cache.kind != "none" for layer in plan.model.layers):
        assumed.append(f"KV cache type {plan.cache_type}")
    return tuple(assumed)


def _check(model: ModelFacts, workload: Workload, profile: EngineProfile) -> None:
    """Raise unless the numbers of `workload` make a plan for `model`."""
    _count("context", workload.context_tokens, 1, _MOST_TOKENS)
    _count("concurrency", workload.concurrency, 1, _MOST_REQUESTS)
    _count("max batched tokens", workload.max_batched_tokens, 0, _MOST_TOKENS)
    _count("max sequences", workload.max_sequences, 0, _MOST_REQUESTS)
    share = workload.gpu_memory_utilization
    if share and not _LEAST_SHARE <= share <= 1:
        raise SizingError(
            "SIZ001",
            "the share of a device is out of range",
            place="gpu memory utilization",
            found=share,
            expected=f"{_LEAST_SHARE} to 1",
        )
    if workload.lora is not None:
        _count("LoRA adapters", workload.lora.adapters, 1, _MOST_REQUESTS)
        _count("LoRA rank", workload.lora.rank, 1, _MOST_REQUESTS)
    if not model.layers or model.hidden_size <= 0:
        raise SizingError(
            "SIZ005",
            "the model lacks a fact that its memory follows from",
            place=model.name,
            found="no layers" if not model.layers else "no hidden size",
            expected="layers and hidden size",
            fix="give the facts in an overlay file (--models)",
        )
    if model.context_tokens and workload.context_tokens > model.context_tokens:
        raise SizingError(
            "SIZ002",
            f"the context is beyond what {model.name} was made for",
            place="context",
            found=workload.context_tokens,
            expected=f"at most {model.context_tokens}",
            candidates=(str(model.context_tokens),),
        )
    if profile.name == "vllm" and 0 < workload.max_batched_tokens < workload.max_sequences:
        raise SizingError(
            "SIZ006",
            "vLLM refuses steps of fewer tokens than sequences",
            place="max batched tokens",
            found=workload.max_batched_tokens,
            expected=f"at least max sequences, {workload.max_sequences}",
        )
    if 0 < workload.max_sequences < workload.concurrency:
        raise SizingError(
            "SIZ004",
            f"{profile.name} may run fewer sequences than requests are to be resident",
            place="max sequences",
            found=workload.max_sequences,
            expected=f"at least the concurrency, {workload.concurrency}",
        )


def _count(place: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise SizingError(
            "SIZ001",
            "the number is out of range",
            place=place,
            found=value,
            expected=f"{least} to {most}",
        )
