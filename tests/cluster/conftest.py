"""The control plane as fixtures: built once into a cache, started once per session.

Cluster tests are one xdist group, so that one worker starts one control plane for all of them.
"""

from __future__ import annotations

import itertools
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from claimfit.hardware.samples import sample_names
from support import kubernetes_build
from support.cluster_objects import as_of, loaded, namespace, sample_objects
from support.control_plane import api_server as running_api_server
from support.control_plane import scheduling

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from support.control_plane import ControlPlane

_PLANE = pytest.StashKey["ControlPlane"]()
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def api_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """Yield a real API server, or skip where Go is not installed.

    With CLAIMFIT_REQUIRE_CLUSTER=1 a missing Go is a failure: CI must not pass by skipping.
    Its folder with all logs is kept when a test of the session failed.
    """
    if kubernetes_build.go_program() is None:
        if os.environ.get("CLAIMFIT_REQUIRE_CLUSTER"):
            pytest.fail("CLAIMFIT_REQUIRE_CLUSTER is set and there is no go command")
        pytest.skip("no go command: the control plane cannot be built")
    folder = tmp_path_factory.mktemp("control-plane")
    with running_api_server(folder, kubernetes_build.chosen_version()) as plane:
        request.config.stash[_PLANE] = plane
        yield plane
    if not request.session.testsfailed:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def kubernetes(api_server: ControlPlane) -> Iterator[ControlPlane]:
    """Yield the API server with scheduler, controllers and nodes that are simulated."""
    with scheduling(api_server):
        yield api_server


@pytest.fixture
def space(kubernetes: ControlPlane) -> Iterator[str]:
    """Yield a namespace of this test's own; its pods and claims are gone afterwards."""
    with namespace(kubernetes, f"test-{next(_numbers)}") as name:
        yield name


@pytest.fixture(scope="module")
def cordoned(kubernetes: ControlPlane) -> Iterator[set[str]]:
    """Load all samples; yield the names of the nodes that take no pods."""
    number = next(_numbers)  # the namespaces of an earlier load may still be going
    everything = [
        item for name in sample_names() for item in sample_objects(name, f"{name}-{number}-")
    ]
    objects = as_of(kubernetes.minor, everything)
    with loaded(kubernetes, objects):
        nodes = [item for item in objects if item["kind"] == "Node"]
        yield {item["metadata"]["name"] for item in nodes if item["spec"].get("unschedulable")}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell where the logs are when a test on the control plane failed, and how they end."""
    report = yield
    plane = item.config.stash.get(_PLANE, None)
    if plane is not None and report.failed:
        kept = f"kept in {plane.folder}\n{plane.log_ends()}"
        report.sections.append(("control plane", kept))
    return report
