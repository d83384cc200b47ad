"""Laws of explanations on random small clusters: nothing is lost, and advice that is told works."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from claimfit.diagnose.cluster import Cluster
from claimfit.diagnose.explaining import explain
from claimfit.diagnose.question import Question, about_claim
from claimfit.diagnose.suggestions import suggestions
from claimfit.diagnose.what_if import changed_objects, changed_question
from claimfit.dra.amounts import nanos_of
from support.small_cluster import claim, cluster, device, gpu_class, node, published

SIZES = ("40Gi", "79Gi", "81559Mi", "80Gi", "141Gi")


@st.composite
def clusters(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw nodes with GPUs, some held or tainted, and a claim that waits."""
    made: list[dict[str, Any]] = [gpu_class()]
    held: list[str] = []
    for at in range(draw(st.integers(1, 3))):
        name = f"n{at}"
        devices = []
        for index in range(draw(st.integers(0, 4))):
            more = {}
            if draw(st.integers(0, 4)) == 0:
                more = {"taints": [{"key": "ill", "effect": "NoSchedule"}]}
            devices.append(device(f"g{index}", draw(st.sampled_from(SIZES)), **more))
            if draw(st.integers(0, 3)) == 0:
                held.append(f"{name}/g{index}")
        made += [node(name), published(name, *devices)]
    made += [claim(f"held-{at}", holds=(place,)) for at, place in enumerate(held)]
    least = draw(st.sampled_from((*SIZES, "0")))
    text = f"device.capacity['gpu.test'].memory.compareTo(quantity('{least}')) >= 0"
    made.append(claim("want", draw(st.integers(1, 4)), text))
    return made


def question_of(made: Cluster) -> Question:
    """Return the question about the claim that waits."""
    (asked,) = [item for item in made.objects.claims if item.metadata.name == "want"]
    return about_claim(asked, made)


@given(clusters())
@settings(max_examples=120, deadline=None)
def test_every_device_stands_in_one_row(manifests: list[dict[str, Any]]) -> None:
    """Rows add up to the devices of the nodes that do not fit; each node is there once."""
    made = cluster(*manifests)

    answer = explain(question_of(made), made)

    told = [(place, name) for row in answer.rows for place, names in row.places for name in names]
    asked = {item.node for item in answer.nodes if item.explanation is not None}
    there = [
        (item.spec.node_name, each.name)
        for item in made.objects.slices
        for each in item.spec.devices
        if item.spec.node_name in asked
    ]
    assert sorted(told) == sorted(there)
    assert sorted(item.node for item in answer.nodes) == sorted(
        item.metadata.name for item in made.nodes
    )


@given(clusters())
@settings(max_examples=120, deadline=None)
def test_the_verdict_is_that_of_counting(manifests: list[dict[str, Any]]) -> None:
    """With one request, a node fits when enough devices are free, untainted and large enough."""
    made = cluster(*manifests)
    want = manifests[-1]["spec"]["devices"]["requests"][0]["exactly"]
    least = nanos_of(want["selectors"][0]["cel"]["expression"].split("'")[3])
    held = {
        (result.pool, result.device)
        for item in made.objects.claims
        if item.status.allocation is not None
        for result in item.status.allocation.devices.results
    }
    expected = {
        item.spec.node_name
        for item in made.objects.slices
        if sum(
            nanos_of(each.capacity["memory"].value) >= least
            and not each.taints
            and (item.spec.pool.name, each.name) not in held
            for each in item.spec.devices
        )
        >= want["count"]
    }

    answer = explain(question_of(made), made)

    assert {item.node for item in answer.nodes if item.state == "fits"} == expected
    assert answer.fits == bool(expected)


@given(clusters())
@settings(max_examples=80, deadline=None)
def test_what_is_suggested_works(manifests: list[dict[str, Any]]) -> None:
    """Each change that is told, made and asked again, fits on exactly the nodes that it names."""
    made = cluster(*manifests)
    question = question_of(made)
    answer = explain(question, made)

    works = suggestions(question, answer, made)

    assert not (works and answer.fits)
    for item in works:
        objects = changed_objects(made.objects, [item.change], "default")
        again = explain(
            changed_question(question, [item.change], made.profile), Cluster(objects, made.profile)
        )
        fitting = {each.node for each in again.nodes if each.state == "fits"}
        assert again.fits
        assert fitting == set(item.nodes)


@given(clusters(), st.permutations(range(3)))
@settings(max_examples=60, deadline=None)
def test_the_order_of_reading_changes_nothing(
    manifests: list[dict[str, Any]], order: list[int]
) -> None:
    """Same objects in another order, same answer to the byte."""
    parts = [manifests[at::3] for at in order]
    shuffled = [item for part in parts for item in part]
    first, second = cluster(*manifests), cluster(*shuffled)

    one, two = explain(question_of(first), first), explain(question_of(second), second)

    assert (one.sentence, one.closest, one.rows) == (two.sentence, two.closest, two.rows)
    assert one.scheduler_line == two.scheduler_line
