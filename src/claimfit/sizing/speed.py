"""Decode speed: how many tokens per second one stream sees, with its spread.

One step of a batch takes

    fixed cost            per step, per layer, per layer of experts or of recurrent state
  + weights read          dense bytes / (efficiency x bandwidth), experts apart
  + cache read            cache bytes / (efficiency x bandwidth)
  + arithmetic            2 x active parameters x sequences / (efficiency x TFLOPS)
  + prompts               of the streams that follow others, read in between
  + collectives           two per layer when tensor-parallel

and yields one token for each sequence. The coefficients come from measurements: fitted per device
and engine where rows exist, per family of devices elsewhere, wide where nothing was measured
(`claimfit.sizing.coefficients`). ``docs/accuracy-speed.md`` judges them on devices and
architectures that were left out of the fit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from claimfit.errors import SizingError
from claimfit.records import NamedTuple
from claimfit.sizing.coefficients import arithmetic_tflops, coefficients, prior, unpacks
from claimfit.sizing.plan import Rate
from claimfit.sizing.traffic import step_traffic

if TYPE_CHECKING:
    from claimfit.hardware.facts import Accelerator
    from claimfit.model.facts import ModelFacts
    from claimfit.sizing.calibration import Calibration
    from claimfit.sizing.coefficients import Coefficients
    from claimfit.sizing.plan import EngineChoice, Parallelism, Workload
    from claimfit.sizing.traffic import StepTraffic

__all__ = ["BandwidthFloor", "bandwidth_floor", "rate", "rate_of", "step_terms"]

_PCIE_GBS: Final = (
    25.0  # what a collective sees of PCIe 4.0 x16 (31.5 GB/s each way, less overhead)
)
_LARGEST_FLOOR_GBS: Final = 1_000_000  # 1 PB/s: beyond any memory; also far inside int64


class BandwidthFloor(NamedTuple):
    """The memory bandwidth that a driver must publish for a speed floor to hold."""

    gbs: int
    """GB/s (10**9), the smallest whole number that reaches the floor."""
    bytes_per_token: int
    """Weights and cache that one step reads on one device."""
    efficiency: float
    """Share of that bandwidth that the prior counts on, spread included."""
    fixed_ms: float
    """Time of a step that no bandwidth shortens."""
    min_tps: float
    budget_ms: float
    """Time that a step may take: spread / min_tps."""
    equation: str
    """The arithmetic with its numbers, one line."""
    source: str


def rate(
    model: ModelFacts,
    device: Accelerator,
    engine: EngineChoice,
    workload: Workload,
    parallelism: Parallelism,
    calibration: Calibration | None = None,
) -> Rate:
    """Return the decode speed of one stream while `workload.concurrency` streams run.

    Every stream is taken to hold `workload.context_tokens` already, so a shorter one is faster.

    Raises:
        SizingError: SIZ050 (`step_traffic`), SIZ052 when the device's bandwidth is unknown.
    """
    traffic = step_traffic(model, engine, workload, parallelism)
    return rate_of(traffic, device, engine, workload, parallelism, calibration)


def rate_of(
    traffic: StepTraffic,
    device: Accelerator,
    engine: EngineChoice,
    workload: Workload,
    parallelism: Parallelism,
    calibration: Calibration | None = None,
) -> Rate:
    """Return `rate` for a step whose `traffic` is known: it is the same on every device.

    Raises:
        SizingError: SIZ052 when the device's bandwidth is unknown.
    """
    bandwidth = device.bandwidth_gbs
    if not bandwidth:
        raise SizingError(
            "SIZ052",
            "the memory bandwidth of this accelerator is not known, so no speed can be told",
            place=device.id,
            fix="leave out --min-tps, or give the bandwidth in your own accelerator entry",
        )
    chosen = coefficients(device, engine)
    if calibration is not None:
        chosen = calibration.adjust(chosen, device, engine)
    terms = step_terms(traffic, chosen, device, parallelism)
    step_ms = sum(milliseconds for _, milliseconds in terms)
    p50 = 1000.0 / step_ms
    low, high = chosen.spread(experts=traffic.expert_layers > 0)
    return Rate(
        p10=p50 * low,
        p50=p50,
        p90=p50 * high,
        aggregate_p50=p50 * workload.concurrency,
        active_bytes=traffic.weight_bytes,
        kv_bytes=traffic.cache_bytes,
        basis=chosen.basis,
        source=chosen.source,
        terms=terms,
    )


def step_terms(
    traffic: StepTraffic, chosen: Coefficients, device: Accelerator, parallelism: Parallelism
) -> tuple[tuple[str, float], ...]:
    """Return (term, milliseconds) of one step; the terms add up to the step."""
    bandwidth = device.bandwidth_gbs or 0.0
    weights = _weights_ms(traffic, chosen, device)
    bits = traffic.expert_bits if traffic.expert_layers else traffic.dense_bits
    arithmetic = 0.0
    tflops = arithmetic_tflops(device, bits)
    if tflops:
        operations_per_ms = chosen.compute_efficiency * tflops * 1e9
        # Reading and multiplying overlap: only what exceeds the reads is added.
        arithmetic = max(0.0, traffic.operations / operations_per_ms - weights)
    terms = [
        ("fixed", _fixed_ms(traffic, chosen)),
        ("weights", weights),
        ("cache", _transfer_ms(traffic.cache_bytes, chosen.cache_efficiency * bandwidth)),
        ("arithmetic", arithmetic),
    ]
    if traffic.prompt_tokens:
        terms.append(("prompts", _prompts_ms(traffic, chosen, device, parallelism)))
    if parallelism.devices > 1:
        terms.append(("collectives", _collectives_ms(traffic, chosen, device, parallelism)))
    return tuple(terms)


def _weights_ms(traffic: StepTraffic, chosen: Coefficients, device: Accelerator) -> float:
    """Return the time to read the weights, and to unpack those that are not multiplied as stored.

    Unpacking is arithmetic on each weight, whatever the batch: two devices that differ in bandwidth
    only read packed experts about equally fast (gpt-oss on H100 and H200).
    """
    bandwidth = device.bandwidth_gbs or 0.0
    half = arithmetic_tflops(device)
    total = 0.0
    for amount, bits, experts in (
        (traffic.dense_bytes, traffic.dense_bits, False),
        (traffic.expert_bytes, traffic.expert_bits, True),
    ):
        packed = unpacks(device, bits)
        efficiency = chosen.read_efficiency(0 if packed else bits, experts=experts)
        total += _transfer_ms(amount, efficiency * bandwidth)
        if packed and half:
            total += chosen.unpack_operations * amount / (half * 1e9)
    return total


def _prompts_ms(
    traffic: StepTraffic, chosen: Coefficients, device: Accelerator, parallelism: Parallelism
) -> float:
    """Return what reading the prompts of other streams adds to a step: arithmetic and collectives.

    Nothing where the device's arithmetic is not known.
    """
    experts = traffic.expert_layers > 0
    tflops = arithmetic_tflops(device, traffic.expert_bits if experts else traffic.dense_bits)
    half = arithmetic_tflops(device)
    total = 0.0
    if tflops and half:
        share = chosen.prompt_expert_efficiency if experts else chosen.prompt_efficiency
        total += traffic.prompt_operations / (share * tflops * 1e9)
        attention = traffic.prompt_attention_operations
        total += attention / (chosen.attention_efficiency * half * 1e9)
    if parallelism.tensor > 1:
        moved = traffic.hidden_bytes / traffic.sequences * traffic.prompt_tokens
        total += 2 * traffic.layers * _ring_ms(moved, chosen, device, parallelism)
    return total


def _fixed_ms(traffic: StepTraffic, chosen: Coefficients) -> float:
    microseconds = (
        chosen.step_us
        + chosen.layer_us * traffic.layers
        + chosen.expert_layer_us * traffic.expert_layers
        + chosen.state_layer_us * traffic.state_layers
        + chosen.latent_layer_us * traffic.latent_layers
        + chosen.indexed_layer_us * traffic.indexed_layers
        + (chosen.sequence_us + chosen.vocabulary_us * traffic.vocabulary / 1000.0)
        * traffic.sequences
    )
    return microseconds / 1000.0


def _collectives_ms(
    traffic: StepTraffic, chosen: Coefficients, device: Accelerator, parallelism: Parallelism
) -> float:
    """Return the time of two all-reduces per layer and one hand-over per pipeline stage.

    Each has a latency and moves activations over the link.
    """
    latency = chosen.collective_us / 1000.0
    link_gbs = _link_gbs(chosen, device)
    total = (parallelism.pipeline - 1) * (latency + _transfer_ms(traffic.hidden_bytes, link_gbs))
    if parallelism.tensor > 1:
        ring = _ring_ms(traffic.hidden_bytes, chosen, device, parallelism)
        total += 2 * traffic.layers * (latency + ring)
    return total


def _ring_ms(
    amount_bytes: float, chosen: Coefficients, device: Accelerator, parallelism: Parallelism
) -> float:
    """Return the transfer time of an all-reduce: a ring moves 2 (n - 1) / n of the amount."""
    ranks = parallelism.tensor
    return _transfer_ms(2 * (ranks - 1) / ranks * amount_bytes, _link_gbs(chosen, device))


def _link_gbs(chosen: Coefficients, device: Accelerator) -> float:
    return chosen.link_efficiency * (device.link_gbs / 2.0 if device.link_gbs else _PCIE_GBS)


def _transfer_ms(amount_bytes: float, gbs: float) -> float:
    return amount_bytes / (gbs * 1e6)


def bandwidth_floor(
    model: ModelFacts,
    engine: EngineChoice,
    workload: Workload,
    parallelism: Parallelism,
    min_tps: float,
) -> BandwidthFloor:
    """Return the smallest whole GB/s whose p10 under the device-independent prior is `min_tps`.

    A driver that publishes memoryBandwidthGBs is asked with this one number, whatever the device;
    the prior is what all devices measured under the engine give together, with the spread between
    them, and counts no arithmetic, since the device is not known.

    Raises:
        SizingError: SIZ055 when `min_tps` is no speed, SIZ053 when the fixed time alone is longer
            than a token may take, SIZ054 when the bandwidth is beyond any memory; SIZ050
            (`step_traffic`).
    """
    if not (math.isfinite(min_tps) and min_tps > 0):
        raise SizingError(
            "SIZ055",
            "not a speed",
            place="--min-tps",
            found=min_tps,
            expected="tokens per second, a finite number above 0",
        )
    traffic = step_traffic(model, engine, workload, parallelism)
    assumed = prior(engine)
    fixed_ms = _fixed_ms(traffic, assumed)
    if parallelism.devices > 1:
        fixed_ms += 2 * traffic.layers * assumed.collective_us / 1000.0
    low, _ = assumed.spread(experts=traffic.expert_layers > 0)
    budget_ms = low * 1000.0 / min_tps
    if budget_ms <= fixed_ms:
        raise SizingError(
            "SIZ053",
            "no memory is fast enough: the fixed time of a step is longer than a token may take",
            place="--min-tps",
            found=f"{min_tps:g} tok/s: {budget_ms:.2f} ms per step, {fixed_ms:.2f} ms of it fixed",
            expected=f"at most {low * 1000.0 / fixed_ms:.0f} tok/s",
            fix="lower --min-tps, or name products instead of a bandwidth",
        )
    weighted_bytes = (
        traffic.dense_bytes / assumed.read_efficiency(traffic.dense_bits, experts=False)
        + traffic.expert_bytes / assumed.read_efficiency(traffic.expert_bits, experts=True)
        + traffic.cache_bytes / assumed.cache_efficiency
    )
    exact_gbs = weighted_bytes / (budget_ms - fixed_ms) / 1e6
    if exact_gbs > _LARGEST_FLOOR_GBS:
        raise SizingError(
            "SIZ054",
            "the speed floor needs more memory bandwidth than any device has",
            place="--min-tps",
            found=f"{exact_gbs:.3g} GB/s for {min_tps:g} tok/s",
            expected=f"at most {_LARGEST_FLOOR_GBS} GB/s",
            fix="lower --min-tps, --concurrency or --context, or raise --tp",
        )
    gbs = max(1, math.ceil(exact_gbs))
    moved = traffic.weight_bytes + traffic.cache_bytes
    efficiency = moved / weighted_bytes
    return BandwidthFloor(
        gbs=gbs,
        bytes_per_token=moved,
        efficiency=efficiency,
        fixed_ms=fixed_ms,
        min_tps=min_tps,
        budget_ms=budget_ms,
        equation=(
            f"{moved / 1e9:.3g} GB / ({low:.2f} / {min_tps:g} tok/s - {fixed_ms:.2f} ms)"
            f" / {efficiency:.2f} = {gbs} GB/s"
        ),
        source=assumed.source,
    )
