"""``claimfit calibrate``: what it learns, refuses, lists, forgets and writes."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from claimfit.__main__ import main
from claimfit.cli.calibrate import calibration_path
from claimfit.hardware.accelerators import accelerator
from claimfit.model.catalogue import built_in
from claimfit.model.lookup import Sources, find_model
from claimfit.sizing.calibration import load_calibration
from claimfit.sizing.matching import file_stem, model_names, observe
from claimfit.sizing.measured import Measured, Refused
from claimfit.sizing.plan import EngineChoice, Parallelism, Workload
from claimfit.sizing.speed import rate

if TYPE_CHECKING:
    from pathlib import Path

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def llama_bench(speed: float = 60.0, **changes: object) -> dict[str, object]:
    """Return a llama-bench row of Llama-3.1-8B at Q4_K_M on an RTX 4080."""
    return {
        "build_number": 5163,
        "gpu_info": "NVIDIA GeForce RTX 4080",
        "backends": "CUDA",
        "model_filename": "models/Llama-3.1-8B-Instruct-Q4_K_M.gguf",
        "model_size": 4912898048,
        "type_k": "f16",
        "n_gpu_layers": 99,
        "n_prompt": 0,
        "n_gen": 128,
        "n_depth": 0,
        "avg_ts": speed,
        **changes,
    }


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty configuration folder that the command uses."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, *rows: dict[str, object], name: str = "bench.json") -> str:
    """Write `rows` as a benchmark would and return the file's name."""
    (folder / name).write_text(json.dumps(list(rows)), encoding="utf-8")
    return name


def test_learning_changes_the_speed_of_that_device(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A card that measured half of the prediction is predicted slower afterwards."""
    card = accelerator("nvidia-rtx-4080")
    model = find_model(LLAMA, Sources(built_in()))
    asked = (
        model,
        card,
        EngineChoice("llama.cpp"),
        Workload(64, quantization="Q4_K_M"),
        Parallelism(),
    )
    before = rate(*asked)
    rows = [llama_bench(before.p50 / 2, n_depth=depth) for depth in (0, 1, 2, 3, 4)]

    assert main(["calibrate", write(home, *rows)]) == 0

    path = home / "config" / "claimfit" / "calibration.json"
    learned = load_calibration(path.read_text(encoding="utf-8"), "file")
    after = rate(*asked, learned)
    assert before.p50 / 2 < after.p50 < 0.75 * before.p50
    assert after.basis == "measured"
    out = capsys.readouterr().out
    assert out.startswith("Learned from 5 measurements; 0 refused.\n")
    assert "nvidia-rtx-4080" in out


def test_the_same_input_writes_the_same_bytes(home: Path) -> None:
    """Calibrating twice changes nothing, and no half-written file stays behind."""
    name = write(home, llama_bench(), llama_bench(61.0, n_depth=512))
    main(["calibrate", name])
    path = calibration_path()
    first = path.read_bytes()
    main(["calibrate", name])

    assert path.read_bytes() == first
    assert [item.name for item in path.parent.iterdir()] == ["calibration.json"]


def test_nothing_usable_is_exit_1_with_counted_reasons(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each refusal has its reason; no file is written."""
    rows = [
        llama_bench(n_prompt=512, n_gen=0),
        llama_bench(n_prompt=512, n_gen=0),
        llama_bench(model_filename="Nobody-Knows-7B-Q4_K_M.gguf"),
        llama_bench(gpu_info="Imaginary 9000"),
        llama_bench(model_filename="Llama-3.1-8B-Instruct-Q4_K_X.gguf"),
        llama_bench(n_gpu_layers=20),
        llama_bench(model_size=8_540_000_000),
    ]

    assert main(["calibrate", write(home, *rows)]) == 1

    out = capsys.readouterr().out
    assert out.startswith("Nothing usable: all 7 measurements refused.\n")
    assert "   2  measures the prompt, not decoding  (bench.json row 1)" in out
    assert "unknown model" in out
    assert "unknown accelerator" in out
    assert "20 of 32 layers ran on the device" in out
    assert "8.54 GB of weights are not" in out
    assert not calibration_path().exists()


def test_json_output(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """-o json lists what was taken and what was refused, row by row."""
    name = write(home, llama_bench(), llama_bench(n_gen=0))
    assert main(["calibrate", name, "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)

    assert document["written"] is True
    assert document["taken"][0] | {"place": ""} == {
        "place": "",
        "device": "nvidia-rtx-4080",
        "engine": "llama.cpp",
        "model": LLAMA,
        "quantization": "Q4_K_M",
        "contextTokens": 64,
        "concurrency": 1,
        "tensorParallel": 1,
        "tokensPerSecond": 60.0,
    }
    assert document["refused"] == [
        {"place": "bench.json row 2", "reason": "measures the prompt, not decoding"}
    ]
    assert document["devices"][0]["rows"] == 1


def test_dry_run_writes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--dry-run shows what would be learned."""
    assert main(["calibrate", write(home, llama_bench()), "--dry-run"]) == 0

    assert capsys.readouterr().out.startswith("Would learn from 1 measurement; 0 refused.\n")
    assert not calibration_path().exists()


def test_list_and_remove(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was learned can be seen and forgotten, device by device."""
    assert main(["calibrate", "--list"]) == 0
    assert "Nothing was learned yet" in capsys.readouterr().out
    rows = (llama_bench(), llama_bench(30.0, gpu_info="NVIDIA GeForce RTX 3090"))
    main(["calibrate", write(home, *rows)])
    capsys.readouterr()

    assert main(["calibrate", "--list"]) == 0
    listed = capsys.readouterr().out
    assert "nvidia-rtx-4080" in listed
    assert "nvidia-rtx-3090" in listed

    assert main(["calibrate", "--remove", "RTX 3090"]) == 0
    assert "Forgot 1 measurement of nvidia-rtx-3090; 1 remain" in capsys.readouterr().out
    main(["calibrate", "--remove", "nvidia-rtx-4080"])
    assert main(["calibrate", "--remove", "nvidia-rtx-4080"]) == 2
    assert "error CAL011" in capsys.readouterr().err


def test_list_as_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--list -o json has the factors of each device."""
    main(["calibrate", write(home, llama_bench())])
    capsys.readouterr()
    assert main(["calibrate", "--list", "-o", "json"]) == 0
    (device,) = json.loads(capsys.readouterr().out)["devices"]

    assert device["device"] == "nvidia-rtx-4080"
    assert device["transferTimeFactor"] > 1


def test_devices_of_another_table_are_listed_not_used(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of a newer version may name accelerators that this table lacks."""
    main(["calibrate", write(home, llama_bench())])
    path = calibration_path()
    path.write_text(path.read_text().replace("nvidia-rtx-4080", "nvidia-rtx-9090"))
    capsys.readouterr()

    assert main(["calibrate", "--list"]) == 0
    assert "not in the accelerator table, so not used: nvidia-rtx-9090" in capsys.readouterr().out
    assert main(["calibrate", "--remove", "nvidia-rtx-9090"]) == 0


def test_another_file(home: Path) -> None:
    """--calibration names the file to keep."""
    assert main(["calibrate", write(home, llama_bench()), "--calibration", "mine.json"]) == 0

    assert (home / "mine.json").is_file()
    assert not (home / "config").exists()


def test_standard_input(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads what a benchmark pipes in."""
    stream = io.TextIOWrapper(io.BytesIO(json.dumps([llama_bench()]).encode()))
    monkeypatch.setattr("sys.stdin", stream)

    assert main(["calibrate", "-"]) == 0


def test_flags_fill_what_a_file_leaves_out(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """vllm bench serve names neither device nor ranks."""
    row = {
        "model_id": LLAMA,
        "max_concurrency": 1,
        "completed": 10,
        "total_input_tokens": 1000,
        "total_output_tokens": 5000,
        "mean_tpot_ms": 9.0,
    }
    name = write(home, row)
    assert main(["calibrate", name]) == 1
    assert "the device is not named: give --device" in capsys.readouterr().out

    assert main(["calibrate", name, "--device", "nvidia-l40s", "--tp", "2", "-o", "json"]) == 0
    taken = json.loads(capsys.readouterr().out)["taken"][0]
    assert (taken["device"], taken["tensorParallel"], taken["engine"]) == ("nvidia-l40s", 2, "vllm")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "CAL010"),
        (["missing.json"], "FIL101"),
        (["text.txt"], "CAL001"),
        (["binary.bin"], "CAL005"),
        (["text.txt", "--device", "Imaginary 9000"], "HWD001"),
        (["text.txt", "--quant", "Q4_K_X"], "QNT001"),
        (["text.txt", "--tp", "0"], "CLI003"),
        (["text.txt", "--engine", "magic"], "CLI001"),
        (["bench.json", "--calibration", "broken.json"], "CAL002"),
    ],
)
def test_wrong_use_is_exit_2(
    home: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: str
) -> None:
    """Missing and unreadable files, unknown names and a broken calibration are coded errors."""
    (home / "text.txt").write_text("hello", encoding="utf-8")
    (home / "binary.bin").write_bytes(b"\xff\xfe\x00")
    (home / "broken.json").write_text("{", encoding="utf-8")
    write(home, llama_bench())

    assert main(["calibrate", *arguments]) == 2
    assert f"error {code}" in capsys.readouterr().err


def test_an_unwritable_place_is_exit_3(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file where a folder should be: nothing is lost, the exit code says environment."""
    (home / "file").write_text("", encoding="utf-8")

    assert main(["calibrate", write(home, llama_bench()), "--calibration", "file/c.json"]) == 3
    assert "error CAL006" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "stem", "kind"),
    [
        ("models/Qwen3-8B-Q4_K_M.gguf", "Qwen3-8B", "Q4_K_M"),
        ("Qwen3-8B-UD-Q4_K_XL-00001-of-00002.gguf", "Qwen3-8B", "UD-Q4_K_XL"),
        ("C:\\models\\gpt-oss-20b-MXFP4.gguf", "gpt-oss-20b", "MXFP4"),
        ("bartowski_Phi-4-IQ4_XS.gguf", "bartowski_Phi-4", "IQ4_XS"),
        ("meta-llama/Llama-3.1-8B-Instruct", "Llama-3.1-8B-Instruct", ""),
        ("Qwen3-8B.gguf", "Qwen3-8B", ""),
    ],
)
def test_file_names_tell_model_and_type(name: str, stem: str, kind: str) -> None:
    """Folder, part and extension go; the last component that is a type is the type."""
    assert file_stem(name) == (stem, kind)


def test_model_names_try_the_publisher_prefix() -> None:
    """`org_Name` may be `org/Name` or a re-upload of `Name`."""
    assert list(model_names("microsoft_phi-4-Q4_K_M.gguf")) == [
        "microsoft_phi-4-Q4_K_M.gguf",
        "microsoft_phi-4",
        "microsoft/phi-4",
        "phi-4",
    ]


@pytest.mark.parametrize(
    ("named", "identifier"),
    [
        ("NVIDIA GeForce RTX 4080", "nvidia-rtx-4080"),
        ("NVIDIA H100 80GB HBM3", "nvidia-h100-sxm"),
        ("AMD Radeon RX 7900 XT", "amd-rx-7900-xt"),
        ("Apple M4 Pro", "apple-m4-pro"),
        ("nvidia-gtx-1080-ti", "nvidia-gtx-1080-ti"),
        ("NVIDIA GeForce RTX 4070 Ti", ""),  # the table has the SUPER only
        ("NVIDIA GeForce RTX 4080 Laptop GPU", ""),
        ("NVIDIA GeForce RTX 2080 with Max-Q Design", ""),
    ],
)
def test_a_product_is_not_taken_for_its_variant(named: str, identifier: str) -> None:
    """SUPER, Ti, laptop and the like are other boards: refused, never calibrated as one another."""
    measured = Measured(LLAMA, 0, "Q4_K_M", named, "llama.cpp", "", -1, "", 100, 1, 1, 10.0, "row")
    found = observe(measured, Sources(built_in()))

    if identifier:
        assert not isinstance(found, Refused), found
        assert found.device == identifier
    else:
        assert isinstance(found, Refused)


def test_a_url_in_a_file_is_never_fetched() -> None:
    """A benchmark file cannot make claimfit open a connection; only --model can."""
    asked: list[str] = []

    def open_model(reference: str):
        asked.append(reference)
        raise AssertionError(reference)

    measured = Measured(
        "hf://someone/model",
        0,
        "Q4_K_M",
        "nvidia-l4",
        "llama.cpp",
        "",
        -1,
        "",
        100,
        1,
        1,
        10.0,
        "f",
    )
    found = observe(measured, Sources(built_in(), open_model=open_model))

    assert isinstance(found, Refused)
    assert asked == []


def test_removal_as_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--remove -o json` answers in JSON like the rest of the verb."""
    main(["calibrate", write(home, llama_bench())])
    capsys.readouterr()

    assert main(["calibrate", "--remove", "nvidia-rtx-4080", "-o", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["device"], answer["removed"], answer["remain"]) == ("nvidia-rtx-4080", 1, 0)


@pytest.mark.parametrize(
    "flags", [["x.json", "--list"], ["x.json", "--remove", "L40S"], ["--list", "--remove", "L40S"]]
)
def test_only_one_thing_is_asked_for(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A file beside --list or --remove would not be read: that is said, not done."""
    assert main(["calibrate", *flags]) == 2
    assert "exclude each other" in capsys.readouterr().err
