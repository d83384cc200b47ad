"""The hub: references, commits, files, tokens and the cache, against a server on loopback."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import httpx2
import pytest

from claimfit.errors import ClaimfitError
from claimfit.storage.cache import Cache, Entry
from claimfit.storage.http import Http
from claimfit.storage.opening import open_model
from claimfit.storage.reference import HubReference, hub_address, hub_reference, is_safe_path
from support.gguf_models import dense_model
from support.gguf_writer import gguf_bytes
from support.range_server import RangeServer, SparseFile, reply
from support.safetensors_writer import LLAMA, llama_tensors, safetensors_bytes

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Iterator
    from http.server import BaseHTTPRequestHandler

    from claimfit.model.facts import ModelFacts

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GGUF = gguf_bytes(*dense_model())
LLAMA_FILES = {
    "config.json": json.dumps(LLAMA).encode(),
    "model.safetensors": safetensors_bytes(llama_tensors()),
    "README.md": b"# a model",
}


class Hub:
    """A hub with repositories at one commit; `main` and any other revision lead to it."""

    def __init__(self, server: RangeServer, cache: pathlib.Path) -> None:
        self.server = server
        self.environment = {"HF_ENDPOINT": server.url, "XDG_CACHE_HOME": str(cache)}

    def add(self, repository: str, files: dict[str, bytes], *revisions: str) -> None:
        """Publish `files` as `repository`."""
        listing = {"sha": COMMIT, "siblings": [{"rfilename": name} for name in files]}
        for revision in ("main", COMMIT, *revisions):
            path = f"/api/models/{repository}/revision/{revision}"
            self.server.files[path] = json.dumps(listing).encode()
        for name, content in files.items():
            self.server.files[f"/{repository}/resolve/{COMMIT}/{name}"] = content

    def open(self, reference: str, quantization: str = "", **more: str) -> ModelFacts:
        """Open a reference as the command line would."""
        http = Http(lambda: httpx2.Client(trust_env=False), sleep=lambda _: None)
        try:
            return open_model(
                reference,
                environment=self.environment | more,
                http=http,
                quantization=quantization,
            )
        finally:
            self.transferred_bytes = http.transferred_bytes
            self.requests = http.requests
            http.close()

    def refused(self, reference: str, quantization: str = "", **more: str) -> ClaimfitError:
        """Return the error that opening raises."""
        with pytest.raises(ClaimfitError) as caught:
            self.open(reference, quantization, **more)
        return caught.value


@pytest.fixture
def hub(tmp_path: pathlib.Path) -> Iterator[Hub]:
    """A hub with a model in safetensors and one in two GGUF files."""
    with RangeServer() as server:
        made = Hub(server, tmp_path)
        made.add("org/llama", LLAMA_FILES, "v1.0", "refs%2Fpr%2F1")
        made.add("org/files", {"a-Q4_K_M.gguf": GGUF, "a-Q8_0.gguf": GGUF, "mmproj.gguf": b"x"})
        yield made


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hf://org/name", HubReference("org/name")),
        ("hf://org/na.me-1_x", HubReference("org/na.me-1_x")),
        ("hf://org/name@v1.0", HubReference("org/name", "v1.0")),
        ("hf://org/name@refs%2Fpr%2F1", HubReference("org/name", "refs/pr/1")),
        ("hf://org/name:Q4_K_M", HubReference("org/name", quantization="Q4_K_M")),
        ("hf://org/name@v1:UD-Q4_K_XL", HubReference("org/name", "v1", "", "UD-Q4_K_XL")),
        ("hf://org/name/a.gguf", HubReference("org/name", path="a.gguf")),
        ("hf://org/name@v1/sub/a b.gguf", HubReference("org/name", "v1", "sub/a b.gguf")),
    ],
)
def test_references_are_taken_apart(text: str, expected: HubReference) -> None:
    """Repository, then revision, quantization and file."""
    assert hub_reference(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "hf://",
        "hf://name",
        "hf:///name",
        "hf://org/name@",
        "hf://org/name:",
        "hf://../name",
        "hf://org/..",
        "hf://org/name/../../x",
        "hf://org/name//x",
        "hf://org/name/a\nb",
        "hf://org/na me",
        "hf://org/name?x=1",
        "hf://user:pw@org/name",
        "hf://org/" + "n" * 200,
    ],
)
def test_other_text_is_no_reference(text: str, hub: Hub) -> None:
    """Nothing is asked for it."""
    assert hub.refused(text).code == "NET009"
    assert not hub.server.seen


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/org/name", HubReference("org/name")),
        ("/org/name/", HubReference("org/name")),
        ("/org/name/tree/v1", HubReference("org/name", "v1")),
        ("/org/name/blob/main/a.gguf", HubReference("org/name", "main", "a.gguf")),
        ("/org/name/resolve/main/s/a%20b.gguf", HubReference("org/name", "main", "s/a b.gguf")),
        ("/api/models", None),
        ("/org", None),
        ("/org/name/discussions/1", None),
        ("/org/../x", None),
    ],
)
def test_pages_of_the_hub_are_references(path: str, expected: HubReference | None) -> None:
    """What a user copies from the browser."""
    assert hub_address(path) == expected


@pytest.mark.parametrize("path", ["", ".", "..", "a/../b", "/a", "a//b", "a\\b", "a\0", "a" * 2000])
def test_paths_that_leave_the_repository_are_unsafe(path: str) -> None:
    """Names come from servers."""
    assert not is_safe_path(path)


def test_a_repository_is_read_at_one_commit(hub: Hub) -> None:
    """The revision is resolved once; every file is read at the commit it led to."""
    facts = hub.open("hf://org/llama")

    assert (facts.name, facts.repository, facts.origin) == ("org/llama", "org/llama", "remote")
    assert facts.file is not None
    assert facts.file.total_bytes == 2 * facts.parameters
    assert [seen.path for seen in hub.server.seen] == [
        "/api/models/org/llama/revision/main",
        f"/org/llama/resolve/{COMMIT}/config.json",
        f"/org/llama/resolve/{COMMIT}/model.safetensors",
    ]


@pytest.mark.parametrize("reference", ["hf://org/llama@v1.0", "hf://org/llama@refs%2Fpr%2F1"])
def test_revisions_are_branches_tags_and_pull_requests(hub: Hub, reference: str) -> None:
    """A slash in a revision stays one part of the address."""
    assert hub.open(reference).architecture == "llama"


@pytest.mark.parametrize(
    "page", ["/org/llama", "/org/llama/tree/main", "/org/llama/blob/main/config.json"]
)
def test_pages_of_the_hub_open_the_repository(hub: Hub, page: str) -> None:
    """An address of the endpoint is read as the repository that it shows."""
    assert hub.open(hub.server.url + page).repository == "org/llama"


def test_a_commit_needs_no_network_the_second_time(hub: Hub) -> None:
    """Listing, configuration and headers come from the cache; a branch is asked for again."""
    first = hub.open(f"hf://org/llama@{COMMIT}")
    again = hub.open(f"hf://org/llama@{COMMIT}")
    commit_requests = hub.requests
    hub.open("hf://org/llama")

    assert first == again
    assert commit_requests == 0
    assert hub.requests == 1


def test_a_cache_of_another_endpoint_or_repository_is_not_used(
    hub: Hub, tmp_path: pathlib.Path
) -> None:
    """The same commit hash elsewhere may be other files."""
    hub.open(f"hf://org/llama@{COMMIT}")
    hub.add("org/other", LLAMA_FILES)

    hub.open(f"hf://org/other@{COMMIT}")

    assert hub.requests == 3


@pytest.mark.parametrize("spoil", [b"", b"garbage", b"{}\n", b'{"version": 1}\n', b"\xff\n"])
def test_a_corrupt_cache_is_read_anew_and_replaced(
    hub: Hub, tmp_path: pathlib.Path, spoil: bytes
) -> None:
    """Whatever is in the file, the answer is right and the next one is quick again."""
    reference = f"hf://org/llama@{COMMIT}"
    facts = hub.open(reference)
    for entry in (tmp_path / "claimfit" / "remote").iterdir():
        entry.write_bytes(spoil)

    assert hub.open(reference) == facts
    assert hub.requests == 3
    assert hub.open(reference) == facts
    assert hub.requests == 0


def test_a_changed_byte_in_the_cache_is_noticed(tmp_path: pathlib.Path) -> None:
    """The digest covers the bytes; the key stands in the entry too."""
    cache = Cache(str(tmp_path))
    cache.store("key", Entry(10, "", ((0, b"abc"), (7, b"xyz"))))
    assert cache.load("key") == Entry(10, "", ((0, b"abc"), (7, b"xyz")))
    (path,) = (tmp_path / "remote").iterdir()
    raw = path.read_bytes()

    path.write_bytes(raw[:-1] + b"Z")
    assert cache.load("key") is None
    path.write_bytes(raw.replace(b'"key"', b'"kez"'))
    assert cache.load("key") is None


def test_a_cache_that_cannot_be_written_is_no_failure(hub: Hub, tmp_path: pathlib.Path) -> None:
    """A file where the folder should be, and no home at all."""
    blocked = tmp_path / "blocked"
    blocked.write_bytes(b"")

    assert hub.open("hf://org/llama", XDG_CACHE_HOME=str(blocked)).architecture == "llama"
    assert hub.open("hf://org/llama", XDG_CACHE_HOME="").architecture == "llama"


def test_cache_entries_are_private_and_whole(hub: Hub, tmp_path: pathlib.Path) -> None:
    """Headers of private repositories are nobody else's, and no half-written file stays."""
    hub.open("hf://org/llama")
    folder = tmp_path / "claimfit" / "remote"

    assert folder.stat().st_mode & 0o077 == 0
    assert all(len(entry.name) == 64 for entry in folder.iterdir())
    assert all(entry.stat().st_mode & 0o077 == 0 for entry in folder.iterdir())


def test_the_token_goes_to_the_hub_only(hub: Hub) -> None:
    """Large files are kept elsewhere, where the redirect leads without the token."""
    path = f"/org/llama/resolve/{COMMIT}/model.safetensors"
    with RangeServer({"/blob": LLAMA_FILES["model.safetensors"]}) as store:

        def spoil(handler: BaseHTTPRequestHandler) -> bool:
            if handler.path != path:
                return False
            reply(handler, 302, {"Location": f"{store.url}/blob?X-Signature=1"})
            return True

        hub.server.spoil = spoil
        hub.open("hf://org/llama", HF_TOKEN="hf_secret\n")

        assert {seen.headers.get("authorization") for seen in hub.server.seen} == {
            "Bearer hf_secret"
        }
        assert [seen.headers.get("authorization") for seen in store.seen] == [None]


def test_several_files_are_listed_and_can_be_chosen(hub: Hub) -> None:
    """By file, by a suffix, or by --quant; the suffix comes first."""
    several = hub.refused("hf://org/files")

    assert several.code == "FIL006"
    assert several.candidates == ("a-Q4_K_M.gguf", "a-Q8_0.gguf")
    chosen = {
        reference: hub.open(reference, quantization).file
        for reference, quantization in (
            ("hf://org/files/a-Q8_0.gguf", ""),
            ("hf://org/files:Q8_0", "Q4_K_M"),
            ("hf://org/files", "q8_0"),
        )
    }
    assert {file.files for file in chosen.values() if file} == {("a-Q8_0.gguf",)}


def test_a_file_of_a_repository_carries_its_name(hub: Hub) -> None:
    """The name tells repository and file."""
    facts = hub.open("hf://org/files/a-Q8_0.gguf")

    assert (facts.name, facts.repository) == ("org/files/a-Q8_0", "org/files")


def test_missing_things_are_told_apart(hub: Hub) -> None:
    """No repository, no such file in it, no model in the file, no access."""
    repository = hub.refused("hf://org/nothing")
    file = hub.refused("hf://org/files/b.gguf")
    other = hub.refused("hf://org/llama/README.md")
    hub.server.spoil = lambda handler: reply(handler, 401) or True
    gated = hub.refused("hf://org/gated")

    assert (repository.code, file.code, other.code, gated.code) == (
        "NET002",
        "NET002",
        "FIL005",
        "NET003",
    )
    assert "a-Q4_K_M.gguf" in file.candidates
    assert "HF_TOKEN" in gated.fix


def listing(value: object) -> Callable[[dict[str, SparseFile | bytes]], None]:
    """Return a change of the hub's reply."""

    def change(files: dict[str, SparseFile | bytes]) -> None:
        raw = value if isinstance(value, bytes) else json.dumps(value).encode()
        for revision in ("main", COMMIT):
            files[f"/api/models/org/llama/revision/{revision}"] = raw

    return change


@pytest.mark.parametrize(
    "value",
    [
        b"<html>",
        b"[]",
        b"{}",
        {"sha": "main", "siblings": []},
        {"sha": None, "siblings": []},
        {"sha": COMMIT},
        {"sha": COMMIT, "siblings": {}},
        {"sha": COMMIT, "siblings": ["config.json"]},
        {"sha": COMMIT, "siblings": [{"rfilename": "../../x"}]},
        {"sha": COMMIT, "siblings": [{"rfilename": "a\u0000"}]},
        {"sha": COMMIT, "siblings": [{"rfilename": None}]},
        {"sha": COMMIT, "siblings": [{}] * 50_001},
        b" " * (9 << 20),
    ],
)
def test_replies_that_make_no_sense_are_refused(hub: Hub, value: object) -> None:
    """The hub is as untrusted as any server."""
    listing(value)(hub.server.files)

    assert hub.refused("hf://org/llama").code == "NET005"


def test_another_commit_than_the_one_asked_for_is_refused(hub: Hub) -> None:
    """A commit hash says what the content is."""
    listing({"sha": "f" * 40, "siblings": []})(hub.server.files)

    assert hub.refused(f"hf://org/llama@{COMMIT}").code == "NET005"


def test_a_shard_that_the_repository_lacks_is_named(hub: Hub) -> None:
    """A numbered set is complete or an error."""
    hub.add("org/cut", LLAMA_FILES | {"model-00002-of-00002.safetensors": b""})
    del hub.server.files[f"/org/cut/resolve/{COMMIT}/model.safetensors"]
    names = ["config.json", "model-00002-of-00002.safetensors"]
    files = {"sha": COMMIT, "siblings": [{"rfilename": name} for name in names]}
    hub.server.files["/api/models/org/cut/revision/main"] = json.dumps(files).encode()

    error = hub.refused("hf://org/cut")

    assert (error.code, error.found) == ("SAF007", "model-00001-of-00002.safetensors")


def test_a_model_of_400_gb_costs_its_headers(hub: Hub) -> None:
    """One hundred shards of 4 GB: a request and at most 96 KiB for each."""
    shards = 100
    config = LLAMA | {"num_hidden_layers": shards}
    tensors = llama_tensors(shards)
    files: dict[str, SparseFile | bytes] = {"config.json": json.dumps(config).encode()}
    outside = {name: kind for name, kind in tensors.items() if ".layers." not in name}
    for index in range(shards):
        own = {n: kind for n, kind in tensors.items() if f".layers.{index}." in n}
        own |= {f"model.layers.{index}.filler": ("BF16", (2_000_000_000,))}
        head = safetensors_bytes(own | (outside if index == 0 else {}), data=False)
        data = sum(
            2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
            for _, shape in (own | (outside if index == 0 else {})).values()
        )
        name = f"model-{index + 1:05}-of-{shards:05}.safetensors"
        files[name] = SparseFile(head, len(head) + data)
    hub.add("org/huge", files)  # type: ignore[arg-type]

    facts = hub.open("hf://org/huge")

    assert facts.file is not None
    assert facts.file.total_bytes > 400 * 10**9
    assert hub.transferred_bytes < 10 << 20
    assert hub.requests == 2 + shards


def test_opening_reads_the_environment_it_is_given_only(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HF_TOKEN of the process is not used unless the edge passes it on."""
    monkeypatch.setitem(os.environ, "HF_TOKEN", "hf_process")

    hub.open("hf://org/llama")

    assert all("authorization" not in seen.headers for seen in hub.server.seen)


def test_endpoint_that_is_no_address_is_named(tmp_path: pathlib.Path) -> None:
    """A wrong HF_ENDPOINT is found where it was set, not in the address made with it."""
    environment = {"HF_ENDPOINT": "nonsense", "XDG_CACHE_HOME": str(tmp_path)}

    with pytest.raises(ClaimfitError) as caught:
        open_model("hf://acme/llama", environment=environment)

    assert (caught.value.code, caught.value.place) == ("NET009", "HF_ENDPOINT")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("http_proxy", "nonsense://proxy"),
        ("http_proxy", "http://[::1"),
        ("SSL_CERT_FILE", "/nonexistent/certificates.pem"),
    ],
)
def test_settings_that_make_no_connection_are_named(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the client raises for proxies and certificates is a failure of the machine: exit 3."""
    monkeypatch.setenv(name, value)

    with pytest.raises(ClaimfitError) as caught:
        Http().document("http://127.0.0.1:1/config.json", 10)

    assert (caught.value.code, caught.value.exit_code) == ("NET011", 3)
    assert name.upper() in caught.value.fix
