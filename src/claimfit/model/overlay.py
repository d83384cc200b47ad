"""The user's own models: a file with entries of the catalogue's schema, JSON or YAML.

::

    models:
      - name: my-org/my-model
        config: {model_type: llama, hidden_size: 4096, ...}
      - name: my-org/tuned
        sameAs: meta-llama/Llama-3.1-8B
        config: {max_position_embeddings: 32768}

A list of entries alone is accepted too. An entry may share the configuration of another entry of
the file or of the built-in catalogue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.errors import ModelError
from claimfit.model.entry import completed, entry_from_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.model.entry import Entry

__all__ = ["overlay_entries"]


def overlay_entries(
    document: object, *, place: str, built_in: Callable[[str], Entry | None]
) -> tuple[Entry, ...]:
    """Return the entries of a parsed overlay file, configurations complete, in file order.

    Args:
        document: what the JSON or YAML reader returned.
        place: the file, for messages.
        built_in: gives a catalogue entry by exact name, for sameAs.

    Raises:
        ModelError: MOD004 to MOD006 as `entry_from_json` does, MOD007 for a name or an alias that
            is given twice, MOD008 for a sameAs that leads nowhere.
    """
    items = _items(document, place)
    entries: dict[str, Entry] = {}
    taken: dict[str, str] = {}
    for position, item in enumerate(items):
        entry = entry_from_json(item, place=f"{place}: models[{position}]", origin="overlay")
        for name in (entry.name, *entry.aliases):
            if name.casefold() in taken:
                raise ModelError(
                    "MOD007",
                    "the name is given twice",
                    place=entry.place,
                    found=name,
                    fix=f"remove or rename one; the first is {taken[name.casefold()]}",
                )
            taken[name.casefold()] = f"models[{position}]"
        entries[entry.name] = entry

    def find(name: str) -> Entry | None:
        return entries.get(name) or built_in(name)

    return tuple(completed(entry, find) for entry in entries.values())


def _items(document: object, place: str) -> list[object]:
    """Return the list of entries of `document`; raises MOD004, or MOD005 for another key."""
    if isinstance(document, list):
        return document
    if not isinstance(document, dict) or not isinstance(document.get("models"), list):
        raise ModelError(
            "MOD004",
            "not a file of models",
            place=place,
            expected="models: a list of entries with name and config",
            fix="see docs/models.md",
        )
    for key in document:
        if key not in {"models", "schemaVersion"}:
            raise ModelError(
                "MOD005", "unknown key", place=place, found=key, expected="models, schemaVersion"
            )
    items = document["models"]
    assert isinstance(items, list)  # noqa: S101  # checked above; narrows the type
    return items
