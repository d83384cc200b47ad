"""Pods, workloads, quotas and taint rules: read the same in every form, and only when asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from claimfit.dra.reading import Objects, read_objects
from claimfit.errors import InputError
from support.small_cluster import claim, device, gpu_class, node, pod, published

RULE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceTaintRule",
    "metadata": {"name": "r"},
    "spec": {"taint": {"key": "k", "effect": "NoSchedule"}, "deviceSelector": {"driver": "d"}},
}
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "q", "namespace": "team"},
    "spec": {"hard": {"pods": "3"}},
}


def workload(kind: str, version: str = "apps/v1") -> dict[str, Any]:
    """Return a workload of two pods."""
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": kind.lower()},
        "spec": {"replicas": 2, "template": {"spec": pod()["spec"]}},
    }


ITEMS = [
    node("node-1"),  # "n" alone would be a boolean in YAML 1.1
    published("node-1", device("g")),
    gpu_class(),
    claim(),
    pod("p", "want", volumes=[{"name": "v", "emptyDir": {}}], affinity={"podAffinity": {"x": []}}),
    QUOTA,
    RULE,
    workload("Deployment"),
    workload("StatefulSet"),
    workload("ReplicaSet"),
    workload("DaemonSet"),
    workload("Job", "batch/v1"),
]
OTHER = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}


def as_list(items: list[dict[str, Any]]) -> bytes:
    """Return a List in JSON."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()


def counts(read: Objects) -> dict[str, int]:
    """Return how many of each there are."""
    names = ("slices", "classes", "claims", "nodes", "pods", "workloads", "quotas", "taint_rules")
    return {name: len(getattr(read, name)) for name in names}


def test_all_forms_agree() -> None:
    """One List, a List with an unknown kind (read item by item), and YAML give the same objects."""
    fast = read_objects(as_list(ITEMS), "f", everything=True)
    slow = read_objects(as_list([*ITEMS, OTHER]), "f", everything=True)
    text = yaml.safe_dump_all(ITEMS).encode()
    written = read_objects(text, "f", everything=True)

    assert counts(fast) == {
        "slices": 1,
        "classes": 1,
        "claims": 1,
        "nodes": 1,
        "pods": 1,
        "workloads": 5,
        "quotas": 1,
        "taint_rules": 1,
    }
    for name in counts(fast):
        assert getattr(fast, name) == getattr(slow, name)
        assert getattr(fast, name) == getattr(written, name)
    assert slow.other_kinds == {"ConfigMap": 1}
    assert [(item.kind, item.pods) for item in fast.workloads] == [
        ("Deployment", 2),
        ("StatefulSet", 2),
        ("ReplicaSet", 2),
        ("DaemonSet", 2),
        ("Job", 1),
    ]


def test_they_are_counted_where_nobody_asks() -> None:
    """Without `everything` they are other kinds, as before."""
    read = read_objects(as_list(ITEMS), "f")

    assert counts(read) | {"pods": 0, "workloads": 0} == counts(read)
    assert read.other_kinds["Pod"] == 1
    assert read.other_kinds["DeviceTaintRule"] == 1
    assert read.count == len(ITEMS)


def test_taint_rules_of_older_versions() -> None:
    """v1alpha3 and v1beta2 of DeviceTaintRule have the shape of v1."""
    for version in ("v1alpha3", "v1beta2"):
        old = {**RULE, "apiVersion": f"resource.k8s.io/{version}"}
        read = read_objects(as_list([old]), "f", everything=True)
        assert read.taint_rules[0].spec.taint.key == "k"


@pytest.mark.parametrize(
    "broken",
    [
        {**pod("p"), "spec": {"containers": "x"}},
        {**pod("p"), "spec": {"resourceClaims": [{"resourceClaimName": "x"}]}},
        {**QUOTA, "spec": {"hard": []}},
        {**workload("Deployment"), "spec": {"replicas": "2"}},
    ],
)
def test_wrong_shapes_have_a_code(broken: dict[str, Any]) -> None:
    """A field of the wrong type is DRA001 with its place."""
    with pytest.raises(InputError) as raised:
        read_objects(as_list([broken]), "f", everything=True)

    assert raised.value.code == "DRA001"
    assert raised.value.place.startswith("f: items[0]")
