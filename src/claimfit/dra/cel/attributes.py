"""Names and values with accesses to their members, as cel-go's interpreter steps through them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.dra.cel.access import as_key, member, member_if_present, plain_map
from claimfit.dra.cel.values import MISSING, NONE, EvalError, Optional, no_such_overload

if TYPE_CHECKING:
    from claimfit.dra.cel.meter import Frame, Meter, Result
    from claimfit.dra.cel.steps import Step
    from claimfit.dra.cel.values import Value

__all__ = ["Attribute", "ComputedKey", "Conditional", "Key", "Named", "Relative"]


class Key:
    """An access with a constant key; `test` only asks whether it is there."""

    __slots__ = ("key", "number", "optional", "test")

    def __init__(self, number: int, key: Value, *, optional: bool, test: bool = False) -> None:
        self.number = number
        self.key = key
        self.optional = optional
        self.test = test

    def get(self, frame: Frame, holder: Value) -> Value:
        """Return the member, or with `test` whether there is one."""
        try:
            if self.test:
                found: Value = member_if_present(holder, self.key) is not MISSING
            else:
                found = member(holder, self.key)
        except EvalError as error:
            self.note(frame.meter, error)
            raise
        self.note(frame.meter, found)
        return found

    def get_if_present(self, frame: Frame, holder: Value) -> object:
        """Return the member or `MISSING`; only what is there is noted."""
        found = member_if_present(holder, self.key)
        if found is not MISSING:
            self.note(frame.meter, found)  # type: ignore[arg-type]  # not MISSING
        return found

    def note(self, meter: Meter, result: Result) -> None:
        meter.cost += 1
        meter.push(self.number, result)


class ComputedKey:
    """An access with a computed key.

    Where the key is itself an attribute, only its own accesses are noted, not the attribute.
    """

    __slots__ = ("attribute", "number", "optional", "relative", "test")

    def __init__(
        self, number: int, attribute: Attribute, *, optional: bool, relative: bool
    ) -> None:
        self.number = number
        self.attribute = attribute
        self.optional = optional
        self.relative = relative
        self.test = False

    def get(self, frame: Frame, holder: Value) -> Value:
        """Return the member."""
        try:
            found = member(holder, as_key(self.attribute.resolve(frame)))
        except EvalError as error:
            self.note(frame.meter, error)
            raise
        self.note(frame.meter, found)
        return found

    def get_if_present(self, frame: Frame, holder: Value) -> object:
        """Return the member or `MISSING`."""
        found = member_if_present(holder, as_key(self.attribute.resolve(frame)))
        if found is not MISSING:
            self.note(frame.meter, found)  # type: ignore[arg-type]  # not MISSING
        return found

    def note(self, meter: Meter, result: Result) -> None:
        if self.relative:
            meter.drop(self.number)
        meter.cost += 1
        meter.push(self.number, result)


class Attribute:
    """Base: something named or computed, and accesses to apply to it."""

    __slots__ = ("accesses", "own")

    def __init__(self, own: int) -> None:
        self.own = own
        self.accesses: list[Key | ComputedKey] = []

    @property
    def number(self) -> int:
        return self.accesses[-1].number if self.accesses else self.own

    def add(self, access: Key | ComputedKey) -> None:
        self.accesses.append(access)

    def resolve(self, frame: Frame) -> Value:
        raise NotImplementedError

    def applied(self, frame: Frame, value: Value) -> Value:
        """Return the member that the accesses lead to; once optional, all are."""
        optional = isinstance(value, Optional)
        if isinstance(value, Optional):
            if value.value is MISSING:
                return value
            value = plain_map(value.value)  # type: ignore[arg-type]  # not MISSING
        for access in self.accesses:
            optional = optional or access.optional
            if not optional:
                value = access.get(frame, value)
                continue
            found = access.get_if_present(frame, value)
            if found is MISSING:
                return NONE
            value = found  # type: ignore[assignment]  # not MISSING
        return Optional(value) if optional else value


class Named(Attribute):
    """A variable."""

    __slots__ = ("name",)

    def __init__(self, own: int, name: str) -> None:
        super().__init__(own)
        self.name = name

    def resolve(self, frame: Frame) -> Value:
        return self.applied(frame, frame.resolve(self.name))


class Relative(Attribute):
    """A computed value."""

    __slots__ = ("operand",)

    def __init__(self, own: int, operand: Step) -> None:
        super().__init__(own)
        self.operand = operand

    def resolve(self, frame: Frame) -> Value:
        return self.applied(frame, self.operand.run(frame))


class Conditional(Attribute):
    """One of two attributes."""

    __slots__ = ("condition", "falsy", "truthy")

    def __init__(self, own: int, condition: Step, truthy: Attribute, falsy: Attribute) -> None:
        super().__init__(own)
        self.condition = condition
        self.truthy = truthy
        self.falsy = falsy

    @property
    def number(self) -> int:
        same = self.truthy.number == self.falsy.number
        return self.truthy.number if same else self.own

    def add(self, access: Key | ComputedKey) -> None:
        self.truthy.add(access)
        self.falsy.add(access)

    def resolve(self, frame: Frame) -> Value:
        value = self.condition.run(frame)
        if value is True:
            return self.truthy.resolve(frame)
        if value is False:
            return self.falsy.resolve(frame)
        raise no_such_overload()
