"""Reads JSON that a stranger wrote: strictly, with one error for all that can be wrong with it.

The standard library takes what JSON forbids or what no reader of configurations expects: NaN and
Infinity, a key given twice (the last wins), integers of any length, floats that overflow to
infinity, nesting until the interpreter's recursion limit. Here each is an `InputError` of the code
that the caller gives.
"""

from __future__ import annotations

import json
import math
from typing import Final

from claimfit.errors import InputError

__all__ = ["read_json_object"]

_LONGEST_INTEGER: Final = 20  # characters of -2**63 and of 2**64


class _RefusedError(ValueError):
    """What the hooks raise; a `ValueError`, as the json module itself raises for bad text."""

    def __init__(self, *, found: str) -> None:
        super().__init__(found)


def read_json_object(raw: bytes, *, code: str, place: str) -> dict[str, object]:
    """Return the object that `raw` holds.

    Raises:
        InputError: `code` at `place` when it is no JSON object, not UTF-8, has a key twice, a
            number that is not finite or beyond 64 bits, or nests too deeply.
    """
    try:
        document = json.loads(
            raw.decode("utf-8-sig"),
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_number,
            parse_constant=_constant,
        )
    except UnicodeDecodeError as error:
        raise _error(code, place, f"not UTF-8: {error.reason} at byte {error.start}") from error
    except RecursionError as error:
        raise _error(code, place, "nested too deeply") from error
    except json.JSONDecodeError as error:
        raise _error(code, f"{place}:{error.lineno}:{error.colno}", error.msg) from error
    except _RefusedError as error:
        raise _error(code, place, str(error)) from error
    if not isinstance(document, dict):
        raise _error(code, place, f"a {type(document).__name__} instead of an object")
    return document


def _error(code: str, place: str, found: str) -> InputError:
    return InputError(
        code, "not a usable JSON object", place=place, found=found, expected="one JSON object"
    )


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RefusedError(found=f"the key {key!r} twice")
            seen.add(key)
    return found


def _integer(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        raise _RefusedError(found=f"an integer of {len(text)} digits")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        shown = text[:_LONGEST_INTEGER]
        raise _RefusedError(found=f"the number {shown}, beyond what a float holds")
    return value


def _constant(text: str) -> object:
    raise _RefusedError(found=f"{text}, which JSON does not have")
