"""Every reason outside the allocator is documented, and reached by a test of its own."""

from __future__ import annotations

from pathlib import Path

from claimfit.diagnose.reason_codes import POD_MEANINGS

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "reasons"


def test_every_reason_has_a_page() -> None:
    """A page says what the code means, where it comes from, and what to do."""
    for code, meaning in POD_MEANINGS.items():
        text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
        assert text.startswith(f"# {code}\n\n{meaning[0].upper()}{meaning[1:]}.\n")
        assert "\n## Cause\n" in text
        assert "\n## Fix\n" in text


def test_every_reason_is_reached() -> None:
    """Each code stands in a test that makes it happen."""
    tests = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "tests" / "unit").glob("test_*.py")
        if path.name != Path(__file__).name
    )

    assert [code for code in POD_MEANINGS if f'"{code}"' not in tests] == []
