"""Accelerators and drivers as values: what `claimfit.hardware` loads and everything else reads.

Plain NamedTuples: this module is on the cold path of ``claimfit claim``.
"""

from __future__ import annotations

from typing import Literal

from claimfit.records import NamedTuple

__all__ = [
    "Accelerator",
    "AttributeDescription",
    "AttributeType",
    "CapacityDescription",
    "DeviceClassDescription",
    "DeviceKind",
    "DriverDescription",
    "PublishedDevice",
]

AttributeType = Literal["string", "int", "bool", "version", "strings", "ints", "bools", "versions"]


class PublishedDevice(NamedTuple):
    """How one driver publishes an accelerator: the values a selector may compare with."""

    driver: str
    attributes: tuple[tuple[str, str | int | bool], ...]
    """Distinguishing attributes only (type, productName, profile...); keys as in
    `DriverDescription.attributes`. Versions are strings."""
    capacities: tuple[tuple[str, str], ...]
    """Kubernetes quantities as published, such as ("memory", "81559Mi")."""


class Accelerator(NamedTuple):
    """One device or partition that a claim can be given.

    `memory_mib` is what the driver publishes (NVML total), never the nameplate: an H100 "80GB" is
    81559. None means that it publishes nothing; `memory_known_mib` is then the size known from
    elsewhere.
    """

    id: str
    vendor: str
    name: str
    memory_mib: int | None
    memory_known_mib: int | None
    memory_visible_mib: int | None
    """What the framework sees as total (torch), when measured."""
    bandwidth_gbs: float | None
    """Peak, GB/s (10**9)."""
    tflops_fp16: float | None
    """Dense, 10**12 operations per second; BF16 where FP16 is not stated."""
    tflops_fp8: float | None
    tflops_fp4: float | None
    link_gbs: float | None
    """Device-to-device link, both directions together, GB/s; None without one (PCIe only)."""
    parent: str
    """Id of the whole board for a partition, else empty."""
    profile: str
    """MIG profile, else empty."""
    memory_slices: int
    """Memory slices of a partition (of `parent`), 0 for a whole board."""
    published: tuple[PublishedDevice, ...]
    """As each of its drivers publishes it; empty when no DRA driver does (Apple)."""
    unified_memory: bool
    sources: tuple[tuple[str, str], ...]
    """(field, source)."""
    uncertain: tuple[str, ...]
    """Fields that no source we opened confirms."""
    note: str = ""
    architecture: str = ""
    """As NVML names it (Ampere, Ada Lovelace, Hopper ...); empty for other vendors."""
    compute_capability: str = ""
    """NVIDIA only, as the driver publishes it (semver): 9.0.0."""
    pci_ids: tuple[str, ...] = ()
    """vendor:device in hexadecimal, lower case. One id may stand for several boards."""
    parent_memory_slices: int = 0
    """Memory slices that the whole board has; 0 unless this is a partition."""


class AttributeDescription(NamedTuple):
    """One attribute that a driver publishes."""

    name: str
    """Bare in the driver's own domain , else qualified: `resource.kubernetes.io/pcieRoot`."""
    type: AttributeType
    example: str
    always: bool
    """Whether every device of the driver has it; else a selector must guard it."""
    trap: str = ""
    kinds: tuple[str, ...] = ()
    """Kinds of devices (`DeviceKind.name`) that may have it; empty means all."""


class CapacityDescription(NamedTuple):
    """One capacity that a driver publishes."""

    name: str
    example: str
    always: bool
    trap: str = ""
    kinds: tuple[str, ...] = ()
    """Kinds of devices (`DeviceKind.name`) that may have it; empty means all."""


class DeviceKind(NamedTuple):
    """One kind of device that a driver publishes side by side with others."""

    name: str
    """gpu, mig, vfio, partition, npu, cpu, nic ..."""
    value: str
    """What `DriverDescription.kind_attribute` holds for it; empty when the driver has no such."""
    serves: bool
    """Whether an engine can run a model on it (a VFIO function or a network card cannot)."""
    profile_attribute: str = ""
    """Attribute that names the partition profile, empty for whole devices."""
    parent_attribute: str = ""
    """Attribute that identifies the board a partition is cut from, or empty."""


class DeviceClassDescription(NamedTuple):
    """A DeviceClass that the driver's installation creates."""

    name: str
    selectors: tuple[str, ...]
    """CEL expressions as shipped."""
    kind: str
    """What its devices are, in a word: gpu, mig, vfio, tpu, any."""


class DriverDescription(NamedTuple):
    """What one DRA driver publishes and how to ask it for memory, speed and products."""

    name: str
    classes: tuple[DeviceClassDescription, ...]
    default_class: str
    attributes: tuple[AttributeDescription, ...]
    capacities: tuple[CapacityDescription, ...]
    memory_capacity: str
    """Capacity that holds device memory; empty when none is published (Gaudi, TPU)."""
    bandwidth_attribute: str
    """Integer attribute with peak GB/s; empty when none (all but llmfit.ai)."""
    product_attributes: tuple[str, ...]
    """Attributes that name the product, best first."""
    health_attribute: str
    """Boolean or string attribute of health; empty when none."""
    healthy_value: str
    """CEL literal that `health_attribute` has when healthy."""
    kind_attribute: str
    """Attribute that splits kinds of devices (`type`), or empty."""
    board_reserve_mib: int
    """Published memory that frameworks never see (NVML total less torch total), upper bound."""
    shares: bool
    """Whether devices may allow multiple allocations (consumable capacity)."""
    source: str
    traps: tuple[str, ...]
    kinds: tuple[DeviceKind, ...] = ()
    """Kinds of devices; at least one."""
    match_attributes: tuple[tuple[str, str], ...] = ()
    """What `--same` can ask for -> fully qualified attribute for a matchAttribute constraint:
    ("pcieRoot", "resource.kubernetes.io/pcieRoot"). A word that is absent cannot be asked for."""
    serves_models: bool = True
    """False for drivers of networks, CPUs and the like: lint knows them, `--target` does not."""
    aliases: tuple[str, ...] = ()
    """Short names that users type: nvidia."""
    uncertain: tuple[str, ...] = ()
    """Parts of this description that no source we opened confirms."""

    def attribute(self, name: str) -> AttributeDescription | None:
        """Return the description of attribute `name`, or None."""
        return next((item for item in self.attributes if item.name == name), None)

    def capacity(self, name: str) -> CapacityDescription | None:
        """Return the description of capacity `name`, or None."""
        return next((item for item in self.capacities if item.name == name), None)

    def serving_kinds(self, device_class: DeviceClassDescription) -> tuple[DeviceKind, ...]:
        """Return the kinds of devices in `device_class` on which an engine can run.

        A selector has to name them (`kind_attribute` in their values) when the class lets in others
        too: `gpu.amd.com` matches boards, partitions and VFIO functions alike.
        """
        return tuple(
            kind for kind in self.kinds if kind.serves and device_class.kind in {"any", kind.name}
        )

    def kind(self, name: str) -> DeviceKind | None:
        """Return the kind `name`, or None."""
        return next((item for item in self.kinds if item.name == name), None)
