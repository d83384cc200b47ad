"""What devices publish: from a cluster, from slices among the files, and from driver descriptions.

A name that no device and no description has is likely a mistake; the nearest that there is is the
likely repair.
"""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.dra.inventory import inventory
from claimfit.dra.reading import Objects, read_objects
from claimfit.errors import ClaimfitError
from claimfit.hardware.drivers import drivers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claimfit.diagnose.lint.linting import Checked, Context
    from claimfit.dra.inventory import PublishedRow
    from claimfit.dra.objects import Device, DeviceAttribute, DeviceClass
    from claimfit.dra.profile import Profile
    from claimfit.hardware.facts import (
        AttributeDescription,
        CapacityDescription,
        DriverDescription,
    )

__all__ = ["Known", "World", "world_of"]

_LONGEST_NAME: Final = 63
_MAYBE_ABSENT: Final = re.compile(r"\b(absent|only|gate|newer|older|until|yet|missing|unknown)\b")
STANDARD_DOMAIN: Final = "resource.kubernetes.io"


class Known(NamedTuple):
    """One attribute or capacity that is published somewhere.

    Attributes:
        types: of its values, as in the API: string, int, bool, version ...; empty for a capacity.
        drivers: who publishes it.
        kinds: kinds of devices that have it, empty for all.
        maybe_absent: why a device may lack it, by its description; empty when it never does.
    """

    types: frozenset[str]
    drivers: frozenset[str]
    kinds: frozenset[str] = frozenset()
    maybe_absent: str = ""


Names = dict[tuple[str, str], Known]
"""(domain, identifier) -> what is known of it."""


class World(NamedTuple):
    """Everything that selectors, classes and constraints can be held against.

    Attributes:
        profile: the rules.
        objects: of the cluster and of the files together.
        rows: the devices of `objects`, per node that reaches them.
        described: descriptions of drivers.
        attributes: by (domain, identifier).
        capacities: by (domain, identifier).
        snapshot: whether `objects` stands for a whole cluster.
    """

    profile: Profile
    objects: Objects
    rows: tuple[PublishedRow, ...]
    described: tuple[DriverDescription, ...]
    attributes: Names
    capacities: Names
    snapshot: bool

    @property
    def drivers(self) -> frozenset[str]:
        """Drivers that have devices in the cluster or the files."""
        return frozenset(item.spec.driver for item in self.objects.slices)

    @property
    def domains(self) -> frozenset[str]:
        """Domains under which something is published."""
        named = {domain for domain, _ in (*self.attributes, *self.capacities)}
        return frozenset({STANDARD_DOMAIN, *named, *(item.name for item in self.described)})

    @property
    def source(self) -> str:
        """Where the names are from, for messages."""
        return "the cluster" if self.snapshot else "the known drivers"

    def device_class(self, name: str) -> DeviceClass | None:
        """Return the class `name` of the cluster or the files."""
        return next((item for item in self.objects.classes if item.metadata.name == name), None)

    def description_of(self, class_name: str) -> tuple[DriverDescription | None, str]:
        """Return the description of the driver that installs a class, and the kind of its devices.

        The kind is empty when the class lets in several.
        """
        for driver in self.described:
            for device_class in driver.classes:
                if device_class.name == class_name:
                    kind = device_class.kind
                    return driver, "" if kind == "any" else kind
        return None, ""

    def near(self, identifier: str, domain: str, *, capacity: bool = False) -> tuple[str, ...]:
        """Return identifiers of `domain` that are spelt nearly like `identifier`, nearest first."""
        names = self.capacities if capacity else self.attributes
        offered = sorted(name for there, name in names if there == domain)
        folded = [name for name in offered if name.casefold() == identifier.casefold()]
        return (*folded, *get_close_matches(identifier[:_LONGEST_NAME], offered, 3, 0.6))

    def homes(self, identifier: str, *, capacity: bool = False) -> tuple[str, ...]:
        """Return the domains that have `identifier`: the standard one, then those in use."""
        names = self.capacities if capacity else self.attributes
        found = sorted(domain for domain, name in names if name == identifier)
        use = self.drivers
        return tuple(sorted(found, key=lambda at: (at != STANDARD_DOMAIN, at not in use)))


def world_of(objects: Sequence[Checked], context: Context) -> World:
    """Return what can be known of devices from `objects` and `context`."""
    everything = Objects()
    if context.cluster is not None:
        everything.extend(context.cluster)
    everything.extend(_objects_of(objects))
    described = _descriptions(context)
    attributes: Names = {}
    capacities: Names = {}
    for driver in described:
        for attribute in driver.attributes:
            _add(
                attributes, _split(attribute.name, driver.name), _described(attribute, driver.name)
            )
        for capacity in driver.capacities:
            _add(capacities, _split(capacity.name, driver.name), _capacity(capacity, driver.name))
    for item in everything.slices:
        for device in item.spec.devices:
            _add_device(device, item.spec.driver, attributes, capacities)
    rows = tuple(inventory(everything.slices, everything.claims, everything.nodes))
    return World(
        context.profile,
        everything,
        rows,
        described,
        attributes,
        capacities,
        context.cluster is not None or bool(everything.slices),
    )


def _descriptions(context: Context) -> tuple[DriverDescription, ...]:
    own = {driver.name for driver in context.drivers}
    return (*context.drivers, *(item for item in drivers() if item.name not in own))


def _objects_of(objects: Iterable[Checked]) -> Objects:
    """Return those of the files that can be read; the others have findings already."""
    found = Objects()
    for checked in objects:
        manifest = checked.manifest
        try:
            text = json.dumps(manifest.value).encode()
            found.extend(read_objects(text, str(manifest)))
        except (ClaimfitError, ValueError):
            continue
    return found


def _add_device(device: Device, driver: str, attributes: Names, capacities: Names) -> None:
    for name, attribute in device.attributes.items():
        kind = _type_of(attribute)
        if kind:
            known = Known(frozenset({kind}), frozenset({driver}))
            _add(attributes, _split(name, driver), known)
    for name in device.capacity:
        _add(capacities, _split(name, driver), Known(frozenset(), frozenset({driver})))


def _type_of(attribute: DeviceAttribute) -> str:
    kinds = {
        "string": attribute.string,
        "int": attribute.integer,
        "bool": attribute.boolean,
        "version": attribute.version,
        "strings": attribute.strings,
        "ints": attribute.integers,
        "bools": attribute.booleans,
        "versions": attribute.versions,
    }
    return next((kind for kind, value in kinds.items() if value is not None), "")


def _described(attribute: AttributeDescription, driver: str) -> Known:
    absent = "" if attribute.always else _absence(attribute.trap)
    return Known(
        frozenset({attribute.type}),
        frozenset({driver}),
        frozenset(attribute.kinds),
        absent,
    )


def _capacity(capacity: CapacityDescription, driver: str) -> Known:
    absent = "" if capacity.always else _absence(capacity.trap)
    return Known(frozenset(), frozenset({driver}), frozenset(capacity.kinds), absent)


def _absence(trap: str) -> str:
    """Return `trap` when it says that a device may lack something."""
    return trap if _MAYBE_ABSENT.search(trap) else ""


def _split(name: str, driver: str) -> tuple[str, str]:
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def _add(names: Names, key: tuple[str, str], known: Known) -> None:
    before = names.get(key)
    if before is None:
        names[key] = known
        return
    if known.types <= before.types and known.drivers <= before.drivers and not before.kinds:
        return  # as almost all devices of a cluster
    names[key] = Known(
        before.types | known.types,
        before.drivers | known.drivers,
        before.kinds | known.kinds if before.kinds and known.kinds else frozenset(),
        before.maybe_absent,
    )


def devices_by_node(rows: Iterable[PublishedRow]) -> Iterator[tuple[str, list[PublishedRow]]]:
    """Yield each node with the devices that it reaches, in order of node."""
    nodes: dict[str, list[PublishedRow]] = {}
    for row in rows:
        nodes.setdefault(row.node, []).append(row)
    yield from sorted(nodes.items())
