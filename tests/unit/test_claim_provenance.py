"""Comments of a claim for models of unusual size and origin: every figure and source is true."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from claimfit.__main__ import main
from support.gguf_models import dense_model
from support.gguf_writer import gguf_bytes
from support.range_server import RangeServer
from support.safetensors_writer import LLAMA, llama_tensors, safetensors_bytes

if TYPE_CHECKING:
    from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def comments(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the comments of a claim on llmfit.ai at 1 token per second, as one line."""
    assert main(["claim", *arguments, "--min-tps", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    return " ".join(" ".join(line[1:] for line in lines if line.startswith("#")).split())


def test_small_model_is_not_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """86,848 parameters are no `0 M`, and 173,696 bytes of weights no `0.0` GiB."""
    (tmp_path / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(safetensors_bytes(llama_tensors()))

    said = comments(capsys, str(tmp_path))

    assert "model 86,848 parameters, BF16; from config.json" in said
    assert "weights 0.0002 + KV cache 0.0" in said  # 173,696 / 2^30 = 0.00016
    assert " 0.0 " not in said


@pytest.mark.parametrize("reference", ["hf://acme/tiny", "{url}/files/tiny-Q4_K_M.gguf"])
def test_remote_model_is_said_to_be_read_where_it_was(
    reference: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A GGUF repository has no config.json, and an address no repository."""
    file = "tiny-Q4_K_M.gguf"
    listing = json.dumps({"sha": COMMIT, "siblings": [{"rfilename": file}]}).encode()
    content = gguf_bytes(*dense_model())
    with RangeServer() as server:
        server.files = {
            "/api/models/acme/tiny/revision/main": listing,
            f"/acme/tiny/resolve/{COMMIT}/{file}": content,
            f"/files/{file}": content,
        }
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        if reference.startswith("hf://"):
            monkeypatch.setenv("HF_ENDPOINT", server.url)
        said = comments(capsys, reference.format(url=server.url))

    where = "acme/tiny" if reference.startswith("hf://") else "its address"
    assert f"model 5 M parameters, Q4_K_M; from the files of {where} serve" in said
