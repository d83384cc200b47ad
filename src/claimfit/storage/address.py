"""Files at plain addresses, as `FileStore`: one model file, or a folder with a configuration.

A web server lists no folder. Beside a GGUF file only the other parts of its set are looked for, by
their names; in a folder only the few names that a Hugging Face model has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from claimfit.errors import ClaimfitError, InputError
from claimfit.model.gguf_split import part_names
from claimfit.model.json_text import read_json_object
from claimfit.storage.cache import CachedFile
from claimfit.storage.http import shown
from claimfit.storage.http_range import unchanged
from claimfit.storage.reference import is_safe_path
from claimfit.storage.remote_file import RemoteFile

if TYPE_CHECKING:
    from claimfit.storage.cache import Cache
    from claimfit.storage.http import Http

__all__ = ["AddressStore", "file_at", "folder_at"]

_CONFIG: Final = "config.json"
_INDEX: Final = "model.safetensors.index.json"
_OPTIONAL: Final = (_INDEX, "model.safetensors", "hf_quant_config.json")
_INDEX_LIMIT_BYTES: Final = 32 << 20
_PROBE_BYTES: Final = 64 << 10
_ABSENT: Final = frozenset({"NET002", "NET003"})
"""What servers say of a file that is not there: object stores that hide their listing say 403."""


class AddressStore:
    """Files under one address."""

    def __init__(
        self, http: Http, cache: Cache, base: str, names: tuple[str, ...], query: str = ""
    ) -> None:
        """Take `base`, which ends in a slash, and the names that may be under it."""
        self._http = http
        self._cache = cache
        self._base = base
        self._query = query
        self._names = tuple(sorted(names))
        self._opened: dict[str, CachedFile] = {}
        self.name = shown(base).rstrip("/")

    def names(self) -> tuple[str, ...]:
        """Return the names that may be there; a missing one fails when it is read."""
        return self._names

    def open(self, name: str) -> CachedFile:
        """Return the file `name`.

        Raises:
            InputError, EnvironmentFailure: as `Http.get`, from asking whether a cached copy holds.
        """
        if name not in self._opened:
            url = f"{self._base}{quote(name)}{self._query}"
            self._opened[name] = CachedFile(
                self._cache,
                url,
                shown(url),
                lambda: RemoteFile(self._http, url),
                unchanged=lambda etag: unchanged(self._http, url, etag),
            )
        return self._opened[name]

    def keep(self) -> None:
        """Write what was read to the cache."""
        for file in self._opened.values():
            file.keep()

    def extended(self, names: tuple[str, ...]) -> AddressStore:
        """Return the same store with `names` too."""
        wider = AddressStore(
            self._http, self._cache, self._base, (*self._names, *names), self._query
        )
        wider._opened = self._opened  # the same class
        return wider


def file_at(http: Http, cache: Cache, url: str) -> tuple[AddressStore, str]:
    """Return a store with the file at `url` and the other parts of its set, and the file's name.

    Raises:
        InputError: NET009 when the address ends in no file name.
    """
    address, mark, query = url.partition("?")
    base, _, last = address.rpartition("/")
    name = unquote(last)
    if not is_safe_path(name) or "/" in name:
        raise InputError("NET009", "not the address of a file", found=url)
    return AddressStore(http, cache, f"{base}/", part_names(name), mark + query), name


def folder_at(http: Http, cache: Cache, url: str) -> AddressStore:
    """Return a store with what there is of a Hugging Face model under `url`.

    Raises:
        InputError, EnvironmentFailure: as `Http.get`; NET005 for an index that is none.
    """
    address, mark, query = url.partition("?")
    base = address.removesuffix(_CONFIG).rstrip("/") + "/"
    store = AddressStore(http, cache, base, (_CONFIG,), mark + query)
    store.open(_CONFIG).read(0, 1)
    found = tuple(name for name in _OPTIONAL if _there(store, name))
    store = store.extended(found)
    return store.extended(_shards(store)) if _INDEX in found else store


def _there(store: AddressStore, name: str) -> bool:
    try:
        store.open(name).read(0, _PROBE_BYTES)
    except ClaimfitError as error:
        if error.code in _ABSENT:
            return False
        raise
    return True


def _shards(store: AddressStore) -> tuple[str, ...]:
    source = store.open(_INDEX)
    raw = source.read(0, _INDEX_LIMIT_BYTES)
    files = read_json_object(raw, code="SAF006", place=source.name).get("weight_map")
    names = set(files.values()) if isinstance(files, dict) else set()
    return tuple(name for name in names if isinstance(name, str) and is_safe_path(name))
