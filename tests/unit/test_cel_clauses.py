"""The conditions of a selector one by one: what each says and what it saw."""

from __future__ import annotations

import msgspec

from claimfit.dra.cel.clauses import clauses
from claimfit.dra.cel.program import Program, Result, compile_selector
from claimfit.dra.objects import Device
from claimfit.dra.profile import profile

TEXT = """device.driver == "d" &&
  device.attributes["d"].model.startsWith("A") &&
    (device.capacity["d"].memory.isGreaterThan(quantity("40Gi")) ||
     device.attributes["d"].shared)
  && device.attributes["d"].nope > 1"""
DEVICE = msgspec.convert(
    {
        "name": "one",
        "attributes": {"model": {"string": "A100"}},
        "capacity": {"memory": {"value": "80Gi"}},
    },
    Device,
)


def compiled(text: str) -> Program:
    """Return a selector that compiles."""
    made = compile_selector(text, profile("1.36"))
    assert isinstance(made, Program)
    return made


def test_clauses_span_the_text() -> None:
    """Clauses keep their order, their text and where it starts."""
    found = clauses(compiled(TEXT))
    assert [(one.line, one.column) for one in found] == [(1, 1), (2, 3), (3, 5), (5, 6)]
    assert found[0].text == 'device.driver == "d"'
    assert found[2].text.startswith("(device.capacity")
    assert found[2].text.endswith("shared)")
    assert all(TEXT[one.start : one.stop] == one.text for one in found)


def test_outcomes_with_the_values_seen() -> None:
    """A clause is true, false or an error, with the values that it read."""
    outcomes = [one.outcome(DEVICE, "d") for one in clauses(compiled(TEXT))]
    yes = Result(matches=True)
    assert [one.result for one in outcomes[:3]] == [yes, yes, yes]
    assert outcomes[3].result == Result(matches=False, error="no such key: nope")
    seen = [{value.path: value.value for value in one.seen} for one in outcomes]
    assert seen[0] == {"device.driver": '"d"'}
    assert list(seen[1].values()) == ['"A100"']
    assert set(seen[2].values()) == {"80Gi", None}
    assert list(seen[3].values()) == [None]


def test_false_wins_over_an_error() -> None:
    """The selector is false where one clause is false and another fails."""
    text = 'device.attributes["d"].nope == 1 && device.driver == "other"'
    program = compiled(text)
    assert program.evaluate(DEVICE, "d") == Result(matches=False)
    first, second = (one.outcome(DEVICE, "d").result for one in clauses(program))
    assert first.error == "no such key: nope"
    assert second == Result(matches=False)


def test_a_selector_without_and_is_one_clause() -> None:
    """An || at the top, or a && inside a bracketed ||, is not taken apart."""
    (only,) = clauses(compiled('device.driver == "a" || (true && device.driver == "d")'))
    assert only.outcome(DEVICE, "d").result.matches
    assert len(clauses(compiled(" && ".join(["true"] * 1000)))) == 1000


def test_a_device_that_cannot_be_shown() -> None:
    """Every clause fails for a device with an attribute that has no value."""
    broken = msgspec.convert({"name": "x", "attributes": {"a": {}}}, Device)
    assert all(one.outcome(broken, "d").result.error for one in clauses(compiled(TEXT)))
