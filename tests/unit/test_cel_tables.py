"""Every row of tests/golden/cel, as Kubernetes' own CEL environment answered it.

The rows name versions where the answers differ; tests/oracle/test_cel_judge.py confirms them.
"""

from __future__ import annotations

import pytest

from claimfit.dra.profile import profile
from support.cel_answers import device_answer, rows, same_answer, value_answer

MINORS = ["1.34", "1.36", "1.37"]


@pytest.mark.parametrize("minor", MINORS)
def test_values(minor: str) -> None:
    """Literals, operators, macros and libraries have Kubernetes' values, errors and costs."""
    rules = profile(minor)
    wrong = [
        (row["expression"], ours)
        for row in rows("values")
        if not same_answer(
            ours := value_answer(row["expression"], rules), row.get(minor, row["1.36"])
        )
    ]
    assert not wrong


@pytest.mark.parametrize("minor", MINORS)
def test_devices(minor: str) -> None:
    """Selectors say the same of each device, for the same worst-case and run-time cost."""
    rules = profile(minor)
    wrong = []
    for row in rows("devices"):
        theirs = row.get(minor, row["1.36"])
        ours = device_answer(row["expression"], rules)
        for verdict in theirs.get("verdicts", ()):
            verdict["match"] = verdict["match"] and "error" not in verdict
        if not same_answer(ours, theirs):
            wrong.append((row["expression"], ours))
    assert not wrong


@pytest.mark.parametrize("minor", MINORS)
def test_syntax(minor: str) -> None:
    """What is no CEL is refused with the same message at the same place."""
    rules = profile(minor)
    wrong = [
        (row["expression"], ours)
        for row in rows("syntax")
        if not same_answer(
            ours := value_answer(row["expression"], rules), row.get(minor, row["1.36"])
        )
    ]
    assert not wrong


def test_the_tables_reach_everything() -> None:
    """Both outcomes, errors and refusals occur in every table where they can."""
    assert len(rows("values")) > 500
    assert len(rows("devices")) > 140
    assert len(rows("syntax")) > 140
    values = [row["1.36"] for row in rows("values")]
    assert sum("error" in value for value in values) > 60
    assert sum("compileError" in value for value in values) > 15
    changed = [row for row in rows("values") if "1.34" in row or "1.37" in row]
    assert len(changed) > 5
