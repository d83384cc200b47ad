"""matchAttribute and distinctAttribute, as state that follows the search.

Rules: constraint.go and matchAttributeConstraint in k8s.io/dynamic-resource-allocation/structured.
A value is its type and its text or number: the version 1.0.0 never equals the string 1.0.0. With
gate DRAListTypeAttributes values are sets: match keeps an intersection, distinct wants disjoint
sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from claimfit.dra.allocator.attempt import AttemptAborted

if TYPE_CHECKING:
    from claimfit.dra.allocator.behaviour import Behaviour
    from claimfit.dra.allocator.requests import ClaimRequests, Request
    from claimfit.dra.objects import DeviceAttribute, DeviceConstraint
    from claimfit.dra.pools import PooledDevice

__all__ = ["Constraint", "TypedValue", "attribute_of", "build_constraints", "set_of", "typed_value"]


class TypedValue(NamedTuple):
    """A value with its type; `kind` is empty for a list where lists are not known."""

    kind: str
    value: str | int | bool


class Constraint(Protocol):
    """One constraint of a claim during a search."""

    def applies(self, request: Request) -> bool:
        """Return whether the constraint covers `request`."""

    def add(self, request: Request, entry: PooledDevice) -> bool:
        """Take a device into account; return False, and change nothing, when it does not fit."""

    def remove(self, request: Request) -> None:
        """Undo the last `add` for `request`."""


def attribute_of(entry: PooledDevice, name: str) -> DeviceAttribute | None:
    """Return the attribute with the full `name`; without its domain if that is the driver's."""
    found = entry.device.attributes.get(name)
    if found is not None:
        return found
    domain, slash, bare = name.partition("/")
    if slash and domain == entry.id.driver:
        return entry.device.attributes.get(bare)
    return None


def typed_value(attribute: DeviceAttribute) -> TypedValue:
    """Return the scalar of an attribute; of a list there is none."""
    if attribute.string is not None:
        return TypedValue("string", attribute.string)
    if attribute.integer is not None:
        return TypedValue("int", attribute.integer)
    if attribute.boolean is not None:
        return TypedValue("bool", attribute.boolean)
    if attribute.version is not None:
        return TypedValue("version", attribute.version)
    return TypedValue("", "")


def set_of(attribute: DeviceAttribute) -> frozenset[TypedValue]:
    """Return the values of an attribute as a set; a scalar is a set of one."""
    for kind, values in (
        ("int", attribute.integers),
        ("bool", attribute.booleans),
        ("string", attribute.strings),
        ("version", attribute.versions),
    ):
        if values:
            return frozenset(TypedValue(kind, value) for value in values)
    scalar = typed_value(attribute)
    return frozenset((scalar,)) if scalar.kind else frozenset()


class _Scope:
    """Which requests a constraint covers, and its attribute."""

    __slots__ = ("attribute", "names")

    def __init__(self, names: list[str], attribute: str) -> None:
        self.names = frozenset(names)
        self.attribute = attribute

    def applies(self, request: Request) -> bool:
        """Return whether `request` is named, itself or by its parent; no names mean all."""
        names = self.names
        return not names or request.base in names or (request.full_name in names)


class _Match(_Scope):
    """All devices have the same value."""

    __slots__ = ("count", "first")

    def __init__(self, names: list[str], attribute: str) -> None:
        super().__init__(names, attribute)
        self.first = TypedValue("", "")
        self.count = 0

    def add(self, request: Request, entry: PooledDevice) -> bool:
        if not self.applies(request):
            return True
        attribute = attribute_of(entry, self.attribute)
        if attribute is None:
            return False
        value = typed_value(attribute)
        if self.count == 0:
            self.first = value  # the first may be of a type that nothing will match
        elif not value.kind or value != self.first:
            return False
        self.count += 1
        return True

    def remove(self, request: Request) -> None:
        if self.applies(request):
            self.count -= 1


class _MatchSets(_Scope):
    """All devices have a value in common."""

    __slots__ = ("common",)

    def __init__(self, names: list[str], attribute: str) -> None:
        super().__init__(names, attribute)
        self.common: list[frozenset[TypedValue]] = []

    def add(self, request: Request, entry: PooledDevice) -> bool:
        if not self.applies(request):
            return True
        attribute = attribute_of(entry, self.attribute)
        if attribute is None:
            return False
        values = set_of(attribute)
        if self.common:
            values &= self.common[-1]
        if not values:
            return False
        self.common.append(values)
        return True

    def remove(self, request: Request) -> None:
        if self.applies(request):
            self.common.pop()


class _Distinct(_Scope):
    """All devices have different values."""

    __slots__ = ("lists", "seen")

    def __init__(self, names: list[str], attribute: str, *, lists: bool) -> None:
        super().__init__(names, attribute)
        self.lists = lists
        self.seen: list[frozenset[TypedValue]] = []

    def add(self, request: Request, entry: PooledDevice) -> bool:
        if not self.applies(request):
            return True
        attribute = attribute_of(entry, self.attribute)
        if attribute is None:
            return False
        values = set_of(attribute)
        if not self.lists:
            scalar = typed_value(attribute)
            values = frozenset((scalar,)) if scalar.kind else frozenset()
        if not values and (self.lists or self.seen):
            return False
        if any(values & other for other in self.seen):
            return False
        self.seen.append(values)
        return True

    def remove(self, request: Request) -> None:
        if self.applies(request):
            self.seen.pop()


class _DistinctByRequest(_Scope):
    """What 1.34 to 1.36 make of distinct: one value is remembered per request.

    Of a request with several devices only the last counts, and giving a device back forgets the
    request's value altogether. In 1.34 values are compared by where they are stored, so that only a
    device and itself are equal.
    """

    __slots__ = ("by_identity", "count", "seen")

    def __init__(self, names: list[str], attribute: str, *, by_identity: bool) -> None:
        super().__init__(names, attribute)
        self.by_identity = by_identity
        self.count = 0
        self.seen: dict[str, tuple[TypedValue, PooledDevice]] = {}

    def add(self, request: Request, entry: PooledDevice) -> bool:
        if not self.applies(request):
            return True
        attribute = attribute_of(entry, self.attribute)
        if attribute is None:
            return False
        value = typed_value(attribute)
        if self.count and not all(
            self._differs(value, entry, *item) for item in self.seen.values()
        ):
            return False
        self.seen[request.base] = (value, entry)
        self.count += 1
        return True

    def remove(self, request: Request) -> None:
        if self.applies(request):
            self.seen.pop(request.base, None)
            self.count -= 1

    def _differs(
        self, value: TypedValue, entry: PooledDevice, other: TypedValue, holder: PooledDevice
    ) -> bool:
        if not value.kind:
            return False
        return entry is not holder if self.by_identity else value != other


def build_constraints(claim: ClaimRequests, rules: Behaviour) -> list[Constraint]:
    """Return fresh constraints of a claim; raises `AttemptAborted` for one of an unknown kind."""
    built: list[Constraint] = []
    for index, constraint in enumerate(claim.claim.spec.devices.constraints):
        built.append(_build(claim, index, constraint, rules))
    return built


def _build(
    claim: ClaimRequests, index: int, constraint: DeviceConstraint, rules: Behaviour
) -> Constraint:
    names, lists = constraint.requests, rules.features.list_attributes
    if constraint.match_attribute is not None:
        kind = _MatchSets if lists else _Match
        return kind(names, constraint.match_attribute)
    if constraint.distinct_attribute is not None and rules.has_distinct:
        if rules.distinct_by_request:
            by_identity = rules.distinct_by_identity
            return _DistinctByRequest(names, constraint.distinct_attribute, by_identity=by_identity)
        return _Distinct(names, constraint.distinct_attribute, lists=lists)
    text = "empty constraint (unsupported constraint type?)"
    raise AttemptAborted("constraint-unknown", f"claim {claim.name}, constraint #{index}: {text}")
