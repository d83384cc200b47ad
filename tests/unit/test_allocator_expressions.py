"""CEL as the allocator asks it: the stand-in of the scenarios answers the same."""

from __future__ import annotations

import pytest

from claimfit.dra.allocator.expressions import cel_evaluator
from claimfit.dra.allocator.selectors import SelectorProblem
from claimfit.dra.pools import PooledSlice
from claimfit.dra.profile import profile
from support.allocator_scenarios import EXPRESSIONS, answer, scenario


@pytest.mark.parametrize("kubernetes", ["1.34", "1.35", "1.36", "1.37"])
def test_expressions_of_the_scenarios_mean_what_cel_says(kubernetes: str) -> None:
    """Truth, run-time errors to the letter, and which expressions do not compile."""
    evaluate = cel_evaluator(profile(kubernetes))
    seen: set[object] = set()
    for seed in range(60):
        made = scenario(seed, 36)
        _, slices, _, _ = made.objects()
        for index, item in enumerate(slices):
            for entry in PooledSlice(item, index).devices:
                for expression in EXPRESSIONS:
                    expected, found = answer(expression, entry), evaluate(expression, entry)
                    if isinstance(expected, SelectorProblem) and expected.compile:
                        assert isinstance(found, SelectorProblem)
                        assert found.compile
                        assert expected.text in found.text
                    else:
                        assert found == expected, (expression, entry.path, seed)
                    seen.add(type(found))
    assert seen == {bool, SelectorProblem}
