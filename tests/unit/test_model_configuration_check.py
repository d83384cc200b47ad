"""Comparing a reduced configuration with the whole one of its repository."""

from __future__ import annotations

import pytest

from claimfit.model.configuration_check import compare_configurations


@pytest.mark.parametrize(
    ("entry", "repository", "found"),
    [
        ({}, {"a": 1}, []),
        ({"a": 1}, {"a": 1, "b": 2}, []),
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": 2}, [("a", "differs")]),
        ({"a": 1}, {"a": True}, [("a", "differs")]),
        ({"a": 0}, {"a": False}, [("a", "differs")]),
        ({"a": 1}, {"a": None}, [("a", "differs")]),
        ({"a": 1}, {}, [("a", "absent")]),
        ({"a": {"b": 1}}, {"a": {"b": 2, "c": 3}}, [("a.b", "differs")]),
        ({"a": {"b": 1}}, {"a": 5}, [("a", "differs")]),
        ({"a": [1, 2]}, {"a": [1, 2]}, []),
        ({"a": [1, 2]}, {"a": [1]}, [("a", "differs")]),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]}, []),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, [("a[0].b", "differs")]),
        ({"b": 1, "a": 1}, {}, [("a", "absent"), ("b", "absent")]),
    ],
)
def test_only_what_the_entry_states_is_compared(
    entry: dict[str, object], repository: dict[str, object], found: list[tuple[str, str]]
) -> None:
    """Values are compared as JSON, key by key; more keys in the repository are no difference."""
    differences = compare_configurations(entry, repository)

    assert [(difference.path, difference.kind) for difference in differences] == found
