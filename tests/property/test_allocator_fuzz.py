"""Broken clusters: a verdict or a coded error, never anything else, and soon."""

from __future__ import annotations

import copy
import random
from typing import Any, Final

import msgspec
import pytest

from claimfit.errors import ClaimfitError
from support.allocator_judge import decided
from support.allocator_scenarios import scenario

WEIRD: Final = (
    None,
    "",
    "x" * 10_000,
    "\x00\n",
    "-1",
    "1e2000",
    "0",
    -1,
    0,
    2**63 - 1,
    True,
    [],
    {},
    ["x"],
    {"x": {}},
)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) below `value`."""
    found: list[tuple[Any, Any]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        found.append((value, key))
        if isinstance(inner, dict | list):
            found += _places(inner)
    return found


@pytest.mark.parametrize("minor", [34, 35, 36, 37])
def test_a_broken_cluster_gets_a_verdict_or_a_coded_error(minor: int) -> None:
    """One to four values of a cluster are taken out or replaced by what does not belong there."""
    reached = 0
    for seed in range(50_000, 50_250):
        made = scenario(seed, minor)
        rng = random.Random(seed)
        for part in (made.slices, made.classes, made.claims, [made.node]):
            part[:] = copy.deepcopy(part)
        for _ in range(rng.randint(1, 4)):
            container, key = rng.choice(_places([made.slices, made.classes, made.claims]))
            if rng.random() < 0.3:
                del container[key]
            else:
                container[key] = copy.deepcopy(rng.choice(WEIRD))
        try:
            objects = made.objects()
        except (msgspec.ValidationError, AttributeError, TypeError):
            continue  # not the shape of its kind: refused when it is read
        assert objects
        try:
            verdict = decided(made, budget=500)
        except ClaimfitError as error:
            assert error.code in {"ALC001", "ALC002"}
        else:
            assert verdict.outcome
            reached += 1
    assert reached > 20
