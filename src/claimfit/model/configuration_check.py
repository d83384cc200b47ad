"""Compares a catalogue entry's configuration with the config.json of its repository.

The entry is a reduced copy, so only what it states is compared: a key that only the repository has
is no difference. A key that only the entry has is told apart: configurations leave out what equals
the default of their model type (Gemma 3 leaves out its heads).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ConfigurationDifference", "compare_configurations"]


class ConfigurationDifference(NamedTuple):
    """One key that the entry states and the repository does not, or states otherwise."""

    path: str
    """Keys and list positions that lead to it: ``text_config.hidden_size``."""
    kind: Literal["differs", "absent"]
    entry: object
    repository: object
    """None when absent."""


def compare_configurations(
    entry: dict[str, object], repository: dict[str, object]
) -> tuple[ConfigurationDifference, ...]:
    """Return where `repository`, a whole config.json, disagrees with `entry`, in key order."""
    return tuple(_compared("", entry, repository))


def _compared(path: str, entry: object, repository: object) -> Iterator[ConfigurationDifference]:
    if isinstance(entry, dict) and isinstance(repository, dict):
        for key in sorted(entry):
            where = f"{path}.{key}" if path else str(key)
            if key in repository:
                yield from _compared(where, entry[key], repository[key])
            else:
                yield ConfigurationDifference(where, "absent", entry[key], None)
    elif isinstance(entry, list) and isinstance(repository, list) and len(entry) == len(repository):
        for position, (ours, theirs) in enumerate(zip(entry, repository, strict=True)):
            yield from _compared(f"{path}[{position}]", ours, theirs)
    elif not _equal(entry, repository):
        yield ConfigurationDifference(path, "differs", entry, repository)


def _equal(entry: object, repository: object) -> bool:
    """Return whether two values are the same JSON value: 1 equals 1.0, and neither equals true."""
    if isinstance(entry, bool) or isinstance(repository, bool):
        return entry is repository
    return entry == repository
