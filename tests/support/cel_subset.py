"""Evaluates the CEL that claimfit writes, by turning it into Python with CEL's look-up errors.

Only what `claimfit.claim.selector` may write is understood. `&&` and `||` are evaluated from left
to right and stop early, which is stricter than CEL: an error that CEL would absorb is raised here,
so an expression that never raises has its guards before what they guard.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TOKENS = re.compile(r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(&&|\|\||!(?!=)|\btrue\b)")
PYTHON = {"&&": " and ", "||": " or ", "!": " not ", "true": "True"}


class Names:
    """An inner map: looking up what is not there is an error, in CEL and here."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __getattr__(self, name: str) -> Any:
        return self._values[name]


class Domains:
    """An outer map: an unknown domain is an empty inner map."""

    def __init__(self, values: Mapping[str, Any], driver: str) -> None:
        self._domains: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            domain, slash, bare = name.partition("/")
            key = (domain, bare) if slash else (driver, name)
            self._domains.setdefault(key[0], {})[key[1]] = value

    def __getitem__(self, domain: str) -> Names:
        return Names(self._domains.get(domain, {}))


class Amount:
    """A quantity with the one method that is used."""

    def __init__(self, text: str) -> None:
        self.value = Quantity.parse(text)

    def compareTo(self, other: Amount) -> int:  # the CEL name
        """Return -1, 0 or 1."""
        return (self.value > other.value) - (self.value < other.value)


class Device:
    """The variable `device`."""

    def __init__(
        self, driver: str, attributes: Mapping[str, Any], capacities: Mapping[str, str]
    ) -> None:
        self.driver = driver
        self.attributes = Domains(attributes, driver)
        self.capacity = Domains({name: Amount(text) for name, text in capacities.items()}, driver)


def conjuncts(expression: str) -> list[str]:
    """Return the parts of `expression` between top-level ``&&``, string literals respected."""
    depth, start, parts = 0, 0, []
    for at, char in outside_strings(expression):
        depth += (char in "([") - (char in ")]")
        if depth == 0 and expression.startswith("&&", at):
            parts.append(expression[start:at].strip())
            start = at + 2
    return [*parts, expression[start:].strip()]


def outside_strings(text: str) -> Iterator[tuple[int, str]]:
    """Yield (position, character) for what is in no string literal."""
    quote, skip = "", False
    for at, char in enumerate(text):
        if skip:
            skip = False
        elif quote:
            skip = char == "\\"
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        else:
            yield at, char


def selects(
    expression: str, driver: str, attributes: Mapping[str, Any], capacities: Mapping[str, str]
) -> bool:
    """Return whether `expression` matches the device; KeyError is CEL's "no such key"."""
    python = TOKENS.sub(lambda found: found[1] or PYTHON[found[2]], expression)
    names = {"device": Device(driver, attributes, capacities), "quantity": Amount}
    result = eval(python, {"__builtins__": {}}, names)
    assert isinstance(result, bool)
    return result
