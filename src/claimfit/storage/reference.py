"""The grammar of references to models outside the catalogue.

::

    hf://ORG/NAME[@REVISION][:QUANTIZATION][/FILE]
    https://HOST/PATH
    PATH

A revision that contains a slash is written with ``%2F`` (``refs%2Fpr%2F1``), as in the hub's own
addresses.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from claimfit.errors import InputError
from claimfit.records import NamedTuple

__all__ = ["HubReference", "hub_address", "hub_reference", "is_safe_path"]

_HUB: Final = re.compile(
    r"^hf://(?P<repository>[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9_][\w.-]{0,95}?)"
    r"(?:@(?P<revision>[\w.%+-]{1,200}))?"
    r"(?::(?P<quantization>[\w.-]{1,40}))?"
    r"(?:/(?P<path>.+))?$",
    re.ASCII | re.DOTALL,
)
_HUB_PAGE: Final = re.compile(
    r"^/(?P<repository>[\w.-]+/[\w.-]+)"
    r"(?:/(?P<verb>tree|blob|resolve)/(?P<revision>[^/]+)(?:/(?P<path>.+))?)?/?$",
    re.ASCII | re.DOTALL,
)
_LONGEST_PATH: Final = 1024


class HubReference(NamedTuple):
    """A repository of the hub at a revision, and which model in it."""

    repository: str
    revision: str = "main"
    path: str = ""
    """A file in it; empty for the repository as a whole."""
    quantization: str = ""


def hub_reference(text: str) -> HubReference:
    """Return the parts of an ``hf://`` reference.

    Raises:
        InputError: NET009 when it does not follow the grammar.
    """
    match = _HUB.match(text)
    if match is None or not is_safe_path(match["path"] or "x") or ".." in match["repository"]:
        raise InputError(
            "NET009",
            "not a repository of the hub",
            found=text,
            expected="hf://ORG/NAME, with @REVISION, :QUANTIZATION or /FILE after it",
        )
    return HubReference(
        match["repository"],
        unquote(match["revision"] or "main"),
        match["path"] or "",
        match["quantization"] or "",
    )


def hub_address(path: str) -> HubReference | None:
    """Return what a page of the hub shows, by the path of its address; None when it is no model.

    ``/ORG/NAME``, ``/ORG/NAME/tree/REVISION``, ``/ORG/NAME/blob/REVISION/FILE`` and the same with
    ``resolve``.
    """
    match = _HUB_PAGE.match(path)
    if match is None or ".." in path or match["repository"].startswith("api/"):
        return None
    file = match["path"] or ""
    if match["verb"] == "tree":
        file = ""
    return HubReference(match["repository"], unquote(match["revision"] or "main"), unquote(file))


def is_safe_path(path: str) -> bool:
    """Return whether `path` stays inside the repository that it is relative to."""
    parts = path.split("/")
    return (
        0 < len(path) <= _LONGEST_PATH
        and path.isprintable()
        and "\\" not in path
        and not any(part in {"", ".", ".."} for part in parts)
    )
