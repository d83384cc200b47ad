"""Reads and checks the description of a DRA driver, shipped or written by the user.

The form is documented with a full example in docs/drivers.md. Names obey Kubernetes' own limits
(k8s.io/api resource/v1: drivers and domains are DNS subdomains of at most 63 characters, attribute
and capacity identifiers C identifiers of at most 32, selectors at most 10 KiB), so that a claim
written from a description is one that the API server takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from claimfit.errors import HardwareError
from claimfit.hardware.accelerators import quantity_of_mib
from claimfit.hardware.facts import (
    Accelerator,
    AttributeDescription,
    CapacityDescription,
    DeviceClassDescription,
    DeviceKind,
    DriverDescription,
    PublishedDevice,
)
from claimfit.hardware.fields import SUBDOMAIN, WORD, Fields, dotted
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from claimfit.hardware.facts import AttributeType
    from claimfit.hardware.fields import Where

__all__ = ["DRIVER_SCHEMA", "DriverFile", "described", "load_driver_file"]

DRIVER_SCHEMA: Final = "claimfit.dev/driver/v1"

_TYPES: Final = ("string", "int", "bool", "version", "strings", "ints", "bools", "versions")
_SAME: Final = ("pcieRoot", "numaNode", "product")

_FIELDS: Final = frozenset(
    {
        "schemaVersion",
        "name",
        "aliases",
        "servesModels",
        "source",
        "kindAttribute",
        "kinds",
        "classes",
        "defaultClass",
        "memoryCapacity",
        "bandwidthAttribute",
        "productAttributes",
        "health",
        "boardReserveMib",
        "shares",
        "same",
        "attributes",
        "capacities",
        "traps",
        "uncertain",
        "accelerators",
    }
)


class DriverFile(NamedTuple):
    """What one file describes."""

    driver: DriverDescription
    accelerators: tuple[Accelerator, ...]
    """Devices of this driver that the file adds to the accelerator table."""


def load_driver_file(content: str | bytes, place: str) -> DriverFile:
    """Return the driver that `content`, YAML or JSON, describes; `place` is its file name.

    Raises:
        InputError: the text is no YAML or JSON.
        HardwareError: DRV002 to DRV009, with the line and column of what is wrong.
    """
    from claimfit.manifests.reader import read_documents

    documents = read_documents(content, place)
    if len(documents) != 1:
        raise HardwareError(
            "DRV002",
            "a driver file holds one description",
            place=place,
            found=f"{len(documents)} documents",
            expected="one document",
        )
    return _file(documents[0].value, documents[0].where)


def described(value: object, place: str) -> DriverFile:
    """Return the driver that `value`, a decoded document, describes; `place` names it in errors.

    Raises:
        HardwareError: DRV002 to DRV009.
    """
    return _file(value, lambda path: f"{place}: {dotted(path)}" if path else place)


def _file(value: object, where: Where) -> DriverFile:
    if not isinstance(value, dict) or value.get("schemaVersion") != DRIVER_SCHEMA:
        found = value.get("schemaVersion") if isinstance(value, dict) else value
        raise HardwareError(
            "DRV002",
            "this is no driver description",
            place=where(()),
            found="nothing" if found is None else found,
            expected=f"an object with schemaVersion: {DRIVER_SCHEMA}",
        )
    fields = Fields(value, (), where, _FIELDS)
    driver = _driver(fields)
    return DriverFile(driver, tuple(_accelerators(fields, driver)))


def _driver(fields: Fields) -> DriverDescription:
    name = fields.name("name", fields.text("name"), SUBDOMAIN, 63, "DNS subdomain")
    attributes = tuple(_attributes(fields, name))
    capacities = tuple(_capacities(fields, name))
    attribute_names = [item.name for item in attributes]
    capacity_names = [item.name for item in capacities]
    fields.distinct("attributes", attribute_names)
    fields.distinct("capacities", capacity_names)

    def attribute(within: Fields, field: str, *types: str) -> str:
        value = within.text(field, "")
        if not value:
            return ""
        bare = within.qualified(field, value, name)
        within.one_of(field, bare, attribute_names, "described attribute")
        found = attributes[attribute_names.index(bare)].type
        if types and found not in types:
            within.wrong(field, f"{value}, of type {found}", f"a {' or '.join(types)} attribute")
        return bare

    kinds = tuple(_kinds(fields, attribute))
    kind_attribute = attribute(fields, "kindAttribute", "string")
    classes = tuple(_classes(fields, [item.name for item in kinds]))
    class_names = [item.name for item in classes]
    _check_kinds(fields, kinds, kind_attribute, (*attributes, *capacities))
    health = fields.inner("health", frozenset({"attribute", "healthy"}))
    memory = fields.text("memoryCapacity", "")
    if memory:
        memory = fields.qualified("memoryCapacity", memory, name)
        fields.one_of("memoryCapacity", memory, capacity_names, "described capacity")
    default_class = fields.text("defaultClass", class_names[0])
    products = tuple(
        fields.one_of(
            "productAttributes",
            fields.qualified("productAttributes", item, name),
            attribute_names,
            "described attribute",
        )
        for item in fields.texts("productAttributes")
    )
    return DriverDescription(
        name=name,
        classes=classes,
        default_class=fields.one_of("defaultClass", default_class, class_names, "class"),
        attributes=attributes,
        capacities=capacities,
        memory_capacity=memory,
        bandwidth_attribute=attribute(fields, "bandwidthAttribute", "int"),
        product_attributes=products,
        health_attribute=attribute(health, "attribute", "bool", "string"),
        healthy_value=_healthy_value(health),
        kind_attribute=kind_attribute,
        board_reserve_mib=fields.count("boardReserveMib", 0) or 0,
        shares=fields.flag("shares", default=False),
        source=fields.text("source", "described by the user"),
        traps=fields.texts("traps"),
        kinds=kinds,
        match_attributes=tuple(_same(fields, name, attribute_names)),
        serves_models=fields.flag("servesModels", default=True),
        aliases=tuple(
            fields.name("aliases", item, WORD, 63, "lower-case word")
            for item in fields.texts("aliases")
        ),
        uncertain=fields.texts("uncertain"),
    )


def _attributes(fields: Fields, driver: str) -> Iterator[AttributeDescription]:
    allowed = frozenset({"name", "type", "example", "always", "kinds", "trap"})
    for item in fields.objects("attributes", allowed):
        kind = item.one_of("type", item.text("type"), _TYPES, "attribute type")
        yield AttributeDescription(
            name=item.qualified("name", item.text("name"), driver),
            type=cast("AttributeType", kind),
            example=item.text("example", "", 64),
            always=item.flag("always", default=False),
            trap=item.text("trap", ""),
            kinds=item.texts("kinds"),
        )


def _capacities(fields: Fields, driver: str) -> Iterator[CapacityDescription]:
    allowed = frozenset({"name", "example", "always", "kinds", "trap"})
    for item in fields.objects("capacities", allowed):
        yield CapacityDescription(
            name=item.qualified("name", item.text("name"), driver),
            example=item.text("example", "", 64),
            always=item.flag("always", default=False),
            trap=item.text("trap", ""),
            kinds=item.texts("kinds"),
        )


def _kinds(fields: Fields, attribute: Callable[..., str]) -> Iterator[DeviceKind]:
    allowed = frozenset({"name", "value", "serves", "profileAttribute", "parentAttribute"})
    for item in fields.objects("kinds", allowed):
        yield DeviceKind(
            name=item.name("name", item.text("name"), WORD, 63, "lower-case word"),
            value=item.text("value", "", 64),
            serves=item.flag("serves", default=True),
            profile_attribute=attribute(item, "profileAttribute", "string"),
            parent_attribute=attribute(item, "parentAttribute", "string"),
        )


def _check_kinds(
    fields: Fields,
    kinds: Sequence[DeviceKind],
    kind_attribute: str,
    published: Sequence[AttributeDescription | CapacityDescription],
) -> None:
    names = [item.name for item in kinds]
    if not kinds:
        fields.refuse("DRV004", "kinds is missing", "", expected="at least one kind of device")
    fields.distinct("kinds", names)
    if kind_attribute:
        fields.distinct("kinds", [item.value for item in kinds])
    if bool(kind_attribute) != any(item.value for item in kinds):
        expected = "kindAttribute and a value for every kind, or neither"
        fields.refuse("DRV007", "kinds cannot be told apart", "kinds", expected=expected)
    for description in published:
        for kind in description.kinds:
            fields.one_of(f"kinds of {description.name}", kind, names, "kind")


def _classes(fields: Fields, kinds: Sequence[str]) -> Iterator[DeviceClassDescription]:
    names: list[str] = []
    for item in fields.objects("classes", frozenset({"name", "kind", "selectors"})):
        name = item.name("name", item.text("name"), SUBDOMAIN, 253, "DNS subdomain")
        names.append(name)
        default = kinds[0] if len(kinds) == 1 else "any"
        yield DeviceClassDescription(
            name=name,
            selectors=item.texts("selectors"),
            kind=item.one_of("kind", item.text("kind", default), ("any", *kinds), "kind"),
        )
    if not names:
        fields.refuse("DRV004", "classes is missing", "", expected="at least one device class")
    fields.distinct("classes", names)


def _healthy_value(health: Fields) -> str:
    """Return the CEL literal of the healthy value; JSON texts are CEL texts."""
    if not health.has("attribute"):
        return ""
    import json

    value = health.get("healthy")
    if not isinstance(value, bool | str):
        health.wrong("healthy", value, "true, false or a text")
    if isinstance(value, str):
        health.check_text("healthy", value, 64)
    return json.dumps(value, ensure_ascii=False)


def _same(fields: Fields, driver: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    same = fields.inner("same", frozenset(_SAME))
    for word in same.keys():  # noqa: SIM118  # not a dict
        bare = same.qualified(word, same.text(word), driver)
        same.one_of(word, bare, names, "described attribute")
        yield word, bare if "/" in bare else f"{driver}/{bare}"


def _accelerators(fields: Fields, driver: DriverDescription) -> Iterator[Accelerator]:
    allowed = frozenset(
        {
            "id",
            "vendor",
            "name",
            "memoryMib",
            "memoryKnownMib",
            "bandwidthGbs",
            "tflopsFp16",
            "tflopsFp8",
            "tflopsFp4",
            "linkGbs",
            "unifiedMemory",
            "attributes",
            "note",
        }
    )
    identifiers: list[str] = []
    for item in fields.objects("accelerators", allowed):
        identifier = item.text("id", None, 253)
        identifiers.append(item.name("id", identifier, SUBDOMAIN, 253, "lower-case name"))
        memory_mib = item.count("memoryMib", None, 1)
        published = memory_mib if driver.memory_capacity else None
        attributes = item.inner("attributes", frozenset(a.name for a in driver.attributes))
        yield Accelerator(
            id=identifier,
            vendor=item.text("vendor", driver.name),
            name=item.text("name", identifier),
            memory_mib=published,
            memory_known_mib=item.count("memoryKnownMib", memory_mib, 1),
            memory_visible_mib=None,
            bandwidth_gbs=item.amount("bandwidthGbs"),
            tflops_fp16=item.amount("tflopsFp16"),
            tflops_fp8=item.amount("tflopsFp8"),
            tflops_fp4=item.amount("tflopsFp4"),
            link_gbs=item.amount("linkGbs"),
            parent="",
            profile="",
            memory_slices=0,
            published=(
                PublishedDevice(
                    driver=driver.name,
                    attributes=tuple(_values(attributes, driver)),
                    capacities=()
                    if published is None
                    else ((driver.memory_capacity, quantity_of_mib(published)),),
                ),
            ),
            unified_memory=item.flag("unifiedMemory", default=False),
            sources=(("all", driver.source),),
            uncertain=(),
            note=item.text("note", ""),
        )
    fields.distinct("accelerators", identifiers)


def _values(
    attributes: Fields, driver: DriverDescription
) -> Iterator[tuple[str, str | int | bool]]:
    """Yield the attribute values of an accelerator, each of the type that is described."""
    if not attributes.keys():
        attributes.refuse("DRV004", "attributes is missing", "", expected="what names the product")
    for name in attributes.keys():  # noqa: SIM118  # not a dict
        description = driver.attribute(name)
        kind = "" if description is None else description.type
        value = attributes.get(name)
        if isinstance(value, bool):
            if kind != "bool":
                attributes.wrong(name, value, f"a value of type {kind}")
            yield name, value
        elif isinstance(value, int) and kind == "int":
            yield name, value
        elif kind in {"string", "version"} and isinstance(value, str) and value:
            attributes.check_text(name, value, 64)
            yield name, value
        else:
            attributes.wrong(name, value, f"a value of type {kind}")
