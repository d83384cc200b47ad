"""The account of the heaviest device, and the floor that a claim asks for."""

from __future__ import annotations

import math

import pytest

from claimfit.errors import ModelError, SizingError
from claimfit.model.facts import LoraAdapters
from claimfit.sizing.inverse import largest_concurrency, largest_context
from claimfit.sizing.memory import size
from claimfit.sizing.plan import EngineChoice, Parallelism, Workload
from claimfit.units import GIB, MIB, Bytes
from support.sizing_models import (
    attention_layer,
    expert_layer,
    full,
    latent,
    llama_8b,
    model_of,
    sliding,
)

VLLM = EngineChoice("vllm", "0.19.0")
H100 = Bytes(81_559 * MIB)


def qwen3_30b():
    """Return the shape of Qwen3-30B-A3B."""
    return model_of((expert_layer(full(4)),) * 48, hidden=2048, vocabulary=151_936, context=40_960)


def test_the_total_is_the_sum_of_its_components() -> None:
    """Low, expected and high add up, in this order."""
    need = size(llama_8b(), VLLM, Workload(8192))
    names = [item.name for item in need.components]
    assert names == ["weights", "kv_cache", "activation", "runtime", "graphs"]
    for bound in ("low", "expected", "high"):
        assert getattr(need.total, bound) == sum(
            getattr(item.bytes, bound) for item in need.components
        )
    assert need.total.low < need.total.expected < need.total.high


def test_the_floor_is_high_over_utilization_plus_reserve_in_whole_mib() -> None:
    """Bytes the driver publishes but no framework sees come on top, undivided."""
    reserve = Bytes(500 * MIB)
    need = size(llama_8b(), VLLM, Workload(8192), board_reserve=reserve)
    exact = need.total.high / 0.9 + reserve
    assert need.floor == math.ceil(exact / MIB) * MIB
    assert need.reserve == reserve
    assert need.utilization == 0.9


def test_sampling_sets_the_activation_of_a_small_layer() -> None:
    """1024 sequences x 128256 x (12.5 + 2) bytes, 1.2 x 8192 x 4096 x 2, and the base."""
    need = size(llama_8b(), VLLM, Workload(8192), device_memory=H100)
    expected = 1024 * 128_256 * 14.5 + 1.2 * 8192 * 4096 * 2 + 0.038 * GIB
    assert need.component("activation").expected == pytest.approx(expected)


def test_a_layer_sets_the_activation_of_a_small_vocabulary() -> None:
    """8192 tokens x 3 x 11008 x 2 bytes and 4.25 copies of the hidden states (CodeLlama 7B)."""
    model = model_of((attention_layer(full(32), width=11_008),) * 32, vocabulary=32_016)
    need = size(model, VLLM, Workload(8192), device_memory=H100)
    expected = 8192 * 3 * 11_008 * 2 + 4.25 * 8192 * 4096 * 2
    assert need.component("activation").expected == pytest.approx(expected)


def test_smaller_devices_run_smaller_steps() -> None:
    """Below 70 GiB vLLM takes 2048 tokens and 256 sequences, and so does an unknown device."""
    small = size(llama_8b(), VLLM, Workload(8192), device_memory=Bytes(24 * GIB))
    unknown = size(llama_8b(), VLLM, Workload(8192))
    at_small = small.component("activation")
    assert at_small.expected == pytest.approx(
        256 * 128_256 * 14.5 + 1.2 * 2048 * 4096 * 2 + 0.038 * GIB
    )
    assert unknown.components == small.components


def test_a_floor_without_a_device_holds_on_every_device_that_has_it() -> None:
    """Any device that publishes the floor is large enough for the steps that vLLM takes on it.

    8 B parameters need about 20 GiB under either class of steps, so the smaller floor is asked for;
    32k tokens for 16 requests push the larger class beyond 70 GiB, and then its floor is.
    """
    for requests in (1, 4, 8, 10, 12, 14, 16, 20):
        workload = Workload(32_768, requests)
        floor = size(llama_8b(), VLLM, workload).floor
        for gib in range(16, 200):
            memory = Bytes(gib * GIB)
            if memory >= floor:
                need = size(llama_8b(), VLLM, workload, device_memory=memory)
                assert need.floor <= memory, (requests, gib)


def test_settings_replace_the_engine_defaults() -> None:
    """Tokens and sequences that the user gives hold on every device, without an assumption."""
    asked = Workload(8192, max_batched_tokens=2048, max_sequences=16)
    need = size(llama_8b(), VLLM, asked)
    layer = 2048 * 3 * 14_336 * 2 + 4.25 * 2048 * 4096 * 2
    assert need.component("activation").expected == pytest.approx(layer)
    assert not any("tokens and" in line for line in need.assumptions)


def test_float32_doubles_weights_cache_and_logits() -> None:
    """F32 by name: four bytes everywhere."""
    wide = size(llama_8b(), VLLM, Workload(8192, quantization="F32"), device_memory=H100)
    narrow = size(llama_8b(), VLLM, Workload(8192), device_memory=H100)
    for name in ("weights", "kv_cache"):
        assert wide.component(name).expected == 2 * narrow.component(name).expected
    more = wide.component("activation").expected - narrow.component("activation").expected
    assert more == pytest.approx(1024 * 128_256 * 2 + 1.2 * 8192 * 4096 * 2)


def test_a_quantized_cache_halves_the_cache_only() -> None:
    """FP8 keys and values are one byte each."""
    half = size(llama_8b(), VLLM, Workload(8192, kv_dtype="fp8"))
    whole = size(llama_8b(), VLLM, Workload(8192))
    assert half.component("kv_cache").expected * 2 == whole.component("kv_cache").expected
    assert half.component("weights") == whole.component("weights")
    assert half.kv_bytes_per_token * 2 == whole.kv_bytes_per_token == 131_072


def test_ranks_share_weights_not_sampling() -> None:
    """TP 4: about a quarter of the weights, the same activation, 2 GiB of NCCL buffers."""
    one, four = (size(llama_8b(), VLLM, Workload(8192), Parallelism(t)) for t in (1, 4))
    assert four.component("weights").expected == pytest.approx(
        one.component("weights").expected / 4, rel=0.01
    )
    assert four.component("activation") == one.component("activation")
    assert four.component("runtime").expected > 2 * GIB > one.component("runtime").expected


def test_the_last_stage_is_the_heaviest_of_equal_ones() -> None:
    """It samples: its activation is that of one device, with 2 received hidden states more."""
    one = size(llama_8b(), VLLM, Workload(8192), device_memory=H100)
    two = size(llama_8b(), VLLM, Workload(8192), Parallelism(1, 2), device_memory=H100)
    more = two.component("activation").expected - one.component("activation").expected
    assert more == pytest.approx(2 * 8192 * 4096 * 2)
    assert two.component("kv_cache").expected * 2 == one.component("kv_cache").expected


def test_unpacked_latents_enlarge_the_layer_of_mla() -> None:
    """64 Ki cached tokens x 16 heads x 256 x 2 bytes beside the experts of a step."""
    layer = expert_layer(latent(), heads=16, width=1408, experts=64, per_token=6)
    model = model_of((layer,) * 27, hidden=2048, vocabulary=64)
    need = size(model, VLLM, Workload(8192), device_memory=H100)
    hidden = 8192 * 2048 * 2
    experts = 8192 * 6 * (3 * 1408 + 2 * 2048) * 2 + 5 * hidden
    assert need.component("activation").expected == pytest.approx(experts + 65_536 * 16 * 256 * 2)


def test_encoders_have_no_cache_and_no_sampling() -> None:
    """A request of an encoder is one step, and nothing is kept."""
    layer = attention_layer(full()._replace(kind="none"))
    model = model_of((layer,) * 12, task="embed", context=8192, vocabulary=250_002)
    need = size(model, VLLM, Workload(8192))
    assert need.component("kv_cache").high == 0
    assert need.component("activation").high < GIB * 2
    assert need.kv_bytes_per_token == 0


def test_adapters_take_rank_times_inputs_and_outputs() -> None:
    """4 adapters of rank 16: the matrices of 32 layers, in 16 bits."""
    need = size(llama_8b(), VLLM, Workload(8192, lora=LoraAdapters(4, 16)))
    ins = 3 * 4096 + 4096 + 2 * 4096 + 14_336
    outs = 4096 + 1024 + 1024 + 4096 + 2 * 14_336 + 4096
    assert need.component("lora").expected == 4 * 16 * 2 * 32 * (ins + outs)
    assert size(llama_8b(), VLLM, Workload(8192)).component("lora").high == 0


def test_llama_cpp_has_a_compute_buffer_and_no_budget() -> None:
    """512 x 128256 x 4 bytes of logits and two hidden states; no share of the device."""
    need = size(llama_8b(), EngineChoice("llama.cpp"), Workload(8192))
    assert need.utilization == 1.0
    expected = 512 * 128_256 * 4 + 2 * 512 * 4096 * 4
    assert need.component("activation").expected == pytest.approx(expected)
    assert [item.name for item in need.components] == [
        "weights", "kv_cache", "activation", "runtime",
    ]  # fmt: skip
    assert any("embedding in host memory" in line for line in need.assumptions)


def test_llama_cpp_logs_lie_within_the_bounds() -> None:
    """A 27B hybrid with 200192 cells logs 654.78 MiB of compute buffer, a 9B with 262144 808.02."""
    for hidden, width, context, logged in (
        (5120, 17_408, 200_192, 654.78),
        (4096, 12_288, 262_144, 808.02),
    ):
        layer = attention_layer(full(4, 256), hidden=hidden, width=width)
        model = model_of((layer,), hidden=hidden, vocabulary=248_320, context=262_144)
        found = size(model, EngineChoice("llama.cpp"), Workload(context)).component("activation")
        assert found.low <= logged * MIB <= found.high
        assert found.expected == pytest.approx(logged * MIB, rel=0.12)


def test_sglang_leaves_free_what_its_own_rule_says() -> None:
    """H100: 8192 x 1.5 + 256 x 2 + 512 + 1024 / 8 MiB; plus a context of half a GiB."""
    need = size(llama_8b(), EngineChoice("sglang"), Workload(8192), device_memory=H100)
    free = sum(need.component(name).expected for name in ("activation", "graphs", "runtime"))
    assert free == pytest.approx((8192 * 1.5 + 256 * 2 + 512 + 128 + 512) * MIB)


def test_sglang_follows_the_smallest_device_that_fits() -> None:
    """An 8B model fits a 24 GiB device with small chunks; a 70B model needs the large ones."""
    small = size(llama_8b(), EngineChoice("sglang"), Workload(8192))
    assert small.component("activation").expected == 2048 * 1.5 * MIB
    large = model_of(
        (attention_layer(full(), hidden=8192, heads=64, width=28_672),) * 80, hidden=8192
    )
    assert (
        size(large, EngineChoice("sglang"), Workload(8192)).component("activation").expected
        > 10 * GIB
    )


def test_sglang_fraction_holds_weights_and_cache() -> None:
    """With a fraction given, the rest of the device holds everything else."""
    asked = Workload(8192, gpu_memory_utilization=0.8)
    need = size(llama_8b(), EngineChoice("sglang"), asked, device_memory=H100)
    static = need.component("weights").high + need.component("kv_cache").high
    everything = sum(item.bytes.high for item in need.components)
    assert need.total.high == max(static, 0.8 * everything)


def test_an_unmeasured_version_is_wider_and_warned_about() -> None:
    """Outside the known versions bounds grow and the basis says so."""
    known = size(llama_8b(), VLLM, Workload(8192))
    beyond = size(llama_8b(), EngineChoice("vllm", "0.99"), Workload(8192))
    assert beyond.basis == "extrapolated"
    assert beyond.warnings
    assert not known.warnings
    assert beyond.component("graphs").high > known.component("graphs").high
    assert "0.99" in beyond.engine


def test_a_vision_tower_is_counted_once_per_rank() -> None:
    """What engines repeat on every rank is not divided."""
    from claimfit.model.facts import Component

    tower = Component("vision tower", 400_000_000)
    plain = size(llama_8b(), VLLM, Workload(8192), Parallelism(2))
    seeing = size(
        llama_8b(multimodal=True, components=(tower,)), VLLM, Workload(8192), Parallelism(2)
    )
    more = seeing.component("weights").expected - plain.component("weights").expected
    assert more == 800_000_000


# ---- refusals


@pytest.mark.parametrize(
    ("workload", "code"),
    [
        (Workload(0), "SIZ001"),
        (Workload(-5), "SIZ001"),
        (Workload(10**400), "SIZ001"),
        (Workload(float("nan")), "SIZ001"),  # type: ignore[arg-type]
        (Workload(131_073), "SIZ002"),
        (Workload(8192, concurrency=0), "SIZ001"),
        (Workload(8192, concurrency=10**9), "SIZ001"),
        (Workload(8192, gpu_memory_utilization=1.01), "SIZ001"),
        (Workload(8192, gpu_memory_utilization=-0.5), "SIZ001"),
        (Workload(8192, gpu_memory_utilization=5e-324), "SIZ001"),
        (Workload(8192, gpu_memory_utilization=math.nan), "SIZ001"),
        (Workload(8192, gpu_memory_utilization=math.inf), "SIZ001"),
        (Workload(8192, max_batched_tokens=-1), "SIZ001"),
        (Workload(8192, concurrency=8, max_sequences=4), "SIZ004"),
        (Workload(8192, max_batched_tokens=64, max_sequences=128), "SIZ006"),
        (Workload(8192, kv_dtype="q4_0"), "SIZ003"),
        (Workload(8192, lora=LoraAdapters(0, 16)), "SIZ001"),
        (Workload(8192, lora=LoraAdapters(1, -1)), "SIZ001"),
    ],
)
def test_numbers_that_make_no_plan(workload: Workload, code: str) -> None:
    """Each has its code, and the error says what would have been right."""
    with pytest.raises(SizingError) as caught:
        size(llama_8b(), VLLM, workload)
    assert caught.value.code == code
    assert caught.value.expected


def test_the_context_error_names_the_longest() -> None:
    """The model's own context is the first candidate."""
    with pytest.raises(SizingError) as caught:
        size(llama_8b(), VLLM, Workload(200_000))
    assert caught.value.candidates == ("131072",)


def test_an_unknown_quantization_is_refused() -> None:
    """Never a default number of bits."""
    with pytest.raises(ModelError):
        size(llama_8b(), VLLM, Workload(8192, quantization="Q4_K_X"))


def test_a_model_without_shape_is_refused() -> None:
    """No layers, or no hidden size: the missing fact is named."""
    for model in (llama_8b()._replace(layers=()), llama_8b()._replace(hidden_size=0)):
        with pytest.raises(SizingError) as caught:
            size(model, VLLM, Workload(8192))
        assert caught.value.code == "SIZ005"


# ---- public reports of what went wrong


def test_report_of_a_multi_head_model_at_full_context() -> None:
    """7.7B, 32 KV heads, 32768 tokens on 24 GiB at 0.9: 0.5 MiB a token, 16 GiB, does not fit."""
    layer = attention_layer(full(32), width=11_008)
    model = model_of((layer,) * 32, vocabulary=151_851, context=32_768)
    asked = Workload(32_768, gpu_memory_utilization=0.9)
    need = size(model, VLLM, asked, device_memory=Bytes(24 * GIB))
    assert need.kv_bytes_per_token == 524_288
    assert need.component("kv_cache").low == 16 * GIB
    assert need.component("weights").expected == pytest.approx(14.4 * GIB, rel=0.01)
    assert need.floor > 32 * GIB
    fits = largest_context(model, VLLM, asked, device_memory=Bytes(24 * GIB))
    assert 7000 <= fits <= 14_000


def test_report_of_a_long_context_on_24_gib() -> None:
    """8B with grouped heads at 131072 tokens: 16 GiB of cache; 39000 to 54000 tokens fit."""
    asked = Workload(131_072, gpu_memory_utilization=0.9)
    need = size(llama_8b(), VLLM, asked, device_memory=Bytes(24 * GIB))
    assert need.component("kv_cache").low == 16 * GIB
    assert need.total.low > 31 * GIB
    fits = largest_context(llama_8b(), VLLM, asked, device_memory=Bytes(24 * GIB))
    assert 30_000 <= fits <= 54_000


def test_report_of_experts_sized_by_active_parameters() -> None:
    """Idle experts are resident: the weights follow all 48 x 128 of them."""
    need = size(qwen3_30b(), VLLM, Workload(8192))
    everything = qwen3_30b().parameters * 2
    assert need.component("weights").expected == pytest.approx(everything, rel=0.001)


def test_report_of_a_context_that_was_assumed() -> None:
    """The cache at 8192 tokens is a thirty-second of that at 262144."""
    model = model_of((attention_layer(full(8)),) * 20, context=262_144)
    llama = EngineChoice("llama.cpp")
    short, whole = (
        size(model, llama, Workload(n)).component("kv_cache").low for n in (8192, 262_144)
    )
    assert short * 32 == whole


# ---- the inverse


def test_the_longest_context_fits_and_one_more_does_not() -> None:
    """Bisection and `size` agree to the token."""
    memory = Bytes(24 * GIB)
    asked = Workload(1, gpu_memory_utilization=0.95)
    found = largest_context(llama_8b(), VLLM, asked, device_memory=memory)
    assert 0 < found < 131_072
    for context, fits in ((found, True), (found + 1, False)):
        need = size(llama_8b(), VLLM, asked._replace(context_tokens=context), device_memory=memory)
        assert (need.floor <= memory) is fits


def test_the_longest_context_ends_at_the_model() -> None:
    """On a large device the model's own context is the answer; on a tiny one none."""
    assert largest_context(llama_8b(), VLLM, Workload(1), device_memory=H100) == 131_072
    assert largest_context(llama_8b(), VLLM, Workload(1), device_memory=Bytes(8 * GIB)) == 0


def test_the_most_requests_fit_and_one_more_does_not() -> None:
    """The same for concurrency; a limit of sequences caps it."""
    asked = Workload(8192)
    found = largest_concurrency(llama_8b(), VLLM, asked, device_memory=H100)
    assert found > 1
    for requests, fits in ((found, True), (found + 1, False)):
        need = size(llama_8b(), VLLM, asked._replace(concurrency=requests), device_memory=H100)
        assert (need.floor <= H100) is fits
    capped = largest_concurrency(
        llama_8b(), VLLM, asked._replace(max_sequences=3), device_memory=H100
    )
    assert capped == 3


def test_sliding_layers_lengthen_the_context() -> None:
    """Five sliding layers to a full one hold several times the tokens of six full ones."""
    mixed = model_of((*(attention_layer(sliding(1024)),) * 5, attention_layer(full())) * 5)
    plain = model_of((attention_layer(full()),) * 30)
    memory = Bytes(24 * GIB)
    long, short = (
        largest_context(m, VLLM, Workload(1), device_memory=memory) for m in (mixed, plain)
    )
    assert long > 3 * short > 0
