"""Typed, bounded reading of a configuration that nobody vouches for.

`Fields` answers "which number is under one of these names" and turns everything else (absent, null,
string, float, bool, negative, beyond any model) into an error that names the field, what was found
and how to give it. It also remembers where each answer came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from claimfit.errors import InputError

__all__ = ["LARGEST_COUNT", "Fields"]

LARGEST_COUNT: Final = 10**9
"""No size of any model is beyond it; the widest in use are vocabularies and contexts of 10**7."""

LARGEST_LIST: Final = 10_000
"""Items of the longest list that is read (layer kinds)."""


class Fields:
    """A mapping of configuration keys, with the defaults of its model type behind it."""

    __slots__ = ("_defaults", "_place", "_values", "prefix")

    def __init__(
        self,
        values: Mapping[str, object],
        *,
        place: str,
        prefix: str = "",
        defaults: Mapping[str, object] | None = None,
    ) -> None:
        """Read `values`, found at `place`; `prefix` is the path of `values` inside the file.

        `defaults` are what the model type's own code assumes for keys that a file leaves out.
        """
        self._values = values
        self._defaults = {} if defaults is None else defaults
        self._place = place
        self.prefix = prefix

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None or self._defaults.get(name) is not None

    def path(self, name: str) -> str:
        """Return `name` with the path that leads to it inside the file."""
        return f"{self.prefix}{name}"

    def source_of(self, *names: str) -> str:
        """Return the path of the first of `names` that is given, empty when none is."""
        for name in names:
            if self._values.get(name) is not None:
                return self.path(name)
            if self._defaults.get(name) is not None:
                return f"default of the model type for {name}"
        return ""

    def raw(self, *names: str) -> object:
        """Return the first value under `names` that is not null, whatever its type; else None."""
        for name in names:
            value = self._values.get(name)
            if value is not None:
                return value
        for name in names:
            value = self._defaults.get(name)
            if value is not None:
                return value
        return None

    def _named(self, names: tuple[str, ...]) -> str:
        for name in names:
            if self._values.get(name) is not None:
                return name
        return names[0]

    def count(self, *names: str, least: int = 1, most: int = LARGEST_COUNT) -> int:
        """Return the whole number under the first of `names` that is given.

        Raises:
            InputError: CFG001 when none is given, CFG002 when it is no whole number in the range.
        """
        value = self.raw(*names)
        if value is None:
            raise self.missing(names)
        return self._whole(value, names, least, most)

    def optional_count(
        self, *names: str, default: int = 0, least: int = 0, most: int = LARGEST_COUNT
    ) -> int:
        """Return the whole number under `names`, `default` when absent or null.

        Raises:
            InputError: CFG002 when it is no whole number in the range.
        """
        value = self.raw(*names)
        return default if value is None else self._whole(value, names, least, most)

    def count_at(self, layer: int, *names: str, least: int = 1, most: int = LARGEST_COUNT) -> int:
        """Return the whole number under `names`; of a list with an item for each layer, its own.

        Raises:
            InputError: CFG001 when none is given, CFG002 when it is no whole number in the range,
                CFG003 when the list is too short.
        """
        if not isinstance(self.raw(*names), list):
            return self.count(*names, least=least, most=most)
        name = self._named(names)
        values = self.counts(name, least=least, most=most) or []
        if layer >= len(values):
            raise self.contradiction(name, values, "a list with an item for each layer")
        return values[layer]

    def _whole(self, value: object, names: tuple[str, ...], least: int, most: int) -> int:
        # bool is an int in Python, never a count here; 32.0 is how some writers spell 32
        if isinstance(value, float) and value.is_integer() and abs(value) <= most:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.wrong(
                self._named(names), value, f"a whole number between {least:,} and {most:,}"
            )
        return value

    def number(self, *names: str, default: float, least: float = 0.0, most: float = 1e9) -> float:
        """Return the finite number under `names`, `default` when absent or null.

        Raises:
            InputError: CFG002 when it is no number in the range.
        """
        value = self.raw(*names)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(self._named(names), value, "a number")
        if not least <= value <= most:
            raise self.wrong(self._named(names), value, f"a number between {least:g} and {most:g}")
        return float(value)

    def flag(self, *names: str, default: bool) -> bool:
        """Return the boolean under `names`, `default` when absent or null.

        Raises:
            InputError: CFG002 when it is neither true nor false.
        """
        value = self.raw(*names)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(self._named(names), value, "true or false")
        return value

    def text(self, *names: str, default: str = "") -> str:
        """Return the string under `names`, `default` when absent or null.

        Raises:
            InputError: CFG002 when it is no string.
        """
        value = self.raw(*names)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.wrong(self._named(names), value, "a string")
        return value

    def items(self, *names: str) -> list[object] | None:
        """Return the list under `names`, None when absent or null.

        Raises:
            InputError: CFG002 when it is no list or longer than any model needs.
        """
        value = self.raw(*names)
        if value is None:
            return None
        if not isinstance(value, list | tuple) or len(value) > LARGEST_LIST:
            raise self.wrong(self._named(names), value, f"a list of at most {LARGEST_LIST:,} items")
        return list(value)

    def counts(self, *names: str, least: int = 0, most: int = LARGEST_COUNT) -> list[int] | None:
        """Return the list of whole numbers under `names`, None when absent or null.

        Raises:
            InputError: CFG002 when it is no list of whole numbers in the range.
        """
        values = self.items(*names)
        if values is None:
            return None
        return [self._whole(value, names, least, most) for value in values]

    def section(self, *names: str, defaults: Mapping[str, object] | None = None) -> Fields | None:
        """Return the mapping under `names` as fields of its own, None when absent or null.

        Raises:
            InputError: CFG002 when it is no mapping.
        """
        value = self.raw(*names)
        if value is None:
            return None
        name = self._named(names)
        if not isinstance(value, Mapping):
            raise self.wrong(name, value, "a mapping")
        return Fields(value, place=self._place, prefix=f"{self.path(name)}.", defaults=defaults)

    def required(self, name: str) -> Fields:
        """Return the mapping under `name`.

        Raises:
            InputError: CFG001 when it is absent or null, CFG002 when it is no mapping.
        """
        section = self.section(name)
        if section is None:
            raise self.missing((name,), "a mapping")
        return section

    def element(self, name: str, index: int) -> Fields:
        """Return the mapping at `index` of the list under `name`.

        Raises:
            InputError: CFG001 when there is no list, CFG002 when it is none or holds no mapping,
                CFG003 when it is too short.
        """
        items = self.items(name)
        if items is None:
            raise self.missing((name,), "a list with an item for each layer")
        if index >= len(items):
            raise self.contradiction(name, items, f"at least {index + 1} items")
        value = items[index]
        if not isinstance(value, Mapping):
            msg = f"{name}[{index}]"
            raise self.wrong(msg, value, "a mapping")
        return Fields(value, place=self._place, prefix=f"{self.path(name)}[{index}].")

    def with_defaults(self, defaults: Mapping[str, object]) -> Fields:
        """Return the same fields with `defaults` behind them."""
        return Fields(self._values, place=self._place, prefix=self.prefix, defaults=defaults)

    def missing(self, names: tuple[str, ...], expected: str = "a whole number") -> InputError:
        """Return the error that says `names` are absent or null (CFG001)."""
        first = self.path(names[0])
        others = f" (or {', '.join(names[1:])})" if len(names) > 1 else ""
        null = any(name in self._values for name in names)
        return InputError(
            "CFG001",
            f"{first} is {'null' if null else 'missing'}",
            place=self._place,
            found="null" if null else "nothing",
            expected=expected,
            fix=f"add {first}{others} to the model's configuration",
        )

    def wrong(self, name: str, value: object, expected: str) -> InputError:
        """Return the error that says the value of `name` is of the wrong kind (CFG002)."""
        return InputError(
            "CFG002",
            f"{self.path(name)} is not {expected}",
            place=self._place,
            found=_shown(value),
            expected=expected,
            fix=f"correct {self.path(name)} in the model's configuration",
        )

    def contradiction(self, name: str, found: object, expected: str) -> InputError:
        """Return the error that says `name` does not agree with the other fields (CFG003)."""
        return InputError(
            "CFG003",
            f"{self.path(name)} contradicts the other fields",
            place=self._place,
            found=_shown(found),
            expected=expected,
            fix=f"correct {self.path(name)} in the model's configuration",
        )

    def names(self) -> list[str]:
        """Return the keys in the order of the file."""
        return list(self._values)

    def unknown_method(self, name: str, found: object, candidates: tuple[str, ...]) -> InputError:
        """Return the error that says the quantization under `name` is not known (CFG005)."""
        return InputError(
            "CFG005",
            f"{self.path(name)} is no known quantization",
            place=self._place,
            found=_shown(found),
            expected="a quantization method that claimfit knows",
            fix="claimfit models --quants; a GGUF or safetensors file states exact bytes",
            candidates=candidates,
        )

    def unsupported(self, name: str, found: object, expected: str) -> InputError:
        """Return the error that says claimfit cannot size what `name` asks for (CFG004)."""
        return InputError(
            "CFG004",
            f"{self.path(name)} names something that claimfit does not size",
            place=self._place,
            found=_shown(found),
            expected=expected,
            fix="give a GGUF file or a configuration of a supported kind",
        )


def _shown(value: object) -> object:
    """Return `value` cut down before anything prints it: repr of a bomb is a bomb."""
    if isinstance(value, str):
        return value[:400]
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 400:
        return f"a whole number of {value.bit_length()} bits"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)} items"
    if isinstance(value, Mapping):
        return f"a mapping of {len(value)} keys"
    return value
