"""From what is needed to a plan: how many devices, of which kind, under which name.

The smallest number of devices that any listed accelerator can serve with wins, or the smallest that
some node of the given cluster has. `--alternatives` keeps every number, up to eight, fewest devices
first: the scheduler takes the first that fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.claim.need import MOST_DEVICES, check_need
from claimfit.claim.nodes import shortfall
from claimfit.claim.tiers import Tier, tier
from claimfit.errors import InexpressibleError, NotSatisfiableError, SizingError
from claimfit.hardware.accelerators import accelerators, table_version
from claimfit.records import NamedTuple
from claimfit.sizing.parallel import check_parallelism, tensor_sizes
from claimfit.sizing.plan import Parallelism

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claimfit.claim.inventory import Inventory
    from claimfit.claim.need import ClaimNeed

__all__ = ["MOST_TIERS", "ClaimPlan", "RefusedCount", "plan_claim"]

MOST_TIERS: Final = 8
"""Subrequests of one request (FirstAvailableDeviceRequestMaxSize of resource.k8s.io/v1)."""
_MOST_IN_A_NODE: Final = 8
"""Devices that are tried without --tp or --count: the usual board carries eight."""
_SPEED_OUT_OF_REACH: Final = frozenset({"SIZ053", "SIZ054"})
"""Codes of `bandwidth_floor` that another number of devices may cure."""


class RefusedCount(NamedTuple):
    """A number of devices that was considered and is not part of the plan."""

    devices: int
    reason: str
    tried: bool = True
    """False when the engine or the devices rule the number out, whatever the memory."""


class ClaimPlan(NamedTuple):
    """A claim, not yet written."""

    need: ClaimNeed
    tiers: tuple[Tier, ...]
    """At least one; several only with `--alternatives`. Fewest devices first."""
    refused: tuple[RefusedCount, ...]
    table_version: str
    """Of the accelerator table, which the admitted products are from."""
    cluster: str = ""
    """What the plan was checked against; empty when it was the table alone."""

    @property
    def tier(self) -> Tier:
        """The preferred tier."""
        return self.tiers[0]


def plan_claim(need: ClaimNeed, inventory: Inventory | None = None) -> ClaimPlan:
    """Return the plan for `need`; with `inventory`, one that a node of it satisfies.

    Raises:
        UsageError: CLM00x, CLM014, from `check_need`.
        NotSatisfiableError: CLM020, no listed accelerator is large and fast enough in any number;
            CLM023, no node of `inventory` has what is needed.
        InexpressibleError: CLM010 to CLM016, the driver cannot be asked for it.
        SizingError, ModelError: what the estimators say of the model, the engine and the workload.
    """
    need = check_need(need)
    _check_same(need)
    known = (*accelerators(), *need.own_accelerators)
    tiers: list[Tier] = []
    refused: list[RefusedCount] = []
    last: SizingError | None = None
    for parallelism, refusal in _sizes(need):
        devices = parallelism.devices
        if refusal:
            refused.append(RefusedCount(devices, refusal, tried=False))
            continue
        try:
            candidate = tier(need, known, parallelism)
        except SizingError as error:
            if error.code not in _SPEED_OUT_OF_REACH:
                raise
            last = error
            refused.append(RefusedCount(devices, error.message))
            continue
        reason = _why_not(need, candidate, inventory)
        if reason:
            refused.append(RefusedCount(devices, reason))
            continue
        tiers.append(candidate)
        if not need.alternatives or len(tiers) == MOST_TIERS:
            break
    if not tiers:
        raise _unsatisfiable(need, refused, last, inventory)
    source = "" if inventory is None else inventory.source
    return ClaimPlan(need, tuple(tiers), tuple(refused), table_version(), source)


def _check_same(need: ClaimNeed) -> None:
    """Raise `InexpressibleError` CLM012 when the driver publishes no attribute to match on."""
    offered = dict(need.driver.match_attributes)
    for word in need.same:
        if word not in offered:
            raise InexpressibleError(
                "CLM012",
                f"{need.driver.name} publishes nothing to tell whether devices have the same "
                f"{word}",
                place="--same",
                found=word,
                expected=f"one of {', '.join(offered)}" if offered else "",
            )


def _sizes(need: ClaimNeed) -> Iterator[tuple[Parallelism, str]]:
    """Yield the ways to spread the model in the order of preference, each with its refusal."""
    pipeline = need.pipeline or 1
    if need.tensor or need.devices:
        tensor = need.tensor or need.devices // pipeline
        if need.engine.name == "llama.cpp" and not need.tensor and not need.pipeline:
            tensor, pipeline = 1, need.devices  # it splits by layer
        chosen = Parallelism(tensor, pipeline)
        check_parallelism(need.model, need.engine, need.workload.quantization, chosen)
        yield chosen, _lone(need, chosen.devices)
        return
    most = 1 if need.share else max(1, _MOST_IN_A_NODE // pipeline)
    if need.engine.name == "llama.cpp":
        stages = [need.pipeline] if need.pipeline else range(1, most + 1)
        for stage in stages:
            if stage <= len(need.model.layers):
                yield Parallelism(1, stage), _lone(need, stage)
        return
    for size in tensor_sizes(need.model, need.engine, need.workload.quantization, limit=most):
        devices = size.size * pipeline
        refusal = size.reason or _lone(need, devices)
        if devices <= MOST_DEVICES:
            yield Parallelism(size.size, pipeline), refusal


def _lone(need: ClaimNeed, devices: int) -> str:
    """Return why `devices` of this class cannot work together, or ""."""
    if devices == 1:
        return ""
    if need.device_class.kind == "mig":
        return "MIG instances have no peer access: an engine cannot spread over several"
    if "product" not in dict(need.driver.match_attributes):
        return f"{need.driver.name} cannot be asked for several devices of one product"
    return ""


def _why_not(need: ClaimNeed, candidate: Tier, inventory: Inventory | None) -> str:
    """Return why nothing that is known can be given for `candidate`, or ""."""
    if inventory is not None and not candidate.test.admits_nothing:
        return shortfall(need, candidate, inventory)
    if candidate.admitted or need.admit_unlisted:
        return ""
    if not candidate.candidates:
        raise InexpressibleError(
            "CLM011",
            f"the accelerator table lists no device of {need.device_class.name}, so none can be "
            "asked for its speed",
            place="--target",
            found=need.device_class.name,
            fix="list them in a driver file (--driver-file), or --unlisted admit, which asks for "
            "memory alone",
        )
    slow = [item for item in candidate.candidates if item.reason == "speed" and item.rate]
    if slow:
        best = max(slow, key=lambda item: item.rate.p10 if item.rate else 0.0)
        return f"no listed product is fast enough; nearest {best.accelerator.name}: {best.text}"
    floor = candidate.test.memory_mib or candidate.need.floor.mib_up
    near = candidate.near_misses
    missed = f"; {near[0].accelerator.name} {near[0].text}" if near else ""
    return f"no listed product has {floor:,} MiB and a known speed{missed}"


def _unsatisfiable(
    need: ClaimNeed,
    refused: list[RefusedCount],
    last: SizingError | None,
    inventory: Inventory | None,
) -> NotSatisfiableError:
    """Return the error that says what the most promising number of devices lacked."""
    tried = [item for item in refused if item.tried] or refused
    nearest = tried[-1]
    counts = ", ".join(str(item.devices) for item in tried)
    found = f"with {nearest.devices} device{'s' if nearest.devices > 1 else ''}: {nearest.reason}"
    if inventory is not None:
        return NotSatisfiableError(
            "CLM023",
            f"no node can serve {need.model.name} through {need.device_class.name} "
            f"(devices tried: {counts})",
            place=inventory.source,
            found=found,
            fix="claimfit fit MODEL --cluster SOURCE says what each node lacks",
        )
    message = f"nothing that {need.device_class.name} offers can serve {need.model.name} like this"
    if last is not None and nearest.reason == last.message:
        return NotSatisfiableError(
            "CLM020",
            f"{message}: {last.message}",
            place=last.place,
            found=last.found or None,
            expected=last.expected,
            fix=last.fix,
        )
    return NotSatisfiableError(
        "CLM020",
        f"{message} (devices tried: {counts})",
        found=found,
        expected="a listed product with enough memory and speed",
        fix="lower --min-tps, --context or --concurrency, choose a smaller --quant, or give "
        "--tp or --pp for more devices",
    )
