"""Prints findings: for people, as JSON, as SARIF 2.1.0, and as GitHub annotations."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

from claimfit._version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

    from claimfit.diagnose.lint import Finding
    from claimfit.dra.profile import Profile

__all__ = ["LINT_SCHEMA", "write", "write_fixed"]

LINT_SCHEMA: Final = "claimfit.dev/lint/v1"

_INDENT: Final = "    "
_SEVERITIES: Final = ("error", "warning", "info")
_SARIF_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}
_GITHUB_LEVELS: Final = {"error": "error", "warning": "warning", "info": "notice"}
_GITHUB_ESCAPES: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_GITHUB_PROPERTY_ESCAPES: Final = {":": "%3A", ",": "%2C"}


def write(
    findings: Sequence[Finding], files: int, form: str, profile: Profile, output: TextIO
) -> None:
    """Write `findings` of `files` files to `output` in `form`: text, json, sarif or github."""
    if form == "json":
        output.write(_json_text(_as_json(findings, files, profile)))
    elif form == "sarif":
        output.write(_json_text(_as_sarif(findings)))
    elif form == "github":
        output.write("".join(_as_annotation(finding) + "\n" for finding in findings))
    else:
        output.write("".join(_text_lines(findings, files)))


def write_fixed(fixed: Sequence[Finding]) -> None:
    """Say on stderr what was fixed."""
    for finding in fixed:
        where = f"{finding.place}:{finding.line}"
        sys.stderr.write(f"fixed {where} {finding.code} {finding.message}\n")


# --- text -----------------------------------------------------------------------------------------


def _text_lines(findings: Sequence[Finding], files: int) -> Iterator[str]:
    for finding in findings:
        where = f"{finding.place}:{finding.line}:{finding.column}"
        yield f"{where} {finding.severity:<8} {finding.code}  {finding.message}\n"
        if finding.excerpt:
            yield f"{_INDENT}{finding.excerpt}\n{_INDENT}{' ' * finding.excerpt_column}^\n"
        if finding.fix:
            yield f"{_INDENT}fix  {finding.fix}\n"
    yield _summary(findings, files) + "\n"


def _summary(findings: Sequence[Finding], files: int) -> str:
    plural = "" if files == 1 else "s"
    if not findings:
        return f"nothing found in {files} file{plural}"
    counts = [(name, sum(item.severity == name for item in findings)) for name in _SEVERITIES]
    said = ", ".join(
        f"{count} {name}{'' if count == 1 or name == 'info' else 's'}"
        for name, count in counts
        if count
    )
    fixable = sum(bool(finding.edits) for finding in findings)
    tail = f"; {fixable} can be fixed with --fix" if fixable else ""
    return f"{said} in {files} file{plural}{tail}"


# --- JSON, SARIF ----------------------------------------------------------------------------------


def _json_text(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _as_json(findings: Sequence[Finding], files: int, profile: Profile) -> dict[str, object]:
    return {
        "schemaVersion": LINT_SCHEMA,
        "kubernetes": profile.kubernetes,
        "files": files,
        "counts": {name: sum(item.severity == name for item in findings) for name in _SEVERITIES},
        "findings": [
            {
                "code": finding.code,
                "severity": finding.severity,
                "file": finding.place,
                "line": finding.line,
                "column": finding.column,
                "object": finding.resource,
                "path": finding.path,
                "message": finding.message,
                "fix": finding.fix,
                "fixable": bool(finding.edits),
            }
            for finding in findings
        ],
    }


def _as_sarif(findings: Sequence[Finding]) -> dict[str, object]:
    codes = sorted({finding.code for finding in findings})
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "claimfit",
                        "semanticVersion": __version__,
                        "rules": [{"id": code} for code in codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_sarif_result(finding, codes) for finding in findings],
            }
        ],
    }


def _sarif_result(finding: Finding, codes: list[str]) -> dict[str, object]:
    from urllib.parse import quote

    text = finding.message + (f" (fix: {finding.fix})" if finding.fix else "")
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": _SARIF_LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(finding.place.replace("\\", "/"))},
                    "region": {"startLine": finding.line, "startColumn": finding.column},
                },
                "logicalLocations": [{"fullyQualifiedName": finding.path}],
            }
        ],
    }


def _as_annotation(finding: Finding) -> str:
    """Return a workflow command of GitHub Actions."""
    text = finding.message + (f" fix: {finding.fix}" if finding.fix else "")
    place = finding.place.translate(_GITHUB_ESCAPES)
    for char, escaped in _GITHUB_PROPERTY_ESCAPES.items():
        place = place.replace(char, escaped)
    level = _GITHUB_LEVELS[finding.severity]
    return (
        f"::{level} file={place},line={finding.line},col={finding.column},"
        f"title={finding.code}::{text.translate(_GITHUB_ESCAPES)}"
    )
