"""One thing that lint found, and the collector that rules report to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal, NamedTuple

from claimfit.diagnose.lint.edits import replace_scalar
from claimfit.diagnose.lint.paths import text_of
from claimfit.errors import printable

if TYPE_CHECKING:
    from claimfit.diagnose.lint.edits import Edit
    from claimfit.diagnose.lint.manifest import Manifest
    from claimfit.diagnose.lint.paths import Path
    from claimfit.dra.profile import Profile

__all__ = ["NULL", "REFUSALS", "Finding", "Report", "Severity"]

Severity = Literal["error", "warning", "info"]
"""error: the API server refuses it, or it can never work. warning: it works less often or otherwise
than it reads. info: worth knowing."""

_LONGEST_MESSAGE = 2000

NULL = object()
"""Stands for Go's nil where a message shows it as the bad value."""

REFUSALS = frozenset(
    {
        *(f"LNT00{digit}" for digit in range(1, 10)),
        *(
            "LNT010",
            "LNT011",
            "LNT013",
            "LNT015",
            "LNT016",
            "LNT035",
            "LNT040",
            "LNT041",
            "LNT042",
            "LNT043",
            "LNT051",
        ),
    }
)
"""Codes of findings that, as errors, say that the API server refuses the object."""


class Finding(NamedTuple):
    """One finding.

    Attributes:
        code: stable identifier, LNT and three digits.
        severity: see `Severity`.
        place: the file name, or `-`.
        line: 1-based.
        column: 1-based, in characters.
        path: the field, such as ``spec.devices.requests[0].name``.
        resource: the object, such as ``ResourceClaim serving/gpu``.
        message: what is wrong; for what an API server refuses, in its words.
        fix: what to write instead, or what to do; may be empty.
        edits: changes of the file that make the fix, empty when only a person can decide.
        excerpt: the line to show below the message with a caret under `excerpt_column` (0-based).
    """

    code: str
    severity: Severity
    place: str
    line: int
    column: int
    path: str
    resource: str
    message: str
    fix: str = ""
    edits: tuple[Edit, ...] = ()
    excerpt: str = ""
    excerpt_column: int = 0


class Report:
    """Collects the findings of one object.

    A value of the wrong type is reported once: nothing is said about what would be below it.
    """

    def __init__(self, manifest: Manifest, profile: Profile) -> None:
        self.manifest = manifest
        self.profile = profile
        self.findings: list[Finding] = []
        self._broken: set[Path] = set()

    def broken(self, path: Path) -> None:
        """Keep later rules from speaking about `path` and what is below it."""
        self._broken.add(path)

    def add(
        self,
        code: str,
        severity: Severity,
        path: Path,
        message: str,
        *,
        fix: str = "",
        edits: tuple[Edit, ...] = (),
        at_key: bool = False,
    ) -> None:
        """Report `message` about the value at `path` (or its key)."""
        if any(path[:length] in self._broken for length in range(len(path) + 1)):
            return
        mark = self.manifest.key_mark(path) if at_key else self.manifest.mark(path)
        self.add_at(code, severity, path, message, (mark.line, mark.column), fix=fix, edits=edits)

    def add_at(
        self,
        code: str,
        severity: Severity,
        path: Path,
        message: str,
        position: tuple[int, int],
        *,
        fix: str = "",
        edits: tuple[Edit, ...] = (),
        excerpt: tuple[str, int] = ("", 0),
    ) -> None:
        """Report `message` at a line and column of its own, with an optional excerpt and caret."""
        self.findings.append(
            Finding(
                code,
                severity,
                self.manifest.document.place,
                position[0],
                position[1],
                text_of(path),
                str(self.manifest),
                printable(message, _LONGEST_MESSAGE),
                printable(fix, _LONGEST_MESSAGE),
                edits,
                printable(excerpt[0], _LONGEST_MESSAGE),
                excerpt[1],
            )
        )

    # --- in the words of the API server (k8s.io/apimachinery, util/validation/field) --------------

    def refused(
        self,
        code: str,
        path: Path,
        kind: str,
        detail: str = "",
        *,
        value: object = None,
        fix: str = "",
        edits: tuple[Edit, ...] = (),
        key: str | None = None,
    ) -> None:
        """Report what the API server refuses: ``PATH: KIND: VALUE: DETAIL``.

        With `key` it is about that key of the map at `path`; the server names only the map.
        """
        shown = "" if value is None else f": {_go_value(value)}"
        tail = f": {detail}" if detail else ""
        message = f"{text_of(path)}: {kind}{shown}{tail}"
        place = path if key is None else (*path, key)
        self.add(code, "error", place, message, fix=fix, edits=edits, at_key=key is not None)

    def required(self, path: Path, detail: str = "", *, key: str | None = None) -> None:
        """Report a value that is missing."""
        self.refused("LNT003", path, "Required value", detail, key=key)

    def invalid(
        self, path: Path, value: object, detail: str, *, fix: str = "", key: str | None = None
    ) -> None:
        """Report a value that breaks a rule."""
        self.refused("LNT004", path, "Invalid value", detail, value=value, fix=fix, key=key)

    def duplicate(self, path: Path, value: object) -> None:
        """Report a value that may stand only once."""
        self.refused("LNT005", path, "Duplicate value", value=value)

    def unsupported(self, path: Path, value: str, supported: tuple[str, ...]) -> None:
        """Report a word that is none of an enumeration."""
        allowed = ", ".join(f'"{word}"' for word in sorted(supported))
        meant = [word for word in supported if word.casefold() == value.casefold()]
        self.refused(
            "LNT006",
            path,
            "Unsupported value",
            f"supported values: {allowed}",
            value=value,
            fix=meant[0] if meant else "",
            edits=replace_scalar(self.manifest, path, meant[0]) if meant else (),
        )

    def forbidden(self, path: Path, detail: str) -> None:
        """Report a value that may not be set here."""
        self.refused("LNT007", path, "Forbidden", detail)

    def too_many(self, path: Path, count: int, most: int) -> None:
        """Report a list or map that is too large."""
        self.refused("LNT008", path, "Too many", f"must have at most {most} items", value=count)

    def too_long(self, path: Path, most: int, *, key: str | None = None) -> None:
        """Report a text that is too long."""
        self.refused("LNT009", path, "Too long", f"may not be more than {most} bytes", key=key)

    def not_found(self, path: Path, value: str, detail: str = "") -> None:
        """Report a name that nothing has."""
        self.refused("LNT010", path, "Not found", detail, value=value)


def _go_value(value: object) -> str:
    """Return `value` as Go's error messages print it."""
    if value is NULL:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return printable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    if isinstance(value, int):
        return str(value)
    return '"' + printable(str(value)).replace("\\", "\\\\").replace('"', '\\"') + '"'
