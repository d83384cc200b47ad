"""The string library (cel-go ext/strings.go, version 2) and the regex library of Kubernetes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.dra.cel.meter import LIMIT_EXCEEDED
from claimfit.dra.cel.printing import text
from claimfit.dra.cel.regular_expressions import compiled
from claimfit.dra.cel.values import EvalError, Panic

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.cel.values import Value


__all__ = ["BOUND"]

_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_LONGEST: Final = 50_000_000
"""Characters of one string; building one costs more than any evaluation may."""

_UPPER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_LOWER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_QUOTED: Final = {
    ord(char): f"\\{name}" for char, name in zip('\a\b\f\n\r\t\v\\"', 'abfnrtv\\"', strict=True)
}


def _out_of_range(index: int) -> EvalError:
    return EvalError(f"index out of range: {index}")


def _char_at(string: str, index: int) -> Value:
    if not 0 <= index <= len(string):
        raise _out_of_range(index)
    return string[index : index + 1]


def _index_of(string: str, part: str, offset: int = 0) -> Value:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return string.find(part, offset) if offset < len(string) else -1


def _last_index_of(string: str, part: str) -> Value:
    return string.rfind(part) if part else len(string)


def _last_index_of_from(string: str, part: str, offset: int) -> Value:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    if offset >= len(string):
        return -1
    return string.rfind(part, 0, offset + len(part))


def _replace(string: str, old: str, new: str, count: int = -1) -> Value:
    places = string.count(old) if count < 0 else min(count, string.count(old))
    longest = len(string) + places * max(len(new) - len(old), 0)
    if longest > _LONGEST:
        raise Panic("a string of %s characters is not built", longest)
    if count < 0:
        return string.replace(old, new)
    return string.replace(old, new, count)


def _split(string: str, separator: str, count: int = -1) -> Value:
    if count == 0:
        return []
    parts = string.split(separator) if separator else list(string)
    if 0 < count < len(parts):
        joined = separator.join(parts[count - 1 :])
        parts = [*parts[: count - 1], joined]
    return [*parts]


def _substring(string: str, start: int) -> Value:
    if not 0 <= start <= len(string):
        raise _out_of_range(start)
    return string[start:]


def _substring_range(string: str, start: int, end: int) -> Value:
    if start > end:
        raise EvalError("invalid substring range. start: %s, end: %s", start, end)
    if not 0 <= start <= len(string):
        raise _out_of_range(start)
    if not 0 <= end <= len(string):
        raise _out_of_range(end)
    return string[start:end]


def _join(parts: list[Value], separator: str = "") -> Value:
    longest = len(parts) * len(separator)
    for part in parts:
        if not isinstance(part, str):
            raise EvalError("join: invalid input: %s", text(part))
        longest += len(part)
    if longest > _LONGEST:
        raise Panic(LIMIT_EXCEEDED)  # each character costs a fifth
    return separator.join(map(str, parts))


def _quote(string: str) -> Value:
    return f'"{string.translate(_QUOTED)}"'


def _find(string: str, pattern: str) -> Value:
    try:
        match = compiled(pattern).search(string)
    except EvalError as problem:
        raise EvalError("Illegal regex: %s", problem.message) from None
    return match.group() if match else ""


def _find_all(string: str, pattern: str, count: int = -1) -> Value:
    try:
        matches = compiled(pattern).finditer(string)
    except EvalError as problem:
        raise EvalError("Illegal regex: %s", problem.message) from None
    found: list[Value] = []
    for match in matches:
        if len(found) == count:
            break
        found.append(match.group())
    return found


def _prefixed(method: Callable[[str, str], bool]) -> Callable[[Value, Value], Value]:
    def tested(string: Value, part: Value) -> Value:
        if not isinstance(string, str) or not isinstance(part, str):
            raise EvalError("no such overload")
        return method(string, part)

    return tested


UNGUARDED: Final[dict[str, Callable[..., Value]]] = {
    "contains_string": _prefixed(str.__contains__),
    "starts_with_string": _prefixed(str.startswith),
    "ends_with_string": _prefixed(str.endswith),
}
"""Overloads that check their operands themselves."""

BOUND: Final[dict[str, Callable[..., Value]]] = {
    "string_char_at_int": _char_at,
    "string_index_of_string": _index_of,
    "string_index_of_string_int": _index_of,
    "string_last_index_of_string": _last_index_of,
    "string_last_index_of_string_int": _last_index_of_from,
    "string_lower_ascii": lambda string: string.translate(_UPPER),
    "string_upper_ascii": lambda string: string.translate(_LOWER),
    "string_replace_string_string": _replace,
    "string_replace_string_string_int": _replace,
    "string_split_string": _split,
    "string_split_string_int": _split,
    "string_substring_int": _substring,
    "string_substring_int_int": _substring_range,
    "string_trim": lambda string: string.strip(_SPACE),
    "list_join": _join,
    "list_join_string": _join,
    "strings_quote": _quote,
    "string_find_string": _find,
    "string_find_all_string": _find_all,
    "string_find_all_string_int": _find_all,
}
"""What each overload does with operands of its types, by its name."""
