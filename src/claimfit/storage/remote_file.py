"""One file on a server, as a `ByteRange`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.errors import ClaimfitError, InputError
from claimfit.storage.http import shown
from claimfit.storage.http_range import fetch

if TYPE_CHECKING:
    from claimfit.storage.http import Http
    from claimfit.storage.http_range import Reply

__all__ = ["RemoteFile"]

_LARGEST_PREFIX_BYTES: Final = 16 << 20
_EXPIRED: Final = frozenset({"NET002", "NET003", "NET004"})
"""What an address that redirects led to says once its signature has expired."""


class RemoteFile:
    """A file at a URL.

    The size and the validator that the server states first hold for every later reply. The address
    that redirects lead to is used again, and asked for anew when it stops answering (signed
    addresses expire). From a server that ignores ranges, the head is read and kept; it doubles when
    more of it is needed.
    """

    def __init__(self, http: Http, url: str) -> None:
        self._http = http
        self._url = url
        self._target = url
        self._prefix: bytes | None = None
        self.name = shown(url)
        self.size: int | None = None
        self.etag = ""

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, fewer where the file ends."""
        if self.size is not None:
            length = min(length, self.size - offset)
        if length <= 0:
            return b""
        if self._prefix is not None:
            return self._read_prefix(offset, length)
        reply = self._fetch(offset, length)
        self._remember(reply)
        if reply.partial:
            return reply.body
        self._prefix = reply.body
        return self._prefix[offset : offset + length]

    def _read_prefix(self, offset: int, length: int) -> bytes:
        prefix = self._prefix or b""
        end = offset + length
        whole = self.size is not None and len(prefix) >= self.size
        if end > len(prefix) and not whole:
            wanted = max(end, 2 * len(prefix))
            if end > _LARGEST_PREFIX_BYTES:
                raise InputError(
                    "NET005",
                    "the server ignores ranges, and the header goes on for too long",
                    place=self.name,
                    expected=f"a server with ranges, or a header within {_LARGEST_PREFIX_BYTES}",
                )
            reply = self._fetch(0, min(wanted, _LARGEST_PREFIX_BYTES))
            self._remember(reply)
            prefix = self._prefix = reply.body
        return prefix[offset:end]

    def _fetch(self, offset: int, length: int) -> Reply:
        try:
            reply = fetch(self._http, self._target, offset, length, self.etag)
        except ClaimfitError as error:
            if self._target == self._url or error.code not in _EXPIRED:
                raise
            self._target = self._url
            reply = fetch(self._http, self._url, offset, length, self.etag)
        self._target = reply.url
        return reply

    def _remember(self, reply: Reply) -> None:
        if self.size is not None and reply.size is not None and reply.size != self.size:
            raise InputError(
                "NET005",
                "the server states another size than before",
                place=self.name,
                found=f"{reply.size} bytes",
                expected=f"{self.size} bytes",
            )
        if self.size is None:
            self.size = reply.size
        self.etag = self.etag or reply.etag
