"""Where a command looks for models: the user's own entries, the catalogue, files, llmfit.

The environment is read here and nowhere below. Shared by every verb that takes a MODEL.
"""

from __future__ import annotations

import os
import os.path
import sys
from typing import TYPE_CHECKING, Final

from claimfit.errors import InputError, ModelError
from claimfit.model.catalogue import built_in
from claimfit.model.lookup import Sources
from claimfit.storage.user_folders import configuration_folder

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from claimfit.model.catalogue import Catalogue
    from claimfit.model.entry import Entry
    from claimfit.model.facts import ModelFacts

__all__ = ["add_models_option", "model_sources"]

_CONFIGURED: Final = ("models.json", "models.yaml", "models.yml")
_LARGEST_FILE: Final = 16 << 20
"""Bytes of an overlay file: 20,000 entries with whole configurations."""

# os.path, not pathlib: importing pathlib costs 5 ms of a start that may take 100.
# ruff: noqa: PTH113, PTH118, PTH123


def add_models_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--models FILE``."""
    parser.add_argument(
        "--models",
        metavar="FILE",
        default="",
        help="your own model entries, JSON or YAML, before those of "
        "$XDG_CONFIG_HOME/claimfit/models.* and the catalogue",
    )


def model_sources(
    models_file: str, environment: Mapping[str, str], quantization: str = ""
) -> Sources:
    """Return the sources of a command that was given `models_file` (may be empty).

    `quantization` chooses among several GGUF models of one folder or repository.

    Entries of `models_file` hide those of the configured file with the same name.

    Raises:
        ModelError: MOD004 to MOD008 for entries, MOD010 for several configured files.
        InputError: MAN... for text that is neither JSON nor YAML, MOD011 for an unreadable file.
    """
    catalogue = built_in()
    overlay: list[Entry] = []
    for path in (models_file, _configured_file(environment)):
        if path:
            known = {entry.name for entry in overlay}
            overlay += [entry for entry in _entries(path, catalogue) if entry.name not in known]

    def open_model(reference: str) -> ModelFacts:
        from claimfit.storage import opening

        return opening.open_model(reference, environment=environment, quantization=quantization)

    return Sources(
        catalogue,
        overlay=tuple(overlay),
        open_model=open_model,
        exists=os.path.exists,
        llmfit=lambda reference: _from_llmfit(reference, catalogue, environment),
    )


def _from_llmfit(
    reference: str, catalogue: Catalogue, environment: Mapping[str, str]
) -> ModelFacts | None:
    """Return the facts from llmfit's catalogue, None without the extra or such a model."""
    from claimfit.model.llmfit_facts import (
        facts_from_llmfit,
        find_in_llmfit,
        may_be_in,
        may_share,
    )
    from claimfit.storage.llmfit_dump import ask, installation

    installed = installation()
    if installed is None:
        return None
    model = ask(lambda index: find_in_llmfit(reference, index), installed, environment, _warn)
    if model is None:
        return None
    known = catalogue.entries_with(may_be_in(model), may_share(model))
    return facts_from_llmfit(model, known, installed.version)


def _warn(text: str) -> None:
    sys.stderr.write(f"warning: {text}\n")


def _configured_file(environment: Mapping[str, str]) -> str:
    """Return the user's file of models, empty when there is none; raises MOD010 for several."""
    folder = configuration_folder(environment)
    found = [path for name in _CONFIGURED if os.path.isfile(path := os.path.join(folder, name))]
    if len(found) > 1:
        raise ModelError(
            "MOD010",
            "several files of models are configured",
            place=folder,
            found=", ".join(os.path.basename(path) for path in found),  # noqa: PTH119  # see above
            expected="one",
            fix="merge them into one",
        )
    return found[0] if found else ""


def _entries(path: str, catalogue: Catalogue) -> tuple[Entry, ...]:
    from claimfit.manifests.reader import read_documents
    from claimfit.model.overlay import overlay_entries

    documents = read_documents(_bytes(path), path)
    if len(documents) != 1:
        raise ModelError(
            "MOD004",
            "not a file of models",
            place=path,
            found=f"{len(documents)} documents",
            expected="one document with models: a list of entries",
            fix="see docs/models.md",
        )
    return overlay_entries(documents[0].value, place=path, built_in=catalogue.entry)


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            "MOD011", f"cannot read the file of models: {reason}", place=path
        ) from None
    if len(data) > _LARGEST_FILE:
        raise InputError(
            "MOD011",
            "the file of models is too large",
            place=path,
            expected=f"at most {_LARGEST_FILE >> 20} MiB",
        )
    return data
