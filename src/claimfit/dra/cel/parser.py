"""Parser of CEL: text to syntax tree, with the limits and messages of cel-go.

Recursive descent over the grammar of cel-go (parser/gen/CEL.g4). Nodes are numbered in the order in
which cel-go numbers them, since its run-time cost and one of its messages depend on that. Macros
are expanded while parsing. Limits (cel-go parser/parser.go): 100,000 code points; rules nested at
most 250 deep; operators, selections and calls of a method nested at most 250 deep in all.

Of several syntax errors the first is reported; cel-go's generated parser may add guesses about what
follows. Problems that are not of syntax (reserved words, literals, macros) are all reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from claimfit.dra.cel import literals
from claimfit.dra.cel.cursor import Cursor, SyntaxProblemError, shown
from claimfit.dra.cel.deep import deep
from claimfit.dra.cel.grammar import (
    AFTER_OPERAND,
    ARGUMENT_START,
    EXPRESSION_START,
    EXPRESSION_STARTS,
    INDEX_START,
    LIST_START,
    MAP_START,
    MEMBER_START,
    NUMBERS,
    PRODUCTS,
    RELATIONS,
    RESERVED,
    SUMS,
    also,
)
from claimfit.dra.cel.heights import Heights
from claimfit.dra.cel.lexer import END
from claimfit.dra.cel.macros import MacroError
from claimfit.dra.cel.nodes import Nodes
from claimfit.dra.cel.source import NOWHERE, Issue
from claimfit.dra.cel.syntax import Call, Entry, Ident, Select

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.cel.lexer import Token
    from claimfit.dra.cel.macros import Macros
    from claimfit.dra.cel.source import Source
    from claimfit.dra.cel.syntax import Node

__all__ = ["parse"]

_MOST_CODE_POINTS: Final = 100_000
_DEEPEST: Final = 250


@deep
def parse(source: Source, macros: Macros, *, backticks: bool) -> tuple[Node | None, list[Issue]]:
    """Return (tree, nothing) or (None, problems) of `source`.

    Args:
        source: the text.
        macros: the macros of the environment.
        backticks: whether a field may be selected by a name in backticks.
    """
    size = len(source.text)
    if size > _MOST_CODE_POINTS:
        message = (
            f"expression code point size exceeds limit: size: {size}, limit {_MOST_CODE_POINTS}"
        )
        return None, [Issue(NOWHERE, message)]
    issues: list[Issue] = []
    parser = _Parser(source, issues, macros, backticks=backticks)
    try:
        tree = parser.whole()
    except SyntaxProblemError as found:
        issues.append(found.issue)
        return None, issues
    return (None, issues) if issues else (tree, issues)


class _Parser(Cursor):
    """One parse; methods are named after the rules of the grammar."""

    def __init__(
        self, source: Source, issues: list[Issue], macros: Macros, *, backticks: bool
    ) -> None:
        super().__init__(source, issues)
        self.macros = macros
        self.backticks = backticks
        self.nodes = Nodes()
        self.closer = END
        self.start = (0, EXPRESSION_START)
        self.expressions = self.relations = self.calculations = 0
        self.heights = Heights()

    # --- expressions ------------------------------------------------------------------------------

    def whole(self) -> Node:
        tree = self.expression()
        if self.token.kind != END:
            self.expect(END, frozenset(), "<EOF>")
        return tree

    def inside(self, closer: str, start: str = EXPRESSION_START) -> Node:
        """Parse an expression that `closer` ends; `start` is what messages expect first."""
        outer, self.closer = self.closer, closer
        self.start = (self.at, start)
        tree = self.expression()
        self.closer = outer
        return tree

    def after_closer(self) -> frozenset[str]:
        return AFTER_OPERAND | {self.closer} if self.closer != END else AFTER_OPERAND

    def expression(self) -> Node:
        self.expressions += 1
        if self.expressions > _DEEPEST:
            self.too_deep(f"expression recursion limit exceeded: {_DEEPEST}")
        condition = self.chain("||", "_||_", self.conjunction)
        if self.token.kind == "?":
            sign = self.take()
            number = self.nodes.number()
            outer, self.closer = self.closer, ":"
            truthy = self.chain("||", "_||_", self.conjunction)
            self.closer = outer
            self.expect(":", frozenset(), "':'")
            falsy = self.expression()
            call = Call(number, sign.offset, "_?_:_", [condition, truthy, falsy])
            condition = self.spanned(call, condition.start, falsy.stop)
            self.raise_height(condition, (call.arguments[0], truthy, falsy))
        self.expressions -= 1
        return condition

    def conjunction(self) -> Node:
        return self.chain("&&", "_&&_", self.relation)

    def chain(self, sign: str, function: str, operand: Callable[[], Node]) -> Node:
        """Parse operands joined by `sign`; many become a balanced tree, as in cel-go."""
        first = operand()
        if self.token.kind != sign:
            return first
        terms, signs = [first], []
        while self.token.kind == sign:
            token = self.take()
            terms.append(operand())
            signs.append((self.nodes.number(), token.offset))
        return self.balanced(function, terms, signs, 0, len(signs) - 1)

    def balanced(
        self, function: str, terms: list[Node], signs: list[tuple[int, int]], low: int, high: int
    ) -> Node:
        middle = (low + high + 1) // 2
        left = (
            terms[middle]
            if middle == low
            else self.balanced(function, terms, signs, low, middle - 1)
        )
        right = (
            terms[middle + 1]
            if middle == high
            else self.balanced(function, terms, signs, middle + 1, high)
        )
        number, offset = signs[middle]
        call = Call(number, offset, function, [left, right])
        self.spanned(call, left.start, right.stop)
        self.heights.keep(call, (left, right))
        return call

    def relation(self, *, nested: bool = False) -> Node:
        self.relations += 1
        if self.relations > _DEEPEST:
            self.too_deep(f"expression recursion limit exceeded: {_DEEPEST}")
        left = self.calculation(1)
        while not nested and self.token.kind in RELATIONS:
            left = self.binary(left, RELATIONS, lambda: self.relation(nested=True))
        self.relations -= 1
        return left

    def calculation(self, weakest: int) -> Node:
        """Parse sums (`weakest` 1), products (2) or one operand (3)."""
        self.calculations += 1
        if self.calculations > _DEEPEST:
            self.too_deep(f"expression recursion limit exceeded: {_DEEPEST}")
        left = self.unary()
        while True:
            kind = self.token.kind
            if weakest <= 2 and kind in PRODUCTS:
                left = self.binary(left, PRODUCTS, lambda: self.calculation(3))
            elif weakest <= 1 and kind in SUMS:
                left = self.binary(left, SUMS, lambda: self.calculation(2))
            else:
                break
        self.calculations -= 1
        return left

    def binary(self, left: Node, functions: dict[str, str], operand: Callable[[], Node]) -> Node:
        sign = self.take()
        number = self.nodes.number()
        right = operand()
        call = Call(number, sign.offset, functions[sign.kind], [left, right])
        self.spanned(call, left.start, right.stop)
        self.raise_height(call, (left, right))
        return call

    def unary(self) -> Node:
        kind = self.token.kind
        if kind not in {"!", "-"} or (kind == "-" and self.peek() in NUMBERS):
            return self.member()
        first = self.token
        count = 0
        while self.token.kind == kind:
            self.take()
            count += 1
        if not self.starts_member():
            if kind == "-":
                self.fail(f"no viable alternative at input '{self.written(first)}'")
            self.fail(f"extraneous input {shown(self.token)} expecting {{{EXPRESSION_START}}}")
        number = self.nodes.number() if count % 2 else 0
        operand = self.member()
        if count % 2 == 0:
            return operand
        call = Call(number, first.offset, "!_" if kind == "!" else "-_", [operand])
        self.spanned(call, first.offset, operand.stop)
        self.heights.keep(call, (operand,))
        return call

    def starts_member(self) -> bool:
        kind = self.token.kind
        if kind == "-":
            return self.peek() in NUMBERS
        return kind in MEMBER_START

    # --- members ----------------------------------------------------------------------------------

    def member(self) -> Node:
        node = self.primary()
        while True:
            kind = self.token.kind
            if kind == ".":
                node = self.selection(node)
            elif kind == "[":
                node = self.index(node)
            else:
                return node

    def selection(self, operand: Node) -> Node:
        dot = self.take()
        optional = self.accept("?")
        name = self.token
        if name.kind not in {"IDENTIFIER", "ESC_IDENTIFIER"}:
            self.fail_field(optional)
        self.take()
        if self.token.kind == "(" and not optional and name.kind == "IDENTIFIER":
            return self.method(operand, name)
        field = name.text
        if name.kind == "ESC_IDENTIFIER":
            if not self.backticks:
                return self.report(dot.offset + 1, "unsupported syntax: '`'")
            field = field[1:-1]
        node: Node
        if optional:
            literal = self.nodes.literal(name.offset, field)
            node = Call(self.nodes.number(), dot.offset, "_?._", [operand, literal])
        else:
            node = Select(self.nodes.number(), dot.offset, operand, field)
        self.spanned(node, operand.start, name.stop)
        self.raise_height(node, (operand,))
        return node

    def fail_field(self, optional: bool) -> NoReturn:
        token = self.token
        if optional:
            spare = token.kind != END and self.peek() in {"IDENTIFIER", "ESC_IDENTIFIER"}
            problem = "extraneous" if spare else "mismatched"
            self.fail(f"{problem} input {shown(token)} expecting {{IDENTIFIER, ESC_IDENTIFIER}}")
        if token.kind in {"true", "false", "null"}:
            self.fail(f"mismatched input '{token.kind}' expecting IDENTIFIER")
        self.fail(f"no viable alternative at input '{self.written(self.tokens[self.at - 1])}'")

    def method(self, operand: Node, name: Token) -> Node:
        opened = self.take()
        number = self.nodes.number()
        arguments = self.arguments()
        node = self.expanded(number, opened, name.text, operand, arguments)
        self.spanned(node, operand.start, self.tokens[self.at - 1].stop)
        self.raise_height(node, (operand, *arguments))
        return node

    def index(self, operand: Node) -> Node:
        opened = self.take()
        number = self.nodes.number()
        optional = self.accept("?")
        key = self.inside("]", EXPRESSION_START if optional else INDEX_START)
        self.expect("]", self.after_closer())
        call = Call(number, opened.offset, "_[?_]" if optional else "_[_]", [operand, key])
        self.spanned(call, operand.start, self.tokens[self.at - 1].stop)
        self.raise_height(call, (operand, key))
        return call

    def arguments(self) -> list[Node]:
        """Parse what stands between a parenthesis just taken and its end."""
        if self.accept(")"):
            return []
        found = [self.inside(")", ARGUMENT_START)]
        while self.accept(","):
            found.append(self.inside(")"))
        self.expect(")", self.after_closer())
        return found

    # --- primaries --------------------------------------------------------------------------------

    def primary(self) -> Node:
        kind = self.token.kind
        if kind == "(":
            return self.parenthesized()
        if kind == "[":
            return self.list_literal()
        if kind == "{":
            return self.map_literal()
        if kind == "IDENTIFIER" or (kind == "." and self.peek() == "IDENTIFIER"):
            return self.name()
        if kind == ".":
            dot = self.take()
            self.fail(f"no viable alternative at input '{self.written(dot)}'")
        if self.token.kind not in EXPRESSION_STARTS:
            self.fail_start()
        return self.literal()

    def fail_start(self) -> NoReturn:
        place, wanted = self.start
        if place != self.at:
            wanted = EXPRESSION_START
        spare = self.token.kind != END and self.peek() in EXPRESSION_STARTS | also(wanted)
        problem = "extraneous" if spare else "mismatched"
        self.fail(f"{problem} input {shown(self.token)} expecting {{{wanted}}}")

    def parenthesized(self) -> Node:
        opened = self.take()
        node = self.inside(")")
        closed = self.expect(")", self.after_closer())
        return self.spanned(node, opened.offset, closed.stop)

    def name(self) -> Node:
        start = self.token
        dotted = self.accept(".")
        if self.message_ahead():
            return self.message(start, dotted=dotted)
        name = self.take()
        prefix = "." if dotted else ""
        if name.text in RESERVED:
            node = self.report(start.offset, f"reserved identifier: {name.text}")
            if self.token.kind == "(":
                self.take()
                self.arguments()
            return node
        if self.token.kind == "(":
            opened = self.take()
            number = self.nodes.number()
            arguments = self.arguments()
            node = self.expanded(number, opened, prefix + name.text, None, arguments)
            self.spanned(node, start.offset, self.tokens[self.at - 1].stop)
            self.heights.keep(node, arguments)
            return node
        ident = Ident(self.nodes.number(), name.offset, prefix + name.text)
        return self.spanned(ident, start.offset, name.stop)

    def message_ahead(self) -> bool:
        """Whether names joined by dots and a brace follow: a message of that type."""
        place = self.at
        kinds = self.tokens
        while kinds[place].kind == "IDENTIFIER":
            follower = kinds[place + 1].kind
            if follower == "{":
                return True
            if follower != ".":
                return False
            place += 2
        return False

    def message(self, start: Token, *, dotted: bool) -> Node:
        parts = [self.take().text]
        while self.accept("."):
            parts.append(self.take().text)
        brace = self.take()
        number = self.nodes.number()
        entries: list[Entry] = []
        while self.token.kind not in {"}", ","}:
            entries.append(self.field())
            if not self.accept(","):
                break
        else:
            self.accept(",")
        self.expect("}", self.after_closer())
        name = ("." if dotted else "") + ".".join(parts)
        node = self.nodes.message(number, brace.offset, name, entries)
        self.heights.keep(node, [entry.value for entry in entries])
        return self.spanned(node, start.offset, self.tokens[self.at - 1].stop)

    def field(self) -> Entry:
        optional = self.accept("?")
        name = self.token
        if name.kind not in {"IDENTIFIER", "ESC_IDENTIFIER"}:
            wanted = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"
            self.fail(f"mismatched input {shown(name)} expecting {wanted}")
        self.take()
        colon = self.expect(":", EXPRESSION_STARTS)
        number = self.nodes.number()
        text = name.text
        if name.kind == "ESC_IDENTIFIER":
            if not self.backticks:
                self.report(name.offset, "unsupported syntax: '`'")
            text = text[1:-1]
        value = self.inside("}")
        return Entry(number, colon.offset, text, value, optional=optional)

    def list_literal(self) -> Node:
        opened = self.take()
        number = self.nodes.number()
        elements: list[Node] = []
        optional: set[int] = set()
        while self.token.kind not in {"]", ","}:
            if self.accept("?"):
                optional.add(len(elements))
            first = not elements and not optional
            elements.append(self.inside("]", LIST_START if first else INDEX_START))
            if not self.accept(",") or not self.more():
                break
        else:
            if not elements:
                self.accept(",")
        self.close_aggregate("]")
        node = self.nodes.list_of(number, opened.offset, elements, frozenset(optional))
        self.heights.keep(node, elements)
        return self.spanned(node, opened.offset, self.tokens[self.at - 1].stop)

    def more(self) -> bool:
        """Whether after a comma another element follows, rather than the end."""
        return self.token.kind == "?" or self.token.kind in EXPRESSION_STARTS

    def close_aggregate(self, closer: str) -> None:
        aggregate_goes_on = self.tokens[self.at - 1].kind not in {",", "[", "{"}
        if aggregate_goes_on and self.token.kind != closer:
            spare = self.token.kind != END and self.peek() in {closer, ","}
            problem = "extraneous" if spare else "mismatched"
            self.fail(f"{problem} input {shown(self.token)} expecting {{'{closer}', ','}}")
        self.expect(closer, self.after_closer())

    def map_literal(self) -> Node:
        opened = self.take()
        number = self.nodes.number()
        entries: list[Entry] = []
        parts: list[Node] = []
        while self.token.kind not in {"}", ","}:
            optional = self.accept("?")
            key = self.inside(":", EXPRESSION_START if entries or optional else MAP_START)
            colon = self.expect(":", EXPRESSION_STARTS)
            entry_number = self.nodes.number()
            value = self.inside("}")
            entries.append(Entry(entry_number, colon.offset, key, value, optional=optional))
            parts += (key, value)
            if not self.accept(",") or not self.more():
                break
        else:
            if not entries:
                self.accept(",")
        self.close_aggregate("}")
        node = self.nodes.map_of(number, opened.offset, entries)
        self.heights.keep(node, parts)
        return self.spanned(node, opened.offset, self.tokens[self.at - 1].stop)

    def literal(self) -> Node:
        start = self.token
        text = start.text
        if start.kind == "-":
            self.take()
            text += self.token.text
        token = self.take()
        try:
            value = literals.literal(token.kind, text)
        except literals.LiteralError as problem:
            return self.report(start.offset, str(problem))
        return self.spanned(self.nodes.literal(start.offset, value), start.offset, token.stop)

    def report(self, offset: int, message: str) -> Node:
        """Record a problem that is not of syntax; return a node to go on with."""
        self.issues.append(Issue(self.location(offset), message))
        return Ident(self.nodes.number(), offset, "")

    # --- macros, spans and heights ----------------------------------------------------------------

    def expanded(
        self, number: int, opened: Token, function: str, target: Node | None, arguments: list[Node]
    ) -> Node:
        """Return the call, or what the macro of its name makes of it."""
        macro = self.macros.find(function, len(arguments), receiver=target is not None)
        if macro is not None:
            self.nodes.place = opened.offset
            try:
                made = macro(self.nodes, target or arguments[0], arguments)
            except MacroError as problem:
                self.nodes.discard(number)
                return self.report(problem.offset, problem.message)
            if made is not None:
                self.nodes.discard(number)
                return made
        return Call(number, opened.offset, function, arguments, target)

    def spanned(self, node: Node, start: int, stop: int) -> Node:
        node.start, node.stop = start, stop
        return node

    def raise_height(self, node: Node, parts: tuple[Node, ...]) -> None:
        """Note that `node` adds a level above `parts`; too many levels end the parse."""
        if self.heights.raised(node, parts) > _DEEPEST:
            self.too_deep("max recursion depth exceeded")
