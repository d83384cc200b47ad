"""One way to serve the model: so many devices, what each must be, and which ones that admits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.claim.conditions import with_health, with_kinds
from claimfit.claim.device_test import DeviceTest
from claimfit.claim.products import Candidate, judged, product_terms
from claimfit.errors import InexpressibleError
from claimfit.records import NamedTuple
from claimfit.sizing.memory import size
from claimfit.sizing.speed import bandwidth_floor
from claimfit.units import MIB, Bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claimfit.claim.device_test import ProductTerm
    from claimfit.claim.need import ClaimNeed
    from claimfit.hardware.facts import Accelerator, DriverDescription
    from claimfit.sizing.plan import DeviceNeed, Parallelism
    from claimfit.sizing.speed import BandwidthFloor

__all__ = ["Tier", "memory_need", "tier"]


class Tier(NamedTuple):
    """The claim for one number of devices."""

    parallelism: Parallelism
    need: DeviceNeed
    """Account of the heaviest device; `need.floor` is what the selector asks for."""
    share_mib: int
    """What a capacity request asks for when the device is shared, else 0."""
    bandwidth: BandwidthFloor | None
    """Where the driver publishes bandwidth and a speed is asked for."""
    test: DeviceTest
    candidates: tuple[Candidate, ...]

    @property
    def asked_mib(self) -> int:
        """Memory that one device must have: the share of it, or the floor."""
        return self.share_mib or self.need.floor.mib_up

    @property
    def admitted(self) -> tuple[Candidate, ...]:
        """Accelerators of the table that the selector lets in."""
        return tuple(item for item in self.candidates if item.admitted)

    @property
    def near_misses(self) -> tuple[Candidate, ...]:
        """Accelerators short of the memory floor by at most 3 %."""
        return tuple(item for item in self.candidates if item.near_miss)

    @property
    def doubtful(self) -> tuple[Candidate, ...]:
        """Accelerators on which published bandwidth and own p10 disagree."""
        return tuple(item for item in self.candidates if item.doubtful)


def tier(need: ClaimNeed, accelerators: Iterable[Accelerator], parallelism: Parallelism) -> Tier:
    """Return the claim of `need` on `parallelism.devices` devices, whether or not any is admitted.

    Raises:
        SizingError: from `size`, `rate` and `bandwidth_floor`.
        InexpressibleError: CLM011, the driver publishes nothing to tell products apart by; CLM013,
            its devices are not shared; CLM010, unlisted products cannot be asked for their memory.
    """
    account = memory_need(need, parallelism)
    share_mib = _share_mib(need, account)
    floor_mib = share_mib or account.floor.mib_up
    driver = need.driver
    bandwidth = None
    if need.min_tps and driver.bandwidth_attribute:
        bandwidth = bandwidth_floor(
            need.model, need.engine, need.workload, parallelism, need.min_tps
        )
    gbs = bandwidth.gbs if bandwidth else 0
    candidates = judged(need, accelerators, parallelism, floor_mib, gbs)
    test = DeviceTest(
        driver.name,
        memory_capacity=driver.memory_capacity,
        memory_mib=floor_mib if driver.memory_capacity else 0,
        bandwidth_attribute=driver.bandwidth_attribute if bandwidth else "",
        bandwidth_gbs=gbs,
    )
    kinds: DeviceTest | None = None
    if need.names_products:
        if need.share:
            candidates = tuple(_without_memory(item) for item in candidates)
        test, candidates = _with_products(need, test, candidates)
        kinds = _with_admitted_kinds(driver, test, candidates)
    elif not bandwidth:
        candidates = tuple(_without_memory(item) for item in candidates)
    test = with_health(driver, kinds or with_kinds(driver, need.device_class, test))
    return Tier(parallelism, account, share_mib, bandwidth, test, candidates)


def memory_need(need: ClaimNeed, parallelism: Parallelism) -> DeviceNeed:
    """Return the account whose floor holds the model on every device that publishes it."""
    return size(
        need.model,
        need.engine,
        need.workload,
        parallelism,
        board_reserve=Bytes(need.driver.board_reserve_mib * MIB),
    )


def _share_mib(need: ClaimNeed, account: DeviceNeed) -> int:
    """Return the memory of a share: no utilization, since the engine is told its part exactly."""
    if not need.share:
        return 0
    if not need.driver.shares or not need.driver.memory_capacity:
        raise InexpressibleError(
            "CLM013",
            f"{need.driver.name} has no devices that allow multiple allocations by memory",
            place="--share",
            fix="leave out --share: the claim then takes a whole device",
        )
    return Bytes(int(account.total.high) + account.reserve + 1).mib_up


def _with_products(
    need: ClaimNeed, test: DeviceTest, candidates: tuple[Candidate, ...]
) -> tuple[DeviceTest, tuple[Candidate, ...]]:
    driver = need.driver
    if not driver.product_attributes:
        raise InexpressibleError(
            "CLM011",
            f"{driver.name} publishes neither bandwidth nor a product name",
            place="--min-tps",
            expected="an attribute that the speed of a device follows from",
        )
    terms, candidates = product_terms(candidates, test.memory_mib)
    attribute = driver.product_attributes[0]
    if any(term.kind for term in terms):
        test = test._replace(kind_attribute=driver.kind_attribute)
    if not need.admit_unlisted:
        silent = bool(terms) and not any(term.has_memory for term in terms)
        memory_mib = 0 if silent else test.memory_mib
        named = test._replace(product_attribute=attribute, terms=terms, memory_mib=memory_mib)
        return named, candidates
    if not driver.memory_capacity:
        raise InexpressibleError(
            "CLM010",
            f"{driver.name} publishes no memory, so a product that is not listed cannot be asked "
            "whether it has enough",
            place="--unlisted",
            fix="leave out --unlisted admit, or list the product in a driver file",
        )
    return _admitting_unlisted(test, attribute, terms, candidates), candidates


def _admitting_unlisted(
    test: DeviceTest,
    attribute: str,
    terms: tuple[ProductTerm, ...],
    candidates: tuple[Candidate, ...],
) -> DeviceTest:
    """Return `test` that accepts every product but the listed ones which are not good enough."""
    special = tuple(
        term
        for term in terms
        if term.kind or term.at_least_mib or term.below_mib or not term.has_memory
    )
    good = {name for term in terms for name in term.products}
    refused = {
        name
        for item in candidates
        if not item.admitted and item.reason != "memory"
        for name in item.products
    }
    refused -= good
    return test._replace(
        product_attribute=attribute if special or refused else "",
        terms=special,
        refused_products=tuple(sorted(refused)),
        admits_unlisted=True,
    )


def _without_memory(item: Candidate) -> Candidate:
    """Return `item`, not admitted when it publishes no memory that could be asked for."""
    if item.admitted and item.silent:
        return item._replace(reason="memory", text="publishes no memory to be asked for")
    return item


def _with_admitted_kinds(
    driver: DriverDescription, test: DeviceTest, candidates: tuple[Candidate, ...]
) -> DeviceTest | None:
    """Return `test` with the kinds of the admitted products, None where they are not known."""
    seen = {item.kind for item in candidates if item.admitted}
    if not driver.kind_attribute or not seen or "" in seen or test.admits_unlisted:
        return None
    return test._replace(kind_attribute=driver.kind_attribute, kinds=tuple(sorted(seen)))
