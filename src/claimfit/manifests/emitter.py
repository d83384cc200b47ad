"""Writes YAML and JSON documents whose every byte is decided here.

Why not PyYAML's dumper: a claim carries comments and a CEL expression with one conjunct per line,
which it cannot write, and importing it costs more than the whole of ``claimfit claim``.

A string is written plain only when it is made of a closed set of characters and no YAML reader,
1.1 (kubectl) or 1.2, could take it for anything but that string; every other one is double-quoted,
with escapes for whatever is not printable. Names of models come from anywhere: no name can add a
line, a key or a comment, or move the cursor of a terminal.
"""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Final

from claimfit.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Self, TypeAlias

    Value: TypeAlias = "Mapping[str, Value] | Sequence[Value] | str | int | bool | None"
    """What a manifest is made of: no floats, whose notation YAML readers disagree on."""
    JsonValue: TypeAlias = (
        "Mapping[str, JsonValue] | Sequence[JsonValue] | str | int | float | bool | None"
    )

__all__ = ["Folded", "Quoted", "comment_lines", "json_text", "one_line", "yaml_text"]

_LONGEST_KEY: Final = 512
"""YAML readers stop looking for the colon of a key after 1024 characters; escapes double it."""

# Plain scalars: a letter, `_` or `/` first, then characters that no YAML version gives a meaning
# inside a scalar. A colon or a space must have one of them behind it, so
# that neither `: ` nor ` #` can arise.
_PLAIN: Final = r"[A-Za-z_/](?:[A-Za-z0-9_./@+()=-]|[ :](?=[A-Za-z0-9_./(]))*"
# Kubernetes quantities with a binary or metric suffix. `E` and `e` are left out: readers differ on
# exponents. No other text that starts with a digit, a sign or a dot is written plain.
_PLAIN_QUANTITY: Final = r"[1-9][0-9]*(?:[KMGTP]i|[kMGTPm])"
# Booleans and nulls of YAML 1.1 and 1.2 in every case, and words some readers take for floats.
_RESERVED: Final = frozenset(
    ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "infinity", "nan")
)
_JSON_WIDTH: Final = 120
_SHORT_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# What json.dumps leaves raw although a terminal or a line-based reader would act on it: C1
# controls, soft hyphen, zero-width and bidirectional marks, line separators, lone surrogates.
_UNPRINTABLE_IN_JSON: Final = (
    "[\x7f-\xa0\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\ufeff\ud800-\udfff]"
)
# Patterns are compiled where they are first used: compiling all of them takes 1 ms of every start.


class Folded(str):
    """A string that is written over several lines, which read back joined by single spaces.

    Used for CEL: one conjunct per line.
    """

    __slots__ = ("lines",)

    lines: tuple[str, ...]

    def __new__(cls, lines: Iterable[str]) -> Self:
        """Return the string that `lines` make."""
        kept = tuple(lines)
        text = super().__new__(cls, " ".join(kept))
        text.lines = kept
        return text


class Quoted(str):
    """A string that is written in quotes even where none are needed."""

    __slots__ = ()


def yaml_text(document: Mapping[str, Value], comments: Iterable[str] = ()) -> str:
    """Return `document` as YAML under `comments`, one comment line each.

    Keys keep their order. Raises `InputError` MAN090 for a key over 512 characters, which is no
    valid name in any Kubernetes object.
    """
    lines = [*comment_lines(comments), *_mapping_lines(document, "")]
    return "\n".join(lines) + "\n"


def json_text(document: Mapping[str, JsonValue]) -> str:
    """Return `document` as JSON; keys keep their order, text stays readable.

    Lists and objects without others inside are on one line where they fit; the rest is indented.
    """
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    text = _json(document, "", encode) + "\n"
    if text.isascii() and "\x7f" not in text:
        return text
    return re.sub(_UNPRINTABLE_IN_JSON, lambda found: f"\\u{ord(found[0]):04x}", text)


def _json(value: JsonValue, indent: str, encode: Callable[[object], str]) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if not isinstance(value, (dict, list, tuple)) or not value:
        return encode(value)
    members = value.values() if isinstance(value, dict) else value
    if not any(isinstance(item, (dict, list, tuple)) for item in members):
        flat = encode(value)
        if len(indent) + len(flat) <= _JSON_WIDTH:
            return flat
    inner = indent + "  "
    if isinstance(value, dict):
        items = [
            f"{inner}{encode_basestring(key)}: {_json(item, inner, encode)}"
            for key, item in value.items()
        ]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    items = [inner + _json(item, inner, encode) for item in value]
    return "[\n" + ",\n".join(items) + f"\n{indent}]"


def comment_lines(comments: Iterable[str]) -> Iterator[str]:
    """Yield each of `comments` as one YAML comment line, whatever characters it holds."""
    for comment in comments:
        yield f"# {one_line(comment)}".rstrip()


def one_line(text: str) -> str:
    """Return `text` with every character that is not printable escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _mapping_lines(mapping: Mapping[str, Value], indent: str) -> Iterator[str]:
    for key, value in mapping.items():
        if len(key) > _LONGEST_KEY:
            raise InputError(
                "MAN090",
                "key too long to be written",
                found=key,
                expected=f"at most {_LONGEST_KEY} characters",
            )
        yield from _entry_lines(f"{indent}{_scalar(key)}:", value, indent + "  ")


def _sequence_lines(items: Sequence[Value], indent: str) -> Iterator[str]:
    for item in items:
        if isinstance(item, (dict, list, tuple)) and item:
            nested = iter(_block_lines(item, indent + "  "))
            yield f"{indent}- {next(nested).lstrip()}"
            yield from nested
        else:
            yield from _entry_lines(f"{indent}-", item, indent + "  ")


def _block_lines(value: Mapping[str, Value] | Sequence[Value], indent: str) -> Iterator[str]:
    if isinstance(value, dict):
        return _mapping_lines(value, indent)
    return _sequence_lines(value, indent)  # type: ignore[arg-type]  # a list or tuple here


def _entry_lines(head: str, value: Value, indent: str) -> Iterator[str]:
    """Yield the lines of one key or dash `head` with its value; `indent` is for what is nested."""
    if isinstance(value, (dict, list, tuple)) and value:
        yield head
        yield from _block_lines(value, indent)
    elif isinstance(value, Folded) and _can_fold(value):
        yield f"{head} >-"
        for line in value.lines:
            yield f"{indent}{line}"
    else:
        yield f"{head} {_scalar(value)}"


def _can_fold(text: Folded) -> bool:
    """Return whether a folded scalar reads back as `text`: no space at the edge of any line."""
    fine = all(line and line == line.strip(" ") for line in text.lines)
    return bool(text.lines) and fine and text.isprintable()


def _scalar(value: Value) -> str:
    if isinstance(value, str):
        plain = _is_plain(value) and not isinstance(value, Quoted)
        return value if plain else _quoted(value)
    if value is None:
        return "null"
    if isinstance(value, int):  # bool too
        return str(value).lower()
    return "[]" if isinstance(value, (list, tuple)) else "{}"


def _is_plain(text: str) -> bool:
    if re.fullmatch(_PLAIN_QUANTITY, text, re.ASCII):
        return True
    return re.fullmatch(_PLAIN, text, re.ASCII) is not None and text.lower() not in _RESERVED


def _quoted(text: str) -> str:
    return '"' + "".join(_quoted_char(char) for char in text) + '"'


def _quoted_char(char: str) -> str:
    if char in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[char]
    return char if char.isprintable() else _escape(char)


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
