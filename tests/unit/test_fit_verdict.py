"""Verdicts of fit: the smallest size that holds, what is said when none does, and replica counts.

Sizing is replaced by a table of needs, so that every expected number is in the test.
"""

from __future__ import annotations

import pytest

from claimfit.dra.inventory import DeviceId, PoolProblem, PublishedRow
from claimfit.dra.objects import Device, DeviceAttribute, DeviceCapacity, DeviceTaint
from claimfit.errors import SizingError
from claimfit.fit import verdict as module
from claimfit.fit.answers import Place, fit_cluster, fit_table, rank_models
from claimfit.fit.groups import DeviceGroup, device_groups
from claimfit.fit.verdict import FitQuestion, Verdict, judge
from claimfit.hardware.accelerators import accelerator
from claimfit.hardware.drivers import known_driver
from claimfit.hardware.identification import identify
from claimfit.model.facts import Cache, Layer, ModelFacts
from claimfit.sizing.parallel import TensorSize
from claimfit.sizing.plan import DeviceNeed, EngineChoice, Parallelism, Rate, Workload
from claimfit.units import GIB, Bytes, Estimate

H100 = accelerator("nvidia-h100-sxm")
NO_RESERVE = Bytes(0)

MODEL = ModelFacts(
    name="test/model",
    repository="",
    architecture="llama",
    task="generate",
    layers=(Layer(Cache("full", 8, 128, 128), 32, 1, 1),) * 2,
    hidden_size=4096,
    vocabulary_size=32000,
    embedding_parameters=1,
    output_parameters=1,
    components=(),
    context_tokens=100_000,
    dtype="BF16",
    quantization="BF16",
    group_size=0,
    declared_parameters=0,
    declared_active_parameters=0,
    multimodal=False,
    file=None,
    origin="overlay",
    sources=(),
)
QUESTION = FitQuestion(MODEL, EngineChoice("vllm"), Workload(8192))


@pytest.fixture(autouse=True)
def _table_of_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """One device needs 100 GiB, two 52 GiB each, four 28; speed is 10 tok/s for each device."""
    needs = {1: 100, 2: 52, 4: 28, 8: 16}

    def size(model, engine, workload, parallelism, **_: object) -> DeviceNeed:
        floor = Bytes(needs[parallelism.tensor] * GIB)
        total = Estimate.exactly(int(floor), "table")
        return DeviceNeed((), total, 1.0, NO_RESERVE, floor, 0.0, "vllm", "exact", (), ())

    def rate(model, device, engine, workload, parallelism, calibration) -> Rate:
        speed = 10.0 * parallelism.tensor
        return Rate(speed, speed + 5, speed + 9, speed, 0, 0, "exact", "table", ())

    def sizes(model, engine, quantization, limit=8) -> tuple[TensorSize, ...]:
        return tuple(TensorSize(n, n in needs, "") for n in range(1, limit + 1))

    monkeypatch.setattr(module, "size", size)
    monkeypatch.setattr(module, "rate", rate)
    monkeypatch.setattr(module, "tensor_sizes", sizes)
    monkeypatch.setattr(module, "largest_context", lambda *_, **__: 12345)


def test_smallest_size_that_holds_wins() -> None:
    """80 GiB: one device is 20 GiB short, two need 52 each, so a replica takes two."""
    verdict = judge(QUESTION, H100, Bytes(80 * GIB), 8, NO_RESERVE)

    assert verdict.fits
    assert verdict.devices_per_replica == 2
    assert verdict.headroom == 28 * GIB
    assert verdict.longest_context == 12345


def test_short_by_the_difference() -> None:
    """Two devices of 50 GiB: two need 52 each, 2 GiB = 2048 MiB more than there is."""
    verdict = judge(QUESTION._replace(tensor=2), H100, Bytes(50 * GIB), 2, NO_RESERVE)

    assert verdict.reason == "memory"
    assert verdict.text == "short by 2,048 MiB: needs 53,248, has 51,200"


def test_count_when_more_of_a_kind_would_do() -> None:
    """One device of 60 GiB where two would hold it: the count is what is missing."""
    verdict = judge(QUESTION, H100, Bytes(60 * GIB), 1, NO_RESERVE)

    assert verdict.reason == "count"
    assert verdict.text == "needs 2 of a kind, the node has 1"


def test_a_lone_device_is_short_of_memory() -> None:
    """Devices that cannot work together are not told to be more."""
    verdict = judge(QUESTION, H100, Bytes(60 * GIB), 7, NO_RESERVE, alone=True)

    assert verdict.reason == "memory"
    assert "short by 40,960 MiB" in verdict.text


def test_speed_floor_takes_more_devices_or_says_how_slow() -> None:
    """At 10 tok/s a device, 35 tok/s takes four; 100 tok/s is out of reach of eight."""
    fast = judge(QUESTION._replace(min_tps=35.0), H100, Bytes(200 * GIB), 8, NO_RESERVE)
    never = judge(QUESTION._replace(min_tps=100.0), H100, Bytes(200 * GIB), 8, NO_RESERVE)

    assert fast.devices_per_replica == 4
    assert never.reason == "speed"
    assert never.text == "too slow: p10 is 80.0 of 100 tok/s with 8 devices"


def test_speed_floor_on_an_unknown_device() -> None:
    """A device without a known bandwidth cannot promise a speed, and can hold a model."""
    asked = judge(QUESTION._replace(min_tps=1.0), None, Bytes(200 * GIB), 1, NO_RESERVE)
    free = judge(QUESTION, None, Bytes(200 * GIB), 1, NO_RESERVE)

    assert asked.reason == "speed"
    assert free.fits
    assert free.rate is None


@pytest.mark.parametrize(
    ("memory", "device", "reason"),
    [(None, None, "unknown-memory"), (Bytes(0), H100, "zero-memory")],
)
def test_memory_that_nobody_knows(memory: Bytes | None, device: object, reason: str) -> None:
    """Nothing published and not in the table, or 0 published, is no size to compare with."""
    assert judge(QUESTION, device, memory, 8, NO_RESERVE).reason == reason


def test_known_memory_where_none_is_published() -> None:
    """Gaudi publishes no capacity; its 128 GB (119.2 GiB) come from the table."""
    gaudi = accelerator("intel-gaudi3")

    verdict = judge(QUESTION, gaudi, None, 1, NO_RESERVE)

    assert verdict.fits
    assert verdict.memory == gaudi.memory_known_mib * (1 << 20)


def test_asked_size_beyond_the_node() -> None:
    """A size that the user fixed is not lowered to what the node has."""
    verdict = judge(QUESTION._replace(tensor=4), H100, Bytes(80 * GIB), 3, NO_RESERVE)

    assert verdict.reason == "parallelism"
    assert verdict.text == "needs 4 of a kind, the node has 3"


def rows(
    node: str, number: int, product: str, memory: str, *, held: int = 0, **more: object
) -> list[PublishedRow]:
    """Return `number` published NVIDIA boards of which the first `held` are in use."""
    return [
        PublishedRow(
            node,
            DeviceId("gpu.nvidia.com", node, f"gpu-{index}"),
            Device(
                f"gpu-{index}",
                attributes={
                    "type": DeviceAttribute(string="gpu"),
                    "gpu.nvidia.com/productName": DeviceAttribute(string=product),
                    "uuid": DeviceAttribute(string=f"{node}-{index}"),
                },
                capacity={"memory": DeviceCapacity(memory)},
            ),
            "ns/claim" if index < held else "",
            **{"taints": (), "pool_problem": None, **more},
        )
        for index in range(number)
    ]


def groups(*published: list[PublishedRow]) -> list[DeviceGroup]:
    """Return the groups of all rows."""
    return device_groups([row for item in published for row in item], known_driver, identify)


def test_like_devices_of_a_node_are_one_group() -> None:
    """Same product and memory on one node: one group, qualified names read like bare ones."""
    first, second, third = groups(
        rows("a", 4, "NVIDIA H100 80GB HBM3", "81559Mi", held=1),
        rows("b", 2, "NVIDIA H100 80GB HBM3", "81559Mi"),
        rows("b", 1, "NVIDIA L40S", "46068Mi"),
    )

    assert [len(item.rows) for item in (first, second, third)] == [4, 2, 1]
    assert first.accelerator == H100
    assert first.memory == 81559 * (1 << 20)
    assert (first.free, first.usable) == (3, 4)
    assert third.product == "NVIDIA L40S"


def test_replicas_of_a_cluster() -> None:
    """80 GiB boards take two a replica: 4 with one held start 1, 2 free ones start 1, 1 none."""
    answer = fit_cluster(
        QUESTION,
        groups(
            rows("a", 4, "NVIDIA H100 80GB HBM3", "81559Mi", held=1),
            rows("b", 2, "NVIDIA H100 80GB HBM3", "81559Mi"),
            rows("c", 1, "NVIDIA H100 80GB HBM3", "81559Mi"),
        ),
        known_driver,
    )

    assert [item.replicas_now for item in answer.groups] == [1, 1, 0]
    assert [item.replicas_possible for item in answer.groups] == [2, 1, 0]
    assert answer.nodes_that_fit == ("a", "b")
    assert answer.replicas_now == 2


def test_blocked_devices_say_why() -> None:
    """A taint or an incomplete pool keeps devices from being handed out, and is named."""
    taint = DeviceTaint("gpu.nvidia.com/xid", "NoSchedule", "79")
    problem = PoolProblem("gpu.nvidia.com", "b", "incomplete", "1 of 2 slices are published")
    tainted, updating = groups(
        rows("a", 1, "NVIDIA L40S", "46068Mi", taints=(taint,)),
        rows("b", 1, "NVIDIA L40S", "46068Mi", pool_problem=problem),
    )

    assert tainted.blocked == "taint gpu.nvidia.com/xid=79:NoSchedule"
    assert updating.blocked == "pool incomplete: 1 of 2 slices are published"
    assert tainted.usable == updating.usable == 0


def test_other_drivers_and_kinds_are_left_out_not_lost() -> None:
    """A driver without description and a VFIO function are listed apart, with the reason."""
    (vfio,) = rows("a", 1, "NVIDIA L40S", "46068Mi")
    vfio = vfio._replace(
        device=Device("gpu-vfio-0", attributes={"type": DeviceAttribute(string="vfio")})
    )
    stranger = vfio._replace(id=DeviceId("gpu.unheard.of", "a", "x"))

    answer = fit_cluster(QUESTION, groups([vfio, stranger]), known_driver)

    assert answer.groups == ()
    assert "does not run on this kind" in answer.left_out[0].left_out_reason
    assert "gpu.unheard.of has no description" in answer.left_out[1].left_out_reason


def test_slices_are_never_joined() -> None:
    """MIG slices have no peer access: seven of 40 GiB hold no model that needs two."""
    (answer,) = fit_table(QUESTION, [accelerator("nvidia-h100-sxm-mig-3g.40gb")], 8, known_driver)

    assert answer.verdict.reason == "memory"


def test_ranking_puts_the_largest_model_first_and_keeps_failures() -> None:
    """Parameters decide, then speed; a model that cannot be sized is reported, not dropped."""

    def verdict(p50: float) -> Verdict:
        speed = Rate(p50, p50, p50, p50, 0, 0, "exact", "", ())
        return Verdict("fits", "", 1, 1, None, None, speed, 1)

    small = QUESTION._replace(model=MODEL._replace(name="small"))
    large = QUESTION._replace(model=MODEL._replace(name="large", output_parameters=10**9))
    broken = QUESTION._replace(model=MODEL._replace(name="broken"))

    def places(question: FitQuestion) -> list[Place]:
        if question is broken:
            raise SizingError("SIZ001", "no")
        return [Place("slow", verdict(1.0), 9), Place("fast", verdict(2.0), 1)]

    fitting, failed = rank_models([small, broken, large], places)

    assert [item.question.model.name for item in fitting] == ["large", "small"]
    assert fitting[0].place.name == "fast"
    assert [(name, error.code) for name, error in failed] == [("broken", "SIZ001")]


def test_parallelism_counts_pipeline_stages() -> None:
    """Two stages of a split over four take eight devices."""
    assert Parallelism(4, 2).devices == 8
    verdict = judge(QUESTION._replace(pipeline=2, tensor=4), H100, Bytes(80 * GIB), 8, NO_RESERVE)
    assert verdict.devices_per_replica == 8


def test_a_board_that_the_engine_refuses_does_not_fit() -> None:
    """vLLM needs compute capability 7.5 for FP8 weights; a V100 is 7.0, whatever its memory."""
    question = QUESTION._replace(workload=Workload(8192, quantization="FP8"))

    verdict = judge(question, accelerator("nvidia-v100-sxm2-32"), Bytes(200 * GIB), 8, NO_RESERVE)

    assert verdict.reason == "engine"
    assert "from compute capability 7.5 on, this is 7.0" in verdict.text
