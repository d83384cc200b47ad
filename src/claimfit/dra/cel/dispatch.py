"""Which implementation a call runs: the checked overload, or by the types at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.dra.cel import conversions, kubernetes_functions, list_functions, string_functions
from claimfit.dra.cel.operators import SINGLETONS
from claimfit.dra.cel.regular_expressions import problem
from claimfit.dra.cel.string_format import formatted
from claimfit.dra.cel.values import (
    Duration,
    EvalError,
    MapValue,
    Timestamp,
    TypeValue,
    Uint,
    no_such_overload,
    type_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.cel.environment import Environment, Function, Overload
    from claimfit.dra.cel.syntax import Call
    from claimfit.dra.cel.types import Type
    from claimfit.dra.cel.values import Value


__all__ = ["implementation", "with_pattern"]


_SINGLE: Final = {**SINGLETONS, **list_functions.SINGLES}
_UNGUARDED: Final = {**string_functions.UNGUARDED, **list_functions.UNGUARDED}
_BOUND: Final[dict[str, Callable[..., Value]]] = {
    **conversions.BOUND,
    **string_functions.BOUND,
    **list_functions.BOUND,
    **kubernetes_functions.BOUND,
    "string_format": formatted,
}


_BEFORE_35: Final = kubernetes_functions.BEFORE_35
_BEFORE_37: Final = kubernetes_functions.BOUND_IN_PLACE
_SINCE_37: Final[dict[str, Callable[..., Value]]] = {
    **list_functions.SINCE_37,
    **conversions.SINCE_37,
}


class Implementation(NamedTuple):
    """What a call runs.

    Attributes:
        run: takes the operands, target first; raises `EvalError`.
        overload: the one overload that the checker found, empty when it is decided at run time.
        dynamic: whether the first operand that fails ends the call, the rest not evaluated.
    """

    run: Callable[..., Value]
    overload: str
    dynamic: bool


def implementation(call: Call, environment: Environment) -> Implementation:
    """Return what `call`, which is checked, runs."""
    overload = call.overloads[0] if len(call.overloads) == 1 else ""
    single = _SINGLE.get(call.function)
    if single is not None:
        return Implementation(single, overload, dynamic=False)
    function = environment.functions[call.function]
    if overload:
        chosen = next(one for one in function.overloads if one.name == overload)
        return Implementation(
            _guarded(function, chosen, environment.minor),
            overload,
            dynamic=overload == "string_format",
        )
    return Implementation(_dispatcher(function, environment.minor), "", dynamic=True)


def with_pattern(call: Call, pattern: str) -> Implementation | str | None:
    """Return how `call` runs with a constant pattern, or what is wrong with the pattern.

    None where it takes no pattern.
    """
    if call.function not in {"matches", "find", "findAll"}:
        return None
    wrong = problem(pattern)
    if wrong:
        return wrong
    overload = call.overloads[0] if len(call.overloads) == 1 else ""
    run = SINGLETONS["matches"] if call.function == "matches" else _BOUND["string_find_string"]
    if call.function == "findAll":
        run = _BOUND["string_find_all_string"]

    def checked(subject: Value, *rest: Value) -> Value:
        if not isinstance(subject, str) or (len(rest) == 2 and type(rest[1]) is not int):
            raise no_such_overload()
        return run(subject, *rest)

    return Implementation(checked, overload, dynamic=True)


def _bound(overload: Overload, minor: int) -> Callable[..., Value] | None:
    changed = (_BEFORE_37 if minor < 37 else _SINCE_37).get(overload.name)
    if minor < 35:
        changed = _BEFORE_35.get(overload.name, changed)
    return changed or _BOUND.get(overload.name)


def _guarded(function: Function, overload: Overload, minor: int) -> Callable[..., Value]:
    """Return the overload's implementation behind a check of its operands' types."""
    free = _UNGUARDED.get(overload.name)
    if free is not None:
        return free
    bound = _bound(overload, minor)
    guards = [guard(one) for one in overload.arguments]
    if bound is None:
        return lambda *operands: _refuse(function, operands)
    if len(guards) == 1 and guards[0] is not None:
        return _guarded_one(function, bound, guards[0])
    if all(one is None for one in guards):
        return bound
    tests = [(place, test) for place, test in enumerate(guards) if test is not None]

    def run(*operands: Value) -> Value:
        for place, test in tests:
            if not test(operands[place]):
                return _refuse(function, operands)
        return bound(*operands)

    return run


def _guarded_one(
    function: Function, bound: Callable[..., Value], test: Callable[[Value], bool]
) -> Callable[..., Value]:
    def run(operand: Value) -> Value:
        return bound(operand) if test(operand) else _refuse(function, (operand,))

    return run


def _refuse(function: Function, operands: tuple[Value, ...]) -> Value:
    raise EvalError("no such overload: %s(%s)", function.name, ", ".join(map(type_name, operands)))


def _dispatcher(function: Function, minor: int) -> Callable[..., Value]:
    """Return a function that picks the first overload whose types the operands have."""
    choices = [
        (len(one.arguments), [guard(kind) for kind in one.arguments], bound)
        for one in function.overloads
        if (bound := _bound(one, minor) or _UNGUARDED.get(one.name)) is not None
    ]

    def run(*operands: Value) -> Value:
        for count, guards, bound in choices:
            if count == len(operands) and all(
                test is None or test(operand)
                for test, operand in zip(guards, operands, strict=True)
            ):
                return bound(*operands)
        return _refuse(function, operands)

    return run


# --- types at run time ----------------------------------------------------------------------------

_EXACT: Final[dict[str, type]] = {
    "bool": bool,
    "int": int,
    "uint": Uint,
    "double": float,
    "string": str,
    "bytes": bytes,
    "null": type(None),
    "duration": Duration,
    "timestamp": Timestamp,
    "type": TypeValue,
}


def guard(wanted: Type) -> Callable[[Value], bool] | None:
    """Return a test whether a value has type `wanted`; None where any value has.

    Of a list or a map only the first member is looked at, as in cel-go.
    """
    kind = wanted.kind
    if kind in {"dyn", "any", "parameter"}:
        return None
    exact = _EXACT.get(kind)
    if exact is not None:
        return lambda value: type(value) is exact
    if kind == "list":
        return _list_guard(guard(wanted.parameters[0]))
    if kind == "map":
        return _map_guard(guard(wanted.parameters[0]), guard(wanted.parameters[1]))
    name = wanted.name
    return lambda value: type_name(value) == name


def _list_guard(item: Callable[[Value], bool] | None) -> Callable[[Value], bool]:
    if item is None:
        return lambda value: isinstance(value, list)
    return lambda value: isinstance(value, list) and (not value or item(value[0]))


def _map_guard(
    key: Callable[[Value], bool] | None, item: Callable[[Value], bool] | None
) -> Callable[[Value], bool]:
    def test(value: Value) -> bool:
        if not isinstance(value, MapValue):
            return False
        for one, content in value.items():
            return (key is None or key(one)) and (item is None or item(content))
        return True

    return test
