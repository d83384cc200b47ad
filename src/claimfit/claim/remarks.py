"""What is said of a plan in whole sentences, in the comments and in the JSON alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.claim.engine_flags import engine_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claimfit.claim.planner import ClaimPlan
    from claimfit.claim.tiers import Tier

__all__ = ["engine_assumptions", "plan_warnings", "summary"]


def summary(plan: ClaimPlan) -> str:
    """Return the claim in one line: what, on how many of which devices."""
    counts = [str(tier.parallelism.devices) for tier in plan.tiers]
    number = " or ".join(filter(None, (", ".join(counts[:-1]), counts[-1])))
    noun = "device" if counts == ["1"] else "devices"
    part = "a share of " if plan.need.share else ""
    engine = engine_title(plan.need.engine.name)
    return (
        f"{plan.need.model.name} for {engine} on {part}{number} {noun} of "
        f"{plan.need.device_class.name}"
    )


def plan_warnings(plan: ClaimPlan) -> tuple[str, ...]:
    """Return what a user of the claim should know before applying it, each a sentence."""
    found: dict[str, None] = {}
    for tier in plan.tiers:
        found.update(dict.fromkeys(tier.need.warnings))
        for item in tier.doubtful:
            verdict = (
                "is admitted by its bandwidth, but its own"
                if item.admitted
                else ("is left out by its bandwidth, although its own")
            )
            speed = f"p10 is {item.rate.p10:.1f} tok/s" if item.rate else "speed is not known"
            found[f"{item.accelerator.name} {verdict} {speed}"] = None
        found.update(dict.fromkeys(_admitted_in_vain(tier)))
    if plan.need.share:
        found["the speed holds while no other share of the device is at work"] = None
    if plan.need.admit_unlisted and plan.need.min_tps and not plan.tier.bandwidth:
        found["products outside the accelerator table are admitted at unknown speed"] = None
    return tuple(found)


def _admitted_in_vain(tier: Tier) -> Iterator[str]:
    """Yield a sentence for the boards that no selector keeps out and no engine starts on."""
    boards: dict[str, list[str]] = {}
    for item in tier.candidates:
        if item.admitted and item.refusal:
            boards.setdefault(item.refusal, []).append(item.accelerator.name)
    for refusal, names in boards.items():
        verb = "is" if len(names) == 1 else "are"
        yield f"{', '.join(names)} {verb} admitted, but {refusal}"


def engine_assumptions(plan: ClaimPlan) -> list[str]:
    """Return what the account assumes of the engine; a share replaces its utilization."""
    found = dict.fromkeys(text for tier in plan.tiers for text in tier.need.assumptions)
    return [
        text
        for text in found
        if not (plan.need.share and text.startswith("--gpu-memory-utilization"))
    ]
