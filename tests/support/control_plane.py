"""A throw-away Kubernetes control plane on loopback: etcd and kube-apiserver as plain processes.

Started in a temporary folder with a static token file; both processes end with the context. Their
logs are in that folder, and the end of the log is part of the error when one does not come up.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Answer", "ControlPlane", "control_plane"]

_START_SECONDS: Final = 90
_STOP_SECONDS: Final = 20
_POLL_SECONDS: Final = 0.2


class Answer(NamedTuple):
    """What the API server answered."""

    status: int
    body: dict[str, object]

    @property
    def message(self) -> str:
        """The server's words when it refused."""
        return str(self.body.get("message", ""))


class ControlPlane(NamedTuple):
    """A running API server."""

    url: str
    token: str

    def call(self, method: str, path: str, body: object = None) -> Answer:
        """Return the answer to one request; a refusal is an answer, not an exception."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # a self-signed certificate on loopback, made just now
        try:
            with urllib.request.urlopen(request, context=context, timeout=30) as reply:
                return Answer(reply.status, json.load(reply))
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode(errors="replace")
            try:
                return Answer(error.code, json.loads(text))
            except json.JSONDecodeError:
                return Answer(error.code, {"message": text})

    def dry_run(self, manifest: dict[str, object]) -> Answer:
        """Return what the server says to creating `manifest`, without creating it."""
        group, _, version = str(manifest["apiVersion"]).rpartition("/")
        kind = str(manifest["kind"])
        metadata = manifest["metadata"]
        assert isinstance(metadata, dict)
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        plural = f"{kind.lower()}{'es' if kind.endswith('s') else 's'}"
        scope = (
            "" if kind in _CLUSTER_KINDS else f"/namespaces/{metadata.get('namespace', 'default')}"
        )
        return self.call(
            "POST", f"{root}{scope}/{plural}?dryRun=All&fieldValidation=Strict", manifest
        )


_CLUSTER_KINDS: Final = frozenset({"DeviceClass", "ResourceSlice", "Node", "Namespace"})


@contextlib.contextmanager
def control_plane(etcd: Path, apiserver: Path, folder: Path) -> Iterator[ControlPlane]:
    """Yield an API server that is ready; stop it and its etcd at the end."""
    client, peer, port = _free_ports(3)
    token = secrets.token_hex(16)
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
        str(etcd),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls=http://127.0.0.1:{peer}",
        "--unsafe-no-fsync",
    ]
    server_command = [
        str(apiserver),
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
        "--disable-admission-plugins=ServiceAccount",
    ]
    with (
        _running(etcd_command, folder / "etcd.log"),
        _running(server_command, folder / "kube-apiserver.log") as server,
    ):
        plane = ControlPlane(f"https://127.0.0.1:{port}", token)
        _wait_ready(plane, server, folder / "kube-apiserver.log")
        yield plane


def _free_ports(number: int) -> list[int]:
    """Return ports that are free now; held together so that they differ."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for item in sockets:
            item.bind(("127.0.0.1", 0))
        return [item.getsockname()[1] for item in sockets]


@contextlib.contextmanager
def _running(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_ready(plane: ControlPlane, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(OSError):
            if plane.call("GET", "/api/v1/namespaces/default").status == 200:
                return
        time.sleep(_POLL_SECONDS)
    tail = log.read_text(encoding="utf-8", errors="replace")[-3000:]
    raise RuntimeError(f"kube-apiserver did not become ready\n{tail}")
