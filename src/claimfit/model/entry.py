"""One model as a table states it: the entry of the built-in catalogue and of a user's own file.

An entry is a JSON object::

    name              what the user types, usually org/name (required)
    repository        the repository whose config.json holds these facts; default: the name
    aliases           further names
    config            reduced config.json, keys spelled as there (required without sameAs)
    sameAs            name of an entry whose config this one shares; `config` then is a JSON merge
                      patch on it (RFC 7396: objects merge, null removes)
    parameters        published total, with parametersSource: who says so
    activeParameters  published parameters per token, with activeParametersSource
    opened            what was read to take these values; empty: general knowledge
    checks            which of the catalogue's checks the entry passed
    notes             what a user of these facts should know
    task              generate, embed or rerank; default: what architecture and name say

Any other key is an error: a misspelt key must not lose a fact silently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from claimfit.errors import ModelError
from claimfit.model.config import facts_from_config
from claimfit.model.facts import Provenance
from claimfit.records import NamedTuple

Task = Literal["generate", "embed", "rerank"]
Origin = Literal["catalogue", "overlay"]

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.model.facts import ModelFacts

__all__ = ["LONGEST_NAME", "Entry", "Task", "completed", "entry_from_json", "facts_of"]

LONGEST_NAME: Final = 256
"""Characters of a name. Hugging Face allows 96 in `org/name`; the rest is room for local names."""

_LARGEST_COUNT: Final = 2**53 - 1  # the largest integer that every JSON reader keeps exact

_TEXT: Final = frozenset(
    {
        "name",
        "repository",
        "sameAs",
        "parametersSource",
        "activeParametersSource",
        "opened",
        "task",
    }
)
_TASKS: Final[dict[str, Task]] = {"generate": "generate", "embed": "embed", "rerank": "rerank"}
_COUNTS: Final = frozenset({"parameters", "activeParameters"})
_LISTS: Final = frozenset({"aliases", "checks", "notes"})
_KEYS: Final = _TEXT | _COUNTS | _LISTS | {"config"}


class Entry(NamedTuple):
    """One model of a table."""

    name: str
    repository: str
    aliases: tuple[str, ...]
    config: dict[str, object]
    """Reduced config.json, or the merge patch on it when `same_as` is set."""
    same_as: str
    parameters: int
    """Published total; 0 when nothing declares it."""
    parameters_source: str
    active_parameters: int
    active_parameters_source: str
    opened: str
    checks: tuple[str, ...]
    notes: tuple[str, ...]
    task: Task | None
    """What it serves where architecture and name do not say."""
    place: str
    """Where the entry stands, for messages."""
    origin: Origin


def entry_from_json(item: object, *, place: str, origin: Origin) -> Entry:
    """Return `item`, an object as the module describes, as an entry.

    Raises:
        ModelError: MOD004 for a value of the wrong type or an unusable name, MOD005 for an unknown
            key, MOD006 for a missing one.
    """
    if not isinstance(item, dict):
        raise _wrong(place, "", item, "an object")
    for key in item:
        if key not in _KEYS:
            raise _unknown_key(place, key)
    texts = {key: _text(item, key, place) for key in _TEXT}
    name = texts["name"]
    if not name:
        raise ModelError("MOD006", "the entry has no name", place=place, expected="name: org/model")
    if "config" not in item and not texts["sameAs"]:
        raise ModelError(
            "MOD006",
            "the entry says nothing about the model's shape",
            place=f"{place} ({name})" if name.isprintable() else place,
            expected="config (an object with the keys of config.json), or sameAs",
        )
    return Entry(
        name=_checked_name(name, f"{place}.name"),
        repository=texts["repository"] or name,
        aliases=tuple(
            _checked_name(alias, f"{place}.aliases") for alias in _strings(item, "aliases", place)
        ),
        config=_object(item, "config", place),
        same_as=texts["sameAs"],
        parameters=_count(item, "parameters", place),
        parameters_source=texts["parametersSource"],
        active_parameters=_count(item, "activeParameters", place),
        active_parameters_source=texts["activeParametersSource"],
        opened=texts["opened"],
        checks=_strings(item, "checks", place),
        notes=_strings(item, "notes", place),
        task=_task(texts["task"], place),
        place=place,
        origin=origin,
    )


def completed(entry: Entry, find: Callable[[str], Entry | None]) -> Entry:
    """Return `entry` with the whole configuration, `find` giving the entry that it shares one with.

    Raises:
        ModelError: MOD008 when sameAs names no entry, or one that has no configuration of its own.
    """
    if not entry.same_as:
        return entry
    base = find(entry.same_as)
    if base is None or base.same_as:
        raise ModelError(
            "MOD008",
            "sameAs names no entry with a configuration of its own",
            place=f"{entry.place}.sameAs",
            found=entry.same_as,
            fix="name an entry that has config and no sameAs",
        )
    return entry._replace(config=merged(base.config, entry.config), same_as="")


def merged(base: dict[str, object], patch: dict[str, object]) -> dict[str, object]:
    """Return `base` with the JSON merge patch `patch` applied (RFC 7396), changing neither."""
    result = dict(base)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            inner = result.get(key)
            result[key] = merged(inner if isinstance(inner, dict) else {}, value)
        else:
            result[key] = value
    return result


def facts_of(entry: Entry) -> ModelFacts:
    """Return the facts of a completed `entry`.

    Raises:
        InputError: what `facts_from_config` raises for the configuration.
    """
    facts = facts_from_config(
        entry.config,
        name=entry.name,
        repository=entry.repository,
        origin=entry.origin,
        place=f"{entry.place}.config",
        declared_parameters=entry.parameters,
        declared_active_parameters=entry.active_parameters,
        source=entry.origin if entry.origin == "catalogue" else entry.place,
    )
    declared = tuple(
        Provenance(field, source or "not stated")
        for field, value, source in (
            ("declared_parameters", entry.parameters, entry.parameters_source),
            ("declared_active_parameters", entry.active_parameters, entry.active_parameters_source),
        )
        if value
    )
    facts = facts._replace(sources=facts.sources + declared, notes=facts.notes + entry.notes)
    if entry.task is None or entry.task == facts.task:
        return facts
    if entry.task == "generate":
        return facts._replace(task=entry.task)
    return facts._replace(task=entry.task, output_parameters=0)  # pooled: no head over words


def _checked_name(name: str, place: str) -> str:
    """Return `name` if it can be typed and printed on one line; raises MOD004."""
    if name.strip() != name or not name or not name.isprintable() or len(name) > LONGEST_NAME:
        raise ModelError(
            "MOD004",
            "not usable as a model name",
            place=place,
            found=name,
            expected=f"1 to {LONGEST_NAME} printable characters, no blanks around them",
        )
    return name


def _task(text: str, place: str) -> Task | None:
    if text and text not in _TASKS:
        raise _wrong(place, "task", text, ", ".join(_TASKS))
    return _TASKS.get(text)


def _text(item: dict[str, object], key: str, place: str) -> str:
    value = item.get(key, "")
    if not isinstance(value, str):
        raise _wrong(place, key, value, "a string")
    return value


def _count(item: dict[str, object], key: str, place: str) -> int:
    if key not in item:
        return 0
    value = item[key]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _LARGEST_COUNT:
        raise _wrong(place, key, value, f"a whole number, 1 to {_LARGEST_COUNT}")
    return value


def _strings(item: dict[str, object], key: str, place: str) -> tuple[str, ...]:
    value = item.get(key, [])
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise _wrong(place, key, value, "a list of strings")
    return tuple(value)


def _object(item: dict[str, object], key: str, place: str) -> dict[str, object]:
    value = item.get(key, {})
    if not isinstance(value, dict):
        raise _wrong(place, key, value, "an object")
    return value


def _wrong(place: str, key: str, found: object, expected: str) -> ModelError:
    where = f"{place}.{key}" if key else place
    return ModelError("MOD004", "wrong value", place=where, found=found, expected=expected)


def _unknown_key(place: str, key: object) -> ModelError:
    from difflib import get_close_matches

    near = get_close_matches(str(key)[:LONGEST_NAME], sorted(_KEYS), cutoff=0.5)
    return ModelError(
        "MOD005",
        "unknown key",
        place=place,
        found=key,
        expected="one of " + ", ".join(sorted(_KEYS)),
        candidates=tuple(near),
    )
