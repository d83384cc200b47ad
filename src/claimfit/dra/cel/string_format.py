"""``format``: text with values put in (cel-go ext/formatting.go), checked ahead where possible."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from claimfit.dra.cel import go_text
from claimfit.dra.cel.syntax import ListLiteral, Literal, MapLiteral, Node
from claimfit.dra.cel.values import (
    Duration,
    EvalError,
    FailureError,
    MapValue,
    Timestamp,
    TypeValue,
    Uint,
    type_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.cel.syntax import Call
    from claimfit.dra.cel.values import Value


__all__ = ["check_call", "formatted"]

_PRECISION: Final = 6
_WIDEST: Final = 20_000  # characters of one number; beyond, Go needs memory and no one reads it
_SUPERSCRIPT: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_STRINGS: Final = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
    "durations, and timestamps, was given "
)
_CLAUSES: Final = {
    "s": (_STRINGS, frozenset()),
    "d": (
        "decimal clause can only be used on integers, was given ",
        frozenset(("int", "uint")),
    ),
    "f": (
        "fixed-point clause can only be used on doubles, was given ",
        frozenset(("double", "string")),
    ),
    "e": (
        "scientific clause can only be used on doubles, was given ",
        frozenset(("double", "string")),
    ),
    "b": (
        "only integers and bools can be formatted as binary, was given ",
        frozenset(("int", "uint", "bool")),
    ),
    "x": (
        "only integers, byte buffers, and strings can be formatted as hex, was given ",
        frozenset(("int", "uint", "string", "bytes")),
    ),
    "o": (
        "octal clause can only be used on integers, was given ",
        frozenset(("int", "uint")),
    ),
}
_PRINTABLE: Final = frozenset(
    ("list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration")
) | {"type", "null"}


class FormatError(FailureError):
    """A format that cannot be carried out; `node` is the argument to blame, if there is one."""

    node: Node | None = None


def formatted(template: str, values: list[Value]) -> str:
    """Return `template` with its clauses replaced by `values`; raises `EvalError`."""

    def put(place: int, clause: str, precision: int | None) -> str:
        return _put(values[place], clause, precision)

    try:
        return "".join(_walk(template, len(values), put))
    except FormatError as problem:
        raise EvalError(problem.message) from None


def check_call(call: Call) -> tuple[Node, str] | None:
    """Return what is wrong with a call whose template and list are literals, and where."""
    template, arguments = call.target, call.arguments[0]
    if not (isinstance(template, Literal) and isinstance(arguments, ListLiteral)):
        return None
    if not isinstance(template.value, str):
        return None
    elements = arguments.elements
    asked = 0

    def put(place: int, clause: str, _precision: int | None) -> str:
        nonlocal asked
        asked = place + 1
        _check(elements[place], clause)
        return ""

    try:
        for _ in _walk(template.value, len(elements), put):
            pass
    except FormatError as problem:
        return problem.node or call, problem.message
    if len(elements) > asked:
        given = f"(expected {asked}, got {len(elements)})"
        return call, f"too many arguments supplied to string.format {given}"
    return None


def _walk(template: str, count: int, put: Callable[[int, str, int | None], str]) -> list[str]:
    """Return the parts of `template`, each clause replaced by what `put` makes of it."""
    parts: list[str] = []
    at = place = 0
    while at < len(template):
        percent = template.find("%", at)
        if percent < 0:
            parts.append(template[at:])
            break
        parts.append(template[at:percent])
        at = percent + 1
        if template[at : at + 1] == "%":
            parts.append("%")
            at += 1
            continue
        if place >= count:
            raise FormatError("index %s out of range", place)
        if at >= len(template):
            raise FormatError("unexpected end of string")
        at, clause, precision = _clause(template, at)
        parts.append(put(place, clause, precision))
        place += 1
    return parts


def _clause(template: str, at: int) -> tuple[int, str, int | None]:
    """Return where the clause at `at` ends, its letter and its precision."""
    failed = "could not parse formatting clause: "
    precision: int | None = None
    if template[at] == ".":
        end = at + 1
        while end < len(template) and template[end] in "0123456789":
            end += 1
        if end >= len(template):
            message = "error while parsing precision: could not find end of precision specifier"
            raise FormatError(failed + message)
        digits = template[at + 1 : end]
        if not digits or len(digits) > 18:
            reason = "value out of range" if digits else "invalid syntax"
            message = (
                "error while parsing precision: error while converting precision to integer: "
                f"strconv.Atoi: parsing {go_text.quoted(digits)}: {reason}"
            )
            raise FormatError(failed + message)
        precision = int(digits)
        at = end
    letter = template[at]
    if letter not in "sdfebxXo":
        if ord(letter) >= 0x80:
            letter = chr(letter.encode()[0])  # cel-go looks at the first byte only
        raise FormatError('%sunrecognized formatting clause "%s"', failed, letter)
    return at + 1, letter, precision


# --- ahead of time --------------------------------------------------------------------------------


def _check(node: Node, clause: str) -> None:
    sentence, kinds = _CLAUSES[clause.lower()]
    if clause == "s":
        _check_string(node)
    elif node.type.kind != "dyn" and node.type.kind not in kinds:
        raise _unsuitable(sentence, node)


def _unsuitable(sentence: str, node: Node) -> FormatError:
    problem = FormatError("error during formatting: %s%s", sentence, node.type.name)
    problem.node = node
    return problem


def _check_string(node: Node) -> None:
    if node.type.kind != "dyn" and node.type.kind not in _PRINTABLE:
        raise _unsuitable(_STRINGS, node)
    if isinstance(node, ListLiteral):
        for element in node.elements:
            _check_string(element)
    elif isinstance(node, MapLiteral):
        for entry in node.entries:
            if isinstance(entry.key, Node):
                _check_string(entry.key)
            _check_string(entry.value)


# --- at run time ----------------------------------------------------------------------------------


def _put(value: Value, clause: str, precision: int | None) -> str:
    try:
        return _PUTS[clause](value, precision)
    except FormatError as problem:
        raise FormatError("error during formatting: %s", problem.message) from None


def _refused(clause: str, value: Value) -> FormatError:
    return FormatError(f"{_CLAUSES[clause][0]}{type_name(value)}")


def _put_string(value: Value, _precision: int | None = None) -> str:
    from claimfit.dra.cel.conversions import BOUND

    if value is None:
        return "null"
    if isinstance(value, list):
        return f"[{', '.join(map(_nested, value))}]"
    if isinstance(value, MapValue):
        return _map(value)
    if isinstance(value, bytes):
        return str(BOUND["bytes_to_string"](value))
    if isinstance(value, float):
        return go_text.double_text(value)
    if isinstance(value, TypeValue):
        return value.name
    for kind, name in ((Duration, "duration"), (Timestamp, "timestamp")):
        if isinstance(value, kind):
            return str(BOUND[f"{name}_to_string"](value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, str):
        return value
    raise _refused("s", value)


def _nested(value: Value) -> str:
    """Return a member of a list or map: text in quotes, doubles with six digits."""
    if isinstance(value, str):
        return go_text.quoted(value)
    if isinstance(value, bytes):
        return f"b{go_text.quoted(_put_string(value))}"
    if isinstance(value, float):
        if math.isinf(value) or math.isnan(value):
            return go_text.quoted(go_text.double_text(value))
        return f"{value:.6f}"
    if isinstance(value, Duration):
        return f"duration({go_text.quoted(_put_string(value))})"
    if isinstance(value, Timestamp):
        return f"timestamp({go_text.quoted(_put_string(value))})"
    if type_name(value) not in _NESTABLE:
        raise FormatError("no formatting function for %s", type_name(value))
    return _put_string(value)


_NESTABLE: Final = frozenset(("bool", "int", "uint", "null_type", "type", "list", "map"))


def _map(value: MapValue) -> str:
    pairs = []
    for key, item in value.items():
        if not isinstance(key, str | bool | int):
            raise FormatError("no formatting function for map key of type %s", type_name(key))
        pairs.append((_nested(key), _nested(item)))
    pairs.sort(key=lambda pair: pair[0].encode(errors="surrogatepass"))
    return f"{{{', '.join(f'{key}:{item}' for key, item in pairs)}}}"


def _put_decimal(value: Value, _precision: int | None) -> str:
    if type(value) is int or isinstance(value, Uint):
        return str(int(value))
    raise _refused("d", value)


def _number(value: Value, clause: str) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, str) and value in {"NaN", "Infinity", "-Infinity"}:
        return float(value)
    raise _refused(clause, value)


def _put_fixed(value: Value, precision: int | None) -> str:
    number = _number(value, "f")
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    digits = _PRECISION if precision is None else min(precision, _WIDEST)
    shown = f"{number:,.{digits}f}"
    return shown.removeprefix("-") if number == 0 else shown


def _put_scientific(value: Value, precision: int | None) -> str:
    number = _number(value, "e")
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    del precision  # cel-go writes it where Go reads a width
    mantissa, _, power = f"{number:.6e}".partition("e")
    exponent = int(power)
    sign = "-" if exponent < 0 else ""
    shown = f"{sign}{abs(exponent):02d}".translate(_SUPERSCRIPT)
    if number == 0:
        mantissa = mantissa.removeprefix("-")
    return f"{mantissa}\u00d710{shown}"


def _put_binary(value: Value, _precision: int | None) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        return f"{int(value):b}"
    raise _refused("b", value)


def _put_hexadecimal(value: Value, *, upper: bool) -> str:
    if isinstance(value, str):
        shown = value.encode(errors="surrogatepass").hex()
    elif isinstance(value, bytes):
        shown = value.hex()
    elif isinstance(value, int) and not isinstance(value, bool):
        shown = f"{int(value):x}"
    else:
        raise _refused("x", value)
    return shown.upper() if upper else shown


def _put_octal(value: Value, _precision: int | None) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{int(value):o}"
    raise _refused("o", value)


_PUTS: Final[dict[str, Callable[[Value, int | None], str]]] = {
    "s": _put_string,
    "d": _put_decimal,
    "f": _put_fixed,
    "e": _put_scientific,
    "b": _put_binary,
    "x": lambda value, _: _put_hexadecimal(value, upper=False),
    "X": lambda value, _: _put_hexadecimal(value, upper=True),
    "o": _put_octal,
}
