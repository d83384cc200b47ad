"""The built-in catalogue: reduced configurations of public models, and who says so.

An entry (`claimfit.model.entry`) is what the repository's own ``config.json`` says about shapes,
caching and quantization. Its facts are derived by `claimfit.model.config`, the same code that reads
a downloaded folder, so that an entry and its repository cannot mean different things.

``data/models/FAMILY.json`` holds entries, ``data/models/index.json`` maps a name to its family and
an alias to its name. A look-up reads the index and one family, because this is the cold path of
``claimfit claim NAME``. ``tools/catalogue.py`` writes the index; a test compares it with the files.
"""

from __future__ import annotations

import json
import os.path
from typing import TYPE_CHECKING, Any, Final, cast

from claimfit.model.entry import completed, entry_from_json, merged
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.model.entry import Entry

__all__ = ["DIRECTORY", "Catalogue", "built_in"]

# os.path, not pathlib: importing pathlib costs 5 ms of a start that may take 100.
_HERE: Final = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
DIRECTORY: Final = os.path.join(os.path.dirname(_HERE), "data", "models")  # noqa: PTH118, PTH120


class Catalogue(NamedTuple):
    """A catalogue folder whose index was read. Entries are read when they are asked for."""

    directory: str
    families: dict[str, str]
    """Model name -> the file, without ``.json``, that holds its entry; in listing order."""
    aliases: dict[str, str]
    """Further name -> model name."""

    def entry(self, name: str) -> Entry | None:
        """Return the entry called exactly `name`, its configuration complete; None if unknown."""
        family = self.families.get(name)
        if family is None:
            return None
        entries = _entries(family, _text(self.directory, family))
        return completed(entries[name], entries.get)

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries in listing order, their configurations complete."""
        found: dict[str, Entry] = {}
        for family in dict.fromkeys(self.families.values()):
            found |= _entries(family, _text(self.directory, family))
        return tuple(completed(found[name], found.get) for name in self.families)

    def entries_with(
        self, in_text: Callable[[bytes], bool], in_config: Callable[[dict[str, object]], bool]
    ) -> tuple[Entry, ...]:
        """Return the entries whose file's text and whose configuration the two tests accept.

        What is not accepted is not parsed or not checked: all entries take 10 ms of a cold start.
        """
        found: list[Entry] = []
        for family in dict.fromkeys(self.families.values()):
            text = _text(self.directory, family)
            if not in_text(text):
                continue
            items = cast("list[dict[str, Any]]", json.loads(text)["models"])
            configs = {item["name"]: item["config"] for item in items if "sameAs" not in item}
            for item in items:
                config = item.get("config", {})
                if "sameAs" in item:
                    config = merged(configs[item["sameAs"]], config)
                if in_config(config):
                    whole = {key: value for key, value in item.items() if key != "sameAs"}
                    whole["config"] = config
                    place = f"data/models/{family}.json ({item['name']})"
                    found.append(entry_from_json(whole, place=place, origin="catalogue"))
        return tuple(found)


def built_in() -> Catalogue:
    """Return the catalogue that ships with claimfit."""
    index = cast("dict[str, dict[str, str]]", json.loads(_text(DIRECTORY, "index")))
    return Catalogue(DIRECTORY, index["models"], index["aliases"])


def _entries(family: str, text: bytes) -> dict[str, Entry]:
    items = cast("list[object]", json.loads(text)["models"])
    entries = (
        entry_from_json(
            item, place=f"data/models/{family}.json: models[{position}]", origin="catalogue"
        )
        for position, item in enumerate(items)
    )
    return {entry.name: entry for entry in entries}


def _text(directory: str, name: str) -> bytes:
    path = os.path.join(directory, f"{name}.json")  # noqa: PTH118  # see DIRECTORY
    with open(path, "rb") as file:  # noqa: PTH123  # see DIRECTORY
        return file.read()
