"""A claim as text: YAML under its provenance, or everything about it as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit._version import __version__
from claimfit.claim.engine_flags import command, engine_flags, share_of
from claimfit.claim.remarks import engine_assumptions, plan_warnings, summary
from claimfit.claim.request import claim_object, tier_name
from claimfit.manifests.emitter import json_text, yaml_text
from claimfit.model.quantization import quantization
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claimfit.claim.planner import ClaimPlan
    from claimfit.claim.products import Candidate
    from claimfit.claim.tiers import Tier
    from claimfit.manifests.emitter import JsonValue
    from claimfit.units import Estimate

__all__ = ["SCHEMA", "claim_json", "claim_report", "claim_yaml"]

SCHEMA: Final = "claimfit.dev/claim/v1"


def claim_yaml(plan: ClaimPlan) -> str:
    """Return the manifest of `plan` under its provenance; raises what `claim_object` raises."""
    from claimfit.claim.provenance import provenance

    return yaml_text(claim_object(plan), provenance(plan))


def claim_json(plan: ClaimPlan) -> str:
    """Return the report of `plan` as JSON text."""
    return json_text(claim_report(plan))


def claim_report(plan: ClaimPlan) -> dict[str, JsonValue]:
    """Return everything about `plan`, the manifest included, as JSON values."""
    need, model = plan.need, plan.need.model
    return {
        "schemaVersion": SCHEMA,
        "generator": f"claimfit {__version__}",
        "summary": summary(plan),
        "model": {
            "name": model.name,
            "repository": model.repository,
            "origin": model.origin,
            "task": model.task,
            "parameters": model.parameters,
            "activeParameters": model.active_parameters,
            "quantization": quantization(need.quantization).name,
            "contextTokens": model.context_tokens,
            "notes": list(model.notes),
        },
        "serve": {
            "engine": need.engine.name,
            "engineProfile": plan.tier.need.engine,
            "contextTokens": need.workload.context_tokens,
            "concurrency": need.workload.concurrency,
            "minTps": need.min_tps or None,
        },
        "target": {
            "driver": need.driver.name,
            "deviceClass": need.device_class.name,
            "cluster": plan.cluster or None,
            "traps": list(need.driver.traps),
        },
        "tiers": [_tier_report(plan, tier) for tier in plan.tiers],
        "refused": [{"devices": item.devices, "reason": item.reason} for item in plan.refused],
        "assumptions": list(_assumptions(plan)),
        "warnings": list(plan_warnings(plan)),
        "acceleratorTable": plan.table_version,
        "manifest": claim_object(plan),
    }


def _tier_report(plan: ClaimPlan, tier: Tier) -> dict[str, JsonValue]:
    need, account = plan.need, tier.need
    memory: dict[str, JsonValue] = {
        "components": [{"name": item.name, **_estimate(item.bytes)} for item in account.components],
        "total": _estimate(account.total),
        "utilization": account.utilization,
        "reserveBytes": int(account.reserve),
        "asked": str(Quantity.of_mib(tier.asked_mib)),
        "kvBytesPerToken": account.kv_bytes_per_token,
    }
    report: dict[str, JsonValue] = {
        "name": tier_name(tier),
        "devices": tier.parallelism.devices,
        "tensorParallel": tier.parallelism.tensor,
        "pipelineParallel": tier.parallelism.pipeline,
        "memory": memory,
    }
    if tier.bandwidth is not None:
        floor = tier.bandwidth
        report["bandwidth"] = {
            "gbs": floor.gbs,
            "bytesPerToken": floor.bytes_per_token,
            "efficiency": floor.efficiency,
            "fixedMs": floor.fixed_ms,
            "equation": floor.equation,
            "source": floor.source,
        }
    report["engine"] = {"command": command(need, tier), "flags": engine_flags(need, tier)}
    report["admitted"] = [_candidate(tier, item) for item in tier.admitted]
    report["excluded"] = [_candidate(tier, item) for item in tier.candidates if not item.admitted]
    return report


def _candidate(tier: Tier, item: Candidate) -> dict[str, JsonValue]:
    memory = item.accelerator.memory_mib
    entry: dict[str, JsonValue] = {
        "id": item.accelerator.id,
        "name": item.accelerator.name,
        "products": list(item.products),
        "memory": None if memory is None else str(Quantity.of_mib(memory)),
    }
    if not item.admitted:
        entry.update(reason=item.reason, text=item.text, nearMiss=item.near_miss)
    if item.doubtful:
        entry.update(doubtful=True, text=item.text)
    if item.rate is not None:
        entry["tokensPerSecond"] = {
            "p10": round(item.rate.p10, 3),
            "p50": round(item.rate.p50, 3),
            "p90": round(item.rate.p90, 3),
            "aggregateP50": round(item.rate.aggregate_p50, 3),
            "basis": item.rate.basis,
        }
    share = share_of(tier, item) if item.admitted else None
    if share is not None:
        entry["gpuMemoryUtilization"] = share
    return entry


def _assumptions(plan: ClaimPlan) -> Iterable[JsonValue]:
    need = plan.need
    values: dict[str, JsonValue] = {
        "--context": need.workload.context_tokens,
        "--concurrency": need.workload.concurrency,
        "--min-tps": need.min_tps or None,
        "--engine": need.engine.name,
        "--target": need.device_class.name,
    }
    for flag in need.assumed:
        yield {"flag": flag, "value": values.get(flag)}
    for text in engine_assumptions(plan):
        yield {"text": text}


def _estimate(value: Estimate) -> dict[str, JsonValue]:
    return {
        "lowBytes": int(value.low),
        "expectedBytes": int(value.expected),
        "highBytes": int(value.high),
        "basis": value.basis,
        "source": value.source,
    }
