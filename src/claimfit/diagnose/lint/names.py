"""The shapes of names in Kubernetes, with the words in which the API server refuses them.

Rules and words of k8s.io/apimachinery pkg/api/validate/content (v0.36); each function returns what
is wrong, nothing for a good name. Lengths are in bytes, as in Go.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "c_identifier",
    "driver_name",
    "extended_resource_name",
    "label",
    "label_key",
    "label_value",
    "length",
    "semantic_version",
    "subdomain",
]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_C_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_NUMBER: Final = "(0|[1-9][0-9]*)"
_PRERELEASE: Final = "(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD: Final = "[0-9a-zA-Z-]+"
_SEMANTIC_VERSION: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    rf"(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?"
)

_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    f"for validation is '{_LABEL}')"
)
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_SUBDOMAIN}')"
)
_KEY_TEXT: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{_KEY}')"
)
_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    f"or '12345', regex used for validation is '({_KEY})?')"
)
_C_IDENTIFIER_TEXT: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of "
    "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for "
    f"validation is '{_C_IDENTIFIER}')"
)

LONGEST_LABEL: Final = 63
LONGEST_SUBDOMAIN: Final = 253


def length(text: str) -> int:
    """Return the length of `text` in bytes of UTF-8."""
    return len(text.encode(errors="replace"))


def _too_long(text: str, most: int, unit: str) -> list[str]:
    """Return the server's complaint; its two validation packages call bytes differently."""
    return [f"must be no more than {most} {unit}"] if length(text) > most else []


def label(name: str) -> list[str]:
    """Return what keeps `name` from being a DNS label."""
    problems = _too_long(name, LONGEST_LABEL, "characters")
    if not re.fullmatch(_LABEL, name):
        dotted = re.fullmatch(_SUBDOMAIN, name)
        problems.append("must not contain dots" if dotted else _LABEL_TEXT)
    return problems


def subdomain(name: str) -> list[str]:
    """Return what keeps `name` from being a DNS subdomain."""
    problems = _too_long(name, LONGEST_SUBDOMAIN, "characters")
    if not re.fullmatch(_SUBDOMAIN, name):
        problems.append(_SUBDOMAIN_TEXT)
    return problems


def driver_name(name: str) -> list[str]:
    """Return what keeps `name`, whatever its case, from being the name of a driver."""
    return subdomain(name.lower())


def c_identifier(name: str) -> list[str]:
    """Return what keeps `name` from being an identifier of C."""
    return [] if re.fullmatch(_C_IDENTIFIER, name) else [_C_IDENTIFIER_TEXT]


def label_key(key: str) -> list[str]:
    """Return what keeps `key` from being the key of a label."""
    parts = key.split("/")
    if len(parts) > 2:
        prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_KEY_TEXT} {prefix}"]
    problems = []
    if len(parts) == 2:
        if not parts[0]:
            problems.append("prefix part must be non-empty")
        problems += [f"prefix part {text}" for text in subdomain(parts[0])] if parts[0] else []
    name = parts[-1]
    if not name:
        problems.append("name part must be non-empty")
    else:
        problems += [f"name part {text}" for text in _too_long(name, LONGEST_LABEL, "bytes")]
    if not re.fullmatch(_KEY, name):
        problems.append(f"name part {_KEY_TEXT}")
    return problems


def label_value(value: str) -> list[str]:
    """Return what keeps `value` from being the value of a label."""
    problems = _too_long(value, LONGEST_LABEL, "bytes")
    if value and not re.fullmatch(_KEY, value):
        problems.append(_VALUE_TEXT)
    return problems


def semantic_version(text: str) -> bool:
    """Whether `text` is a version as semver.org 2.0.0 writes it."""
    return _SEMANTIC_VERSION.fullmatch(text) is not None


def extended_resource_name(name: str) -> bool:
    """Whether `name` may name an extended resource (IsExtendedResourceName, core/v1/helper)."""
    native = "/" not in name or "kubernetes.io/" in name
    return not native and not name.startswith("requests.") and not label_key(f"requests.{name}")
