"""API objects from files: kinds, lists, older versions, and what is refused."""

from __future__ import annotations

import json

import pytest

from claimfit.dra.reading import read_objects
from claimfit.errors import InputError

SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "node-a-0", "managedFields": [{"manager": "driver"}]},
    "spec": {
        "driver": "gpu.example.com",
        "nodeName": "node-a",
        "pool": {"name": "node-a", "generation": 1, "resourceSliceCount": 1},
        "devices": [
            {
                "name": "gpu-0",
                "attributes": {
                    "model": {"string": "LATEST-GPU-MODEL"},
                    "index": {"int": 0},
                    "ready": {"bool": False},
                    "driverVersion": {"version": "1.0.0"},
                    "cores": {"ints": [1, 2]},
                },
                "capacity": {"memory": {"value": "80Gi"}},
            }
        ],
    },
}


def read(value: object) -> object:
    """Return the objects of `value` written as JSON."""
    return read_objects(json.dumps(value).encode(), "file.json")


def test_json_and_yaml_give_the_same_objects() -> None:
    """A List in JSON and documents in YAML are two ways to write the same."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}}
    listed = {"apiVersion": "v1", "kind": "List", "items": [SLICE, node]}
    documents = "\n---\n".join(json.dumps(item, indent=1) for item in (SLICE, node))

    from_json = read_objects(json.dumps(listed).encode(), "a")
    from_yaml = read_objects(documents.encode(), "a")

    assert from_json == from_yaml
    assert from_json.count == 2
    (device,) = from_json.slices[0].spec.devices
    values = {name: attribute.value for name, attribute in device.attributes.items()}
    assert values == {
        "model": "LATEST-GPU-MODEL",
        "index": 0,
        "ready": False,
        "driverVersion": "1.0.0",
        "cores": [1, 2],
    }


def test_typed_list_lends_its_kind_to_its_items() -> None:
    """Items of a ResourceSliceList carry no kind of their own in the API's answers."""
    bare = {key: SLICE[key] for key in ("metadata", "spec")}
    listed = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSliceList", "items": [bare]}

    assert len(read(listed).slices) == 1
    assert len(read_objects(json.dumps(listed, indent=1).encode() + b"\n---\n", "f").slices) == 1


def test_v1beta1_is_converted_and_said_so() -> None:
    """`basic` is unfolded, request fields move under `exactly`, and a note tells."""
    device = SLICE["spec"]["devices"][0]
    old_slice = {
        **SLICE,
        "apiVersion": "resource.k8s.io/v1beta1",
        "spec": {
            **SLICE["spec"],
            "devices": [
                {
                    "name": "gpu-0",
                    "basic": {key: item for key, item in device.items() if key != "name"},
                }
            ],
        },
    }
    old_claim = {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceClaim",
        "metadata": {"name": "one"},
        "spec": {
            "devices": {
                "requests": [
                    {"name": "gpu", "deviceClassName": "gpu.example.com", "count": 2},
                    {"name": "any", "firstAvailable": [{"name": "a", "deviceClassName": "c"}]},
                ]
            }
        },
    }

    objects = read({"apiVersion": "v1", "kind": "List", "items": [old_slice, old_claim]})

    assert objects.slices == read(SLICE).slices
    gpu, either = objects.claims[0].spec.devices.requests
    assert (gpu.name, gpu.exactly.device_class_name, gpu.exactly.count) == (
        "gpu",
        "gpu.example.com",
        2,
    )
    assert [item.name for item in either.first_available] == ["a"]
    assert len(objects.notes) == 2
    assert all("v1beta1" in note for note in objects.notes)


def test_other_kinds_are_counted() -> None:
    """Kinds that no rule reads are reported, not lost."""
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i}"}} for i in range(3)]

    objects = read({"apiVersion": "v1", "kind": "List", "items": [*pods, SLICE]})

    assert objects.other_kinds == {"Pod": 3}
    assert objects.count == 4


@pytest.mark.parametrize(
    ("value", "code", "part"),
    [
        ({**SLICE, "spec": {**SLICE["spec"], "driver": 3}}, "DRA001", "spec.driver"),
        ({**SLICE, "spec": {"driver": "d"}}, "DRA001", "pool"),
        ({**SLICE, "spec": {**SLICE["spec"], "devices": [{}]}}, "DRA001", "spec.devices[0]"),
        ({**SLICE, "spec": {**SLICE["spec"], "devices": None}}, "DRA001", "spec.devices"),
        ({**SLICE, "apiVersion": "resource.k8s.io/v1alpha2"}, "DRA003", "v1alpha2"),
        ({"apiVersion": "v1", "items": []}, "DRA002", ""),
        ({"kind": "List", "apiVersion": "v1", "items": [3]}, "DRA002", ""),
        ([SLICE, SLICE], "DRA002", ""),
        ({"kind": 3, "apiVersion": []}, "DRA002", ""),
    ],
)
def test_broken_objects_are_refused_with_their_place(value: object, code: str, part: str) -> None:
    """A wrong type, a missing field or no object at all is a coded error that names the field."""
    for text in (json.dumps(value), json.dumps(value) + "\n---\n"):
        with pytest.raises(InputError) as caught:
            read_objects(text.encode(), "file")

        assert code == caught.value.code
        assert part in f"{caught.value.place} {caught.value.message} {caught.value.found}"
