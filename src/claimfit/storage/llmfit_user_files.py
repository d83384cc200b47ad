"""The models that a user added to llmfit: own entries, and what ``llmfit update`` fetched.

Both files are read by every llmfit command and merged over the packaged catalogue
(`claimfit.model.llmfit_catalogue.LlmfitCatalogue` says how). As in llmfit a file that cannot be
read is skipped as a whole, with a warning; a missing one is nothing to mention.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from claimfit.errors import InputError
from claimfit.model.llmfit_entry import entries_from_json, merged, model_from_entry
from claimfit.storage.user_folders import user_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from claimfit.model.llmfit_entry import LlmfitModel

__all__ = ["custom_models", "data_directory", "updated_models"]

_UPDATES_SCHEMA: Final = 4
"""The ``version`` of hf_models_cache.json that llmfit 1.1.17 reads; any other it ignores."""

_LARGEST_FILE: Final = 64 << 20
"""Bytes; the packaged catalogue with all its 15,855 models is a quarter of that."""

# ruff: noqa: PTH110, PTH118, PTH123  # os.path: see claimfit.storage.llmfit_dump


def data_directory(environment: Mapping[str, str]) -> str:
    """Return the folder in which llmfit keeps the user's entries and its updates."""
    if sys.platform == "darwin":
        return os.path.join(user_folder(environment, "", "Library/Application Support"), "llmfit")
    return os.path.join(user_folder(environment, "XDG_DATA_HOME", ".local/share"), "llmfit")


def custom_models(
    environment: Mapping[str, str], warn: Callable[[str], None]
) -> tuple[LlmfitModel, ...]:
    """Return the entries of ``LLMFIT_CUSTOM_MODELS``, or of custom_models.json where llmfit looks.

    Entries of one slug are merged as llmfit merges them.
    """
    path = environment.get("LLMFIT_CUSTOM_MODELS")
    if path is None:
        path = os.path.join(data_directory(environment), "custom_models.json")
    try:
        text = _text(path)
        entries = [] if text is None else entries_from_json(text, path)
        return tuple(merged(_models(entries, path)))
    except InputError as error:
        warn(f"skipping custom models: {_reason(error)}")
        return ()


def updated_models(
    environment: Mapping[str, str], warn: Callable[[str], None]
) -> tuple[LlmfitModel, ...]:
    """Return the models that ``llmfit update`` keeps beside the user's own entries."""
    path = os.path.join(data_directory(environment), "hf_models_cache.json")
    try:
        text = _text(path)
        if text is None:
            return ()
        return tuple(_models(_updated_entries(text, path), path))
    except InputError as error:
        warn(f"skipping the models of llmfit update: {_reason(error)}")
        return ()


def _updated_entries(text: str, path: str) -> list[object]:
    # The file is one object around the list; as a list of one it is read by the same rules.
    envelopes = entries_from_json(f"[{text}]", path)
    envelope = envelopes[0] if len(envelopes) == 1 else None
    if isinstance(envelope, dict) and envelope.get("version") == _UPDATES_SCHEMA:
        models = envelope.get("models")
        if isinstance(models, list):
            return models
    raise InputError(
        "LCT006",
        "not written by this llmfit",
        place=path,
        expected=f"an object with version {_UPDATES_SCHEMA} and a list of models",
    )


def _text(path: str) -> str | None:
    """Return the text of the file at `path`, None when there is none."""
    if not os.path.exists(path):
        return None
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST_FILE + 1)
        if len(data) > _LARGEST_FILE:
            raise InputError(
                "LCT007", "too large", place=path, expected=f"at most {_LARGEST_FILE} bytes"
            )
        return data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("LCT008", "cannot be read", place=path, found=str(error)) from error


def _models(entries: list[object], path: str) -> list[LlmfitModel]:
    return [model_from_entry(entry, f"{path}: [{at}]") for at, entry in enumerate(entries)]


def _reason(error: InputError) -> str:
    found = f", found {error.found}" if error.found else ""
    return f"{error}{found}" + (f", expected {error.expected}" if error.expected else "")
