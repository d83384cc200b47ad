"""Bytes of cache on one rank of one pipeline stage: per token, per request, and as a pool is cut.

What a layer keeps is in its `Cache`; how an engine lays it out is here:

* vLLM keeps pages of 16 tokens. Layers of one kind form one group; models that mix kinds are cut
  into groups of equally many layers (the last one padded) whose pages have one size, and every
  group gets its own pages (vllm/v1/core/kv_cache_utils.py). Pages of attention grow until they
  hold a recurrent state where a model mixes both.
* SGLang keeps single tokens, sliding layers in a second pool.
* llama.cpp keeps cells, padded to 256, sliding layers in a second cache of window plus ubatch.

Keys and values are split over tensor-parallel ranks by head, one head at least; the latent of MLA
and the keys of a sparse-attention indexer are whole on every rank.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

from claimfit.errors import SizingError
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.model.facts import Cache, Layer
    from claimfit.sizing.engines import EngineProfile

__all__ = ["CacheNeed", "CachePlan", "cache_dtype", "cache_need", "pool_bytes_per_token"]

_ELEMENT_BYTES: Final[dict[str, float]] = {
    # Block formats of llama.cpp carry 16-bit scales per 32 elements (ggml-common.h): block_q8_0 is
    # 34 bytes, q5_1 24, q5_0 22, q4_1 20, q4_0 and iq4_nl 18.
    "F32": 4.0,
    "F16": 2.0,
    "BF16": 2.0,
    "FP8": 1.0,
    "Q8_0": 34 / 32,
    "Q5_1": 24 / 32,
    "Q5_0": 22 / 32,
    "Q4_1": 20 / 32,
    "Q4_0": 18 / 32,
    "IQ4_NL": 18 / 32,
}
_ALIASES: Final = {
    "FP32": "F32",
    "FLOAT": "F32",
    "FLOAT32": "F32",
    "FP16": "F16",
    "FLOAT16": "F16",
    "HALF": "F16",
    "BFLOAT16": "BF16",
    "FP8_E4M3": "FP8",
    "FP8_E5M2": "FP8",
    "F8": "FP8",
}
_ACCEPTED: Final[dict[str, tuple[str, ...]]] = {
    "vllm": ("F32", "F16", "BF16", "FP8"),
    "sglang": ("F16", "BF16", "FP8"),
    "llama.cpp": ("F32", "F16", "BF16", "Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0", "IQ4_NL"),
}
_STATE_BYTES: Final = 4
"""Recurrent states are float32 in llama.cpp and SGLang, and at most that in vLLM. A llama.cpp log
of a model with 24 such layers says 50.25 MiB a sequence: 24 x (32 x 128 x 128 + 3 x 8192) x 4."""
_SGLANG_SLIDING: Final = 0.8
_SGLANG_STATES: Final = 0.9
_INDEXER_BLOCK: Final = 128
"""DeepSeek V3.2's indexer caches FP8 keys with a float32 scale per 128 of them."""


class CachePlan(NamedTuple):
    """What the cache must hold, and how the engine will fill it."""

    context_tokens: int
    requests: int
    batched_tokens: int
    tensor: int
    element_bytes: float


class CacheNeed(NamedTuple):
    """Bytes of cache on one rank of one stage."""

    low: float
    expected: float
    high: float
    per_token: float
    """One more token of one request, beyond any window."""


class _Kind(NamedTuple):
    """Layers of a stage and of the model that cache alike."""

    cache: Cache
    token_bytes: float
    """One token in one layer; of a recurrent state the whole state of one sequence."""
    layers: int
    stage_layers: int


def cache_dtype(name: str, engine: str, element: int) -> tuple[str, float]:
    """Return the canonical name and bytes per element of a cache type.

    Empty and ``auto`` are the type of the activations, of `element` bytes; llama.cpp's is F16.

    Raises:
        SizingError: SIZ003, the engine has no such cache type.
    """
    folded = name.upper().replace("-", "_")
    if folded in ("", "AUTO"):
        if element == 4 and engine != "llama.cpp":
            return "F32", 4.0
        return ("F16" if engine == "llama.cpp" else "auto"), 2.0
    known = _ALIASES.get(folded, folded)
    accepted = _ACCEPTED[engine]
    if known not in accepted:
        raise SizingError(
            "SIZ003",
            f"{engine} has no such cache type",
            place="KV cache type",
            found=name,
            expected=f"auto or one of {', '.join(accepted)}",
            candidates=accepted,
        )
    return known, _ELEMENT_BYTES[known]


def token_bytes(
    cache: Cache, tensor: int, element_bytes: float, *, host_types: bool = False
) -> float:
    """Return the bytes of one token in one layer (a recurrent layer: of one sequence's state).

    llama.cpp (`host_types`) keeps the convolution window in float32 too, the others in 16 bits.
    """
    if cache.kind in ("full", "sliding"):
        heads = -(-cache.kv_heads // tensor)
        own = heads * (cache.key_size + cache.value_size) * element_bytes
    elif cache.kind == "mla":
        own = (cache.latent_size + cache.rope_size) * element_bytes
    elif cache.kind == "linear":
        convolution = cache.convolution_elements * (_STATE_BYTES if host_types else 2)
        return (cache.state_elements * _STATE_BYTES + convolution) / tensor
    else:
        return 0.0
    if cache.index_size:
        own += cache.index_size + 4 * ceil(cache.index_size / _INDEXER_BLOCK)
    return own


def cache_need(
    model_layers: Sequence[Layer],
    stage: slice,
    plan: CachePlan,
    profile: EngineProfile,
) -> CacheNeed:
    """Return the bytes of cache that `plan` takes on one rank of the layers in `stage`."""
    kinds = _kinds(model_layers, stage, plan, profile)
    per_token = sum(
        kind.token_bytes * kind.stage_layers for kind in kinds if kind.cache.kind in ("full", "mla")
    )
    if not kinds:
        return CacheNeed(0, 0, 0, 0.0)
    if profile.name == "vllm":
        return _paged(kinds, plan, profile)
    if profile.name == "llama.cpp":
        return _cells(kinds, plan, profile, per_token)
    return _tokens(kinds, plan, per_token)


def _kinds(
    model_layers: Sequence[Layer], stage: slice, plan: CachePlan, profile: EngineProfile
) -> tuple[_Kind, ...]:
    """Return the kinds of cache, with their layers in the whole model and in the stage."""
    counts: dict[Cache, list[int]] = {}
    seen: dict[int, list[int]] = {}
    for index, layer in enumerate(model_layers):
        # Layers that are alike are often one object: hash a cache once per object, not per layer.
        entry = seen.get(id(layer))
        if entry is None:
            entry = seen[id(layer)] = counts.setdefault(layer.cache, [0, 0])
        entry[0] += 1
        if stage.start <= index < stage.stop:
            entry[1] += 1
    return tuple(
        _Kind(
            cache,
            token_bytes(
                cache,
                plan.tensor,
                plan.element_bytes,
                host_types=profile.name == "llama.cpp",
            ),
            total,
            in_stage,
        )
        for cache, (total, in_stage) in counts.items()
        if cache.kind not in ("shared", "none")
    )


def _tokens(kinds: Sequence[_Kind], plan: CachePlan, per_token: float) -> CacheNeed:
    """SGLang: one slot per token, and shares of the pool that are fixed beforehand.

    Sliding layers get 0.8 slots per slot of the full layers (`swa_full_tokens_ratio`), recurrent
    states 0.9 bytes per byte of keys and values (`mamba_full_memory_ratio`), whatever they need;
    so the pool is as large as the part that runs out first says.
    """
    full = per_token
    sliding = sum(k.token_bytes * k.stage_layers for k in kinds if k.cache.kind == "sliding")
    states = sum(k.token_bytes * k.stage_layers for k in kinds if k.cache.kind == "linear")
    tokens = float(plan.requests * (plan.context_tokens + 1))
    least = tokens * full + states * plan.requests
    if not full:
        pool = tokens * sliding
    else:
        slots = tokens
        for kind in kinds:
            if kind.cache.kind == "sliding":
                kept = min(plan.context_tokens + 1, kind.cache.window + plan.batched_tokens)
                least += plan.requests * kept * kind.token_bytes * kind.stage_layers
                slots = max(slots, plan.requests * kept / _SGLANG_SLIDING)
        pool = slots * (full + _SGLANG_SLIDING * sliding)
        per_token = full + _SGLANG_SLIDING * sliding
    if states and pool:
        share = _SGLANG_STATES
        need = max(pool * (1 + share), plan.requests * states * (1 + share) / share)
        per_token *= 1 + share
    else:
        need = pool + plan.requests * states
    return CacheNeed(min(least, need), need, need * 1.02, per_token)


def _cells(
    kinds: Sequence[_Kind], plan: CachePlan, profile: EngineProfile, per_token: float
) -> CacheNeed:
    """llama.cpp: cells for all slots; values of MLA are kept beside the latent in older builds."""
    pad = profile.block_tokens
    full = _up(plan.context_tokens, pad)
    total = latent_values = 0.0
    for kind in kinds:
        kept = full
        if kind.cache.kind == "sliding":
            kept = min(full, _up(kind.cache.window + plan.batched_tokens, pad))
        elif kind.cache.kind == "linear":
            kept = 1
        total += kept * kind.token_bytes * kind.stage_layers
        if kind.cache.kind == "mla":
            latent_values += full * kind.cache.latent_size * plan.element_bytes * kind.stage_layers
    total *= plan.requests
    return CacheNeed(total, total, total + latent_values * plan.requests, per_token)


class _Groups(NamedTuple):
    """vLLM's cut of a model's layers into groups whose pages have one size."""

    page_bytes: float
    layers: int
    """Layers of one group on this stage; each has one page per block."""
    kinds: tuple[tuple[_Kind, int, int], ...]
    """(kind, groups of it, tokens per block)."""


def _paged(kinds: Sequence[_Kind], plan: CachePlan, profile: EngineProfile) -> CacheNeed:
    """vLLM: blocks of every group, and the one block that the pool keeps as a placeholder."""
    groups = _groups(kinds, profile)
    block_bytes = groups.page_bytes * groups.layers
    blocks = extra = 0
    per_token = 0.0
    for kind, count, block_tokens in groups.kinds:
        if kind.cache.kind == "linear":
            blocks += count * plan.requests
            # With prefix caching a second state is kept while a block is being filled.
            extra += count * plan.requests
        elif kind.cache.kind == "sliding":
            blocks += count * _sliding_blocks(kind.cache.window, plan, block_tokens)
        else:
            blocks += count * plan.requests * -(-plan.context_tokens // block_tokens)
            per_token += count * block_bytes / block_tokens
    need = (blocks + 1) * block_bytes
    high = need + extra * block_bytes
    return CacheNeed(blocks * block_bytes, need, high, per_token)


def _sliding_blocks(window: int, plan: CachePlan, block_tokens: int) -> int:
    """Return the blocks that one group of sliding layers takes for all requests.

    `SlidingWindowSpec.max_memory_usage_bytes`, which vLLM's start-up checks for one request, is the
    window less one, the tokens of a whole step, and one more block because a window may begin
    inside a block. A step's tokens are shared by all requests, so the others keep their window.
    """
    first = min(plan.context_tokens, window - 1 + plan.batched_tokens)
    other = min(plan.context_tokens, window)
    blocks = -(-first // block_tokens) + 1
    return blocks + (plan.requests - 1) * (-(-other // block_tokens) + 1)


def _groups(kinds: Sequence[_Kind], profile: EngineProfile) -> _Groups:
    """Cut layers as `_get_kv_cache_groups_uniform_page_size` does.

    Kinds that all grow with every token (full attention of several widths, MLA with or without an
    indexer) stay one group whose page is their sum.
    """
    block = profile.block_tokens
    growing = [kind for kind in kinds if kind.cache.kind in ("full", "mla")]
    if len(growing) == len(kinds):
        page = block * sum(kind.token_bytes * kind.stage_layers for kind in kinds)
        return _Groups(page, 1, ((kinds[0], 1, block),))
    blocks, page = _page(kinds, block)
    least = min(kind.layers for kind in kinds)
    most = max(kind.layers for kind in kinds)
    size = most if most < least * profile.group_slack else least
    cut = []
    layers = 0
    for kind, tokens in zip(kinds, blocks, strict=True):
        count = -(-kind.layers // size)
        layers = max(layers, -(-kind.stage_layers // count))
        cut.append((kind, count, tokens))
    return _Groups(page, layers, tuple(cut))


def _page(kinds: Sequence[_Kind], block: int) -> tuple[list[int], float]:
    """Return tokens per block of each kind, and the one page size of all.

    A recurrent state is one page; attention pages grow in steps of 16 tokens until they hold it.
    Otherwise a kind with smaller tokens takes more of them per page, where that divides evenly.
    """
    state = max((kind.token_bytes for kind in kinds if kind.cache.kind == "linear"), default=0.0)
    widest = max((kind.token_bytes for kind in kinds if kind.cache.kind != "linear"), default=0.0)
    if not widest:
        return [1] * len(kinds), state
    tokens = block * max(1, ceil(state / (block * widest)))
    page = tokens * widest
    counts = []
    for kind in kinds:
        if kind.cache.kind == "linear":
            counts.append(1)
        else:
            ratio = widest / kind.token_bytes
            counts.append(tokens * int(ratio) if ratio == int(ratio) else tokens)
    return counts, page


def pool_bytes_per_token(
    model_layers: Sequence[Layer], plan: CachePlan, profile: EngineProfile
) -> float:
    """Return pool bytes per token as vLLM 0.19 reports its pool.

    Its "GPU KV cache size" is blocks divided by groups, times the tokens of a block: every group
    counts as if it grew with every token, padding layers included.
    """
    kinds = _kinds(model_layers, slice(0, len(model_layers)), plan, profile)
    if not kinds:
        return 0.0
    groups = _groups(kinds, profile)
    tokens = min(
        (count for kind, _, count in groups.kinds if kind.cache.kind != "linear"), default=1
    )
    return groups.page_bytes * groups.layers * sum(count for _, count, _ in groups.kinds) / tokens


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
