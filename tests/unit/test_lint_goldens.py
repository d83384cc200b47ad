"""What claimfit writes and ships has no finding: lint and the other verbs hold the same opinion."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimfit.diagnose.lint import Context, Finding, lint
from claimfit.diagnose.lint.finding import REFUSALS
from claimfit.dra.profile import profile
from claimfit.manifests.reader import read_documents

ROOT = Path(__file__).parents[2]
GOLDENS = sorted((ROOT / "tests" / "golden").rglob("*.yaml"))
SAMPLES = sorted((ROOT / "src" / "claimfit" / "data" / "samples").glob("*.json"))


def findings(path: Path) -> list[Finding]:
    """Return the findings for a file."""
    documents = read_documents(path.read_text(encoding="utf-8"), path.name)
    return lint(documents, Context(profile("1.36")))


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_written_claims_have_no_finding(path: Path) -> None:
    """What `claimfit claim` writes is what lint would have written."""
    assert findings(path) == []


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples_are_what_a_server_takes(path: Path) -> None:
    """The sample clusters hold claims that cannot be satisfied, but nothing that is refused."""
    assert [item for item in findings(path) if item.code in REFUSALS] == []
