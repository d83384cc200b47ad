"""The emitter: whatever goes in reads back equal, and nothing can be injected."""

from __future__ import annotations

import json
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from claimfit.manifests.emitter import Folded, json_text, one_line, yaml_text

# Words and shapes that some YAML reader takes for something else than a string.
WORDS = """y Y n N yes No ON off True FALSE null Null ~ .inf -.INF .nan inf NaN 1 -1 +1 0 0x1F 0o17
017 0b1 1_000 1e3 1E3 1. .5 1.5 1:30 190:20:30 2001-01-01 2001-12-14t21:59:43.10-05:00 << = ! &a *a
| > ' " % @ ` { } [ ] , ? - : # -- --- ... a: a:b a#b 80Gi 1E 1Ei 12e 0Gi"""
SPACED = ["", " ", " a", "a ", "a: b", "a #b", "- a", "? a", "a\n", "\n", "\tx", "a - b"]
TRAPS = st.sampled_from([*WORDS.split(), *SPACED])
STRINGS = TRAPS | st.text(max_size=30)
KEYS = TRAPS | st.text(max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | STRINGS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=5)


def strings_of(value: Any) -> Any:
    """Return `value` as a reader that knows no types would: every scalar as its text."""
    if isinstance(value, dict):
        return {key: strings_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return [strings_of(item) for item in value]
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value)


@settings(max_examples=200)
@given(DOCUMENTS, st.lists(STRINGS, max_size=3))
def test_reads_back_equal_under_yaml_1_1(document: dict[str, Any], comments: list[str]) -> None:
    """PyYAML, which follows the 1.1 rules of kubectl, reads the same document."""
    assert yaml.safe_load(yaml_text(document, comments)) == document


@settings(max_examples=200)
@given(DOCUMENTS)
def test_reads_back_equal_without_types(document: dict[str, Any]) -> None:
    """The structure is the same when no scalar is resolved."""
    untyped = yaml.load(yaml_text(document), Loader=yaml.BaseLoader)
    assert untyped == strings_of(document)


@settings(max_examples=200)
@given(st.lists(STRINGS, min_size=1, max_size=5))
def test_folded_text_reads_back_on_one_line(lines: list[str]) -> None:
    """Lines read back joined by single spaces, whatever stands in them."""
    emitted = yaml_text({"spec": {"expression": Folded(lines)}})
    assert yaml.safe_load(emitted) == {"spec": {"expression": " ".join(lines)}}


@settings(max_examples=200)
@given(st.text(max_size=60))
def test_a_comment_stays_one_comment_line(text: str) -> None:
    """No text in a comment adds a line for any reader."""
    emitted = yaml_text({"a": "b"}, [text])
    assert emitted.splitlines()[1:] == ["a: b"]
    assert emitted.startswith("#")
    assert one_line(text).isprintable()


@settings(max_examples=200)
@given(DOCUMENTS)
def test_json_reads_back_and_holds_no_control_character(document: dict[str, Any]) -> None:
    """JSON keeps every string and writes nothing that a terminal would act on."""
    emitted = json_text(document)
    assert json.loads(emitted) == document
    assert all(char == "\n" or char >= " " for char in emitted)
    assert not any(0x7F <= ord(char) <= 0x9F for char in emitted)
    emitted.encode()
