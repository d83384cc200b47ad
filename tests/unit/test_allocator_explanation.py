"""Why claims do not fit: every reason can be reached, is documented, and carries its values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from claimfit.dra.explanation import explain
from claimfit.dra.objects import ResourceClaim
from claimfit.dra.reasons import MEANINGS
from support.allocator_objects import (
    DRIVER,
    NODE,
    allocator,
    claim,
    device,
    device_class,
    exact,
    holding,
    node,
    published,
    read,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claimfit.dra.explanation import NodeExplanation
    from claimfit.dra.reasons import Reason

REASONS = Path(__file__).parents[2] / "docs" / "reasons"
ROOT = "std.example/root"


def _explained(
    slices: list[dict[str, Any]], *claims: dict[str, Any], **more: Any
) -> NodeExplanation:
    made = allocator(slices, **more)
    return explain(made, node(), [read(item, ResourceClaim) for item in claims])


def _reasons(found: NodeExplanation) -> Iterator[Reason]:
    yield from found.pools
    yield from found.reasons
    for request in found.requests:
        if request.reason is not None:
            yield request.reason
        yield from (answer.reason for answer in request.devices if answer.reason is not None)


def _draws(amount: str) -> dict[str, Any]:
    counters = {"memory": {"value": amount}}
    return {"consumesCounters": [{"counterSet": "board", "counters": counters}]}


def _board(*amounts: str) -> list[dict[str, Any]]:
    devices = [device(f"p{index}", **_draws(amount)) for index, amount in enumerate(amounts)]
    sets = [{"name": "board", "counters": {"memory": {"value": "80Gi"}}}]
    counters = published(name="c", count=2, nodeName=NODE, sharedCounters=sets)
    return [published(*devices, count=2, nodeName=NODE), counters]


ONE = [published(device("d0", "8Gi"))]
SHARED = [published(device("d0", "8Gi", allowMultipleAllocations=True))]
PLENTY = [published(*(device(f"d{number:02}") for number in range(40)))]
POLICY = {"default": "1Gi", "validValues": ["1Gi", "2Gi"]}
TAINT = {"key": "hot", "value": "1", "effect": "NoSchedule"}
RISKY = f'device.attributes["{DRIVER}"].kind == "x"'


def _asking(amount: str, name: str = "memory") -> dict[str, Any]:
    return claim(exact(capacity={"requests": {name: amount}}))


Case = tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]
CASES: dict[str, Case] = {
    "request-empty": (ONE, claim({"name": "r"}), {}),
    "gate-off": (ONE, _asking("1Gi"), {"gates": "DRAConsumableCapacity=false"}),
    "selector-empty": (ONE, claim(exact(selectors=[{}])), {}),
    "class-missing": (ONE, claim(exact(deviceClassName="nope")), {}),
    "mode-unknown": (ONE, claim(exact(allocationMode="Some")), {}),
    "constraint-unknown": (ONE, claim(exact(), constraints=[{}]), {}),
    "result-limit": (PLENTY, claim(exact(count=33)), {}),
    "pool-obsolete": (
        [
            published(device("d0"), count=2),
            published(device("d1"), name="x", generation=2, nodeName="node-b"),
        ],
        claim(exact()),
        {},
    ),
    "pool-incomplete": ([published(device("d0"), count=2)], claim(exact()), {}),
    "pool-invalid": ([published(device("d0"), device("d0"))], claim(exact()), {}),
    "device-in-use": (ONE, claim(exact()), {"allocated": [holding("d0")]}),
    "binding-unsupported": (
        [published(device("d0", bindingConditions=["up"]))],
        claim(exact()),
        {"gates": "DRADeviceBindingConditions=false"},
    ),
    "class-selector-false": (ONE, claim(exact()), {"classes": [device_class("gpu", "false")]}),
    "class-selector-error": (ONE, claim(exact()), {"classes": [device_class("gpu", RISKY)]}),
    "request-selector-false": (ONE, claim(exact("r", 1, "false")), {}),
    "request-selector-error": (ONE, claim(exact("r", 1, RISKY)), {}),
    "not-on-node": (
        [
            published(
                device("d0", nodeName="node-b"),
                device("d1", nodeName=NODE),
                perDeviceNodeSelection=True,
            )
        ],
        claim(exact(count=2)),
        {},
    ),
    "capacity-missing": (ONE, _asking("1", "links"), {}),
    "capacity-policy": (
        [
            published(
                device(
                    "d0",
                    allowMultipleAllocations=True,
                    capacity={"memory": {"value": "8Gi", "requestPolicy": POLICY}},
                )
            )
        ],
        _asking("3Gi"),
        {},
    ),
    "capacity-short": (
        SHARED,
        _asking("5Gi"),
        {"allocated": [holding("d0", shareID="1", consumedCapacity={"memory": "4Gi"})]},
    ),
    "capacity-error": (SHARED, _asking("-1Gi"), {"kubernetes": "1.37"}),
    "counters-unsupported": (
        [published(device("p0", **_draws("1Gi")))],
        claim(exact()),
        {"gates": "DRAPartitionableDevices=false"},
    ),
    "counters-short": (_board("80Gi", "10Gi"), claim(exact()), {"allocated": [holding("p0")]}),
    "taint-untolerated": ([published(device("d0", taints=[TAINT]))], claim(exact()), {}),
    "attribute-missing": (
        [published(device("d0"), device("d1"))],
        claim(exact(count=2), constraints=[{"matchAttribute": ROOT}]),
        {},
    ),
    "too-few-devices": (ONE, claim(exact(count=2)), {}),
    "no-devices": (ONE, claim(exact("r", 1, "false", allocationMode="All")), {}),
    "all-mode-constraint": (
        [published(device("d0", attributes={ROOT: "a"}), device("d1", attributes={ROOT: "b"}))],
        claim(exact(allocationMode="All"), constraints=[{"matchAttribute": ROOT}]),
        {},
    ),
    "constraint-groups": (
        [published(device("d0", attributes={ROOT: "a"}), device("d1", attributes={ROOT: "b"}))],
        claim(exact(count=2), constraints=[{"matchAttribute": ROOT}]),
        {},
    ),
    "competition": (ONE, claim(exact("r"), exact("s")), {}),
    "selector-error": (ONE, claim(exact("r", 1, RISKY)), {}),
    "node-selector": (
        [
            published(
                device("d0"),
                nodeSelector={
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]},
                        {"matchExpressions": [{"key": "y", "operator": "DoesNotExist"}]},
                    ]
                },
            )
        ],
        claim(exact()),
        {},
    ),
    "scheduler-crash": (
        [
            published(device("d0"), count=2),
            published(device("d1"), name="x", count=2),
        ],
        claim(exact(count=2)),
        {"kubernetes": "1.34", "gates": "DRAConsumableCapacity=true"},
    ),
    "undecided": (
        PLENTY,
        claim(exact("r", 10), exact("s", 1, "false"), exact("t", 1, RISKY)),
        {"budget": 50},
    ),
}


@pytest.mark.parametrize("code", MEANINGS)
def test_every_reason_can_be_reached(code: str) -> None:
    """A cluster and a claim for which the reason stands in the tree."""
    slices, wanted, more = CASES[code]
    found = list(_reasons(_explained(slices, wanted, **more)))
    assert code in {reason.code for reason in found}
    assert all(reason.code in MEANINGS and reason.text for reason in found)


@pytest.mark.parametrize("code", MEANINGS)
def test_every_reason_is_documented(code: str) -> None:
    """A page with the meaning, the cause and the fix."""
    page = (REASONS / f"{code}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {code}\n")
    assert MEANINGS[code].lower() in page.lower()
    assert "\n## Cause\n" in page
    assert "\n## Fix\n" in page


def test_a_claim_that_fits_needs_no_reason() -> None:
    """Devices that are not needed still say what they would have said."""
    found = _explained([published(device("d0"), device("d1", taints=[TAINT]))], claim(exact()))
    assert found.verdict.fits
    assert found.reasons == []
    request = found.requests[0]
    assert (request.wanted, request.fitting, request.reason) == (1, 1, None)
    assert [answer.reason and answer.reason.code for answer in request.devices] == [
        None,
        "taint-untolerated",
    ]


def test_the_first_thing_that_speaks_against_a_device_is_named() -> None:
    """In use, then selectors, then capacity, counters and taints: the order of Kubernetes."""
    tainted = device("d0", "8Gi", taints=[TAINT])
    both = {"allocated": [holding("d0")]}
    slices = [published(tainted)]
    wanted = claim(exact("r", 1, "false"))

    def code(**more: Any) -> str | None:
        answer = _explained(slices, wanted, **more).requests[0].devices[0]
        return answer.reason and answer.reason.code

    assert code(**both) == "device-in-use"
    assert code() == "request-selector-false"
    wanted = claim(exact(capacity={"requests": {"links": "1"}}))
    assert code() == "capacity-missing"
    wanted = claim(exact())
    assert code() == "taint-untolerated"


def test_values_say_by_how_much() -> None:
    """Holder, expression, amounts and groups are there to be shown."""
    slices, wanted, more = CASES["counters-short"]
    reason = _explained(slices, wanted, **more).requests[0].devices[1].reason
    assert reason is not None
    assert reason.values["left"] == "0"  # 80 - 80
    assert reason.values["wanted"] == "10Gi"
    assert reason.values["holders"] == "p0 (ns/older)"
    slices, wanted, more = CASES["capacity-short"]
    reason = _explained(slices, wanted, **more).requests[0].devices[0].reason
    assert reason is not None
    assert (reason.values["wanted"], reason.values["left"]) == ("5Gi", "4Gi")  # 8 - 4
    assert reason.values["holders"] == "ns/older"
    slices, wanted, more = CASES["constraint-groups"]
    (group,) = _explained(slices, wanted, **more).reasons
    assert group.values["devices of r"] == "a: 1, b: 1"
    slices, wanted, more = CASES["too-few-devices"]
    (few,) = _explained(slices, wanted, **more).reasons
    assert few.values == {"wanted": "2", "fitting": "1", "devices": "1"}
