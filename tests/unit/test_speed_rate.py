"""Decode speed from traffic and coefficients, and the bandwidth that a speed asks for."""

from __future__ import annotations

import math

import pytest

from claimfit.errors import SizingError
from claimfit.sizing.calibration import Calibration
from claimfit.sizing.coefficients import coefficients, prior
from claimfit.sizing.plan import EngineChoice, Parallelism, Workload
from claimfit.sizing.speed import bandwidth_floor, rate, step_terms
from support.sizing_models import llama_8b
from support.speed_devices import ROUND, STEP, device

LLAMA_CPP = EngineChoice("llama.cpp")
VLLM = EngineChoice("vllm")
ONE = Parallelism()


def test_terms_of_a_step() -> None:
    """Fixed 100 + 32x10 + 30x20 + 2x5 + 50 + 100x1 us; 4/0.8 + 1/0.5 ms; 0.2/0.4 ms."""
    terms = dict(step_terms(STEP, ROUND, device(), ONE))

    assert terms == {
        "fixed": pytest.approx(1.18),
        "weights": pytest.approx(7.0),
        "cache": pytest.approx(0.5),
        "arithmetic": 0.0,
    }


def test_arithmetic_counts_where_it_exceeds_the_reads() -> None:
    """10^10 operations at half of 1 TFLOPS take 20 ms, 13 beyond the reads of 7."""
    terms = dict(step_terms(STEP, ROUND, device(tflops_fp16=1.0), ONE))

    assert terms["arithmetic"] == pytest.approx(13.0)


def test_collectives_of_ranks_and_stages() -> None:
    """Two ranks: 64 all-reduces of 10 us and 8192 bytes at 50 GB/s; two stages: one hand-over."""
    linked = device(link_gbs=100.0)
    ranks = dict(step_terms(STEP, ROUND, linked, Parallelism(2)))["collectives"]
    stages = dict(step_terms(STEP, ROUND, linked, Parallelism(1, 2)))["collectives"]

    assert ranks == pytest.approx(64 * (0.010 + 8192 / 50e6))
    assert stages == pytest.approx(0.010 + 8192 / 50e6)


def test_weights_without_a_unit_are_unpacked() -> None:
    """5 GB in 4 bits: 7 ms of reads, and 100 operations per byte at 50 TFLOPS are 10 ms more."""
    packed = STEP._replace(dense_bits=4, expert_bits=4)
    chosen = ROUND._replace(unpack_operations=100.0, four_bit_efficiency=0.4)
    hopper = device(tflops_fp16=50.0, tflops_fp8=100.0)
    blackwell = device(tflops_fp16=50.0, tflops_fp8=100.0, tflops_fp4=200.0)

    assert dict(step_terms(packed, chosen, hopper, ONE))["weights"] == pytest.approx(17.0)
    assert dict(step_terms(packed, chosen, blackwell, ONE))["weights"] == pytest.approx(12.0)


def test_prompts_of_others_take_arithmetic_and_collectives() -> None:
    """3e10 + 1e10 operations at 0.2 and 0.4 of 10 TFLOPS; 3 tokens of 8192 bytes on the ring."""
    step = STEP._replace(
        prompt_tokens=3.0, prompt_operations=3e10, prompt_attention_operations=1e10
    )
    card = device(tflops_fp16=10.0, link_gbs=100.0)
    one = dict(step_terms(step, ROUND, card, ONE))
    two = dict(step_terms(step, ROUND, card, Parallelism(2)))

    assert one["prompts"] == pytest.approx(15.0 + 2.5)
    assert two["prompts"] == pytest.approx(17.5 + 64 * 3 * 8192 / 50e6)
    assert "prompts" not in dict(step_terms(STEP, ROUND, card, ONE))


def test_prompts_of_a_device_without_known_arithmetic_take_no_time() -> None:
    """Nothing is made up."""
    step = STEP._replace(prompt_tokens=3.0, prompt_operations=3e10)

    assert dict(step_terms(step, ROUND, device(), ONE))["prompts"] == 0.0


def test_rate_is_the_inverse_of_the_step_with_its_spread() -> None:
    """One token of each stream per step; p10 and p90 are shares of p50."""
    found = rate(llama_8b(), device(), VLLM, Workload(1024, 4), ONE)
    chosen = coefficients(device(), VLLM)
    step_ms = sum(milliseconds for _, milliseconds in found.terms)

    assert found.p50 == pytest.approx(1000 / step_ms)
    assert found.aggregate_p50 == pytest.approx(4 * found.p50)
    assert (found.p10, found.p90) == (
        pytest.approx(found.p50 * chosen.low),
        pytest.approx(found.p50 * chosen.high),
    )
    assert found.basis == "physics"
    assert found.kv_bytes == 4 * 1024 * 32 * 8 * 256 * 2


def test_an_empty_calibration_changes_nothing() -> None:
    """Without measurements of the device the fitted coefficients hold."""
    asked = (llama_8b(), device(), VLLM, Workload(1024), ONE)

    assert rate(*asked, Calibration()) == rate(*asked)


def test_unknown_bandwidth_is_an_error() -> None:
    """No bandwidth, no speed; never a default."""
    with pytest.raises(SizingError) as caught:
        rate(llama_8b(), device(bandwidth_gbs=None), VLLM, Workload(1024), ONE)
    assert caught.value.code == "SIZ052"


@pytest.mark.parametrize("min_tps", [1.0, 7.5, 20.0, 60.0])
def test_bandwidth_floor_is_the_smallest_that_reaches_the_speed(min_tps: float) -> None:
    """The prior's p10 reaches the speed at the floor and misses it one GB/s below."""
    asked = (llama_8b(), LLAMA_CPP, Workload(4096, quantization="Q4_K_M"), ONE)
    floor = bandwidth_floor(*asked, min_tps)
    model, engine, workload, parallelism = asked

    def p10(gbs: int) -> float:
        found = rate(model, device(bandwidth_gbs=float(gbs)), engine, workload, parallelism)
        return found.p50 * prior(engine).low

    assert p10(floor.gbs) >= min_tps > p10(floor.gbs - 1)


def test_bandwidth_floor_states_its_arithmetic() -> None:
    """bytes / efficiency / (budget - fixed), rounded up to whole GB/s."""
    floor = bandwidth_floor(llama_8b(), VLLM, Workload(2048), ONE, 10.0)
    exact = floor.bytes_per_token / floor.efficiency / (floor.budget_ms - floor.fixed_ms) / 1e6

    assert floor.gbs == math.ceil(exact - 1e-9)
    assert floor.equation.endswith(f"= {floor.gbs} GB/s")
    assert floor.budget_ms == pytest.approx(prior(VLLM).low * 100)


def test_bandwidth_floor_of_several_ranks_is_of_one_device() -> None:
    """Half of the weights on each of two ranks ask for less than all on one."""
    one, two = (
        bandwidth_floor(llama_8b(), VLLM, Workload(2048), Parallelism(tensor), 20.0)
        for tensor in (1, 2)
    )
    assert one.gbs / 2 < two.gbs < one.gbs


@pytest.mark.parametrize(
    ("min_tps", "code"),
    [
        (100_000.0, "SIZ053"),
        (0.0, "SIZ055"),
        (-3.0, "SIZ055"),
        (math.nan, "SIZ055"),
        (math.inf, "SIZ055"),
    ],
)
def test_impossible_speeds_are_refused(min_tps: float, code: str) -> None:
    """A speed beyond the fixed time, or that is none."""
    with pytest.raises(SizingError) as caught:
        bandwidth_floor(llama_8b(), VLLM, Workload(2048), ONE, min_tps)
    assert caught.value.code == code


def test_a_floor_beyond_any_memory_is_refused() -> None:
    """A million sequences of a million tokens move more than a petabyte per second."""
    with pytest.raises(SizingError) as caught:
        bandwidth_floor(llama_8b(), VLLM, Workload(10**6, 10**4), ONE, 1.0)
    assert caught.value.code == "SIZ054"
