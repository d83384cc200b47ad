"""A throw-away Kubernetes control plane on loopback, of real programs as plain processes.

`api_server` is etcd and kube-apiserver. `scheduling` adds kube-scheduler, kube-controller-manager
and the node simulator. Everything is in one folder: keys, kubeconfig, logs. All processes end with
their context, and also when this process is killed (`support.guarded_process`).
"""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import secrets
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from support.api_client import ApiClient
from support.guarded_process import guarded
from support.kubernetes_build import etcd, program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ControlPlane", "StartError", "api_server", "scheduling"]

_START_SECONDS: Final = 90
_POLL_SECONDS: Final = 0.1
_PORTS: Final = range(12_000, 32_000)
"""Below the range that Linux and macOS take ports of outgoing connections from."""


class StartError(Exception):
    """A program ended or did not become ready; the message holds the end of its log."""


class ControlPlane(ApiClient):
    """A running API server, and where its files are."""

    def __init__(self, port: int, token: str, folder: Path, version: str) -> None:
        """Take where it listens, the administrator's token, and its folder."""
        authority = folder / "certificates" / "apiserver.crt"  # the server's own, then its issuer's
        super().__init__(f"https://127.0.0.1:{port}", token, authority)
        self.folder = folder
        self.version = version

    @property
    def minor(self) -> int:
        """The 36 of v1.36.3."""
        return int(self.version.split(".")[1])

    @property
    def kubeconfig_path(self) -> Path:
        """Where the kubeconfig is."""
        return self.folder / "kubeconfig"

    def log_ends(self, size: int = 1500) -> str:
        """Return the last characters of each log, with its path."""
        return "\n".join(
            f"{path}\n{_tail(path, size)}" for path in sorted(self.folder.glob("*.log"))
        )


@contextlib.contextmanager
def api_server(folder: Path, version: str, feature_gates: str = "") -> Iterator[ControlPlane]:
    """Yield an API server of `version` that is ready; stop it and its etcd at the end.

    `feature_gates` is as kube-apiserver takes it; with any, alpha and beta APIs are served too.
    """
    client, peer, port = _free_ports(3)
    token = secrets.token_hex(16)
    plane = ControlPlane(port, token, folder, version)
    (folder / "tokens.csv").write_text(f'{token},tester,1,"system:masters"\n', encoding="utf-8")
    key = folder / "service-account.key"
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", "RSA", "-out", str(key)],
        check=True,
        capture_output=True,
        timeout=60,
    )
    url = f"http://127.0.0.1:{client}"
    etcd_command = [
        str(etcd()),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls=http://127.0.0.1:{peer}",
        f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
        f"--initial-cluster=default=http://127.0.0.1:{peer}",
        "--unsafe-no-fsync",
    ]
    server_command = [
        str(program("kube-apiserver", version)),
        f"--etcd-servers={url}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'certificates'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--disable-admission-plugins=ServiceAccount",  # pods need no token to talk back with
        *_gates(feature_gates),
        *(["--runtime-config=api/all=true"] if feature_gates else []),
    ]
    log = folder / "kube-apiserver.log"
    with guarded(etcd_command, folder / "etcd.log"), guarded(server_command, log) as guard:
        _wait_until(lambda: _serves_namespaces(plane), guard, log)
        plane.kubeconfig_path.write_text(plane.kubeconfig(), encoding="utf-8")
        yield plane


@contextlib.contextmanager
def scheduling(plane: ControlPlane, feature_gates: str = "") -> Iterator[None]:
    """Run scheduler, controllers and the node simulator; they are ready when this yields."""
    scheduler_port, controllers_port = _free_ports(2)
    folder = plane.folder
    config = folder / "scheduler.json"
    config.write_text(json.dumps(_scheduler_config(plane.kubeconfig_path)), encoding="utf-8")
    scheduler_command = [
        str(program("kube-scheduler", plane.version)),
        f"--config={config}",
        "--bind-address=127.0.0.1",
        f"--secure-port={scheduler_port}",
        "--v=2",
        *_gates(feature_gates),
    ]
    controllers_command = [
        str(program("kube-controller-manager", plane.version)),
        f"--kubeconfig={plane.kubeconfig_path}",
        f"--service-account-private-key-file={folder / 'service-account.key'}",
        f"--root-ca-file={plane.authority}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={controllers_port}",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        *_gates(feature_gates),
    ]
    tests = Path(__file__).parents[1]
    simulator_command = [
        *("env", f"PYTHONPATH={tests}"),
        *(sys.executable, "-m", "support.node_simulator", str(plane.kubeconfig_path)),
    ]
    scheduler_log = folder / "kube-scheduler.log"
    controllers_log = folder / "kube-controller-manager.log"
    with (
        guarded(scheduler_command, scheduler_log) as scheduler,
        guarded(controllers_command, controllers_log) as controllers,
        guarded(simulator_command, folder / "node-simulator.log"),
    ):
        _wait_until(lambda: _is_ok(scheduler_port, "/readyz"), scheduler, scheduler_log)
        _wait_until(lambda: _is_ok(controllers_port, "/healthz"), controllers, controllers_log)
        yield


def _gates(feature_gates: str) -> list[str]:
    return [f"--feature-gates={feature_gates}"] if feature_gates else []


def _scheduler_config(kubeconfig: Path) -> dict[str, object]:
    """Return a configuration of defaults, but for short pauses before a pod is tried again."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 500, "burst": 1000},
        "leaderElection": {"leaderElect": False},
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 1,
    }


def _free_ports(number: int) -> list[int]:
    """Return ports that are free now; held together so that they differ."""
    with contextlib.ExitStack() as stack:
        found: list[int] = []
        while len(found) < number:
            item = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                item.bind(("127.0.0.1", random.SystemRandom().choice(_PORTS)))
                found.append(item.getsockname()[1])
        return found


def _serves_namespaces(plane: ControlPlane) -> bool:
    return (
        plane.authority.exists() and plane.call("GET", "/api/v1/namespaces/default").status == 200
    )


def _is_ok(port: int, path: str) -> bool:
    """Whether a program says that it is well; no one vouches for its certificate."""
    context = ssl._create_unverified_context()
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=context)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    finally:
        connection.close()


def _wait_until(ready: Callable[[], bool], guard: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and guard.poll() is None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if ready():
                return
        time.sleep(_POLL_SECONDS)
    ended = "ended" if guard.poll() is not None else f"was not ready within {_START_SECONDS} s"
    raise StartError(f"{log.stem} {ended}; {log}\n{_tail(log, 3000)}")


def _tail(path: Path, size: int) -> str:
    return path.read_text(encoding="utf-8", errors="replace")[-size:]
