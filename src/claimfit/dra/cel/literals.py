"""The values that string, bytes and number literals write."""

from __future__ import annotations

import re
from typing import Final

from claimfit.dra.cel.values import Uint

__all__ = []

LiteralValue = bool | int | Uint | float | str | bytes | None
"""What a literal can write."""

_INT64: Final = 1 << 63
_SIMPLE: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "`": "`",
    "?": "?",
}
_ESCAPE: Final = re.compile(r"\\(?:([0-3][0-7]{2})|[xX]([0-9a-fA-F]{2})|[uU]([0-9a-fA-F]+)|(.))")


class LiteralError(Exception):
    """A literal that the grammar accepts writes no value; the message says why."""


def string_literal(text: str) -> str:
    """Return the string that `text`, quotes and prefix included, writes."""
    raw, body = _body(text)
    if raw or "\\" not in body:
        return body
    return _ESCAPE.sub(_character, body)


def bytes_literal(text: str) -> bytes:
    """Return the bytes that `text` writes, its ``b`` included; ``\\x`` and octal write one byte."""
    raw, body = _body(text[1:])
    if raw or "\\" not in body:
        return body.encode()
    parts = bytearray()
    at = 0
    for escape in _ESCAPE.finditer(body):
        parts += body[at : escape.start()].encode()
        octal, hexadecimal, unicode, simple = escape.groups()
        if unicode:
            raise LiteralError("unable to unescape string")
        if simple:
            parts += _SIMPLE[simple].encode()
        else:
            parts.append(int(octal, 8) if octal else int(hexadecimal, 16))
        at = escape.end()
    parts += body[at:].encode()
    return bytes(parts)


def _body(text: str) -> tuple[bool, str]:
    """Return (whether raw, what stands between the quotes) with ``\\n`` line ends."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    width = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return raw, text[width:-width]


def _character(escape: re.Match[str]) -> str:
    octal, hexadecimal, unicode, simple = escape.groups()
    if simple:
        return _SIMPLE[simple]
    point = int(octal, 8) if octal else int(hexadecimal or unicode, 16)
    if point > 0x10FFFF or 0xD800 <= point < 0xE000:
        raise LiteralError("invalid unicode code point")
    return chr(point)


def int_literal(text: str) -> int:
    """Return the int that `text` writes, sign included; raises beyond 64 bits."""
    value = _whole(text.removeprefix("-"))
    if text.startswith("-"):
        value = -value
    if not -_INT64 <= value < _INT64:
        raise LiteralError("invalid int literal")
    return value


def uint_literal(text: str) -> Uint:
    """Return the uint that `text`, its ``u`` included, writes; raises beyond 64 bits."""
    value = _whole(text[:-1])
    if value >= _INT64 * 2:
        raise LiteralError("invalid uint literal")
    return Uint(value)


def _whole(digits: str) -> int:
    if digits.startswith("0x"):
        return int(digits, 0)
    significant = digits.lstrip("0") or "0"
    return int(significant) if len(significant) <= 20 else _INT64 * 4  # beyond is beyond


def double_literal(text: str) -> float:
    """Return the double nearest to what `text` writes; raises beyond the largest double."""
    value = float(text)
    if value in {float("inf"), float("-inf")}:
        raise LiteralError("invalid double literal")
    return value


def literal(kind: str, text: str) -> LiteralValue:
    """Return the value of a literal token."""
    if kind == "NUM_INT":
        return int_literal(text)
    if kind == "NUM_UINT":
        return uint_literal(text)
    if kind == "NUM_FLOAT":
        return double_literal(text)
    if kind == "STRING":
        return string_literal(text)
    if kind == "BYTES":
        return bytes_literal(text)
    return {"true": True, "false": False}.get(kind)
