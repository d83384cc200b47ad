"""A device as the variable ``device``: values read when they are asked for.

Attribute and capacity names are split at their first slash; without one, the domain is the driver's
name. Looking up an unknown domain gives an empty map, as in k8s.io/dynamic-resource-allocation/cel.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeVar

from claimfit.dra.cel.quantities import CelQuantity
from claimfit.dra.cel.semver import Semver
from claimfit.dra.cel.values import MISSING, EvalError, FailureError, MapValue

if TYPE_CHECKING:
    from claimfit.dra.cel.values import Value
    from claimfit.dra.objects import Device, DeviceAttribute, DeviceCapacity

__all__ = ["DeviceView", "UnusableDeviceError"]


_Valued = TypeVar("_Valued")


class UnusableDeviceError(FailureError):
    """An attribute has no value that CEL can hold: every selector fails on the device."""


class DomainMap(MapValue):
    """A map that has an empty map for every domain that it does not hold."""

    __slots__ = ()

    def find(self, key: Value) -> Value:
        """Return the map of a domain, empty for an unknown one."""
        found = self.entries.get(key) if isinstance(key, str) else None
        return MapValue({}) if found is None else found[1]

    def has(self, key: Value) -> bool:
        """Whether the device has anything in the domain."""
        return isinstance(key, str) and key in self.entries


class NamedMap(MapValue):
    """A map with text keys; other keys are not found, rather than a fault."""

    __slots__ = ()

    def find(self, key: Value) -> object:  # type: ignore[override]  # MISSING is an object
        """Return the value of a name, or `MISSING`."""
        found = self.entries.get(key) if isinstance(key, str) else None
        return MISSING if found is None else found[1]

    def has(self, key: Value) -> bool:
        """Whether there is a value of that name."""
        return isinstance(key, str) and key in self.entries


class DeviceView:
    """One device of one driver, for one evaluation.

    Values are made once per view, since a sum may change a quantity (see `quantities`).
    """

    __slots__ = ("_capacities", "_device", "_lists", "_map", "driver")

    def __init__(self, device: Device, driver: str, *, lists: bool) -> None:
        """View `device`; `lists` says whether list attributes can be read."""
        self._device = device
        self.driver = driver
        self._lists = lists
        self._capacities: dict[str, CelQuantity] = {}
        self._map: MapValue | None = None

    def check(self) -> None:
        """Raise `UnusableDeviceError` when an attribute has no value that CEL can hold."""
        for name, attribute in self._device.attributes.items():
            if attribute.string is None and attribute.integer is None and attribute.boolean is None:
                try:
                    attribute_value(attribute, lists=self._lists)
                except EvalError as problem:
                    raise UnusableDeviceError("attribute %s: %s", name, problem.message) from None

    @property
    def shared(self) -> bool:
        """Whether the device can be allocated more than once."""
        return bool(self._device.allow_multiple_allocations)

    def attribute(self, domain: str, name: str) -> Value | object:
        """Return the value of an attribute, or `MISSING`."""
        found = self._named(self._device.attributes, domain, name)
        return MISSING if found is None else attribute_value(found[1], lists=self._lists)

    def capacity(self, domain: str, name: str) -> Value | object:
        """Return the value of a capacity, or `MISSING`."""
        found = self._named(self._device.capacity, domain, name)
        return MISSING if found is None else self._quantity(*found)

    def value(self) -> MapValue:
        """Return the device as one value."""
        if self._map is None:
            device = self._device
            attributes = self._grouped(
                {
                    name: attribute_value(attribute, lists=self._lists)
                    for name, attribute in device.attributes.items()
                }
            )
            capacity = self._grouped(
                {name: self._quantity(name, amount) for name, amount in device.capacity.items()}
            )
            fields: dict[str, Value] = {
                "driver": self.driver,
                "allowMultipleAllocations": self.shared,
                "attributes": attributes,
                "capacity": capacity,
            }
            self._map = MapValue({name: (name, value) for name, value in fields.items()})
        return self._map

    def _named(
        self, values: dict[str, _Valued], domain: str, name: str
    ) -> tuple[str, _Valued] | None:
        if domain == self.driver:
            found = values.get(name)
            if found is not None:
                return name, found
        qualified = f"{domain}/{name}"
        found = values.get(qualified)
        return None if found is None else (qualified, found)

    def _grouped(self, values: dict[str, Value]) -> DomainMap:
        domains: dict[object, tuple[Value, Value]] = {}
        for qualified, value in values.items():
            domain, slash, name = qualified.partition("/")
            if not slash:
                domain, name = self.driver, qualified
            entry = domains.get(domain)
            if entry is None:
                entry = domains[domain] = (domain, NamedMap({}))
            entries = entry[1].entries  # type: ignore[union-attr]  # a NamedMap
            if not slash or name not in entries:  # as `_named`; in Go either may win
                entries[name] = (name, value)
        return DomainMap(domains)

    def _quantity(self, name: str, amount: DeviceCapacity) -> CelQuantity:
        made = self._capacities.get(name)
        if made is None:
            made = self._capacities[name] = CelQuantity.parse(str(amount.value))
        return made


def attribute_value(attribute: DeviceAttribute, *, lists: bool) -> Value:
    """Return the value of an attribute; raises `EvalError` when CEL can hold none."""
    if lists:
        found = _list_value(attribute)
        if found is not None:
            return found
    if attribute.integer is not None:
        return attribute.integer
    if attribute.boolean is not None:
        return attribute.boolean
    if attribute.string is not None:
        return attribute.string
    if attribute.version is not None:
        return _version(attribute.version)
    raise EvalError("unsupported attribute value")


def _list_value(attribute: DeviceAttribute) -> list[Value] | None:
    for values in (attribute.integers, attribute.booleans, attribute.strings):
        if values is not None:
            return [*values]
    if attribute.versions is not None:
        return [_version(text) for text in attribute.versions]
    return None


def _version(text: str) -> Semver:
    found = _semver(text)
    if isinstance(found, str):
        raise EvalError(found)
    return found


_MOST_VERSIONS: Final = 4096


@lru_cache(maxsize=_MOST_VERSIONS)
def _semver(text: str) -> Semver | str:
    try:
        return Semver.parse(text)
    except EvalError as problem:
        return f"parse semantic version: {problem.message}"
