"""What is known of each engine: versions, defaults, budget rule and overhead coefficients.

A profile holds for a range of versions. A version outside every range gets the nearest profile with
widened bounds and a warning; an unknown engine or a version that cannot be read is an error.

Sources:

* vLLM defaults: `EngineArgs.get_batch_defaults` (vllm/engine/arg_utils.py): 8192 batched tokens and
  1024 sequences for ``vllm serve`` on devices of 70 GiB and more (A100 apart), 2048 and 256 below.
  `CacheConfig.gpu_memory_utilization` (vllm/config/cache.py) is 0.92 from 0.22 on, 0.9 before.
* vLLM coefficients: fitted on 33 start-up logs of vLLM 0.19.0 on H100
  (docs/accuracy-memory.md, `bench/accuracy_memory.py`).
* SGLang: `ServerArgs._handle_gpu_memory_settings` (python/sglang/srt/server_args.py): the chunk of
  prefill and the largest graph batch follow the device's memory, and what is kept free of weights
  and cache follows from these two.
* llama.cpp: defaults of `common/common.h` (ubatch 512, batch 2048); buffers as its start-up log
  prints them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from claimfit.errors import SizingError
from claimfit.records import NamedTuple
from claimfit.units.amounts import GIB

if TYPE_CHECKING:
    from claimfit.sizing.plan import EngineChoice
    from claimfit.units import Basis

__all__ = [
    "BatchDefaults",
    "EngineProfile",
    "Margins",
    "Overheads",
    "engine_names",
    "profile",
    "profiles",
]

EngineName = Literal["vllm", "sglang", "llama.cpp"]


class BatchDefaults(NamedTuple):
    """What an engine chooses on devices from `from_bytes` on."""

    from_bytes: int
    batched_tokens: int
    """Tokens of one step: max_num_batched_tokens, chunked prefill size, ubatch."""
    sequences: int
    """Sequences of one step; of SGLang the largest batch that is captured as a graph."""
    sequences_split: int = 0
    """The same from tensor-parallel size 4 on, where it differs."""
    least_free: int = 0
    """Bytes that SGLang leaves free of weights and cache at least."""


class Overheads(NamedTuple):
    """Coefficients of memory beside weights and cache; bytes unless named otherwise.

    See `claimfit.sizing.overhead` for the formulas that they stand in.
    """

    sampler_bytes: float
    """Per sequence and vocabulary entry, beside the logits in the model's own type: float32 copies
    of the logits, their softmax and the random numbers that a token is drawn with."""
    sampler_hidden: float
    """Copies of the hidden states (batched tokens x hidden size) that live while sampling."""
    layer_hidden: float
    """Copies of the hidden states that live beside the feed-forward's own tensors."""
    expert_hidden: float
    """The same in a layer of experts."""
    activation_base: float
    runtime_single: float
    """Memory outside the framework's allocator, one device per replica."""
    runtime_pipeline: float
    """The same with pipeline stages only."""
    runtime_tensor: float
    """The same with tensor-parallel ranks (NCCL and all-reduce buffers)."""
    runtime_per_rank: float
    """Added per tensor-parallel rank."""
    graph_base: float
    graph_layer: float
    """Per layer of the stage."""
    graph_layer_hidden: float
    """Per layer and element of hidden size, divided over tensor-parallel ranks."""
    graph_expert_layer: float
    """Per layer of experts."""


class Margins(NamedTuple):
    """How far bounds lie from the expected value: value x (1 +- relative) +- absolute bytes."""

    activation: tuple[float, float]
    layer_activation: tuple[float, float]
    """Where the layers, not the sampler, set the peak: fewer rows, wider."""
    runtime: tuple[float, float]
    graphs: tuple[float, float]
    expert_graphs: tuple[float, float]
    """Models with experts: capture differs most between their kernels."""


class EngineProfile(NamedTuple):
    """One engine in one range of versions."""

    name: EngineName
    label: str
    """Shown to users: the version that the profile speaks for."""
    first: tuple[int, ...]
    """Lowest version of the range."""
    until: tuple[int, ...]
    """First version after the range; empty when the range is open."""
    utilization: float
    """Default share of the device that the engine may use; 1.0 where it has no such limit."""
    utilization_flag: str
    batch: tuple[BatchDefaults, ...]
    """By device memory, smallest first."""
    block_tokens: int
    """Tokens per cache block (llama.cpp: cells are padded to it)."""
    group_slack: float
    """vLLM: layer types whose counts differ by less than this factor are padded to the larger."""
    overheads: Overheads
    margins: Margins
    basis: Basis
    source: str
    widened: float = 1.0
    """Factor on the margins; above 1 for a version that the profile was not made for."""
    warning: str = ""


_VLLM_BATCH: Final = (BatchDefaults(0, 2048, 256), BatchDefaults(70 * GIB, 8192, 1024))

_VLLM_OVERHEADS: Final = Overheads(
    sampler_bytes=12.5,
    sampler_hidden=1.2,
    layer_hidden=4.25,
    expert_hidden=5.0,
    activation_base=0.038 * GIB,
    runtime_single=0.25 * GIB,
    runtime_pipeline=0.08 * GIB,
    runtime_tensor=2.03 * GIB,
    runtime_per_rank=0.03 * GIB,
    graph_base=0.32 * GIB,
    graph_layer=0.012 * GIB,
    graph_layer_hidden=1.6e-6 * GIB,
    graph_expert_layer=0.016 * GIB,
)
_VLLM_MARGINS: Final = Margins(
    activation=(0.06, 0.10 * GIB),
    layer_activation=(0.30, 0.15 * GIB),
    runtime=(0.08, 0.20 * GIB),
    graphs=(0.25, 0.20 * GIB),
    expert_graphs=(0.50, 0.60 * GIB),
)
_VLLM_ROWS: Final = "fitted on 33 start-ups of vLLM 0.19.0 on H100"


_VLLM: Final = EngineProfile(
    "vllm",
    "0.19",
    (0, 19),
    (0, 21),
    0.9,
    "--gpu-memory-utilization",
    _VLLM_BATCH,
    16,
    1.25,
    _VLLM_OVERHEADS,
    _VLLM_MARGINS,
    "measured",
    _VLLM_ROWS,
)

# Sampling of late 2025 sorted the whole vocabulary (values and 64-bit indices beside the float32
# copies): llama-class activation was 4.8 GiB where 0.19 takes 1.9 (notes of llm-d's planner).
_VLLM_OLD_OVERHEADS: Final = _VLLM_OVERHEADS._replace(sampler_bytes=36.0)

_SGLANG_BATCH: Final = (
    BatchDefaults(0, 2048, 8),
    BatchDefaults(20 * GIB, 2048, 24, 80),
    BatchDefaults(35 * GIB, 4096, 32, 160),
    BatchDefaults(60 * GIB, 8192, 256, 512, 10 * GIB),
    BatchDefaults(160 * GIB, 16384, 512, 0, 10 * GIB),
)
_SGLANG_OVERHEADS: Final = _VLLM_OVERHEADS._replace(
    runtime_single=0.5 * GIB, runtime_pipeline=0.5 * GIB, runtime_tensor=1.2 * GIB
)

_LLAMA_OVERHEADS: Final = _VLLM_OVERHEADS._replace(
    sampler_bytes=4.0,  # float32 logits of every token of a ubatch
    runtime_single=0.35 * GIB,  # CUDA context, kernels and cuBLAS workspace of one process
    runtime_pipeline=0.35 * GIB,
    runtime_tensor=0.35 * GIB,
    runtime_per_rank=0.0,
)

_PROFILES: Final[tuple[EngineProfile, ...]] = (
    _VLLM._replace(
        label="0.11",
        first=(0, 11),
        until=(0, 19),
        overheads=_VLLM_OLD_OVERHEADS,
        basis="extrapolated",
        source="the 0.19 fit with the sampler of late 2025",
        widened=1.6,
        warning="vLLM before 0.19 took more memory for sampling; no row of it was fitted",
    ),
    _VLLM,
    _VLLM._replace(
        label="0.21",
        first=(0, 21),
        until=(0, 22),
        group_slack=1.5,
        basis="family",
        source=f"{_VLLM_ROWS}; graphs count inside the budget from 0.21 on",
    ),
    _VLLM._replace(
        label="0.22",
        first=(0, 22),
        until=(0, 31),
        utilization=0.92,
        group_slack=1.5,
        basis="family",
        source=f"{_VLLM_ROWS}; default utilization 0.92 from 0.22 on",
    ),
    EngineProfile(
        "sglang",
        "0.5",
        (0, 5),
        (0, 6),
        1.0,
        "--mem-fraction-static",
        _SGLANG_BATCH,
        1,
        1.0,
        _SGLANG_OVERHEADS,
        _VLLM_MARGINS,
        "physics",
        "SGLang's own rule for the memory that it leaves free (server_args.py)",
    ),
    EngineProfile(
        "llama.cpp",
        "b6500",
        (6500,),
        (),
        1.0,
        "",
        (BatchDefaults(0, 512, 0),),
        256,
        1.0,
        _LLAMA_OVERHEADS,
        _VLLM_MARGINS,
        "physics",
        "buffers as llama.cpp lays them out with flash attention on",
    ),
)

_ALIASES: Final = {"llamacpp": "llama.cpp", "llama-cpp": "llama.cpp", "llama-server": "llama.cpp"}
_WIDENED_OUTSIDE: Final = 1.5
_LONGEST_VERSION: Final = 40


def engine_names() -> tuple[str, ...]:
    """Return the names of the engines that have a profile."""
    return tuple(dict.fromkeys(entry.name for entry in _PROFILES))


def profiles(name: str) -> tuple[EngineProfile, ...]:
    """Return the profiles of engine `name`, oldest first.

    Raises:
        SizingError: SIZ010, no such engine.
    """
    folded = name.lower()
    known = _ALIASES.get(folded, folded)
    found = tuple(entry for entry in _PROFILES if entry.name == known)
    if not found:
        raise SizingError(
            "SIZ010",
            "unknown engine",
            place="engine",
            found=name,
            expected=f"one of {', '.join(engine_names())}",
            candidates=engine_names(),
        )
    return found


def profile(engine: EngineChoice) -> EngineProfile:
    """Return the profile for `engine`; without a version the newest.

    Raises:
        SizingError: SIZ010 unknown engine, SIZ011 unreadable version.
    """
    known = profiles(engine.name)
    if not engine.version:
        return known[-1]
    version = _version(known[0].name, engine.version)
    for entry in known:
        if entry.first <= version and (not entry.until or version < entry.until):
            return entry
    oldest, newest = known[0], known[-1]
    nearest = oldest if version < oldest.first else newest
    return nearest._replace(
        basis="extrapolated",
        widened=nearest.widened * _WIDENED_OUTSIDE,
        warning=(
            f"{nearest.name} {engine.version} is outside the versions that claimfit knows "
            f"({_range(oldest, newest)}): the profile of {nearest.label} is used with wider bounds"
        ),
    )


def _range(oldest: EngineProfile, newest: EngineProfile) -> str:
    first = ".".join(map(str, oldest.first))
    if not newest.until:
        return f"from {first}"
    return f"{first} to before {'.'.join(map(str, newest.until))}"


def _version(name: str, text: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: 0.19.0rc1 is (0, 19, 0), b6500 is (6500,)."""
    numbers: list[int] = []
    rest = text[1:] if text[:1] in ("v", "b") else text
    if len(text) <= _LONGEST_VERSION and rest.isascii():
        for part in rest.split("."):
            digits = part[: next((at for at, c in enumerate(part) if not c.isdigit()), len(part))]
            if digits:
                numbers.append(int(digits))
            if digits != part:
                break
    if not numbers or (name != "llama.cpp" and len(numbers) < 2):
        example = "b6500" if name == "llama.cpp" else "0.19.0"
        raise SizingError(
            "SIZ011",
            f"unreadable version of {name}",
            place="engine version",
            found=text,
            expected=f"numbers such as {example}",
        )
    return tuple(numbers)
