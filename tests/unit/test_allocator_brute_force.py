"""The allocator, with its pruning, against trying every assignment."""

from __future__ import annotations

import pytest

from support.allocator_brute_force import first_assignment, suits
from support.allocator_judge import decided
from support.allocator_scenarios import scenario


@pytest.mark.parametrize("first", range(0, 4000, 1000))
def test_the_first_assignment_that_holds_is_chosen(first: int) -> None:
    """On tiny clusters the verdict and every device are those of an exhaustive search."""
    judged = allocated = 0
    for seed in range(first, first + 1000):
        made = scenario(seed, 37)
        if not suits(made):
            continue
        expected = first_assignment(made)
        if expected == "too many":
            continue
        verdict = decided(made)
        chosen = [
            (result.request, f"{result.driver}/{result.pool}/{result.device}")
            for allocation in verdict.allocations
            for result in allocation.devices.results
        ]
        assert (chosen if verdict.fits else None) == expected, (seed, sorted(made.tags))
        judged += 1
        allocated += expected is not None
    assert judged > 50
    assert 0.2 < allocated / judged < 0.9
