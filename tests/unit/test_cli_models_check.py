"""``claimfit models check`` against a hub on loopback."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from claimfit.__main__ import main
from claimfit.model.catalogue import built_in
from claimfit.storage.http import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "Qwen/Qwen3-8B"


class Hub:
    """A server that answers for config.json of the repositories in `replies`."""

    def __init__(self) -> None:
        self.replies: dict[str, tuple[int, bytes]] = {}
        self.tokens: list[str | None] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.tokens.append(self.headers.get("Authorization"))
                repository = self.path.removesuffix("/resolve/main/config.json").lstrip("/")
                status, body = hub.replies.get(repository, (404, b""))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Stay silent."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def publish(self, name: str, **changes: object) -> None:
        """Serve the catalogue's configuration of `name` with `changes` and foreign keys."""
        entry = built_in().entry(name)
        assert entry is not None
        whole = entry.config | {"bos_token_id": 1} | changes
        body = json.dumps({key: value for key, value in whole.items() if value is not ...})
        self.replies[entry.repository] = (200, body.encode())


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """Return a running hub that HF_ENDPOINT names."""
    hub = Hub()
    thread = threading.Thread(target=hub.server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", hub.url + "/")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    yield hub
    hub.server.shutdown()
    hub.server.server_close()
    thread.join()


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Return exit code and stdout of ``claimfit models check``."""
    code = main(["models", "check", *arguments])
    return code, capsys.readouterr().out


def test_an_entry_that_agrees(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    """Keys that only the repository has are no difference; exit 0."""
    hub.publish(NAME)

    assert run(capsys, NAME) == (
        0,
        f"{NAME}: agrees\n1 compared with their repositories: 1 agrees\n",
    )


def test_a_difference_is_named_with_both_values(
    hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """A value that changed upstream is a finding: exit 1, the key, both values."""
    hub.publish(NAME, max_position_embeddings=131072)

    code, out = run(capsys, NAME)
    assert code == 1
    assert "  max_position_embeddings: entry 40960, repository 131072\n" in out


def test_a_key_left_to_its_default_is_told_and_no_finding(
    hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """Repositories leave out what equals the default of their model type."""
    hub.publish(NAME, head_dim=...)

    code, out = run(capsys, NAME)
    assert code == 0
    assert out.startswith(f"{NAME}: agrees (left to its default there: head_dim)\n")


def test_a_repository_that_is_gone_is_a_finding(
    hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """404 for a repository that the catalogue names: exit 1, and the rest is still compared."""
    hub.publish("Qwen/Qwen3-0.6B")

    code, out = run(capsys, NAME, "Qwen/Qwen3-0.6B")
    assert code == 1
    assert out.endswith("2 compared with their repositories: 1 gone, 1 agrees\n")


def test_a_gated_repository_is_not_checked(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    """Refused access is an environment's failure (exit 3), and says nothing about the entry."""
    hub.replies[NAME] = (401, b"")

    code, out = run(capsys, NAME, "-o", "json")
    assert code == 3
    (checked,) = json.loads(out)["checked"]
    assert checked["status"] == "refused"
    assert checked["error"]["code"] == "NET003"


def test_the_token_is_sent_to_the_hub(
    hub: Hub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """HF_TOKEN opens gated repositories."""
    monkeypatch.setenv("HF_TOKEN", "secret")
    hub.publish(NAME)

    run(capsys, NAME)
    assert hub.tokens == ["Bearer secret"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"a": NaN}', b"\xff", b"[" * 100_000])
def test_a_reply_that_is_no_configuration_is_a_finding(
    hub: Hub, capsys: pytest.CaptureFixture[str], body: bytes
) -> None:
    """What cannot be read is reported, not crashed on."""
    hub.replies[NAME] = (200, body)

    code, out = run(capsys, NAME)
    assert code == 1
    assert out.startswith(f"{NAME}: unreadable: ")


def test_hostile_values_are_printed_on_one_line(
    hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """A repository cannot write lines of its own into the report."""
    hub.publish(NAME, model_type="x\nagrees\x1b[0m" + "y" * 10_000)

    code, out = run(capsys, NAME)
    assert code == 1
    assert out.count("\n") == 3
    assert "\x1b" not in out


def test_an_unknown_name_is_wrong_use(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is fetched for a name that no table has."""
    assert run(capsys, "nobody/knows")[0] == 2
    assert hub.tokens == []


def test_no_server_is_an_environment_failure(
    hub: Hub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a way to the hub the command stops at once with exit 3."""
    monkeypatch.setattr("claimfit.cli.models_check._LIMITS", Limits(attempts=1))  # no pauses
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")

    assert run(capsys)[0] == 3
