"""The emitter: the layout that people read, and the rule for quotes."""

from __future__ import annotations

import pytest

from claimfit.errors import InputError
from claimfit.manifests.emitter import Folded, json_text, yaml_text


def test_layout_is_that_of_a_manifest() -> None:
    """Sequences are indented, empty values are inline, CEL has one conjunct per line."""
    document = {
        "kind": "ResourceClaim",
        "metadata": {"name": "a", "labels": {}},
        "spec": {
            "requests": [{"name": "model", "count": 2}, {"name": "other", "list": []}],
            "nested": [["a", "b"], []],
            "expression": Folded(["'memory' in x &&", "x.memory > 1"]),
            "absent": None,
            "shared": True,
        },
    }
    assert yaml_text(document, ["first", ""]) == (
        "# first\n"
        "#\n"
        "kind: ResourceClaim\n"
        "metadata:\n"
        "  name: a\n"
        "  labels: {}\n"
        "spec:\n"
        "  requests:\n"
        "    - name: model\n"
        "      count: 2\n"
        "    - name: other\n"
        "      list: []\n"
        "  nested:\n"
        "    - - a\n"
        "      - b\n"
        "    - []\n"
        "  expression: >-\n"
        "    'memory' in x &&\n"
        "    x.memory > 1\n"
        "  absent: null\n"
        "  shared: true\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "resource.k8s.io/v1",
        "gpu.nvidia.com",
        "Qwen/Qwen3-30B-A3B",
        "80Gi",
        "81559Mi",
        "Intel(R) Arc",
        "vllm serve",
        "a:b",
    ],
)
def test_ordinary_names_stay_plain(text: str) -> None:
    """What people write without quotes is written without quotes."""
    assert yaml_text({"a": text}) == f"a: {text}\n"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("yes", '"yes"'),
        ("NULL", '"NULL"'),
        ("0x1F", '"0x1F"'),
        ("1E", '"1E"'),
        ("1:30", '"1:30"'),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        ('say "hi"\\', '"say \\"hi\\"\\\\"'),
        ("a\u0085b\u2028c", '"a\\x85b\\u2028c"'),
        ("\U000e0001", '"\\U000e0001"'),
    ],
)
def test_whatever_could_be_misread_is_quoted(text: str, written: str) -> None:
    """Booleans, numbers, indicators and unprintable characters are quoted and escaped."""
    assert yaml_text({"a": text}) == f"a: {written}\n"


def test_a_model_name_cannot_add_a_key_or_a_line() -> None:
    """A name with line breaks of every kind stays inside its comment and its scalar."""
    name = "a\nkind: Evil\r\u0085\u2028\u2029\x00\x1b[2J"
    emitted = yaml_text({"name": name}, [f"model {name}"])
    assert len(emitted.splitlines()) == 2
    assert "\x1b" not in emitted


def test_a_key_nobody_can_mean_is_refused() -> None:
    """Readers give up on keys over 1024 characters, so none is written."""
    with pytest.raises(InputError, match="MAN090"):
        yaml_text({"k" * 513: 1})


def test_json_escapes_what_terminals_act_on() -> None:
    """C1 controls, bidirectional marks and lone surrogates are escaped, letters are not."""
    text = json_text({"name": "é模\x9b\u202e\udcff"})
    assert text == '{"name": "é模\\u009b\\u202e\\udcff"}\n'


def test_json_is_broken_where_a_line_ends() -> None:
    """What is flat and fits 120 columns is one line; the rest is indented, item by item."""
    row = {"id": "nvidia-h100-sxm", "name": "x" * 60}
    assert json_text({"rows": [row, row], "empty": []}) == (
        "{\n"
        '  "rows": [\n'
        f'    {{"id": "nvidia-h100-sxm", "name": "{"x" * 60}"}},\n'
        f'    {{"id": "nvidia-h100-sxm", "name": "{"x" * 60}"}}\n'
        "  ],\n"
        '  "empty": []\n'
        "}\n"
    )
