"""Opens what a reference means: a file or folder of this machine, the hub, or an address."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from claimfit.errors import InputError, ModelError
from claimfit.model.folder import facts_from_folder
from claimfit.model.gguf_facts import facts_from_gguf
from claimfit.model.gguf_split import base_name
from claimfit.storage.local import LocalFile, LocalFolder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from claimfit.model.facts import ModelFacts
    from claimfit.storage.cache import Cache
    from claimfit.storage.http import Http
    from claimfit.storage.reference import HubReference

__all__ = ["open_model"]

_WEIGHTS: Final = ".safetensors"
_GGUF: Final = ".gguf"
_MAGIC: Final = b"GGUF"


def open_model(
    reference: str,
    *,
    environment: Mapping[str, str],
    http: Http | None = None,
    quantization: str = "",
) -> ModelFacts:
    """Return the facts of the model at `reference`.

    Args:
        reference: a path, `hf://ORG/NAME[@REVISION][:QUANTIZATION][/FILE]`, or an address of a
            GGUF file, a safetensors file or a folder with a config.json.
        environment: HF_TOKEN, HF_ENDPOINT, XDG_CACHE_HOME and HOME are read from it.
        http: how to reach servers; None for the network of this machine. It counts what was
            transferred.
        quantization: which of several GGUF files is meant; the one in `reference` comes first.

    Raises:
        InputError, ModelError: FIL..., GGU..., SAF..., CFG..., NET...: the reference, or what is
            there.
        EnvironmentFailure: NET...: the server or the way to it.
    """
    scheme = reference.partition("://")[0].lower() if "://" in reference else ""
    if scheme in {"hf", "http", "https"}:
        return _remote(reference, environment, http, quantization)
    if scheme:
        raise InputError(
            "NET009",
            "models are not read from there",
            found=reference,
            expected="a path, hf://ORG/NAME or https://HOST/PATH",
        )
    return _local(reference, environment, quantization)


def _local(reference: str, environment: Mapping[str, str], quantization: str) -> ModelFacts:
    path = reference
    if path == "~" or path.startswith("~/"):
        path = environment.get("HOME", "~") + path[1:]
    folder, _, file = path.rpartition("/")
    if path.lower().endswith(_GGUF) or _starts_as_gguf(path):
        return facts_from_gguf(LocalFolder(folder or ("/" if "/" in path else ".")), file)
    if file == "config.json" or path.lower().endswith(_WEIGHTS):
        path = folder or "."
    elif os.path.exists(path) and not os.path.isdir(path):  # noqa: PTH110, PTH112  # as below
        raise InputError(
            "FIL005",
            "no model in this file",
            place=path,
            expected="a GGUF file, a safetensors file, or a folder with config.json",
        )
    name = os.path.basename(os.path.abspath(path))  # noqa: PTH100, PTH119  # pathlib costs start-up
    return facts_from_folder(LocalFolder(path), name=name, quantization=quantization)


def _starts_as_gguf(path: str) -> bool:
    """Return whether `path` is a GGUF file by its content: Ollama keeps models without a suffix."""
    if not os.path.isfile(path):  # noqa: PTH113  # pathlib costs start-up
        return False
    file = LocalFile(path)
    try:
        return file.read(0, len(_MAGIC)) == _MAGIC
    finally:
        file.close()


def _remote(
    reference: str, environment: Mapping[str, str], http: Http | None, quantization: str
) -> ModelFacts:
    from claimfit.storage.cache import Cache
    from claimfit.storage.http import Http
    from claimfit.storage.hub import endpoint_of
    from claimfit.storage.reference import hub_address, hub_reference
    from claimfit.storage.user_folders import cache_folder

    used = http or Http()
    cache = Cache(cache_folder(environment))
    endpoint = endpoint_of(environment)
    token = environment.get("HF_TOKEN", "").strip()
    if token:
        used.authorize(token, endpoint)
    try:
        if reference.lower().startswith("hf://"):
            wanted = hub_reference(reference)
            return _from_hub(used, cache, endpoint, wanted, quantization)
        if reference.startswith(f"{endpoint}/"):
            page = hub_address(reference[len(endpoint) :].partition("?")[0])
            if page is not None:
                return _from_hub(used, cache, endpoint, page, quantization)
        return _from_address(used, cache, reference)
    finally:
        if http is None:
            used.close()


def _from_hub(
    http: Http, cache: Cache, endpoint: str, reference: HubReference, quantization: str
) -> ModelFacts:
    from claimfit.storage.hub import HubStore

    store = HubStore(http, cache, endpoint, reference)
    repository = reference.repository
    chosen = reference.quantization or quantization
    try:
        if reference.path.lower().endswith(_GGUF):
            return facts_from_gguf(
                store,
                reference.path,
                name=f"{repository}/{base_name(reference.path)}",
                repository=repository,
                origin="remote",
            )
        if reference.path and reference.path not in {"config.json", "model.safetensors"}:
            raise ModelError(
                "FIL005",
                "no model in this file",
                place=store.name,
                found=reference.path,
                expected="a GGUF file, or the repository without a file",
            )
        return facts_from_folder(
            store, name=repository, repository=repository, origin="remote", quantization=chosen
        )
    finally:
        store.keep()


def _from_address(http: Http, cache: Cache, url: str) -> ModelFacts:
    from claimfit.storage.address import file_at, folder_at
    from claimfit.storage.http import shown

    path = url.partition("?")[0].partition("#")[0]
    if path.lower().endswith(_GGUF):
        store, file = file_at(http, cache, url)
        try:
            return facts_from_gguf(store, file, name=base_name(file), origin="remote")
        finally:
            store.keep()
    if path.lower().endswith(_WEIGHTS):
        url = path.rpartition("/")[0] + url[len(path) :]
    store = folder_at(http, cache, url)
    name = shown(url).removesuffix("/config.json").rstrip("/").rpartition("/")[2]
    try:
        return facts_from_folder(store, name=name, origin="remote")
    finally:
        store.keep()
