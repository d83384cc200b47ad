"""The API objects of a file, each with its place in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from claimfit.diagnose.lint.layout import Layout
from claimfit.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from claimfit.diagnose.lint.paths import Path
    from claimfit.manifests.reader import Document, Mark, Value

__all__ = ["Manifest", "manifests_of"]


class Source:
    """A document whose places are looked up when somebody asks: a good JSON file needs none."""

    __slots__ = ("_layout", "_marked", "document")

    def __init__(self, document: Document) -> None:
        self.document = document
        self._marked: Document | None = None
        self._layout: Layout | None = None

    @property
    def marked(self) -> Document:
        """The document with its marks."""
        if self._marked is None:
            self._marked = self.document.with_marks()
        return self._marked

    @property
    def layout(self) -> Layout:
        """Of the text that the document is part of."""
        if self._layout is None:
            self._layout = Layout(self.document.text)
        return self._layout


class Manifest(NamedTuple):
    """One object as it stands in a document, itself or as an item of a List."""

    source: Source
    base: Path
    """Where the object is in the document: empty, or ``("items", 3)``."""
    value: Value

    @property
    def document(self) -> Document:
        """The document that the object is in."""
        return self.source.document

    @property
    def layout(self) -> Layout:
        """Where the values of the text begin and end."""
        return self.source.layout

    @property
    def api_version(self) -> str:
        """The field apiVersion, or nothing."""
        return self._text("apiVersion")

    @property
    def kind(self) -> str:
        """The field kind, or nothing."""
        return self._text("kind")

    @property
    def name(self) -> str:
        """The name, or its beginning when it is to be generated."""
        metadata = self.metadata
        name = metadata.get("name") or metadata.get("generateName")
        return name if isinstance(name, str) else ""

    @property
    def namespace(self) -> str:
        """The namespace that is written, or nothing."""
        namespace = self.metadata.get("namespace")
        return namespace if isinstance(namespace, str) else ""

    @property
    def metadata(self) -> dict[str, Value]:
        """The metadata, empty when there is none."""
        metadata = self.value.get("metadata") if isinstance(self.value, dict) else None
        return metadata if isinstance(metadata, dict) else {}

    def __str__(self) -> str:
        """Return kind, namespace and name, safe to print."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return printable(f"{self.kind} {name}".strip())

    def _text(self, field: str) -> str:
        value = self.value.get(field) if isinstance(self.value, dict) else None
        return value if isinstance(value, str) else ""

    def at(self, path: Path) -> Value:
        """Return the raw value at `path`, None where there is nothing."""
        value = self.value
        for step in path:
            if isinstance(step, int):
                value = value[step] if isinstance(value, list) and step < len(value) else None
            else:
                value = value.get(step) if isinstance(value, dict) else None
        return value

    def mark(self, path: Path) -> Mark:
        """Return where the value at `path` stands, or its nearest parent."""
        return self.source.marked.mark((*self.base, *path))

    def key_mark(self, path: Path) -> Mark:
        """Return where the key of `path` stands; that of the value for an item of a list."""
        marks = self.source.marked.marks or {}
        value: Value = self.source.marked.value
        for step in (*self.base, *path[:-1]):
            if id(value) not in marks or step not in marks[id(value)]:
                return self.mark(path)
            value = value[step]  # type: ignore[index]  # marks: it is a container
        entry = marks.get(id(value), {}).get(path[-1]) if path else None
        return entry[0] if entry is not None else self.mark(path)


def manifests_of(documents: Sequence[Document]) -> Iterator[Manifest]:
    """Yield the objects of `documents`, Lists taken apart, in order."""
    for document in documents:
        yield from _objects(Manifest(Source(document), (), document.value))


def _objects(manifest: Manifest) -> Iterator[Manifest]:
    value = manifest.value
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list) or not manifest.kind.endswith("List"):
        yield manifest
        return
    for index, item in enumerate(items):
        if isinstance(item, dict) and not item.get("kind") and manifest.kind != "List":
            # A typed list (ResourceClaimList) may leave kind and apiVersion out of its items.
            implied: dict[str, Value] = {
                "apiVersion": manifest.api_version,
                "kind": manifest.kind.removesuffix("List"),
            }
            item = {**implied, **item}  # noqa: PLW2901
        base = (*manifest.base, "items", index)
        yield Manifest(manifest.source, base, item)
