"""The control plane as a fixture: built once into a cache, started once per session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from support import kubernetes_build
from support.control_plane import control_plane

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.control_plane import ControlPlane


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Yield a real API server, or skip where Go is not installed.

    With CLAIMFIT_REQUIRE_CLUSTER=1 a missing Go is a failure: CI must not pass by skipping.
    """
    if kubernetes_build.go_program() is None:
        if os.environ.get("CLAIMFIT_REQUIRE_CLUSTER"):
            pytest.fail("CLAIMFIT_REQUIRE_CLUSTER is set and there is no go command")
        pytest.skip("no go command: the control plane cannot be built")
    version = os.environ.get("CLAIMFIT_KUBERNETES", kubernetes_build.DEFAULT_VERSION)
    programs = kubernetes_build.etcd(), kubernetes_build.program("kube-apiserver", version)
    with control_plane(*programs, tmp_path_factory.mktemp("control-plane")) as plane:
        yield plane
