"""The verb claim: what it prints, with which exit code, and what it imports."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from claimfit.__main__ import main

if TYPE_CHECKING:
    from pathlib import Path

MODEL = "Qwen/Qwen3-8B"
HEAVY = {"asyncio", "dataclasses", "httpx2", "msgspec", "yaml", "rich", "numpy", "fractions"}


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the machine's own models and calibration out."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def claimed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """Return the JSON report of a claim that succeeds."""
    assert main(["claim", *arguments, "-o", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def failed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Return exit code and stderr of a claim that fails; its stdout is empty."""
    code = main(["claim", *arguments])
    out, err = capsys.readouterr()
    assert out == ""
    return code, err


def test_yaml_is_one_object_under_its_provenance(capsys: pytest.CaptureFixture[str]) -> None:
    """The header names every figure; the object is what -o json carries as manifest."""
    assert main(["claim", MODEL, "--target", "gpu.nvidia.com"]) == 0
    out = capsys.readouterr().out
    header = [line for line in out.splitlines() if line.startswith("#")]
    assert header[0] == f"# {MODEL} for vLLM on 1 device of gpu.nvidia.com"
    for label in ("model", "serve", "memory", "speed", "admits", "start", "made by"):
        assert any(line.startswith(f"# {label}") for line in header), label
    assert "context 8192 (assumed: --context)" in out
    assert "20 tok/s (assumed: --min-tps)" in out
    assert all(len(line) <= 110 for line in header)
    report = claimed(capsys, MODEL, "--target", "gpu.nvidia.com")
    assert yaml.safe_load(out) == report["manifest"]


def test_json_says_where_each_number_is_from(capsys: pytest.CaptureFixture[str]) -> None:
    """Components add up to the total, the total to the floor; flags and products are there."""
    report = claimed(capsys, MODEL, "--target", "gpu.nvidia.com", "--min-tps", "40")
    assert report["schemaVersion"] == "claimfit.dev/claim/v1"
    (tier,) = report["tiers"]
    memory = tier["memory"]
    high = sum(part["highBytes"] for part in memory["components"])
    assert abs(high - memory["total"]["highBytes"]) <= len(memory["components"])
    asked = int(memory["asked"].removesuffix("Mi"))
    floor = memory["total"]["highBytes"] / memory["utilization"] + memory["reserveBytes"]
    assert asked - 1 <= floor / 2**20 <= asked
    assert tier["engine"]["flags"]["--max-model-len"] == "8192"
    assert tier["engine"]["flags"]["--gpu-memory-utilization"] == f"{memory['utilization']:g}"
    assert all(item["tokensPerSecond"]["p10"] >= 40 for item in tier["admitted"])
    slow = [item for item in tier["excluded"] if item["reason"] == "speed"]
    assert slow
    assert all(item["tokensPerSecond"]["p10"] < 40 for item in slow)
    assert {"flag": "--context", "value": 8192} in report["assumptions"]
    assert all("--min-tps" != item.get("flag") for item in report["assumptions"])


def test_the_bandwidth_floor_stands_in_header_selector_and_json(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """llmfit.ai: one number, three places; boards whose own speed disagrees are listed."""
    report = claimed(capsys, MODEL)
    gbs = report["tiers"][0]["bandwidth"]["gbs"]
    text = report["manifest"]["spec"]["devices"]["requests"][0]["exactly"]["selectors"][0]["cel"]
    assert f".memoryBandwidthGBs >= {gbs} &&" in text["expression"]
    assert report["tiers"][0]["bandwidth"]["equation"].endswith(f"= {gbs} GB/s")
    doubtful = [
        item["name"]
        for side in ("admitted", "excluded")
        for item in report["tiers"][0][side]
        if item.get("doubtful")
    ]
    assert [warning.split(" is ")[0] for warning in report["warnings"]] == doubtful


def test_each_alternative_has_its_own_flags(capsys: pytest.CaptureFixture[str]) -> None:
    """Tiers of 1, 2, 4 and 8 devices start the engine with that tensor-parallel size."""
    report = claimed(capsys, MODEL, "--alternatives", "--target", "gpu.nvidia.com")
    sizes = [tier["engine"]["flags"].get("--tensor-parallel-size", "1") for tier in report["tiers"]]
    assert sizes == ["1", "2", "4", "8"]
    floors = [int(tier["memory"]["asked"][:-2]) for tier in report["tiers"]]
    assert floors == sorted(floors, reverse=True)


@pytest.mark.parametrize(
    ("arguments", "flags"),
    [
        (
            ["--engine", "vllm", "--kv-dtype", "fp8", "--quant", "fp8", "--tp", "2"],
            {
                "--max-model-len": "8192",
                "--tensor-parallel-size": "2",
                "--gpu-memory-utilization": "0.92",
                "--kv-cache-dtype": "fp8",
                "--quantization": "fp8",
            },
        ),
        (
            ["--engine", "sglang", "--kv-dtype", "fp8", "--context", "4096", "--pp", "2"],
            {"--context-length": "4096", "--pp-size": "2", "--kv-cache-dtype": "fp8_e4m3"},
        ),
        (
            ["--quant", "Q4_K_M", "--kv-dtype", "q8_0", "--concurrency", "3", "--count", "2"],
            {
                "--ctx-size": "24576",
                "--parallel": "3",
                "--n-gpu-layers": "999",
                "--flash-attn": "on",
                "--split-mode": "layer",
                "--cache-type-k": "q8_0",
                "--cache-type-v": "q8_0",
            },
        ),
    ],
)
def test_flags_are_in_the_engines_own_words(
    arguments: list[str], flags: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """vLLM, SGLang and llama.cpp are told what was sized, no more."""
    report = claimed(capsys, MODEL, *arguments, "--min-tps", "1")
    assert report["tiers"][0]["engine"]["flags"] == flags


def test_a_cluster_picks_driver_and_class(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a target, the sample's own driver and class are used and named."""
    for sample, driver in (("amd", "gpu.amd.com"), ("llmfit", "llmfit.ai")):
        report = claimed(capsys, MODEL, "--cluster", f"sample:{sample}", "--min-tps", "5")
        assert report["target"]["driver"] == driver
        assert report["target"]["cluster"] == f"sample:{sample}"


def test_a_cluster_that_satisfies_nothing_is_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    """The reason is the nearest device's, and the next command is named."""
    code, err = failed(capsys, MODEL, "--cluster", "sample:mixed", "--min-tps", "100000")
    assert code == 1
    assert "CLM023" in err
    assert "claimfit fit" in err


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        ([], "CLI001", 2),
        (["no-such-model-xyz"], "MOD001", 2),
        ([MODEL, "--quant", "Q4_K_X"], "QNT001", 2),
        ([MODEL, "--target", "gpu.nvidia.co"], "DRV001", 2),
        ([MODEL, "--target", "dra.net"], "DRV010", 2),
        ([MODEL, "--context", "99999999"], "SIZ002", 2),
        ([MODEL, "--context", "0"], "CLI003", 2),
        ([MODEL, "--context", "1" + "0" * 400], "CLI003", 2),
        ([MODEL, "--min-tps", "nan"], "CLI002", 2),
        ([MODEL, "--min-tps", "-1"], "CLI002", 2),
        ([MODEL, "--min-tps", "inf"], "CLI002", 2),
        ([MODEL, "--gpu-memory-utilization", "1.5"], "CLI004", 2),
        ([MODEL, "--tp", "3"], "SIZ020", 2),
        ([MODEL, "--count", "many"], "CLI003", 2),
        ([MODEL, "--count", "0"], "CLI003", 2),
        ([MODEL, "--name", ""], "CLI007", 2),
        ([MODEL, "--name", "a: b\n evil: yes"], "CLM001", 2),
        ([MODEL, "--namespace", "A"], "CLM001", 2),
        ([MODEL, "--device-class", ""], "CLI007", 2),
        ([MODEL, "--device-class", "Bad Class"], "CLM002", 2),
        (
            [MODEL, "--target", "gpu.amd.com", "--device-class", "gpu.nvidia.com"],
            "CLM003",
            2,
        ),
        ([MODEL, "--efficiency", "55"], "CLM006", 2),
        ([MODEL, "--efficiency=55"], "CLM006", 2),
        ([MODEL, "--same", "numaNode", "--target", "tpu.google.com"], "CLM012", 1),
        ([MODEL, "--share"], "CLM013", 1),
        ([MODEL, "--target", "gpu.example.com"], "CLM011", 1),
        (["BAAI/bge-m3", "--min-tps", "5"], "CLM007", 2),
        ([MODEL, "--unknown"], "CLI001", 2),
    ],
)
def test_wrong_questions_have_their_code(
    arguments: list[str], code: str, exit_code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 for what is wrong, 1 for what cannot be asked; stdout stays empty."""
    found, err = failed(capsys, *arguments)
    assert (found, err.split(":")[0]) == (exit_code, f"error {code}")


def test_json_is_refused_by_name_and_still_answers_in_json(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """--json belongs to dialect llmfit; a program that reads stdout gets an error object."""
    for arguments in (["claim", MODEL, "--json"], ["--json", "claim", MODEL]):
        assert main(arguments) == 2
        error = json.loads(capsys.readouterr().out)["error"]
        assert error["code"] == "CLM006"
        assert "dialect llmfit" in error["message"]


def test_a_device_class_of_ones_own_keeps_the_targets_vocabulary(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A class that no driver installs selects devices of the target's kind."""
    report = claimed(capsys, MODEL, "--target", "nvidia", "--device-class", "team-a.gpus")
    request = report["manifest"]["spec"]["devices"]["requests"][0]["exactly"]
    assert request["deviceClassName"] == "team-a.gpus"
    assert "type == 'gpu'" in request["selectors"][0]["cel"]["expression"]
    slices = claimed(capsys, MODEL, "--device-class", "mig.nvidia.com")
    assert slices["target"]["driver"] == "gpu.nvidia.com"


def test_same_question_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing depends on time, order or chance."""
    outputs = []
    for _ in range(2):
        assert main(["claim", MODEL, "--target", "gpu.amd.com"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_the_cold_path_imports_nothing_heavy(output: str) -> None:
    """`claimfit claim NAME` loads none of the libraries that cost more than its own work."""
    arguments = [sys.executable, "-X", "importtime", "-m", "claimfit", "claim", MODEL, "-o", output]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=60)
    timed = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    modules = {line.rsplit("|", 1)[1].strip().partition(".")[0] for line in timed}
    assert "claimfit" in modules
    assert not modules & HEAVY


@pytest.mark.parametrize(
    ("engine", "flags"),
    [
        ("vllm", {"--enable-lora": "", "--max-loras": "4", "--max-lora-rank": "64"}),
        ("sglang", {"--enable-lora": "", "--max-loras-per-batch": "4", "--max-lora-rank": "64"}),
    ],
)
def test_adapters_are_sized_and_started(
    engine: str, flags: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """LoRA adapters have a line in the account and flags of the engine; one fact alone is none."""
    arguments = (MODEL, "--engine", engine, "--lora-adapters", "4")
    tier = claimed(capsys, *arguments, "--lora-rank", "64")["tiers"][0]

    (adapters,) = (item for item in tier["memory"]["components"] if item["name"] == "lora")
    assert adapters["highBytes"] > 0
    assert tier["engine"]["flags"].items() >= flags.items()
    assert "--enable-lora --max-loras" in tier["engine"]["command"]

    assert main(["claim", *arguments]) == 2
    assert "--lora-adapters and --lora-rank need one another" in capsys.readouterr().err


def test_a_wrong_count_is_told_of_auto(capsys: pytest.CaptureFixture[str]) -> None:
    """--count takes a number or the word auto; the error names both."""
    assert main(["claim", "Qwen/Qwen3-8B", "--count", "many"]) == 2
    assert "or auto" in capsys.readouterr().err
