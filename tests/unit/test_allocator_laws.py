"""Laws of allocation: what must not change an answer, and what may only change it one way."""

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from claimfit.dra.allocation import Allocator
from claimfit.dra.allocator.behaviour import behaviour
from claimfit.dra.allocator.state import AllocatedState
from claimfit.dra.objects import Metadata, Node
from support import allocator_judge
from support.allocator_judge import features, normal_verdict
from support.allocator_scenarios import NODE, Scenario, answer, scenario

if TYPE_CHECKING:
    from claimfit.dra.verdict import Verdict

SEEDS = range(30_000, 30_150)


def decided(made: Scenario, *, pruned: bool = True) -> Verdict:
    """Return the verdict, with a budget that no test waits for."""
    return allocator_judge.decided(made, pruned=pruned, budget=5000)


def _devices(made: Scenario) -> list[list[tuple[str, str]]]:
    return [
        [(x.request, f"{x.driver}/{x.pool}/{x.device}") for x in allocation.devices.results]
        for allocation in decided(made).allocations
    ]


@pytest.mark.parametrize("minor", [36, 37])
def test_pruning_changes_no_answer(minor: int) -> None:
    """The search that is pruned and the one that takes every step agree, errors included."""
    saved = 0
    for seed in SEEDS:
        made = scenario(seed, minor)
        every = decided(made, pruned=False)
        if every.outcome == "undecided":
            continue
        pruned = decided(made)
        assert normal_verdict(pruned) == normal_verdict(every), seed
        assert pruned.steps <= every.steps, seed
        saved += every.steps - pruned.steps
    assert saved > 0


def test_the_order_of_slices_in_the_list_does_not_matter() -> None:
    """With sorted pools and slices (since 1.36) a shuffled list gives the same devices."""
    for seed in SEEDS:
        made = scenario(seed, 37)
        if {"duplicate device", "newer generation elsewhere"} & made.tags:
            continue  # which of two contradicting slices comes first is left to the list
        shuffled = copy.deepcopy(made)
        random.Random(seed).shuffle(shuffled.slices)
        assert normal_verdict(decided(shuffled)) == normal_verdict(decided(made)), seed


def test_names_of_devices_do_not_matter() -> None:
    """Devices that are renamed, in place, are chosen at the same places."""
    for seed in SEEDS:
        made = scenario(seed, 37)
        renamed = copy.deepcopy(made)
        for item in renamed.slices:
            for device in item["spec"].get("devices", ()):
                device["name"] = f"z-{device['name']}"
        for known in (renamed.exclusive, renamed.shared):
            known[:] = [(driver, pool, f"z-{device}") for driver, pool, device in known]
        for used in renamed.consumed:
            driver, pool, device = used["device"]
            used["device"] = (driver, pool, f"z-{device}")
        expected = [
            [(request, "/z-".join(path.rsplit("/", 1))) for request, path in claim]
            for claim in _devices(made)
        ]
        assert _devices(renamed) == expected, seed


def test_a_device_more_takes_no_solution_away() -> None:
    """A device in a pool of its own, tried last, leaves an allocation as it is."""
    added = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "zz"},
        "spec": {
            "driver": "z.example",
            "nodeName": NODE,
            "pool": {"name": "zz", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "more", "bindingConditions": ["z.example/up"]}],
        },
    }
    fitting = 0
    for seed in SEEDS:
        made = scenario(seed, 37)
        verdict = decided(made)
        if not verdict.fits or "mode All" in made.tags:
            continue
        larger = copy.deepcopy(made)
        larger.slices.append(added)
        found = decided(larger)
        assert found.fits, seed
        assert normal_verdict(found) == normal_verdict(verdict), seed
        fitting += 1
    assert fitting > 30


def test_what_is_asked_is_left_as_it_was() -> None:
    """Deciding twice with one allocator gives the same verdict: nothing is kept by mistake."""
    for seed in SEEDS:
        made = scenario(seed, 36)
        node, slices, classes, claims = made.objects()
        rules = behaviour(36, features(made.features))
        state = AllocatedState(frozenset(), frozenset(), {}, {})
        allocator = Allocator(rules, slices, classes, answer, state)
        first = allocator.decide(node, claims)
        assert allocator.decide(node, claims) == first, seed


def _cluster(seed: int, minor: int) -> tuple[Scenario, list[Node]]:
    """Return a scenario whose node-local slices are there for ten nodes, and the nodes."""
    made = scenario(seed, minor)
    nodes = []
    more: list[dict[str, Any]] = []
    for number in range(10):
        name = f"like-{number}"
        labels = {"zone": "z1", "kubernetes.io/hostname": name}
        value = {"metadata": {"name": name, "labels": labels}}
        nodes.append(msgspec.convert({"kind": "Node", "apiVersion": "v1", **value}, Node))
        for item in made.slices:
            if item["spec"].get("nodeName") == NODE:
                copied = copy.deepcopy(item)
                copied["metadata"]["name"] += f"-{number}"
                copied["spec"]["nodeName"] = name
                copied["spec"]["pool"]["name"] += f"-{number}"
                devices = copied["spec"].get("devices", [])
                if number % 3 == 2 and devices:
                    devices.pop(0)
                for device in devices:
                    root = device["attributes"].get("std.example/root", {})
                    if number % 2 and "string" in root:  # other values, equal where they were
                        root["string"] += f" of {number}"
                more.append(copied)
    made.slices += more
    return made, nodes


@pytest.mark.parametrize("minor", [34, 35, 36, 37])
def test_like_nodes_get_the_verdict_that_each_would_get_alone(minor: int) -> None:
    """Deciding many nodes at once and one by one is the same."""
    for seed in range(40_000, 40_040):
        made, nodes = _cluster(seed, minor)
        _, slices, classes, claims = made.objects()
        rules = behaviour(minor, features(made.features))
        alone = Allocator(rules, slices, classes, answer, budget=5000)
        expected = [alone.decide(node, claims) for node in nodes]
        together = Allocator(rules, slices, classes, answer, budget=5000)
        found = list(together.decide_all(nodes, claims))
        assert [item._replace(steps=0) for item in found] == [
            item._replace(steps=0) for item in expected
        ], seed


def test_like_nodes_are_searched_once() -> None:
    """A hundred equal nodes evaluate selectors once per device and search once."""
    made = scenario(1, 37)
    claim = copy.deepcopy(made.claims[0])
    request = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 2}
    claim["spec"] = {"devices": {"requests": [{"name": "r", "exactly": request}]}}
    devices = [{"name": f"d{number}", "attributes": {}} for number in range(4)]
    slices, nodes = [], []
    for number in range(100):
        name = f"n{number:02}"
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "a.example", "nodeName": name, "pool": pool, "devices": devices}
        head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"}
        slices.append({**head, "metadata": {"name": name}, "spec": spec})
        nodes.append(Node(Metadata(name=name)))
    made.slices, made.claims = slices, [claim]
    _, read, classes, claims = made.objects()
    allocator = Allocator(behaviour(37, features(made.features)), read, classes, answer)
    verdicts = list(allocator.decide_all(nodes, claims))
    assert [item.node for item in verdicts] == [f"n{number:02}" for number in range(100)]
    assert all(item.fits for item in verdicts)
    assert {item.allocations[0].devices.results[1].pool for item in verdicts} == {
        f"n{number:02}" for number in range(100)
    }
