"""The verb fit on the command line: exit codes, JSON, and what it refuses."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from claimfit.__main__ import main
from claimfit.hardware.samples import sample_names, sample_path

MODEL = "Qwen/Qwen3-8B"


def run_json(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    """Return exit code and decoded stdout of ``claimfit fit ARGUMENTS -o json``."""
    code = main(["fit", *arguments, "-o", "json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("sample", sample_names())
def test_every_sample_is_judged(sample: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each sample has a device that holds an 8B model, and every device is accounted for."""
    code, answer = run_json(MODEL, "--cluster", f"sample:{sample}", capsys=capsys)

    items = json.loads(Path(sample_path(sample)).read_text(encoding="utf-8"))["items"]
    published = sum(
        len(item["spec"].get("devices", ())) for item in items if item["kind"] == "ResourceSlice"
    )
    judged = sum(len(group["devices"]) for group in answer["groups"])
    left_out = sum(group["devices"] for group in answer["leftOut"])
    assert code == 0
    assert answer["schemaVersion"] == "claimfit.dev/fit/v1"
    assert judged + left_out == published
    assert answer["replicasNow"] == sum(group["replicasNow"] for group in answer["groups"])


def test_held_devices_are_not_free(capsys: pytest.CaptureFixture[str]) -> None:
    """A device in a claim's allocation is named with its holder and counts as taken."""
    _, answer = run_json(MODEL, "--cluster", "sample:mixed", capsys=capsys)

    for group in answer["groups"]:
        assert group["free"] <= len(group["devices"]) - len(group["heldBy"])
    assert any(group["heldBy"] for group in answer["groups"])


def test_text_and_json_agree_in_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    """A model that fits nowhere exits 1 in both forms and says so in the first line."""
    arguments = ["fit", "Qwen/Qwen3-235B-A22B", "--cluster", "sample:intel"]

    assert main(arguments) == 1
    assert "fits on none of 4 nodes" in capsys.readouterr().out.splitlines()[0]
    assert main([*arguments, "-o", "json"]) == 1


def test_standard_input_folder_and_file_are_the_same_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`-`, a file and a folder of manifests give one answer."""
    text = Path(sample_path("amd")).read_bytes()
    (tmp_path / "slices.json").write_bytes(text)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))

    answers = [
        run_json(MODEL, "--cluster", source, capsys=capsys)
        for source in ("-", str(tmp_path), str(tmp_path / "slices.json"), "sample:amd")
    ]

    assert all(answer == answers[0] for answer in answers)


def test_one_device(capsys: pytest.CaptureFixture[str]) -> None:
    """A named accelerator is the only row; the nameplate's name finds the published one."""
    code, answer = run_json(MODEL, "--device", "NVIDIA H100 80GB HBM3", capsys=capsys)

    assert code == 0
    assert [row["publishedMemoryMiB"] for row in answer["devices"]] == [81559]


def test_models_that_fit_a_device(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a model the catalogue is ranked: largest first, the speed floor holds for each."""
    code, answer = run_json(
        "--device", "L40S", "--min-tps", "30", "--query", "qwen3 8b", "--limit", "3", capsys=capsys
    )

    assert code == 0
    sizes = [item["model"]["parameters"] for item in answer["models"]]
    assert sizes == sorted(sizes, reverse=True)
    assert all(item["tokensPerSecond"]["p10"] >= 30 for item in answer["models"])
    assert all("8b" in item["model"]["name"].casefold() for item in answer["models"])


def test_models_that_fit_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    """On a cluster only free devices count, and a model names the place where it is fastest."""
    _, answer = run_json("--cluster", "sample:mixed", "--query", "llama-3.1-8b", capsys=capsys)

    assert answer["models"]
    assert all(item["replicasNow"] >= 1 for item in answer["models"])


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        ([], 2, "CLI006"),
        (["--cluster", "sample:none", MODEL], 2, "FIL104"),
        (["--cluster", "/no/such/file", MODEL], 2, "FIL101"),
        (["--cluster", "sample:mixed", "--device", "L40S"], 2, "CLI001"),
        (["--device", "L4000S", MODEL], 2, "HWD001"),
        (["no/such-model"], 2, "MOD001"),
        ([MODEL, "--context", "0"], 2, "CLI003"),
        ([MODEL, "--context", "1" + "0" * 400], 2, "CLI003"),
        ([MODEL, "--context", "99999999"], 2, "SIZ002"),
        ([MODEL, "--min-tps", "nan"], 2, "CLI002"),
        ([MODEL, "--min-tps", "-3"], 2, "CLI002"),
        ([MODEL, "--gpu-memory-utilization", "1.5"], 2, "CLI004"),
        ([MODEL, "--quant", "Q4_K_X"], 2, "QNT001"),
        ([MODEL, "--engine", "vlm"], 2, "SIZ010"),
        ([MODEL, "--tp", "3"], 2, "SIZ020"),
        ([MODEL, "--unknown"], 2, "CLI001"),
        (["--driver-file", "/no/such/file", MODEL], 2, "FIL101"),
    ],
)
def test_wrong_use_is_named(
    arguments: list[str], code: int, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each wrong input exits 2 with the code of its cause, in text and in JSON."""
    assert code == main(["fit", *arguments, "-o", "json"])
    captured = capsys.readouterr()
    assert error == json.loads(captured.out)["error"]["code"]
    assert f"error {error}" in captured.err


def test_empty_folder_and_empty_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without manifests is wrong input; a cluster without devices is a no."""
    assert main(["fit", MODEL, "--cluster", str(tmp_path)]) == 2
    assert "FIL103" in capsys.readouterr().err
    (tmp_path / "empty.json").write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
    (tmp_path / "folder.json").mkdir()
    assert main(["fit", MODEL, "--cluster", str(tmp_path)]) == 1
    assert "publishes no devices" in capsys.readouterr().out


def test_nothing_from_a_failed_command_is_no_cluster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`kubectl get ... | claimfit fit` answers no question about a cluster that was never read."""
    for text in (b"", b" \n"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert main(["fit", MODEL, "--cluster", "-"]) == 2
        assert "error FIL106: standard input: empty" in capsys.readouterr().err


def test_model_that_embeds_is_judged_by_memory(capsys: pytest.CaptureFixture[str]) -> None:
    """A model without a decode speed fits by its memory, and its speed is a dash, not unknown."""
    code, answer = run_json("BAAI/bge-m3", "--device", "L40S", capsys=capsys)

    assert code == 0
    assert [(row["verdict"], row["tokensPerSecond"]) for row in answer["devices"]] == [
        ("fits", None)
    ]
    assert main(["fit", "BAAI/bge-m3", "--device", "L40S"]) == 0
    assert "unknown" not in capsys.readouterr().out


def test_models_that_embed_are_listed_without_a_speed_floor(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--task embed` lists all of them that fit, and the sentence promises no tokens per second."""
    assert main(["fit", "--task", "embed", "--device", "L40S"]) == 0

    captured = capsys.readouterr()
    assert "tok/s or more" not in captured.out.splitlines()[0]
    assert "not judged" not in captured.err


def test_speed_floor_for_a_model_that_embeds_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A decode speed asked of a model that decodes nothing is a wrong question, not ignored."""
    assert main(["fit", "BAAI/bge-m3", "--device", "L40S", "--min-tps", "5"]) == 2
    assert "error CLI008: --min-tps" in capsys.readouterr().err


@pytest.mark.parametrize(
    "flags",
    [
        [MODEL, "--device", "L40S", "--query", "llama"],
        [MODEL, "--device", "L40S", "--task", "generate"],
        [MODEL, "--device", "L40S", "--limit", "3"],
        [MODEL, "--cluster", "sample:amd", "--devices-per-node", "2"],
        [MODEL, "--cluster", "sample:amd", "--device", "L40S"],
    ],
)
def test_flag_without_effect_is_refused(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Two flags of which one would be ignored are an error that names both."""
    assert main(["fit", *flags]) == 2
    assert "exclude each other" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["fit", MODEL, "--cluster", ""], "--cluster"),
        (["fit", MODEL, "--quant="], "--quant"),
        (["claim", MODEL, "--target", ""], "--target"),
        (["claim", ""], "arguments"),
        (["models", ""], "arguments"),
        (["calibrate", "--device", "", "x.json"], "--device"),
    ],
)
def test_empty_value_is_not_taken_for_the_default(
    arguments: list[str], place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--cluster "$UNSET"` must not judge another place than the one that was meant."""
    assert main(arguments) == 2
    assert f"error CLI007: {place}: an empty value" in capsys.readouterr().err


def test_engine_version_outside_the_profiles_is_warned_about(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An engine version that no profile covers is judged with wider bounds, and fit says so."""
    arguments = [MODEL, "--device", "L40S", "--engine-version", "0.1"]
    _, answer = run_json(*arguments, capsys=capsys)

    assert len(answer["warnings"]) == 1
    assert "vllm 0.1 is outside the versions" in answer["warnings"][0]
    main(["fit", *arguments])
    assert capsys.readouterr().err == f"warning: {answer['warnings'][0]}\n"
    main(["fit", *arguments[:-2], "--engine-version", "0.20"])
    assert capsys.readouterr().err == ""


def _llmfit_slice(node: str, product: str, bandwidth_gbs: int) -> dict[str, object]:
    """Return a slice of one 24 GiB device that publishes its own bandwidth."""
    device = {
        "name": "gpu-0",
        "attributes": {
            "kind": {"string": "gpu"},
            "healthy": {"bool": True},
            "model": {"string": product},
            "memoryBandwidthGBs": {"int": bandwidth_gbs},
        },
        "capacity": {"memory": {"value": "24Gi"}},
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": node},
        "spec": {
            "driver": "llmfit.ai",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [device],
        },
    }


def test_devices_of_one_name_and_different_bandwidth_have_their_own_speed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two boards that claimfit does not know, equal but for the bandwidth that they publish."""
    slices = [_llmfit_slice("a", "Unheard Of 1", 1000), _llmfit_slice("b", "Unheard Of 1", 500)]
    path = tmp_path / "slices.json"
    path.write_text(json.dumps({"kind": "List", "items": slices}), encoding="utf-8")

    _, answer = run_json(MODEL, "--cluster", str(path), capsys=capsys)

    fast, slow = (group["tokensPerSecond"]["p50"] for group in answer["groups"])
    assert fast > 1.5 * slow


def test_escape_sequences_in_published_names_are_spelled_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A product name cannot recolour the terminal, move its cursor or fake a line."""
    path = tmp_path / "slices.json"
    items = [_llmfit_slice("node-1", "RTX\x1b[2J\r\nfits on all nodes", 1000)]
    path.write_text(json.dumps({"kind": "List", "items": items}), encoding="utf-8")

    main(["fit", MODEL, "--cluster", str(path)])

    out = capsys.readouterr().out
    assert "RTX\\u001b[2J\\u000d\\u000afits on all nodes" in out
    assert not set(out) & {"\x1b", "\r"}


def test_unknown_device_is_one_error_also_without_a_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An accelerator that nobody knows is a wrong question, not models that cannot be judged."""
    assert main(["fit", "--device", "nope", "-o", "json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "HWD001"


def test_driver_without_description_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Devices of a driver that claimfit does not know are counted, driver and flag named."""
    item = _llmfit_slice("node-1", "Thing", 1000)
    item["spec"]["driver"] = "accelerators.example.org"
    path = tmp_path / "slices.json"
    path.write_text(json.dumps({"kind": "List", "items": [item]}), encoding="utf-8")

    assert main(["fit", MODEL, "--cluster", str(path)]) == 1
    out = capsys.readouterr().out
    assert (
        "and 1 device left out: driver accelerators.example.org has no description (--driver-file)"
        in out
    )
