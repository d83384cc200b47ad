"""What `claimfit claim` writes is decided by the allocator as `claimfit fit` says it would be.

For models of several sizes and every sample cluster, at the same context and speed: a node on
which the allocator gives the claim its devices is one on which ``fit`` counts a replica now; and a
node of the claim's driver where ``fit`` counts a replica of as many devices gets it, if the node's
filters let a plain pod come there.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from claimfit.__main__ import main
from claimfit.dra.reading import read_objects
from claimfit.hardware.samples import SAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from claimfit.dra.objects import ResourceClaim

MODELS = (
    "Qwen/Qwen3-0.6B",
    "Qwen/Qwen3-4B",
    "Qwen/Qwen3-8B",
    "Qwen/Qwen3-32B",
    "meta-llama/Llama-3.1-70B-Instruct",
)
ASKED = ("--context", "4096", "--min-tps", "20")


def printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Return the exit code of a command and its standard output."""
    code = main(arguments)
    return code, capsys.readouterr().out


def claim_of(text: str) -> ResourceClaim:
    """Return the claim of a manifest."""
    (claim,) = read_objects(text.encode(), "claim").claims
    return claim


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("model", MODELS)
def test_a_written_claim_fits_where_fit_says(
    model: str, sample: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both commands see the same nodes."""
    cluster = ("--cluster", f"sample:{sample}")
    code, written = printed(["claim", model, *cluster, *ASKED], capsys)
    _, text = printed(["fit", model, *cluster, *ASKED, "-o", "json"], capsys)
    groups: list[dict[str, Any]] = json.loads(text)["groups"]
    now = [group for group in groups if group["replicasNow"]]
    if code:
        pytest.skip("no driver of the sample can express this need")
    claim = claim_of(written)
    path = tmp_path / "claim.yaml"
    path.write_text(written, encoding="utf-8")

    _, explained = printed(["explain", "-f", str(path), *cluster, "-o", "json"], capsys)

    (answer,) = json.loads(explained)["answers"]
    assert answer["outcome"] in {"fits", "pending"}, answer["text"]
    chosen = {item["node"] for item in answer["nodes"] if item["state"] == "fits"}
    filtered = {item["node"] for item in answer["nodes"] if item["state"] == "filtered"}
    assert chosen <= {group["node"] for group in now}
    exact = claim.spec.devices.requests[0].exactly
    if exact is None:
        return  # alternatives: which one a node gets is the allocator's choice
    same = {
        group["node"]
        for group in now
        if group["devicesPerReplica"] == (exact.count or 1)
        and exact.device_class_name.endswith(group["driver"])
        and not any("-mig-" in name for name in group["devices"])
    }
    assert same - filtered <= chosen
