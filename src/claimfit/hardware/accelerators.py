"""The accelerators that claimfit knows, and the one that a user means by a name.

The table is `data/accelerators.json`: whole boards with their own values, and partitions as shares
of a board, so that the bandwidth and arithmetic of a slice cannot drift from the board it is cut
from. Every value names its source; docs/hardware.md says how they were obtained.
"""

from __future__ import annotations

import json
import os.path
from functools import cache
from typing import TYPE_CHECKING, Final

from claimfit.errors import HardwareError
from claimfit.hardware.facts import Accelerator, PublishedDevice
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypedDict

    class _Source(TypedDict):
        opened: bool
        text: str

    class _Published(TypedDict, total=False):
        driver: str
        attributes: dict[str, str | int | bool]
        capacities: dict[str, str]

    class _Board(TypedDict, total=False):
        id: str
        vendor: str
        name: str
        memory_mib: int
        memory_known_mib: int
        memory_visible_mib: int
        bandwidth_gbs: float
        tflops_fp16: float
        tflops_fp8: float
        tflops_fp4: float
        link_gbs: float
        architecture: str
        compute_capability: str
        pci_ids: list[str]
        published: list[_Published]
        unified_memory: bool
        sources: dict[str, str]
        note: str

    class _Profile(TypedDict, total=False):
        profile: str
        suffix: str
        """End of the id; the profile itself unless given."""
        memory_mib: int
        share: list[int]
        """Memory slices of this partition and of the board."""
        compute: list[int]
        """Compute slices of this partition and of the board."""
        capacities: dict[str, str]
        source: str

    class _Partitions(TypedDict, total=False):
        parents: list[str]
        alike: list[str]
        """Boards with the same geometry for which nobody opened a source."""
        kind: str
        """`mig` or `amd`."""
        profiles: list[_Profile]

    class _File(TypedDict):
        version: str
        sources: dict[str, _Source]
        boards: list[_Board]
        partitions: list[_Partitions]


__all__ = ["accelerator", "accelerators", "quantity_of_mib", "table_version", "with_memory"]

_FILE: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data/accelerators.json")  # noqa: PTH118, PTH120  # pathlib costs 3 ms at start-up

_VALUES: Final = (
    "memory_mib",
    "memory_known_mib",
    "memory_visible_mib",
    "bandwidth_gbs",
    "tflops_fp16",
    "tflops_fp8",
    "tflops_fp4",
    "link_gbs",
)
"""Fields of a board that carry a source each."""

_MEMORY_DRIVERS: Final = frozenset({"gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com"})
"""Drivers that publish `memory_mib` as capacity `memory`, when they can read it."""

_LONGEST_NAME: Final = 128
"""Characters of a name that are looked at: the longest in the table has 59."""


class _Table(NamedTuple):
    version: str
    accelerators: tuple[Accelerator, ...]


def accelerators() -> tuple[Accelerator, ...]:
    """Return every known accelerator: boards in table order, each before its partitions."""
    return _table().accelerators


def table_version() -> str:
    """Return the version of the table, a date; it changes whenever a value changes."""
    return _table().version


def with_memory(devices: Iterable[Accelerator], floor_mib: int) -> tuple[Accelerator, ...]:
    """Return those of `devices` that publish at least `floor_mib` of memory.

    A device that publishes no capacity (GB10, Gaudi, TPU) is left out whatever it has: a selector
    on memory never matches it.
    """
    return tuple(
        device
        for device in devices
        if device.memory_mib is not None and device.memory_mib >= floor_mib
    )


def accelerator(name: str, devices: Sequence[Accelerator] | None = None) -> Accelerator:
    """Return the accelerator that `name` means among `devices` (default: the table).

    An exact id wins. Then, whatever the case, spaces, hyphens and underscores: the id without its
    vendor, the name, the product string as published (with the profile for a partition) and the
    PCI id must mean one device. Last, `name` may be some of the words of one name: "h100 nvl"; not
    when the rest makes another product ("4070 Ti" is no "4070 Ti SUPER").

    Raises:
        HardwareError: HWD001, nothing is called so; HWD002, several devices are.
    """
    known = accelerators() if devices is None else devices
    for device in known:
        if device.id == name:
            return device
    wanted = _normal(name[:_LONGEST_NAME])
    spellings = [(device, _spellings(device)) for device in known]
    found = [device for device, names in spellings if wanted in names]
    if not found:
        found = _with_words(frozenset(wanted.split()), spellings)
    if len(found) == 1:
        return found[0]
    if found:
        raise HardwareError(
            "HWD002",
            "several accelerators have this name",
            found=name,
            expected="one accelerator",
            fix="give the id of one of them",
            candidates=tuple(device.id for device in found),
        )
    raise HardwareError(
        "HWD001",
        "unknown accelerator",
        found=name,
        expected="an id, a name, a product string or a PCI id of the accelerator table",
        candidates=_nearest(wanted, spellings),
    )


_BRANDS: Final = frozenset(
    {"amd", "apple", "aws", "geforce", "google", "instinct", "intel", "nvidia", "radeon", "tesla"}
)
_VARIANTS: Final = frozenset(
    {"d", "gre", "laptop", "max", "mobile", "pro", "super", "ti", "ultra", "xt", "xtx"}
)
"""Words that make another product of the one whose name goes without."""
_SEPARATORS: Final = str.maketrans("_-()/,", "      ")


def _normal(text: str) -> str:
    return " ".join(text.casefold().translate(_SEPARATORS).split())


def _without_brand(name: str) -> str:
    """Return normalized `name` without the makers and brands that it starts with."""
    words = name.split()
    while len(words) > 1 and words[0] in _BRANDS:
        del words[0]
    return " ".join(words)


def _spellings(device: Accelerator) -> frozenset[str]:
    """Return every normalized spelling that means `device`, or one of several such devices."""
    names = {_normal(device.id), _normal(device.name)}
    names |= {_without_brand(name) for name in names}
    for published in device.published:
        for attribute, value in published.attributes:
            if attribute in {"type", "profile", "partitionProfile", "family"}:
                continue
            product = _normal(str(value))
            products = {product, _without_brand(product)}
            if device.profile:
                profile = _normal(device.profile)
                products = {f"{item} {kind}{profile}" for item in products for kind in ("", "mig ")}
            names |= products
    names.update(_normal(pci_id) for pci_id in device.pci_ids)
    return frozenset(names)


def _with_words(
    words: frozenset[str], spellings: Sequence[tuple[Accelerator, frozenset[str]]]
) -> list[Accelerator]:
    """Return the devices one spelling of which has all of `words`.

    Whole boards come first: "A100 80GB" does not mean the 29 slices of such boards. A single board
    of another variant is none: the board that was meant is not in the table.
    """
    if not words:
        return []
    found = [
        device
        for device, names in spellings
        if any(words.issubset(spelling.split()) for spelling in names)
    ]
    found = [device for device in found if not device.parent] or found
    variants = _VARIANTS - words
    if len(found) == 1 and not variants.isdisjoint(_without_brand(_normal(found[0].name)).split()):
        return []
    return found


def _nearest(
    wanted: str, spellings: Sequence[tuple[Accelerator, frozenset[str]]]
) -> tuple[str, ...]:
    from difflib import get_close_matches

    owners: dict[str, str] = {}
    for device, names in spellings:
        for spelling in sorted(names):
            owners.setdefault(spelling, device.id)
            for word in spelling.split():
                if len(word) > 2 and not word.isalpha():  # model numbers: h100, mi300x
                    owners.setdefault(word, device.id)
    close = get_close_matches(wanted, sorted(owners), n=8, cutoff=0.6)
    return tuple(dict.fromkeys(owners[spelling] for spelling in close))


@cache
def _table() -> _Table:
    with open(_FILE, encoding="utf-8") as stream:  # noqa: PTH123  # as above
        content: _File = json.load(stream)
    boards = content["boards"]
    shares: dict[str, list[tuple[str, _Profile, str]]] = {}
    for group in content["partitions"]:
        alike = group.get("alike", [])
        for profile in group["profiles"]:
            for parent in group["parents"]:
                shares.setdefault(parent, []).append((group["kind"], profile, profile["source"]))
            for parent in alike:
                shares.setdefault(parent, []).append((group["kind"], profile, "alike"))
    known: list[Accelerator] = []
    for entry in boards:
        board = _board(entry, content["sources"])
        known.append(board)
        known.extend(
            _partition(board, kind, profile, content["sources"][source])
            for kind, profile, source in shares.get(board.id, ())
        )
    return _Table(content["version"], tuple(known))


def _board(entry: _Board, texts: dict[str, _Source]) -> Accelerator:
    keys = entry.get("sources", {})
    sources: list[tuple[str, str]] = []
    uncertain: list[str] = []
    for field in (*_VALUES, "published", "pci_ids"):
        if field in entry:
            source = texts[keys.get(field, "general")]
            sources.append((field, source["text"]))
            if not source["opened"]:
                uncertain.append(field)
    memory_mib = entry.get("memory_mib")
    return Accelerator(
        id=entry["id"],
        vendor=entry["vendor"],
        name=entry["name"],
        memory_mib=memory_mib,
        memory_known_mib=entry.get("memory_known_mib", memory_mib),
        memory_visible_mib=entry.get("memory_visible_mib"),
        bandwidth_gbs=entry.get("bandwidth_gbs"),
        tflops_fp16=entry.get("tflops_fp16"),
        tflops_fp8=entry.get("tflops_fp8"),
        tflops_fp4=entry.get("tflops_fp4"),
        link_gbs=entry.get("link_gbs"),
        parent="",
        profile="",
        memory_slices=0,
        published=tuple(_published(item, memory_mib) for item in entry.get("published", ())),
        unified_memory=entry.get("unified_memory", False),
        sources=tuple(sources),
        uncertain=tuple(uncertain),
        note=entry.get("note", ""),
        architecture=entry.get("architecture", ""),
        compute_capability=entry.get("compute_capability", ""),
        pci_ids=tuple(entry.get("pci_ids", ())),
    )


def _partition(board: Accelerator, kind: str, profile: _Profile, source: _Source) -> Accelerator:
    slices, of_slices = profile["share"]
    compute, of_compute = profile["compute"]
    name = profile["profile"]
    mig = kind == "mig"
    suffix = f"mig-{name}" if mig else profile.get("suffix", name)
    product = next(value for key, value in board.published[0].attributes if key == "productName")
    attributes: list[tuple[str, str | int | bool]] = [
        ("type", "mig" if mig else "amdgpu-partition"),
        ("productName", product),
        ("profile" if mig else "partitionProfile", name),
    ]
    published = PublishedDevice(
        driver=board.published[0].driver,
        attributes=tuple(attributes),
        capacities=(
            ("memory", quantity_of_mib(profile["memory_mib"])),
            *profile.get("capacities", {}).items(),
        ),
    )
    derived = tuple(
        field
        for field in ("bandwidth_gbs", "tflops_fp16", "tflops_fp8", "tflops_fp4")
        if getattr(board, field) is not None
    )
    share = "derived: the board's value by its share of slices; the vendor publishes none"
    return Accelerator(
        id=f"{board.id}-{suffix}",
        vendor=board.vendor,
        name=f"{board.name} {'MIG ' if mig else ''}{name}",
        memory_mib=profile["memory_mib"],
        memory_known_mib=profile["memory_mib"],
        memory_visible_mib=None,
        bandwidth_gbs=_share(board.bandwidth_gbs, slices, of_slices),
        tflops_fp16=_share(board.tflops_fp16, compute, of_compute),
        tflops_fp8=_share(board.tflops_fp8, compute, of_compute),
        tflops_fp4=_share(board.tflops_fp4, compute, of_compute),
        link_gbs=None,
        parent=board.id,
        profile=name,
        memory_slices=slices,
        published=(published,),
        unified_memory=board.unified_memory,
        sources=(
            ("memory_mib", source["text"]),
            *((field, share) for field in derived),
        ),
        uncertain=derived if source["opened"] else ("memory_mib", *derived),
        note="Bandwidth and arithmetic are derived from the whole board.",
        architecture=board.architecture,
        compute_capability=board.compute_capability,
        parent_memory_slices=of_slices,
    )


def _share(value: float | None, part: int, whole: int) -> float | None:
    return None if value is None else value * part / whole


def _published(entry: _Published, memory_mib: int | None) -> PublishedDevice:
    capacities = list(entry.get("capacities", {}).items())
    if memory_mib is not None and entry["driver"] in _MEMORY_DRIVERS:
        capacities.insert(0, ("memory", quantity_of_mib(memory_mib)))
    return PublishedDevice(
        driver=entry["driver"],
        attributes=tuple(entry["attributes"].items()),
        capacities=tuple(capacities),
    )


def quantity_of_mib(mib: int) -> str:
    """Return `mib` as Kubernetes prints a binary quantity: 80Gi, 81559Mi."""
    return f"{mib // 1024}Gi" if mib % 1024 == 0 else f"{mib}Mi"
