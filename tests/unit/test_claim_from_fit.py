"""Claims from a ModelFit: the mapping of specification 001, and its valid form."""

from __future__ import annotations

import json
from decimal import Decimal
from math import ceil
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from claimfit.__main__ import main
from claimfit.claim.from_fit import (
    ModelFit,
    claim_from_fit,
    read_model_fit,
    resource_claim_from_fit,
)
from claimfit.errors import InexpressibleError, InputError
from claimfit.hardware.drivers import target

if TYPE_CHECKING:
    from pathlib import Path


def resources(**fields: object) -> Any:
    """Return spec.resources of the dialect for a fit of these fields."""
    manifest: Any = resource_claim_from_fit({"name": "llama-7b", **fields})
    return manifest["spec"]["resources"]


def refused(**fields: object) -> InputError:
    """Return the error for a fit of these fields."""
    with pytest.raises(InputError) as error:
        resources(**fields)
    return error.value


def test_the_example_of_the_specification() -> None:
    """12 GB of RAM and 8 GB of VRAM: the manifest of specification 001, key by key."""
    assert resource_claim_from_fit({"name": "llama-7b", "min_ram_gb": 12, "min_vram_gb": 8.0}) == {
        "apiVersion": "resource.k8s.io/v1alpha2",
        "kind": "ResourceClaim",
        "metadata": {"name": "llama-7b-claim"},
        "spec": {
            "resourceClassName": "gpu-memory-class",
            "resources": {"memory": "12Gi", "gpu.memory": "8Gi"},
        },
    }


def test_an_estimate_overrides_its_minimum_also_when_smaller() -> None:
    """Each estimate wins on its own."""
    assert resources(
        min_ram_gb=12, min_vram_gb=8, estimated_memory_gb=3.5, estimated_vram_gb=20
    ) == {"memory": "3.5Gi", "gpu.memory": "20Gi"}
    assert resources(min_ram_gb=12, estimated_vram_gb=2.25) == {
        "memory": "12Gi",
        "gpu.memory": "2.25Gi",
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [(12.0, "12Gi"), (7.5, "7.5Gi"), (100, "100Gi"), (0.1, "0.1Gi"), (1e-7, "0.0000001Gi")],
)
def test_numbers_are_the_shortest_decimals_without_exponent(value: float, text: str) -> None:
    """12.0 is 12, and a small number is written out."""
    assert resources(ram_gb=value, vram_gb=1)["memory"] == text


def test_both_spellings_are_read_and_must_agree() -> None:
    """ram_gb is min_ram_gb; two that differ are an error that names both."""
    assert resources(ram_gb=1, min_ram_gb=1.0, vram_gb=2) == {"memory": "1Gi", "gpu.memory": "2Gi"}
    error = refused(ram_gb=1, min_ram_gb=2, vram_gb=2)
    assert error.code == "FRM004"
    assert "min_ram_gb and ram_gb" in error.message


@pytest.mark.parametrize(
    "value",
    [0, -1, 0.0, float("nan"), float("inf"), -float("inf"), "12", True, [], 10**400, 1e300],
)
def test_what_is_no_amount_is_refused_with_its_field(value: object) -> None:
    """Zero, negative, not finite, huge and mistyped values name the field."""
    assert (refused(ram_gb=1, min_vram_gb=value).code, "FRM003") == ("FRM003", "FRM003")
    assert refused(ram_gb=1, min_vram_gb=value).place == "min_vram_gb"
    assert refused(ram_gb=1, vram_gb=1, estimated_memory_gb=value).place == "estimated_memory_gb"


def test_absent_minimum_and_estimate_are_refused() -> None:
    """null is absent."""
    error = refused(ram_gb=None, vram_gb=8)
    assert error.code == "FRM002"
    assert error.place == "min_ram_gb"
    assert refused(ram_gb=4).place == "min_vram_gb"


@pytest.mark.parametrize(
    "fields", [{}, {"name": ""}, {"name": 7}, {"name": None, "model": {"name": " "}}]
)
def test_a_fit_names_its_model(fields: dict[str, object]) -> None:
    """Without a name there is nothing to call the claim."""
    with pytest.raises(InputError, match="FRM001"):
        read_model_fit({**fields, "ram_gb": 1, "vram_gb": 1})


def test_the_model_may_be_an_object_or_a_text() -> None:
    """llmfit nests it; two names that differ are refused."""
    assert read_model_fit({"model": {"name": "a"}}).name == "a"
    assert read_model_fit({"model": "a"}).name == "a"
    with pytest.raises(InputError, match="FRM004"):
        read_model_fit({"model": "a", "name": "b"})


@pytest.mark.parametrize("name", ["Qwen/Qwen2.5-7B", "x" * 80, "模型", "a\nkind: Evil"])
def test_names_become_labels(name: str) -> None:
    """The claim's name ends in -claim and is a DNS label of at most 63 characters."""
    manifest: Any = resource_claim_from_fit(ModelFit(name, 1.0, 1.0))
    label = manifest["metadata"]["name"]
    assert label.endswith("-claim")
    assert len(label) <= 63
    assert label.isascii()


@given(st.floats(min_value=1e-6, max_value=1e9))
def test_any_amount_is_rounded_up_in_mi_and_exact_in_the_dialect(gib: float) -> None:
    """The valid form asks for ceil(GiB x 1024) Mi; the dialect repeats the number."""
    fit = ModelFit("m", 1.0, gib)
    manifest: Any = claim_from_fit(fit, target("gpu.nvidia.com"))
    (request,) = manifest["spec"]["devices"]["requests"]
    cel = request["exactly"]["selectors"][0]["cel"]["expression"]
    from claimfit.units.quantity import Quantity

    asked = Quantity.of_mib(ceil(Decimal(repr(gib)) * 1024))
    assert f"compareTo(quantity('{asked}')) >= 0" in cel
    dialect: Any = resource_claim_from_fit(fit)
    assert Decimal(dialect["spec"]["resources"]["gpu.memory"][:-2]) == Decimal(repr(gib))
    assert "e" not in dialect["spec"]["resources"]["gpu.memory"].lower()


def test_a_driver_without_memory_cannot_be_asked() -> None:
    """Gaudi publishes no capacity: exit 1, not a weaker claim."""
    with pytest.raises(InexpressibleError, match="CLM010"):
        claim_from_fit(ModelFit("m", 1.0, 1.0), target("gaudi.intel.com"))


def written(tmp_path: Path, fit: dict[str, object]) -> str:
    """Write `fit` to a file and return its path."""
    path = tmp_path / "fit.json"
    path.write_text(json.dumps(fit), encoding="utf-8")
    return str(path)


FIT: dict[str, object] = {"name": "llama-7b", "ram_gb": 12, "vram_gb": 7.5}


def test_the_verb_writes_the_valid_form_with_the_pods_memory_beside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """7.5 GiB are 7680Mi; the 12 GiB of RAM stand in a comment, since RAM is no device."""
    assert main(["claim", "--from-fit", written(tmp_path, FIT), "--target", "gpu.nvidia.com"]) == 0
    out, err = capsys.readouterr()
    manifest = yaml.safe_load(out)
    assert manifest["apiVersion"] == "resource.k8s.io/v1"
    assert "quantity('7680Mi')" in out
    assert "memory: 12Gi" in out.split("apiVersion")[0]
    assert err == ""
    arguments = ["claim", "--from-fit", written(tmp_path, FIT), "-o", "json", "--template"]
    assert main(arguments) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["podResources"] == {"requests": {"memory": "12Gi"}}
    assert report["manifest"]["kind"] == "ResourceClaimTemplate"


def test_the_dialect_is_written_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """stdout is the manifest of the specification, quotes included; stderr warns."""
    path = written(tmp_path, FIT)
    assert main(["claim", "--from-fit", path, "--dialect", "fit-v1alpha2"]) == 0
    out, err = capsys.readouterr()
    assert out == (
        "apiVersion: resource.k8s.io/v1alpha2\n"
        "kind: ResourceClaim\n"
        "metadata:\n"
        "  name: llama-7b-claim\n"
        "spec:\n"
        "  resourceClassName: gpu-memory-class\n"
        "  resources:\n"
        '    memory: "12Gi"\n'
        '    gpu.memory: "7.5Gi"\n'
    )
    assert err.startswith("warning: no Kubernetes serves this manifest")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["Qwen/Qwen3-8B"], "CLM009"),
        (["--context", "8192"], "CLM009"),
        (["--lora-adapters", "4", "--lora-rank", "8"], "CLM009"),
        (["--unlisted", "admit"], "CLM009"),
        (["--dialect", "fit-v1alpha2", "--target", "gpu.nvidia.com"], "CLM009"),
        (["--dialect", "fit-v1alpha2", "--name", "x"], "CLM009"),
        (["--name", "A"], "CLM001"),
        (["--name", "-"], "CLM001"),
    ],
)
def test_flags_without_meaning_are_refused(
    arguments: list[str], code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing that was asked for is dropped in silence."""
    assert main(["claim", "--from-fit", written(tmp_path, FIT), *arguments]) == 2
    assert code in capsys.readouterr().err


def test_a_file_that_is_no_fit_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A list, two documents, a missing file and a dialect without a fit are exit 2."""
    path = tmp_path / "list.yaml"
    path.write_text("- a\n", encoding="utf-8")
    assert main(["claim", "--from-fit", str(path)]) == 2
    assert "FRM005" in capsys.readouterr().err
    assert main(["claim", "--from-fit", str(tmp_path / "absent")]) == 2
    assert main(["claim", "Qwen/Qwen3-8B", "--dialect", "fit-v1alpha2"]) == 2
    assert "CLM009" in capsys.readouterr().err
