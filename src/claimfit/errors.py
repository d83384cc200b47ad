"""Every error that claimfit raises on purpose, in one tree.

::

    ClaimfitError
    ├── RequestError            exit 2: the question itself is wrong
    │   ├── UsageError          a flag or an argument (CLI...)
    │   ├── InputError          unreadable file, stream or reply (MAN, GGU, SAF, CFG, NET)
    │   ├── ModelError          unknown, ambiguous or incomplete model (MOD, QNT)
    │   ├── HardwareError       unknown accelerator, driver or driver file (HWD, DRV)
    │   └── SizingError         numbers that make no serving plan (SIZ...)
    ├── RefusedError            exit 1: a well-formed question whose answer is no
    │   ├── NotSatisfiableError nothing that is published fits (CLM...)
    │   └── InexpressibleError  the target driver publishes nothing to ask it with (CLM...)
    └── EnvironmentFailure      exit 3: cluster, network or machine (ENV, NET)

An error carries a stable code (three letters for the layer, three digits), the place, what was
found, what was expected and the fix. `claimfit.cli.failures` turns it into text, JSON and an exit
code; nothing else does. `docs/errors/` lists every code, a page for each prefix; a test proves it.

Why one module: a caller who wants to catch "anything claimfit refuses" imports one name, and no
layer needs to import another to raise its error.
"""

from __future__ import annotations

from typing import ClassVar, Final

__all__ = [
    "ClaimfitError",
    "EnvironmentFailure",
    "HardwareError",
    "InexpressibleError",
    "InputError",
    "ModelError",
    "NotSatisfiableError",
    "RefusedError",
    "RequestError",
    "SizingError",
    "UsageError",
]

_SHOWN_CHARACTERS: Final = 200
_LONGEST_TEXT: Final = 2000


class ClaimfitError(Exception):
    """Base of everything that claimfit raises on purpose.

    Attributes:
        code: stable identifier, such as ``MOD001``; never reused for another cause.
        message: one sentence, without place and fix.
        place: where: ``FILE:LINE:COLUMN``, a field path, a flag or an object; empty when there is
            nothing narrower than the command.
        found: what was there, made safe to print.
        expected: what would have been right.
        fix: what to do, or empty.
        candidates: near or possible answers, most likely first.
    """

    exit_code: ClassVar[int] = 2

    def __init__(
        self,
        code: str,
        message: str,
        *,
        place: str = "",
        found: object = None,
        expected: str = "",
        fix: str = "",
        candidates: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        # Every text may carry a name from an untrusted file: each becomes one bounded line.
        self.message = printable(message, _LONGEST_TEXT)
        self.place = printable(place, _LONGEST_TEXT)
        self.found = "" if found is None else printable(found)
        self.expected = printable(expected, _LONGEST_TEXT)
        self.fix = printable(fix, _LONGEST_TEXT)
        self.candidates = tuple(printable(item) for item in candidates)

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{self.code}: {where}{self.message}"

    def as_dict(self) -> dict[str, object]:
        """Return the error as the object that ``-o json`` prints under ``error``."""
        fields: dict[str, object] = {"code": self.code, "message": self.message}
        for name in ("place", "found", "expected", "fix"):
            value = getattr(self, name)
            if value:
                fields[name] = value
        if self.candidates:
            fields["candidates"] = list(self.candidates)
        return fields


class RequestError(ClaimfitError):
    """The question is wrong: bad flag, unreadable input, unknown name, impossible number."""


class UsageError(RequestError):
    """A flag or an argument is missing, unknown or out of range."""


class InputError(RequestError):
    """A file, stream or reply cannot be read as what it should be."""


class ModelError(RequestError):
    """The model is unknown, ambiguous or lacks a fact; or its quantization is unknown."""


class HardwareError(RequestError):
    """An accelerator or a driver is unknown, or its description is wrong."""


class SizingError(RequestError):
    """The numbers make no serving plan, such as a tensor-parallel size that splits no head."""


class RefusedError(ClaimfitError):
    """The question is well formed and the answer is no."""

    exit_code = 1


class NotSatisfiableError(RefusedError):
    """Nothing that is published or listed satisfies the need."""


class InexpressibleError(RefusedError):
    """The driver publishes nothing with which the need could be asked for."""


class EnvironmentFailure(ClaimfitError):  # noqa: N818  # a failure of the world, not of the question
    """The cluster, the network or the machine did not do its part."""

    exit_code = 3


def printable(value: object, longest: int = _SHOWN_CHARACTERS) -> str:
    """Return `value` as one line of at most `longest` characters, without control characters.

    Names and files are untrusted: a newline in a model name must not fake a second line of output.
    """
    text = value if isinstance(value, str) else repr(value)
    safe = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)
    if len(safe) > longest:
        return f"{safe[:longest]}... ({len(text)} characters)"
    return safe
