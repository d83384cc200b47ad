"""The allocator against Kubernetes' own: random small clusters, the same questions to both.

The seeds are printed; `CLAIMFIT_SEED` and `CLAIMFIT_SCENARIOS` change them. `CLAIMFIT_MINORS=all`
judges 1.34 and 1.35 too (nightly): their order of pools is random, so their nodes have one pool.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pytest

from support.allocator_judge import decided, judged, normal_answer, normal_verdict
from support.allocator_scenarios import Scenario, scenario

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = [pytest.mark.oracle, pytest.mark.timeout(280)]

SEED: Final = int(os.environ.get("CLAIMFIT_SEED", "1"))
SCENARIOS: Final = int(os.environ.get("CLAIMFIT_SCENARIOS", "2000"))
MINORS: Final = (36, 37, 35, 34) if os.environ.get("CLAIMFIT_MINORS") == "all" else (36, 37)
GAVE_UP: Final = "context deadline exceeded"
RARE: Final = 0.03
"""No feature and no outcome may be rarer than this."""


def _asked(
    minor: int, number: int, *, plain: bool = False
) -> list[tuple[Scenario, dict[str, Any]]]:
    """Return scenarios with the judge's answers."""
    one_pool = plain or minor < 36
    first = SEED * 1_000_000
    made = [
        scenario(seed, minor, one_pool=one_pool, plain=plain)
        for seed in range(first, first + number)
    ]
    return list(zip(made, judged(minor, (item.question() for item in made)), strict=True))


def _compared(asked: Iterable[tuple[Scenario, dict[str, Any]]]) -> Counter[str]:
    """Compare every answer, and the steps of the unpruned search; return what was met."""
    met: Counter[str] = Counter()
    for made, said in asked:
        verdict = decided(made)
        met.update(made.tags)
        met[f"outcome: {verdict.outcome}"] += 1
        if GAVE_UP in said.get("error", ""):
            met["(upstream gave up)"] += 1
            continue
        expected = normal_answer(said)
        where = f"1.{made.minor}, seed {made.seed}: {sorted(made.tags)}"
        if verdict.outcome == "undecided":
            met["(undecided)"] += 1
        else:
            assert normal_verdict(verdict) == expected, where
        stepwise = decided(made, pruned=False, budget=5000)
        if stepwise.outcome == "undecided":
            continue
        assert normal_verdict(stepwise) == expected, where
        if said.get("steps") and expected["outcome"] != "aborted":
            assert stepwise.steps == said["steps"], where
            met["(steps compared)"] += 1
    return met


@pytest.mark.parametrize("minor", MINORS)
def test_kubernetes_decides_the_same(minor: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Outcome, devices, results, configuration, errors and the number of steps agree."""
    met = _compared(_asked(minor, SCENARIOS))
    rows = sorted(met.items(), key=lambda item: item[1])
    shares = [f"  {100 * number / SCENARIOS:5.1f} %  {name}" for name, number in rows]
    head = f"\n1.{minor}, {SCENARIOS} clusters from seed {SEED * 1_000_000}:"
    with capsys.disabled():
        sys.stdout.write("\n".join((head, *shares, "")))
    assert met["(upstream gave up)"] < 0.02 * SCENARIOS
    assert met["(undecided)"] + met["outcome: undecided"] < 0.02 * SCENARIOS
    if minor >= 36:
        shown = {name: number for name, number in met.items() if name[0] != "("}
        shown.pop("outcome: undecided", None)
        assert {name for name, number in shown.items() if number < RARE * SCENARIOS} == set()


@pytest.mark.parametrize("minor", [36, 37])
def test_the_stable_allocator_decides_the_same(minor: int) -> None:
    """With neither binding conditions nor shares the stable implementation runs, and agrees."""
    number = SCENARIOS // 5
    met = _compared(_asked(minor, number, plain=True))
    assert met["outcome: allocated"] > number // 10
