"""What must hold for the decode speed of every model, device and workload."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from claimfit.errors import SizingError
from claimfit.hardware.accelerators import accelerators
from claimfit.sizing.calibration import Calibration, Observation, correction
from claimfit.sizing.coefficients import coefficients
from claimfit.sizing.plan import EngineChoice, Parallelism, Rate, Workload
from claimfit.sizing.speed import bandwidth_floor, rate
from claimfit.sizing.traffic import distinct_experts, step_traffic
from support.sizing_models import (
    attention_layer,
    expert_layer,
    full,
    latent,
    model_of,
    sliding,
    state,
)
from support.speed_devices import device

CACHES = st.sampled_from([full(8), full(1), sliding(1024), latent(), latent(512, 64, 128)])
LAYERS = st.one_of(
    CACHES.map(lambda cache: attention_layer(cache, hidden=2048, heads=16, width=5632)),
    CACHES.map(expert_layer),
    st.just(attention_layer(state(100_000), hidden=2048, heads=16, width=5632)),
)
MODELS = st.lists(LAYERS, min_size=1, max_size=6).map(
    lambda layers: model_of(tuple(layers) * 8, hidden=2048, vocabulary=50_000)
)
ENGINES = st.sampled_from(["vllm", "sglang", "llama.cpp"]).map(EngineChoice)
DEVICES = st.sampled_from([item for item in accelerators() if item.bandwidth_gbs])
WORKLOADS = st.builds(
    Workload,
    context_tokens=st.integers(1, 131_072),
    concurrency=st.integers(1, 256),
    quantization=st.sampled_from(["", "FP8", "Q4_K_M", "Q8_0", "AWQ"]),
)
PARALLEL = st.sampled_from([Parallelism(), Parallelism(2), Parallelism(8), Parallelism(1, 2)])
ROUNDING = 1 - 1e-9  # terms are added up as floats
SETTINGS = settings(max_examples=120, deadline=None)


def speed(model, card, engine, workload, parallelism=Parallelism()) -> Rate:  # noqa: B008  # a value
    """Return the rate, checked for what every rate must be."""
    found = rate(model, card, engine, workload, parallelism)
    assert 0 < found.p10 <= found.p50 <= found.p90 < math.inf
    assert all(milliseconds >= 0 for _, milliseconds in found.terms)
    return found


@SETTINGS
@given(MODELS, DEVICES, ENGINES, WORKLOADS, PARALLEL)
def test_p10_p50_p90_are_ordered_and_finite(model, card, engine, workload, parallelism) -> None:
    """Every rate is positive, finite and ordered; aggregate is all streams together."""
    found = speed(model, card, engine, workload, parallelism)

    assert found.aggregate_p50 == found.p50 * workload.concurrency


@SETTINGS
@given(MODELS, ENGINES, WORKLOADS, st.floats(50, 10_000), st.floats(1, 10))
def test_more_bandwidth_is_never_slower(model, engine, workload, bandwidth, factor) -> None:
    """The same device with more bandwidth decodes at least as fast."""
    slow = speed(model, device(bandwidth_gbs=bandwidth), engine, workload)
    fast = speed(model, device(bandwidth_gbs=bandwidth * factor), engine, workload)

    assert fast.p50 >= slow.p50 * ROUNDING


@SETTINGS
@given(MODELS, DEVICES, ENGINES, WORKLOADS, st.integers(1, 100_000))
def test_more_context_is_never_faster(model, card, engine, workload, more) -> None:
    """A longer cache takes at least as long to read."""
    longer = workload._replace(context_tokens=workload.context_tokens + more)

    slow, fast = speed(model, card, engine, longer), speed(model, card, engine, workload)

    assert fast.p50 >= slow.p50 * ROUNDING


@SETTINGS
@given(MODELS, DEVICES, ENGINES, WORKLOADS, st.integers(1, 256))
def test_concurrency_slows_streams_and_raises_the_total(
    model, card, engine, workload, more
) -> None:
    """More streams: each at most as fast, all together at least as fast, their prompts apart.

    A newcomer's prompt may cost more than its stream adds: one stream alone meets no prompts.
    """
    for ratio in (0.0, 1.0):
        fewer = workload._replace(prompt_ratio=ratio)
        fuller = fewer._replace(concurrency=workload.concurrency + more)
        few, many = speed(model, card, engine, fewer), speed(model, card, engine, fuller)

        assert few.p50 >= many.p50 * ROUNDING
        if not ratio:
            assert many.aggregate_p50 >= few.aggregate_p50 * ROUNDING


@SETTINGS
@given(MODELS, DEVICES, WORKLOADS)
def test_wider_weights_are_never_faster(model, card, workload) -> None:
    """16 bits against 8 against about 4.5 of the same model."""
    speeds = [
        speed(model, card, EngineChoice("llama.cpp"), workload._replace(quantization=name)).p50
        for name in ("F16", "Q8_0", "Q4_K_M")
    ]
    assert speeds[1] >= speeds[0] * ROUNDING
    assert speeds[2] >= speeds[1] * ROUNDING


@SETTINGS
@given(MODELS, WORKLOADS, st.sampled_from([1, 2, 4, 8]))
def test_ranks_read_no_more_than_one_device(model, workload, tensor) -> None:
    """Tensor parallelism never adds weights or cache to a rank."""
    one = step_traffic(model, EngineChoice("vllm"), workload, Parallelism())
    split = step_traffic(model, EngineChoice("vllm"), workload, Parallelism(tensor))

    assert split.dense_bytes <= one.dense_bytes
    assert split.expert_bytes <= one.expert_bytes
    assert split.cache_bytes <= one.cache_bytes


@SETTINGS
@given(st.integers(1, 1024), st.integers(1, 64), st.integers(1, 4096))
def test_distinct_experts_lie_between_one_token_and_all(experts, chosen, tokens) -> None:
    """At least what one token takes, at most all, and never fewer for more tokens."""
    chosen = min(chosen, experts)
    found = distinct_experts(experts, chosen, tokens)

    assert chosen - 1e-9 <= found <= experts + 1e-9
    assert found <= distinct_experts(experts, chosen, tokens + 1) + 1e-9


@SETTINGS
@given(MODELS, ENGINES, WORKLOADS, PARALLEL, st.floats(0.1, 200), st.floats(1, 4))
def test_a_faster_floor_asks_for_no_less_bandwidth(
    model, engine, workload, parallelism, min_tps, factor
) -> None:
    """The bandwidth floor grows with the speed, or the faster one is refused."""
    asked = (model, engine, workload, parallelism)
    try:
        faster = bandwidth_floor(*asked, min_tps * factor).gbs
    except SizingError as error:
        assert error.code in {"SIZ053", "SIZ054"}  # one of two outcomes
        return
    slower = bandwidth_floor(*asked, min_tps).gbs

    assert 1 <= slower <= faster


@SETTINGS
@given(st.lists(st.floats(0.2, 5.0), min_size=1, max_size=30))
def test_any_measurements_give_a_usable_correction(ratios) -> None:
    """However wild the rows, the factors are positive and finite and so is the spread."""
    card = next(item for item in accelerators() if item.id == "nvidia-gb10")
    engine = EngineChoice("llama.cpp")
    model = model_of((attention_layer(full()),) * 8)
    rows = []
    for index, ratio in enumerate(ratios):
        workload = Workload(100 + index)
        found = rate(model, card, engine, workload, Parallelism())
        traffic = step_traffic(model, engine, workload, Parallelism())
        rows.append(
            Observation(
                card.id, "llama.cpp", "", "m", "", 100 + index, 1, 1, found.p50 * ratio, traffic, ""
            )
        )
    fixed, transfer, spread, used, outliers = correction(coefficients(card, engine), card, rows)

    assert all(math.isfinite(value) and value > 0 for value in (fixed, transfer, spread))
    assert used + len(outliers) == len(ratios)
    adjusted = rate(model, card, engine, Workload(100), Parallelism(), Calibration(tuple(rows)))
    assert 0 < adjusted.p10 <= adjusted.p50 <= adjusted.p90


@SETTINGS
@given(MODELS, ENGINES, WORKLOADS, DEVICES, DEVICES)
def test_one_device_says_nothing_about_another(model, engine, workload, first, second) -> None:
    """Asking about a second device, or measuring it, leaves the first as it was."""
    before = speed(model, first, engine, workload)
    other = speed(model, second, engine, workload)
    traffic = step_traffic(model, engine, workload, Parallelism())
    row = Observation(
        "another-device", engine.name, "", "m", "", 1, 1, 1, other.p50 * 2, traffic, ""
    )
    after = rate(model, first, engine, workload, Parallelism(), Calibration((row,)))

    assert after == before
