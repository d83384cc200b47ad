"""Hooks for the standard library's JSON decoder: no repeated key, no number that differs by reader.

RFC 8259 leaves both to the reader; the API server refuses them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from claimfit.errors import InputError
from claimfit.manifests.scalars import UNSIGNED_64

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.manifests.reader import Value

__all__ = ["DuplicateKey", "JsonObjects"]


class DuplicateKey(Exception):  # noqa: N818  # a signal to the reader, never seen outside
    """The JSON text repeats a key."""


class JsonObjects:
    """Builds the objects of one JSON text; a number that is refused (MAN008) is named by its field.

    The standard library hands over a number before its key: what is wrong waits for the object
    around it, which comes next.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._refused: list[tuple[str, str]] = []

    def object(self, pairs: list[tuple[str, Value]]) -> dict[str, Value]:
        """Return the object of `pairs`; raises `DuplicateKey`."""
        if self._refused:
            self.check([key for key, value in pairs if _holds_refused(value)])
        result = dict(pairs)
        if len(result) != len(pairs):
            raise DuplicateKey
        return result

    def constant(self, name: str) -> float:
        """Refuse NaN and Infinity, which JSON does not have."""
        return self._refuse("not a JSON number", name)

    def integer(self, digits: str) -> int | float:
        """Return an integer of at most 64 bits, roughly; the field decides about the rest."""
        if len(digits) > len(str(UNSIGNED_64)):
            return self._refuse("integer beyond 64 bits", digits)
        return int(digits)

    def number(self, digits: str) -> float:
        """Return a number that a float can hold."""
        number = float(digits)
        return number if math.isfinite(number) else self._refuse("number too large", digits)

    def _refuse(self, why: str, found: str) -> float:
        self._refused.append((why, found))
        return math.nan

    def check(self, keys: Sequence[str] = ()) -> None:
        """Raise MAN008 for what was refused; `keys` of the object hold it."""
        if self._refused:
            why, found = self._refused[0]
            place = f"{self._place}: {keys[0]}" if keys else self._place
            raise InputError("MAN008", why, place=place, found=found, expected="an int64 or double")


def _holds_refused(value: Value) -> bool:
    """Return whether `value` is or directly holds a refused number: the only NaN there can be."""
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, float) and math.isnan(item) for item in items)
