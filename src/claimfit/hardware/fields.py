"""Typed access to the objects of a user's document, every refusal with its place.

The limits on names are those of Kubernetes (k8s.io/api resource/v1): a DNS subdomain, and a C
identifier of at most 32 characters with an optional domain of at most 63.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, NoReturn, cast

from claimfit.errors import HardwareError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Where = Callable[[tuple[str | int, ...]], str]

__all__ = ["IDENTIFIER", "SUBDOMAIN", "WORD", "Fields", "dotted"]

SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
WORD: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")

_LONGEST_SELECTOR: Final = 10 * 1024  # bytes of one CEL expression, as the API server takes it
_LONGEST_TEXT: Final = 1024
_LARGEST: Final = 2**53 - 1  # the largest integer that every JSON reader keeps exact


def dotted(path: tuple[str | int, ...]) -> str:
    """Return `path` as people write it: classes[0].name."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]


class Fields:
    """One object of the document: typed access to its fields, every refusal with its place."""

    __slots__ = ("_path", "_value", "_where")

    def __init__(
        self, value: object, path: tuple[str | int, ...], where: Where, allowed: frozenset[str]
    ) -> None:
        self._path = path
        self._where = where
        if not isinstance(value, dict):
            self.wrong("", value, "an object with fields")
        self._value = value
        for key in value:
            if key not in allowed:
                self._unknown(key, allowed)

    def refuse(
        self, code: str, message: str, field: str, found: object = None, expected: str = ""
    ) -> NoReturn:
        """Raise `code` at `field`."""
        path = (*self._path, field) if field else self._path
        raise HardwareError(code, message, place=self._where(path), found=found, expected=expected)

    def wrong(self, field: str, found: object, expected: str) -> NoReturn:
        """Raise DRV005 at `field`."""
        self.refuse(
            "DRV005", f"wrong value{f' of {field}' if field else ''}", field, found, expected
        )

    def _unknown(self, key: object, allowed: frozenset[str]) -> NoReturn:
        from difflib import get_close_matches

        raise HardwareError(
            "DRV003",
            "unknown field",
            place=self._where(self._path),
            found=key,
            expected="one of " + ", ".join(sorted(allowed)),
            candidates=tuple(get_close_matches(str(key)[:64], sorted(allowed))),
        )

    def has(self, field: str) -> bool:
        """Return whether `field` is there."""
        return field in self._value

    def get(self, field: str) -> object:
        """Return the value of `field` as it is, None when absent."""
        return self._value.get(field)

    def text(self, field: str, default: str | None = None, limit: int = _LONGEST_TEXT) -> str:
        """Return a text without control characters; `default` None means required."""
        value = self._value.get(field)
        if field not in self._value:
            if default is not None:
                return default
            self.refuse("DRV004", f"{field} is missing", "", expected=f"the field {field}")
        if not isinstance(value, str) or not value:
            self.wrong(field, value, "a text that is not empty")
        self.check_text(field, value, limit)
        return value

    def check_text(self, field: str, value: str, limit: int = _LONGEST_TEXT) -> None:
        """Refuse a text that is too long or holds control characters."""
        if len(value.encode("utf-8", "surrogatepass")) > limit:
            self.refuse("DRV009", f"{field} is too long", field, value, f"at most {limit} bytes")
        if any(not char.isprintable() and char != "\n" for char in value):
            self.wrong(field, value, "a text without control characters")

    def flag(self, field: str, *, default: bool) -> bool:
        """Return a boolean."""
        value = self._value.get(field, default)
        if not isinstance(value, bool):
            self.wrong(field, value, "true or false")
        return value

    def count(self, field: str, default: int | None = None, least: int = 0) -> int | None:
        """Return a whole number from `least` to 2**53 - 1, or `default` when absent."""
        if field not in self._value:
            return default
        value = self._value[field]
        if isinstance(value, bool) or not isinstance(value, int):
            self.wrong(field, value, "a whole number")
        if not least <= value <= _LARGEST:
            self.refuse("DRV009", f"{field} is out of range", field, value, f"{least} to 2^53 - 1")
        return value

    def amount(self, field: str) -> float | None:
        """Return a finite number above 0, or None when absent."""
        if field not in self._value:
            return None
        value = self._value[field]
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.wrong(field, value, "a number")
        if not 0 < value <= _LARGEST or not math.isfinite(value):
            self.refuse("DRV009", f"{field} is out of range", field, value, "a number above 0")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a list of different texts, empty when absent."""
        values = self.items(field)
        for index, value in enumerate(values):
            if not isinstance(value, str) or not value:
                self.wrong(f"{field}[{index}]", value, "a text that is not empty")
            self.check_text(field, value, _LONGEST_SELECTOR)
        texts = cast("list[str]", values)
        self.distinct(field, texts)
        return tuple(texts)

    def items(self, field: str) -> list[object]:
        """Return a list as it is, empty when absent."""
        value = self._value.get(field, [])
        if not isinstance(value, list):
            self.wrong(field, value, "a list")
        return value

    def objects(self, field: str, allowed: frozenset[str]) -> Iterator[Fields]:
        """Yield the objects of a list."""
        for index, value in enumerate(self.items(field)):
            yield Fields(value, (*self._path, field, index), self._where, allowed)

    def inner(self, field: str, allowed: frozenset[str]) -> Fields:
        """Return the object in `field`; absent means without fields."""
        return Fields(self._value.get(field, {}), (*self._path, field), self._where, allowed)

    def keys(self) -> tuple[str, ...]:
        """Return the names of the fields that are there."""
        return tuple(self._value)

    def distinct(self, field: str, values: Sequence[str]) -> None:
        """Refuse a value that comes twice."""
        seen: set[str] = set()
        for value in values:
            if value in seen:
                self.refuse("DRV008", f"{field} has an entry twice", field, value)
            seen.add(value)

    def name(self, field: str, value: str, pattern: re.Pattern[str], limit: int, form: str) -> str:
        """Return `value` if it is a name of the given form."""
        if len(value) > limit or not pattern.fullmatch(value):
            self.refuse(
                "DRV006", f"{field} is no {form}", field, value, f"a {form} of at most {limit}"
            )
        return value

    def qualified(self, field: str, value: str, own_domain: str) -> str:
        """Return an attribute or capacity name, bare when it is in the driver's own domain."""
        domain, slash, identifier = value.rpartition("/")
        if slash:
            self.name(field, domain, SUBDOMAIN, 63, "DNS subdomain")
        self.name(field, identifier, IDENTIFIER, 32, "C identifier")
        return identifier if domain == own_domain else value

    def one_of(self, field: str, value: str, names: Sequence[str], what: str) -> str:
        """Return `value` if it is one of `names`."""
        if value not in names:
            listed = ", ".join(names) or "none"
            self.refuse("DRV007", f"{field} names no {what}", field, value, f"one of: {listed}")
        return value
