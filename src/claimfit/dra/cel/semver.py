"""Semantic versions as github.com/blang/semver/v4 reads them, which Kubernetes uses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from claimfit.dra.cel.go_text import quoted
from claimfit.dra.cel.values import EvalError, Opaque, no_such_overload

if TYPE_CHECKING:
    from claimfit.dra.cel.values import Value


__all__ = ["Semver"]

_DIGITS: Final = re.compile(r"[0-9]+", re.ASCII)
_ALPHANUMERIC: Final = re.compile(r"[0-9A-Za-z-]+", re.ASCII)
_UINT64: Final = 1 << 64


class Semver(Opaque):
    """A version: numbers, and what comes before the release; build metadata orders nothing."""

    __slots__ = ("build", "numbers", "prerelease")

    type_name: ClassVar[str] = "kubernetes.Semver"
    go_type: ClassVar[str] = "cel.Semver"
    hashable: ClassVar[bool] = False

    def __init__(
        self, numbers: tuple[int, int, int], prerelease: tuple[int | str, ...], build: str
    ) -> None:
        self.numbers = numbers
        self.prerelease = prerelease
        self.build = build

    @classmethod
    def parse(cls, text: str, *, normalize: bool = False) -> Semver:
        """Return the version that `text` writes; raises `EvalError` in the parser's words.

        With `normalize` a leading ``v``, leading zeros and missing minor and patch are accepted.
        """
        if normalize:
            text = _normalized(text)
        if not text:
            raise EvalError("Version string empty")
        parts = text.split(".", 2)
        if len(parts) != 3:
            raise EvalError("No Major.Minor.Patch elements found")
        major = _number(parts[0], "major", "Major")
        minor = _number(parts[1], "minor", "Minor")
        rest, plus, build = parts[2].partition("+")
        rest, dash, prerelease = rest.partition("-")
        patch = _number(rest, "patch", "Patch")
        identifiers = tuple(map(_prerelease, prerelease.split("."))) if dash else ()
        if plus:
            for one in build.split("."):
                _build(one)
        return cls((major, minor, patch), identifiers, build)

    def compare(self, other: Semver) -> int:
        """Return -1, 0 or 1 by precedence."""
        if self.numbers != other.numbers:
            return 1 if self.numbers > other.numbers else -1
        if not self.prerelease or not other.prerelease:
            return (not self.prerelease) - (not other.prerelease)
        for mine, theirs in zip(self.prerelease, other.prerelease, strict=False):
            if mine == theirs and type(mine) is type(theirs):
                continue
            if isinstance(mine, int) != isinstance(theirs, int):
                return -1 if isinstance(mine, int) else 1
            return 1 if mine > theirs else -1  # type: ignore[operator]  # both of one type
        lengths = len(self.prerelease), len(other.prerelease)
        return (lengths[0] > lengths[1]) - (lengths[0] < lengths[1])

    def equals(self, other: Value) -> bool:
        """Whether the precedence is the same."""
        if not isinstance(other, Semver):
            raise no_such_overload()
        return self.compare(other) == 0

    def __str__(self) -> str:
        text = ".".join(map(str, self.numbers))
        if self.prerelease:
            text += f"-{'.'.join(map(str, self.prerelease))}"
        return f"{text}+{self.build}" if self.build else text


def _number(text: str, name: str, capital: str) -> int:
    if not _DIGITS.fullmatch(text) and text:
        raise EvalError("Invalid character(s) found in %s number %s", name, quoted(text))
    if len(text) > 1 and text.startswith("0"):
        raise EvalError("%s number must not contain leading zeroes %s", capital, quoted(text))
    return _uint64(text)


def _uint64(text: str) -> int:
    if not text:
        raise EvalError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) >= _UINT64:
        raise EvalError("strconv.ParseUint: parsing %s: value out of range", quoted(text))
    return int(text)


def _prerelease(text: str) -> int | str:
    if not text:
        raise EvalError("Prerelease is empty")
    if _DIGITS.fullmatch(text):
        if len(text) > 1 and text.startswith("0"):
            raise EvalError(
                "Numeric PreRelease version must not contain leading zeroes %s", quoted(text)
            )
        return _uint64(text)
    if not _ALPHANUMERIC.fullmatch(text):
        raise EvalError("Invalid character(s) found in prerelease %s", quoted(text))
    return text


def _build(text: str) -> None:
    if not text:
        raise EvalError("Build meta data is empty")
    if not _ALPHANUMERIC.fullmatch(text):
        raise EvalError("Invalid character(s) found in build meta data %s", quoted(text))


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for place, part in enumerate(parts):
        if len(part.encode()) > 1:
            stripped = part.lstrip("0")
            if not stripped or not ("0" <= stripped[0] <= "9"):
                stripped = f"0{stripped}"
            parts[place] = stripped
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise EvalError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)
