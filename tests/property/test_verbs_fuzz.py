"""Damaged clusters: explain, simulate, devices and fit answer or refuse, and never break."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claimfit.__main__ import main
from claimfit.hardware.samples import SAMPLES, sample_path

ROOT = Path(__file__).parents[2]
POD = ROOT / "docs" / "examples" / "h100.yaml"
ODD = st.sampled_from(
    [None, True, 0, -1, 2**63, 1.5, "", "\x1b[31m\n", "x" * 70_000, [], {}, [None], {"": None}]
)


@cache
def sample(name: str) -> dict[str, Any]:
    """Return a sample cluster; callers copy it."""
    content: dict[str, Any] = json.loads(Path(sample_path(name)).read_text(encoding="utf-8"))
    return content


def places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the paths of everything in `value`."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value)  # type: ignore[arg-type]
    for key, item in items:
        found += places(item, (*path, key)) if isinstance(item, (dict, list)) else [(*path, key)]
    return found


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """Return a sample with one to three values replaced or removed, mostly inside one object."""
    whole = sample(draw(st.sampled_from(sorted(SAMPLES))))
    items = whole["items"]
    kept = [
        copy.deepcopy(items[i])
        for i in draw(st.lists(st.integers(0, len(items) - 1), min_size=1, max_size=4, unique=True))
    ]
    for _ in range(draw(st.integers(1, 3))):
        target = draw(st.sampled_from(kept))
        path = draw(st.sampled_from(places(target)))
        parent: Any = target
        for step in path[:-1]:
            parent = parent[step]
        if draw(st.booleans()):
            parent[path[-1]] = copy.deepcopy(draw(ODD))
        elif isinstance(parent, dict):
            del parent[path[-1]]
    return {"apiVersion": "v1", "kind": "List", "items": kept}


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "-f", str(POD), "--suggest", "-o", "json"],
        ["simulate", "-f", str(POD), "-o", "json"],
        ["devices", "-o", "json"],
        ["fit", "Qwen/Qwen3-0.6B", "-o", "json"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_damaged_cluster_is_answered_or_refused(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 0, 1 or 2, JSON on stdout; 70 would be a defect."""
    path = tmp_path / "cluster.json"

    @given(damaged())
    @settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def answers(cluster: dict[str, Any]) -> None:
        path.write_text(json.dumps(cluster), encoding="utf-8")
        code = main([*arguments, "--cluster", str(path)])
        said = capsys.readouterr()
        assert code in {0, 1, 2}, said.err[-2000:]
        assert json.loads(said.out)
        assert "\x1b" not in said.out + said.err

    answers()
