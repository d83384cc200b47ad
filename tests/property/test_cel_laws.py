"""Laws of selectors: any text has an answer, and the two ways to evaluate agree."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from claimfit.dra.cel.clauses import clauses
from claimfit.dra.cel.program import CompileErrors, Program, Result, compile_selector
from claimfit.dra.objects import Device
from claimfit.dra.profile import MINORS, profile
from support.cel_answers import FLEET, device_of
from support.cel_expressions import expressions

TOKENS = st.sampled_from(
    [
        *"()[]{}.,?:!-+*/%<>=&|\"'`\\ \n\t\x00é😀",
        *("&&", "||", "==", "!=", "<=", ">=", " in ", "true", "false", "null", "1", "1u", "1.5"),
        *("0x", "1e", "device", ".driver", ".attributes", "has(", ".all(", ".map(", "x, ", '"d"'),
        *("size(", "quantity(", "semver(", "b'", 'r"', '"""', "// ", "dyn(", "[?", ".?", "for"),
        *("9223372036854775808", "\ud800", "matches(", "optMap(", "cel.bind(", "\\u", "\\777"),
    ]
)
RULES = st.sampled_from([profile(f"1.{minor}") for minor in MINORS])


@given(st.lists(TOKENS, max_size=30).map("".join) | st.text(max_size=40), RULES)
@settings(deadline=None, max_examples=300)
def test_any_text_has_an_answer(text: str, rules: object) -> None:
    """What is no selector is refused in words; nothing else is raised, compiled or evaluated."""
    made = compile_selector(text, rules)  # type: ignore[arg-type]
    if isinstance(made, CompileErrors):
        assert made.text
        assert made.as_error("x").code.startswith("CEL")
        assert all(issue.message for issue in made.issues)
        return
    for published in FLEET:
        device, driver = device_of(published), published["driver"]
        assert made.evaluate(device, driver) == made.metered(device, driver)[0]


@given(st.integers(min_value=0), RULES)
@settings(deadline=None, max_examples=150)
def test_clauses_explain_the_result(seed: int, rules: object) -> None:
    """False if one clause is, else the error of one that fails, else true."""
    (text,) = expressions(seed, 1)
    made = compile_selector(text, rules)  # type: ignore[arg-type]
    if isinstance(made, CompileErrors):
        return
    for published in FLEET:
        device, driver = device_of(published), published["driver"]
        result = made.evaluate(device, driver)
        assert made.metered(device, driver)[0] == result
        outcomes = [clause.outcome(device, driver).result for clause in clauses(made)]
        if len(outcomes) == 1:
            assert outcomes == [result]
        elif Result(matches=False) in outcomes:
            assert result == Result(matches=False)
        elif any(outcome.error for outcome in outcomes):
            assert result.error
        else:
            assert result.matches


VALUES = st.one_of(
    st.builds(lambda value: {"string": value}, st.sampled_from(["a", "b", "1", ""])),
    st.builds(lambda value: {"int": value}, st.sampled_from([0, 1, -1, 2**63 - 1])),
    st.builds(lambda value: {"bool": value}, st.booleans()),
    st.builds(lambda value: {"version": value}, st.sampled_from(["1.0.0", "1.0.0-a", "1.0.0+b"])),
)
ATTRIBUTES = st.dictionaries(st.sampled_from(["x", "y", "d/x", "e/x", "d/y"]), VALUES, max_size=4)


@given(st.lists(st.tuples(ATTRIBUTES, st.sampled_from("de")), min_size=2, max_size=8))
@settings(deadline=None, max_examples=200)
def test_sharing_answers_changes_none(fleet: list[tuple[dict[str, object], str]]) -> None:
    """A program that met other devices before says the same as a new one."""
    for text in (
        'device.attributes["d"].x == 1',
        'has(device.attributes["d"].x) && string(device.attributes["d"].x) < "b"',
        'device.attributes[device.driver].x == device.attributes["e"].x',
        'device.attributes["d"].exists(k, k == "y")',
    ):
        shared = compile_selector(text, profile("1.36"))
        assert isinstance(shared, Program)
        for attributes, driver in fleet:
            device = msgspec.convert({"name": "x", "attributes": attributes}, Device)
            assert shared.evaluate(device, driver) == shared.metered(device, driver)[0]
