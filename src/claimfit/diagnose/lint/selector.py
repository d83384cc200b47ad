"""One expression of a class or a request that compiles, with what surrounds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from claimfit.diagnose.lint.edits import Edit
    from claimfit.diagnose.lint.expression_text import ExpressionText
    from claimfit.diagnose.lint.finding import Report, Severity
    from claimfit.diagnose.lint.paths import Path
    from claimfit.dra.cel.program import Program
    from claimfit.dra.cel.syntax import Node

__all__ = ["Key", "Selector"]

Key = tuple[str, str, str]
"""What a selector reads: ``attributes`` or ``capacity``, domain, name."""


class Selector(NamedTuple):
    """One expression that compiles, with where it stands.

    Attributes:
        path: the field.
        name: for messages: ``request gpu selector 0``.
        class_name: the class of the request; empty in a DeviceClass.
        before: what is evaluated before it: selectors of the class, earlier ones of the request.
        program: the checked tree.
        text: its place in the file.
    """

    path: Path
    name: str
    class_name: str
    before: tuple[Program, ...]
    program: Program
    text: ExpressionText

    def written(self, node: Node) -> str:
        """Return the text of `node`."""
        return self.text.text[node.start : node.stop]

    def add(
        self,
        report: Report,
        code: str,
        severity: Severity,
        node: Node,
        message: str,
        *,
        fix: str = "",
        edits: tuple[Edit, ...] = (),
    ) -> None:
        """Report `message` about `node` of the expression."""
        position = self.text.place(node.start)
        report.add_at(code, severity, self.path, message, position, fix=fix, edits=edits)
