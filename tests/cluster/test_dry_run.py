"""The real API server accepts what claimfit writes and ships: goldens and sample clusters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

if TYPE_CHECKING:
    from support.control_plane import ControlPlane

ROOT = Path(__file__).parents[2]
GOLDENS = sorted((ROOT / "tests" / "golden").rglob("*.yaml"))
SAMPLES = sorted((ROOT / "src" / "claimfit" / "data" / "samples").glob("*.json"))
SERVED = ("resource.k8s.io/v1", "v1")
"""Groups of the objects that are sent; the v1alpha2 form of spec 001 is served by no Kubernetes."""

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster")]


@pytest.mark.parametrize("path", GOLDENS, ids=[path.stem for path in GOLDENS])
def test_golden_manifest_passes_a_server_side_dry_run(path: Path, api_server: ControlPlane) -> None:
    """Each object of a golden file would be created, unknown fields refused."""
    sent = 0
    for manifest in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        if manifest and manifest["apiVersion"] in SERVED:
            manifest["metadata"].pop("namespace", None)
            answer = api_server.dry_run(manifest)
            assert answer.status == 201, answer.message
            sent += 1
    assert sent or "alpha" in path.stem


@pytest.mark.parametrize("path", SAMPLES, ids=[path.stem for path in SAMPLES])
def test_sample_cluster_is_what_an_api_server_stores(path: Path, api_server: ControlPlane) -> None:
    """Slices, classes, nodes and claims of the samples are valid (a create has no status)."""
    for manifest in json.loads(path.read_text(encoding="utf-8"))["items"]:
        manifest.pop("status", None)
        for server_made in ("uid", "resourceVersion", "creationTimestamp", "namespace"):
            manifest["metadata"].pop(server_made, None)
        answer = api_server.dry_run(manifest)
        assert answer.status == 201, f"{manifest['kind']} {manifest['metadata']}: {answer.message}"


def test_a_wrong_claim_is_refused(api_server: ControlPlane) -> None:
    """The judge can say no: capacity compared with an operator does not compile."""
    expression = "device.capacity['gpu.nvidia.com'].memory >= quantity('80Gi')"
    manifest = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "wrong"},
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "model",
                        "exactly": {
                            "deviceClassName": "gpu.nvidia.com",
                            "selectors": [{"cel": {"expression": expression}}],
                        },
                    }
                ]
            }
        },
    }

    answer = api_server.dry_run(manifest)

    assert answer.status == 422
    assert "compilation failed" in answer.message
