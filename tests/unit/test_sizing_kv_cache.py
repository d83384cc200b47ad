"""Cache bytes: the arithmetic of every kind, engine and sharding rule, shown."""

from __future__ import annotations

import pytest

from claimfit.errors import SizingError
from claimfit.sizing.engines import profile
from claimfit.sizing.kv_cache import (
    CacheNeed,
    CachePlan,
    cache_dtype,
    cache_need,
    pool_bytes_per_token,
)
from claimfit.sizing.plan import EngineChoice
from support.sizing_models import attention_layer, full, latent, sliding, state

VLLM = profile(EngineChoice("vllm", "0.19"))
LLAMA_CPP = profile(EngineChoice("llama.cpp"))
SGLANG = profile(EngineChoice("sglang"))


def plan(context: int = 8192, **changes: float) -> CachePlan:
    """Return a plan for one request on one rank with a 16-bit cache."""
    base = CachePlan(context, requests=1, batched_tokens=8192, tensor=1, element_bytes=2.0)
    return base._replace(**changes)


def need(layers: list, asked: CachePlan, engine=VLLM) -> CacheNeed:
    """Return the need of all `layers` on one stage."""
    return cache_need(layers, slice(0, len(layers)), asked, engine)


def test_full_attention_takes_two_vectors_per_head_layer_and_token() -> None:
    """32 layers x 8 heads x (128 + 128) x 2 bytes are 131072 a token; blocks of 16, one spare."""
    found = need([attention_layer(full())] * 32, plan(8192))
    assert found.per_token == 131_072
    assert found.low == 8192 * 131_072
    assert found.expected == (8192 + 16) * 131_072


def test_a_request_takes_whole_blocks() -> None:
    """17 tokens are two blocks of 16, and one block is the pool's placeholder."""
    found = need([attention_layer(full())], plan(17))
    assert found.expected == (2 + 1) * 16 * 8 * 256 * 2


@pytest.mark.parametrize(("tensor", "heads"), [(1, 8), (2, 4), (4, 2), (8, 1), (16, 1)])
def test_key_value_heads_split_over_ranks_one_at_least(tensor: int, heads: int) -> None:
    """8 heads on 16 ranks leave one on each: they are repeated, never halved."""
    found = need([attention_layer(full(kv_heads=8))], plan(16, tensor=tensor))
    assert found.per_token == heads * 256 * 2


@pytest.mark.parametrize("tensor", [1, 2, 8])
def test_latent_of_mla_is_whole_on_every_rank(tensor: int) -> None:
    """27 layers x (512 + 64) x 2 bytes are 31104 a token whatever the ranks."""
    found = need([attention_layer(latent())] * 27, plan(16, tensor=tensor))
    assert found.per_token == 27 * 576 * 2 == 31_104


def test_the_indexer_of_sparse_attention_caches_eight_bit_keys() -> None:
    """DeepSeek V3.2: 576 x 2 bytes of latent, 128 bytes of key and a 4-byte scale."""
    found = need([attention_layer(latent(index_size=128))], plan(16))
    assert found.per_token == 576 * 2 + 128 + 4


def test_sliding_layers_stop_growing_at_window_and_step() -> None:
    """Window 1024 and steps of 2048: 1023 + 2048 tokens are 192 blocks, one more for the edge."""
    layers = [attention_layer(sliding(1024))]
    block = 16 * 8 * 256 * 2
    asked = plan(65_536, batched_tokens=2048)
    assert need(layers, asked).expected == (192 + 1 + 1) * block
    assert need(layers, asked._replace(context_tokens=131_072)) == need(layers, asked)
    assert need(layers, asked).per_token == 0


def test_further_requests_keep_their_window_only() -> None:
    """A step is shared: the second request adds 1024 / 16 blocks and one for the edge."""
    layers = [attention_layer(sliding(1024))]
    block = 16 * 8 * 256 * 2
    one = need(layers, plan(65_536, batched_tokens=2048)).expected
    two = need(layers, plan(65_536, batched_tokens=2048, requests=2)).expected
    assert two - one == (64 + 1) * block


def test_groups_of_equal_size_pad_the_last() -> None:
    """Gemma 3 27B: 10 full and 52 sliding layers are 1 + 6 groups of 10, 70 layers in the pool."""
    layers = [attention_layer(sliding(1024))] * 52 + [attention_layer(full())] * 10
    a_layer = 8 * 256 * 2
    assert pool_bytes_per_token(layers, plan(), VLLM) == 70 * a_layer
    tokens = 1024 - 1 + 8192
    blocks = 131_072 // 16 + 6 * (-(-tokens // 16) + 1) + 1
    assert need(layers, plan(131_072)).expected == blocks * 16 * 10 * a_layer


def test_counts_that_are_close_pad_to_the_larger() -> None:
    """12 and 13 layers are two groups of 13, not 12 + 24 (vLLM's factor 1.25, 1.5 from 0.21 on)."""
    layers = [attention_layer(sliding(128))] * 12 + [attention_layer(full())] * 13
    assert pool_bytes_per_token(layers, plan(), VLLM) == 26 * 8 * 256 * 2


def test_two_kinds_that_grow_alike_are_one_group() -> None:
    """Full attention of two widths adds up without padding."""
    layers = [attention_layer(full(8))] * 3 + [attention_layer(full(4))] * 2
    assert pool_bytes_per_token(layers, plan(), VLLM) == (3 * 8 + 2 * 4) * 256 * 2


def test_attention_pages_grow_until_they_hold_a_state() -> None:
    """A state of 2 MiB and 1024 bytes a token: pages of 2048 tokens; 3 states per request."""
    tokens = 1024  # bytes of one token in one layer: 2 heads x 256 x 2
    layers = [attention_layer(state(524_288))] * 36 + [attention_layer(full(2, 128))] * 12
    page = 2048 * tokens
    found = need(layers, plan(4096))
    assert found.expected == (2 + 3 + 1) * 12 * page
    assert found.high == (2 + 3 + 3 + 1) * 12 * page


def test_states_split_over_ranks() -> None:
    """A recurrent state is cut by head: two ranks hold half each."""
    layers = [attention_layer(state(1_000_000))]
    assert need(layers, plan(tensor=2)).low * 2 == need(layers, plan()).low


def test_a_stage_holds_its_own_layers() -> None:
    """16 of 32 layers take half the bytes per token."""
    layers = [attention_layer(full())] * 32
    assert cache_need(layers, slice(16, 32), plan(16), VLLM).per_token == 65_536


def test_encoders_and_shared_layers_keep_nothing() -> None:
    """No layer caches: nothing, not even the spare block."""
    layers = [
        attention_layer(full())._replace(cache=full()._replace(kind=kind))
        for kind in ("none", "shared")
    ]
    assert need(layers, plan()) == CacheNeed(0, 0, 0, 0.0)


def test_llama_cpp_pads_cells_to_256() -> None:
    """1000 tokens are 1024 cells; Q8_0 takes 34 bytes per 32 elements."""
    layers = [attention_layer(full())] * 32
    asked = plan(1000, element_bytes=34 / 32, batched_tokens=512)
    assert need(layers, asked, LLAMA_CPP).expected == 1024 * 32 * 8 * 256 * 34 / 32


def test_llama_cpp_logs_agree() -> None:
    """A log: 262144 cells, 8 layers, 4 heads of 256, Q8_0 are 4352 MiB; 24 states 50.25 MiB."""
    attention = [attention_layer(full(4, 256))] * 8
    asked = plan(262_144, element_bytes=34 / 32, batched_tokens=512)
    assert need(attention, asked, LLAMA_CPP).expected == 4352 * 2**20
    recurrent = [attention_layer(state(32 * 128 * 128, 3 * 8192))] * 24
    assert need(recurrent, asked, LLAMA_CPP).expected == 50.25 * 2**20


def test_llama_cpp_may_keep_the_values_of_a_latent() -> None:
    """Older builds store 512 values beside the 576 elements: that is the upper bound."""
    found = need([attention_layer(latent())], plan(256), LLAMA_CPP)
    assert (found.expected, found.high) == (256 * 576 * 2, 256 * (576 + 512) * 2)


def test_sglang_gives_sliding_layers_a_fixed_share() -> None:
    """Per slot of the full layer the sliding one gets 0.8, however small its window."""
    layers = [attention_layer(full()), attention_layer(sliding(1024))]
    a_layer = 8 * 256 * 2
    found = need(layers, plan(99_999, batched_tokens=2048), SGLANG)
    assert found.expected == pytest.approx(100_000 * a_layer * 1.8)
    assert found.per_token == pytest.approx(1.8 * a_layer)


def test_sglang_gives_states_a_fixed_share() -> None:
    """States take 0.9 bytes per byte of keys and values, so those are 1 of 1.9 parts."""
    layers = [attention_layer(full()), attention_layer(state(1000))]
    found = need(layers, plan(99_999), SGLANG)
    assert found.expected == pytest.approx(1.9 * 100_000 * 8 * 256 * 2)


@pytest.mark.parametrize(
    ("name", "engine", "known", "size"),
    [
        ("", "vllm", "auto", 2.0),
        ("auto", "sglang", "auto", 2.0),
        ("", "llama.cpp", "F16", 2.0),
        ("fp8_e4m3", "vllm", "FP8", 1.0),
        ("q8_0", "llama.cpp", "Q8_0", 1.0625),
        ("Q4_0", "llama.cpp", "Q4_0", 0.5625),
        ("bfloat16", "vllm", "BF16", 2.0),
    ],
)
def test_cache_types_by_engine(name: str, engine: str, known: str, size: float) -> None:
    """Spelling does not matter; block formats carry their scales."""
    assert cache_dtype(name, engine, 2) == (known, size)


def test_auto_follows_float32_activations() -> None:
    """With weights in F32 vLLM keeps the cache in four bytes."""
    assert cache_dtype("", "vllm", 4) == ("F32", 4.0)


@pytest.mark.parametrize(
    ("name", "engine"),
    [("q8_0", "vllm"), ("fp8", "llama.cpp"), ("nonsense", "vllm"), ("\n", "vllm")],
)
def test_a_type_the_engine_lacks_is_refused(name: str, engine: str) -> None:
    """The error lists what the engine has."""
    with pytest.raises(SizingError) as caught:
        cache_dtype(name, engine, 2)
    assert caught.value.code == "SIZ003"
    assert caught.value.candidates
