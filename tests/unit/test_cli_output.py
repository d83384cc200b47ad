"""What every verb writes, whatever the terminal and the names: no verb fails for a character."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.gguf_models import dense_model
from support.gguf_writer import gguf_bytes
from support.safetensors_writer import LLAMA

VERBS = (
    ["claim", "--min-tps", "1"],
    ["fit", "--device", "L40S"],
    ["models", "show"],
)


def run(
    *arguments: str | bytes, encoding: str = "utf-8:strict"
) -> subprocess.CompletedProcess[bytes]:
    """Return the finished process of ``claimfit ARGUMENTS`` whose stdout has this encoding."""
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "claimfit", *arguments]
    return subprocess.run(command, capture_output=True, env=environment, check=False)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
@pytest.mark.parametrize(
    ("file", "encoding"),
    [
        ("名前 é 😀.gguf".encode(), "ascii:strict"),
        ("名前 é 😀.gguf".encode(), "latin-1:strict"),
        (b"\xff\xfe.gguf", "utf-8:strict"),
    ],
)
def test_name_that_the_terminal_cannot_show(
    verb: list[str], file: bytes, encoding: str, tmp_path: Path
) -> None:
    """A name outside the encoding of stdout is escaped, and JSON carries it back unharmed."""
    path = os.fsencode(tmp_path) + b"/" + file
    Path(os.fsdecode(path)).write_bytes(gguf_bytes(*dense_model()))

    text = run(*verb, path, encoding=encoding)
    document = run(*verb, path, "-o", "json", encoding=encoding)

    assert (text.returncode, document.returncode) == (0, 0), text.stderr + document.stderr
    told = json.loads(document.stdout.decode(encoding.partition(":")[0]))
    name = told["model"]["name"]
    if file != b"\xff\xfe.gguf":
        assert name == os.fsdecode(file).removesuffix(".gguf")


def test_escape_sequences_in_a_configuration_are_spelled_out(tmp_path: Path) -> None:
    """A config.json from anywhere cannot send escape sequences to the terminal."""
    hostile = LLAMA | {"model_type": "x\x1b[2J\nweights       free", "architectures": ["X"]}
    (tmp_path / "config.json").write_text(json.dumps(hostile), encoding="utf-8")

    for verb in VERBS:
        shown = run(*verb, str(tmp_path))
        assert shown.returncode == 0, shown.stderr
        assert b"\x1b" not in shown.stdout + shown.stderr
        assert b"\nweights       free" not in shown.stdout + shown.stderr


ANSWERS = (["--help"], ["--version"], ["claim", "--help"], ["models"], ["claim", "Qwen/Qwen3-8B"])


@pytest.mark.parametrize("command", ANSWERS, ids=" ".join)
def test_reader_that_went_away_is_no_failure(command: list[str]) -> None:
    """`claimfit ... | head -0` ends quietly, help and version included."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "claimfit", *command],
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("command", ANSWERS, ids=" ".join)
def test_closed_output_is_a_failure_of_the_environment(command: list[str]) -> None:
    """`claimfit ... >&-` cannot answer: exit 3 with a code, no traceback."""
    shell = ["sh", "-c", '"$@" >&-', "sh", sys.executable, "-m", "claimfit", *command]
    done = subprocess.run(shell, capture_output=True, check=False)

    assert done.returncode == 3
    assert done.stderr.startswith(b"error ENV001: standard output: ")


def test_closed_input_is_empty() -> None:
    """`claimfit calibrate - <&-` reads nothing, which is no benchmark's output: exit 2."""
    shell = ["sh", "-c", '"$@" <&-', "sh", sys.executable, "-m", "claimfit", "calibrate", "-"]
    done = subprocess.run(shell, capture_output=True, check=False)

    assert done.returncode == 2
    assert done.stderr.startswith(b"error CAL001: -: ")


def test_closed_error_stream_hides_only_the_words() -> None:
    """`claimfit ... 2>&-` keeps its exit code."""
    shell = ["sh", "-c", '"$@" 2>&-', "sh", sys.executable, "-m", "claimfit", "claim", "no-such"]
    assert subprocess.run(shell, capture_output=True, check=False).returncode == 2
