"""Parsing: limits, places of problems, spans of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from claimfit.dra.cel.environment import environment
from claimfit.dra.cel.parser import parse
from claimfit.dra.cel.program import CompileErrors, Program, compile_selector
from claimfit.dra.cel.source import Source
from claimfit.dra.cel.syntax import Call, Node
from claimfit.dra.profile import profile

if TYPE_CHECKING:
    from claimfit.dra.cel.macros import Macros

RULES = profile("1.36")


def macros() -> Macros:
    """Return the macros of the usual environment."""
    return environment(RULES).macros


def said(expression: str) -> str:
    """Return why an expression is refused."""
    refused = compile_selector(expression, RULES)
    assert isinstance(refused, CompileErrors)
    assert refused.code == "CEL001"
    return refused.text


def tree(expression: str) -> Node:
    """Return the syntax of an expression."""
    found, issues = parse(Source(expression), macros(), backticks=False)
    assert not issues
    assert found is not None
    return found


def test_the_longest_text() -> None:
    """100,000 code points are parsed; one more is not, and no place is given."""
    longest = '"' + "x" * 99_992 + '" != ""'
    assert len(longest) == 100_000
    assert isinstance(compile_selector(longest, RULES), Program)
    assert said(longest + " ") == (
        "compilation failed: ERROR: <input>:-1:0: expression code point size exceeds limit: "
        "size: 100001, limit 100000"
    )


@pytest.mark.parametrize(
    ("opening", "closing", "most"),
    [("(", ")", 249), ("!(", ")", 249), ("[", "]", 0), ("-(", ")", 0)],
)
def test_nesting(opening: str, closing: str, most: int) -> None:
    """Brackets nest 249 deep around a value; deeper is refused, however deep."""
    if most:
        deepest = opening * most + "true" + closing * most
        assert isinstance(compile_selector(deepest, RULES), Program)
        assert "recursion limit exceeded: 250" in said(opening + deepest + closing)
    assert "recursion limit exceeded: 250" in said(opening * 10_000)
    assert "recursion limit exceeded: 250" in said(opening * 10_000 + "1" + closing * 10_000)


@pytest.mark.parametrize("step", [" + 1", " - 1", ".a", "[0]", " == 1", ".size()"])
def test_long_chains(step: str) -> None:
    """Operators, selections, indices and methods nest at most 250 deep in one expression."""
    assert "max recursion depth exceeded" not in str(
        parse(Source("a" + step * 250), macros(), backticks=False)[1]
    )
    assert "max recursion depth exceeded" in said("a" + step * 251)


def test_many_conditions_are_balanced() -> None:
    """Thousands of conditions joined by && are no deeper than their logarithm."""

    def depth(node: Node) -> int:
        if isinstance(node, Call) and node.function == "_&&_":
            return 1 + max(map(depth, node.arguments))
        return 0

    assert depth(tree(" && ".join(["true"] * 4096))) == 12


@pytest.mark.parametrize(
    ("expression", "line", "column", "source"),
    [
        ("nope", 1, 1, "nope"),
        ("true &&\n  nope", 2, 3, "  nope"),
        ("true &&\r\n\tnope", 2, 2, " nope"),
        ('"é€😀" == nope', 1, 10, '"é€😀" == nope'),
        ("// why\ntrue && (false ||\n\n     nope)", 4, 6, "     nope)"),
    ],
)
def test_places(expression: str, line: int, column: int, source: str) -> None:
    """Lines and columns count from 1, columns in code points; the line is shown."""
    lines = said(expression).split("\n")
    assert f"ERROR: <input>:{line}:{column}: undeclared reference to 'nope'" in lines[0]
    assert lines[1].rstrip("\r") == f" | {source}"
    assert lines[2].endswith(("^", "＾"))


def test_several_problems() -> None:
    """Each problem is reported with its own line and caret, in the order of the text."""
    lines = said("a &&\nb && c").split("\n")
    assert [line for line in lines if "ERROR" in line] == [
        "compilation failed: ERROR: <input>:1:1: undeclared reference to 'a' (in container '')",
        "ERROR: <input>:2:1: undeclared reference to 'b' (in container '')",
        "ERROR: <input>:2:6: undeclared reference to 'c' (in container '')",
    ]
    assert lines[-1] == " | .....^"


def test_spans() -> None:
    """A node spans its text, parentheses and the calls after it included."""
    text = '  (device.driver == "x")  &&  [1, 2].all(i, i > 0)'
    node = tree(text)
    assert isinstance(node, Call)
    assert text[node.start : node.stop] == text.strip()
    left, right = node.arguments
    assert text[left.start : left.stop] == '(device.driver == "x")'
    assert text[right.start : right.stop] == "[1, 2].all(i, i > 0)"


def test_names_in_backticks_came_with_1_37() -> None:
    """Before, the same text is no syntax that the environment supports."""
    text = 'device.attributes["x"].`a` == "b"'
    assert "unsupported syntax: '`'" in said(text)
    assert isinstance(compile_selector(text, profile("1.37")), Program)
