"""Fixes a file: makes the edits of findings until there is nothing left to fix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.diagnose.lint.edits import applied
from claimfit.diagnose.lint.linting import lint
from claimfit.errors import ClaimfitError
from claimfit.manifests.reader import read_documents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.diagnose.lint.finding import Finding
    from claimfit.diagnose.lint.linting import Context
    from claimfit.manifests.reader import Document

__all__ = ["Fixed", "fix_text"]

_MOST_ROUNDS: Final = 10
"""A fix may uncover another (a new version, then its moved fields); three levels are usual."""


class Fixed(NamedTuple):
    """A text after its fixes.

    Attributes:
        text: the whole text.
        made: how many findings were fixed.
        fixed: those findings, as they were.
    """

    text: str
    made: int
    fixed: tuple[Finding, ...]


def fix_text(text: str, place: str, context: Context, others: Sequence[Document] = ()) -> Fixed:
    """Return `text` with all safe fixes made, linted together with the documents `others`.

    An edit after which the text would no longer read as the same number of documents is dropped:
    better a finding that stays than a broken file. Raises what `claimfit.manifests.reader` raises.
    """
    fixed: list[Finding] = []
    documents = read_documents(text, place)
    for _ in range(_MOST_ROUNDS):
        findings = [
            item
            for item in lint([*documents, *others], context)
            if item.place == place and item.edits
        ]
        progress = False
        for finding in findings:
            # One at a time where together they would not read: a bad edit spoils only itself.
            changed, made = applied(text, [item.edits for item in findings])
            group = findings
            if not _reads(changed, place, len(documents)):
                changed, made = applied(text, [finding.edits])
                group = [finding]
            if made and changed != text and _reads(changed, place, len(documents)):
                text, progress = changed, True
                fixed += group[:made] if len(group) == made else group
                break
        if not progress:
            break
        documents = read_documents(text, place)
    return Fixed(text, len(fixed), tuple(fixed))


def _reads(text: str, place: str, count: int) -> bool:
    try:
        return len(read_documents(text, place)) == count
    except ClaimfitError:
        return False
