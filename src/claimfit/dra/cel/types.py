"""The static types of CEL, and how messages write them."""

from __future__ import annotations

from typing import Final

__all__ = ["DYN", "ERROR", "Type", "parameter"]


class Type:
    """A type: a kind, a name and the types that it is made of.

    Attributes:
        kind: bool, bytes, double, int, string, uint, null, dyn, any, error, duration, timestamp,
            list, map, struct, opaque, type, or parameter (a type yet to be found).
        name: as the run time calls it.
        parameters: item types of lists, maps, optionals and type values.
    """

    __slots__ = ("kind", "name", "parameters")

    def __init__(self, kind: str, name: str, parameters: tuple[Type, ...] = ()) -> None:
        self.kind = kind
        self.name = name
        self.parameters = parameters

    @property
    def is_dyn(self) -> bool:
        """Whether anything may be here: ``dyn`` or ``any``."""
        return self.kind in {"dyn", "any"}

    @property
    def is_optional(self) -> bool:
        """Whether it is an optional of something."""
        return self.kind == "opaque" and self.name == "optional_type"

    def exactly(self, other: Type) -> bool:
        """Whether `other` is the same type."""
        return (
            self.kind == other.kind
            and self.name == other.name
            and len(self.parameters) == len(other.parameters)
            and all(map(Type.exactly, self.parameters, other.parameters))
        )

    def __str__(self) -> str:
        """Return the type as the type checker's messages write it."""
        if not self.parameters:
            return _SHORT.get(self.name, self.name)
        return f"{self.name}({', '.join(map(str, self.parameters))})"

    @property
    def declared(self) -> str:
        """The type as the output-type message writes it, with full names."""
        if self.kind == "parameter":
            return f"<{self.name}>"
        if not self.parameters:
            return self.name
        return f"{self.name}({', '.join(inner.declared for inner in self.parameters)})"


_SHORT: Final = {
    "google.protobuf.Any": "any",
    "google.protobuf.Duration": "duration",
    "google.protobuf.Timestamp": "timestamp",
    "null_type": "null",
    "error": "!error!",
}

BOOL: Final = Type("bool", "bool")
BYTES: Final = Type("bytes", "bytes")
DOUBLE: Final = Type("double", "double")
INT: Final = Type("int", "int")
STRING: Final = Type("string", "string")
UINT: Final = Type("uint", "uint")
NULL: Final = Type("null", "null_type")
DYN: Final = Type("dyn", "dyn")
ANY: Final = Type("any", "google.protobuf.Any")
ERROR: Final = Type("error", "error")
DURATION: Final = Type("duration", "google.protobuf.Duration")
TIMESTAMP: Final = Type("timestamp", "google.protobuf.Timestamp")
TYPE: Final = Type("type", "type")


def list_of(item: Type) -> Type:
    """Return the type of lists of `item`."""
    return Type("list", "list", (item,))


def map_of(key: Type, value: Type) -> Type:
    """Return the type of maps from `key` to `value`."""
    return Type("map", "map", (key, value))


def optional_of(item: Type) -> Type:
    """Return the type of optional `item`."""
    return Type("opaque", "optional_type", (item,))


def type_of(inner: Type) -> Type:
    """Return the type of the type value `inner`."""
    return Type("type", "type", (inner,))


def struct(name: str) -> Type:
    """Return an object type."""
    return Type("struct", name)


def opaque(name: str) -> Type:
    """Return a type without visible structure."""
    return Type("opaque", name)


def parameter(name: str) -> Type:
    """Return a type yet to be found."""
    return Type("parameter", name)


def function_text(arguments: list[Type], *, method: bool) -> str:
    """Return argument types as messages write them: ``target.(arguments)`` or ``(arguments)``."""
    target = f"{arguments[0]}." if method else ""
    return f"{target}({', '.join(map(str, arguments[1:] if method else arguments))})"
