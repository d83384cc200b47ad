"""Tokens of CEL, as the grammar of cel-go (parser/gen/CEL.g4) cuts them.

The longest token wins, and what fits no token is reported and skipped, one character past the place
where the text stopped being the start of a token, as the generated lexer does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.dra.cel.source import Issue

if TYPE_CHECKING:
    from claimfit.dra.cel.source import Source


__all__ = ["END", "Token", "tokens"]

END: Final = "<EOF>"


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: the sign itself, a keyword, or IDENTIFIER, ESC_IDENTIFIER, NUM_INT, NUM_UINT,
            NUM_FLOAT, STRING, BYTES, `END`.
        text: as written.
        offset: of its first code point.
    """

    kind: str
    text: str
    offset: int

    @property
    def stop(self) -> int:
        """The offset after the last code point."""
        return self.offset + (0 if self.kind == END else len(self.text))


_ESCAPE: Final = (
    r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}"""
    r"""|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
)
_STRING: Final = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""'
    rf"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"'
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
    r'|[rR]""".*?"""'
    r"|[rR]'''.*?'''"
    r'|[rR]"[^"\n\r]*"'
    r"|[rR]'[^'\n\r]*'"
)
_TOKEN: Final = re.compile(
    rf"""
    (?P<SPACE>[\t \r\n\f]+|//[^\n]*)
  | (?P<STRING>{_STRING.replace("#", "[#]")})
  | (?P<BYTES>[bB](?:{_STRING}))
  | (?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+
      |\.[0-9]+(?:[eE][+-]?[0-9]+)?)
  | (?P<NUM_UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
  | (?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)
  | (?P<IDENTIFIER>[a-zA-Z_][a-zA-Z0-9_]*)
  | (?P<ESC_IDENTIFIER>`[a-zA-Z0-9_.\-/\ ]+`)
  | (?P<SIGN>==|!=|<=|>=|&&|\|\||[<>\[\]{{}}().,\-!?:+*/%])
    """,
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS: Final = frozenset(("in", "true", "false", "null"))
_INCOMPLETE: Final = re.compile(
    rf"""
    "(?:{_ESCAPE}|[^\\"\n\r])*
  | '(?:{_ESCAPE}|[^\\'\n\r])*
  | `[a-zA-Z0-9_.\-/\ ]*
  | [=&|]
    """,
    re.VERBOSE | re.DOTALL,
)
_INCOMPLETE_ESCAPE: Final = re.compile(
    r"\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?"
)


def tokens(source: Source, issues: list[Issue]) -> list[Token]:
    """Return the tokens of `source`, `END` last; what is no token is added to `issues`."""
    text = source.text
    found: list[Token] = []
    match = _TOKEN.match
    at = 0
    while at < len(text):
        hit = match(text, at)
        if hit is None:
            stop = _stuck(text, at)
            bad = text[at : stop + 1]
            message = f"Syntax error: token recognition error at: '{bad}'"
            issues.append(Issue(source.location(at), message))
            at = stop + 1
            continue
        kind = hit.lastgroup or ""
        if kind != "SPACE":
            word = hit.group()
            if kind == "SIGN" or (kind == "IDENTIFIER" and word in _KEYWORDS):
                kind = word
            found.append(Token(kind, word, at))
        at = hit.end()
    found.append(Token(END, END, len(text)))
    return found


def _stuck(text: str, at: int) -> int:
    """Return the offset of the character at which `text` from `at` cannot become a token."""
    begun = _INCOMPLETE.match(text, at)
    if begun is None:
        return at
    stop = begun.end()
    if text[at] in "\"'":
        escape = _INCOMPLETE_ESCAPE.match(text, stop)
        if escape is not None:
            stop = escape.end()
    return stop
