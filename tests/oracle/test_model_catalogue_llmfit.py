"""The catalogue against the installed llmfit package: agreement, or a judged difference."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from claimfit.storage.llmfit_dump import installation

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(installation() is None, reason="the llmfit package is not installed"),
]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """Return the maintainers' script as a module."""
    path = ROOT / "tools" / "catalogue.py"
    specification = importlib.util.spec_from_file_location("catalogue_tool", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_judgements_are_of_this_llmfit(tool: ModuleType) -> None:
    """The table names the release it was made with; another one needs another look."""
    table = json.loads(tool.DIFFERENCES.read_text(encoding="utf-8"))
    installed = installation()

    assert installed is not None
    assert table["llmfit"] == installed.version


def test_every_difference_is_judged_and_no_judgement_is_stale(tool: ModuleType) -> None:
    """What llmfit states otherwise is exactly what the table lists, with who is right and why."""
    others = tool.llmfit_entries()
    found = {
        difference
        for name, facts in tool.facts_by_name(tool.families()).items()
        if name in others
        for difference in tool.llmfit_differences(facts, others[name])
    }

    assert found == tool.judged()


def test_a_judgement_says_who_is_right_and_why(tool: ModuleType) -> None:
    """No row without a verdict and a reason."""
    for row in json.loads(tool.DIFFERENCES.read_text(encoding="utf-8"))["differences"]:
        assert row["right"] in {"catalogue", "llmfit", "both"}
        assert len(row["why"]) > 20


def test_the_files_are_what_the_script_writes(tool: ModuleType) -> None:
    """Recomputing checks, index and format changes nothing."""
    for name, text in tool.documents().items():
        assert (tool.MODELS / name).read_text(encoding="utf-8") == text
