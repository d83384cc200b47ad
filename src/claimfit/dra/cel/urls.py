"""URLs as Go's net/url reads them, which the URL library of Kubernetes builds on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from claimfit.dra.cel.go_text import quoted
from claimfit.dra.cel.network import IP
from claimfit.dra.cel.values import EvalError, FailureError, Opaque, no_such_overload

if TYPE_CHECKING:
    from claimfit.dra.cel.values import Value


__all__ = ["URL", "request_uri_problem"]

_SCHEME: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+\-.]*):")
_USERINFO: Final = re.compile(r"[a-zA-Z0-9\-._:~!$&'()*+,;=%@]*")
_PORT: Final = re.compile(r"(?::[0-9]*)?", re.ASCII)
_ESCAPE: Final = re.compile(r"%(.{0,2})", re.DOTALL)
_HOST_SAFE: Final = frozenset("!$&'()*+,;=:[]<>\"")
_PATH_SAFE: Final = frozenset("$&+,/:;=@-_.~")


class _RefusedError(FailureError):
    """The text is no URL; the message is net/url's."""


class URL(Opaque):
    """A parsed URL."""

    __slots__ = ("host", "opaque", "path", "query", "raw_path", "scheme", "text")

    type_name: ClassVar[str] = "kubernetes.URL"
    go_type: ClassVar[str] = "cel.URL"

    def __init__(self, text: str) -> None:
        self.text = text
        self.scheme = self.host = self.path = self.raw_path = self.query = self.opaque = ""

    @classmethod
    def parse(cls, text: str) -> URL:
        """Return the URL that `text` writes; raises `EvalError` in Kubernetes' words."""
        refused = request_uri_problem(text)
        if refused:
            raise EvalError("URL parse error during conversion from string: %s", refused)
        return _parsed(text.partition("#")[0], request=False)

    def equals(self, other: Value) -> bool:
        """Whether the URLs are written the same."""
        if not isinstance(other, URL):
            raise no_such_overload()
        return self.text == other.text

    @property
    def hostname(self) -> str:
        """The host without port and brackets."""
        host = self.host
        if host.startswith("["):
            return host[1 : host.index("]")]
        name, colon, port = host.rpartition(":")
        return name if colon and (port.isdigit() or not port) else host

    @property
    def port(self) -> str:
        """The port as written, or nothing."""
        tail = self.host.rpartition("]")[2] if self.host.startswith("[") else self.host
        _, colon, port = tail.rpartition(":")
        return port if colon and (not port or port.isdigit()) else ""

    @property
    def escaped_path(self) -> str:
        """The path with what needs it escaped; as written where that was a valid escaping."""
        if self.raw_path and _valid_escaping(self.raw_path):
            return self.raw_path
        return "*" if self.path == "*" else _escaped(self.path)

    def query_values(self) -> dict[str, list[str]]:
        """Return the values of each key of the query; malformed pairs are left out."""
        found: dict[str, list[str]] = {}
        for pair in self.query.split("&"):
            if not pair or ";" in pair:
                continue
            key, _, value = pair.partition("=")
            try:
                name, content = (_unescaped(part.replace("+", " ")) for part in (key, value))
            except _RefusedError:
                continue
            found.setdefault(name, []).append(content)
        return found

    def __str__(self) -> str:
        return self.text


def request_uri_problem(text: str) -> str:
    """Return what keeps `text` from being an absolute URI, in net/url's words, or nothing."""
    try:
        _parsed(text, request=True)
    except _RefusedError as problem:
        return f"parse {quoted(text)}: {problem}"
    return ""


def _parsed(text: str, *, request: bool) -> URL:
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        raise _RefusedError("net/url: invalid control character in URL")
    if not text and request:
        raise _RefusedError("empty url")
    url = URL(text)
    if text == "*":
        url.path = "*"
        return url
    rest = text
    scheme = _SCHEME.match(text)
    if scheme is not None:
        url.scheme, rest = scheme[1].lower(), text[scheme.end() :]
    elif text.startswith(":"):
        raise _RefusedError("missing protocol scheme")
    rest, _, url.query = rest.partition("?")
    if not rest.startswith("/"):
        if url.scheme:
            url.opaque = rest
            return url
        if request:
            raise _RefusedError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise _RefusedError("first path segment in URL cannot contain colon")
    leads = url.scheme or (not request and not rest.startswith("///"))
    if leads and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        url.host = _authority(url.scheme, authority)
    url.path = _unescaped(rest)
    if _escaped(url.path) != rest:
        url.raw_path = rest
    return url


def _authority(scheme: str, authority: str) -> str:
    userinfo, at, host = authority.rpartition("@")
    found = _host(scheme, host)
    if at:
        if not _USERINFO.fullmatch(userinfo):
            raise _RefusedError("net/url: invalid userinfo")
        _unescaped(userinfo)
    return found


def _host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise _RefusedError("invalid IP-literal")
    if bracket == 0:
        return _literal_host(host)
    colon = host.find(":")
    if colon >= 0:
        last = host.rfind(":")
        if last != colon and scheme not in {"http", "https"}:
            colon = last
        if not _PORT.fullmatch(host[colon:]):
            raise _RefusedError("invalid port %s after host", quoted(host[colon:]))
    return _unescaped(host, host=True)


def _literal_host(host: str) -> str:
    close = host.rfind("]")
    if close < 0:
        raise _RefusedError("missing ']' in host")
    port = host[close + 1 :]
    if not _PORT.fullmatch(port):
        raise _RefusedError("invalid port %s after host", quoted(port))
    name = host[1:close]
    address, zone, _ = name.partition("%25")
    name = _unescaped(address, host=True) + _unescaped(name[len(address) :])
    try:
        ip = IP.parse(name.partition("%")[0] if zone else name)
    except EvalError as problem:
        if "IPv4-mapped" in problem.message:
            return f"[{name}]{port}"
        _, _, reason = problem.message.partition("conversion from string: ")
        raise _RefusedError("invalid host: %s", reason) from None
    if ip.bits == 32:
        raise _RefusedError("invalid IP-literal")
    return f"[{name}]{port}"


def _unescaped(text: str, *, host: bool = False) -> str:
    """Return `text` with percent escapes decoded; a host may escape no ASCII but a percent."""
    for escape in _ESCAPE.finditer(text):
        digits = escape[1]
        if len(digits) < 2 or not all(char in "0123456789abcdefABCDEF" for char in digits):
            raise _RefusedError("invalid URL escape %s", quoted(escape[0]))
        if host and int(digits, 16) < 0x80 and digits != "25":
            raise _RefusedError("invalid URL escape %s", quoted(escape[0]))
    if host:
        for char in text:
            if ord(char) < 0x80 and not (char.isalnum() or char in "-_.~%" or char in _HOST_SAFE):
                raise _RefusedError("invalid character %s in host name", quoted(char))
    if "%" not in text:
        return text
    raw = re.sub(rb"%([0-9a-fA-F]{2})", lambda found: bytes([int(found[1], 16)]), text.encode())
    return raw.decode(errors="replace")


def _escaped(path: str) -> str:
    return "".join(
        char
        if char.isascii() and (char.isalnum() or char in _PATH_SAFE)
        else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in path
    )


def _valid_escaping(path: str) -> bool:
    """Whether `path` holds only what a path may, escapes included."""
    return all(
        char in "!$&'()*+,;=:@[]%/-_.~" or (char.isascii() and char.isalnum()) for char in path
    )
