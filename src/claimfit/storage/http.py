"""HTTP GET under a budget: bounded bytes, requests, redirects, attempts and time.

A server is untrusted. A redirect never carries the token to another origin, never leaves https and
never goes on for ever; a busy server is asked again a few times; a body is read as far as it is
needed and the connection then dropped. Everything that was received is counted.
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

import httpx2

from claimfit._version import __version__
from claimfit.errors import EnvironmentFailure, InputError
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["Http", "Limits", "Response", "check_address", "shown"]

T = TypeVar("T")

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_TRANSIENT: Final = frozenset({429, 500, 502, 503, 504})
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_HOST: Final = re.compile(
    rb"^(?=.{1,253}$)(?:(?:[\w-]{1,63}\.)*[\w-]{1,63}\.?|[0-9a-f]*:[0-9a-f:.]+)$"
)
"""A name after IDNA (RFC 1035: labels up to 63, 253 in all), or an IPv6 address."""
_LARGEST_PORT: Final = 65535
_FIRST_PAUSE_SECONDS: Final = 0.5
_USER_AGENT: Final = f"claimfit/{__version__}"


class Limits(NamedTuple):
    """How much one model may cost. The defaults are several times what a 400 GB model needs."""

    bytes: int = 32 << 20
    requests: int = 2000
    seconds: float = 300.0
    redirects: int = 5
    attempts: int = 4
    """Of one request, when the server is busy or the connection breaks."""
    longest_pause_seconds: float = 20.0
    """Between two attempts, whatever Retry-After asks for."""


class Response:
    """One reply while its body is still on the way."""

    def __init__(self, reply: httpx2.Response, http: Http) -> None:
        self._reply = reply
        self._http = http
        self.status: int = reply.status_code
        self.url = str(reply.url)

    @property
    def place(self) -> str:
        """The address without what may be secret in it."""
        return shown(self.url)

    def header(self, name: str) -> str:
        """Return a header, empty when it is absent."""
        return str(self._reply.headers.get(name, ""))

    def body(self, length: int) -> bytes:
        """Return the first `length` bytes of the body, fewer where it ends; receive no more."""
        received = bytearray()
        for chunk in self._reply.iter_raw():
            self._http.spend(len(chunk), self.place)
            received += chunk
            if len(received) >= length:
                break
        return bytes(received[:length])


class Http:
    """Gets parts of files. One object for one model: its limits are the model's budget."""

    def __init__(
        self,
        client: Callable[[], httpx2.Client] | None = None,
        *,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            client: makes the connection pool when the first request is sent.
            limits: the budget; None for the defaults.
            clock: seconds that only grow.
            sleep: waits that many seconds.
        """
        self._make_client = client or _default_client
        self._client: httpx2.Client | None = None
        self._token = ""
        self._token_origin: tuple[str, str, int] | None = None
        self.limits = limits or Limits()
        self._clock = clock
        self._sleep = sleep
        self._deadline: float | None = None
        self.transferred_bytes = 0
        """Bytes of bodies that were received."""
        self.requests = 0

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def authorize(self, token: str, url: str) -> None:
        """Send the bearer token `token` to the origin of `url` from here on, and nowhere else.

        Raises:
            InputError: NET009 when `url` is none, or the token cannot stand in a header.
        """
        if not token.isascii() or not token.isprintable() or " " in token:
            raise InputError(
                "NET009", "the token holds characters that no token has", place="HF_TOKEN"
            )
        self._token = token
        self._token_origin = _origin(_parsed(url))

    def document(self, url: str, longest: int) -> bytes:
        """Return the whole body at `url`, of at most `longest` bytes.

        Raises:
            InputError, EnvironmentFailure: as `get`; NET005 when it is longer.
        """

        def receive(response: Response) -> bytes:
            body = response.body(longest + 1)
            if len(body) > longest:
                raise InputError(
                    "NET005",
                    "the reply is too long",
                    place=response.place,
                    expected=f"at most {longest} bytes",
                )
            return body

        return self.get(url, {}, frozenset({200}), receive)

    def get(
        self,
        url: str,
        headers: Mapping[str, str],
        statuses: frozenset[int],
        receive: Callable[[Response], T],
    ) -> T:
        """Send a GET, follow redirects, and return what `receive` makes of the reply.

        Tries again after 429, 5xx and broken connections.

        Args:
            url: http or https.
            headers: to send beside our own.
            statuses: what `receive` understands; others are errors.
            receive: reads the body as far as it needs.

        Raises:
            InputError: NET002 not found, NET007 a redirect that is not followed, NET009 no URL.
            EnvironmentFailure: NET001 no connection, NET003 refused, NET004 busy, NET008 budget
                spent, NET010 another status.
        """
        for attempt in range(1, self.limits.attempts + 1):
            last = attempt == self.limits.attempts
            try:
                with self._followed(url, headers) as response:
                    if response.status not in _TRANSIENT or last:
                        _require(response, statuses)
                        return receive(response)
                    wanted = response.header("retry-after")
            except httpx2.TransportError as error:
                if last:
                    raise _unreachable(url, error) from error
                wanted = ""
            self._pause(attempt, wanted, url)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def spend(self, received: int, place: str) -> None:
        """Count `received` bytes of a body.

        Raises:
            EnvironmentFailure: NET008 when bytes or time exceed the budget.
        """
        self.transferred_bytes += received
        if self.transferred_bytes > self.limits.bytes:
            raise _spent(place, f"{self.limits.bytes} bytes", "a header is never that long")
        self._check_time(place)

    @contextmanager
    def _followed(self, url: str, headers: Mapping[str, str]) -> Iterator[Response]:
        """Send the request and follow its redirects; the reply is closed on exit."""
        target = _parsed(url)
        secure = target.scheme == "https"
        for _ in range(self.limits.redirects + 1):
            reply = self._send(target, headers)
            try:
                location = reply.headers.get("location")
                if reply.status_code not in _REDIRECTS or not location:
                    yield Response(reply, self)
                    return
                target = _redirected(target, location, secure=secure)
            finally:
                reply.close()
        raise InputError(
            "NET007",
            "too many redirects",
            place=shown(url),
            expected=f"at most {self.limits.redirects}",
        )

    def _send(self, url: httpx2.URL, headers: Mapping[str, str]) -> httpx2.Response:
        place = shown(str(url))
        self.requests += 1
        if self.requests > self.limits.requests:
            raise _spent(place, f"{self.limits.requests} requests", "is the repository that large?")
        self._check_time(place)
        if self._client is None:
            self._client = self._make_client()
        # identity: a range counts bytes of the file, not of a compressed form of it.
        own = {"Accept-Encoding": "identity", "User-Agent": _USER_AGENT, **headers}
        if self._token and _origin(url) == self._token_origin:
            own["Authorization"] = f"Bearer {self._token}"
        request = self._client.build_request("GET", url, headers=own)
        return self._client.send(request, stream=True, follow_redirects=False)

    def _check_time(self, place: str) -> None:
        now = self._clock()
        if self._deadline is None:
            self._deadline = now + self.limits.seconds
        elif now > self._deadline:
            raise _spent(place, f"{self.limits.seconds:g} seconds", "try again on a faster line")

    def _pause(self, attempt: int, wanted: str, url: str) -> None:
        seconds = _FIRST_PAUSE_SECONDS * 2 ** (attempt - 1)
        if re.fullmatch(r"[0-9]{1,6}", wanted):
            seconds = float(wanted)
        self._sleep(min(seconds, self.limits.longest_pause_seconds))
        self._check_time(shown(url))


def shown(url: str) -> str:
    """Return `url` fit to print: without user, password, query (it may be signed) and fragment."""
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError):
        return url.partition("?")[0].rpartition("@")[2]
    return str(parsed.copy_with(username=None, password=None, query=None, fragment=None))


def _default_client() -> httpx2.Client:
    try:
        return httpx2.Client(timeout=httpx2.Timeout(30.0, connect=10.0), follow_redirects=False)
    except (httpx2.InvalidURL, ImportError, OSError, ValueError) as error:
        # The client reads proxies and certificates from the environment, and raises what it likes.
        raise EnvironmentFailure(
            "NET011",
            "the network settings of this machine cannot be used",
            found=str(error),
            fix="check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR",
        ) from error


def check_address(url: str, place: str) -> None:
    """Raise `InputError` NET009 at `place` unless `url` is one that a connection can be made to."""
    _parsed(url, place)


def _parsed(url: str, place: str = "") -> httpx2.URL:
    problem = InputError(
        "NET009", "not a URL", place=place, found=url, expected="https://HOST/PATH"
    )
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError) as error:
        raise problem from error
    if not _usable(parsed):
        raise problem
    return parsed


def _usable(url: httpx2.URL) -> bool:
    """Return whether a connection can be asked for: the resolver raises no error of its own."""
    known = url.scheme in _DEFAULT_PORTS
    return known and bool(_HOST.match(url.raw_host)) and (url.port or 0) <= _LARGEST_PORT


def _origin(url: httpx2.URL) -> tuple[str, str, int]:
    return url.scheme, url.host, url.port or _DEFAULT_PORTS[url.scheme]


def _redirected(source: httpx2.URL, location: str, *, secure: bool) -> httpx2.URL:
    """Return where a redirect leads; one that leaves http(s), or https, is refused."""
    try:
        target = source.join(location)
    except (httpx2.InvalidURL, ValueError):
        target = None
    allowed = {"https"} if secure else set(_DEFAULT_PORTS)
    if target is None or target.scheme not in allowed or not _usable(target):
        raise InputError(
            "NET007",
            "the server redirects to where no model is read from",
            place=shown(str(source)),
            found=shown(location),
            expected=" or ".join(sorted(allowed)),
        )
    return target


def _require(response: Response, statuses: frozenset[int]) -> None:
    """Raise what a status outside `statuses` means."""
    status, place = response.status, response.place
    if status in statuses:
        return
    if status in {404, 410}:
        raise InputError(
            "NET002",
            "there is no such file or repository",
            place=place,
            found=f"status {status}",
            fix="check the spelling; a private repository needs HF_TOKEN",
        )
    if status in {401, 403}:
        raise EnvironmentFailure(
            "NET003",
            "the server refuses access",
            place=place,
            found=f"status {status}",
            fix="check the name; set HF_TOKEN, and accept the licence of a gated model",
        )
    if status in _TRANSIENT:
        raise EnvironmentFailure(
            "NET004",
            "the server is busy or broken",
            place=place,
            found=f"status {status}",
            fix="try again later",
        )
    raise EnvironmentFailure(
        "NET010",
        "the server answers with a status that means nothing here",
        place=place,
        found=f"status {status}",
        expected=" or ".join(str(item) for item in sorted(statuses)),
    )


def _unreachable(url: str, error: httpx2.TransportError) -> EnvironmentFailure:
    return EnvironmentFailure(
        "NET001",
        "the connection failed",
        place=shown(url),
        found=str(error) or type(error).__name__,
        fix="check the network, HF_ENDPOINT and the proxy settings",
    )


def _spent(place: str, limit: str, fix: str) -> EnvironmentFailure:
    return EnvironmentFailure(
        "NET008",
        "reading the model's headers takes too much",
        place=place,
        expected=f"at most {limit}",
        fix=fix,
    )
