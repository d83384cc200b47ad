"""Which type may stand for which: type parameters are found while calls are matched.

The rules are those of cel-go (checker/types.go): types are compared structurally, ``dyn`` goes with
everything, null goes with objects, and a parameter takes the first type that it meets unless a
later one is more general.
"""

from __future__ import annotations

from typing import Final

from claimfit.dra.cel.types import DYN, Type, parameter

__all__ = ["Unifier", "most_general"]

_NULLABLE: Final = frozenset(("opaque", "struct", "any", "duration", "timestamp"))
_CONTAINERS: Final = frozenset(("opaque", "list", "map"))


class Unifier:
    """What is known about type parameters; a failed match leaves it as it was."""

    __slots__ = ("_count", "_found", "_trail")

    def __init__(self) -> None:
        self._found: dict[str, Type] = {}
        self._trail: list[tuple[str, Type | None]] = []
        self._count = 0

    def fresh(self) -> Type:
        """Return a new type parameter."""
        self._count += 1
        return parameter(f"_var{self._count - 1}")

    def assignable(self, to: Type, given: Type) -> bool:
        """Whether `given` may stand for `to`; learns what that says about parameters."""
        return self.all_assignable((to,), (given,))

    def all_assignable(
        self, to: tuple[Type, ...] | list[Type], given: tuple[Type, ...] | list[Type]
    ) -> bool:
        """Whether each of `given` may stand for its partner in `to`; learns all or nothing."""
        mark = len(self._trail)
        if self._lists(to, given):
            return True
        while len(self._trail) > mark:
            name, before = self._trail.pop()
            if before is None:
                del self._found[name]
            else:
                self._found[name] = before
        return False

    def substituted(self, item: Type, *, dyn: bool = False) -> Type:
        """Return `item` with found parameters filled in; with `dyn` the rest becomes ``dyn``."""
        if item.kind == "parameter":
            found = self._found.get(item.name)
            if found is not None:
                return self.substituted(found, dyn=dyn)
            return DYN if dyn else item
        if not item.parameters:
            return item
        inner = tuple(self.substituted(part, dyn=dyn) for part in item.parameters)
        return Type(item.kind, item.name, inner)

    def renamed(self, item: Type, names: dict[str, Type]) -> Type:
        """Return `item` with its own parameters replaced by fresh ones, kept in `names`."""
        if item.kind == "parameter":
            fresh = names.get(item.name)
            if fresh is None:
                fresh = names[item.name] = self.fresh()
            return fresh
        if not item.parameters:
            return item
        inner = tuple(self.renamed(part, names) for part in item.parameters)
        return Type(item.kind, item.name, inner)

    def _learn(self, name: str, found: Type) -> None:
        self._trail.append((name, self._found.get(name)))
        self._found[name] = found

    def _lists(
        self, left: tuple[Type, ...] | list[Type], right: tuple[Type, ...] | list[Type]
    ) -> bool:
        return len(left) == len(right) and all(map(self._assignable, left, right))

    def _assignable(self, left: Type, right: Type) -> bool:
        if right.kind == "parameter":
            valid, known = self._substitutes(left, right)
            if valid or known:
                return valid
        if left.kind == "parameter":
            return self._substitutes(right, left)[0]
        if left.is_dyn or right.is_dyn or left.kind == "error" or right.kind == "error":
            return True
        if left.kind == "null" or right.kind == "null":
            other = right if left.kind == "null" else left
            return other.kind == "null" or other.kind in _NULLABLE
        if left.kind == "type":
            return right.kind == "type"
        if left.kind in _CONTAINERS:
            return (
                left.kind == right.kind
                and left.name == right.name
                and self._lists(left.parameters, right.parameters)
            )
        return left.exactly(right)

    def _substitutes(self, item: Type, unknown: Type) -> tuple[bool, bool]:
        """Return whether `item` may be what `unknown` is, and whether that was known before."""
        if item.kind == unknown.kind and item.exactly(unknown):
            return True, True
        found = self._found.get(unknown.name)
        if found is not None:
            if item.kind == found.kind and item.exactly(found):
                return True, True
            if self._assignable(item, found):
                general = most_general(item, found)
                if self._free_of(unknown, general):
                    self._learn(unknown.name, general)
                return True, True
            return False, True
        if self._free_of(unknown, item):
            self._learn(unknown.name, item)
            return True, False
        return False, False

    def _free_of(self, unknown: Type, within: Type) -> bool:
        """Whether `unknown` occurs nowhere in `within`."""
        if unknown.exactly(within):
            return False
        if within.kind == "parameter":
            found = self._found.get(within.name)
            return found is None or self._free_of(unknown, found)
        return all(self._free_of(unknown, part) for part in within.parameters)


def most_general(left: Type, right: Type) -> Type:
    """Return the less specific of two types that go together."""
    return left if _at_most_as_specific(left, right) else right


def _at_most_as_specific(left: Type, right: Type) -> bool:
    if left.is_dyn or left.kind == "parameter":
        return True
    if right.is_dyn or right.kind == "parameter" or left.kind != right.kind:
        return False
    if left.kind in _CONTAINERS:
        return (
            left.name == right.name
            and len(left.parameters) == len(right.parameters)
            and all(map(_at_most_as_specific, left.parameters, right.parameters))
        )
    return left.kind == "type" or left.exactly(right)
