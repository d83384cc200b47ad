"""From what is needed to the claim: Kubernetes objects that ask for devices that fit.

`plan_claim` decides, `claim_yaml` and `claim_report` write::

    from claimfit.claim import ClaimNeed, claim_yaml, plan_claim
    from claimfit.hardware import target
    from claimfit.model import built_in, find_model, Sources
    from claimfit.sizing import EngineChoice, Workload

    model = find_model("Qwen/Qwen3-8B", Sources(built_in()))
    nvidia = target("gpu.nvidia.com")
    need = ClaimNeed(model, EngineChoice("vllm"), Workload(8192), *nvidia)
    print(claim_yaml(plan_claim(need)))

`fit_bounds`, `claim_name`, `render` and `render_json` are those of dialect llmfit;
`resource_claim_from_fit` is that of dialect fit-v1alpha2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit._exports import lazy

if TYPE_CHECKING:
    from claimfit.claim.cluster_choice import plan_on_cluster, targets_of
    from claimfit.claim.device_test import DeviceTest, ProductTerm, unmet
    from claimfit.claim.from_fit import (
        ModelFit,
        claim_from_fit,
        read_model_fit,
        resource_claim_from_fit,
    )
    from claimfit.claim.inventory import Inventory, InventoryDevice
    from claimfit.claim.llmfit import (
        ClaimTarget,
        FitBounds,
        claim_name,
        fit_bounds,
        render,
        render_json,
    )
    from claimfit.claim.need import ClaimNeed
    from claimfit.claim.planner import ClaimPlan, plan_claim
    from claimfit.claim.products import Candidate
    from claimfit.claim.report import claim_json, claim_report, claim_yaml
    from claimfit.claim.request import claim_object
    from claimfit.claim.selector import expression
    from claimfit.claim.tiers import Tier

__all__ = [
    "Candidate",
    "ClaimNeed",
    "ClaimPlan",
    "ClaimTarget",
    "DeviceTest",
    "FitBounds",
    "Inventory",
    "InventoryDevice",
    "ModelFit",
    "ProductTerm",
    "Tier",
    "claim_from_fit",
    "claim_json",
    "claim_name",
    "claim_object",
    "claim_report",
    "claim_yaml",
    "expression",
    "fit_bounds",
    "plan_claim",
    "plan_on_cluster",
    "read_model_fit",
    "render",
    "render_json",
    "resource_claim_from_fit",
    "targets_of",
    "unmet",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Candidate": "claimfit.claim.products",
        "ClaimNeed": "claimfit.claim.need",
        "ClaimPlan": "claimfit.claim.planner",
        "ClaimTarget": "claimfit.claim.llmfit",
        "DeviceTest": "claimfit.claim.device_test",
        "FitBounds": "claimfit.claim.llmfit",
        "Inventory": "claimfit.claim.inventory",
        "InventoryDevice": "claimfit.claim.inventory",
        "ModelFit": "claimfit.claim.from_fit",
        "ProductTerm": "claimfit.claim.device_test",
        "Tier": "claimfit.claim.tiers",
        "claim_from_fit": "claimfit.claim.from_fit",
        "claim_json": "claimfit.claim.report",
        "claim_name": "claimfit.claim.llmfit",
        "claim_object": "claimfit.claim.request",
        "claim_report": "claimfit.claim.report",
        "claim_yaml": "claimfit.claim.report",
        "expression": "claimfit.claim.selector",
        "fit_bounds": "claimfit.claim.llmfit",
        "plan_claim": "claimfit.claim.planner",
        "plan_on_cluster": "claimfit.claim.cluster_choice",
        "read_model_fit": "claimfit.claim.from_fit",
        "render": "claimfit.claim.llmfit",
        "render_json": "claimfit.claim.llmfit",
        "resource_claim_from_fit": "claimfit.claim.from_fit",
        "targets_of": "claimfit.claim.cluster_choice",
        "unmet": "claimfit.claim.device_test",
    },
)
