"""What claimfit writes and ships has no finding: lint and the other verbs hold the same opinion."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimfit.diagnose.lint import Context, lint
from claimfit.dra.profile import profile
from claimfit.manifests.reader import read_documents

ROOT = Path(__file__).parents[2]
GOLDENS = sorted((ROOT / "tests" / "golden").rglob("*.yaml"))
SAMPLES = sorted((ROOT / "src" / "claimfit" / "data" / "samples").glob("*.json"))


@pytest.mark.parametrize("path", [*GOLDENS, *SAMPLES], ids=lambda path: path.stem)
def test_no_finding(path: Path) -> None:
    """Claims that are written, and the objects of the sample clusters."""
    documents = read_documents(path.read_text(encoding="utf-8"), path.name)

    assert lint(documents, Context(profile("1.36"))) == []
