"""Reads a cluster from where the user keeps it: a file, a folder, standard input or a sample."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from claimfit.dra.reading import Objects, read_objects
from claimfit.errors import InputError

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["read_cluster"]

_SAMPLE: Final = "sample:"
_SUFFIXES: Final = (".json", ".yaml", ".yml")
MAXIMUM_BYTES: Final = 1 << 30
"""A cluster of a million devices is half of this."""


def read_cluster(source: str, stdin: BinaryIO, *, everything: bool = False) -> Objects:
    """Return the objects of `source`: FILE, FOLDER (JSON and YAML files in it), `-`, sample:NAME.

    With `everything` taint rules, pods, workloads and quotas are read too, not only counted.

    Raises `InputError`: FIL101 cannot be read, FIL102 too large, FIL103 a folder without manifests,
    FIL104 no such sample, FIL106 empty; and what `claimfit.dra.reading` raises for the content.
    """
    if source == "-":
        text = _something(_bounded(stdin, "standard input"), "standard input")
        return read_objects(text, "standard input", everything=everything)
    if source.startswith(_SAMPLE):
        return _file(_sample(source.removeprefix(_SAMPLE)), source, everything=everything)
    path = Path(source)
    if path.is_dir():
        return _folder(path, everything=everything)
    return _file(path, source, everything=everything)


def _sample(name: str) -> Path:
    from claimfit.hardware.samples import sample_names, sample_path

    if name not in sample_names():
        raise InputError(
            "FIL104",
            "no such sample cluster",
            place="--cluster",
            found=name,
            expected="one of " + ", ".join(_SAMPLE + known for known in sample_names()),
        )
    return Path(sample_path(name))


def _folder(folder: Path, *, everything: bool) -> Objects:
    files = sorted(
        item for item in folder.rglob("*") if item.suffix in _SUFFIXES and not item.is_dir()
    )
    if not files:
        raise InputError(
            "FIL103",
            "the folder holds no manifest",
            place=str(folder),
            expected="files that end in " + ", ".join(_SUFFIXES),
        )
    objects = Objects(reads_all=everything)
    for item in files:
        objects.extend(_file(item, str(item), everything=everything))
    return objects


def _file(path: Path, place: str, *, everything: bool) -> Objects:
    try:
        with path.open("rb") as stream:
            text = _something(_bounded(stream, place), place)
            return read_objects(text, place, everything=everything)
    except OSError as error:
        raise InputError(
            "FIL101",
            f"cannot be read: {error.strerror or error}",
            place=place,
            expected="a file, a folder, - or sample:NAME",
        ) from None


def _bounded(stream: BinaryIO, place: str) -> bytes:
    text = stream.read(MAXIMUM_BYTES + 1)
    if len(text) > MAXIMUM_BYTES:
        raise InputError(
            "FIL102",
            f"larger than {MAXIMUM_BYTES >> 20} MiB",
            place=place,
            fix="leave out what is not needed: slices, nodes, classes and claims are read",
        )
    return text


def _something(text: bytes, place: str) -> bytes:
    """Return `text`; raise FIL106 if it is blank, which is no cluster without devices."""
    if not text or text.isspace():
        raise InputError(
            "FIL106",
            "empty: there is not even a list of objects",
            place=place,
            expected="what kubectl get -o json prints",
            fix="see what the command that was to write it says",
        )
    return text
