"""Devices, clauses, gaps, what-if and suggestions, on clusters whose answers are seen by eye."""

from __future__ import annotations

from typing import Any

import pytest

from claimfit.diagnose.cluster import Cluster
from claimfit.diagnose.explaining import explain
from claimfit.diagnose.gaps import comparison, short_text
from claimfit.diagnose.question import Question, about_claim
from claimfit.diagnose.selection import clauses
from claimfit.diagnose.suggestions import suggestions
from claimfit.diagnose.what_if import changed_objects, changed_question, parse_change
from claimfit.dra.profile import profile
from claimfit.errors import UsageError
from support.small_cluster import claim, cluster, device, gpu_class, node, published

RULES = profile("1.36")
MEMORY = "device.capacity['gpu.test'].memory.compareTo(quantity('{}')) >= 0"


def question_of(made: Cluster) -> Question:
    """Return the question about the claim that waits."""
    (asked,) = [item for item in made.objects.claims if item.status.allocation is None]
    return about_claim(asked, made)


def test_clauses_are_split_at_the_top_only() -> None:
    """Brackets, macros and strings keep their &&; nested && without brackets is one list."""
    text = """'a' == "&&" && ([1].exists(x, x > 0 && x < 2) || false)
      && device.driver == 'b'"""

    assert clauses(text, RULES) == (
        "'a' == \"&&\"",
        "([1].exists(x, x > 0 && x < 2) || false)",
        "device.driver == 'b'",
    )
    assert clauses("a && b || c", RULES) == ("a && b || c",)
    assert clauses("device.", RULES) == ("device.",)


@pytest.mark.parametrize(
    ("clause", "shown"),
    [
        (MEMORY.format("80Gi"), "memory >= 80Gi"),
        ("0 < device.capacity['gpu.test'].memory.compareTo(quantity('1Gi'))", "memory > 1Gi"),
        ("device.attributes['gpu.test'].sms >= 100", "sms >= 100"),
        ("device.attributes['gpu.test']['type'] == 'gpu'", "['type'] == 'gpu'"),
        ("device.attributes['gpu.test'].type == 'gpu'", "type == 'gpu'"),
        ("'memory' in device.capacity['gpu.test']", "memory is published"),
    ],
)
def test_clauses_for_people(clause: str, shown: str) -> None:
    """Thresholds are read in either order; the path to the domain is left out."""
    assert short_text(clause, RULES) == shown


def test_no_bound_is_read_from_what_is_none() -> None:
    """A comparison with a device's own value, or with a quantity that is none, has no threshold."""
    other = "device.capacity['a'].x.compareTo(device.capacity['a'].y) >= 0"

    assert comparison(other, RULES) is None
    assert comparison(MEMORY.format("80Q"), RULES) is None
    assert comparison("true", RULES) is None


def test_rows_fold_and_sort() -> None:
    """Nearest threshold first, then what is in use, tainted and free, each with its values."""
    tainted = device("g4", taints=[{"key": "ill", "effect": "NoSchedule"}])
    made = cluster(
        published("n", device("g0", "79Gi"), device("g1", "79Gi"), device("g2", "40Gi"),
                  device("g3"), tainted, device("g5")),
        gpu_class(),
        claim("holder", holds=("n/g3",)),
        claim("want", 2, MEMORY.format("80Gi")),
    )  # fmt: skip

    answer = explain(question_of(made), made)

    assert [(row.text, row.detail, row.places) for row in answer.rows] == [
        ("clause 1 is false", "memory 79Gi, 1Gi short of 80Gi", (("n", ("g0", "g1")),)),
        ("clause 1 is false", "memory 40Gi, 40Gi short of 80Gi", (("n", ("g2",)),)),
        (
            "matches, but is in use",
            "claim default/holder, pod default/holder-pod",
            (("n", ("g3",)),),
        ),
        ("matches, but its taint is not tolerated", "ill:NoSchedule", (("n", ("g4",)),)),
        ("fits and is free", "", (("n", ("g5",)),)),
    ]
    (clause,) = answer.requests[0].clauses
    assert (clause.false, clause.failing, clause.true, clause.devices) == (3, 0, 3, 6)
    assert answer.closest == "Closest is node n: 1 device short."


def test_a_device_in_use_that_does_not_match_is_not_called_taken() -> None:
    """Freeing a device that the selector refuses anyway would be bad advice."""
    made = cluster(
        published("n", device("g0", "40Gi")),
        gpu_class(),
        claim("holder", holds=("n/g0",)),
        claim("want", 1, MEMORY.format("80Gi")),
    )

    answer = explain(question_of(made), made)

    assert [row.code for row in answer.rows] == ["request-selector-false"]
    assert not [x for x in suggestions(question_of(made), answer, made) if x.change.kind == "free"]


def test_an_error_ends_the_attempt_although_a_node_fits() -> None:
    """Node b fits; on node a the selector fails, so kube-scheduler gives up."""
    bare = {"name": "g0", "attributes": {"type": {"string": "gpu"}}}
    made = cluster(
        node("a"),
        node("b"),
        published("a", bare),
        published("b", device("g0")),
        gpu_class(),
        claim("want", 1, MEMORY.format("80Gi")),
    )

    answer = explain(question_of(made), made)
    works = suggestions(question_of(made), answer, made)

    assert answer.outcome == "aborted"
    assert not answer.fits
    assert answer.scheduler_line == (
        'running "DynamicResources" filter plugin: claim default/want: selector #0: CEL runtime '
        "error: no such key: memory"
    )
    assert "node b alone would fit" in answer.closest
    assert [item.change.kind for item in works] == ["guard"]
    assert works[0].nodes == ("b",)


def test_latent_errors_are_told() -> None:
    """g0 is taken first and fits; g1, which publishes no memory, is not reached today."""
    bare = {"name": "g1", "attributes": {"type": {"string": "gpu"}}}
    made = cluster(
        published("n", device("g0"), bare), gpu_class(), claim("want", 1, MEMORY.format("80Gi"))
    )

    answer = explain(question_of(made), made)

    assert answer.outcome == "fits"
    assert [(item.error, item.devices) for item in answer.latent] == [
        ("no such key: memory", ("gpu.test/n/g1",))
    ]
    assert any("the day it is asked there" in hint for hint in answer.hints)


def test_an_incomplete_pool_is_the_cause() -> None:
    """One of two slices is there: no device counts, and no selector is blamed."""
    made = cluster(published("n", device("g0"), slices=2), gpu_class(), claim())

    answer = explain(question_of(made), made)

    assert answer.rows == ()
    assert "pool-incomplete" in [reason.code for reason in answer.reasons]


@pytest.mark.parametrize(
    ("extra", "waiting", "works"),
    [
        ([device("g0", "79Gi")], claim("want", 1, MEMORY.format("80Gi")), "--relax 1=79Gi"),
        ([device("g0", taints=[{"key": "ill", "effect": "NoSchedule"}])], claim(),
         "--tolerate ill:NoSchedule"),
        ([device("g0"), device("g1")], claim("want", 3), "--count 2"),
        ([device("held")], claim(), "--free default/holder"),
    ],
)  # fmt: skip
def test_suggestions_are_tried(
    extra: list[dict[str, Any]], waiting: dict[str, Any], works: str
) -> None:
    """The first change that is told is the smallest, and asking again with it says yes."""
    manifests = [published("n", *extra), gpu_class(), waiting]
    if extra[0]["name"] == "held":
        manifests.append(claim("holder", holds=("n/held",)))
    made = cluster(*manifests)
    question = question_of(made)
    answer = explain(question, made)
    assert answer.outcome == "pending"

    first = suggestions(question, answer, made)[0]

    assert first.change.flag == works
    kind, _, value = works.removeprefix("--").partition(" ")
    change = parse_change(kind, value)  # type: ignore[arg-type]
    again = Cluster(changed_objects(made.objects, [change], "default"), made.profile)
    assert explain(changed_question(question, [change], made.profile), again).fits


def test_a_count_is_lowered_as_little_as_possible() -> None:
    """Of 5 wanted and 3 there, 3 works; 2 and 1 are not told."""
    made = cluster(
        published("n", *(device(f"g{at}") for at in range(3))), gpu_class(), claim("w", 5)
    )
    question = question_of(made)

    works = suggestions(question, explain(question, made), made)

    assert [item.change.flag for item in works] == ["--count 3"]


@pytest.mark.parametrize(
    ("kind", "text", "code"),
    [
        ("relax", "x", "EXP001"),
        ("relax", "0", "EXP001"),
        ("relax", "1=", "EXP001"),
        ("relax", "9" * 400, "EXP001"),
        ("count", "33", "EXP001"),
        ("count", "-1", "EXP001"),
        ("count", "1=2", "EXP001"),
        ("tolerate", "", "EXP001"),
        ("free", "", "EXP001"),
        ("free", "nobody", "EXP002"),
        ("count", "other:1", "EXP003"),
        ("relax", "7", "EXP004"),
        ("relax", "1=79Gi", "EXP005"),
        ("relax", "2=79' || true || '", "EXP005"),
    ],
)
def test_changes_that_make_no_sense_are_errors(kind: Any, text: str, code: str) -> None:
    """Nothing is ignored: an unreadable or idle change has its code."""
    made = cluster(
        published("n", device("g0")), gpu_class(), claim("w", 1, "true", MEMORY.format("80Gi"))
    )

    def apply() -> None:
        change = parse_change(kind, text)
        changed_objects(made.objects, [change], "default")
        changed_question(question_of(made), [change], made.profile)

    with pytest.raises(UsageError) as raised:
        apply()

    assert raised.value.code == code


def test_a_change_leaves_the_cluster_alone() -> None:
    """What-if is pure: the claim is still held in the objects that were read."""
    made = cluster(published("n", device("g0")), gpu_class(), claim("holder", holds=("n/g0",)))

    changed_objects(made.objects, [parse_change("free", "holder")], "default")

    assert made.objects.claims[0].status.allocation is not None
