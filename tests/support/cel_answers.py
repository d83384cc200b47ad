"""What claimfit says about an expression, in the form of the Go judge's answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from claimfit.dra.cel.checker import check
from claimfit.dra.cel.environment import environment
from claimfit.dra.cel.go_text import double_text, timestamp_rfc3339
from claimfit.dra.cel.metered import Plan
from claimfit.dra.cel.parser import parse
from claimfit.dra.cel.program import CompileErrors, compile_selector
from claimfit.dra.cel.source import Source, display
from claimfit.dra.cel.validators import validate
from claimfit.dra.cel.values import (
    MISSING,
    Duration,
    EvalError,
    MapValue,
    Optional,
    Panic,
    PlanError,
    Timestamp,
    TypeValue,
    Uint,
    Value,
)
from claimfit.dra.objects import Device

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.profile import Profile

__all__ = ["FLEET", "GOLDEN", "device_answer", "device_of", "rows", "same_answer", "value_answer"]

GOLDEN: Final = Path(__file__).parents[1] / "golden" / "cel"
FLEET: Final[list[dict[str, Any]]] = json.loads((GOLDEN / "fleet.json").read_text())


def rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of a table: an expression and the judge's answer by version."""
    found: list[dict[str, Any]] = json.loads((GOLDEN / f"{name}.json").read_text())
    return found


def device_of(published: dict[str, Any]) -> Device:
    """Return a device of the fleet."""
    fields = {name: value for name, value in published.items() if name != "driver"}
    return msgspec.convert({"name": "device", **fields}, Device)


def device_answer(expression: str, profile: Profile, *, new: bool = False) -> dict[str, Any]:
    """Return what a selector says about the fleet, with its costs."""
    program = compile_selector(expression, profile, new=new)
    if isinstance(program, CompileErrors):
        return {"compileError": program.text}
    verdicts = []
    for published in FLEET:
        device = device_of(published)
        result, cost = program.metered(device, published["driver"])
        assert program.evaluate(device, published["driver"]) == result, "the two evaluators differ"
        verdict: dict[str, Any] = {"match": result.matches}
        if result.error:
            verdict["error"] = result.error
        verdicts.append({**verdict, "cost": cost})
    kind = program.tree.type.declared
    return {"type": kind, "maxCost": str(program.max_cost), "verdicts": verdicts}


def value_answer(expression: str, profile: Profile) -> dict[str, Any]:
    """Return the value of an expression of any type that reads no device."""
    found = environment(profile)
    source = Source(expression)
    tree, issues = parse(source, found.macros, backticks=found.backticks)
    if tree is not None:
        issues = check(tree, found, source) or validate(tree, found, source)
    if tree is None or issues:
        return {"compileError": f"compilation failed: {display(issues, source)}"}
    try:
        plan = Plan(tree, found)
    except PlanError as problem:
        return {"compileError": f"program instantiation failed: {problem.message}"}
    value, cost = plan.run(MapValue({}))
    answer = {"type": tree.type.declared, "cost": cost}
    if isinstance(value, EvalError | Panic):
        return {**answer, "error": value.message}
    return {**answer, "value": shown(value)}


def same_answer(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Whether the answers agree; of syntax errors the first must."""
    said: str = theirs.get("compileError", "")
    if "Syntax error" in said:
        first = said.split("\n | ", maxsplit=1)[0]
        return ours.get("compileError", "").split("\n | ")[0] == first
    return ours == theirs


def shown(value: Value) -> str:
    """Return a value as the judge writes it."""
    if value is None or isinstance(value, bool | str):
        return json.dumps(value)
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, MapValue):
        entries = sorted(f"{shown(key)}: {shown(item)}" for key, item in value.items())
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, Optional):
        if value.value is MISSING:
            return "optional.none"
        return f"optional({shown(value.value)})"  # type: ignore[arg-type]
    for kind, form in _FORMS.items():
        if isinstance(value, kind):
            return form(value)
    assert not isinstance(value, bytes | float)
    return f"{value.type_name}({value})"  # type: ignore[union-attr]


_FORMS: Final[dict[type, Callable[[Any], str]]] = {
    Uint: lambda value: f"{int(value)}u",
    int: str,
    float: lambda value: f"double({double_text(value)})",
    bytes: lambda value: f"bytes({value.hex()})",
    Timestamp: lambda value: f"timestamp({timestamp_rfc3339(Timestamp(value.nanos))})",
    Duration: lambda value: f"duration({value.nanos})",
    TypeValue: lambda value: f"type({value.name})",
}
"""How a value of each type is written; the first that fits."""
