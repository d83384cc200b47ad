"""Plans: how many devices, what each must be, and what cannot be asked for."""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

import pytest

from claimfit.claim.cluster_choice import plan_on_cluster, targets_of
from claimfit.claim.inventory import InventoryDevice
from claimfit.claim.planner import plan_claim
from claimfit.claim.request import claim_object
from claimfit.errors import (
    ClaimfitError,
    InexpressibleError,
    NotSatisfiableError,
    SizingError,
    UsageError,
)
from claimfit.hardware.drivers import target
from claimfit.sizing.memory import size
from claimfit.sizing.plan import EngineChoice, Workload
from claimfit.units import MIB, Bytes
from support.claim_needs import board, need_for
from support.sizing_models import attention_layer, full, llama_8b, model_of

BIG = model_of((attention_layer(full(), hidden=8192, heads=64, width=28672),) * 80, hidden=8192)
"""The shape of a 70 B model: 141 GB in BF16, more than any one board below 141 GB holds."""


def spec_of(**fields: Any) -> Any:
    """Return spec.devices of the claim for the need of these fields."""
    plan = plan_claim(need_for(fields.pop("to", "gpu.nvidia.com"), **fields))
    spec: Any = claim_object(plan)["spec"]
    return spec["devices"]


def refusal(**fields: Any) -> ClaimfitError:
    """Return the error that planning raises."""
    with pytest.raises(ClaimfitError) as found:
        plan_claim(need_for(fields.pop("to", "gpu.nvidia.com"), **fields))
    return found.value


def test_the_floor_is_the_account_over_utilization_plus_reserve() -> None:
    """asked = ceil(high / 0.92 + 768 MiB) in Mi: nothing is rounded down on the way."""
    tier = plan_claim(need_for("gpu.nvidia.com", engine=EngineChoice("vllm", "0.22"))).tier
    high = sum(item.bytes.high for item in tier.need.components)
    assert tier.need.utilization == 0.92
    assert tier.test.memory_mib == ceil(ceil(high / 0.92 + 768 * MIB) / MIB)


def test_one_device_is_one_exact_request() -> None:
    """No count, no constraint, one selector, the class of the driver."""
    devices = spec_of()
    (request,) = devices["requests"]
    assert set(devices) == {"requests"}
    assert request["name"] == "model"
    assert set(request) == {"name", "exactly"}
    assert request["exactly"]["deviceClassName"] == "gpu.nvidia.com"
    assert len(request["exactly"]["selectors"]) == 1
    assert set(request["exactly"]) == {"deviceClassName", "selectors"}


def test_the_smallest_valid_tensor_size_with_devices_of_one_product() -> None:
    """A 70 B model in BF16 takes one MI300X of 192 GB, but two Max 1550 of 128 GB."""
    plan = plan_claim(need_for("gpu.amd.com", model=BIG, min_tps=5.0))
    assert plan.tier.parallelism.devices == 1
    plan = plan_claim(need_for("gpu.intel.com", model=BIG, min_tps=2.0))
    assert plan.tier.parallelism.tensor == 2
    devices: Any = claim_object(plan)["spec"]
    assert devices["devices"]["requests"][0]["exactly"]["count"] == 2
    assert devices["devices"]["constraints"] == [
        {"requests": ["model"], "matchAttribute": "gpu.intel.com/model"}
    ]


def test_sizes_that_split_no_head_are_named_not_used() -> None:
    """Three devices never serve 32 heads; the plan says why."""
    plan = plan_claim(need_for("gpu.nvidia.com", alternatives=True))
    assert [tier.parallelism.tensor for tier in plan.tiers] == [1, 2, 4, 8]
    reasons = {item.devices: item.reason for item in plan.refused}
    assert "3 does not divide 32 attention heads" in reasons[3]


def test_alternatives_are_sized_each_for_its_own_number() -> None:
    """firstAvailable: fewest devices first, own floor, own count, one constraint over all."""
    devices = spec_of(model=BIG, alternatives=True)
    (request,) = devices["requests"]
    offers = request["firstAvailable"]
    counts = [offer.get("count", 1) for offer in offers]
    assert counts == sorted(set(counts))
    assert 1 < len(offers) <= 8
    assert [offer["name"] for offer in offers] == [f"devices-{count}" for count in counts]
    assert len({offer["selectors"][0]["cel"]["expression"] for offer in offers}) == len(offers)
    assert devices["constraints"] == [
        {"requests": ["model"], "matchAttribute": "gpu.nvidia.com/productName"}
    ]


def test_llama_cpp_splits_by_layer() -> None:
    """Its devices are pipeline stages, whatever the number of heads."""
    plan = plan_claim(
        need_for("gpu.nvidia.com", model=BIG, engine=EngineChoice("llama.cpp"), devices=3)
    )
    assert plan.tier.parallelism == (1, 3)


def test_a_given_size_is_kept_and_checked() -> None:
    """--tp 2 --pp 2 are four devices; --tp 3 is refused by the engine's rule."""
    plan = plan_claim(need_for("gpu.nvidia.com", tensor=2, pipeline=2))
    assert plan.tier.parallelism.devices == 4
    assert plan_claim(need_for("gpu.nvidia.com", devices=4)).tier.parallelism.tensor == 4
    assert isinstance(refusal(tensor=3), SizingError)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"devices": 3, "tensor": 2}, "CLM005"),
        ({"devices": 3, "pipeline": 2}, "CLM005"),
        ({"alternatives": True, "devices": 2}, "CLM005"),
        ({"devices": 33}, "CLM008"),
        ({"tensor": 8, "pipeline": 5}, "CLM008"),
        ({"share": True, "devices": 2}, "CLM014"),
        ({"share": True, "alternatives": True}, "CLM014"),
        ({"name": "Not A Name"}, "CLM001"),
        ({"namespace": "a.b"}, "CLM001"),
        ({"model": model_of((attention_layer(full()),), task="embed")}, "CLM007"),
    ],
)
def test_contradictions_are_wrong_use(fields: dict[str, Any], code: str) -> None:
    """Each is exit 2 with its own code."""
    error = refusal(**fields)
    assert isinstance(error, UsageError)
    assert error.code == code


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"to": "tpu.google.com", "same": ("numaNode",)}, "CLM012"),
        ({"to": "gpu.intel.com", "share": True}, "CLM013"),
        ({"to": "tpu.google.com", "admit_unlisted": True}, "CLM010"),
        ({"to": "gpu.example.com"}, "CLM011"),
    ],
)
def test_what_a_driver_cannot_be_asked_is_no_weaker_claim(
    fields: dict[str, Any], code: str
) -> None:
    """Each is exit 1 and says so."""
    error = refusal(**fields)
    assert isinstance(error, InexpressibleError)
    assert error.code == code


def test_a_speed_beyond_everything_is_not_satisfiable() -> None:
    """The nearest product is named where products are asked, the limit where bandwidth is."""
    error = refusal(min_tps=1e6)
    assert isinstance(error, NotSatisfiableError)
    assert "nearest" in error.found
    by_bandwidth = refusal(to="llmfit.ai", min_tps=1e6)
    assert isinstance(by_bandwidth, NotSatisfiableError)
    assert by_bandwidth.place == "--min-tps"


def test_mig_slices_serve_alone() -> None:
    """A model for several devices is refused on slices, which cannot reach one another."""
    error = refusal(to="mig.nvidia.com", model=BIG, tensor=2)
    assert error.code == "CLM020"
    assert "no peer access" in error.found


def test_a_share_asks_for_capacity_instead_of_a_device() -> None:
    """The request names what the engine takes at most and the reserve; silent boards are out."""
    plan = plan_claim(need_for("gpu.nvidia.com", share=True))
    tier = plan.tier
    asked = ceil((tier.need.total.high + 768 * MIB) / MIB)
    assert tier.share_mib in {asked, asked + 1}
    request: Any = claim_object(plan)["spec"]
    exactly = request["devices"]["requests"][0]["exactly"]
    assert exactly["capacity"] == {"requests": {"memory": f"{tier.share_mib}Mi"}}
    assert "nvidia-gb10" not in {item.accelerator.id for item in tier.admitted}


def test_unlisted_products_are_let_in_only_on_request() -> None:
    """Exclude names the good ones; admit names the bad ones and accepts the rest."""
    strict = plan_claim(need_for("gpu.nvidia.com", min_tps=40.0)).tier.test
    open_ = plan_claim(need_for("gpu.nvidia.com", min_tps=40.0, admit_unlisted=True)).tier.test
    assert strict.terms
    assert not strict.admits_unlisted
    assert open_.admits_unlisted
    assert not set(open_.refused_products) & {name for t in strict.terms for name in t.products}


def test_models_without_tokens_ask_for_memory_alone() -> None:
    """An embedding model gets no speed and no product list."""
    model = model_of((attention_layer(full()),) * 24, task="embed")
    test = plan_claim(need_for("gpu.nvidia.com", model=model, min_tps=0.0)).tier.test
    assert test.memory_mib
    assert not test.product_attribute
    assert test.kinds == ("gpu",)


def test_same_becomes_constraints_in_the_words_of_the_driver() -> None:
    """numaNode is qualified on NVIDIA and the driver's own on AMD."""
    for to, name in (
        ("gpu.nvidia.com", "resource.kubernetes.io/numaNode"),
        ("gpu.amd.com", "gpu.amd.com/numaNode"),
    ):
        devices = spec_of(to=to, devices=2, same=("numaNode", "product"))
        matched = [item["matchAttribute"] for item in devices["constraints"]]
        assert matched[:2] == [f"{to}/productName", name]


def test_boards_and_partitions_of_one_name_are_not_mixed() -> None:
    """An MI300X and half of one publish the same product: the kind must match as well."""
    devices = spec_of(to="gpu.amd.com", devices=2)
    assert [item["matchAttribute"] for item in devices["constraints"]] == [
        "gpu.amd.com/productName",
        "gpu.amd.com/type",
    ]


def test_an_engine_may_be_called_by_another_of_its_names() -> None:
    """llama-server is llama.cpp: its devices are pipeline stages."""
    plan = plan_claim(need_for("gpu.nvidia.com", engine=EngineChoice("llama-server"), devices=2))
    assert plan.need.engine.name == "llama.cpp"
    assert plan.tier.parallelism == (1, 2)


def test_a_floor_holds_on_every_larger_device() -> None:
    """vLLM steps larger from 70 GiB on: a floor below is asked for only if 70 GiB would do."""
    for layers in (48, 60, 64, 66, 68, 72, 80):
        model = model_of((attention_layer(full()),) * layers * 2)
        tier = plan_claim(need_for("gpu.nvidia.com", model=model, min_tps=1.0, tensor=1)).tier
        floor = tier.need.floor
        for memory in (floor, 70 * 1024 * MIB, 80 * 1024 * MIB, 200 * 1024 * MIB):
            if memory >= floor:
                need = size(
                    model,
                    EngineChoice("vllm"),
                    Workload(8192),
                    board_reserve=Bytes(768 * MIB),
                    device_memory=Bytes(memory),
                )
                assert need.floor <= memory


def test_a_template_wraps_the_spec_and_a_hash_follows_it() -> None:
    """Template: spec.spec. Name hash: another context, another name."""
    short = need_for("gpu.nvidia.com", template=True, hash_name=True, namespace="serving")
    long = short._replace(workload=Workload(16384))
    first: Any = claim_object(plan_claim(short))
    second: Any = claim_object(plan_claim(long))
    assert first["kind"] == "ResourceClaimTemplate"
    assert first["spec"]["spec"]["devices"]["requests"]
    assert first["metadata"]["namespace"] == "serving"
    assert first["metadata"]["name"] != second["metadata"]["name"]
    assert claim_object(plan_claim(short)) == first


def test_own_accelerators_widen_the_table() -> None:
    """A product of the user's driver file is admitted like any other."""
    own = board("Own Board", 200_000, 5000.0, product="OWN-1")
    plan = plan_claim(need_for("gpu.nvidia.com", own_accelerators=(own,)))
    assert "OWN-1" in {name for term in plan.tier.test.terms for name in term.products}


class Cluster(NamedTuple):
    """An inventory made by hand."""

    source: str
    device_classes: tuple[str, ...]
    devices: tuple[InventoryDevice, ...]


def nvidia(node: str, product: str, memory: str, number: int = 1) -> tuple[InventoryDevice, ...]:
    """Return `number` boards of gpu.nvidia.com on `node`."""
    attributes = {"type": "gpu", "productName": product}
    device = InventoryDevice(node, "gpu.nvidia.com", attributes, {"memory": memory})
    return (device,) * number


def on(cluster: Cluster, *targets: str, **fields: Any) -> Any:
    """Return the plan on `cluster`, for all of its targets unless some are named."""
    chosen = [target(name) for name in targets] or targets_of(cluster)
    return plan_on_cluster(need_for("llmfit.ai", **fields), cluster, chosen)


def test_a_cluster_decides_the_driver_and_the_number() -> None:
    """Two L40S on one node serve what one cannot; four on four nodes do not count."""
    l40s = ("NVIDIA L40S", "46068Mi")
    model = model_of((attention_layer(full(), hidden=5120, heads=40, width=27648),) * 48)
    together = Cluster("c", ("gpu.nvidia.com",), nvidia("a", *l40s, 4))
    plan = on(together, model=model, min_tps=5.0)
    assert plan.need.driver.name == "gpu.nvidia.com"
    assert plan.cluster == "c"
    assert plan.tier.parallelism.devices == 2
    spread = tuple(device for node in "abcd" for device in nvidia(node, *l40s))
    with pytest.raises(NotSatisfiableError) as error:
        on(Cluster("c", (), spread), "gpu.nvidia.com", model=model, min_tps=5.0)
    assert error.value.code == "CLM023"
    assert "the fullest has 1" in error.value.found


def test_mixed_products_on_a_node_do_not_add_up() -> None:
    """matchAttribute wants one product: 1 L40S and 1 L40 are not two of a kind."""
    devices = nvidia("a", "NVIDIA L40S", "46068Mi") + nvidia("a", "NVIDIA L40", "46068Mi")
    with pytest.raises(NotSatisfiableError) as error:
        on(Cluster("c", (), devices), "gpu.nvidia.com", devices=2)
    assert "needs 2 such devices of a kind" in error.value.found


def test_what_is_short_is_said_in_the_words_of_the_test() -> None:
    """The commonest reasons come first, with numbers."""
    devices = nvidia("a", "NVIDIA L4", "23034Mi", 3)
    with pytest.raises(NotSatisfiableError) as error:
        on(Cluster("c", (), devices), "gpu.nvidia.com", model=BIG, tensor=2)
    assert "3 x publishes 23034Mi, " in error.value.found


def test_classes_and_drivers_that_are_not_there_are_refused() -> None:
    """A missing class and a cluster without accelerators have their own codes."""
    devices = nvidia("a", "NVIDIA H200", "143771Mi")
    with pytest.raises(NotSatisfiableError) as no_class:
        on(Cluster("c", ("mig.nvidia.com",), devices), "gpu.nvidia.com")
    assert no_class.value.code == "CLM022"
    nothing = Cluster("c", (), (InventoryDevice("a", "dra.net", {}, {}),))
    with pytest.raises(NotSatisfiableError) as no_driver:
        targets_of(nothing)
    assert no_driver.value.code == "CLM021"
    assert [t.device_class.name for t in targets_of(Cluster("c", (), devices))] == [
        "gpu.nvidia.com",
        "mig.nvidia.com",
    ]


def test_the_first_class_that_satisfies_is_taken() -> None:
    """Where boards are too small, slices of larger ones are tried next."""
    attributes = {"type": "mig", "productName": "NVIDIA H100 80GB HBM3", "profile": "3g.40gb"}
    piece = InventoryDevice("a", "gpu.nvidia.com", attributes, {"memory": "40448Mi"})
    plan = on(Cluster("c", (), (piece,)), model=llama_8b())
    assert plan.need.device_class.name == "mig.nvidia.com"


def test_unknown_devices_are_used_only_when_admitted() -> None:
    """A product outside the table is refused, or let in by --unlisted admit."""
    cluster = Cluster("c", (), nvidia("a", "NVIDIA Future", "300000Mi"))
    with pytest.raises(NotSatisfiableError) as error:
        on(cluster, "gpu.nvidia.com")
    assert "productName NVIDIA Future is not among the admitted" in error.value.found
    assert on(cluster, "gpu.nvidia.com", admit_unlisted=True).tier.parallelism.devices == 1
