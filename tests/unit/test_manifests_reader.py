"""The YAML and JSON reader: kubectl's scalar rules, places, limits and refusals."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from claimfit.errors import ClaimfitError, InputError
from claimfit.manifests.reader import Mark, read_documents


def value_of(text: str) -> object:
    """Return the value of the only document of `text`."""
    (document,) = read_documents(text, "file.yaml")
    return document.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # go-yaml v2's resolve table, which kubectl inherits through sigs.k8s.io/yaml.
        ("yes", True),
        ("y", True),
        ("On", True),
        ("off", False),
        ("n", False),
        ("yEs", "yEs"),
        ("~", None),
        ("Null", None),
        ("nULL", "nULL"),
        ("012", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b101", 5),
        ("1_000", 1000),
        ("-7", -7),
        ("+7", 7),
        ("08", 8.0),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("0x", "0x"),
        ("0x_", "0x_"),
        ("1__0.5", 10.5),
        ("2001-12-14", "2001-12-14"),
        ("12:30:45", "12:30:45"),
        ("80Gi", "80Gi"),
        ("1.36", 1.36),
        ("18446744073709551615", 18446744073709551615),
        ("'yes'", "yes"),
        ('"12"', "12"),
        ("!!str 12", "12"),
        ("!!int 12", 12),
        ("=", "="),
    ],
)
def test_plain_scalars_mean_what_kubectl_reads(text: str, expected: object) -> None:
    """Each plain scalar resolves as go-yaml v2 resolves it."""
    value = value_of(f"key: {text}\n")

    assert {"key": expected} == value
    assert type(expected) is type(value["key"])  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("a: 1\nb: 2\na: 3\n", "MAN002", "f:3:1"),
        ('{"a": 1,\n "a": 2}', "MAN002", "f:2:2"),
        ("a: [1", "MAN001", "f:2:1"),
        ("a: *nobody\n", "MAN001", "f:1:4"),
        ("a: &x [*x]\n", "MAN001", "f:1:8"),
        ("a: !!python/object/apply:os.system [id]\n", "MAN005", "f:1:4"),
        ("a: !local 1\n", "MAN005", "f:1:4"),
        ("? [a, b]\n: c\n", "MAN007", "f:1:3"),
        ("a: .inf\n", "MAN008", "f:1:4"),
        ("a: 1e400\n", "MAN008", "f:1:4"),
        ("a: 18446744073709551616\n", "MAN008", "f:1:4"),
        ('{"a": 1e400}', "MAN008", "f: a"),
        ('{"b": {"c": 1}, "a": NaN, "d": 1}', "MAN008", "f: a"),
        ('{"b": [{"a": [1, -Infinity]}]}', "MAN008", "f: a"),
        ("[[NaN]]", "MAN008", "f"),
        ('{"a": 1' + "0" * 400 + "}", "MAN008", "f: a"),
        ("a: 1" + "0" * 5000 + "\n", "MAN008", "f:1:4"),
        ("a: " + "[" * 500 + "]" * 500, "MAN003", "f:1:204"),
        ('{"a":' * 1000 + "1" + "}" * 1000, "MAN003", "f"),
        ("a: b\x07c\n", "MAN001", "f"),
        ("<<: 1\na: 2\n", "MAN001", "f:1:1"),
        ('{"a": "\\ud800"}', "MAN001", "f"),
    ],
)
def test_refused_with_code_and_place(text: str, code: str, place: str) -> None:
    """What kubectl or a careful reader refuses is an error that names code and place."""
    with pytest.raises(InputError) as caught:
        read_documents(text, "f")

    assert code == caught.value.code
    assert place == caught.value.place


def test_not_utf8_names_the_byte() -> None:
    """Bytes that are no UTF-8 are refused, with the offset of the first bad one."""
    with pytest.raises(InputError) as caught:
        read_documents(b"name: \xff\xfe", "f")

    assert caught.value.code == "MAN006"
    assert "byte 6" in caught.value.message


def test_alias_bomb_stops_early() -> None:
    """Nine levels of nine aliases (3.9e8 nodes) are refused, not expanded."""
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for previous, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{', '.join(['*' + previous] * 9)}]")

    with pytest.raises(InputError) as caught:
        read_documents("\n".join(lines), "bomb.yaml")

    assert caught.value.code == "MAN004"


def test_merge_key_fills_what_is_absent() -> None:
    """`<<` adds keys of the other mapping; own keys win, the first source wins over later ones."""
    text = """
base: &base {a: 1, b: 2}
more: &more {b: 3, c: 4}
used:
  <<: [*base, *more]
  a: 9
quoted: {"<<": 5}
"""

    value = value_of(text)

    assert value["used"] == {"a": 9, "b": 2, "c": 4}  # type: ignore[index]
    assert value["quoted"] == {"<<": 5}  # type: ignore[index]


def test_documents_are_counted_and_empty_ones_left_out() -> None:
    """Several documents come in order; `---` with nothing behind it is none."""
    documents = read_documents("---\na: 1\n---\n---\nb: 2\n...\n", "f")

    assert [{"a": 1}, {"b": 2}] == [document.value for document in documents]


def test_marks_lead_to_the_value() -> None:
    """A path leads to the line and column of its value, or of the nearest existing parent."""
    (document,) = read_documents("spec:\n  devices:\n    - name: gpu-0\n      memory: 80Gi\n", "f")

    assert Mark(4, 15) == document.mark(("spec", "devices", 0, "memory"))
    assert Mark(3, 7) == document.mark(("spec", "devices", 0, "missing", "deeper"))
    assert document.where(("spec", "devices", 0, "name")) == "f:3:13"


def test_json_finds_its_marks_when_asked() -> None:
    """JSON is read without marks, and still answers where a value stands."""
    (document,) = read_documents('{"spec": {"a": 1,\n  "b": [10,\n 20]}}', "f.json")

    assert document.marks is None
    assert document.where(("spec", "b", 1)) == "f.json:3:2"


def test_flow_yaml_that_is_no_json_is_read() -> None:
    """A text that starts with a brace but is YAML's flow style is read as YAML."""
    assert {"a": "b"} == value_of("{a: b}")


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON_VALUES.filter(lambda value: value is not None))
@settings(max_examples=150)
def test_json_reads_back_as_itself(value: object) -> None:
    """Whatever json writes, the reader reads back equal."""
    (document,) = read_documents(json.dumps({"value": value, "after": 1}), "f")

    assert {"value": value, "after": 1} == document.value
    assert document.mark(("after",)).column > document.mark(("value",)).column


def test_keys_beyond_the_basic_plane_stay_different() -> None:
    """Two keys written as surrogate escapes are no duplicate when a place is asked for."""
    (document,) = read_documents('{"\\ud800\\udc00": 1, "\\ud800\\udc01": 2, "after": 3}', "f")

    assert document.value == {"\U00010000": 1, "\U00010001": 2, "after": 3}
    assert document.where(("after",)) == "f:1:49"


@given(st.dictionaries(st.text(min_size=1), JSON_VALUES, max_size=4))
@settings(max_examples=150)
def test_yaml_written_by_pyyaml_reads_back(value: dict[str, object]) -> None:
    """Quoted and tagged output of PyYAML reads back equal; plain `N` and `0E0` would not."""
    if any(not key.isprintable() for key in value):
        return
    text = yaml.safe_dump(value, allow_unicode=False, default_style="'")

    documents = read_documents(text, "f")

    if value:
        assert json.loads(json.dumps(value)) == documents[0].value


@given(st.text(max_size=60) | st.binary(max_size=60))
@settings(max_examples=200)
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    """No input leads to another exception than ours."""
    try:
        read_documents(text, "f")
    except ClaimfitError as error:
        assert error.code.startswith("MAN")
