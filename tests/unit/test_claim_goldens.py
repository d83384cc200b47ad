"""Claims as they are written, whole: read the files under tests/golden/claims as a user would.

`CLAIMFIT_UPDATE_GOLDENS=1` writes them anew after a change of the sizing model or of the
accelerator table; the difference is then reviewed like code. tests/cluster gives each of them to a
real API server.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from claimfit.__main__ import main
from claimfit.claim.names import check_label
from support.cel_subset import conjuncts, selects

ROOT = Path(__file__).parents[2]
GOLDENS = ROOT / "tests" / "golden" / "claims"
CLAIMS = {
    "llmfit": "Qwen/Qwen3-8B",
    "llmfit-two-devices": "Qwen/Qwen3-32B --count 2 --same pcieRoot --concurrency 8",
    "llmfit-embedding": "BAAI/bge-m3",
    "nvidia-template": "Qwen/Qwen3-30B-A3B --target gpu.nvidia.com --context 32768 --min-tps 40"
    " --template --name-hash --namespace serving",
    "nvidia-alternatives": "meta-llama/Llama-3.3-70B-Instruct --target gpu.nvidia.com"
    " --alternatives --min-tps 15",
    "nvidia-llama-cpp": "Qwen/Qwen3-8B --quant Q4_K_M --target gpu.nvidia.com --name chat",
    "nvidia-share": "Qwen/Qwen3-1.7B --target gpu.nvidia.com --share",
    "nvidia-unlisted": "Qwen/Qwen3-8B --target gpu.nvidia.com --unlisted admit --min-tps 60",
    "mig": "Qwen/Qwen3-4B --target mig.nvidia.com --min-tps 30",
    "amd": "google/gemma-3-27b-it --target gpu.amd.com --engine sglang",
    "intel": "Qwen/Qwen3-4B --target gpu.intel.com --min-tps 10",
    "gaudi": "Qwen/Qwen3-8B --target gaudi.intel.com --count 2",
    "tpu": "Qwen/Qwen3-4B --target tpu.google.com --min-tps 10",
    "cluster": "Qwen/Qwen3-235B-A22B --cluster sample:mixed --quant FP8",
    "from-fit": f"--from-fit {ROOT / 'docs' / 'examples' / 'model-fit.json'} --target nvidia",
}


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the machine's own models and calibration out."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def golden(name: str) -> str:
    """Return the text of a golden file."""
    return (GOLDENS / f"{name}.yaml").read_text(encoding="utf-8")


def devices_of(name: str) -> Any:
    """Return spec.devices of a golden claim or template."""
    manifest = yaml.safe_load(golden(name))
    spec = manifest["spec"]
    return (spec["spec"] if manifest["kind"] == "ResourceClaimTemplate" else spec)["devices"]


def requests_of(name: str) -> list[Any]:
    """Return the exact requests or the subrequests of a golden claim."""
    (request,) = devices_of(name)["requests"]
    return list(request.get("firstAvailable", [request.get("exactly")]))


@pytest.mark.parametrize("name", CLAIMS)
def test_claim_is_written_as_in_its_golden_file(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command prints exactly the file."""
    assert main(["claim", *CLAIMS[name].split()]) == 0
    printed = capsys.readouterr().out

    if os.environ.get("CLAIMFIT_UPDATE_GOLDENS"):
        (GOLDENS / f"{name}.yaml").write_text(printed, encoding="utf-8")
    assert printed == golden(name)


def test_every_golden_file_has_its_command() -> None:
    """No file is left over from a claim that is not made any more."""
    assert sorted(path.stem for path in GOLDENS.glob("*.yaml")) == sorted(CLAIMS)


@pytest.mark.parametrize("name", CLAIMS)
def test_golden_objects_keep_the_limits_of_the_api(name: str) -> None:
    """resource.k8s.io/v1: one request, at most 8 offers, 32 devices, selectors of 10,240 bytes."""
    manifest = yaml.safe_load(golden(name))
    assert manifest["apiVersion"] == "resource.k8s.io/v1"
    check_label(manifest["metadata"]["name"], "name")
    requests = requests_of(name)
    assert len(requests) <= 8
    for request in requests:
        assert 1 <= request.get("count", 1) <= 32
        for selector in request["selectors"]:
            assert len(selector["cel"]["expression"].encode()) <= 10_240
    several = any(request.get("count", 1) > 1 for request in requests)
    assert several == any(
        "roduct" in item["matchAttribute"] or item["matchAttribute"].endswith("/model")
        for item in devices_of(name).get("constraints", [])
    )


@pytest.mark.parametrize("name", CLAIMS)
def test_golden_selectors_never_fail_on_a_bare_device(name: str) -> None:
    """A device that publishes nothing is a non-match for every selector."""
    for request in requests_of(name):
        for selector in request["selectors"]:
            for driver in ("gpu.nvidia.com", "llmfit.ai", "some.other"):
                assert selects(selector["cel"]["expression"], driver, {}, {}) is False


@pytest.mark.parametrize("name", CLAIMS)
def test_golden_floors_are_those_of_their_comments(name: str) -> None:
    """What the header says is asked for is what the selector asks for, tier by tier."""
    said = re.findall(r"asks for (\S+) =", golden(name))
    for amount, request in zip(said, requests_of(name), strict=name != "from-fit"):
        expression = request["selectors"][0]["cel"]["expression"]
        if ".memory." in expression:
            assert f"quantity('{amount}')" in expression
        assert len(conjuncts(expression)) >= 2
