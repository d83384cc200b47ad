"""An HTTP server on loopback for files with ranges, whose replies a test can spoil.

Files are functions of offset and length, so that one of 400 GB costs nothing.
"""

from __future__ import annotations

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["RangeServer", "Seen", "SparseFile"]


class Seen(NamedTuple):
    """One request as the server saw it."""

    path: str
    headers: dict[str, str]


class SparseFile:
    """A header followed by zeros up to `size`."""

    def __init__(self, head: bytes, size: int | None = None) -> None:
        self.head = head
        self.size = len(head) if size is None else size

    def read(self, offset: int, length: int) -> bytes:
        length = max(0, min(length, self.size - offset))
        part = self.head[offset : offset + length]
        return part + bytes(length - len(part))

    def chunks(self, offset: int, length: int) -> Iterator[bytes]:
        step = 1 << 16
        for at in range(offset, offset + length, step):
            yield self.read(at, min(step, offset + length - at))


class RangeServer:
    """Serves `files` by path; `spoil` may answer a request itself and return True."""

    def __init__(self, files: dict[str, SparseFile | bytes] | None = None) -> None:
        self.files = files or {}
        self.seen: list[Seen] = []
        self.etag = '"one"'
        self.spoil: Callable[[BaseHTTPRequestHandler], bool] | None = None
        self.sent_bytes = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # hung up on
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.seen.append(Seen(handler.path, {k.lower(): v for k, v in handler.headers.items()}))
        try:
            if self.spoil is None or not self.spoil(handler):
                self.serve(handler)
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True  # hung up on, which is what some tests want

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        file = self.files.get(handler.path.partition("?")[0])
        if file is None:
            reply(handler, 404)
            return
        if isinstance(file, bytes):
            file = SparseFile(file)
        if handler.headers.get("If-None-Match") == self.etag:
            reply(handler, 304, {"ETag": self.etag}, body=None)
            return
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", handler.headers.get("Range", ""))
        if match is None or handler.headers.get("If-Range", self.etag) != self.etag:
            headers = {"Content-Length": str(file.size), "ETag": self.etag}
            self.send(handler, 200, headers, file.chunks(0, file.size))
            return
        first, last = int(match[1]), min(int(match[2]), file.size - 1)
        if first >= file.size:
            reply(handler, 416, {"Content-Range": f"bytes */{file.size}"})
            return
        headers = {
            "Content-Range": f"bytes {first}-{last}/{file.size}",
            "Content-Length": str(last - first + 1),
            "ETag": self.etag,
        }
        self.send(handler, 206, headers, file.chunks(first, last - first + 1))

    def send(
        self,
        handler: BaseHTTPRequestHandler,
        status: int,
        headers: dict[str, str],
        body: Iterator[bytes],
    ) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        for chunk in body:
            handler.wfile.write(chunk)
            self.sent_bytes += len(chunk)


def reply(
    handler: BaseHTTPRequestHandler,
    status: int,
    headers: dict[str, str] | None = None,
    body: bytes | None = b"",
) -> None:
    """Send a whole small reply."""
    handler.send_response(status)
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    if body is not None and "Content-Length" not in (headers or {}):
        handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    if body:
        handler.wfile.write(body)
