"""Expressions made to be slow, deep or large end soon, with an answer."""

from __future__ import annotations

import pytest

from claimfit.dra.cel.clauses import clauses
from claimfit.dra.cel.program import CompileErrors, Program, compile_selector
from claimfit.dra.objects import Device
from claimfit.dra.profile import profile

RULES = profile("1.36")
TENS = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
DOUBLED = (
    'cel.bind(a, "xxxxxxxxxxxxxxxxxxxxxxxx", '
    + "".join(f"cel.bind({chr(98 + n)}, {chr(97 + n)} + {chr(97 + n)}, " for n in range(24))
    + "y.size() > 0"
    + ")" * 25
)


def loops(depth: int) -> str:
    """Return loops over ten numbers, one inside another."""
    body = "true"
    for name in "abcdefghij"[:depth]:
        body = f"{TENS}.all({name}, {body})"
    return body


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "expression",
    [
        "a" * 1_000_000,
        "\x00" * 1_000_000,
        "(" * 10_000 + ")" * 10_000,
        "[" * 10_000,
        "{" * 10_000,
        "!" * 50_000,
        "-" * 50_000,
        "a." * 40_000,
        " || ".join(["a"] * 5_000),
        "9" * 90_000 + " == 1",
        "1" * 90_000 + "." + "1" * 5_000 + " == 1.0 &&",
        "0x" + "f" * 90_000 + " == 1",
        "'" + "\\u0000" * 10_000,
        "\ud800 == 1",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_refused_soon(expression: str) -> None:
    """A megabyte, ten thousand brackets and endless numbers are refused, not followed."""
    assert isinstance(compile_selector(expression, RULES), CompileErrors)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("expression", "said"),
    [
        (loops(7), "actual cost limit exceeded"),
        ("lists.range(9223372036854775807).size() > 1", ""),
        (DOUBLED, ""),
        ('"' + "a" * 5000 + '!".matches("(a+)+$")', None),
        ('"' + "a" * 5000 + '".matches("(a|a|b|[a-z])*c")', None),
        ('"a".matches("((a{100}){100}){100}")', ""),
        ('quantity("1e2000000000").isInteger()', ""),
        ('quantity("' + "9" * 9_000 + '") == quantity("1")', None),
        ('isSemver("' + "9" * 9_000 + '.1.1")', None),
        ('int("' + "9" * 9_000 + '") > 1', ""),
        ('duration("' + "9" * 9_000 + 'h") > duration("1s")', ""),
        ('"%.999999999f".format([1.5]).size() > 1', None),
        (
            f'"{"a" * 2000}".replace("a", "{"b" * 2000}").replace("b", "{"c" * 2000}").size() > 1',
            "",
        ),
    ],
    ids=lambda text: str(text)[:20],
)
def test_ends_soon(expression: str, said: str | None) -> None:
    """Loops, doubled texts and greedy patterns end: refused, an error, or (None) an answer."""
    program = compile_selector(expression, RULES)
    if isinstance(program, CompileErrors):
        assert said == ""
        return
    result = program.evaluate(Device(name="x"), "d")
    if said is not None:
        assert result.error
        assert said in result.error


def test_the_cost_of_loops_is_known_before() -> None:
    """The worst-case cost of ten million steps is beyond the limit, so the API server refuses."""
    program = compile_selector(loops(7), RULES)
    assert isinstance(program, Program)
    assert program.too_complex


def test_loops_that_the_estimate_overlooks() -> None:
    """A loop over what the estimate thinks empty ends at the limit, as a whole and as a clause."""
    text = f'"".split("a").all(s, {loops(7)}) && true'
    program = compile_selector(text, RULES)
    assert isinstance(program, Program)
    assert program.max_cost < 100
    assert "actual cost limit exceeded" in program.evaluate(Device(name="x"), "d").error
    outcome = clauses(program)[0].outcome(Device(name="x"), "d")
    assert "actual cost limit exceeded" in outcome.result.error


def test_deep_but_allowed() -> None:
    """As deep as the grammar allows, compiled and evaluated without a recursion error."""
    for text in (
        "(" * 249 + "true" + ")" * 249,
        "!(" * 248 + "true" + ")" * 248,
        "[1].all(x, " * 100 + "true" + ")" * 100,
        "true ? (" * 100 + "true" + ") : false" * 100,
    ):
        program = compile_selector(text, RULES)
        assert isinstance(program, Program), text[:20]
        assert program.evaluate(Device(name="x"), "d").matches
        program.metered(Device(name="x"), "d")
