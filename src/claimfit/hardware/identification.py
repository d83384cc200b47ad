"""Which accelerator a published device is.

A name alone does not say: an RTX 3060 has 8 or 12 GB, a MIG slice carries the name of its board, a
GH200 carries the size of its CPU's memory. A device is identified by driver, product, kind and
partition profile together with the memory that it publishes; what does not agree in all of them is
not identified.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from claimfit.hardware.accelerators import accelerators
from claimfit.records import NamedTuple
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from claimfit.hardware.facts import Accelerator, PublishedDevice

__all__ = ["DeviceIndex", "identify"]

_MEMORY_SPREAD: Final = 0.08
"""How far published memory may be from the table, as a share of it.

ECC on GDDR takes 1/16 (an A10 publishes 24564Mi without it, 23028Mi with it), driver releases move
a MIG slice by up to 7 % (a B200's 1g.23gb had 22.0 and 20.5 GiB); the closest namesakes are 17 %
apart (RTX 3080, 10 and 12 GB)."""

_NAMEPLATE_SPREAD: Final = 0.10
"""The same where the table holds a nameplate of 10**9 bytes per GB: GiB are 7.4 % more."""

_NOT_A_PRODUCT: Final = frozenset({"type", "profile", "partitionProfile", "family"})

_MIB: Final = 1 << 20


class _Candidate(NamedTuple):
    accelerator: Accelerator
    kind: str
    """Value of `type` that the device must have, empty when the driver has none."""
    profile: str
    """Value of `partitionProfile` that it must have, or empty."""
    mig_slices: int
    """Compute slices of the MIG profile that it must have, 0 when it must be no MIG slice."""
    capacity: str
    """Name of the memory capacity."""
    memory_mib: int | None
    spread: float


class DeviceIndex:
    """Identifies devices among given accelerators; building it costs about a millisecond."""

    __slots__ = ("_candidates", "_products")

    def __init__(self, devices: Iterable[Accelerator]) -> None:
        self._candidates: dict[tuple[str, str, str], list[_Candidate]] = {}
        self._products: dict[str, dict[str, None]] = {}
        for device in devices:
            for published in device.published:
                self._add(device, published)

    def _add(self, device: Accelerator, published: PublishedDevice) -> None:
        values = dict(published.attributes)
        product = next((name for name in values if name not in _NOT_A_PRODUCT), None)
        if product is None:
            return
        self._products.setdefault(published.driver, {})[product] = None
        expects_memory = device.memory_mib is not None and bool(published.capacities)
        self._candidates.setdefault((published.driver, product, str(values[product])), []).append(
            _Candidate(
                accelerator=device,
                kind=str(values.get("type", "")),
                profile=str(values.get("partitionProfile", "")),
                mig_slices=_mig_slices(str(values.get("profile", ""))),
                capacity=published.capacities[0][0] if published.capacities else "memory",
                memory_mib=device.memory_mib if expects_memory else device.memory_known_mib,
                spread=_MEMORY_SPREAD if expects_memory else _NAMEPLATE_SPREAD,
            )
        )

    def identify(
        self,
        driver: str,
        attributes: Mapping[str, object],
        capacities: Mapping[str, str | int],
    ) -> Accelerator | None:
        """Return the accelerator that this device of `driver` is, or None when none agrees.

        `attributes` and `capacities` are those of the ResourceSlice, with names bare or in the
        driver's own domain. A capacity is a quantity as text, or its bytes.

        Raises:
            InputError: UNT001 to UNT003, the text of the memory capacity is no quantity.
        """
        best: tuple[float, Accelerator] | None = None
        tied = False
        for product in self._products.get(driver, ()):
            value = attributes.get(product, attributes.get(f"{driver}/{product}"))
            if not isinstance(value, str):
                continue
            for candidate in self._candidates.get((driver, product, value), ()):
                distance = _distance(candidate, driver, attributes, capacities)
                if distance is None:
                    continue
                if best is None or distance < best[0]:
                    best, tied = (distance, candidate.accelerator), False
                elif distance == best[0] and candidate.accelerator is not best[1]:
                    tied = True
        return None if best is None or tied else best[1]


def identify(
    driver: str, attributes: Mapping[str, object], capacities: Mapping[str, str | int]
) -> Accelerator | None:
    """Return the accelerator of the table that this published device is, or None.

    See `DeviceIndex.identify`; this one knows the shipped table only.
    """
    return _default_index().identify(driver, attributes, capacities)


@cache
def _default_index() -> DeviceIndex:
    return DeviceIndex(accelerators())


def _distance(
    candidate: _Candidate,
    driver: str,
    attributes: Mapping[str, object],
    capacities: Mapping[str, str | int],
) -> float | None:
    """Return how far the published memory is from the candidate's, None when they differ."""

    def published(name: str) -> object:
        return attributes.get(name, attributes.get(f"{driver}/{name}", ""))

    if candidate.kind and published("type") != candidate.kind:
        return None
    if candidate.profile and published("partitionProfile") != candidate.profile:
        return None
    if candidate.mig_slices != _mig_slices(published("profile")):
        return None
    memory = capacities.get(candidate.capacity, capacities.get(f"{driver}/{candidate.capacity}"))
    if memory is None:
        # Only a device that is known to publish no memory is itself without any.
        return 0.0 if candidate.accelerator.memory_mib is None else None
    if isinstance(memory, str):
        memory = Quantity.parse(memory).nanos // 10**9
    expected = (candidate.memory_mib or 0) * _MIB
    if not expected:
        return None
    distance = abs(memory - expected)
    return distance / expected if distance <= candidate.spread * expected else None


def _mig_slices(profile: object) -> int:
    """Return the compute slices of a MIG profile (`3g.40gb`, `1g.5gb+me`), 0 for anything else.

    The size in the name is not read: 3g.39gb and 3g.40gb are the same slice under two drivers.
    Compute instances within a slice (`1c.3g.40gb`) are none of ours.
    """
    if not isinstance(profile, str):
        return 0
    slices, found, _ = profile.partition("g.")
    return int(slices) if found and len(slices) == 1 and slices in "1234567" else 0
