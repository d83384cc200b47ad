"""``claimfit models check``: do catalogue entries still agree with their repositories?

Fetches ``config.json`` of each repository at its main revision (HF_ENDPOINT, HF_TOKEN) and compares
every key that the entry states. Differences and repositories that are gone are findings (exit 1);
a repository that refuses access is not checked (exit 3 when nothing was found); without a network
the command stops at the first request (exit 3).
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from claimfit.cli.arguments import Parser, add_output
from claimfit.cli.lines import visible
from claimfit.cli.model_report import MODELS_SCHEMA
from claimfit.cli.model_sources import add_models_option, model_sources
from claimfit.errors import ClaimfitError, EnvironmentFailure, InputError, printable
from claimfit.model.configuration_check import compare_configurations
from claimfit.model.json_text import read_json_object
from claimfit.model.lookup import find_entry, known_entries
from claimfit.records import NamedTuple
from claimfit.storage.http import Http, Limits
from claimfit.storage.hub import endpoint_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from claimfit.model.configuration_check import ConfigurationDifference
    from claimfit.model.entry import Entry

__all__ = ["run"]

_LARGEST_CONFIGURATION: Final = 4 << 20
"""Bytes; the longest published config.json (per-layer quantization lists) has 0.5 MB."""
_LIMITS: Final = Limits(bytes=512 << 20, requests=10_000, seconds=3600.0)
"""For all entries of the catalogue in one run."""
_GONE: Final = "NET002"
_REFUSED: Final = "NET003"


class Finding(NamedTuple):
    """What the comparison of one entry found."""

    entry: Entry
    differences: tuple[ConfigurationDifference, ...]
    error: ClaimfitError | None
    """Why the configuration could not be compared."""

    @property
    def status(self) -> str:
        """One of agrees, differs, gone, refused, unreadable."""
        if self.error is not None:
            return {_GONE: "gone", _REFUSED: "refused"}.get(self.error.code, "unreadable")
        return "differs" if any(d.kind == "differs" for d in self.differences) else "agrees"


def run(arguments: list[str]) -> int:
    """Run ``models check`` and return 0 (agree), 1 (findings) or 3 (some refused access).

    Raises:
        ModelError: a name that no table has.
        EnvironmentFailure: NET001 when there is no way to the server.
    """
    parser = Parser(
        prog="claimfit models check",
        description="Compare entries with the config.json of their repositories.",
    )
    parser.add_argument("names", nargs="*", metavar="MODEL", help="default: every entry")
    add_models_option(parser)
    add_output(parser, "text", "json")
    options = parser.read(arguments)
    sources = model_sources(options.models, os.environ)
    if options.names:
        entries = [find_entry(name, sources) for name in options.names]
    else:
        entries = list(known_entries(sources))
    findings = []
    for finding in _findings(entries, os.environ):
        findings.append(finding)
        if options.output == "text":
            sys.stdout.write(_text(finding))
    if options.output == "json":
        sys.stdout.write(_json(findings))
    else:
        sys.stdout.write(_summary(findings))
    return _exit_code(findings)


def _findings(entries: Iterable[Entry], environment: Mapping[str, str]) -> Iterator[Finding]:
    endpoint = endpoint_of(environment)
    token = environment.get("HF_TOKEN", "").strip()
    with closing(Http(limits=_LIMITS)) as http:
        if token:
            http.authorize(token, endpoint)
        for entry in entries:
            try:
                configuration = _configuration(http, endpoint, entry.repository)
            except (InputError, EnvironmentFailure) as error:
                if isinstance(error, EnvironmentFailure) and error.code != _REFUSED:
                    raise
                yield Finding(entry, (), error)
            else:
                yield Finding(entry, compare_configurations(entry.config, configuration), None)


def _configuration(http: Http, endpoint: str, repository: str) -> dict[str, object]:
    url = f"{endpoint}/{quote(repository)}/resolve/main/config.json"
    return read_json_object(http.document(url, _LARGEST_CONFIGURATION), code="NET005", place=url)


def _text(finding: Finding) -> str:
    entry = finding.entry
    if finding.error is not None:
        return f"{entry.name}: {finding.status}: {finding.error.message} ({finding.error.found})\n"
    differing = [d for d in finding.differences if d.kind == "differs"]
    lines = [f"{entry.name}: {finding.status}{_absent_note(finding)}"]
    lines += [
        f"  {d.path}: entry {_shown(d.entry)}, repository {_shown(d.repository)}" for d in differing
    ]
    return "".join(f"{visible(line)}\n" for line in lines)


def _absent_note(finding: Finding) -> str:
    absent = [d.path for d in finding.differences if d.kind == "absent"]
    return f" (left to its default there: {', '.join(absent)})" if absent else ""


def _shown(value: object) -> str:
    return printable(json.dumps(value, ensure_ascii=False))


def _summary(findings: list[Finding]) -> str:
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.status] = counts.get(finding.status, 0) + 1
    told = ", ".join(f"{count} {status}" for status, count in counts.items())
    return f"{len(findings)} compared with their repositories: {told or 'none'}\n"


def _json(findings: list[Finding]) -> str:
    document = {
        "schemaVersion": MODELS_SCHEMA,
        "checked": [
            {
                "name": finding.entry.name,
                "repository": finding.entry.repository,
                "status": finding.status,
                "differences": [difference._asdict() for difference in finding.differences],
                "error": None if finding.error is None else finding.error.as_dict(),
            }
            for finding in findings
        ],
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _exit_code(findings: list[Finding]) -> int:
    statuses = {finding.status for finding in findings}
    if statuses & {"differs", "gone", "unreadable"}:
        return 1
    return EnvironmentFailure.exit_code if "refused" in statuses else 0
