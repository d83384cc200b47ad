"""The harness itself: simulated nodes do what kubelets do, and nothing outlives its starter."""

from __future__ import annotations

import os
import select
import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from support.api_client import ApiClient, ApiError, LateError, collection_path, path_of
from support.cluster_objects import loaded, pod
from support.guarded_process import guarded

if TYPE_CHECKING:
    from support.api_client import Object
    from support.control_plane import ControlPlane

TESTS = Path(__file__).parents[1]


def node(name: str, *conditions: Object) -> Object:
    """Return a node as a kubelet registers it."""
    resources = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    status = {"allocatable": resources, "capacity": resources, "conditions": list(conditions)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def ready(item: Object | None) -> Object | None:
    """Return the Ready condition of a node."""
    conditions = (item or {}).get("status", {}).get("conditions", [])
    return next((found for found in conditions if found["type"] == "Ready"), None)


@pytest.mark.cluster
@pytest.mark.xdist_group("cluster")
class TestNodeSimulator:
    """What kubelets do, done for nodes that exist on paper."""

    def test_a_new_node_becomes_ready_and_takes_pods(
        self, kubernetes: ControlPlane, space: str
    ) -> None:
        """It has no condition, gets a lease and Ready, loses its taints, and runs a pod."""
        with loaded(kubernetes, [node("paper-1")]):
            lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/paper-1"
            assert kubernetes.get(lease)["spec"]["holderIdentity"] == "paper-1"
            kubernetes.create(pod("p", space, []))
            running = kubernetes.wait_for_object(
                f"{collection_path('v1', 'Pod', space)}/p",
                lambda item: item if item and item["status"]["phase"] == "Running" else None,
                "the pod runs",
            )
            assert running["spec"]["nodeName"] == "paper-1"
            assert running["status"]["containerStatuses"][0]["ready"]

    def test_a_node_that_was_given_up_comes_back_and_one_that_is_not_ready_stays_so(
        self, kubernetes: ControlPlane
    ) -> None:
        """Unknown is what controllers write for a silent node; False is a report to be kept."""
        unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
        false = {"type": "Ready", "status": "False", "reason": "KubeletNotReady"}
        with loaded(kubernetes, [node("paper-1")]):
            change = {"status": {"conditions": [unknown]}}
            kubernetes.patch("/api/v1/nodes/paper-1/status", change)
            kubernetes.wait_for_object(
                "/api/v1/nodes/paper-1",
                lambda item: True if (ready(item) or {}).get("status") == "True" else None,
                "Ready again",
            )
            kubernetes.patch("/api/v1/nodes/paper-1/status", {"status": {"conditions": [false]}})
            kubernetes.wait_for_object(
                "/api/v1/nodes/paper-1",
                lambda item: item["spec"].get("taints") if item else None,
                "the node controller taints it",
            )
            assert (ready(kubernetes.get("/api/v1/nodes/paper-1")) or {})["status"] == "False"

    def test_a_pod_waits_until_its_claim_is_reserved_for_it(
        self, kubernetes: ControlPlane, space: str
    ) -> None:
        """A pod that is put on a node by hand does not run without its devices."""
        claim = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "none", "namespace": space},
            "spec": {},
        }
        entry = {"name": "devices", "resourceClaimName": "none"}
        with loaded(kubernetes, [node("paper-1")]):
            kubernetes.create(claim)
            made = kubernetes.create(pod("by-hand", space, [entry], node="paper-1"))
            kubernetes.create(pod("free", space, [], node="paper-1"))
            pods = collection_path("v1", "Pod", space)

            def phase(name: str) -> str:
                return str(kubernetes.get(f"{pods}/{name}")["status"]["phase"])

            kubernetes.wait_for(
                pods,
                lambda found: True if any(running(item, "free") for item in found) else None,
                "the pod without a claim runs",
            )
            assert phase("by-hand") == "Pending"
            user = {"resource": "pods", "name": "by-hand", "uid": made["metadata"]["uid"]}
            status = {"allocation": {"devices": {}}, "reservedFor": [user]}
            kubernetes.patch(f"{path_of(claim)}/status", {"status": status})
            kubernetes.wait_for(
                pods,
                lambda found: True if any(running(item, "by-hand") for item in found) else None,
                "the pod with a claim runs",
            )


def running(item: Object, name: str) -> bool:
    """Whether an object is the pod of that name, and runs."""
    return bool(item["metadata"]["name"] == name and item["status"]["phase"] == "Running")


@pytest.mark.cluster
@pytest.mark.xdist_group("cluster")
class TestClient:
    """What the tests hold on to."""

    def test_what_does_not_come_is_told_with_the_last_state(self, api_server: ControlPlane) -> None:
        """A wait ends at its bound."""
        with pytest.raises(LateError, match=r"(?s)not within 1 s: a miracle.*kube-system"):
            api_server.wait_for("/api/v1/namespaces", lambda _: None, "a miracle", seconds=1)

    def test_a_refusal_is_told_in_the_words_of_the_server(self, api_server: ControlPlane) -> None:
        """Unknown fields are refused, since the server would drop them."""
        wrong = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}, "sepc": {}}
        with pytest.raises(ApiError, match='unknown field "sepc"'):
            api_server.create(wrong)


# --- the end of programs ----------------------------------------------------------------------

STUBBORN = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); signal.pause()"
"""A program that ends on SIGTERM, not on the Ctrl-C of its terminal."""
STARTER = f"""
import signal, sys
from pathlib import Path
from support.guarded_process import guarded
with guarded([sys.executable, "-c", {STUBBORN!r}], Path(sys.argv[1])):
    print("started", flush=True)
    signal.pause()
"""


def ends(pipe: int, seconds: float = 30) -> bool:
    """Whether a pipe ends: all that had its other end open are gone."""
    while select.select([pipe], [], [], seconds)[0]:
        if not os.read(pipe, 4096):
            return True
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_program_ends_with_its_starter(number: signal.Signals, tmp_path: Path) -> None:
    """However the starter ends: by Ctrl-C, or killed without a chance to clean up."""
    reading, writing = os.pipe()  # the program inherits it through its log, a named file
    log = Path(f"/dev/fd/{writing}")
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, str(log)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=[writing],
    ) as starter:
        os.close(writing)
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"started\n"
        starter.send_signal(number)
        starter.wait(30)
    try:
        assert ends(reading)
    finally:
        os.close(reading)


def test_a_program_that_ends_by_itself_ends_its_guard(tmp_path: Path) -> None:
    """The guard ends with the exit code of its program, whose words are in the log."""
    log = tmp_path / "log"
    command = [sys.executable, "-c", "print('about to fail'); raise SystemExit(7)"]
    with guarded(command, log) as guard:
        assert guard.wait(30) == 7
    assert log.read_text() == "about to fail\n"


@pytest.mark.cluster
@pytest.mark.xdist_group("cluster")
def test_the_throwaway_cluster_runs_until_it_is_told_to_end(
    api_server: ControlPlane, tmp_path: Path
) -> None:
    """It prints a kubeconfig that kubectl works with, and leaves neither processes nor files."""
    command = [sys.executable, "-m", "support.throwaway_cluster", "intel"]
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        told = {}
        for line in starter.stdout:
            name, _, value = line.strip().partition("=" if "KUBECONFIG" in line else " is ")
            told[name] = value
            if line.startswith("Ctrl-C"):
                break
        kubeconfig = Path(told["export KUBECONFIG"])
        server = urlsplit(ApiClient.from_kubeconfig(kubeconfig).url)
        listed = subprocess.run(
            [told["kubectl"], "get", "resourceslices,pods", "-A", "-o", "name"],
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        starter.send_signal(signal.SIGINT)
        assert starter.stdout.read() == "ended\n"
    assert starter.returncode == 0
    assert "resourceslice.resource.k8s.io/intel-1-gpu.intel.com-vmkc9" in listed.stdout
    assert "pod/chat-0" in listed.stdout
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port or 0))
    assert not list(tmp_path.iterdir())


def test_a_connection_that_ended_under_tls_is_opened_again(
    api_server: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server closes idle connections; TLS reports an end of file that is no ConnectionError."""
    exchange = type(api_server)._exchange
    failures = [ssl.SSLEOFError("EOF occurred in violation of protocol")]

    def once(*arguments: Any) -> tuple[int, bytes]:
        if failures:
            idle = getattr(arguments[0]._own, "connection", None)
            if idle is not None:
                idle.close()
            raise failures.pop()
        return exchange(*arguments)

    monkeypatch.setattr(type(api_server), "_exchange", once)

    assert api_server.call("GET", "/api/v1/namespaces/default").status == 200
    assert not failures
