"""The signs of CEL's grammar (cel-go parser/gen/CEL.g4), and how cel-go's messages list them."""

from __future__ import annotations

from typing import Final

from claimfit.dra.cel.lexer import END

__all__ = [
    "AFTER_OPERAND",
    "ARGUMENT_START",
    "EXPRESSION_START",
    "EXPRESSION_STARTS",
    "INDEX_START",
    "LIST_START",
    "MAP_START",
    "MEMBER_START",
    "NUMBERS",
    "PRODUCTS",
    "RELATIONS",
    "RESERVED",
    "SUMS",
    "also",
]

RESERVED: Final = frozenset(
    (
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "null",
        "return",
        "true",
        "var",
        "void",
        "while",
    )
)
RELATIONS: Final = {
    "<": "_<_",
    "<=": "_<=_",
    ">=": "_>=_",
    ">": "_>_",
    "==": "_==_",
    "!=": "_!=_",
    "in": "@in",
}
SUMS: Final = {"+": "_+_", "-": "_-_"}
PRODUCTS: Final = {"*": "_*_", "/": "_/_", "%": "_%_"}
NUMBERS: Final = frozenset(("NUM_INT", "NUM_FLOAT"))
EXPRESSION_START: Final = (
    "'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
    "BYTES, IDENTIFIER"
)
ARGUMENT_START: Final = EXPRESSION_START.replace("'(', ", "'(', ')', ")
INDEX_START: Final = EXPRESSION_START.replace("'!', ", "'!', '?', ")
LIST_START: Final = INDEX_START.replace("'[', ", "'[', ']', ").replace("'-', ", "',', '-', ")
MAP_START: Final = INDEX_START.replace("'{', ", "'{', '}', ").replace("'-', ", "',', '-', ")
AFTER_OPERAND: Final = frozenset((*RELATIONS, *SUMS, *PRODUCTS, "&&", "||", "?", ".", "[", END))
EXPRESSION_STARTS: Final = frozenset(
    ("[", "{", "(", ".", "-", "!", "true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT")
) | {"STRING", "BYTES", "IDENTIFIER"}
MEMBER_START: Final = EXPRESSION_STARTS - {"-", "!"}


def also(wanted: str) -> frozenset[str]:
    """Return the signs that `wanted` expects beside the start of an expression."""
    return frozenset(sign for sign in ")]},?" if f"'{sign}'" in wanted)
