"""Changes of a text that fix a finding: small splices, so that comments and style survive."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claimfit.diagnose.lint.manifest import Manifest
    from claimfit.diagnose.lint.paths import Path

__all__ = ["Edit", "applied", "rename_key", "replace_scalar", "unwrap", "wrap"]

Edits = tuple["Edit", ...]


class Edit(NamedTuple):
    """Puts `text` in the place of what stands from `start` to `stop` (offsets in characters)."""

    start: int
    stop: int
    text: str


def applied(text: str, groups: Iterable[Sequence[Edit]]) -> tuple[str, int]:
    """Return `text` with the edits of each group made, and how many groups were.

    A group is made whole or not at all: one that overlaps with an earlier one is left for the next
    run, when the places are known anew.
    """
    taken: list[Edit] = []
    made = 0
    for group in groups:
        if group and not any(_overlap(edit, other) for edit in group for other in taken):
            taken += group
            made += 1
    result, at = [], 0
    for edit in sorted(taken):
        result += [text[at : edit.start], edit.text]
        at = edit.stop
    result.append(text[at:])
    return "".join(result), made


def _overlap(one: Edit, other: Edit) -> bool:
    if one.start == one.stop or other.start == other.stop:
        return one.start <= other.stop and other.start <= one.stop
    return one.start < other.stop and other.start < one.stop


def rename_key(manifest: Manifest, path: Path, name: str) -> Edits:
    """Return the edit that gives the key at `path` another name; nothing when it is not plain."""
    layout, key = manifest.layout, str(path[-1])
    start = layout.offset(manifest.key_mark(path))
    for quote in ("", '"', "'"):
        written = f"{quote}{key}{quote}"
        if layout.text.startswith(written, start):
            return (Edit(start, start + len(written), f"{quote}{name}{quote}"),)
    return ()


def replace_scalar(manifest: Manifest, path: Path, text: str) -> Edits:
    """Return the edit that writes the plain word `text` at `path`, quoted as before."""
    span = manifest.layout.span(manifest.mark(path))
    if span is None or span.style not in {"", "'", '"'}:
        return ()
    return (Edit(span.start, span.stop, f"{span.style}{text}{span.style}"),)


def wrap(manifest: Manifest, path: Path, keys: Sequence[str], outer: str) -> Edits:
    """Return the edits that move `keys` of the mapping at `path` below a new key `outer`.

    Nothing when the keys do not stand together: moving text past other keys is left to people.
    """
    mapping = manifest.at(path)
    if not isinstance(mapping, dict):
        return ()
    order = sorted(mapping, key=lambda key: manifest.key_mark((*path, key)))
    places = [order.index(key) for key in keys if key in order]
    if not places or max(places) - min(places) != len(places) - 1:
        return ()
    layout = manifest.layout
    first, last = order[min(places)], order[max(places)]
    begin = layout.offset(manifest.key_mark((*path, first)))
    span = layout.span(manifest.mark((*path, last)))
    whole = layout.span(manifest.mark(path))
    if span is None or whole is None or not _within(whole.start, begin, span.stop, whole.stop):
        return ()  # an anchor, a merge key or an empty value: the text is elsewhere
    if whole.style == "{":
        quote = '"' if layout.text[begin] == '"' else ""
        return (
            Edit(begin, begin, f"{quote}{outer}{quote}: {{"),
            Edit(span.stop, span.stop, "}"),
        )
    column = layout.position(begin)[1] - 1
    deeper = [Edit(begin, begin, f"{outer}:\n{' ' * (column + 2)}")]
    deeper += [
        Edit(start, start, "  ")
        for start in layout.line_starts(begin, span.stop)
        if layout.text[start : start + 1] not in {"\n", "\r", ""}
    ]
    return tuple(deeper)


def unwrap(manifest: Manifest, path: Path) -> Edits:
    """Return the edits that put the fields of the mapping at `path` in the place of its key."""
    inner = manifest.at(path)
    if not isinstance(inner, dict) or not inner:
        return ()
    layout = manifest.layout
    key = layout.offset(manifest.key_mark(path))
    span = layout.span(manifest.mark(path))
    if span is None or span.start < key:
        return ()
    if span.style == "{":
        content = layout.text[span.start + 1 : span.stop - 1].strip()
        if "\n" in content and layout.position(key)[1] == 1:
            return ()
        block = _is_block(manifest, path[:-1])
        if block and len(inner) > 1:
            return ()
        return (Edit(key, span.stop, content),)
    between = layout.text[key : span.start]
    if between.count("\n") != 1:
        return ()  # a comment stands in between, or all is on one line
    less = layout.position(span.start)[1] - layout.position(key)[1]
    edits = [Edit(key, span.start, "")]
    for start in layout.line_starts(span.start, span.stop):
        line = layout.text[start : start + less]
        if line.strip(" "):
            if line.startswith(("\n", "\r")):
                continue
            return ()
        edits.append(Edit(start, start + less, ""))
    return tuple(edits)


def _is_block(manifest: Manifest, path: Path) -> bool:
    span = manifest.layout.span(manifest.mark(path))
    return span is not None and span.style == "-"


def _within(*offsets: int) -> bool:
    return list(offsets) == sorted(offsets)
