"""Which accelerators of the table a claim may be given, which not, and why.

A driver that publishes no bandwidth is asked for speed by product: those of the table whose p10
reaches the floor. Names repeat (an RTX 3080 has 10 or 12 GB, a MIG slice carries the name of its
board), so a product that has a namesake which is not good enough is asked for together with the
memory that tells the two apart, half-way between them: published sizes drift by a few percent
between driver releases. Where memory cannot tell them apart, the product is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from claimfit.claim.device_test import ProductTerm
from claimfit.records import NamedTuple
from claimfit.sizing.speed import rate_of
from claimfit.sizing.support import engine_refusal
from claimfit.sizing.traffic import step_traffic
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from claimfit.claim.need import ClaimNeed
    from claimfit.hardware.facts import Accelerator, DriverDescription, PublishedDevice
    from claimfit.sizing.plan import Parallelism, Rate

__all__ = ["Candidate", "Reason", "judged", "product_terms"]

Reason = Literal["admitted", "memory", "unknown", "engine", "speed", "namesake"]

_NEAR_MISS: Final = 0.03
"""Share of the floor; boards sold as one size publish 0.4 to 2.9 % less than it."""
_LLMFIT_VENDORS: Final = frozenset({"nvidia", "amd", "intel"})
"""Vendors whose boards llmfit.ai publishes (its probes are Linux and PCI)."""


class Candidate(NamedTuple):
    """One accelerator of the table, judged."""

    accelerator: Accelerator
    kind: str
    """Value of the driver's kind attribute; empty when the driver has none or it is not known."""
    products: tuple[str, ...]
    """Values of the driver's product attribute under which it is published."""
    reason: Reason
    text: str
    """Why it is not admitted, with the numbers; or what its own speed says when it is."""
    rate: Rate | None
    near_miss: bool = False
    """Short of the memory floor by at most 3 %."""
    doubtful: bool = False
    """The bandwidth it publishes and its own p10 disagree about the speed floor."""
    refusal: str = ""
    """Why the engine does not start on it, where no selector could keep it out."""
    silent: bool = False
    """It publishes no memory at all (GB10, Gaudi, TPU): no selector on memory matches it."""

    @property
    def admitted(self) -> bool:
        """Whether the claim can be given this accelerator."""
        return self.reason == "admitted"

    @property
    def memory_mib(self) -> int | None:
        """What it publishes, or what is known of that; None when it is silent or unknown."""
        accelerator = self.accelerator
        return None if self.silent else accelerator.memory_mib or accelerator.memory_known_mib


def judged(
    need: ClaimNeed,
    accelerators: Iterable[Accelerator],
    parallelism: Parallelism,
    floor_mib: int,
    bandwidth_gbs: int,
) -> tuple[Candidate, ...]:
    """Return a verdict for each accelerator that `need`'s driver and class can offer.

    `bandwidth_gbs` is what the selector asks for where the driver publishes it, else 0.
    """
    traffic = None
    if need.min_tps:
        traffic = step_traffic(need.model, need.engine, need.workload, parallelism)

    def speed_on(accelerator: Accelerator) -> Rate | None:
        if traffic is None or not accelerator.bandwidth_gbs:
            return None
        return rate_of(
            traffic, accelerator, need.engine, need.workload, parallelism, need.calibration
        )

    return tuple(
        _verdict(need, offered, speed_on, floor_mib, bandwidth_gbs)
        for offered in _offered(need, accelerators)
    )


def _offered(need: ClaimNeed, accelerators: Iterable[Accelerator]) -> Iterator[Candidate]:
    driver = need.driver
    kinds = {kind.value for kind in driver.serving_kinds(need.device_class)}
    for accelerator in accelerators:
        mine = [item for item in accelerator.published if item.driver == driver.name]
        if not mine:
            if driver.bandwidth_attribute and _boards_of_any_driver(accelerator):
                yield Candidate(accelerator, "", (), "unknown", "", None)
            continue
        kind = _value(mine[0], driver.kind_attribute)
        if not kind or kind in kinds:
            names = tuple(name for item in mine if (name := _product(item, driver)))
            silent = _is_silent(accelerator, driver)
            yield Candidate(accelerator, kind, names, "unknown", "", None, silent=silent)


def _is_silent(accelerator: Accelerator, driver: DriverDescription) -> bool:
    """Return whether `driver` publishes no memory of `accelerator`.

    Without a figure in the table, a board with memory of its own publishes one that is not known
    (GH200 144 GB); one that shares its host's memory publishes none (GB10).
    """
    described = driver.capacity(driver.memory_capacity)
    if described is None or accelerator.memory_mib is not None:
        return described is None
    return accelerator.unified_memory and not described.always


def _boards_of_any_driver(accelerator: Accelerator) -> bool:
    return not accelerator.parent and accelerator.vendor in _LLMFIT_VENDORS


def _value(published: PublishedDevice, attribute: str) -> str:
    return str(dict(published.attributes).get(attribute, "")) if attribute else ""


def _product(published: PublishedDevice, driver: DriverDescription) -> str:
    return _value(published, driver.product_attributes[0]) if driver.product_attributes else ""


def _verdict(
    need: ClaimNeed,
    offered: Candidate,
    speed_on: Callable[[Accelerator], Rate | None],
    floor_mib: int,
    bandwidth_gbs: int,
) -> Candidate:
    accelerator = offered.accelerator
    memory_mib = accelerator.memory_mib or accelerator.memory_known_mib
    if memory_mib is None:
        return offered._replace(text="its memory is not known")
    if memory_mib < floor_mib:
        short = Quantity.of_mib(floor_mib - memory_mib)
        verb = "publishes" if accelerator.memory_mib else "has"
        text = f"{verb} {memory_mib}Mi, {short} short of {Quantity.of_mib(floor_mib)}"
        near = floor_mib - memory_mib <= _NEAR_MISS * floor_mib
        return offered._replace(reason="memory", text=text, near_miss=near)
    refusal = engine_refusal(need.engine, need.quantization, accelerator)
    if refusal and need.names_products:
        return offered._replace(reason="engine", text=refusal)
    offered = offered._replace(refusal=refusal)
    if not need.min_tps:
        return offered._replace(reason="admitted")
    speed = speed_on(accelerator)
    if speed is None or not accelerator.bandwidth_gbs:
        return offered._replace(text="its bandwidth is not known, and so its speed is not")
    slow = speed.p10 < need.min_tps
    text = f"p10 is {speed.p10:.1f} of {need.min_tps:g} tok/s" if slow else ""
    if not bandwidth_gbs:
        return offered._replace(reason="speed" if slow else "admitted", text=text, rate=speed)
    published = int(accelerator.bandwidth_gbs)
    if published < bandwidth_gbs:
        text = f"{published} of {bandwidth_gbs} GB/s" + (
            "" if slow else f", although its own p10 is {speed.p10:.1f} tok/s"
        )
        return offered._replace(reason="speed", text=text, rate=speed, doubtful=not slow)
    return offered._replace(reason="admitted", text=text, rate=speed, doubtful=slow)


def product_terms(
    candidates: Sequence[Candidate], floor_mib: int
) -> tuple[tuple[ProductTerm, ...], tuple[Candidate, ...]]:
    """Return the terms that admit exactly the admitted, and the candidates with what had to go.

    A candidate that no term can tell from a worse namesake comes back with reason `namesake`.
    """
    rivals: dict[str, list[Candidate]] = {}
    for item in candidates:
        memory = item.memory_mib
        if not item.admitted and (memory is None or memory >= floor_mib):
            for product in item.products:
                rivals.setdefault(product, []).append(item)
    kept: list[Candidate] = []
    ranges: dict[tuple[str, bool, str], list[tuple[int, int]]] = {}
    for item in candidates:
        if not item.admitted:
            kept.append(item)
            continue
        worse = [rival for product in item.products for rival in rivals.get(product, ())]
        told = _told_apart(item, worse)
        if told is None or not item.products:
            kept.append(_left_out(item, worse))
            continue
        kept.append(item)
        kind, low, high = told
        for product in item.products:
            ranges.setdefault((product, item.silent, kind), []).append((low, high))
    return _as_terms(ranges), tuple(kept)


def _as_terms(
    ranges: dict[tuple[str, bool, str], list[tuple[int, int]]],
) -> tuple[ProductTerm, ...]:
    """Return the terms for (product, silent, kind) -> memory ranges: products alike share one."""
    alike: dict[tuple[bool, str, int, int], list[str]] = {}
    for (product, silent, kind), bounds in sorted(ranges.items()):
        for low, high in _joined(bounds):
            alike.setdefault((silent, kind, low, high), []).append(product)
    return tuple(
        ProductTerm(tuple(products), kind, low, high, has_memory=not silent)
        for (silent, kind, low, high), products in sorted(alike.items())
    )


def _joined(bounds: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the union of half-open ranges; 0 as upper bound is none."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(bounds):
        if joined and (not joined[-1][1] or low <= joined[-1][1]):
            first, last = joined[-1]
            joined[-1] = (first, max(last, high) if last and high else 0)
        else:
            joined.append((low, high))
    return joined


def _told_apart(item: Candidate, worse: Sequence[Candidate]) -> tuple[str, int, int] | None:
    """Return (kind, memory from, memory below) that no namesake in `worse` has, or None."""
    bounds = _bounds(item, worse)
    if bounds is not None:
        return "", *bounds
    alike = [rival for rival in worse if rival.kind == item.kind]
    bounds = _bounds(item, alike) if len(alike) < len(worse) else None
    return None if bounds is None else (item.kind, *bounds)


def _bounds(item: Candidate, worse: Sequence[Candidate]) -> tuple[int, int] | None:
    """Return the memory from which on and below which a device is `item`; None when none tells."""
    if not worse:
        return 0, 0
    if item.memory_mib is None:
        return None
    mine, low, high = item.memory_mib, 0, 0
    for rival in worse:
        other = rival.memory_mib
        if other is None or other == mine:
            return None
        if other < mine:
            low = max(low, (other + mine + 1) // 2)
        else:
            high = min(high or other, (other + mine + 1) // 2)
    return low, high


def _left_out(item: Candidate, worse: Sequence[Candidate]) -> Candidate:
    if not item.products:
        return item._replace(reason="namesake", text="is published without a product name")
    names = ", ".join(sorted({rival.accelerator.name for rival in worse}))
    text = f"is published like {names}, which is too slow"
    return item._replace(reason="namesake", text=text)
