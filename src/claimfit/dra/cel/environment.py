"""What an expression may name: variables, types, functions and macros, per profile and mode.

A stored expression may use everything of the running minor. A new or changed one may use only what
the minor before already had, so that the API server can be rolled back; what a feature gate turns
on counts at once (k8s.io/apiserver pkg/cel/environment).
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.dra.cel import types as t
from claimfit.dra.cel.macros import Macros
from claimfit.dra.cel.signatures import SIGNATURES
from claimfit.dra.cel.types import Type

if TYPE_CHECKING:
    from claimfit.dra.profile import Profile

__all__ = ["Environment", "Function", "Overload", "environment"]

DEVICE: Final = "kubernetes.DRADevice"
"""The type of the variable ``device``."""


class Overload(NamedTuple):
    """One signature of a function; of a method the target is the first argument."""

    name: str
    method: bool
    arguments: tuple[Type, ...]
    result: Type
    generic: bool


class Function(NamedTuple):
    """A function or method with its overloads, in the order in which they are tried."""

    name: str
    overloads: tuple[Overload, ...]


class Environment(NamedTuple):
    """Everything that the checker and the evaluator look up.

    Attributes:
        minor: the Kubernetes minor, such as 36.
        functions: by name.
        names: the types that are values, such as ``int``, by name.
        fields: the fields of `DEVICE`, by name.
        attribute: the type of an attribute: ``any``, or ``dyn`` where lists are possible.
        macros: the macros.
        backticks: whether a field can be selected by a name in backticks.
    """

    minor: int
    functions: dict[str, Function]
    names: dict[str, Type]
    fields: dict[str, Type]
    attribute: Type
    macros: Macros
    backticks: bool


_QUANTITY: Final = t.struct("kubernetes.Quantity")
_SIMPLE: Final = {
    "bool": t.BOOL,
    "bytes": t.BYTES,
    "double": t.DOUBLE,
    "duration": t.DURATION,
    "dyn": t.DYN,
    "int": t.INT,
    "string": t.STRING,
    "timestamp": t.TIMESTAMP,
    "uint": t.UINT,
    "net.IP": t.opaque("net.IP"),
    "net.CIDR": t.opaque("net.CIDR"),
}
_NAMES: Final = {
    **{name: t.type_of(_SIMPLE[name]) for name in ("bool", "bytes", "double", "int", "string")},
    "uint": t.type_of(t.UINT),
    "google.protobuf.Duration": t.type_of(t.DURATION),
    "google.protobuf.Timestamp": t.type_of(t.TIMESTAMP),
    "list": t.type_of(t.list_of(t.parameter("A"))),
    "map": t.type_of(t.map_of(t.parameter("A"), t.parameter("B"))),
    "null_type": t.type_of(t.NULL),
    "type": t.type_of(t.TYPE),
    "net.IP": t.type_of(_SIMPLE["net.IP"]),
    "net.CIDR": t.type_of(_SIMPLE["net.CIDR"]),
    "optional_type": t.type_of(t.optional_of(t.parameter("V"))),
}
_PART: Final = re.compile(r"\s*([\w.]+)(\()?\s*")

_ALWAYS: Final = (
    "standard",
    "url",
    "regex",
    "lists",
    "authorization",
    "optional",
    "quantity",
    "strings",
    "sets",
    "ip",
    "cidr",
    "format",
    "two variables",
    "semver",
)
_MACROS: Final = ("standard", "optional", "two variables", "bind")


def environment(profile: Profile, *, new: bool = False) -> Environment:
    """Return the environment of `profile` for stored or for new and changed expressions."""
    return _environment(
        profile.minor,
        consumable=profile.enabled("DRAConsumableCapacity"),
        lists=profile.enabled("DRAListTypeAttributes"),
        new=new,
    )


@cache
def _environment(minor: int, *, consumable: bool, lists: bool, new: bool) -> Environment:
    compatible = minor - 1 if new else minor
    libraries = list(_ALWAYS)
    macros = list(_MACROS)
    if compatible >= 34:
        libraries.append("lists3")
        macros.append("lists")
    if minor >= 37:
        if not new or lists:
            libraries.append("includes")
    elif minor == 36 and (not new or lists):
        libraries.append("includes")
    attribute = t.DYN if lists and minor >= 36 else t.ANY
    if minor >= 37 and not new:
        attribute = t.DYN
    fields = {
        "driver": t.STRING,
        "attributes": t.map_of(t.STRING, t.map_of(t.STRING, attribute)),
        "capacity": t.map_of(t.STRING, t.map_of(t.STRING, _QUANTITY)),
    }
    if consumable or not new:
        fields["allowMultipleAllocations"] = t.BOOL
    functions = _functions(libraries, minor)
    return Environment(
        minor, functions, _NAMES, fields, attribute, Macros(tuple(macros)), minor >= 37
    )


def _functions(libraries: list[str], minor: int) -> dict[str, Function]:
    found: dict[str, list[Overload]] = {}
    for library in libraries:
        for name, overload in _library(library):
            if minor >= 37 and overload.name == "int64_to_duration":
                continue  # cel-go 0.29 no longer declares it
            renamed = overload
            if minor >= 37 and overload.name == "dra_includes_dyn_dyn":
                renamed = overload._replace(name="list_includes_dyn_dyn")
            found.setdefault(name, []).append(renamed)
    return {name: Function(name, tuple(overloads)) for name, overloads in found.items()}


@cache
def _library(name: str) -> list[tuple[str, Overload]]:
    return [_declared(line) for line in SIGNATURES[name].split("\n") if line]


def _declared(line: str) -> tuple[str, Overload]:
    function, overload, signature = line.split(" ", 2)
    arguments, result = signature.split("-> ")
    generic = bool(re.search(r"\b[A-Z]\b", signature))
    method = function.startswith(".")
    types, _ = _types(arguments, 0)
    returned, _ = _types(result, 0)
    overload = overload.replace("_@", "_google.protobuf.")
    return function.removeprefix("."), Overload(overload, method, types, returned[0], generic)


def _types(written: str, at: int) -> tuple[tuple[Type, ...], int]:
    """Return the types written from `at` on, and where they end."""
    found: list[Type] = []
    while at < len(written):
        part = _PART.match(written, at)
        if part is None:
            break
        at = part.end()
        inner: tuple[Type, ...] = ()
        if part[2]:
            inner, at = _types(written, at)
        found.append(_type(part[1], inner))
        while at < len(written) and written[at] == " ":
            at += 1
        if at < len(written) and written[at] == ")":
            return tuple(found), at + 1
        at += 1  # the comma
    return tuple(found), at


def _type(name: str, inner: tuple[Type, ...]) -> Type:
    if name in {"list", "map", "type"}:
        return Type(name, name, inner)
    if name == "optional_type":
        return t.optional_of(inner[0])
    if name in _SIMPLE:
        return _SIMPLE[name]
    if len(name) == 1:
        return t.parameter(name)
    prefix, _, rest = name.partition(".")
    full = {"k8s": "kubernetes.", "authz": "kubernetes.authorization."}[prefix] + rest
    return t.struct(full)
