"""What must hold for every model: more asked for never needs less."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from claimfit.sizing.inverse import largest_concurrency, largest_context
from claimfit.sizing.memory import size
from claimfit.sizing.plan import EngineChoice, Parallelism, Workload
from claimfit.units import GIB, MIB, Bytes
from support.sizing_models import (
    attention_layer,
    expert_layer,
    full,
    latent,
    model_of,
    sliding,
    state,
)

ENGINES = (
    EngineChoice("vllm", "0.19"),
    EngineChoice("vllm"),
    EngineChoice("sglang"),
    EngineChoice("llama.cpp"),
)
CONTEXT = 1 << 20


@st.composite
def models(draw: st.DrawFn):
    """Draw a model: hidden size, layers of up to two kinds of cache, dense or of experts."""
    hidden = draw(st.sampled_from((1024, 2048, 4096, 8192)))
    heads = draw(st.sampled_from((8, 16, 64)))
    caches = (
        full(draw(st.sampled_from((1, 2, 4, 8)))),
        sliding(draw(st.sampled_from((128, 1024, 4096))), draw(st.sampled_from((4, 8)))),
        latent(512, 64, draw(st.sampled_from((0, 128)))),
        state(draw(st.integers(1000, 3_000_000)), draw(st.integers(0, 50_000))),
    )
    chosen = draw(st.lists(st.sampled_from(caches), min_size=1, max_size=2, unique=True))
    counts = [draw(st.integers(8, 40)) for _ in chosen]
    experts = draw(st.booleans())
    layers = []
    for cache, count in zip(chosen, counts, strict=True):
        if experts:
            layer = expert_layer(cache, hidden=hidden, heads=heads, experts=64, per_token=4)
        else:
            layer = attention_layer(cache, hidden=hidden, heads=heads, width=4 * hidden)
        layers += [layer] * count
    return model_of(
        tuple(layers),
        hidden=hidden,
        vocabulary=draw(st.sampled_from((32_000, 128_256, 262_144))),
        context=CONTEXT,
        tied=draw(st.booleans()),
        multimodal=draw(st.booleans()),
    )


engines = st.sampled_from(ENGINES)
contexts = st.integers(1, CONTEXT)
devices = st.sampled_from((None, Bytes(24 * GIB), Bytes(48 * GIB), Bytes(81_559 * MIB)))


@settings(max_examples=150, deadline=None)
@given(models(), engines, contexts, contexts, devices)
def test_a_longer_context_never_needs_less(model, engine, first, second, device) -> None:
    """Total and floor are monotone in the context, by every bound."""
    short, long = sorted((first, second))
    less, more = (size(model, engine, Workload(n), device_memory=device) for n in (short, long))
    assert less.total.low <= more.total.low
    assert less.total.expected <= more.total.expected
    assert less.floor <= more.floor


@settings(max_examples=100, deadline=None)
@given(models(), engines, st.integers(1, 64), st.integers(1, 64))
def test_more_requests_never_need_less(model, engine, first, second) -> None:
    """The floor is monotone in the concurrency."""
    few, many = sorted((first, second))
    less, more = (size(model, engine, Workload(4096, concurrency=n)) for n in (few, many))
    assert less.floor <= more.floor


@settings(max_examples=100, deadline=None)
@given(models(), st.sampled_from(ENGINES[:3]), st.sampled_from((1, 2, 4)))
def test_more_ranks_hold_less_each_and_talk_more(model, engine, ranks) -> None:
    """Weights per device fall, the runtime rises, the latent of MLA stays the same."""
    device = Bytes(81_559 * MIB)
    asked = Workload(4096)
    fewer, more = (
        size(model, engine, asked, Parallelism(n), device_memory=device) for n in (ranks, 2 * ranks)
    )
    assert more.component("weights").expected < fewer.component("weights").expected
    assert more.component("runtime").expected >= fewer.component("runtime").expected
    assert more.component("kv_cache").expected <= fewer.component("kv_cache").expected
    if all(layer.cache.kind == "mla" for layer in model.layers):
        assert more.component("kv_cache") == fewer.component("kv_cache")


@settings(max_examples=60, deadline=None)
@given(models())
def test_more_bits_need_more(model) -> None:
    """Each step up in bits raises the weights and the floor."""
    asked = ("INT4", "FP8", "BF16", "F32")
    needs = [size(model, ENGINES[0], Workload(4096, quantization=name)) for name in asked]
    weights = [need.component("weights").expected for need in needs]
    assert weights == sorted(weights)
    assert [need.floor for need in needs] == sorted(need.floor for need in needs)


@settings(max_examples=60, deadline=None)
@given(models(), st.floats(0.01, 1.0), st.floats(0.01, 1.0))
def test_a_smaller_share_needs_a_larger_device(model, first, second) -> None:
    """The floor rises when the engine may use less of the device."""
    small, large = sorted((first, second))
    needs = [
        size(
            model,
            ENGINES[0],
            Workload(4096, gpu_memory_utilization=share),
            device_memory=Bytes(memory),
        )
        for share in (small, large)
        for memory in (24 * GIB, 80 * GIB)
    ]
    assert needs[0].floor >= needs[2].floor
    assert needs[1].floor >= needs[3].floor
    assert needs[0].total == needs[2].total
    assert needs[1].total == needs[3].total


@settings(max_examples=60, deadline=None)
@given(models(), engines, st.integers(1, 8))
def test_bounds_are_ordered_and_answers_repeat(model, engine, stages) -> None:
    """low <= expected <= high for every component; the same question, the same answer."""
    parallelism = Parallelism(1, stages)
    need = size(model, engine, Workload(4096), parallelism)
    for item in need.components:
        assert 0 <= item.bytes.low <= item.bytes.expected <= item.bytes.high, item
    assert need.floor % MIB == 0
    assert need == size(model, engine, Workload(4096), parallelism)


@settings(max_examples=40, deadline=None)
@given(models(), engines, st.integers(4, 140))
def test_the_inverse_agrees_with_size(model, engine, gib) -> None:
    """The longest context fits and one more token does not; the same for requests."""
    memory = Bytes(gib * GIB)

    def fits(workload: Workload) -> bool:
        return size(model, engine, workload, device_memory=memory).floor <= memory

    longest = largest_context(model, engine, Workload(1), device_memory=memory)
    assert longest == 0 or fits(Workload(longest))
    assert longest == CONTEXT or not fits(Workload(longest + 1))
    most = largest_concurrency(model, engine, Workload(1000), device_memory=memory)
    assert most == 0 or fits(Workload(1000, concurrency=most))
    assert most == 65_536 or not fits(Workload(1000, concurrency=most + 1))
