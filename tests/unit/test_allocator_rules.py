"""The rules of allocation, one by one, with the arithmetic in sight."""

from __future__ import annotations

from typing import Any

import pytest

from claimfit.dra.allocator.results import alternative_score
from claimfit.dra.objects import DeviceTaintRule, ResourceClaim
from claimfit.errors import InputError, RequestError
from support.allocator_objects import (
    DRIVER,
    NODE,
    chosen,
    claim,
    decide,
    device,
    device_class,
    exact,
    holding,
    node,
    published,
    read,
)

TWO = [published(device("d0"), device("d1"))]


# --- numbers of devices ---------------------------------------------------------------------------


def test_the_first_devices_that_fit_are_taken() -> None:
    """First fit, in the order of publishing; a later request starts again behind what is taken."""
    three = [published(device("d0"), device("d1"), device("d2"))]
    verdict = decide(three, claim(exact("one", 2), exact("two")))
    assert chosen(verdict) == ["one=d0", "one=d1", "two=d2"]


def test_a_node_with_too_few_devices_does_not_fit() -> None:
    """Three wanted, two there: kube-scheduler says only that not all claims can be allocated."""
    verdict = decide(TWO, claim(exact(count=3)))
    assert verdict.outcome == "unsatisfiable"
    assert verdict.scheduler_text == "cannot allocate all claims"


def test_devices_of_allocated_claims_are_in_use() -> None:
    """d0 is held, d1 is free."""
    assert chosen(decide(TWO, claim(exact()), allocated=[holding("d0")])) == ["r=d1"]
    full = decide(TWO, claim(exact()), allocated=[holding("d0", "d1")])
    assert chosen(full) == ["unsatisfiable"]


def test_claims_of_a_pod_do_not_share_devices() -> None:
    """Two claims of one pod get one device each; a third finds none."""
    claims = [claim(exact(), name=name) for name in ("a", "b", "c")]
    assert chosen(decide(TWO, *claims[:2])) == ["r=d0", "r=d1"]
    assert chosen(decide(TWO, *claims)) == ["unsatisfiable"]


def test_access_for_administrators_disregards_other_claims() -> None:
    """A held device is given, once per claim: two of one device are too many."""
    one = [published(device("d0"))]
    admin = exact(adminAccess=True)
    verdict = decide(one, claim(admin), allocated=[holding("d0")])
    assert chosen(verdict) == ["r=d0"]
    assert verdict.allocations[0].devices.results[0].admin_access
    twice = claim(admin, exact("s", adminAccess=True))
    assert chosen(decide(one, twice)) == ["unsatisfiable"]
    held = holding("d0", adminAccess=True)
    assert chosen(decide(one, claim(exact()), allocated=[held])) == ["r=d0"]


def test_mode_all_takes_every_device_that_is_selected() -> None:
    """Two of three devices are big; all of them, or none: one in use is a no."""
    slices = [published(device("d0", "8Gi"), device("d1", "16Gi"), device("d2", "16Gi"))]
    big = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("10Gi")) > 0'
    wanted = claim(exact("r", 1, big, allocationMode="All"))
    assert chosen(decide(slices, wanted)) == ["r=d1", "r=d2"]
    assert chosen(decide(slices, wanted, allocated=[holding("d2")])) == ["unsatisfiable"]
    nothing = claim(exact("r", 1, "false", allocationMode="All"))
    assert chosen(decide(slices, nothing)) == ["unsatisfiable"]


def test_mode_all_refuses_a_pool_that_is_being_updated() -> None:
    """It cannot know all devices of an incomplete pool: an error for every node."""
    verdict = decide([published(device("d0"), count=2)], claim(exact(allocationMode="All")))
    assert verdict.outcome == "aborted"
    assert verdict.error == (
        "claim ns/claim, request r: asks for all devices, but resource pool gpu.example/node-a is "
        "currently being updated"
    )


def test_mode_all_fails_when_a_constraint_forbids_a_device() -> None:
    """d1 has another root than d0, but has to be taken."""
    root = "std.example/root"
    slices = [published(device("d0", attributes={root: "a"}), device("d1", attributes={root: "b"}))]
    wanted = claim(exact(allocationMode="All"), constraints=[{"matchAttribute": root}])
    verdict = decide(slices, wanted)
    assert verdict.outcome == "aborted"
    assert verdict.error.endswith(
        "cannot add device gpu.example/node-a/d1 because a claim constraint would not be satisfied"
    )


@pytest.mark.parametrize(
    ("kubernetes", "text"),
    [
        ("1.36", "claim ns/claim: number of requested devices 33 exceeds the claim limit of 32"),
        (
            "1.37",
            (
                "claim ns/claim, request s: adding 16 devices exceeds the claim limit of 32, "
                "with 17 already accounted for"
            ),
        ),
    ],
)
def test_a_claim_has_at_most_32_devices(kubernetes: str, text: str) -> None:
    """17 + 16 = 33 devices are refused beforehand, in the words of the release; 32 are not."""
    slices = [published(*(device(f"d{number:02}") for number in range(40)))]
    verdict = decide(slices, claim(exact("r", 17), exact("s", 16)), kubernetes=kubernetes)
    assert (verdict.outcome, verdict.code, verdict.error) == ("aborted", "result-limit", text)
    assert decide(slices, claim(exact("r", 17), exact("s", 15)), kubernetes=kubernetes).fits


# --- alternatives ---------------------------------------------------------------------------------


def _alternatives(*counts: int) -> dict[str, Any]:
    options = [
        {"name": f"s{index}", "deviceClassName": "gpu", "count": count}
        for index, count in enumerate(counts)
    ]
    return {"name": "r", "firstAvailable": options}


def test_the_first_alternative_that_works_is_chosen() -> None:
    """Three are not there, two are; the result names the alternative."""
    assert chosen(decide(TWO, claim(_alternatives(3, 2, 1)))) == ["r/s1=d0", "r/s1=d1"]


def test_an_alternative_is_given_up_for_a_later_request() -> None:
    """With both devices for the first request the second gets none: the one-device alternative."""
    verdict = decide(TWO, claim(_alternatives(2, 1), exact("later")))
    assert chosen(verdict) == ["r/s1=d0", "later=d1"]


def test_an_alternative_beyond_32_devices_is_skipped() -> None:
    """20 + 20 = 40 > 32, 5 + 20 = 25: the smaller alternative is taken."""
    slices = [published(*(device(f"d{number:02}") for number in range(40)))]
    verdict = decide(slices, claim(_alternatives(20, 5), exact("more", 20)))
    assert [item.split("=")[0] for item in chosen(verdict)] == ["r/s1"] * 5 + ["more"] * 20


def test_the_score_prefers_early_alternatives() -> None:
    """8 for the first alternative, 7 for the second, nothing for requests without choice."""
    spec = claim(_alternatives(2, 1), exact("plain"))
    results = [
        {"request": name, "driver": DRIVER, "pool": NODE, "device": "d"}
        for name in ("r/s1", "plain")
    ]
    allocated = {**spec, "status": {"allocation": {"devices": {"results": results}}}}
    assert alternative_score([read(allocated, ResourceClaim)]) == 7
    results[0]["request"] = "r/s0"
    assert alternative_score([read(allocated, ResourceClaim)] * 2) == 16
    assert alternative_score([read(spec, ResourceClaim)]) == 0


# --- selectors ------------------------------------------------------------------------------------


def test_the_class_is_asked_before_the_request() -> None:
    """A device that the class does not admit never meets the request's failing selector."""
    slices = [published(device("d0"), device("d1", attributes={"kind": "big"}))]
    risky = f'device.attributes["{DRIVER}"].kind == "big"'
    guarded = device_class("gpu", f'"kind" in device.attributes["{DRIVER}"]')
    assert chosen(decide(slices, claim(exact("r", 1, risky)), classes=[guarded])) == ["r=d1"]


def test_a_selector_that_fails_ends_the_attempt() -> None:
    """d0 lacks the attribute: an error, although d1 would fit; 1.37 names the device and hints."""
    slices = [published(device("d0"), device("d1", attributes={"kind": "big"}))]
    risky = claim(exact("r", 1, f'device.attributes["{DRIVER}"].kind == "big"'))
    verdict = decide(slices, risky)
    assert verdict.outcome == "aborted"
    assert verdict.error == "claim ns/claim: selector #0: CEL runtime error: no such key: kind"
    assert verdict.device == (DRIVER, NODE, "d0")
    newer = decide(slices, risky, kubernetes="1.37")
    assert newer.error.startswith(
        "claim ns/claim: selector #0 on device gpu.example/node-a/d0: CEL runtime error: "
        "no such key: kind. consider using CEL optional chaining"
    )


def test_a_device_in_use_is_not_asked() -> None:
    """The same claim works while d0 is held: "works today, aborts tomorrow"."""
    slices = [published(device("d0"), device("d1", attributes={"kind": "big"}))]
    risky = claim(exact("r", 1, f'device.attributes["{DRIVER}"].kind == "big"'))
    assert chosen(decide(slices, risky, allocated=[holding("d0")])) == ["r=d1"]


# --- constraints ----------------------------------------------------------------------------------

ROOT = "std.example/root"


def _rooted(*roots: Any) -> list[dict[str, Any]]:
    devices = [
        device(f"d{index}", attributes={ROOT: root} if root is not None else {})
        for index, root in enumerate(roots)
    ]
    return [published(*devices)]


def test_match_wants_one_value() -> None:
    """Of a, b, b the two b."""
    wanted = claim(exact(count=2), constraints=[{"matchAttribute": ROOT}])
    assert chosen(decide(_rooted("a", "b", "b"), wanted)) == ["r=d1", "r=d2"]
    assert chosen(decide(_rooted("a", "b", None), wanted)) == ["unsatisfiable"]


def test_match_compares_type_and_value() -> None:
    """The version 1.0.0 is not the string 1.0.0."""
    wanted = claim(exact(count=2), constraints=[{"matchAttribute": ROOT}])
    mixed = _rooted("1.0.0", {"version": "1.0.0"}, {"version": "1.0.0"})
    assert chosen(decide(mixed, wanted)) == ["r=d1", "r=d2"]


def test_an_attribute_of_the_drivers_domain_may_leave_it_out() -> None:
    """gpu.example/size is found as size on devices of driver gpu.example."""
    slices = [published(device("d0", attributes={"size": 1}), device("d1", attributes={"size": 1}))]
    wanted = claim(exact(count=2), constraints=[{"matchAttribute": f"{DRIVER}/size"}])
    assert decide(slices, wanted).fits
    other = claim(exact(count=2), constraints=[{"matchAttribute": "other.example/size"}])
    assert chosen(decide(slices, other)) == ["unsatisfiable"]


def test_a_constraint_covers_the_requests_that_it_names() -> None:
    """Only r and s have to match; t takes what comes first."""
    wanted = claim(
        exact("t"),
        exact("r"),
        exact("s"),
        constraints=[{"requests": ["r", "s"], "matchAttribute": ROOT}],
    )
    assert chosen(decide(_rooted("x", "a", "b", "a"), wanted)) == ["t=d0", "r=d1", "s=d3"]


def test_distinct_wants_different_values() -> None:
    """Of a, a, b: d0 and d2, one for each request."""
    wanted = claim(exact("r"), exact("s"), constraints=[{"distinctAttribute": ROOT}])
    assert chosen(decide(_rooted("a", "a", "b"), wanted)) == ["r=d0", "s=d2"]
    assert chosen(decide(_rooted("a", "a"), wanted)) == ["unsatisfiable"]


def test_distinct_forgets_devices_of_a_request_until_1_36() -> None:
    """Three of one request: 1.36 compares with the last one only, 1.37 with all."""
    wanted = claim(exact(count=3), constraints=[{"distinctAttribute": ROOT}])
    values = _rooted("a", "b", "a")
    assert chosen(decide(values, wanted, kubernetes="1.36")) == ["r=d0", "r=d1", "r=d2"]
    assert chosen(decide(values, wanted, kubernetes="1.37")) == ["unsatisfiable"]


def test_lists_match_when_they_have_a_value_in_common() -> None:
    """{a, b}, {b, c}, {c, a}: pairs meet, the three do not; the first two are taken."""
    slices = _rooted(["a", "b"], ["b", "c"], ["c", "a"])
    gate = {"kubernetes": "1.37", "gates": "DRAListTypeAttributes=true"}
    match = [{"matchAttribute": ROOT}]
    assert chosen(decide(slices, claim(exact(count=2), constraints=match), **gate)) == [
        "r=d0",
        "r=d1",
    ]
    assert chosen(decide(slices, claim(exact(count=3), constraints=match), **gate)) == [
        "unsatisfiable"
    ]
    distinct = claim(exact(count=2), constraints=[{"distinctAttribute": ROOT}])
    assert chosen(decide(_rooted(["a"], ["a", "b"], ["c"]), distinct, **gate)) == ["r=d0", "r=d2"]


# --- taints ---------------------------------------------------------------------------------------


def _tainted(effect: str, value: str = "1") -> list[dict[str, Any]]:
    return [published(device("d0", taints=[{"key": "hot", "value": value, "effect": effect}]))]


@pytest.mark.parametrize(
    ("effect", "tolerations", "fits"),
    [
        ("NoSchedule", [], False),
        ("NoExecute", [], False),
        ("None", [], True),
        ("NoSchedule", [{"key": "hot", "operator": "Exists"}], True),
        ("NoSchedule", [{"operator": "Exists"}], True),
        ("NoSchedule", [{"key": "cold", "operator": "Exists"}], False),
        ("NoSchedule", [{"key": "hot", "operator": "Equal", "value": "1"}], True),
        ("NoSchedule", [{"key": "hot", "value": "1"}], True),
        ("NoSchedule", [{"key": "hot", "operator": "Equal", "value": "2"}], False),
        ("NoSchedule", [{"key": "hot", "operator": "Exists", "effect": "NoExecute"}], False),
        ("NoSchedule", [{"key": "hot", "operator": "Like"}], False),
    ],
)
def test_taints_want_tolerations(effect: str, tolerations: list[Any], fits: bool) -> None:
    """Empty key or effect is any, the operator is Equal unless said; None hinders nothing."""
    verdict = decide(_tainted(effect), claim(exact(tolerations=tolerations)))
    assert verdict.fits == fits
    if fits and tolerations:
        assert verdict.allocations[0].devices.results[0].tolerations


def test_taints_do_not_matter_without_their_gate() -> None:
    """DRADeviceTaints is off by default in 1.35, on in 1.36."""
    assert decide(_tainted("NoSchedule"), claim(exact()), kubernetes="1.35").fits
    assert not decide(_tainted("NoSchedule"), claim(exact()), kubernetes="1.36").fits


def test_rules_taint_devices() -> None:
    """A rule for d0 leaves d1; without a selector a rule taints nothing; the gate has to be on."""
    head = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "x"},
    }
    taint = {"key": "broken", "effect": "NoSchedule"}
    rule = {**head, "spec": {"taint": taint, "deviceSelector": {"driver": DRIVER, "device": "d0"}}}
    idle = {**head, "spec": {"taint": taint}}
    rules = [read(rule, DeviceTaintRule), read(idle, DeviceTaintRule)]
    assert chosen(decide(TWO, claim(exact()), kubernetes="1.37", taint_rules=rules)) == ["r=d1"]
    assert chosen(decide(TWO, claim(exact()), kubernetes="1.36", taint_rules=rules)) == ["r=d0"]
    every = read({**head, "spec": {"taint": taint, "deviceSelector": {}}}, DeviceTaintRule)
    assert not decide(TWO, claim(exact()), kubernetes="1.37", taint_rules=[every]).fits


# --- counters -------------------------------------------------------------------------------------


def _partitions(*amounts: str, total: str = "80Gi", allocated: str = "") -> list[dict[str, Any]]:
    """Return a board of `total` memory with partitions of `amounts`."""
    board = [{"name": "board", "counters": {"memory": {"value": total}}}]
    devices = [
        device(
            f"p{index}",
            consumesCounters=[{"counterSet": "board", "counters": {"memory": {"value": amount}}}],
        )
        for index, amount in enumerate(amounts)
    ]
    counters = published(name="counters", count=2, nodeName=NODE, sharedCounters=board)
    return [published(*devices, count=2, nodeName=NODE), counters]


def test_partitions_share_the_counters_of_their_board() -> None:
    """40 + 40 = 80 Gi: the 10 Gi partition between them is passed over, as 90 would be too many."""
    board = _partitions("40Gi", "10Gi", "40Gi")
    big = claim(exact("a"), exact("b"), name="x")
    assert chosen(decide(board, big)) == ["a=p0", "b=p1"]
    assert chosen(decide(board, claim(exact(count=3)))) == ["unsatisfiable"]
    assert chosen(decide(_partitions("80Gi", "10Gi"), claim(exact(count=2)))) == ["unsatisfiable"]


def test_allocated_partitions_draw_their_counters() -> None:
    """p0 holds 60 of 80 Gi: 20 are left, so p2 (20) fits and p1 (40) does not."""
    board = _partitions("60Gi", "40Gi", "20Gi")
    assert chosen(decide(board, claim(exact()), allocated=[holding("p0")])) == ["r=p2"]


def test_a_pool_with_an_unknown_counter_is_invalid() -> None:
    """The device draws on a set that is not there: no device of the pool, and a word about it."""
    drawing = device("d", consumesCounters=[{"counterSet": "none", "counters": {}}])
    verdict = decide([published(drawing)], claim(exact()))
    assert verdict.outcome == "node-error"
    assert verdict.scheduler_text == "invalid resource pools were encountered"


def test_two_drivers_with_the_same_names_share_counters_in_1_36() -> None:
    """40 of 80 Gi on each of two boards named alike: 1.36.3 adds them up, 1.37 does not."""
    first = _partitions("60Gi")
    second = [
        {
            **item,
            "metadata": {"name": f"o-{index}"},
            "spec": {**item["spec"], "driver": "o.example"},
        }
        for index, item in enumerate(_partitions("60Gi"))
    ]
    wanted = claim(exact(count=2))
    assert chosen(decide([*first, *second], wanted, kubernetes="1.36")) == ["unsatisfiable"]
    assert chosen(decide([*first, *second], wanted, kubernetes="1.37")) == ["r=p0", "r=p0"]


# --- shares of capacity ---------------------------------------------------------------------------


def _shared(policy: dict[str, Any] | None = None, value: str = "10Gi") -> list[dict[str, Any]]:
    memory: dict[str, Any] = {"value": value}
    if policy:
        memory["requestPolicy"] = policy
    return [published(device("d", allowMultipleAllocations=True, capacity={"memory": memory}))]


def _share(amount: str) -> dict[str, Any]:
    return exact(capacity={"requests": {"memory": amount}})


RANGE = {"default": "2Gi", "validRange": {"min": "2Gi", "step": "3Gi", "max": "9Gi"}}
VALUES = {"default": "1Gi", "validValues": ["1Gi", "4Gi", "8Gi"]}


@pytest.mark.parametrize(
    ("policy", "request_", "consumed"),
    [
        (None, exact(), "10Gi"),  # everything
        (None, _share("3Gi"), "3Gi"),
        (RANGE, exact(), "2Gi"),  # the default
        (RANGE, _share("1Gi"), "2Gi"),  # up to the minimum
        (RANGE, _share("3Gi"), "5Gi"),  # 2 + 1 * 3
        (RANGE, _share("5Gi"), "5Gi"),
        (RANGE, _share("5.5Gi"), "8Gi"),  # 2 + 2 * 3
        (RANGE, _share("9Gi"), None),  # 2 + 3 * 3 = 11 > 9
        (VALUES, _share("2Gi"), "4Gi"),
        (VALUES, _share("8Gi"), "8Gi"),
        (VALUES, _share("9Gi"), None),  # beyond all values
        (None, _share("11Gi"), None),  # more than there is
    ],
)
@pytest.mark.parametrize("kubernetes", ["1.36", "1.37"])
def test_shares_are_rounded_up(
    policy: dict[str, Any] | None, request_: dict[str, Any], consumed: str | None, kubernetes: str
) -> None:
    """A share is what its policy makes of the request, or there is none."""
    verdict = decide(_shared(policy), claim(request_), kubernetes=kubernetes)
    assert verdict.fits == (consumed is not None)
    if consumed is not None:
        result = verdict.allocations[0].devices.results[0]
        assert result.consumed_capacity == {"memory": consumed}
        assert len(result.share_id or "") == 36


def test_shares_add_up() -> None:
    """4 + 4 = 8 of 10 Gi: a third share of 4 does not fit, one of 2 does."""
    older = holding("d", shareID="1", consumedCapacity={"memory": "4Gi"})
    other = {**_share("4Gi"), "name": "s"}
    assert decide(_shared(), claim(_share("4Gi")), allocated=[older]).fits
    assert decide(_shared(), claim(_share("4Gi"), other)).fits
    assert not decide(_shared(), claim(_share("4Gi"), other), allocated=[older]).fits
    two = {**_share("2Gi"), "name": "s"}
    assert decide(_shared(), claim(_share("4Gi"), two), allocated=[older]).fits


def test_a_capacity_that_a_device_lacks_cannot_be_requested() -> None:
    """Also of a device that is not shared: the request filters."""
    wanted = exact(capacity={"requests": {"links": "1"}})
    assert not decide(_shared(), claim(wanted)).fits
    whole = [published(device("small", "8Gi"), device("big", "16Gi"))]
    assert chosen(decide(whole, claim(_share("10Gi")))) == ["r=big"]


def test_steps_of_thousandths_want_their_gate() -> None:
    """600m rounds to 750m (500 + 1 * 250) in 1.37; in whole numbers to 1 and beyond the grid."""
    policy = {"default": "500m", "validRange": {"min": "500m", "step": "250m", "max": "2"}}
    slices = _shared(policy, value="2")
    verdict = decide(slices, claim(_share("600m")), kubernetes="1.37")
    assert verdict.allocations[0].devices.results[0].consumed_capacity == {"memory": "750m"}


def test_an_amount_beyond_int64_ends_the_attempt_in_1_37() -> None:
    """10E is 10^22 thousandths, more than 2**63 - 1: fatal in 1.37, merely too much before."""
    wanted = claim(_share("10E"))
    verdict = decide(_shared(RANGE), wanted, kubernetes="1.37")
    assert (verdict.outcome, verdict.code) == ("aborted", "capacity-error")
    assert "request 10E is not a representable milli value" in verdict.error
    assert chosen(decide(_shared(RANGE), wanted, kubernetes="1.36")) == ["unsatisfiable"]


def test_mode_all_leaves_out_shared_devices_that_are_used_up_until_1_36() -> None:
    """4 of 10 Gi are taken, 8 wanted: 1.36 finds no device, 1.37 finds one that does not fit."""
    older = holding("d", shareID="1", consumedCapacity={"memory": "4Gi"})
    other = published(device("e", "10Gi"), name="e", pool="e")
    wanted = claim(exact(allocationMode="All", capacity={"requests": {"memory": "8Gi"}}))
    slices = [*_shared(), other]
    assert chosen(decide(slices, wanted, allocated=[older], kubernetes="1.36")) == ["r=e"]
    assert chosen(decide(slices, wanted, allocated=[older], kubernetes="1.37")) == ["unsatisfiable"]


# --- pools ----------------------------------------------------------------------------------------


def test_an_incomplete_pool_is_passed_over() -> None:
    """One of two slices is there; 1.34 uses it all the same."""
    slices = [published(device("d0"), count=2)]
    assert chosen(decide(slices, claim(exact()))) == ["unsatisfiable"]
    assert chosen(decide(slices, claim(exact()), kubernetes="1.34")) == ["r=d0"]


def test_the_missing_slice_may_be_on_another_node() -> None:
    """A pool over two nodes is complete for both."""
    slices = [
        published(device("d0"), count=2),
        published(device("d1"), name="other", count=2, nodeName="node-b"),
    ]
    assert chosen(decide(slices, claim(exact()))) == ["r=d0"]
    assert chosen(decide(slices, claim(exact(count=2)))) == ["unsatisfiable"]


def test_the_newest_generation_counts() -> None:
    """Generation 2 replaces 1; when it is elsewhere only, the old one is passed over too."""
    old = published(device("old"), name="old", count=2)
    new = published(device("new"), name="new", generation=2)
    assert chosen(decide([old, new], claim(exact()))) == ["r=new"]
    elsewhere = published(device("new"), name="new", generation=2, nodeName="node-b")
    assert chosen(decide([old, elsewhere], claim(exact()))) == ["unsatisfiable"]


def test_a_pool_with_a_device_twice_is_invalid() -> None:
    """A word about invalid pools; in 1.34 the end of the attempt."""
    twice = [published(device("d0"), device("d0"))]
    verdict = decide(twice, claim(exact()))
    assert (verdict.outcome, verdict.code) == ("node-error", "pool-invalid")
    early = decide(twice, claim(exact()), kubernetes="1.34")
    assert early.outcome == "aborted"
    assert early.error == "pool node-a is invalid: duplicate device name d0"


def test_pools_and_slices_are_tried_by_name() -> None:
    """Pools by driver and name, slices by name, devices as listed."""
    slices = [
        published(device("z"), name="s", driver="z.example", pool="p"),
        published(device("b"), device("a"), name="s2", pool="p", count=2),
        published(device("c"), name="s1", pool="p", count=2),
    ]
    assert chosen(decide(slices, claim(exact(count=4)))) == ["r=c", "r=b", "r=a", "r=z"]


def test_pools_with_binding_conditions_come_last() -> None:
    """Simpler devices are preferred, whatever the names."""
    binding = device("first", bindingConditions=["ready"])
    slices = [
        published(binding, name="a", pool="a"),
        published(device("second"), name="b", pool="b"),
    ]
    verdict = decide(slices, claim(exact(count=2)))
    assert chosen(verdict) == ["r=second", "r=first"]
    assert verdict.allocations[0].devices.results[1].binding_conditions == ["ready"]
    off = decide(slices, claim(exact(count=2)), gates="DRADeviceBindingConditions=false")
    assert chosen(off) == ["unsatisfiable"]


def test_devices_may_select_their_nodes_themselves() -> None:
    """Of three devices one is for this node and one for all."""
    slices = [
        published(
            device("other", nodeName="node-b"),
            device("mine", nodeName=NODE),
            device("all", allNodes=True),
            perDeviceNodeSelection=True,
        )
    ]
    assert chosen(decide(slices, claim(exact(count=2)))) == ["r=mine", "r=all"]


# --- results --------------------------------------------------------------------------------------


def _zone(name: str) -> dict[str, Any]:
    part = {"key": "zone", "operator": "In", "values": [name]}
    return {"nodeSelectorTerms": [{"matchExpressions": [part]}]}


def test_the_result_selects_the_nodes_that_reach_the_devices() -> None:
    """A device of the node binds to it, devices of a zone to the zone, once, others nowhere."""
    at = node(zone="z")
    local = decide(TWO, claim(exact()), at=at).allocations[0].node_selector
    assert local is not None
    assert local.node_selector_terms[0].match_fields[0].values == [NODE]
    zonal = [published(device("d0"), device("d1"), nodeSelector=_zone("z"))]
    selector = decide(zonal, claim(exact(count=2)), at=at).allocations[0].node_selector
    assert selector is not None
    assert len(selector.node_selector_terms[0].match_expressions) == 1
    everywhere = [published(device("d0"), allNodes=True)]
    assert decide(everywhere, claim(exact()), at=at).allocations[0].node_selector is None
    binding = [published(device("d0", bindsToNode=True), allNodes=True)]
    assert decide(binding, claim(exact()), at=at).allocations[0].node_selector == local


def test_configuration_of_class_and_claim_is_copied() -> None:
    """The class once for all its requests, then what the claim has for the requests."""
    opaque = {"opaque": {"driver": DRIVER, "parameters": {"mode": "x"}}}
    classes = [device_class("gpu", config=[opaque])]
    wanted = claim(exact("r"), exact("s"), config=[{"requests": ["s"], **opaque}, opaque])
    config = decide(TWO, wanted, classes=classes).allocations[0].devices.config
    assert [(item.source, item.requests) for item in config] == [
        ("FromClass", ["r", "s"]),
        ("FromClaim", ["s"]),
        ("FromClaim", []),
    ]
    newer = decide(TWO, wanted, classes=classes, kubernetes="1.37").allocations[0].devices.config
    assert [item.requests for item in newer] == [[], ["s"], []]  # all requests need no names


# --- refusals and bad input -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "more", "code", "text"),
    [
        (
            claim({"name": "r", "exactly": {"deviceClassName": "nope"}}),
            {},
            "class-missing",
            (
                "claim ns/claim, request r: could not retrieve device class nope: "
                'deviceclass.resource.k8s.io "nope" not found'
            ),
        ),
        (
            claim({"name": "r", "exactly": {}}),
            {},
            "class-missing",
            "claim ns/claim, request r: missing device class name (unsupported request type?)",
        ),
        (claim({"name": "r"}), {}, "request-empty", None),
        (
            claim(exact(allocationMode="Some")),
            {},
            "mode-unknown",
            "claim ns/claim, request r: unsupported count mode Some",
        ),
        (
            claim(exact(selectors=[{}])),
            {},
            "selector-empty",
            (
                "claim ns/claim, request r, selector #0: CEL expression empty (unsupported "
                "selector type?)"
            ),
        ),
        (
            claim(exact(), constraints=[{}]),
            {},
            "constraint-unknown",
            "claim ns/claim, constraint #0: empty constraint (unsupported constraint type?)",
        ),
        (
            claim(exact(adminAccess=True)),
            {"kubernetes": "1.35", "gates": "DRAAdminAccess=false"},
            "gate-off",
            "claim ns/claim, request r: admin access is requested, but the feature is disabled",
        ),
        (
            claim(_alternatives(1)),
            {"kubernetes": "1.35", "gates": "DRAPrioritizedList=false"},
            "gate-off",
            (
                "claim ns/claim, request r: has subrequests, but the DRAPrioritizedList feature is "
                "disabled"
            ),
        ),
        (
            claim(_share("1Gi")),
            {"gates": "DRAConsumableCapacity=false"},
            "gate-off",
            (
                "claim ns/claim, request r: has capacity requests, but the DRAConsumableCapacity "
                "feature is disabled"
            ),
        ),
    ],
)
def test_claims_are_refused_beforehand(
    wanted: dict[str, Any], more: dict[str, Any], code: str, text: str | None
) -> None:
    """What no node can serve ends the attempt with the sentence of kube-scheduler."""
    verdict = decide(TWO, wanted, **more)
    assert (verdict.outcome, verdict.code) == ("aborted", code)
    assert text is None or verdict.error == text


def test_an_allocated_claim_is_not_allocated_again() -> None:
    """ALC001: that would be a mistake of the caller."""
    with pytest.raises(RequestError) as caught:
        decide(TWO, holding("d0"))
    assert caught.value.code == "ALC001"


@pytest.mark.parametrize("amount", ["ten", "", "1" * 600, "1K", "1e99999"])
def test_an_amount_that_is_no_quantity_is_an_error(amount: str) -> None:
    """ALC002 for what the API server would never have stored, however long it is."""
    with pytest.raises(InputError) as caught:
        decide(_shared(value=amount), claim(_share("1Gi")))
    assert caught.value.code == "ALC002"


def test_a_search_beyond_its_budget_is_undecided() -> None:
    """A selector that would fail forbids pruning; 100 steps are few to take 10 of 20."""
    devices = [device(f"d{number:02}", attributes={"kind": "x"}) for number in range(20)]
    slices = [published(*devices), published(device("odd"), name="z", pool="z")]
    risky = f'device.attributes["{DRIVER}"].kind == "y"'
    wanted = claim(exact("r", 10), exact("never", 1, "false"), exact("s", 1, risky))
    verdict = decide(slices, wanted, budget=100)
    assert (verdict.outcome, verdict.steps) == ("undecided", 101)


def test_twenty_like_devices_and_an_impossible_request_are_decided_at_once() -> None:
    """Kubernetes tries C(20, 10) and more combinations (801,422 steps); here no step is needed."""
    devices = [device(f"d{number:02}") for number in range(20)]
    verdict = decide([published(*devices)], claim(exact("r", 10), exact("s", 1, "false")))
    assert (verdict.outcome, verdict.steps) == ("unsatisfiable", 0)


def test_requests_that_compete_are_seen_beforehand() -> None:
    """12 + 12 of 20 devices, all different: no search, although each request alone could be met."""
    devices = [device(f"d{number:02}", attributes={ROOT: f"v{number}"}) for number in range(20)]
    wanted = claim(exact("r", 12), exact("s", 12), constraints=[])
    assert decide([published(*devices)], wanted).steps == 0


def test_many_claims_do_not_exhaust_the_stack() -> None:
    """32 claims of 32 devices: a thousand frames deep and more."""
    slices = [
        published(
            *(device(f"d{number:03}") for number in range(128)), name=f"s{part}", pool=f"p{part}"
        )
        for part in range(8)
    ]
    claims = [claim(exact(count=32), name=f"c{number}") for number in range(32)]
    verdict = decide(slices, *claims)
    assert len(chosen(verdict)) == 1024
