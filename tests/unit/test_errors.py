"""Error codes: every one is documented, unique in meaning, and printed safely."""

from __future__ import annotations

import ast
import errno
import re
from pathlib import Path

import pytest

from claimfit.cli.failures import describe, guarded, wants_json
from claimfit.errors import ClaimfitError, EnvironmentFailure, InputError, RefusedError, printable

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"[A-Z]{3}\d{3}")


def codes_in_source() -> dict[str, set[str]]:
    """Return code -> files whose string literals are that code."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and CODE.fullmatch(node.value)
            ):
                found.setdefault(node.value, set()).add(path.name)
    return found


def documented() -> list[str]:
    """Return the codes that docs/errors lists, in order."""
    return [
        code
        for page in sorted((ROOT / "docs" / "errors").glob("*.md"))
        for code in re.findall(
            r"^\| ([A-Z]{3}\d{3}) \|", page.read_text(encoding="utf-8"), re.MULTILINE
        )
    ]


def test_every_code_is_documented_once_and_no_other() -> None:
    """docs/errors lists exactly the codes that the source raises."""
    listed = documented()

    assert sorted(set(listed)) == sorted(listed)
    assert sorted(codes_in_source()) == sorted(listed)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("MAN001", "m"), 2),
        (RefusedError("CLM001", "m"), 1),
        (EnvironmentFailure("ENV001", "m"), 3),
    ],
)
def test_exit_code_follows_the_tree(
    error: ClaimfitError, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """2 for a wrong question, 1 for a no, 3 for the environment."""

    def fails() -> int:
        raise error

    assert code == guarded(fails, [])
    assert capsys.readouterr().out == ""


def test_json_error_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    """With -o json a failure is one JSON object on stdout and text on stderr."""

    def fails() -> int:
        raise InputError("MAN001", "bad", place="f:1:1", found="x\ny", candidates=("a", "b"))

    assert guarded(fails, ["-o", "json"]) == 2
    captured = capsys.readouterr()
    assert '"code": "MAN001"' in captured.out
    assert "error MAN001: f:1:1: bad" in captured.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-o", "json"], True),
        (["-ojson"], True),
        (["--output=json"], True),
        (["--output", "json"], True),
        (["--json"], True),
        (["-o", "yaml", "json"], False),
        ([], False),
    ],
)
def test_json_is_recognised_before_parsing(arguments: list[str], expected: bool) -> None:
    """A wrong flag must not hide that the caller reads JSON."""
    assert expected is wants_json(arguments)


def test_found_cannot_fake_lines() -> None:
    """Control characters of untrusted names are escaped, long names are cut with notice."""
    assert printable("a\nb\x1b[31m\u2028") == "a\\u000ab\\u001b[31m\\u2028"
    assert printable("x" * 300) == "x" * 200 + "... (300 characters)"
    text = describe(InputError("MAN001", "m", found="a\nerror MAN002: forged"))
    assert len(text.splitlines()) == 2


def test_a_defect_is_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """An exception that is none of ours exits with 70, never with the 1 that means no."""

    def fails() -> int:
        raise KeyError("surprise")

    assert guarded(fails, []) == 70
    assert "defect of claimfit" in capsys.readouterr().err


def test_a_full_disk_is_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    """Output that cannot be written exits 3 with the reason; another OSError is a defect."""

    def full() -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def other() -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    assert guarded(full, []) == 3
    assert "error ENV001: standard output: the output cannot be written" in capsys.readouterr().err
    assert guarded(other, []) == 70
