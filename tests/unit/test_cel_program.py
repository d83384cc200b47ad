"""Compiled selectors: results, errors, costs, and one evaluation for each kind of device."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from claimfit.dra.cel.evaluator import Evaluator
from claimfit.dra.cel.program import CompileErrors, Program, Result, compile_selector
from claimfit.dra.objects import Device
from claimfit.dra.profile import profile

RULES = profile("1.36")
YES = Result(matches=True)
NO = Result(matches=False)


def device(capacity: dict[str, str] | None = None, **attributes: dict[str, Any]) -> Device:
    """Return a device with these attributes."""
    amounts = {name: {"value": amount} for name, amount in (capacity or {}).items()}
    fields = {"name": "one", "attributes": attributes, "capacity": amounts}
    return msgspec.convert(fields, Device)


def program(expression: str, version: str = "1.36", gates: str = "") -> Program:
    """Return a selector that compiles."""
    made = compile_selector(expression, profile(version, gates))
    assert isinstance(made, Program), made
    return made


def test_readme_selector() -> None:
    """A selector compares text, numbers, versions and amounts of memory."""
    selector = program(
        'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].type == "gpu" '
        '&& device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("550.1.0")) '
        '&& device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0'
    )
    fields = {"type": {"string": "gpu"}, "driverVersion": {"version": "560.35.3"}}
    assert selector.evaluate(device({"memory": "80Gi"}, **fields), "gpu.example.com") == YES
    assert selector.evaluate(device({"memory": "24Gi"}, **fields), "gpu.example.com") == NO
    assert selector.evaluate(device({"memory": "80Gi"}, **fields), "other.example.com") == NO
    assert not selector.too_complex
    assert {str(read) for read in selector.reads} >= {"device.driver"}


def test_domains_that_no_device_has() -> None:
    """An unknown domain is an empty map; an unknown name in it is an error."""
    nothing = device()
    assert program('"x" in device.attributes["no.such"]').evaluate(nothing, "d") == NO
    assert program('has(device.capacity["no.such"].memory)').evaluate(nothing, "d") == NO
    missing = program('device.attributes["no.such"].x == 1').evaluate(nothing, "d")
    assert missing == Result(matches=False, error="no such key: x")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.attributes["d"].x == 1 && false', NO),
        ('false && device.attributes["d"].x == 1', NO),
        ('device.attributes["d"].x == 1 || true', YES),
        ('true || device.attributes["d"].x == 1', YES),
        ('device.attributes["d"].x == 1 && true', Result(matches=False, error="no such key: x")),
        ("[0, 1].exists(i, 1 / i > 0)", YES),
        ("[0, 1].all(i, 1 / i > 0)", Result(matches=False, error="division by zero")),
    ],
)
def test_errors_that_do_not_matter(expression: str, expected: Result) -> None:
    """An operand that decides alone hides the error of the other, on either side."""
    assert program(expression).evaluate(device(), "d") == expected


def test_one_evaluation_for_each_kind_of_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices that agree in all that the selector reads are evaluated once."""
    selector = program('device.attributes["d"].model == "a" || device.driver == "e"')
    runs = []
    run = Evaluator.run
    monkeypatch.setattr(Evaluator, "run", lambda self, view: runs.append(view) or run(self, view))
    for number in range(100):
        fleet = device({"memory": str(number)}, model={"string": "ab"[number % 2]})
        assert selector.evaluate(fleet, "d") == (YES, NO)[number % 2]
        assert selector.evaluate(fleet, "e") == (YES, YES)[number % 2]
    assert len(runs) == 3  # driver e has no such attribute, whatever the model


def test_kinds_tell_types_and_names_apart() -> None:
    """1, true and "1" are different values; a name with its domain wins as for Kubernetes."""
    selector = program('device.attributes["d"].x == 1')
    assert selector.evaluate(device(x={"int": 1}), "d") == YES
    assert selector.evaluate(device(x={"bool": True}), "d") == NO
    assert selector.evaluate(device(x={"string": "1"}), "d") == NO
    assert selector.evaluate(device(**{"d/x": {"int": 1}}), "other") == YES
    assert selector.evaluate(device(x={"int": 1}), "other").error == "no such key: x"


def test_a_device_that_cannot_be_shown() -> None:
    """A version that is none, or an attribute without a value, is an error whatever is read."""
    selector = program("true")
    assert "Invalid character" in selector.evaluate(device(v={"version": "1.x.0"}), "d").error
    assert selector.evaluate(device(v={}), "d").error
    assert selector.metered(device(v={}), "d")[0].error
    assert selector.evaluate(device(v={"version": "1.0.0"}), "d") == YES


def test_lists_need_their_gate() -> None:
    """A list attribute can be read with DRAListTypeAttributes only."""
    text = 'device.attributes["d"].x.includes("a")'
    fleet = device(x={"strings": ["a", "b"]})
    assert program(text, gates="DRAListTypeAttributes=true").evaluate(fleet, "d") == YES
    stored = compile_selector(text, RULES)
    assert isinstance(stored, Program)
    assert stored.evaluate(fleet, "d").error
    assert isinstance(compile_selector(text, RULES, new=True), CompileErrors)


@pytest.mark.parametrize(
    ("expression", "code", "text"),
    [
        ("true &&", "CEL001", "Syntax error: "),
        (
            "1 + true == 2",
            "CEL001",
            "no matching overload for '_+_' applied to '(int, bool)'",
        ),
        ('"a".matches("(")', "CEL001", "invalid matches argument"),
        ("1 + 1", "CEL002", "must evaluate to bool or the unknown type, not int"),
        ('int("x") == 1', "CEL003", "program instantiation failed"),
    ],
)
def test_refused(expression: str, code: str, text: str) -> None:
    """Each way to be no selector has its code and Kubernetes' own words."""
    refused = compile_selector(expression, RULES)
    assert isinstance(refused, CompileErrors)
    assert (refused.code, text in refused.text) == (code, True), refused
    error = refused.as_error("claim.yaml")
    assert error.code == code
    assert error.place == "claim.yaml"


def test_an_attribute_is_a_condition_when_it_is_true() -> None:
    """An attribute may be the whole selector; what is no bool is an error."""
    selector = program('device.attributes["d"].x')
    assert selector.evaluate(device(x={"bool": True}), "d") == YES
    wrong = selector.evaluate(device(x={"string": "yes"}), "d")
    assert wrong.error.startswith("CEL result of type string could not be converted to bool")


def test_costs() -> None:
    """The worst case limits what the API server takes, the real cost what the scheduler runs."""
    cheap = program('device.driver == "d"')
    assert cheap.max_cost == 3
    assert cheap.metered(device(), "d") == (YES, 3)
    dear = program("lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))")
    assert dear.too_complex
    result, cost = dear.metered(device(), "d")
    assert "actual cost limit exceeded" in result.error
    assert cost > 1_000_000
    assert dear.evaluate(device(), "d") == result


def test_new_expressions_use_what_the_minor_before_had() -> None:
    """In 1.37 a name in backticks may be stored; a new expression is judged as by 1.36."""
    text = '"a" in device.attributes["d"] && semver("v1.0", true) == semver("1.0.0")'
    assert isinstance(compile_selector(text, profile("1.34"), new=True), Program)
    shared = "device.allowMultipleAllocations"
    assert isinstance(compile_selector(shared, profile("1.34")), CompileErrors | Program)
    off = profile("1.36", "DRAConsumableCapacity=false")
    assert isinstance(compile_selector(shared, off, new=True), CompileErrors)
    assert isinstance(compile_selector(shared, off), Program)
