"""Kubernetes' own CEL compiler accepts the selectors that claimfit writes, at little cost."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.kubernetes_build import cache, go_program

pytestmark = [pytest.mark.oracle, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "tests" / "oracle" / "claims"
GOLDENS = sorted((ROOT / "tests" / "golden" / "claims").glob("*.yaml"))
MOST_COST = 5_000
"""The API server's limit is 1,000,000; a selector is evaluated for each device of each node."""


@pytest.fixture(scope="module")
def oracle() -> Path:
    """Return the compiled oracle, built once into the cache of Kubernetes programs."""
    go = go_program()
    program = cache() / "claims-oracle-v0.36.3"
    if program.exists():
        return program
    if go is None or not os.environ.get("CLAIMFIT_REQUIRE_CLUSTER"):
        pytest.skip("needs Go and the Kubernetes modules: CLAIMFIT_REQUIRE_CLUSTER=1 builds them")
    subprocess.run(
        [go, "build", "-trimpath", "-o", str(program), "."],
        cwd=SOURCE,
        env={**os.environ, "CGO_ENABLED": "0"},
        check=True,
    )
    return program


def expressions(value: Any) -> list[str]:
    """Return every CEL expression in a manifest."""
    if isinstance(value, dict):
        own = [value["expression"]] if "expression" in value else []
        return own + [text for item in value.values() for text in expressions(item)]
    return [text for item in value for text in expressions(item)] if isinstance(value, list) else []


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_every_golden_selector_compiles_and_is_cheap(path: Path, oracle: Path) -> None:
    """Each expression compiles in Kubernetes 1.36 with a static cost far below the limit."""
    found = expressions(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert found
    asked = "".join(json.dumps({"selector": text}) + "\n" for text in found)
    done = subprocess.run([oracle], input=asked, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        assert "error" not in answer, answer
        assert answer["cost"] <= MOST_COST
