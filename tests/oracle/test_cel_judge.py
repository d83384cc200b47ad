"""Kubernetes' own CEL environment confirms every row of the tables, and random selectors.

Set CLAIMFIT_SEED for other expressions than the usual ones; CLAIMFIT_MINORS=all for every minor.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pytest

from claimfit.dra.cel.program import Program, compile_selector
from claimfit.dra.profile import profile
from support.cel_answers import FLEET, device_answer, device_of, rows, same_answer
from support.cel_expressions import expressions
from support.cel_judge import Judge, gates
from support.kubernetes_build import go_program

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.oracle, pytest.mark.timeout(600), pytest.mark.xdist_group("celjudge")]

REQUIRED: Final = os.environ.get("CLAIMFIT_REQUIRE_CLUSTER") == "1"
SEED: Final = int(os.environ.get("CLAIMFIT_SEED", "1"))
TENS: Final = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
TIMES: Final = int(os.environ.get("CLAIMFIT_TIMES", "1"))
VERSIONS: Final = {"1.36": "v0.36.3", "1.34": "v0.34.13"} | (
    {"1.35": "v0.35.10", "1.37": "v0.37.2"} if os.environ.get("CLAIMFIT_MINORS") == "all" else {}
)
CASES: Final = [
    ("1.36", "", False, 3000),
    ("1.36", "DRAListTypeAttributes=true", False, 1000),
    ("1.36", "", True, 1000),
    ("1.34", "", False, 3000),
    ("1.34", "DRAConsumableCapacity=true", True, 2000),
    ("1.35", "", False, 5000),
    ("1.37", "", False, 3000),
    ("1.37", "DRAListTypeAttributes=true", True, 2000),
]
"""Minor, gates, whether judged as new expressions, and how many (times CLAIMFIT_TIMES)."""


@pytest.fixture(scope="module")
def judges() -> Iterator[dict[str, Judge]]:
    """Start judges as they are asked for; end them afterwards."""
    if go_program() is None:
        if REQUIRED:
            pytest.fail("no go command, and CLAIMFIT_REQUIRE_CLUSTER=1")
        pytest.skip("no go command: Kubernetes' CEL environment is not asked")
    started: dict[str, Judge] = {}
    yield started
    for judge in started.values():
        judge.close()


def judge_of(minor: str, judges: dict[str, Judge]) -> Judge:
    """Return the judge of a minor."""
    if minor not in VERSIONS:
        pytest.skip(f"{minor} is asked with CLAIMFIT_MINORS=all")
    if minor not in judges:
        judges[minor] = Judge(VERSIONS[minor])
    return judges[minor]


@pytest.mark.parametrize("minor", ["1.34", "1.36", "1.37"])
@pytest.mark.parametrize("table", ["values", "syntax", "devices"])
def test_the_judge_confirms_every_row(table: str, minor: str, judges: dict[str, Judge]) -> None:
    """The tables say what Kubernetes says."""
    judge = judge_of(minor, judges)
    on = gates(profile(minor).gates)
    wrong = []
    for row in rows(table):
        question: dict[str, Any] = {"expression": row["expression"], "gates": on}
        if table == "devices":
            said = judge.ask(**question, devices=FLEET)
            said.pop("matches")
        else:
            said = judge.ask(**question, value=True)
            if "verdicts" in said:
                verdict = said.pop("verdicts")[0]
                verdict.pop("match")
                said = {"type": said["type"], **verdict}
        if "compileError" in said:
            said = {"compileError": said["compileError"]}
        if said != row.get(minor, row["1.36"]):
            wrong.append((row["expression"], said))
    assert not wrong


@pytest.mark.parametrize("minor", ["1.34", "1.36", "1.37"])
@pytest.mark.parametrize(
    "expression",
    [
        "lists.range(1000).all(x, lists.range(1000).all(y, lists.range(10).all(z, true)))",
        (
            f"{TENS}.all(a, {TENS}.all(b, {TENS}.all(c, {TENS}.all(d, {TENS}.all(e, {TENS}.all(f, "
            f"{TENS}.all(g, a < b || c < d || e < f || true)))))))"
        ),
    ],
)
def test_the_limit_ends_a_loop(expression: str, minor: str, judges: dict[str, Judge]) -> None:
    """Ten million steps end at the same cost, with the same error."""
    rules = profile(minor)
    said = judge_of(minor, judges).ask(
        expression=expression, devices=FLEET[:1], gates=gates(rules.gates)
    )
    program = compile_selector(expression, rules)
    assert isinstance(program, Program)
    result, cost = program.metered(device_of(FLEET[0]), "dra.example.com")
    assert said["maxCost"] == str(program.max_cost)
    assert said["verdicts"] == [{"match": False, "error": result.error, "cost": cost}]


@pytest.mark.parametrize(("minor", "feature_gates", "new", "count"), CASES)
def test_random_selectors_agree(
    minor: str, feature_gates: str, new: bool, count: int, judges: dict[str, Judge]
) -> None:
    """Verdict, error, worst-case cost and run-time cost are Kubernetes' on each device."""
    judge = judge_of(minor, judges)
    rules = profile(minor, feature_gates)
    on = gates(rules.gates)
    wrong = []
    kinds: Counter[str] = Counter()
    for expression in expressions(SEED, count * TIMES):
        said = judge.ask(expression=expression, devices=FLEET, gates=on, new=new)
        if "compileError" in said:
            said = {"compileError": said["compileError"]}
        else:
            said.pop("matches")
        ours = device_answer(expression, rules, new=new)
        if not same_answer(ours, said):
            wrong.append((expression, ours, said))
        for verdict in said.get("verdicts", [{"error": "", "compile": True}]):
            kind = "error" if verdict.get("error") else str(verdict.get("match"))
            kinds["no program" if "compile" in verdict else kind] += 1
    sys.stdout.write(
        f"seed {SEED}, {minor} {feature_gates}: {count * TIMES} selectors, {dict(kinds)}\n"
    )
    assert not wrong[:5], f"{len(wrong)} of {count * TIMES} differ"
    rare = {kind for kind, seen in kinds.items() if seen < 0.03 * kinds.total()}
    assert len(kinds) == 4
    assert not rare - {"no program"}
