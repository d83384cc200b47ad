"""Devices of one node that are alike: what a replica can be spread over.

Devices are alike when the same driver publishes them as the same product with the same memory. A
tensor-parallel replica takes its devices from one group, as the claim's constraint demands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.hardware.facts import Accelerator
from claimfit.records import NamedTuple
from claimfit.units import Bytes
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from claimfit.dra.inventory import PublishedRow
    from claimfit.dra.objects import Device
    from claimfit.hardware.facts import DeviceKind, DriverDescription

__all__ = ["DeviceGroup", "device_groups"]

AttributeValue = str | int | bool


class DeviceGroup(NamedTuple):
    """Like devices of one node."""

    node: str
    driver: str
    product: str
    """As published, such as `NVIDIA H100 80GB HBM3` or `NVIDIA A100-SXM4-40GB 1g.5gb`."""
    kind: DeviceKind | None
    """What the driver calls it (gpu, mig, vfio); None when it calls it nothing we know."""
    memory: Bytes | None
    """As published; None when the driver publishes none."""
    accelerator: Accelerator | None
    """The table's entry, or one made of what the device itself publishes; None if unknown."""
    described: bool
    """Whether claimfit has a description of the driver."""
    healthy: bool
    """False when the device itself says that it is not."""
    rows: tuple[PublishedRow, ...]

    @property
    def usable(self) -> int:
        """Devices that could be handed out if no claim held any."""
        return sum(1 for row in self.rows if row.sound) if self.healthy else 0

    @property
    def free(self) -> int:
        """Devices that a plain claim could be given now."""
        return sum(1 for row in self.rows if row.free) if self.healthy else 0

    @property
    def blocked(self) -> str:
        """Why none of the devices can be handed out, held or not; empty when some can."""
        if not self.healthy:
            return "the devices say that they are unhealthy"
        if self.usable:
            return ""
        first = self.rows[0]
        if first.obstacle:
            return first.obstacle
        if first.pool_problem is not None:
            return f"pool {first.pool_problem.kind}: {first.pool_problem.text}"
        taint = first.taints[0]
        return f"taint {taint.key}{'=' + taint.value if taint.value else ''}:{taint.effect}"

    @property
    def left_out_reason(self) -> str:
        """Why no model is judged on these devices."""
        if not self.described:
            return f"driver {self.driver} has no description (--driver-file)"
        return "the engine does not run on this kind of device"


def device_groups(
    rows: Iterable[PublishedRow],
    describe: Callable[[str], DriverDescription | None],
    identify: Callable[[str, Mapping[str, AttributeValue], Mapping[str, str]], Accelerator | None],
) -> list[DeviceGroup]:
    """Return the groups of `rows`, in the order in which nodes and products first appear.

    `describe` gives the description of a driver (None for an unknown one) and `identify` the entry
    of the accelerator table that a published device is.
    """
    faces: dict[tuple[object, ...], _Face] = {}
    lookups: dict[str, _Lookup] = {}
    groups: dict[tuple[str, str, _Face], list[PublishedRow]] = {}
    for row in rows:
        driver = row.id.driver
        lookup = lookups.get(driver)
        if lookup is None:
            lookup = lookups[driver] = _lookup(driver, describe(driver))
        key = _face_key(row.device, driver, lookup)
        face = faces.get(key)
        if face is None:
            face = faces[key] = _face(row.device, driver, lookup.description, identify)
        groups.setdefault((row.node, driver, face), []).append(row)
    return [
        DeviceGroup(node, driver, *face, tuple(members))
        for (node, driver, face), members in groups.items()
    ]


class _Face(NamedTuple):
    """What devices of a group have in common."""

    product: str
    kind: DeviceKind | None
    memory: Bytes | None
    accelerator: Accelerator | None
    described: bool
    healthy: bool


class _Lookup(NamedTuple):
    """What to look at on the devices of one driver."""

    description: DriverDescription | None
    attributes: tuple[tuple[str, str], ...]
    """Names that tell one kind of device from another, bare and qualified."""
    memory: tuple[str, str]


def _lookup(driver: str, description: DriverDescription | None) -> _Lookup:
    names: tuple[str, ...] = ()
    if description is not None:
        names = (
            *description.product_attributes,
            description.kind_attribute,
            description.bandwidth_attribute,
            description.health_attribute,
            *(kind.profile_attribute for kind in description.kinds),
        )
    memory = _memory_name(description)
    return _Lookup(
        description,
        tuple((name, f"{driver}/{name}") for name in dict.fromkeys(names) if name),
        (memory, f"{driver}/{memory}"),
    )


def _face_key(device: Device, driver: str, lookup: _Lookup) -> tuple[object, ...]:
    attributes = device.attributes
    key: list[object] = [driver]
    for bare, qualified in lookup.attributes:
        value = attributes.get(bare) or attributes.get(qualified)
        key.append(None if value is None else value.value)
    bare, qualified = lookup.memory
    memory = device.capacity.get(bare) or device.capacity.get(qualified)
    key.append(None if memory is None else memory.value)
    return tuple(key)


def _memory_name(description: DriverDescription | None) -> str:
    return "memory" if description is None else description.memory_capacity


def _face(
    device: Device,
    driver: str,
    description: DriverDescription | None,
    identify: Callable[[str, Mapping[str, AttributeValue], Mapping[str, str]], Accelerator | None],
) -> _Face:
    prefix = f"{driver}/"
    attributes: dict[str, AttributeValue] = {}
    for name, attribute in device.attributes.items():
        value = attribute.value
        if isinstance(value, (str, int)):
            attributes[name.removeprefix(prefix)] = value
    capacities = {
        name.removeprefix(prefix): str(capacity.value) for name, capacity in device.capacity.items()
    }
    memory = _memory(capacities, _memory_name(description), f"device {device.name} of {driver}")
    if description is None:
        return _Face("unknown product", None, memory, None, described=False, healthy=True)
    known = identify(driver, attributes, capacities)
    if known is None:
        known = _self_described(attributes, description, memory)
    kind = _kind(attributes, description)
    return _Face(
        _product(attributes, description, kind),
        kind,
        memory,
        known,
        described=True,
        healthy=_healthy(attributes, description),
    )


def _kind(
    attributes: Mapping[str, AttributeValue], description: DriverDescription
) -> DeviceKind | None:
    if not description.kind_attribute:
        return description.kinds[0] if description.kinds else None
    value = attributes.get(description.kind_attribute)
    return next((kind for kind in description.kinds if kind.value == value), None)


def _healthy(attributes: Mapping[str, AttributeValue], description: DriverDescription) -> bool:
    value = attributes.get(description.health_attribute)
    if value is None:
        return True
    literal = str(value).lower() if isinstance(value, bool) else value
    return literal == description.healthy_value.strip("'\"")


def _memory(capacities: Mapping[str, str], name: str, place: str) -> Bytes | None:
    text = capacities.get(name)
    return None if text is None else Bytes(Quantity.parse(text, place).nanos // 10**9)


def _product(
    attributes: Mapping[str, AttributeValue],
    description: DriverDescription,
    kind: DeviceKind | None,
) -> str:
    named = [str(attributes[name]) for name in description.product_attributes if name in attributes]
    profile = attributes.get(kind.profile_attribute) if kind else None
    words = named[:1] + ([str(profile)] if profile is not None else [])
    return " ".join(words) or (kind.name if kind else "unknown product")


def _self_described(
    attributes: Mapping[str, AttributeValue],
    description: DriverDescription,
    memory: Bytes | None,
) -> Accelerator | None:
    """Return an accelerator from a device that publishes its own bandwidth (llmfit.ai)."""
    bandwidth = attributes.get(description.bandwidth_attribute)
    if not isinstance(bandwidth, int) or isinstance(bandwidth, bool) or bandwidth <= 0:
        return None
    compute = attributes.get("computeTFLOPS")
    vendor = str(attributes.get("vendor", ""))
    product = _product(attributes, description, None)
    return Accelerator(
        id=f"{description.name}/{product}",
        vendor=vendor,
        name=product,
        memory_mib=None if memory is None else int(memory) >> 20,
        memory_known_mib=None,
        memory_visible_mib=None,
        bandwidth_gbs=float(bandwidth),
        tflops_fp16=float(compute) if isinstance(compute, int) and compute > 0 else None,
        tflops_fp8=None,
        tflops_fp4=None,
        link_gbs=None,
        parent="",
        profile="",
        memory_slices=0,
        published=(),
        unified_memory=attributes.get("unifiedMemory") is True,
        sources=(("bandwidth_gbs", f"published as {description.bandwidth_attribute}"),),
        uncertain=(),
    )
