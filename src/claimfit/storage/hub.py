"""A repository of the Hugging Face hub at one commit, as a `FileStore`.

``GET /api/models/ORG/NAME/revision/REVISION`` tells the commit and the files; a file is at
``/ORG/NAME/resolve/COMMIT/PATH``, which redirects to where large files are kept. Everything read is
cached under the commit: a reference that names a commit needs no network the second time.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from claimfit.errors import InputError
from claimfit.model.json_text import read_json_object
from claimfit.storage.cache import CachedFile, Entry
from claimfit.storage.http import check_address
from claimfit.storage.reference import is_safe_path
from claimfit.storage.remote_file import RemoteFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from claimfit.storage.cache import Cache
    from claimfit.storage.http import Http
    from claimfit.storage.reference import HubReference

__all__ = ["HubStore", "endpoint_of"]

_DEFAULT_ENDPOINT: Final = "https://huggingface.co"
_COMMIT: Final = re.compile(r"^[0-9a-f]{40}$")
_LISTING_LIMIT_BYTES: Final = 8 << 20
_MOST_FILES: Final = 50_000


def endpoint_of(environment: Mapping[str, str]) -> str:
    """Return the hub's address, HF_ENDPOINT when it is set; raises NET009 when that is none."""
    endpoint = environment.get("HF_ENDPOINT") or _DEFAULT_ENDPOINT
    check_address(endpoint, "HF_ENDPOINT")
    return endpoint.rstrip("/")


class HubStore:
    """The files of one repository at one commit."""

    def __init__(self, http: Http, cache: Cache, endpoint: str, reference: HubReference) -> None:
        """Find the commit; nothing is asked for when the reference names one that is cached.

        Raises:
            InputError: NET005 when the hub's reply makes no sense; and as `Http.get`.
            EnvironmentFailure: as `Http.get`.
        """
        self._http = http
        self._cache = cache
        self._endpoint = endpoint.rstrip("/")
        self.repository = reference.repository
        self._opened: list[CachedFile] = []
        self.commit, self._names = self._listing(reference.revision)

    @property
    def name(self) -> str:
        """The repository and its commit."""
        return f"hf://{self.repository}@{self.commit}"

    def names(self) -> tuple[str, ...]:
        """Return the paths of all files, sorted."""
        return self._names

    def open(self, name: str) -> CachedFile:
        """Return the file `name`.

        Raises:
            InputError: NET002 when the repository has no such file.
        """
        if name not in self._names:
            ending = "." + name.rpartition(".")[2]
            raise InputError(
                "NET002",
                "the repository has no such file",
                place=self.name,
                found=name,
                candidates=tuple(item for item in self._names if item.endswith(ending)),
            )
        url = f"{self._endpoint}/{self.repository}/resolve/{self.commit}/{quote(name)}"
        file = CachedFile(
            self._cache,
            self._key(self.commit, name),
            f"{self.name}/{name}",
            lambda: RemoteFile(self._http, url),
        )
        self._opened.append(file)
        return file

    def keep(self) -> None:
        """Write what was read to the cache."""
        for file in self._opened:
            file.keep()

    def _key(self, revision: str, path: str) -> str:
        return f"{self._endpoint}\n{self.repository}\n{revision}\n{path}"

    def _listing(self, revision: str) -> tuple[str, tuple[str, ...]]:
        """Return commit and files at `revision`."""
        if _COMMIT.match(revision):
            entry = self._cache.load(self._key(revision, ""))
            if entry is not None and entry.segments:
                return revision, tuple(json.loads(entry.segments[0][1]))
        address = f"{self._endpoint}/api/models/{self.repository}"
        url = f"{address}/revision/{quote(revision, safe='')}"
        raw = self._http.document(url, _LISTING_LIMIT_BYTES)
        reply = read_json_object(raw, code="NET005", place=url)
        commit, files = reply.get("sha"), reply.get("siblings")
        if not isinstance(commit, str) or not _COMMIT.match(commit) or not isinstance(files, list):
            raise InputError(
                "NET005",
                "the hub does not tell commit and files",
                place=url,
                found=commit,
                expected="sha, 40 hexadecimal digits, and siblings, a list",
            )
        if _COMMIT.match(revision) and commit != revision:
            raise InputError(
                "NET005",
                "the hub answers for another commit",
                place=url,
                found=commit,
                expected=revision,
            )
        names = _file_names(files, url)
        listing = json.dumps(names).encode()
        self._cache.store(self._key(commit, ""), Entry(len(listing), "", ((0, listing),)))
        return commit, names


def _file_names(files: list[object], place: str) -> tuple[str, ...]:
    if len(files) > _MOST_FILES:
        raise InputError(
            "NET005",
            "the hub lists more files than a model has",
            place=place,
            found=f"{len(files)} files",
            expected=f"at most {_MOST_FILES}",
        )
    names = []
    for item in files:
        name = item.get("rfilename") if isinstance(item, dict) else None
        if not isinstance(name, str) or not is_safe_path(name):
            raise InputError(
                "NET005",
                "the hub lists a file whose name cannot be",
                place=place,
                found=name,
                expected="a relative path",
            )
        names.append(name)
    return tuple(sorted(names))
