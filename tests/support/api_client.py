"""A small client of a Kubernetes API server: requests, watches, and waits that are bounded.

A wait lists, then watches: it ends with the event that fulfils it, not at the next turn of a clock.
"""

from __future__ import annotations

import http.client
import json
import math
import ssl
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar
from urllib.parse import urlencode, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Answer", "ApiClient", "ApiError", "LateError", "Object", "collection_path", "path_of"]

Object = dict[str, Any]
"""A Kubernetes object as JSON."""
_Found = TypeVar("_Found")

_REQUEST_SECONDS: Final = 30
_CLUSTER_KINDS: Final = frozenset({"DeviceClass", "DeviceTaintRule", "Namespace", "Node"}) | {
    "ResourceSlice"
}


class ApiError(Exception):
    """The API server refused."""


class LateError(Exception):
    """What was waited for did not come in time; the message holds the last state."""


class Answer(NamedTuple):
    """What the API server answered."""

    status: int
    body: dict[str, Any]

    @property
    def message(self) -> str:
        """The server's words when it refused."""
        return str(self.body.get("message", ""))


def collection_path(version: str, kind: str, namespace: str = "") -> str:
    """Return the path of the objects of a kind: `/api/v1/namespaces/default/pods`."""
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    scope = "" if kind in _CLUSTER_KINDS else f"/namespaces/{namespace or 'default'}"
    plural = f"{kind.lower()}{'es' if kind.endswith('s') else 's'}"
    return f"{root}{scope}/{plural}"


def path_of(manifest: Object) -> str:
    """Return the path of one object."""
    metadata = manifest["metadata"]
    kinds = collection_path(manifest["apiVersion"], manifest["kind"], metadata.get("namespace", ""))
    return f"{kinds}/{metadata['name']}"


class ApiClient:
    """Talks to one API server as one user; can be shared by threads."""

    def __init__(self, url: str, token: str, authority: Path) -> None:
        """Take the address, a bearer token, and the certificates of who vouches for the server."""
        self.url = url
        self.token = token
        self.authority = authority
        self._own = threading.local()

    @classmethod
    def from_kubeconfig(cls, path: Path) -> ApiClient:
        """Return the client of a kubeconfig that `kubeconfig` wrote."""
        config = json.loads(path.read_text(encoding="utf-8"))
        cluster = config["clusters"][0]["cluster"]
        token = config["users"][0]["user"]["token"]
        return cls(cluster["server"], token, Path(cluster["certificate-authority"]))

    def kubeconfig(self) -> str:
        """Return a kubeconfig of this server and user, in JSON, which YAML readers take."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "claimfit",
                    "cluster": {
                        "server": self.url,
                        "certificate-authority": str(self.authority),
                    },
                }
            ],
            "users": [{"name": "tester", "user": {"token": self.token}}],
            "contexts": [
                {"name": "claimfit", "context": {"cluster": "claimfit", "user": "tester"}}
            ],
            "current-context": "claimfit",
        }
        return json.dumps(config, indent=2) + "\n"

    # requests

    def call(
        self, method: str, path: str, body: object = None, kind: str = "application/json"
    ) -> Answer:
        """Return the answer to one request; a refusal is an answer, not an exception."""
        payload = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        try:
            status, text = self._exchange(method, path, payload, headers)
        except (http.client.HTTPException, ConnectionError, ssl.SSLError):
            # The server may close a connection that was idle, which TLS reports as an end of file
            # that is no ConnectionError; a new connection tells whether the server lives.
            self._own.connection = None
            status, text = self._exchange(method, path, payload, headers)
        try:
            answer = json.loads(text)
        except ValueError:
            return Answer(status, {"message": text.decode(errors="replace")})
        return Answer(status, answer if isinstance(answer, dict) else {"message": str(answer)})

    def _exchange(
        self, method: str, path: str, payload: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        connection = getattr(self._own, "connection", None) or self._connect(_REQUEST_SECONDS)
        self._own.connection = connection
        try:
            connection.request(method, path, payload, headers)
            reply = connection.getresponse()
            return reply.status, reply.read()
        except BaseException:
            connection.close()
            self._own.connection = None
            raise

    def _connect(self, seconds: float) -> http.client.HTTPSConnection:
        context = getattr(self._own, "context", None)
        if context is None:
            context = self._own.context = ssl.create_default_context(cafile=self.authority)
        where = urlsplit(self.url).netloc
        return http.client.HTTPSConnection(where, timeout=seconds, context=context)

    def get(self, path: str) -> Object:
        """Return an object or a list."""
        return self._accepted("GET", path)

    def find(self, path: str) -> Object | None:
        """Return an object, or None when there is none."""
        answer = self.call("GET", path)
        return None if answer.status == 404 else _accepted(answer, f"GET {path}")

    def items(self, path: str) -> list[Object]:
        """Return the objects of a collection."""
        return list(self.get(path)["items"])

    def create(self, manifest: Object) -> Object:
        """Create an object; unknown fields are refused."""
        metadata = manifest["metadata"]
        kinds = collection_path(
            manifest["apiVersion"], manifest["kind"], metadata.get("namespace", "")
        )
        return self._accepted("POST", f"{kinds}?fieldValidation=Strict", manifest)

    def patch(self, path: str, change: Object) -> Object:
        """Merge a change into an object, or into its status when `path` ends so."""
        return self._accepted("PATCH", path, change, "application/merge-patch+json")

    def delete(self, path: str, **options: object) -> None:
        """Ask to delete an object or a collection; what is gone already is fine."""
        answer = self.call("DELETE", path, {"propagationPolicy": "Background", **options})
        if answer.status not in (200, 202, 404):
            raise ApiError(f"DELETE {path}: {answer.status} {answer.message}")

    def dry_run(self, manifest: Object) -> Answer:
        """Return what the server says to creating `manifest`, without creating it."""
        metadata = manifest["metadata"]
        assert isinstance(metadata, dict)
        kinds = collection_path(
            str(manifest["apiVersion"]), str(manifest["kind"]), metadata.get("namespace", "")
        )
        return self.call("POST", f"{kinds}?dryRun=All&fieldValidation=Strict", manifest)

    def _accepted(
        self, method: str, path: str, body: object = None, kind: str = "application/json"
    ) -> Object:
        return _accepted(self.call(method, path, body, kind), f"{method} {path}")

    # watches

    def watch(self, path: str, seconds: float, **query: str) -> Iterator[tuple[str, Object]]:
        """Yield the events of a collection (ADDED, MODIFIED, DELETED, ERROR) for so long."""
        asked = {**query, "watch": "true", "timeoutSeconds": str(max(1, math.ceil(seconds)))}
        connection = self._connect(seconds + _REQUEST_SECONDS)
        try:
            headers = {"Authorization": f"Bearer {self.token}"}
            connection.request("GET", f"{path}?{urlencode(asked)}", headers=headers)
            reply = connection.getresponse()
            if reply.status != 200:
                raise ApiError(f"watch {path}: {reply.status} {reply.read()[:500]!r}")
            while line := reply.readline():
                event = json.loads(line)
                yield event["type"], event["object"]
        finally:
            connection.close()

    def wait_for(
        self,
        path: str,
        done: Callable[[list[Object]], _Found | None],
        what: str,
        seconds: float = 30,
        **query: str,
    ) -> _Found:
        """Return what `done` finds in the objects of a collection, as soon as it is not None.

        Raises:
            LateError: it was None until the time was over.
        """
        deadline = time.monotonic() + seconds
        while True:
            listed = self.get(f"{path}?{urlencode(query)}")
            known = {item["metadata"]["name"]: item for item in listed["items"]}
            found = done(list(known.values()))
            if found is not None:
                return found
            left = deadline - time.monotonic()
            if left <= 0:
                raise LateError(_late(what, seconds, known))
            since = listed["metadata"]["resourceVersion"]
            for event, item in self.watch(path, left, resourceVersion=since, **query):
                if event == "ERROR":  # too old a version: list again
                    break
                name = item["metadata"]["name"]
                if event == "DELETED":
                    known.pop(name, None)
                else:
                    known[name] = item
                found = done(list(known.values()))
                if found is not None:
                    return found

    def wait_for_object(
        self,
        path: str,
        done: Callable[[Object | None], _Found | None],
        what: str,
        seconds: float = 30,
    ) -> _Found:
        """Return what `done` finds in one object, or in None while there is none."""
        kinds, _, name = path.rpartition("/")
        return self.wait_for(
            kinds,
            lambda found: done(found[0] if found else None),
            f"{what} ({path})",
            seconds,
            fieldSelector=f"metadata.name={name}",
        )


def _accepted(answer: Answer, what: str) -> Object:
    if answer.status not in (200, 201):
        raise ApiError(f"{what}: {answer.status} {answer.message}")
    return answer.body


def _late(what: str, seconds: float, known: dict[str, Object]) -> str:
    states = [
        {
            "name": name,
            "status": item.get("status"),
            "deleted": item["metadata"].get("deletionTimestamp"),
        }
        for name, item in known.items()
    ]
    return f"not within {seconds:g} s: {what}\n{json.dumps(states, indent=1)[:3000]}"
