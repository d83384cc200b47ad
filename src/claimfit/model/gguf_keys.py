"""Typed access to the keys of a GGUF model, in the namespace of its architecture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from claimfit.errors import InputError

if TYPE_CHECKING:
    from claimfit.model.gguf_split import GgufModel

__all__ = ["Keys", "wrong_key"]

_LARGEST: Final = 2**31 - 1  # llama.cpp keeps hyperparameters in 32 bits


class Keys:
    """The keys of one model. Methods take names without the architecture: ``block_count``."""

    def __init__(self, model: GgufModel) -> None:
        self.file = model.files[0]
        self._values = model.values
        self._lengths = model.array_lengths
        self.architecture = self.text("general.architecture")
        if not self.architecture:
            raise InputError(
                "GGU020",
                "the file does not say which architecture it is",
                place=f"{self.file}: general.architecture",
            )

    def name(self, key: str) -> str:
        """Return `key` with its namespace."""
        return f"{self.architecture}.{key}"

    def text(self, full_name: str) -> str:
        """Return a text by its full name; empty when it is absent or no text."""
        value = self._values.get(full_name)
        return value if isinstance(value, str) else ""

    def general_count(self, full_name: str) -> int | None:
        """Return a number by its full name; None when it is absent.

        Raises:
            InputError: GGU021 when it is no usable count.
        """
        value = self._values.get(full_name)
        return None if value is None else self._checked(full_name, value)

    def array_length(self, full_name: str) -> int | None:
        """Return the length of an array by its full name; None when there is none."""
        return self._lengths.get(full_name)

    def has(self, key: str) -> bool:
        """Return whether `key` is there."""
        return self.name(key) in self._values

    def count(self, key: str, default: int | None = None) -> int:
        """Return `key` as a whole number from 0; `default` when it is absent.

        Raises:
            InputError: GGU020 when it is absent without default, GGU021 when it is no such number.
        """
        full_name = self.name(key)
        value = self._values.get(full_name)
        if value is None:
            if default is None:
                self._missing(full_name)
            return default
        return self._checked(full_name, value)

    def positive(self, key: str) -> int:
        """Return `key` as a number from 1.

        Raises:
            InputError: GGU020 when it is absent, GGU021 when it is no such number.
        """
        value = self.count(key)
        if value == 0:
            raise wrong_key(self.file, self.name(key), 0, "a number from 1")
        return value

    def per_layer(self, key: str, layers: int, default: int | None = None) -> tuple[int, ...]:
        """Return `key` for each of `layers` layers: one number for all, or an array of them.

        Raises:
            InputError: GGU020 when it is absent without default, GGU021 when it is neither.
        """
        full_name = self.name(key)
        value = self._values.get(full_name)
        if not isinstance(value, tuple):
            return (self.count(key, default),) * layers
        if len(value) != layers:
            expected = f"one number, or {layers} for {layers} layers"
            raise wrong_key(self.file, full_name, f"{len(value)} numbers", expected)
        return tuple(self._checked(full_name, item, truth=True) for item in value)

    def flag(self, key: str) -> bool | None:
        """Return `key` as a truth value; None when it is absent.

        Raises:
            InputError: GGU021 when it is something else.
        """
        value = self._values.get(self.name(key))
        if value is None or isinstance(value, bool):
            return value
        raise wrong_key(self.file, self.name(key), value, "true or false")

    def is_array(self, key: str) -> bool:
        """Return whether `key` holds an array of numbers or truth values."""
        return isinstance(self._values.get(self.name(key)), tuple)

    def _checked(self, full_name: str, value: object, *, truth: bool = False) -> int:
        usable = isinstance(value, int) and (truth or not isinstance(value, bool))
        if not usable or not 0 <= value <= _LARGEST:  # type: ignore[operator]  # `usable`: an int
            raise wrong_key(self.file, full_name, value, f"a whole number from 0 to {_LARGEST}")
        return int(value)  # type: ignore[call-overload,no-any-return]  # as above

    def _missing(self, full_name: str) -> NoReturn:
        raise InputError(
            "GGU020",
            "the file lacks a fact that sizing needs",
            place=f"{self.file}: {full_name}",
            fix="convert the model again with a current convert_hf_to_gguf.py",
        )


def wrong_key(file: str, full_name: str, found: object, expected: str) -> InputError:
    """Return the error for a key whose value cannot be right."""
    return InputError(
        "GGU021",
        "the key has an unusable value",
        place=f"{file}: {full_name}",
        found=found,
        expected=expected,
    )
