"""Reading over HTTP, against servers on loopback that behave, ignore ranges, lie or break off."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from claimfit.errors import ClaimfitError
from claimfit.storage.http import Http, Limits, shown
from claimfit.storage.http_range import fetch
from claimfit.storage.opening import open_model
from claimfit.storage.remote_file import RemoteFile
from support.gguf_models import dense_model
from support.gguf_writer import Array, gguf_bytes
from support.range_server import RangeServer, SparseFile, reply
from support.safetensors_writer import LLAMA, llama_tensors, safetensors_bytes

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Iterator
    from http.server import BaseHTTPRequestHandler

    from claimfit.model.facts import ModelFacts

GGUF = gguf_bytes(*dense_model())
FILE = bytes(range(256)) * 16


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def client(timeout_seconds: float = 10.0) -> httpx2.Client:
    """Return a client that ignores the machine's proxies."""
    return httpx2.Client(trust_env=False, timeout=httpx2.Timeout(timeout_seconds))


@pytest.fixture
def server() -> Iterator[RangeServer]:
    """A server with one file of 4 KiB and one model."""
    with RangeServer({"/file": FILE, "/models/m-Q4_K_M.gguf": GGUF}) as running:
        yield running


@pytest.fixture
def clock() -> Clock:
    """A clock of the test's own."""
    return Clock()


@pytest.fixture
def http(clock: Clock) -> Iterator[Http]:
    """An Http whose pauses take no time."""
    made = Http(client, clock=clock, sleep=clock.sleep)
    yield made
    made.close()


def refused(action: Callable[[], object]) -> ClaimfitError:
    """Return the error that `action` raises."""
    with pytest.raises(ClaimfitError) as caught:
        action()
    return caught.value


def test_ranges_are_fetched(server: RangeServer, http: Http) -> None:
    """Inside the file, across its end and beyond it; every byte is counted."""
    file = RemoteFile(http, f"{server.url}/file")

    assert file.size is None
    assert file.read(10, 20) == FILE[10:30]
    assert file.size == len(FILE)
    assert file.read(4090, 100) == FILE[4090:]
    assert file.read(5000, 10) == b""
    assert (http.transferred_bytes, http.requests) == (26, 2)
    assert server.seen[0].headers["accept-encoding"] == "identity"
    assert server.seen[1].headers["if-range"] == server.etag


def test_a_range_beyond_the_end_tells_the_size(server: RangeServer, http: Http) -> None:
    """The first read may already lie beyond the file."""
    file = RemoteFile(http, f"{server.url}/file")

    assert file.read(5000, 10) == b""
    assert file.size == len(FILE)


def test_an_empty_file_is_empty(server: RangeServer, http: Http) -> None:
    """No range of an empty file can be satisfied."""
    server.files["/empty"] = b""
    file = RemoteFile(http, f"{server.url}/empty")

    assert (file.read(0, 10), file.size) == (b"", 0)


def ignoring(server: RangeServer) -> Callable[[BaseHTTPRequestHandler], bool]:
    """Return a spoiler that answers every request with the whole file."""

    def spoil(handler: BaseHTTPRequestHandler) -> bool:
        if "Range" in handler.headers:
            del handler.headers["Range"]
        return False

    return spoil


def test_a_server_that_ignores_ranges_is_hung_up_on(server: RangeServer, http: Http) -> None:
    """Of a 400 GB file, the head is received and the rest never sent."""
    server.files["/big.gguf"] = SparseFile(GGUF, 400 * 10**9)
    server.spoil = ignoring(server)
    file = RemoteFile(http, f"{server.url}/big.gguf")

    assert file.read(0, 1000) == GGUF[:1000]
    assert file.read(5000, 3000) == GGUF[5000:8000]
    assert file.size == 400 * 10**9
    assert http.transferred_bytes < 1 << 20
    assert server.sent_bytes < 64 << 20  # what fits into socket buffers before the hang-up


def test_a_long_header_without_ranges_costs_a_few_times_its_length(
    server: RangeServer, http: Http
) -> None:
    """The head is kept and doubled, not read again for every window."""
    keys, tensors = dense_model()
    keys["tokenizer.ggml.merges"] = Array("text", ["x" * 40] * 80_000)  # 3.8 MB
    content = gguf_bytes(keys, tensors)
    server.files["/long.gguf"] = SparseFile(content, 10**11)
    server.spoil = ignoring(server)

    facts = open_model(f"{server.url}/long.gguf", environment={}, http=http)

    assert facts.architecture == "llama"
    assert http.transferred_bytes < 4 * len(content)


def test_an_endless_header_without_ranges_is_given_up(server: RangeServer, http: Http) -> None:
    """A server that neither has ranges nor a header in reach is told apart from a model."""
    server.files["/file"] = SparseFile(b"", 10**12)
    server.spoil = ignoring(server)
    file = RemoteFile(http, f"{server.url}/file")
    file.read(0, 1)

    assert refused(lambda: file.read(17 << 20, 1)).code == "NET005"


def spoiled(
    status: int, headers: dict[str, str], body: bytes
) -> Callable[[BaseHTTPRequestHandler], bool]:
    """Return a spoiler that always answers this."""

    def spoil(handler: BaseHTTPRequestHandler) -> bool:
        reply(handler, status, headers, body)
        return True

    return spoil


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param({}, FILE[:100], id="no-content-range"),
        pytest.param({"Content-Range": "bytes 0-99"}, FILE[:100], id="no-size"),
        pytest.param({"Content-Range": "items 0-99/4096"}, FILE[:100], id="other-unit"),
        pytest.param({"Content-Range": "bytes 1-100/4096"}, FILE[:100], id="other-start"),
        pytest.param({"Content-Range": "bytes 0-49/4096"}, FILE[:50], id="shorter"),
        pytest.param({"Content-Range": "bytes 0-199/4096"}, FILE[:200], id="longer"),
        pytest.param({"Content-Range": "bytes 0-199/*"}, FILE[:200], id="longer-size-unknown"),
        pytest.param({"Content-Range": "bytes 99-0/4096"}, FILE[:100], id="backwards"),
        pytest.param({"Content-Range": "bytes 0-99/50"}, FILE[:100], id="beyond-its-own-size"),
        pytest.param({"Content-Range": "bytes 0-99/" + "9" * 400}, FILE[:100], id="10-to-400"),
        pytest.param({"Content-Range": "bytes 0-99/4096"}, FILE[:99], id="body-short"),
        pytest.param({"Content-Range": "bytes 0-99/4096"}, FILE[:999], id="body-long"),
        pytest.param(
            {"Content-Range": "bytes 0-99/4096", "Content-Encoding": "gzip"},
            FILE[:100],
            id="compressed",
        ),
    ],
)
def test_lies_about_ranges_are_refused(
    server: RangeServer, http: Http, headers: dict[str, str], body: bytes
) -> None:
    """A 206 is believed only when range, size and body agree with the question."""
    server.spoil = spoiled(206, headers, body)

    error = refused(lambda: fetch(http, f"{server.url}/file", 0, 100))

    assert error.code == "NET005"
    assert error.exit_code == 2
    assert error.place == f"{server.url}/file"


def test_a_compressed_whole_file_is_refused(server: RangeServer, http: Http) -> None:
    """Bytes of a compressed form are not the bytes of the file."""
    server.spoil = spoiled(200, {"Content-Encoding": "br"}, b"xx")

    assert refused(lambda: fetch(http, f"{server.url}/file", 0, 2)).code == "NET005"


def test_another_size_than_before_is_refused(server: RangeServer, http: Http) -> None:
    """The size is the same in every reply; without a validator this is the only sign."""
    server.etag = "W/weak"
    file = RemoteFile(http, f"{server.url}/file")
    file.read(0, 10)
    server.files["/file"] = FILE + b"more"

    assert refused(lambda: file.read(10, 10)).code == "NET005"


def test_a_file_that_changes_is_noticed(server: RangeServer, http: Http) -> None:
    """Another validator is another file: the server answers If-Range with a whole one."""
    file = RemoteFile(http, f"{server.url}/file")
    file.read(0, 10)
    server.etag = '"two"'

    error = refused(lambda: file.read(10, 10))

    assert (error.code, error.exit_code) == ("NET006", 3)


def test_a_body_that_breaks_off_is_tried_again(
    server: RangeServer, http: Http, clock: Clock
) -> None:
    """Two broken replies, then a whole one: the reader sees only that."""
    broken = iter([True, True])

    def spoil(handler: BaseHTTPRequestHandler) -> bool:
        if not next(broken, False):
            return False
        headers = {"Content-Range": "bytes 0-99/4096", "Content-Length": "100"}
        reply(handler, 206, headers, FILE[:50])
        handler.close_connection = True
        return True

    server.spoil = spoil

    assert fetch(http, f"{server.url}/file", 0, 100).body == FILE[:100]
    assert clock.pauses == [0.5, 1.0]


def test_a_body_that_always_breaks_off_is_an_error(server: RangeServer, http: Http) -> None:
    """After the last attempt the connection is at fault, exit code 3."""

    def spoil(handler: BaseHTTPRequestHandler) -> bool:
        reply(handler, 206, {"Content-Range": "bytes 0-99/4096", "Content-Length": "100"}, b"x")
        handler.close_connection = True
        return True

    server.spoil = spoil

    error = refused(lambda: fetch(http, f"{server.url}/file", 0, 100))

    assert (error.code, error.exit_code) == ("NET001", 3)
    assert http.requests == 4


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_busy_servers_are_asked_again(
    server: RangeServer, http: Http, clock: Clock, status: int
) -> None:
    """Pauses double; when it stays busy, the status is the error."""
    server.spoil = spoiled(status, {}, b"")

    error = refused(lambda: fetch(http, f"{server.url}/file", 0, 1))

    assert (error.code, error.found, error.exit_code) == ("NET004", f"status {status}", 3)
    assert clock.pauses == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("wanted", "pause"), [("7", 7.0), ("999999", 20.0), ("-1", 0.5), ("1e9", 0.5), ("soon", 0.5)]
)
def test_retry_after_is_followed_within_bounds(
    server: RangeServer, http: Http, clock: Clock, wanted: str, pause: float
) -> None:
    """Whole seconds, never more than 20 of them."""
    busy = iter([True])

    def spoil(handler: BaseHTTPRequestHandler) -> bool:
        if next(busy, False):
            reply(handler, 429, {"Retry-After": wanted})
            return True
        return False

    server.spoil = spoil

    assert fetch(http, f"{server.url}/file", 0, 1).body == FILE[:1]
    assert clock.pauses == [pause]


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (401, "NET003", 3),
        (403, "NET003", 3),
        (404, "NET002", 2),
        (410, "NET002", 2),
        (204, "NET010", 3),
        (418, "NET010", 3),
        (304, "NET010", 3),
    ],
)
def test_other_statuses_have_their_meaning(
    server: RangeServer, http: Http, status: int, code: str, exit_code: int
) -> None:
    """Refused, missing, or nothing that fits; none is tried again."""
    server.spoil = spoiled(status, {}, b"")

    error = refused(lambda: fetch(http, f"{server.url}/file", 0, 1))

    assert (error.code, error.exit_code) == (code, exit_code)
    assert http.requests == 1


def test_a_server_that_is_not_there_is_an_error(http: Http) -> None:
    """Nobody listens on port 1 of loopback."""
    error = refused(lambda: fetch(http, "http://127.0.0.1:1/file", 0, 1))

    assert (error.code, error.exit_code) == ("NET001", 3)


def test_a_silent_server_times_out(server: RangeServer, clock: Clock) -> None:
    """A server that accepts and says nothing is given up after the attempts."""
    over = threading.Event()
    http = Http(lambda: client(0.02), clock=clock, sleep=clock.sleep)

    def spoil(handler: BaseHTTPRequestHandler) -> bool:
        over.wait(5)
        handler.close_connection = True
        return True

    server.spoil = spoil
    error = refused(lambda: fetch(http, f"{server.url}/file", 0, 1))
    over.set()
    http.close()

    assert error.code == "NET001"
    assert http.requests == 4


def test_a_trickling_server_runs_out_of_time(server: RangeServer) -> None:
    """A byte now and then keeps a connection alive, but the model's time is bounded."""
    ticks = iter(range(0, 10**6, 100))
    http = Http(client, limits=Limits(seconds=250), clock=lambda: float(next(ticks)))

    def spoil(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(206)
        handler.send_header("Content-Range", "bytes 0-99/4096")
        handler.send_header("Content-Length", "100")
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b"x")
        return True

    server.spoil = spoil
    error = refused(lambda: [fetch(http, f"{server.url}/file", 0, 100) for _ in range(9)])
    http.close()

    assert (error.code, error.expected) == ("NET008", "at most 250 seconds")


def test_bytes_and_requests_have_a_budget(server: RangeServer) -> None:
    """What one model may cost is bounded, whatever the server does."""
    by_bytes = Http(client, limits=Limits(bytes=1000))
    by_requests = Http(client, limits=Limits(requests=3))
    url = f"{server.url}/file"

    assert refused(lambda: fetch(by_bytes, url, 0, 2000)).code == "NET008"
    assert refused(lambda: [fetch(by_requests, url, 0, 1) for _ in range(4)]).code == "NET008"
    by_bytes.close()
    by_requests.close()


def redirect(places: dict[str, str], status: int = 302) -> Callable[[BaseHTTPRequestHandler], bool]:
    """Return a spoiler that redirects paths."""

    def spoil(handler: BaseHTTPRequestHandler) -> bool:
        to = places.get(handler.path)
        if to is None:
            return False
        reply(handler, status, {"Location": to})
        return True

    return spoil


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_and_remembered(
    server: RangeServer, http: Http, status: int
) -> None:
    """The second range goes straight to where the first one was found."""
    server.spoil = redirect({"/from": "/file?signature=x"}, status)
    file = RemoteFile(http, f"{server.url}/from")

    assert file.read(0, 4) + file.read(4, 4) == FILE[:8]
    assert [seen.path for seen in server.seen] == [
        "/from",
        "/file?signature=x",
        "/file?signature=x",
    ]


def test_an_expired_address_is_asked_for_anew(server: RangeServer, http: Http) -> None:
    """A signed address that stops answering leads back to the first one."""
    signed = iter(["/file?one", "/file?two"])
    expired: set[str] = set()

    def spoil(handler: BaseHTTPRequestHandler) -> bool:
        if handler.path == "/from":
            reply(handler, 302, {"Location": next(signed)})
            return True
        if handler.path in expired:
            reply(handler, 403)
            return True
        return False

    server.spoil = spoil
    file = RemoteFile(http, f"{server.url}/from")
    file.read(0, 4)
    expired.add("/file?one")

    assert file.read(4, 4) == FILE[4:8]


def test_the_token_stays_with_its_origin(server: RangeServer, http: Http) -> None:
    """Another port is another origin: the redirect goes there without the token."""
    with RangeServer({"/file": FILE}) as other:
        server.spoil = redirect({"/from": f"{other.url}/back"})
        other.spoil = redirect({"/back": f"{server.url}/file"})
        http.authorize("hf_secret", server.url)

        fetch(http, f"{server.url}/from", 0, 4)

        sent = [seen.headers.get("authorization") for seen in (*server.seen, *other.seen)]
    assert sent == ["Bearer hf_secret", "Bearer hf_secret", None]


def test_the_token_is_not_sent_to_other_addresses(server: RangeServer, http: Http) -> None:
    """HF_TOKEN is for the hub; a plain address never sees it."""
    environment = {"HF_TOKEN": "hf_secret", "HF_ENDPOINT": "http://127.0.0.1:1"}

    open_model(f"{server.url}/models/m-Q4_K_M.gguf", environment=environment, http=http)

    assert all("authorization" not in seen.headers for seen in server.seen)


@pytest.mark.parametrize(
    "place",
    ["ftp://h/file", "file:///etc/passwd", "//", "http://[", "http://a..b", "data:,x"],
)
def test_redirects_out_of_the_web_are_refused(server: RangeServer, http: Http, place: str) -> None:
    """Only http and https lead to models."""
    server.spoil = redirect({"/from": place})

    assert refused(lambda: fetch(http, f"{server.url}/from", 0, 4)).code == "NET007"


def test_redirects_in_a_circle_end(server: RangeServer, http: Http) -> None:
    """Five are followed."""
    server.spoil = redirect({"/a": "/b", "/b": "/a"})

    assert refused(lambda: fetch(http, f"{server.url}/a", 0, 4)).code == "NET007"
    assert http.requests == 6


def test_a_fall_back_from_https_is_refused() -> None:
    """What was asked for over https is never read over http; http may lead to https."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/down":
            return httpx2.Response(302, headers={"Location": f"http://{request.url.host}/file"})
        if request.url.path == "/up":
            return httpx2.Response(302, headers={"Location": f"https://{request.url.host}/file"})
        headers = {"Content-Range": "bytes 0-3/4096"}
        return httpx2.Response(206, headers=headers, stream=httpx2.ByteStream(FILE[:4]))

    http = Http(lambda: httpx2.Client(transport=httpx2.MockTransport(answer)))

    assert refused(lambda: fetch(http, "https://host/down", 0, 4)).code == "NET007"
    assert fetch(http, "http://host/down", 0, 4).body == FILE[:4]
    assert fetch(http, "http://host/up", 0, 4).url == "https://host/file"
    http.close()


@pytest.mark.parametrize("token", ["hf_x\nInjected: 1", "hf x", "hf_é", "hf_\0"])
def test_tokens_that_no_header_holds_are_refused(http: Http, token: str) -> None:
    """A token with a line break must not become a header of its own; it is not shown either."""
    error = refused(lambda: http.authorize(token, "https://host"))

    assert error.code == "NET009"
    assert token not in str(error.as_dict())


@pytest.mark.parametrize(
    "url",
    [
        "",
        "host/file",
        "ftp://host/x",
        "http://",
        "http://[/x",
        "https:///x",
        "http://a..b/x",
        "http://" + "a" * 64 + "/x",
        "http://" + "a." * 200 + "/x",
        "http://ho st/x",
        "http://host:99999/x",
        "http://host:port/x",
        "http://host/\n",
    ],
)
def test_what_is_no_url_is_refused(http: Http, url: str) -> None:
    """Nothing is sent for it."""
    assert refused(lambda: fetch(http, url, 0, 1)).code == "NET009"
    assert http.requests == 0


def test_secrets_in_addresses_are_not_shown() -> None:
    """User, password and query may be secret; errors show the rest."""
    assert shown("https://user:pw@host:8443/a/b?X-Amz-Signature=s#f") == "https://host:8443/a/b"
    assert "pw" not in shown("http://user:pw@[broken/a?sig=1")


def test_a_model_at_an_address_is_read_from_its_header(
    server: RangeServer, http: Http, tmp_path: pathlib.Path
) -> None:
    """A second time nothing but a validation travels; a changed file is read anew."""
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    url = f"{server.url}/models/m-Q4_K_M.gguf"

    first = open_model(url, environment=environment, http=http)
    spent = http.transferred_bytes
    second = open_model(url, environment=environment, http=http)
    unchanged_bytes = http.transferred_bytes - spent
    server.etag = '"two"'
    server.files["/models/m-Q4_K_M.gguf"] = gguf_bytes(*dense_model(3))
    third = open_model(url, environment=environment, http=http)

    assert (first.name, first.origin) == ("m-Q4_K_M", "remote")
    assert first == second
    assert (spent, unchanged_bytes) == (65536, 0)
    assert len(third.layers) == 3


def test_a_connection_of_its_own_is_made_and_closed(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an `Http`, the machine's network is used; warnings about open sockets are errors."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)

    facts = open_model(f"{server.url}/models/m-Q4_K_M.gguf", environment={})

    assert facts.architecture == "llama"


def test_parts_of_a_set_are_found_beside_one_another(server: RangeServer, http: Http) -> None:
    """A missing part is the one that the server does not have."""
    keys, tensors = dense_model()
    split = {"split.count": 2, "split.tensors.count": len(tensors)}
    parts = {
        "/m-00001-of-00002.gguf": gguf_bytes(keys | split | {"split.no": 0}, tensors[:5]),
        "/m-00002-of-00002.gguf": gguf_bytes(split | {"split.no": 1}, tensors[5:]),
    }
    server.files |= parts

    facts = open_model(f"{server.url}/m-00002-of-00002.gguf", environment={}, http=http)
    del server.files["/m-00001-of-00002.gguf"]
    error = refused(
        lambda: open_model(f"{server.url}/m-00002-of-00002.gguf", environment={}, http=http)
    )

    assert facts.name == "m"
    assert len(facts.layers) == 2
    assert error.code == "NET002"
    assert error.place.endswith("m-00001-of-00002.gguf")


def folder(server: RangeServer, base: str) -> None:
    """Put a Hugging Face model of two shards with an index under `base`."""
    tensors = llama_tensors()
    names = list(tensors)
    shards = {"a.safetensors": names[:9], "b.safetensors": names[9:]}
    index = {"weight_map": {name: file for file, own in shards.items() for name in own}}
    server.files |= {
        f"{base}/config.json": json.dumps(LLAMA).encode(),
        f"{base}/model.safetensors.index.json": json.dumps(index).encode(),
    }
    for file, own in shards.items():
        server.files[f"{base}/{file}"] = safetensors_bytes({name: tensors[name] for name in own})


@pytest.mark.parametrize("ending", ["", "/", "/config.json"])
def test_a_folder_at_an_address_is_probed(server: RangeServer, http: Http, ending: str) -> None:
    """config.json, then the names that a model has; shards by the index."""
    folder(server, "/org/m")

    facts = open_model(f"{server.url}/org/m{ending}", environment={}, http=http)

    assert (facts.name, facts.origin) == ("m", "remote")
    assert facts.file is not None
    assert facts.file.total_bytes == 2 * facts.parameters


def test_a_safetensors_address_takes_its_folder(server: RangeServer, http: Http) -> None:
    """The configuration beside the file tells what its tensors are."""
    server.files |= {
        "/x/config.json": json.dumps(LLAMA).encode(),
        "/x/model.safetensors": safetensors_bytes(llama_tensors()),
    }

    facts = open_model(f"{server.url}/x/model.safetensors", environment={}, http=http)

    assert facts.name == "x"
    assert facts.file is not None


def test_an_address_without_configuration_is_no_model(server: RangeServer, http: Http) -> None:
    """The missing file is named."""
    error = refused(lambda: open_model(f"{server.url}/nothing", environment={}, http=http))

    assert (error.code, error.place) == ("NET002", f"{server.url}/nothing/config.json")


def test_an_index_that_leaves_the_folder_is_not_followed(server: RangeServer, http: Http) -> None:
    """A shard named ../../etc/passwd is a missing shard."""
    index = {"weight_map": {"x": "../../secret.safetensors"}}
    server.files |= {
        "/x/config.json": json.dumps(LLAMA).encode(),
        "/x/model.safetensors.index.json": json.dumps(index).encode(),
    }

    assert (
        refused(lambda: open_model(f"{server.url}/x", environment={}, http=http)).code == "SAF007"
    )
    assert all("secret" not in seen.path for seen in server.seen)


def facts_without_file(facts: ModelFacts) -> Any:
    """Return facts without what names the file."""
    return facts._replace(file=None, name="", origin="gguf")


def test_remote_and_local_facts_are_the_same(
    server: RangeServer, http: Http, tmp_path: pathlib.Path
) -> None:
    """Where the bytes come from changes nothing."""
    (tmp_path / "m-Q4_K_M.gguf").write_bytes(GGUF)

    local = open_model(f"{tmp_path}/m-Q4_K_M.gguf", environment={})
    remote = open_model(f"{server.url}/models/m-Q4_K_M.gguf", environment={}, http=http)

    assert facts_without_file(local) == facts_without_file(remote)
