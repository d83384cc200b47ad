"""Finds the model that a reference means: a file, a repository, or a name in a table.

In this order (the first that knows the reference answers):

1. a local file or folder, ``hf://org/name[@revision]`` or ``https://...``: read by `open_model`;
2. the exact name or alias in the user's overlay, then in the built-in catalogue;
3. one model of overlay and catalogue whose name, alias or short name (the part after the last
   slash) is the same without regard to case; several are an error that lists them;
4. llmfit's catalogue, when the extra is installed.

A reference that is none of these is an error with the nearest names: never a guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.errors import ModelError
from claimfit.model.entry import LONGEST_NAME, Entry, facts_of
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.model.catalogue import Catalogue
    from claimfit.model.facts import ModelFacts

__all__ = [
    "Sources",
    "entry_named",
    "find_entry",
    "find_model",
    "is_file_reference",
    "known_entries",
    "matching_names",
]

_HOW_ELSE: Final = (
    "claimfit models lists the known ones; or give a GGUF file, a folder with config.json, "
    "hf://org/name, or your own entry with --models FILE"
)
_REMOTE: Final = ("hf://", "https://", "http://")
_NEAREST: Final = 5


class Sources(NamedTuple):
    """Where models may come from. What is absent is not asked."""

    catalogue: Catalogue
    overlay: tuple[Entry, ...] = ()
    open_model: Callable[[str], ModelFacts] | None = None
    """Reads a local or remote reference (`claimfit.storage.opening.open_model`)."""
    exists: Callable[[str], bool] | None = None
    """Whether a path is there (`os.path.exists`)."""
    llmfit: Callable[[str], ModelFacts | None] | None = None
    """Finds a model in llmfit's catalogue, None when it has none of that name."""


def find_model(reference: str, sources: Sources) -> ModelFacts:
    """Return the facts of the model that `reference` means.

    Raises:
        ModelError: MOD001 when nothing knows it, MOD002 when several models fit, MOD003 when it can
            be no name; and what the readers raise for a file or repository.
        InputError, EnvironmentFailure: from `Sources.open_model`.
    """
    if is_file_reference(reference, sources.exists):
        if sources.open_model is None:
            raise ModelError(
                "MOD009", "files and repositories are not read here", found=reference, fix=_HOW_ELSE
            )
        return sources.open_model(reference)
    entry = _entry_meant(reference, sources)
    if entry is not None:
        return facts_of(entry)
    found = None if sources.llmfit is None else sources.llmfit(reference)
    if found is None:
        raise _unknown(reference, sources)
    return found


def find_entry(reference: str, sources: Sources) -> Entry:
    """Return the entry of overlay or catalogue that `reference` means.

    Raises:
        ModelError: MOD001 to MOD003, as `find_model`.
    """
    entry = _entry_meant(reference, sources)
    if entry is None:
        raise _unknown(reference, sources)
    return entry


def _entry_meant(reference: str, sources: Sources) -> Entry | None:
    _check_name(reference)
    entry = entry_named(reference, sources)
    if entry is None:
        entry = entry_named(_the_match(reference, sources), sources)
    return entry


def entry_named(name: str, sources: Sources) -> Entry | None:
    """Return the entry of exactly this name or alias, the user's before the catalogue's."""
    for entry in sources.overlay:
        if name in _spellings(entry):
            return entry
    catalogue = sources.catalogue
    return catalogue.entry(catalogue.aliases.get(name, name))


def known_entries(sources: Sources) -> tuple[Entry, ...]:
    """Return all entries: the user's, then those of the catalogue that they do not hide."""
    hidden = {spelling.casefold() for entry in sources.overlay for spelling in _spellings(entry)}
    rest = (entry for entry in sources.catalogue.entries() if entry.name.casefold() not in hidden)
    return (*sources.overlay, *rest)


def is_file_reference(reference: str, exists: Callable[[str], bool] | None) -> bool:
    """Return whether `reference` names a file, a folder or a remote one, rather than a model.

    True for ``hf://`` and ``https://``, for what starts with ``/``, ``./``, ``../`` or ``~/``, for
    what ends in ``.gguf`` or ``.safetensors``, and for a path with a separator that exists.
    """
    if reference.startswith((*_REMOTE, "/", "./", "../", "~/")) or reference in {".", ".."}:
        return True
    if reference.lower().endswith((".gguf", ".safetensors")):
        return True
    return exists is not None and "/" in reference and exists(reference)


def matching_names(reference: str, sources: Sources) -> tuple[str, ...]:
    """Return the names of overlay and catalogue that `reference` means without regard to case.

    A whole name or alias wins over short names: of `a/b` and `c/b`, `A/B` means the first.
    """
    wanted = reference.casefold()
    known = _known(sources)
    whole = {name for spelling, name in known if spelling.casefold() == wanted}
    if whole or "/" in reference:
        return tuple(sorted(whole))
    short = {name for spelling, name in known if spelling.rpartition("/")[2].casefold() == wanted}
    return tuple(sorted(short))


def _the_match(reference: str, sources: Sources) -> str:
    """Return the one name that `reference` means, empty when none does; raises MOD002."""
    names = matching_names(reference, sources)
    if len(names) > 1:
        raise ModelError(
            "MOD002",
            "several models have this name",
            found=reference,
            fix="give the whole name",
            candidates=names,
        )
    return names[0] if names else ""


def _known(sources: Sources) -> list[tuple[str, str]]:
    """Return every spelling with the name it means. An overlay entry hides the catalogue's."""
    known = [(spelling, entry.name) for entry in sources.overlay for spelling in _spellings(entry)]
    hidden = {spelling.casefold() for spelling, _ in known}
    catalogue = sources.catalogue
    for spelling, name in (
        *((name, name) for name in catalogue.families),
        *catalogue.aliases.items(),
    ):
        if spelling.casefold() not in hidden and name.casefold() not in hidden:
            known.append((spelling, name))
    return known


def _spellings(entry: Entry) -> tuple[str, ...]:
    return (entry.name, *entry.aliases)


def _check_name(reference: str) -> None:
    if not reference.strip() or len(reference) > LONGEST_NAME or not reference.isprintable():
        raise ModelError(
            "MOD003",
            "not a model name",
            found=reference,
            expected=f"1 to {LONGEST_NAME} printable characters",
            fix=_HOW_ELSE,
        )


def _unknown(reference: str, sources: Sources) -> ModelError:
    from difflib import get_close_matches

    wanted = reference.casefold()
    spellings: dict[str, str] = {}
    for spelling, name in _known(sources):
        spellings.setdefault(spelling.casefold(), name)
        spellings.setdefault(spelling.rpartition("/")[2].casefold(), name)
    holding = sorted((spelling for spelling in spellings if wanted in spelling), key=len)
    close = get_close_matches(wanted, spellings, n=_NEAREST * 2)
    nearest = tuple(dict.fromkeys(spellings[spelling] for spelling in (*holding, *close)))
    fix = _HOW_ELSE
    if sources.exists is not None and sources.exists(reference):
        fix = f"to read the file or folder of this name, write ./{reference}"
    return ModelError(
        "MOD001",
        "unknown model",
        found=reference,
        fix=fix,
        candidates=nearest[:_NEAREST],
    )
