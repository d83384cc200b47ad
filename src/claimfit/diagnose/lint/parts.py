"""Reads an object by its schema, as the API server decodes JSON, and gives rules typed access.

What the server would not decode (a wrong type, an unknown field under strict validation) becomes a
finding here; rules then see the object without it. null counts as absent, as in Go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from claimfit.diagnose.lint.paths import text_of
from claimfit.diagnose.lint.schema import OPEN, STRUCTURES, Field, fields_of
from claimfit.errors import InputError
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.diagnose.lint.finding import Report
    from claimfit.diagnose.lint.paths import Path
    from claimfit.manifests.reader import Value

__all__ = ["Part", "Unknown", "read"]

_TIME: Final = re.compile(
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"([.,][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
)


class Unknown:
    """A field that its structure does not have, to be explained by whoever knows better.

    Attributes:
        path: the field.
        structure: what it was written in.
        known: the fields that structure has.
        value: what was written.
    """

    __slots__ = ("known", "path", "structure", "value")

    def __init__(self, path: Path, structure: str, known: dict[str, Field], value: Value) -> None:
        self.path = path
        self.structure = structure
        self.known = known
        self.value = value


class Part:
    """A structure of the object: what is set and well-typed in it."""

    __slots__ = ("path", "unknown", "values")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values: dict[str, object] = {}
        self.unknown: list[str] = []

    def has(self, field: str) -> bool:
        """Whether `field` is set, even if to something of a wrong type."""
        return field in self.values

    def at(self, *steps: str | int) -> Path:
        """Return the path below this part."""
        return (*self.path, *steps)

    def text(self, field: str) -> str:
        """Return a string, empty when it is not set."""
        value = self.values.get(field)
        return value if isinstance(value, str) else ""

    def texts(self, field: str) -> list[str]:
        """Return a list of strings."""
        value = self.values.get(field)
        return [item if isinstance(item, str) else "" for item in _list(value)]

    def number(self, field: str) -> int:
        """Return an integer, 0 when it is not set."""
        value = self.values.get(field)
        return value if isinstance(value, int) else 0

    def flag(self, field: str) -> bool | None:
        """Return a boolean, None when it is not set."""
        value = self.values.get(field)
        return value if isinstance(value, bool) else None

    def quantity(self, field: str) -> Quantity | None:
        """Return a quantity, None when it is not set."""
        value = self.values.get(field)
        return value if isinstance(value, Quantity) else None

    def quantities(self, field: str) -> list[Quantity]:
        """Return a list of quantities; what is none counts as 0."""
        items = _list(self.values.get(field))
        return [item if isinstance(item, Quantity) else Quantity(0) for item in items]

    def part(self, field: str) -> Part | None:
        """Return a structure, None when it is not set."""
        value = self.values.get(field)
        return value if isinstance(value, Part) else None

    def below(self, *fields: str) -> Part:
        """Return the structure at `fields`, an empty one where there is none."""
        found = self
        for field in fields:
            found = found.part(field) or Part(found.at(field))
        return found

    def parts(self, field: str) -> list[Part]:
        """Return a list of structures."""
        return [item for item in _list(self.values.get(field)) if isinstance(item, Part)]

    def count(self, field: str) -> int:
        """Return how many entries a list or map has."""
        value = self.values.get(field)
        return len(value) if isinstance(value, list | dict) else 0

    def entries(self, field: str) -> dict[str, object]:
        """Return a map."""
        value = self.values.get(field)
        return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def read(
    value: Value,
    structure: str,
    path: Path,
    report: Report,
    explain: Callable[[Unknown], bool],
) -> Part:
    """Return `value` as `structure`; report what cannot be decoded.

    `explain` is shown every unknown field first and returns whether it reported it.
    """
    return _Reader(report, explain).structure(value, structure, path)


class _Reader:
    """One reading."""

    def __init__(self, report: Report, explain: Callable[[Unknown], bool]) -> None:
        self.report = report
        self.explain = explain
        self.version = report.manifest.api_version.rpartition("/")[2]

    def structure(self, value: Value, structure: str, path: Path) -> Part:
        part = Part(path)
        if not isinstance(value, dict):
            if value is not None:
                self.wrong_type(path, value, f"an object ({structure})")
            return part
        known = fields_of(structure, self.version, self.report.profile)
        for name, item in value.items():
            field = known.get(name)
            if field is None:
                if structure not in OPEN:
                    part.unknown.append(name)
                    self.unknown(Unknown((*path, name), structure, known, item))
                continue
            if item is None:
                continue
            profile = self.report.profile
            missing = [gate for gate in field.gate if not profile.enabled(gate)]
            kept = not missing or profile.minor < field.kept_before
            if missing and item not in ([], {}, ""):
                self.dropped((*path, name), missing, kept=kept)
            read = self.value(item, field.type, (*path, name))
            if kept:
                part.values[name] = read
        return part

    def value(self, value: Value, written: str, path: Path) -> object:
        if written.startswith("[]"):
            if not isinstance(value, list):
                return self.wrong_type(path, value, "a list")
            return [self.item(item, written[2:], (*path, at)) for at, item in enumerate(value)]
        if written.startswith("map[]"):
            if not isinstance(value, dict):
                return self.wrong_type(path, value, "a mapping")
            inner = written[5:]
            return {key: self.item(item, inner, (*path, key)) for key, item in value.items()}
        if written in STRUCTURES:
            return self.structure(value, written, path)
        return self.scalar(value, written, path)

    def scalar(self, value: Value, written: str, path: Path) -> object:
        if written in {"any", "raw"}:
            return value
        if written == "quantity":
            return self.quantity(value, path)
        if written == "time":
            return self.time(value, path)
        if written == "int64":
            return self.integer(value, path)
        if isinstance(value, str if written == "string" else bool):
            return value
        return self.wrong_type(path, value, _EXPECTED[written])

    def integer(self, value: Value, path: Path) -> object:
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # kubectl writes 2.0 as 2
        if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
            return value
        return self.wrong_type(path, value, "a whole number of 64 bits")

    def item(self, value: Value, written: str, path: Path) -> object:
        if value is None:  # as in Go: the zero value of the type
            return Part(path) if written in STRUCTURES else ""
        return self.value(value, written, path)

    def quantity(self, value: Value, path: Path) -> object:
        text = value if isinstance(value, str) else _json_text(value)
        try:
            return Quantity.parse(text)
        except InputError as error:
            self.report.add(
                "LNT051" if text.rstrip().endswith("K") else "LNT002",
                "error",
                path,
                f"{text_of(path)}: Invalid value: {_shown(value)}: {error.message}",
                fix=error.fix,
            )
            self.report.broken(path)
            return None

    def time(self, value: Value, path: Path) -> object:
        if isinstance(value, str) and _TIME.fullmatch(value):
            return value
        return self.wrong_type(path, value, "a time such as 2026-01-31T12:00:00Z (RFC 3339)")

    def wrong_type(self, path: Path, value: Value, expected: str) -> object:
        found = _kind_of(value)
        self.report.add(
            "LNT002",
            "error",
            path,
            f"{text_of(path) or 'object'}: cannot unmarshal {found} {_shown(value)}: must be "
            f"{expected}",
            fix=_retyped(value, expected),
        )
        self.report.broken(path)
        return None

    def dropped(self, path: Path, gates: list[str], *, kept: bool) -> None:
        profile = self.report.profile
        which = " and ".join(gates)
        does = "stores this field and does nothing with it" if kept else "drops this field"
        self.report.add(
            "LNT012",
            "warning",
            path,
            f"{text_of(path)}: Kubernetes {profile.kubernetes} {does}: feature gate {which} is off",
            fix=f"turn on {which}, or lint for the version that you run: --kubernetes, "
            "--feature-gates",
            at_key=True,
        )

    def unknown(self, unknown: Unknown) -> None:
        if not self.explain(unknown):
            self.report.add(
                "LNT001",
                "error",
                unknown.path,
                f'unknown field "{text_of(unknown.path)}"',
                at_key=True,
            )


_EXPECTED: Final = {"string": "a string", "bool": "true or false"}


def _kind_of(value: Value) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object" if isinstance(value, dict) else "null"


def _shown(value: Value) -> str:
    """Return a scalar as it is; of a container only that it is one."""
    if isinstance(value, dict | list):
        return f"with {len(value)} entries"
    return f'"{value}"' if isinstance(value, str) else _json_text(value)


def _json_text(value: Value) -> str:
    import json

    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return str(int(value))
    return json.dumps(value)[:600] if not isinstance(value, dict | list) else "{}"


def _retyped(value: Value, expected: str) -> str:
    if expected == "a string" and isinstance(value, int | float | bool):
        return f'put it in quotes: "{_json_text(value)}"'
    if expected.startswith("a whole number") and isinstance(value, str) and value.isdecimal():
        return f"without quotes: {value}"
    if expected == "a list" and isinstance(value, dict):
        return "start the item with - "
    return ""
