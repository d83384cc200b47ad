"""Position of a parse in its tokens, and the messages about a token that is not expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from claimfit.dra.cel.lexer import END, tokens
from claimfit.dra.cel.source import NOWHERE, Issue, Location

if TYPE_CHECKING:
    from claimfit.dra.cel.lexer import Token
    from claimfit.dra.cel.source import Source

__all__ = ["Cursor", "SyntaxProblemError", "shown"]


class SyntaxProblemError(Exception):
    """The text is no CEL; the issue says where."""

    def __init__(self, issue: Issue) -> None:
        super().__init__(issue.message)
        self.issue = issue


class Cursor:
    """The tokens of `source` and the place of the one at hand; problems go into `issues`."""

    def __init__(self, source: Source, issues: list[Issue]) -> None:
        self.source = source
        self.issues = issues
        self.tokens = tokens(source, issues)
        self.at = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def peek(self, ahead: int = 1) -> str:
        place = min(self.at + ahead, len(self.tokens) - 1)
        return self.tokens[place].kind

    def take(self) -> Token:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def accept(self, kind: str) -> bool:
        if self.tokens[self.at].kind == kind:
            self.at += 1
            return True
        return False

    def expect(self, kind: str, after: frozenset[str], expected: str = "") -> Token:
        """Take the token `kind`; `after` is what may follow it here."""
        if self.token.kind == kind:
            return self.take()
        wanted = expected or sign(kind)
        found = shown(self.token)
        if self.token.kind != END and self.peek() == kind:
            self.fail(f"extraneous input {found} expecting {wanted}")
        if not expected and self.token.kind in after:
            self.fail(f"missing {wanted} at {found}")
        return self.fail(f"mismatched input {found} expecting {wanted}")

    def fail(self, message: str, token: Token | None = None) -> NoReturn:
        location = self.location((token or self.token).offset)
        raise SyntaxProblemError(Issue(location, f"Syntax error: {message}"))

    def written(self, first: Token) -> str:
        """Return the text from `first` to the end of the token at hand."""
        return self.source.text[first.offset : self.token.stop]

    def location(self, offset: int) -> Location:
        if not self.source.text:
            return Location(1, -1)  # cel-go places the end of an empty text before its start
        return self.source.location(offset)

    def too_deep(self, message: str) -> NoReturn:
        raise SyntaxProblemError(Issue(NOWHERE, message))


def sign(kind: str) -> str:
    return kind if kind.isupper() or kind == END else f"'{kind}'"


def shown(token: Token) -> str:
    text = token.text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f"'{text}'"
