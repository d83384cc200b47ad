"""One range of one file over HTTP, believed only as far as it can be checked.

A 206 must name the range it sends, which must be the one that was asked for, and send as many bytes
as it says (RFC 9110, 14.4 and 15.3.7). A 200 means that the server ignores ranges: the head of the
file is read and the connection dropped. A validator (ETag) that was seen before must stay the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from claimfit.errors import EnvironmentFailure, InputError
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from claimfit.storage.http import Http, Response

__all__ = ["Reply", "fetch", "unchanged"]

_CONTENT_RANGE: Final = re.compile(r"^bytes ([0-9]{1,19})-([0-9]{1,19})/([0-9]{1,19}|\*)$")
_NO_RANGE: Final = re.compile(r"^bytes \*/([0-9]{1,19})$")
_LENGTH: Final = re.compile(r"^[0-9]{1,19}$")
_PARTIAL: Final = frozenset({200, 206, 416})


class Reply(NamedTuple):
    """The part of a file that a server sent."""

    body: bytes
    size: int | None
    """Bytes of the whole file; None when the server does not say."""
    etag: str
    """Strong validator of the file; empty when there is none."""
    url: str
    """Where the redirects ended."""
    partial: bool
    """False when the server ignored the range: `body` then starts at byte 0."""


def fetch(http: Http, url: str, offset: int, length: int, etag: str = "") -> Reply:
    """Return up to `length` bytes (1 or more) from `offset` of the file at `url`.

    Args:
        http: sends it.
        url: http or https.
        offset: first byte, from 0.
        length: bytes wanted.
        etag: the validator that the file must still have; empty for none.

    Raises:
        InputError: NET005 when the server lies about the range; and as `Http.get`.
        EnvironmentFailure: NET006 when the file changed; and as `Http.get`.
    """
    headers = {"Range": f"bytes={offset}-{offset + length - 1}"}
    if etag:
        headers["If-Range"] = etag

    def receive(response: Response) -> Reply:
        if response.status == 416:
            return _beyond(response)
        found = _strong_etag(response)
        if etag and found != etag and (found or response.status == 200):
            raise EnvironmentFailure(
                "NET006",
                "the file changed while it was read",
                place=response.place,
                found=f"validator {found or 'gone'}",
                expected=f"validator {etag}",
                fix="try again",
            )
        _refuse_encoding(response)
        if response.status == 200:
            size = response.header("content-length")
            body = response.body(offset + length)
            known = int(size) if _LENGTH.match(size) else None
            return Reply(body, known, found, response.url, partial=False)
        return _part(response, offset, length, found)

    return http.get(url, headers, _PARTIAL, receive)


def unchanged(http: Http, url: str, etag: str) -> bool:
    """Return whether the file at `url` still has the validator `etag`.

    Raises:
        InputError, EnvironmentFailure: as `Http.get`.
    """
    headers = {"Range": "bytes=0-0", "If-None-Match": etag}
    statuses = frozenset({200, 206, 304})
    return http.get(url, headers, statuses, lambda response: response.status == 304)


def _part(response: Response, offset: int, length: int, etag: str) -> Reply:
    stated = response.header("content-range")
    match = _CONTENT_RANGE.match(stated)
    last = offset + length - 1
    if match is None:
        raise _lie(response, stated or "no Content-Range", f"bytes {offset}-{last}/SIZE")
    start, end = int(match[1]), int(match[2])
    size = None if match[3] == "*" else int(match[3])
    if size is not None:
        last = min(last, size - 1)
    if start != offset or end < start or (end != last if size is not None else end > last):
        raise _lie(response, stated, f"bytes {offset}-{last}/SIZE")
    body = response.body(end - start + 2)  # one more than stated, to notice it
    if len(body) != end - start + 1:
        raise _lie(response, f"{len(body)} bytes or more", f"{end - start + 1} bytes, as stated")
    return Reply(body, size, etag, response.url, partial=True)


def _beyond(response: Response) -> Reply:
    """Return the empty end of a file, whose size the server states."""
    match = _NO_RANGE.match(response.header("content-range"))
    size = int(match[1]) if match else None
    return Reply(b"", size, _strong_etag(response), response.url, partial=True)


def _strong_etag(response: Response) -> str:
    """Return the validator if equal ones mean equal bytes (RFC 9110, 8.8.3); empty otherwise."""
    etag = response.header("etag")
    return etag if re.fullmatch(r'"[\x21\x23-\x7e]{1,512}"', etag) else ""


def _refuse_encoding(response: Response) -> None:
    encoding = response.header("content-encoding")
    if encoding not in {"", "identity"}:
        raise _lie(response, f"Content-Encoding {encoding}", "the bytes of the file itself")


def _lie(response: Response, found: str, expected: str) -> InputError:
    return InputError(
        "NET005",
        "the server does not send what it was asked for",
        place=response.place,
        found=found,
        expected=expected,
    )
