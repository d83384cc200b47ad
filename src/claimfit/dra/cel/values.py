"""The values of CEL in Python, their equality, order, size and printed form.

======================  ==========================================================================
CEL                     here
======================  ==========================================================================
bool, int, double       `bool`, `int` (always within int64), `float`
uint                    `Uint`
string, bytes, null     `str`, `bytes`, None
list, map               `list`, `MapValue`
duration, timestamp     `Duration`, `Timestamp`
optional, type          `Optional`, `TypeValue`
Quantity, Semver, ...   subclasses of `Opaque`, in modules of their own
======================  ==========================================================================

Error texts are those of cel-go (common/types), which reach the user through the scheduler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Union

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "MISSING",
    "NONE",
    "NUMERIC",
    "Duration",
    "EvalError",
    "FailureError",
    "MapValue",
    "MutableList",
    "MutableMap",
    "Opaque",
    "Optional",
    "Panic",
    "PlanError",
    "Timestamp",
    "TypeValue",
    "Uint",
    "Value",
    "_Missing",
    "go_type",
    "map_key",
    "no_such_overload",
    "size",
    "type_name",
]


class FailureError(Exception):
    """Base of the exceptions that stay inside this package.

    Takes a template with ``%s`` and its values, as Go's fmt does; a template alone is taken as is.
    """

    def __init__(self, template: str, *values: object) -> None:
        self.message = template % values if values else template
        super().__init__(self.message)


class EvalError(FailureError):
    """The evaluation of an expression, or of a part, failed; ``&&`` and ``||`` may absorb it."""


class Panic(FailureError):  # noqa: N818  # as Go's: ends the evaluation, no error of the language
    """The evaluation as a whole ends: cost limit, or a fault in cel-go; nothing absorbs it."""


def no_such_overload(function: str = "") -> EvalError:
    """Return the error for operands of types that nothing accepts."""
    if function:
        return EvalError("no such overload: %s", function)
    return EvalError("no such overload")


class Uint(int):
    """An unsigned 64-bit integer."""

    __slots__ = ()


class Duration:
    """A span of time in nanoseconds, within int64."""

    __slots__ = ("nanos",)

    def __init__(self, nanos: int) -> None:
        self.nanos = nanos


class Timestamp:
    """A moment: nanoseconds since 1970, and the offset from UTC that it was written with."""

    __slots__ = ("nanos", "offset_seconds")

    def __init__(self, nanos: int, offset_seconds: int = 0) -> None:
        self.nanos = nanos
        self.offset_seconds = offset_seconds


class Optional:
    """A value that may be absent."""

    __slots__ = ("value",)

    def __init__(self, value: Value | _Missing) -> None:
        self.value = value


class TypeValue:
    """A type as a value, which ``type()`` returns."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class _Missing:
    """The class of `MISSING`."""

    __slots__ = ()


MISSING: Final = _Missing()
"""No value, where None is one."""

NONE: Final = Optional(MISSING)
"""``optional.none()``."""


class Opaque:
    """Base of the values that Kubernetes adds; two of different types cannot be compared.

    Attributes:
        type_name: the CEL type.
        go_type: the Go type, which some messages name.
        hashable: whether Go could use it as a map key.
    """

    __slots__ = ()

    type_name: ClassVar[str]
    go_type: ClassVar[str]
    hashable: ClassVar[bool] = True

    def equals(self, other: Value) -> bool:
        """Whether `other` is equal; raises `EvalError` when it is of another type."""
        raise NotImplementedError

    def byte_size(self) -> int | None:
        """The size that costs count, None where it counts as one."""
        return None


class MapValue:
    """A map. Keys are `map_key`s, so that 1, 1u, 1.0 and true stay apart."""

    __slots__ = ("entries",)

    def __init__(self, entries: dict[object, tuple[Value, Value]]) -> None:
        self.entries = entries

    def __len__(self) -> int:
        return len(self.entries)

    def keys(self) -> Iterator[Value]:
        """Return the keys in order of insertion."""
        return (key for key, _ in self.entries.values())

    def items(self) -> Iterator[tuple[Value, Value]]:
        """Return keys and values."""
        return iter(self.entries.values())

    def find(self, key: Value) -> Value | _Missing:
        """Return the value of `key`, numbers of other types included; or `MISSING`."""
        if not self.entries:
            return MISSING
        found = self.entries.get(map_key(key))
        if found is None and type(key) in NUMERIC:
            for other in _same_number(key):
                found = self.entries.get((type(other), other))
                if found is not None:
                    break
        return MISSING if found is None else found[1]

    def has(self, key: Value) -> bool:
        """Whether there is an entry for `key`, defaults of a subclass not counted."""
        return MapValue.find(self, key) is not MISSING


class MutableList(list["Value"]):
    """The list that a fold gathers into; adding to it changes it."""

    __slots__ = ()


class MutableMap(MapValue):
    """The map that a fold gathers into."""

    __slots__ = ()


Value = Union[  # noqa: UP007  # `|` cannot name classes in strings at run time
    bool,
    int,
    float,
    str,
    bytes,
    None,
    list["Value"],
    MapValue,
    Duration,
    Timestamp,
    Optional,
    TypeValue,
    Opaque,
]

NUMERIC: Final = frozenset((int, Uint, float))
INT64: Final = 1 << 63
_TYPE_NAMES: Final = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    MutableList: "list",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    Optional: "optional_type",
    TypeValue: "type",
}
_GO_TYPES: Final = {
    "bool": "types.Bool",
    "int": "types.Int",
    "uint": "types.Uint",
    "double": "types.Double",
    "string": "types.String",
    "bytes": "types.Bytes",
    "null_type": "types.Null",
    "google.protobuf.Duration": "types.Duration",
    "google.protobuf.Timestamp": "types.Timestamp",
    "optional_type": "*types.Optional",
    "type": "*types.Type",
    "list": "*types.baseList",
    "map": "*types.baseMap",
}


def type_name(value: Value) -> str:
    """Return the name of the CEL type of `value`."""
    name = _TYPE_NAMES.get(type(value))
    if name is not None:
        return name
    return value.type_name if isinstance(value, Opaque) else "map"


def go_type(value: Value) -> str:
    """Return the Go type of `value`, which messages about ranges of folds name."""
    return value.go_type if isinstance(value, Opaque) else _GO_TYPES[type_name(value)]


def map_key(value: Value) -> object:
    """Return `value` as the key of a map; a type that Go cannot hash is a panic there."""
    kind = type(value)
    if kind is str:
        return value
    if kind in NUMERIC or kind is bool:
        return kind, value
    if value is None:
        return (None,)
    if isinstance(value, Duration):
        return Duration, value.nanos
    if isinstance(value, Timestamp):
        return Timestamp, value.nanos, value.offset_seconds
    if kind is bytes or (isinstance(value, Opaque) and not value.hashable):
        unhashable = go_type(value)
        raise Panic("internal error: runtime error: hash of unhashable type %s", unhashable)
    return kind, id(value)


def _same_number(key: Value) -> list[int | float]:
    """Return the numbers of other types, uint and int, that equal `key` without loss."""
    found: list[int | float] = []
    if isinstance(key, float):
        if abs(key) < 2.0**64 and key.is_integer():
            whole = int(key)
            if -INT64 < whole < INT64:
                found.append(whole)
            if whole >= 0:
                found.append(Uint(whole))
    elif isinstance(key, Uint):
        if key < INT64:
            found.append(int(key))
    elif isinstance(key, int) and key >= 0:
        found.append(Uint(key))
    return found


# --- equality ------------------------------------------------------------------------------------


# --- order, size, text ----------------------------------------------------------------------------


def size(value: Value) -> int | None:
    """Return the number of characters, bytes, items or entries; None for what has no size."""
    if isinstance(value, str | bytes | list | MapValue):
        return len(value)
    if isinstance(value, Opaque):
        return value.byte_size()
    return None


class PlanError(FailureError):
    """The expression checks but no program can be made of it; the message is cel-go's."""
