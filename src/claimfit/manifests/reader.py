"""Reads YAML and JSON as kubectl does, with the place of everything.

One reader over PyYAML's event stream. Its scalar rules are those of sigs.k8s.io/yaml (a fork of
go-yaml v2): YAML 1.1 booleans (`yes`, `on`, `y`), merge keys, octal and hexadecimal integers, dates
left as strings. Duplicate keys, unknown tags, deep nesting and alias bombs are errors with a place.

Why not `yaml.safe_load`: it drops marks and duplicate keys, turns dates into objects, and is ten
times slower than the events it is built on. JSON is recognised by its first byte and takes the
standard library's parser; its marks are found only when somebody asks.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from claimfit.errors import InputError
from claimfit.manifests.json_objects import DuplicateKey, JsonObjects
from claimfit.manifests.scalars import Scalar, resolve
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import yaml

__all__ = ["Document", "Mark", "Value", "read_documents"]

Value = dict[str, "Value"] | list["Value"] | Scalar
"""What a document is made of: JSON's own types."""

MAXIMUM_DEPTH: Final = 200
"""Nesting that is accepted; Kubernetes objects stay below 30."""
MAXIMUM_ALIASED_NODES: Final = 100_000
"""Nodes that aliases may add by repetition; the file's own nodes are bounded by its size."""

_SURROGATE: Final = re.compile(r"\\u[dD]([89a-fA-F][0-9a-fA-F]{2})")
_STANDARD_TAGS: Final = "tag:yaml.org,2002:"


class Mark(NamedTuple):
    """A place in a file; both numbers start at 1."""

    line: int
    column: int


class Document(NamedTuple):
    """One YAML document or JSON text."""

    value: Value
    place: str
    """File name, or `-`."""
    text: str
    """The whole text that the document is part of."""
    marks: dict[int, dict[str | int, tuple[Mark, Mark]]] | None
    """id(container) -> key or index -> (mark of the key, mark of the value); None until asked."""
    number: int
    """Number of the document in its text, from 0."""

    def mark(self, path: Sequence[str | int]) -> Mark:
        """Return where the value at `path` stands; the nearest existing parent if it is absent."""
        document = self.with_marks()
        marks = document.marks or {}
        value, found = document.value, Mark(1, 1)
        for step in path:
            entry = marks.get(id(value), {}).get(step)
            if entry is None:
                return found
            found = entry[1]
            value = value[step]  # type: ignore[index]  # marks exist for containers only
        return found

    def with_marks(self) -> Document:
        """Return this document with its marks known."""
        return self if self.marks is not None else _with_marks(self)

    def where(self, path: Sequence[str | int] = ()) -> str:
        """Return `FILE:LINE:COLUMN` of the value at `path`."""
        mark = self.mark(path)
        return f"{self.place}:{mark.line}:{mark.column}"


def read_documents(text: str | bytes, place: str) -> list[Document]:
    """Return the documents of `text`, empty ones left out.

    Raises `InputError`: MAN001 not YAML or JSON, MAN002 duplicate key, MAN003 nested too deep,
    MAN004 aliases that multiply, MAN005 tag that is no plain data, MAN006 not UTF-8, MAN007 a key
    that is no string, MAN008 number that no reader agrees on.
    """
    decoded = _decode(text, place)
    if decoded.lstrip()[:1] in {"{", "["}:
        whole = _read_json(decoded, place)
        if whole is not None:
            return [whole]
    return list(_read_yaml(decoded, place))


def _decode(text: str | bytes, place: str) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            "MAN006",
            f"byte {error.start} is not UTF-8",
            place=place,
            expected="UTF-8 text",
            fix="convert the file, or check that it is a manifest",
        ) from None


# --- JSON -----------------------------------------------------------------------------------------


def _read_json(text: str, place: str) -> Document | None:
    """Return the one JSON text in `text`, or None where only YAML's flow style could read it."""
    if _nesting(text) > MAXIMUM_DEPTH:
        raise _too_deep(place)

    hooks = JsonObjects(place)
    try:
        value = json.loads(
            text,
            object_pairs_hook=hooks.object,
            parse_constant=hooks.constant,
            parse_int=hooks.integer,
            parse_float=hooks.number,
        )
        hooks.check()
    except (json.JSONDecodeError, DuplicateKey):
        return None  # the YAML reader names the place, or reads it: flow YAML also starts with {
    _refuse_lone_surrogates(text, value, place)
    return Document(value, place, text, None, 0)


def _refuse_lone_surrogates(text: str, value: Value, place: str) -> None:
    """Raise MAN001 for half a character: `"\\ud800"` is JSON, but no text that can be written."""
    if _SURROGATE.search(text) is None:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InputError("MAN001", "half of a surrogate pair", place=place) from None


def _nesting(text: str) -> int:
    """Return an upper bound of the nesting: brackets inside strings only raise it."""
    deepest = depth = 0
    for bracket in re.findall(r"[\[\]{}]", text) if text.count("[") > MAXIMUM_DEPTH else ():
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    if not deepest and text.count("{") > MAXIMUM_DEPTH:
        for bracket in re.findall(r"[{}]", text):
            depth += 1 if bracket == "{" else -1
            deepest = max(deepest, depth)
    return deepest


# --- YAML -----------------------------------------------------------------------------------------


def _read_yaml(text: str, place: str) -> Iterator[Document]:
    import yaml

    loader = getattr(yaml, "CLoader", yaml.Loader)
    try:
        events = yaml.parse(text, Loader=loader)
        composer = _Composer(events, place)
        for index, value in enumerate(composer.documents()):
            if value is not None:
                yield Document(value, place, text, composer.marks, index)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f"{place}:{mark.line + 1}:{mark.column + 1}" if mark else place
        problem = error.problem or error.context or "not YAML"
        raise InputError("MAN001", problem, place=at, expected="YAML or JSON") from None
    except yaml.YAMLError as error:
        raise InputError(
            "MAN001", str(error).splitlines()[0], place=place, expected="YAML or JSON"
        ) from None


class _Composer:
    """Builds plain values from parse events, with marks and limits."""

    def __init__(self, events: Iterator[yaml.Event], place: str) -> None:
        self.marks: dict[int, dict[str | int, tuple[Mark, Mark]]] = {}
        self._events = events
        self._place = place
        self._anchors: dict[str, tuple[Value, int]] = {}
        self._aliased = 0
        self._nodes = 0

    def documents(self) -> Iterator[Value]:
        import yaml

        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors.clear()
                yield self._node(next(self._events), 0)

    def _node(self, event: yaml.Event, depth: int) -> Value:
        import yaml

        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        before = self._nodes
        self._nodes += 1
        if depth > MAXIMUM_DEPTH:
            raise _too_deep(self._at(event))
        value: Value
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(event, depth)
        elif isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(event, depth)
        else:  # the parser emits no other event where a node is due
            raise InputError("MAN001", "not a YAML node", place=self._at(event))
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._nodes - before)
        return value

    def _alias(self, event: yaml.AliasEvent) -> Value:
        if event.anchor not in self._anchors:
            raise InputError(
                "MAN001", "alias without an anchor", place=self._at(event), found=f"*{event.anchor}"
            )
        value, nodes = self._anchors[event.anchor]
        self._aliased += nodes
        self._nodes += nodes
        if self._aliased > MAXIMUM_ALIASED_NODES:
            raise InputError(
                "MAN004",
                "aliases multiply the document",
                place=self._at(event),
                found=f"more than {MAXIMUM_ALIASED_NODES} repeated nodes",
                fix="write the repeated parts out, or remove them",
            )
        return value

    def _sequence(self, event: yaml.SequenceStartEvent, depth: int) -> list[Value]:
        import yaml

        self._check_tag(event, "seq")
        items: list[Value] = []
        marks: dict[str | int, tuple[Mark, Mark]] = {}
        for item in self._events:
            if isinstance(item, yaml.SequenceEndEvent):
                break
            mark = _mark(item)
            marks[len(items)] = (mark, mark)
            items.append(self._node(item, depth + 1))
        self.marks[id(items)] = marks
        return items

    def _mapping(self, event: yaml.MappingStartEvent, depth: int) -> dict[str, Value]:
        import yaml

        self._check_tag(event, "map")
        result: dict[str, Value] = {}
        marks: dict[str | int, tuple[Mark, Mark]] = {}
        merged: list[Value] = []
        for key_event in self._events:
            if isinstance(key_event, yaml.MappingEndEvent):
                break
            key = self._key(key_event)
            value_event = next(self._events)
            value = self._node(value_event, depth + 1)
            if key == "<<" and isinstance(key_event, yaml.ScalarEvent) and key_event.implicit[0]:
                merged.append(value)
                continue
            if key in result:
                raise _duplicate(key, self._at(key_event))
            result[key] = value
            marks[key] = (_mark(key_event), _mark(value_event))
        for source in merged:
            self._merge(result, marks, source, event)
        self.marks[id(result)] = marks
        return result

    def _merge(
        self,
        result: dict[str, Value],
        marks: dict[str | int, tuple[Mark, Mark]],
        source: Value,
        event: yaml.Event,
    ) -> None:
        for mapping in source if isinstance(source, list) else [source]:
            if not isinstance(mapping, dict):
                raise InputError(
                    "MAN001", "<< takes a mapping", place=self._at(event), found=mapping
                )
            for key, value in mapping.items():
                if key not in result:
                    result[key] = value
                    marks[key] = self.marks[id(mapping)][key]

    def _key(self, event: yaml.Event) -> str:
        import yaml

        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
            if isinstance(value, str):
                return value
            # kubectl turns scalar keys into their JSON text: `8080:` is the key "8080".
            if isinstance(value, bool):
                return "true" if value else "false"
            if isinstance(value, int):
                return str(value)
        raise InputError(
            "MAN007",
            "a key must be a string",
            place=self._at(event),
            found=getattr(event, "value", type(event).__name__),
            fix="put quotes around the key",
        )

    def _scalar(self, event: yaml.ScalarEvent) -> Value:
        text: str = event.value
        tag: str | None = event.tag
        if tag is not None and tag != "!":
            self._check_tag(event, "str", "int", "float", "bool", "null", "timestamp")
            if tag == _STANDARD_TAGS + "str":
                return text
        elif not event.implicit[0]:
            return text
        return resolve(text, self._at(event))

    def _check_tag(
        self, event: yaml.ScalarEvent | yaml.CollectionStartEvent, *allowed: str
    ) -> None:
        tag: str | None = event.tag
        if tag is None or tag == "!" or tag in {_STANDARD_TAGS + name for name in allowed}:
            return
        raise InputError(
            "MAN005",
            "a tag that is no plain data",
            place=self._at(event),
            found=tag,
            expected="untagged YAML",
        )

    def _at(self, event: yaml.Event) -> str:
        mark = _mark(event)
        return f"{self._place}:{mark.line}:{mark.column}"


def _mark(event: yaml.Event) -> Mark:
    mark = event.start_mark
    assert mark is not None  # noqa: S101  # every event of a parser carries its marks
    return Mark(mark.line + 1, mark.column + 1)


def _duplicate(key: str, place: str) -> InputError:
    return InputError(
        "MAN002", "duplicate key", place=place, found=key, fix="keep one of the two entries"
    )


def _too_deep(place: str) -> InputError:
    return InputError(
        "MAN003",
        "nested too deep",
        place=place,
        found=f"more than {MAXIMUM_DEPTH} levels",
        expected="a Kubernetes object",
    )


def _with_marks(document: Document) -> Document:
    """Return the same JSON document as the YAML reader sees it, which knows the places.

    YAML has no surrogate escapes. Only positions are of interest, so a character of the private use
    area takes the place of each: as wide, and keys that differ stay different.
    """
    text = _SURROGATE.sub(_private_use, document.text)
    documents = list(_read_yaml(text, document.place))
    return documents[document.number]


def _private_use(escape: re.Match[str]) -> str:
    """Return the escape of U+E000 to U+E7FF for that of U+D800 to U+DFFF."""
    return f"\\u{int(escape[1], 16) + 0xE000 - 0x800:04x}"
