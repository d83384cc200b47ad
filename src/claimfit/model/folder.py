"""Finds out what a folder or repository holds, and reads the facts of the model in it.

A folder with a configuration and safetensors is a Hugging Face model; one with GGUF files is read
from their headers. Where several models are in it, nothing is guessed: the error lists them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from claimfit.errors import InputError, ModelError
from claimfit.model.config import facts_from_config
from claimfit.model.gguf_facts import facts_from_gguf
from claimfit.model.gguf_file_types import label_of
from claimfit.model.gguf_split import base_name, part_names
from claimfit.model.json_text import read_json_object
from claimfit.model.safetensors import read_tensors, weight_files
from claimfit.model.safetensors_weights import file_weights

if TYPE_CHECKING:
    from claimfit.model.byte_range import FileStore
    from claimfit.model.facts import ModelFacts

__all__ = ["facts_from_folder", "gguf_candidates"]

_CONFIG: Final = "config.json"
_QUANTIZATION: Final = "hf_quant_config.json"
_JSON_LIMIT_BYTES: Final = 4 << 20
_NO_MODEL: Final = re.compile(r"(?:^|/)(?:mmproj|imatrix|ggml-vocab)[^/]*$", re.IGNORECASE)


def facts_from_folder(
    store: FileStore,
    *,
    name: str,
    repository: str = "",
    origin: Literal["folder", "remote"] = "folder",
    quantization: str = "",
) -> ModelFacts:
    """Return the facts of the model in `store`.

    Args:
        store: the files.
        name: what the user calls the model.
        repository: `org/name` that publishes it, or empty.
        origin: `folder` for a local one, `remote` for a repository or address.
        quantization: which of several GGUF files is meant, such as `Q4_K_M`; empty for the only
            one. A folder of safetensors has one quantization and takes no choice from it.

    Raises:
        ModelError: FIL005 no model in it, FIL006 several and no choice, FIL007 no such choice.
        InputError: FIL004 for an unusable JSON file, CFG..., GGU... and SAF... for the rest.
    """
    names = set(store.names())
    candidates = gguf_candidates(store)
    weights = weight_files(store) if _CONFIG in names else ()
    chosen = _matching(candidates, quantization) if quantization else ()
    if candidates and (chosen or not weights):
        file = _only(store.name, candidates, chosen, quantization)
        gguf_origin: Literal["gguf", "remote"] = "gguf" if origin == "folder" else "remote"
        return facts_from_gguf(store, file, name=name, repository=repository, origin=gguf_origin)
    if _CONFIG not in names:
        raise ModelError(
            "FIL005",
            "no model here",
            place=store.name,
            expected="config.json, or a GGUF file",
            candidates=tuple(sorted(names))[:20],
        )
    config = _configuration(store, names)
    facts = facts_from_config(
        config,
        name=name,
        repository=repository,
        origin=origin,
        place=f"{store.name}/{_CONFIG}",
    )
    if not weights:
        note = "no safetensors here: bytes follow from the configuration"
        return facts._replace(notes=(*facts.notes, note))
    tensors = read_tensors(store, weights)
    return facts._replace(file=file_weights(tensors, weights, facts, store.name))


def gguf_candidates(store: FileStore) -> tuple[str, ...]:
    """Return the GGUF models in `store`: one name each, the first part of split ones."""
    found: dict[str, None] = {}
    for name in store.names():
        if name.lower().endswith(".gguf") and not _NO_MODEL.search(name):
            found.setdefault(part_names(name)[0])
    return tuple(found)


def _configuration(store: FileStore, names: set[str]) -> dict[str, object]:
    """Return config.json, with the quantization that ModelOpt writes into a file of its own."""
    config = _json(store, _CONFIG)
    if _QUANTIZATION in names and not config.get("quantization_config"):
        apart = _json(store, _QUANTIZATION).get("quantization")
        if isinstance(apart, dict):
            config["quantization_config"] = {"quant_method": "modelopt", **apart}
    return config


def _json(store: FileStore, name: str) -> dict[str, object]:
    place = f"{store.name}/{name}"
    raw = store.open(name).read(0, _JSON_LIMIT_BYTES + 1)
    if len(raw) > _JSON_LIMIT_BYTES:
        raise InputError(
            "FIL004",
            "the file is too long",
            place=place,
            expected=f"at most {_JSON_LIMIT_BYTES >> 20} MiB",
        )
    return read_json_object(raw, code="FIL004", place=place)


def _only(
    place: str, candidates: tuple[str, ...], chosen: tuple[str, ...], quantization: str
) -> str:
    """Return the one candidate that is meant."""
    if quantization and not chosen:
        raise ModelError(
            "FIL007",
            "no GGUF file of this quantization",
            place=place,
            found=quantization,
            candidates=candidates,
        )
    left = chosen or candidates
    if len(left) > 1:
        raise ModelError(
            "FIL006",
            f"{len(left)} models here",
            place=place,
            fix="name the file, or its quantization with --quant",
            candidates=left,
        )
    return left[0]


def _matching(candidates: tuple[str, ...], quantization: str) -> tuple[str, ...]:
    """Return the candidates whose names end in `quantization`, however it is spelled."""
    wanted = _folded(quantization)
    return tuple(
        name
        for name in candidates
        if wanted in {_folded(base_name(name)), _folded(label_of(base_name(name)))}
    )


def _folded(text: str) -> str:
    return text.upper().replace("-", "_")
