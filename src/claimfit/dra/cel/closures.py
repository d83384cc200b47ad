"""The functions that a compiled expression is nested of; each takes a frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from claimfit.dra.cel.access import as_key, member, member_if_present, plain_map
from claimfit.dra.cel.comparison import equal
from claimfit.dra.cel.folding import fold_entries
from claimfit.dra.cel.runtime_cost import uncostable
from claimfit.dra.cel.values import (
    MISSING,
    NONE,
    EvalError,
    MapValue,
    MutableList,
    MutableMap,
    Optional,
    map_key,
    no_such_overload,
)

if TYPE_CHECKING:
    from claimfit.dra.cel.device_view import DeviceView
    from claimfit.dra.cel.values import Value

__all__ = [
    "Access",
    "Frame",
    "Run",
    "accessed",
    "applied",
    "both",
    "checked_key",
    "conditional",
    "constant",
    "costable",
    "direct_optional",
    "direct_read",
    "either",
    "equality",
    "fold",
    "lazy",
    "member_of",
    "not_strictly_false",
    "optional_or",
    "variable",
]

Frame = list[object]
"""The device's view, then one place per variable of a fold."""

Run = Callable[[Frame], "Value"]
"""A compiled expression: takes a frame, returns the value or raises `EvalError` or `Panic`."""

_UNSET: Final = object()
"""What the place of a binding holds until the binding is first asked for."""


class Access:
    """One access: how its key is found, and whether it may be missing."""

    __slots__ = ("key", "optional", "test")

    def __init__(self, key: Run, *, optional: bool, test: bool) -> None:
        self.key = key
        self.optional = optional
        self.test = test


def constant(value: Value) -> Run:
    return lambda _frame: value


def variable(place: int) -> Run:
    return lambda frame: frame[place]  # type: ignore[return-value]  # a value


def lazy(place: int, initial: Run) -> Run:
    def run(frame: Frame) -> Value:
        value = frame[place]
        if value is _UNSET:
            try:
                value = initial(frame)
            except EvalError as error:
                value = error
            if isinstance(value, list) and not value:
                value = MutableList()
            elif isinstance(value, MapValue) and not value.entries:
                value = MutableMap({})
            frame[place] = value
        if isinstance(value, EvalError):
            raise EvalError(value.message)
        return value  # type: ignore[return-value]  # a value

    return run


def checked_key(run: Run) -> Run:
    return lambda frame: as_key(run(frame))


def direct_read(find: Callable[[DeviceView, str, str], object], domain: str, name: str) -> Run:
    missing = f"no such key: {name}"

    def run(frame: Frame) -> Value:
        found = find(frame[0], domain, name)  # type: ignore[arg-type]
        if found is MISSING:
            raise EvalError(missing)
        return found  # type: ignore[return-value]  # not MISSING

    return run


def direct_optional(find: Callable[[DeviceView, str, str], object], domain: str, name: str) -> Run:
    def run(frame: Frame) -> Value:
        found = find(frame[0], domain, name)  # type: ignore[arg-type]
        return NONE if found is MISSING else Optional(found)  # type: ignore[arg-type]

    return run


def accessed(start: Run, accesses: list[Access]) -> Run:
    test = accesses[-1].test

    def run(frame: Frame) -> Value:
        value = start(frame)
        optional = isinstance(value, Optional)
        if isinstance(value, Optional):
            if value.value is MISSING:
                return False if test else value
            value = plain_map(value.value)  # type: ignore[arg-type]  # not MISSING
        for access in accesses:
            optional = optional or access.optional
            key = access.key(frame)
            if access.test:
                return member_if_present(value, key) is not MISSING
            if not optional:
                value = member(value, key)
                continue
            found = member_if_present(value, key)
            if found is MISSING:
                return False if test else NONE
            value = found  # type: ignore[assignment]  # not MISSING
        return Optional(value) if optional else value

    return run


def _is(operand: Run, frame: Frame, *, decisive: bool) -> bool:
    """Whether an operand decides ``&&`` or ``||`` although the other one failed."""
    try:
        return operand(frame) is decisive
    except EvalError:
        return False


def both(left: Run, right: Run) -> Run:
    def run(frame: Frame) -> Value:
        try:
            one = left(frame)
        except EvalError:
            if _is(right, frame, decisive=False):
                return False
            raise
        if one is False:
            return False
        if one is not True:
            if _is(right, frame, decisive=False):
                return False
            raise no_such_overload()
        two = right(frame)
        if two is True or two is False:
            return two
        raise no_such_overload()

    return run


def either(left: Run, right: Run) -> Run:
    def run(frame: Frame) -> Value:
        try:
            one = left(frame)
        except EvalError:
            if _is(right, frame, decisive=True):
                return True
            raise
        if one is True:
            return True
        if one is not False:
            if _is(right, frame, decisive=True):
                return True
            raise no_such_overload()
        two = right(frame)
        if two is True or two is False:
            return two
        raise no_such_overload()

    return run


def conditional(condition: Run, truthy: Run, falsy: Run) -> Run:
    def run(frame: Frame) -> Value:
        value = condition(frame)
        if value is True:
            return truthy(frame)
        if value is False:
            return falsy(frame)
        raise no_such_overload()

    return run


def equality(left: Run, right: Run) -> Run:
    def run(frame: Frame) -> Value:
        try:
            one = left(frame)
        except EvalError:
            _end_quietly(right, frame)
            raise
        two = right(frame)
        if type(one) is str and type(two) is str:
            return one == two
        return equal(one, two)

    return run


def _end_quietly(operand: Run, frame: Frame) -> None:
    """Evaluate a second operand although the first failed: it may end the evaluation."""
    try:
        operand(frame)
    except EvalError:
        return


def not_strictly_false(operand: Run) -> Run:
    def run(frame: Frame) -> Value:
        try:
            value = operand(frame)
        except EvalError:
            return True
        return value if isinstance(value, bool) else True

    return run


def optional_or(first: Run, second: Run, *, unwraps: bool, strict: bool) -> Run:
    def run(frame: Frame) -> Value:
        value = first(frame)
        if not isinstance(value, Optional):
            if strict:
                raise no_such_overload()
            return value
        if value.value is MISSING:
            return second(frame)
        return value.value if unwraps else value  # type: ignore[return-value]  # not MISSING

    return run


def _call_two(run: Callable[..., Value], left: Run, right: Run) -> Run:
    def call(frame: Frame) -> Value:
        try:
            one = left(frame)
        except EvalError:
            _end_quietly(right, frame)
            raise
        return run(one, right(frame))

    return call


def applied(run: Callable[..., Value], operands: list[Run], *, dynamic: bool = False) -> Run:
    if len(operands) == 1:
        only = operands[0]
        return lambda frame: run(only(frame))
    if len(operands) == 2 and not dynamic:
        return _call_two(run, *operands)
    return lambda frame: run(*[operand(frame) for operand in operands])


def costable(operand: Run, overload: str) -> Run:
    """End the evaluation where the operand fails, as counting the cost does."""

    def run(frame: Frame) -> Value:
        try:
            return operand(frame)
        except EvalError:
            raise uncostable(overload) from None

    return run


def member_of(value: Run, keys: frozenset[object]) -> Run:
    def run(frame: Frame) -> Value:
        found = value(frame)
        return (found if type(found) is str else map_key(found)) in keys

    return run


def fold(subject: Run, places: tuple[int, int, int], condition: Run, step: Run, result: Run) -> Run:
    gathered, first, second = places

    def run(frame: Frame) -> Value:
        entries = fold_entries(subject(frame), pairs=bool(second))
        frame[gathered] = _UNSET
        for one, two in entries:
            frame[first] = one
            if second:
                frame[second] = two
            try:
                if condition(frame) is False:
                    break
            except EvalError:
                pass  # only false ends a fold
            try:
                frame[gathered] = step(frame)
            except EvalError as error:
                frame[gathered] = error
        found = result(frame)
        if isinstance(found, MutableList):
            return list(found)
        return MapValue(found.entries) if isinstance(found, MutableMap) else found

    return run
