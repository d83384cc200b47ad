"""A user's own driver description: what is read from it and every way to get it wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claimfit.errors import ClaimfitError, HardwareError
from claimfit.hardware.accelerators import accelerator
from claimfit.hardware.driver_file import described, load_driver_file
from claimfit.hardware.drivers import driver, target
from claimfit.hardware.identification import DeviceIndex

PAGE = Path(__file__).parents[2] / "docs/drivers.md"

ACME = """\
schemaVersion: claimfit.dev/driver/v1
name: gpu.acme.example
aliases: [acme]
kindAttribute: type
kinds:
- {name: board, value: board}
- {name: virtual, value: vf, serves: false}
classes:
- name: gpu.acme.example
  kind: board
  selectors:
  - device.driver == 'gpu.acme.example' && device.attributes['gpu.acme.example'].type == 'board'
memoryCapacity: memory
productAttributes: [product]
health: {attribute: state, healthy: ok}
boardReserveMib: 512
same: {pcieRoot: resource.kubernetes.io/pcieRoot, product: product}
attributes:
- {name: type, type: string, example: board, always: true}
- {name: product, type: string, example: X1, always: true}
- {name: state, type: string, example: ok}
- {name: resource.kubernetes.io/pcieRoot, type: string, example: 'pci0000:00'}
capacities:
- {name: memory, example: 64Gi, always: true}
accelerators:
- id: acme-x1
  name: Acme X1
  memoryMib: 65280
  bandwidthGbs: 1200
  tflopsFp16: 300.5
  attributes: {type: board, product: X1}
"""


def test_a_complete_file_is_read() -> None:
    """Every part of a description arrives, in YAML as in JSON."""
    found = load_driver_file(ACME, "acme.yaml").driver

    assert found.name == "gpu.acme.example"
    assert found.default_class == "gpu.acme.example"
    assert [kind.serves for kind in found.kinds] == [True, False]
    assert found.healthy_value == '"ok"'
    assert found.match_attributes == (
        ("pcieRoot", "resource.kubernetes.io/pcieRoot"),
        ("product", "gpu.acme.example/product"),
    )
    assert found.source == "described by the user"
    assert found == load_driver_file(json.dumps(yaml_value()), "acme.json").driver


def yaml_value() -> dict[str, object]:
    """Return `ACME` decoded."""
    import yaml

    value = yaml.safe_load(ACME)
    assert isinstance(value, dict)
    return value


def test_its_accelerators_join_the_table() -> None:
    """A device of the file is found by name and identified when it is published."""
    loaded = load_driver_file(ACME, "acme.yaml")

    board = accelerator("acme x1", loaded.accelerators)
    assert (board.memory_mib, board.bandwidth_gbs, board.tflops_fp16) == (65280, 1200, 300.5)
    assert board.published[0].capacities == (("memory", "65280Mi"),)
    assert board == DeviceIndex(loaded.accelerators).identify(
        "gpu.acme.example", {"type": "board", "product": "X1"}, {"memory": "65280Mi"}
    )


def test_a_file_is_a_target_and_wins_over_a_shipped_driver() -> None:
    """`--driver-file` adds a target; one that describes a shipped driver replaces it."""
    own = load_driver_file(ACME, "acme.yaml").driver
    fork = load_driver_file(ACME.replace("gpu.acme.example", "gpu.amd.com"), "fork.yaml").driver

    assert target("acme", [own]).device_class.name == "gpu.acme.example"
    assert driver("gpu.amd.com", [fork]) == fork
    assert driver("gpu.amd.com") != fork


def test_a_small_file_is_enough() -> None:
    """Name, kinds and classes are the least that a description needs."""
    found = load_driver_file(
        "schemaVersion: claimfit.dev/driver/v1\nname: x.y\nkinds: [{name: card}]\n"
        "classes: [{name: x.y}]\n",
        "small.yaml",
    ).driver

    assert (found.classes[0].kind, found.memory_capacity, found.shares) == ("card", "", False)


def test_names_in_the_own_domain_are_bare() -> None:
    """`gpu.acme.example/product` and `product` are one attribute, so both is twice."""
    qualified = ACME.replace("{name: product,", "{name: gpu.acme.example/product,")
    assert load_driver_file(qualified, "a").driver == load_driver_file(ACME, "a").driver

    twice = ACME.replace(
        "capacities:", "- {name: gpu.acme.example/type, type: string}\ncapacities:"
    )
    with pytest.raises(HardwareError) as refusal:
        load_driver_file(twice, "a")
    assert refusal.value.code == "DRV008"


def test_an_error_has_line_and_column() -> None:
    """The place of a wrong name is FILE:LINE:COLUMN."""
    with pytest.raises(HardwareError) as refusal:
        load_driver_file(ACME.replace("name: gpu.acme.example\n", "name: GPU_acme\n", 1), "a.yaml")

    assert refusal.value.code == "DRV006"
    assert refusal.value.place == "a.yaml:2:7"
    assert refusal.value.found == "GPU_acme"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("schemaVersion: claimfit.dev/driver/v1\n", "", "DRV002"),
        ("driver/v1", "driver/v2", "DRV002"),
        ("aliases: [acme]", "alias: [acme]", "DRV003"),
        ("serves: false", "serve: false", "DRV003"),
        ("product: product}", "rack: product}", "DRV003"),
        ("name: gpu.acme.example\naliases", "aliases", "DRV004"),
        ("attributes: {type: board, product: X1}", "note: none", "DRV004"),
        ("  attributes: {type: board, product: X1}", "  attributes: {}", "DRV004"),
        ("aliases: [acme]", "aliases: acme", "DRV005"),
        ("serves: false", "serves: 'no'", "DRV005"),
        ("boardReserveMib: 512", "boardReserveMib: 512Mi", "DRV005"),
        ("boardReserveMib: 512", "boardReserveMib: true", "DRV005"),
        ("healthy: ok", "healthy: 1", "DRV005"),
        ("product: X1}", "product: 1}", "DRV005"),
        ("product: X1}", "product: true}", "DRV005"),
        ("bandwidthGbs: 1200", "bandwidthGbs: fast", "DRV005"),
        ("- {name: type, type: string, example: board, always: true}", "- type", "DRV005"),
        ("example: X1", 'example: "X\\u0007"', "DRV005"),
        ("aliases: [acme]", "aliases: [Acme]", "DRV006"),
        ("- name: gpu.acme.example\n", "- name: gpu acme\n", "DRV006"),
        ("{name: state,", "{name: sta-te,", "DRV006"),
        ("{name: state,", "{name: " + "s" * 33 + ",", "DRV006"),
        ("{name: state,", "{name: a/b/state,", "DRV006"),
        ("{name: state,", "{name: /state,", "DRV006"),
        ("name: gpu.acme.example\naliases", "name: " + "a" * 64 + "\naliases", "DRV006"),
        ("kind: board\n", "kind: boards\n", "DRV007"),
        ("memoryCapacity: memory", "memoryCapacity: vram", "DRV007"),
        ("productAttributes: [product]", "productAttributes: [model]", "DRV007"),
        ("attribute: state,", "attribute: status,", "DRV007"),
        ("{name: state, type: string", "{name: state, type: text", "DRV007"),
        ("kindAttribute: type\n", "", "DRV007"),
        ("boardReserveMib: 512", "defaultClass: other", "DRV007"),
        ("{name: memory,", "{name: memory, kinds: [card],", "DRV007"),
        ("value: vf", "value: board", "DRV008"),
        ("aliases: [acme]", "aliases: [acme, acme]", "DRV008"),
        ("capacities:\n", "capacities:\n- {name: memory}\n", "DRV008"),
        ("boardReserveMib: 512", "boardReserveMib: -1", "DRV009"),
        ("boardReserveMib: 512", "boardReserveMib: 9007199254740992", "DRV009"),
        ("memoryMib: 65280", "memoryMib: 0", "DRV009"),
        ("bandwidthGbs: 1200", "bandwidthGbs: 0", "DRV009"),
        ("bandwidthGbs: 1200", "bandwidthGbs: -3.5", "DRV009"),
        ("example: X1", "example: " + "X" * 65, "DRV009"),
        ("  - device.driver ==", "  - " + "x" * 10241 + " ==", "DRV009"),
    ],
)
def test_each_mistake_has_its_code(old: str, new: str, code: str) -> None:
    """One change makes one error, with a place and without a traceback."""
    text = ACME.replace(old, new, 1)
    assert text != ACME

    with pytest.raises(HardwareError) as refusal:
        load_driver_file(text, "acme.yaml")

    assert refusal.value.code == code
    assert refusal.value.place.startswith("acme.yaml:")


@pytest.mark.parametrize(
    "content",
    ["", "---\n", "[]", "null", "{}", "a: b\n---\nc: d\n", "- 1\n", "\x00", b"\xff\xfe\xff", "{"],
)
def test_what_is_no_description_is_an_input_error(content: str | bytes) -> None:
    """Empty, foreign and broken files are refused as such."""
    with pytest.raises(ClaimfitError) as refusal:
        load_driver_file(content, "x.yaml")

    assert refusal.value.exit_code == 2


def test_an_error_in_a_decoded_value_has_a_path() -> None:
    """Without a text the place is the path of the field."""
    value = yaml_value() | {"classes": [{"name": "gpu.acme.example", "kind": 5}]}

    with pytest.raises(HardwareError) as refusal:
        described(value, "memory")

    assert refusal.value.place == "memory: classes[0].kind"


def test_the_example_in_the_docs_is_valid() -> None:
    """The full example of docs/drivers.md is read without an error."""
    example = PAGE.read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]

    loaded = load_driver_file(example, "docs/drivers.md")

    assert loaded.driver.memory_capacity
    assert loaded.accelerators
