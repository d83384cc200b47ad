"""What one decode step moves: weights by part and expert, caches by kind, shares by rank."""

from __future__ import annotations

import pytest

from claimfit.errors import SizingError
from claimfit.sizing.plan import EngineChoice, Parallelism, Workload
from claimfit.sizing.traffic import cache_bytes, distinct_experts, step_traffic
from support.sizing_models import (
    attention_layer,
    expert_layer,
    full,
    latent,
    llama_8b,
    model_of,
    sliding,
    state,
)

VLLM = EngineChoice("vllm")
ONE = Parallelism()
HEAD = 128_256 * 4096 * 2
LAYER = (2 * 4096 * 4096 + 2 * 4096 * 1024 + 2 * 4096 + 3 * 4096 * 14336) * 2


def traffic(model, context=1024, concurrency=1, parallelism=ONE, **workload):
    """Return the traffic of `model` under vLLM."""
    return step_traffic(model, VLLM, Workload(context, concurrency, **workload), parallelism)


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [(1, 8.0), (2, 15.5), (10**6, 128.0)],
)
def test_distinct_experts_of_a_batch(tokens: int, expected: float) -> None:
    """8 of 128 for one token; for two 128 x (1 - (120/128)^2) = 15.5; all of them for many."""
    assert distinct_experts(128, 8, tokens) == pytest.approx(expected)


def test_a_step_reads_layers_and_head_but_not_the_embedding() -> None:
    """Untied: the input embedding is looked up, one row per token."""
    found = traffic(llama_8b())

    assert found.dense_bytes == 32 * LAYER + HEAD
    assert found.expert_bytes == 0
    assert (found.layers, found.expert_layers, found.state_layers) == (32, 0, 0)


def test_a_tied_embedding_is_the_head() -> None:
    """Tied: the table is read once, as output head."""
    assert traffic(llama_8b(tied=True)).dense_bytes == 32 * LAYER + HEAD


def test_experts_are_read_by_what_the_batch_touches() -> None:
    """One token reads 8 of 128 experts of 3 x 2048 x 768 parameters in 16 bits.

    Two tokens count as 1.8 independent ones: 128 x (1 - (120/128)^1.8).
    """
    model = model_of((expert_layer(full(4)),) * 2, hidden=2048, vocabulary=1000)
    one = 3 * 2048 * 768 * 2

    assert traffic(model).expert_bytes == 2 * 8 * one
    two = traffic(model, concurrency=2).expert_bytes
    assert two == pytest.approx(2 * 128 * (1 - (120 / 128) ** 1.8) * one)
    assert traffic(model).expert_layers == 2


def test_ranks_share_weights_and_heads() -> None:
    """Two ranks read half of the weights and half of the 8 key/value heads."""
    whole, half = traffic(llama_8b()), traffic(llama_8b(), parallelism=Parallelism(2))

    assert half.dense_bytes == whole.dense_bytes / 2
    assert half.cache_bytes == whole.cache_bytes / 2
    assert half.operations == whole.operations / 2


def test_pipeline_stages_share_sequences_not_time() -> None:
    """A token passes all stages: all weights, a quarter of 10 sequences rounded up."""
    found = traffic(llama_8b(), concurrency=10, parallelism=Parallelism(1, 4))

    assert found.dense_bytes == 32 * LAYER + HEAD
    assert found.sequences == 3


@pytest.mark.parametrize(
    ("cache", "tokens", "tensor", "expected"),
    [
        (full(8), 100, 1, 100 * 8 * 256 * 2),
        (full(8), 100, 16, 100 * 1 * 256 * 2),  # a head at least
        (sliding(64), 100, 1, 64 * 8 * 256 * 2),
        (sliding(64), 10, 1, 10 * 8 * 256 * 2),
        (latent(512, 64), 100, 8, 100 * 576 * 2),  # whole on every rank
    ],
)
def test_cache_read_by_kind(cache, tokens: int, tensor: int, expected: int) -> None:
    """Keys and values by head and window, the latent whole."""
    assert cache_bytes(cache, tokens, 2.0, tensor) == expected


def test_a_recurrent_state_is_read_and_written_whatever_the_context() -> None:
    """A state of 1000 elements of 4 bytes counts twice at any length."""
    assert cache_bytes(state(1000), 5, 2.0, 1) == cache_bytes(state(1000), 50_000, 2.0, 1) == 8000


def test_sparse_attention_reads_index_keys_and_2048_tokens() -> None:
    """An indexer's 128 + 4 bytes for each of 10,000 tokens, the latent of 2048 of them."""
    expected = 10_000 * (128 + 4) + 2048 * 576 * 2
    assert cache_bytes(latent(512, 64, 128), 10_000, 2.0, 1) == expected


def test_cache_type_of_the_workload_counts() -> None:
    """FP8 halves what 16 bits take."""
    wide, narrow = traffic(llama_8b()), traffic(llama_8b(), kv_dtype="fp8")

    assert narrow.cache_bytes * 2 == wide.cache_bytes == 32 * 1024 * 8 * 256 * 2


def test_mxfp4_under_llama_cpp_keeps_eight_bits_beside_the_experts() -> None:
    """Experts at 4.25 bits either way; the head of 2048 x 1000 at 8.5 bits instead of 16."""
    model = model_of((expert_layer(full(4)),), hidden=2048, vocabulary=1000, quantization="MXFP4")
    here = step_traffic(model, EngineChoice("llama.cpp"), Workload(100), ONE)
    there = step_traffic(model, VLLM, Workload(100), ONE)

    assert here.expert_bytes == there.expert_bytes == 8 * 3 * 2048 * 768 * 4.25 / 8
    assert there.dense_bytes - here.dense_bytes > 2048 * 1000 * (16 - 8.5) / 8


def test_an_embedding_model_has_no_decode_speed() -> None:
    """A model that generates nothing is refused."""
    with pytest.raises(SizingError) as caught:
        traffic(llama_8b(task="embed"))
    assert caught.value.code == "SIZ050"


@pytest.mark.parametrize("value", [0, -1, 10**400])
@pytest.mark.parametrize("field", ["context_tokens", "concurrency", "tensor", "pipeline"])
def test_numbers_out_of_range_are_refused(field: str, value: int) -> None:
    """Zero, negative and absurd numbers are errors, never overflows."""
    workload, parallelism = Workload(100, 1), Parallelism(1, 1)
    if field in Workload._fields:
        workload = workload._replace(**{field: value})
    else:
        parallelism = parallelism._replace(**{field: value})
    with pytest.raises(SizingError) as caught:
        step_traffic(model_of((attention_layer(full()),)), VLLM, workload, parallelism)
    assert caught.value.code == "SIZ056"


@pytest.mark.parametrize(
    ("own", "asked", "dense", "experts"),
    [
        ("BF16", "", 16, 16),
        ("FP8", "", 8, 8),
        ("INT8", "", 8, 8),
        ("NVFP4", "", 4, 4),
        ("MXFP4", "", 16, 4),  # experts alone are in 4 bits
        ("BF16", "AWQ", 0, 0),
        ("BF16", "Q4_K_M", 0, 0),
        ("BF16", "Q8_0", 0, 0),
    ],
)
def test_formats_of_the_weights(own: str, asked: str, dense: int, experts: int) -> None:
    """What tensor cores multiply as it is stored, by the width of the part; else 0: unpacked."""
    model = model_of((expert_layer(full(4)),), hidden=2048, vocabulary=1000, quantization=own)
    found = traffic(model, quantization=asked)

    assert (found.dense_bits, found.expert_bits) == (dense, experts)


def test_a_single_stream_meets_no_prompts() -> None:
    """Its own prompt is over when its answer begins."""
    found = traffic(llama_8b())

    assert found.prompt_tokens == 0
    assert found.prompt_operations == found.prompt_attention_operations == 0


def test_other_streams_bring_their_prompts() -> None:
    """Three others, two prompt tokens per answer token: six in a step, of prompts of 2/3 of 900.

    A token multiplies all layers, no head, and attends to half of 600: 2 x 32 heads x 256 elements.
    """
    found = traffic(llama_8b(), context=900, concurrency=4, prompt_ratio=2.0)

    assert found.prompt_tokens == 6
    assert found.prompt_operations == pytest.approx(6 * 32 * LAYER)  # 2 per parameter, 2 bytes each
    attention = 32 * 2 * 32 * 256 * 300
    assert found.prompt_attention_operations == pytest.approx(6 * attention)


def test_prompts_attend_within_window_and_index() -> None:
    """A window of 64 and an index of 2048 tokens bound what a token of a long prompt sees."""
    layers = (
        attention_layer(sliding(64), hidden=2048, heads=16),
        attention_layer(latent(512, 64, 128), hidden=2048, heads=16),
        attention_layer(state(1000), hidden=2048, heads=16),
    )
    model = model_of(layers, hidden=2048, vocabulary=1000)
    found = traffic(model, context=100_000, concurrency=2)

    assert found.prompt_attention_operations == 2 * 16 * (256 * 64 + 320 * 2048)
    assert (found.latent_layers, found.indexed_layers) == (1, 1)
