"""The comment lines above a claim: every figure that it stands on, on one screen."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

from claimfit._version import __version__
from claimfit.claim.engine_flags import command, engine_title, share_of
from claimfit.claim.remarks import engine_assumptions, plan_warnings, summary
from claimfit.claim.request import tier_name
from claimfit.manifests.emitter import one_line
from claimfit.model.quantization import quantization
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claimfit.claim.planner import ClaimPlan
    from claimfit.claim.products import Candidate
    from claimfit.claim.tiers import Tier
    from claimfit.sizing.plan import Rate

__all__ = ["provenance"]

_WIDTH: Final = 108
"""Columns of a comment; `# ` comes before it."""
_LABEL: Final = 9
_MOST_SLOW: Final = 4
_MOST_NAMED: Final = 12
"""Accelerators that a comment names; the rest is counted."""
_COMPONENT_NAMES: Final = {"kv_cache": "KV cache", "lora": "LoRA"}
_GIB: Final = 1 << 30
_MIB: Final = 1 << 20


def provenance(plan: ClaimPlan) -> Iterable[str]:
    """Yield the comment lines of `plan`, printable and broken at spaces."""
    need, model = plan.need, plan.need.model
    yield f"{one_line(summary(plan))}{_assumed(plan, '--target')}"
    active = ""
    if model.is_mixture:
        active = f", {_billions(model.active_parameters)} active per token"
    yield from _line(
        "model",
        f"{_billions(model.parameters)} parameters{active}, "
        f"{quantization(need.quantization).name}; from {_origin(plan)}",
    )
    yield from _line("serve", _serve(plan))
    for tier in plan.tiers:
        yield from _tier_lines(plan, tier)
    for note in model.notes:
        yield from _line("note", note)
    for warning in plan_warnings(plan):
        yield from _line("warning", warning)
    assumed = "; ".join(engine_assumptions(plan))
    if assumed:
        yield from _line("assumed", assumed)
    checked = f", checked against {plan.cluster}" if plan.cluster else ""
    yield from _line(
        "made by", f"claimfit {__version__}, accelerator table {plan.table_version}{checked}"
    )


def _tier_lines(plan: ClaimPlan, tier: Tier) -> Iterable[str]:
    devices = tier.parallelism.devices
    several = len(plan.tiers) > 1
    if several:
        yield from _line("tier", f"{tier_name(tier)}: {_split(tier)}")
    elif devices > 1:
        yield from _line("devices", _split(tier))
        small = next((item for item in plan.refused if item.devices == 1), None)
        if small is not None:
            yield from _line("", f"not 1: {small.reason}")
    yield from _line("memory", _memory(tier))
    yield from _line("", _asked(tier))
    if plan.need.min_tps and not (several and tier is not plan.tier):
        yield from _line("speed", _speed(plan, tier))
    yield from _line("admits", _named([item.accelerator.name for item in tier.admitted]))
    near: dict[str, list[str]] = {}
    for item in tier.near_misses:
        near.setdefault(item.text, []).append(item.accelerator.name)
    if near:
        yield from _line("misses", "; ".join(_missed(*item) for item in near.items()))
    slow = [item for item in tier.candidates if item.reason == "speed"]
    if slow:
        yield from _line("too slow", _slow(slow))
    yield from _line("start", command(plan.need, tier))
    shares = [(item, share_of(tier, item)) for item in tier.admitted]
    known = [f"{share:g} on {item.accelerator.name}" for item, share in shares if share]
    if known and plan.need.engine.name != "llama.cpp":
        yield from _line("share", f"--gpu-memory-utilization {_named(known)}")


def _missed(text: str, names: Sequence[str]) -> str:
    """Return who is short of the floor by how much; `text` is what each of `names` lacks."""
    if len(names) > 1:
        text = text.replace("publishes", "publish", 1).replace("has", "have", 1)
    return f"{', '.join(names)} {text}"


def _slow(candidates: Sequence[Candidate]) -> str:
    """Return the candidates that are large enough but too slow, the fastest first."""
    ranked = sorted(
        candidates, key=lambda item: (-(item.rate.p10 if item.rate else 0.0), item.accelerator.id)
    )
    named = [f"{item.accelerator.name} ({item.text})" for item in ranked[:_MOST_SLOW]]
    more = len(ranked) - _MOST_SLOW
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def _split(tier: Tier) -> str:
    parallelism = tier.parallelism
    parts = []
    if parallelism.tensor > 1 or parallelism.pipeline == 1:
        parts.append(f"tensor-parallel {parallelism.tensor}")
    if parallelism.pipeline > 1:
        parts.append(f"{parallelism.pipeline} pipeline stages")
    noun = "device" if parallelism.devices == 1 else "devices of one product"
    return f"{parallelism.devices} {noun}, {', '.join(parts)}"


def _origin(plan: ClaimPlan) -> str:
    model = plan.need.model
    if model.origin == "catalogue":
        after = "" if model.repository == model.name else f", after {model.repository}"
        return f"the catalogue{after}"
    return {
        "gguf": "the file's header",
        "folder": "config.json",
        "remote": f"the files of {model.repository or 'its address'}",
        "overlay": "your models file",
        "llmfit": "llmfit's catalogue",
    }[model.origin]


def _serve(plan: ClaimPlan) -> str:
    need = plan.need
    several = need.workload.concurrency
    cache = f", KV cache {need.workload.kv_dtype}" if need.workload.kv_dtype else ""
    requests = f"{several} request{'s' if several > 1 else ''} at a time"
    return (
        f"context {need.workload.context_tokens}{_assumed(plan, '--context')}, "
        f"{requests}{_assumed(plan, '--concurrency')}, {_profile(plan)}"
        f"{_assumed(plan, '--engine')}{cache}"
    )


def _profile(plan: ClaimPlan) -> str:
    """Return the engine profile with the engine's name as its makers write it."""
    name, _, version = plan.tier.need.engine.partition(" ")
    known = f"{engine_title(name)} {version}"
    return known if "profile" in version else f"profile {known}"


def _assumed(plan: ClaimPlan, flag: str) -> str:
    return f" (assumed: {flag})" if flag in plan.need.assumed else ""


def _memory(tier: Tier) -> str:
    parts = " + ".join(
        f"{_COMPONENT_NAMES.get(item.name, item.name)} {_gib(item.bytes.high)}"
        for item in tier.need.components
        if item.bytes.high
    )
    each = " a device" if tier.parallelism.devices > 1 else ""
    return f"{parts} = {tier.need.total.high / _GIB:.1f} GiB{each} at most"


def _gib(amount: float) -> str:
    """Return bytes in GiB; what is there is never shown as 0.0."""
    gib = amount / _GIB
    return f"{gib:.1f}" if gib >= 0.05 else f"{gib:.1g}"


def _asked(tier: Tier) -> str:
    account = tier.need
    asked = f"asks for {Quantity.of_mib(tier.asked_mib)} = {account.total.high / _GIB:.1f}"
    if not tier.share_mib and account.utilization < 1:
        asked += f" / {account.utilization:g} utilization"
    if account.reserve:
        asked += f" + {account.reserve / _GIB:.2f} GiB driver reserve"
    least = ceil(account.total.high / account.utilization) + account.reserve
    if not tier.share_mib and account.floor - least > _MIB:
        asked += ", raised to where every larger device holds it too"
    asked += f"; {account.total.expected / _GIB:.1f} GiB expected"
    if tier.test.memory_mib:
        return asked
    return f"{asked}; the driver publishes no memory, so products are named"


def _speed(plan: ClaimPlan, tier: Tier) -> str:
    floor = f"{plan.need.min_tps:g} tok/s{_assumed(plan, '--min-tps')}"
    streams = plan.need.workload.concurrency
    if streams > 1:
        floor += f" for each of {streams} streams, {plan.need.min_tps * streams:g} together,"
    if tier.bandwidth is not None:
        return f"{floor} at p10: {tier.bandwidth.equation}"
    rated = [item for item in tier.admitted if item.rate is not None]
    if not rated:
        return f"{floor}: no listed product is known to reach it"
    slowest = min(rated, key=lambda item: item.rate.p10 if item.rate else 0.0)
    assert slowest.rate is not None  # noqa: S101  # chosen among the rated, for the type checker
    big = sum(1 for item in tier.candidates if item.reason not in {"memory", "engine"})
    return (
        f"{floor} at p10: {len(rated)} of {big} products that are large enough reach it; slowest "
        f"{slowest.accelerator.name}, {_equation(slowest.rate)}"
    )


def _equation(speed: Rate) -> str:
    terms = " + ".join(f"{name} {value:.1f}" for name, value in speed.terms if value >= 0.05)
    read = f"{speed.active_bytes / 1e9:.1f} GB of weights"
    if speed.kv_bytes:
        read += f" and {speed.kv_bytes / 1e9:.2f} GB of cache"
    figures = f"p10 {speed.p10:.0f}, p50 {speed.p50:.0f} tok/s"
    return f"{figures} = 1000 / ({terms} ms), reading {read} a step"


def _named(names: Sequence[str]) -> str:
    if not names:
        return "no listed product"
    more = len(names) - _MOST_NAMED
    shown = ", ".join(names[:_MOST_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown


def _billions(parameters: int) -> str:
    if parameters < 10**6:
        return f"{parameters:,}"
    if parameters < 10**9:
        return f"{parameters / 1e6:.0f} M"
    return f"{parameters / 1e9:.1f} B"


def _line(label: str, text: str) -> Iterable[str]:
    """Yield `text` under `label`, broken at spaces so that values stay whole."""
    head = label.ljust(_LABEL) if len(label) < _LABEL else f"{label} "
    line = head
    for word in one_line(text).split(" "):
        if len(line) + len(word) > _WIDTH and line != head:
            yield line.rstrip()
            head = line = " " * _LABEL
        line += f"{word} "
    yield line.rstrip()
