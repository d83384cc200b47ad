"""The public names: pinned, importable, and nothing loaded before it is asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

PUBLIC = {
    "claimfit": ["__version__"],
    "claimfit.units": ["GIB", "MIB", "Basis", "Bytes", "Estimate", "worst_basis"],
    "claimfit.model": [
        "Cache",
        "FileWeights",
        "Layer",
        "LoraAdapters",
        "Mixture",
        "ModelFacts",
        "Quantization",
        "Sources",
        "WeightSplit",
        "built_in",
        "facts_from_config",
        "find_model",
        "weight_split",
    ],
    "claimfit.hardware": [
        "Accelerator",
        "DeviceIndex",
        "DriverDescription",
        "DriverFile",
        "Target",
        "accelerator",
        "driver",
        "identify",
        "load_driver_file",
        "sample_names",
        "sample_path",
        "table_version",
        "target",
    ],
    "claimfit.sizing": [
        "BandwidthFloor",
        "Calibration",
        "ComponentNeed",
        "DeviceNeed",
        "EngineChoice",
        "Parallelism",
        "Rate",
        "TensorSize",
        "Workload",
        "bandwidth_floor",
        "check_parallelism",
        "engine_names",
        "largest_concurrency",
        "largest_context",
        "load_calibration",
        "partial_offload",
        "rate",
        "size",
        "tensor_sizes",
    ],
    "claimfit.claim": [
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
    ],
    "claimfit.dra": [
        "Allocator",
        "CompileErrors",
        "DeviceAnswer",
        "DeviceId",
        "NodeExplanation",
        "Objects",
        "PoolProblem",
        "Profile",
        "Program",
        "PublishedRow",
        "Reason",
        "RequestExplanation",
        "Result",
        "Verdict",
        "clauses",
        "compile_selector",
        "explain",
        "pool_problems",
        "read_objects",
    ],
    "claimfit.diagnose.lint": [
        "Context",
        "Finding",
        "fix_text",
        "lint",
    ],
    "claimfit.fit": [
        "ClusterAnswer",
        "DeviceGroup",
        "FitQuestion",
        "GroupAnswer",
        "ModelAnswer",
        "Place",
        "TableAnswer",
        "Verdict",
        "device_groups",
        "fit_cluster",
        "fit_table",
        "judge",
        "rank_models",
    ],
}
"""Package -> its public names. A change here is a change of the API: it needs a changelog entry."""


@pytest.mark.parametrize("package", PUBLIC)
def test_public_names_are_these(package: str) -> None:
    """Each package offers exactly the pinned names, and each can be had."""
    module = importlib.import_module(package)

    assert sorted(PUBLIC[package]) == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None


@pytest.mark.parametrize("package", [name for name in PUBLIC if name != "claimfit"])
def test_an_unknown_name_is_an_attribute_error(package: str) -> None:
    """A misspelt import fails as Python users expect."""
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = importlib.import_module(package).no_such_name


@pytest.mark.parametrize("package", ["claimfit.model", "claimfit.sizing", "claimfit.fit"])
def test_importing_a_package_loads_little(package: str) -> None:
    """Re-exports are lazy: the package alone loads none of its modules."""
    code = f"import sys, {package}; print([m for m in sys.modules if m.startswith('{package}.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
