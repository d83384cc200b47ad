"""Costs that the static estimate and the count at run time share (apiserver library cost.go)."""

from __future__ import annotations

from typing import Final

__all__ = ["ACCESSORS", "PATTERN", "STRING"]

STRING: Final = 0.1
"""Per character of a string that is walked."""
PATTERN: Final = 0.25
"""Per character of a regular expression, times the text."""
ACCESSORS: Final = (
    "serviceAccount",
    "path",
    "group",
    "resource",
    "subresource",
    "namespace",
    "name",
    "allowed",
    "reason",
    "error",
    "errored",
    "masked",
    "prefixLength",
    "family",
    "isUnspecified",
    "isLoopback",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isGlobalUnicast",
    "format.named",
    "sign",
    "asInteger",
    "isInteger",
    "asApproximateFloat",
    "isGreaterThan",
    "isLessThan",
    "compareTo",
    "add",
    "sub",
    "major",
    "minor",
    "patch",
    "getScheme",
    "getHostname",
    "getHost",
    "getPort",
    "getEscapedPath",
    "getQuery",
)
"""Functions that cost 1, whatever they are given."""
