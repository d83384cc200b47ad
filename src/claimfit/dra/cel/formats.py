"""The named formats of Kubernetes: what a text must look like, and what is said when it does not.

Rules and sentences are those of k8s.io/apimachinery (util/validation) and of the string formats of
k8s.io/kube-openapi (validation/strfmt).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from claimfit.dra.cel.go_text import days_in_month
from claimfit.dra.cel.urls import request_uri_problem
from claimfit.dra.cel.values import Opaque, no_such_overload

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.cel.values import Value

__all__ = ["FORMATS", "Format"]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = f"{_LABEL}(\\.{_LABEL})*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = f"({_QUALIFIED})?"
_ENDS: Final = "and must start and end with an alphanumeric character"
_LABEL_TEXT: Final = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}"
)
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    f"'.', {_ENDS}"
)
_LABEL_1035_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character"
)
_NAME_PART_TEXT: Final = (
    f"name part must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
)
_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    f"'.', {_ENDS}"
)
_UUID: Final = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_BASE64: Final = re.compile(
    r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
)
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", re.ASCII)
_TIME: Final = re.compile(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))", re.ASCII
)


class Format(Opaque):
    """A named format; `regex_size` is the length of pattern that its cost assumes."""

    __slots__ = ("name", "regex_size", "validate")

    type_name: ClassVar[str] = "kubernetes.NamedFormat"
    go_type: ClassVar[str] = "cel.Format"
    hashable: ClassVar[bool] = False

    def __init__(self, name: str, regex_size: int, validate: Callable[[str], list[str]]) -> None:
        self.name = name
        self.regex_size = regex_size
        self.validate = validate

    def equals(self, other: Value) -> bool:
        """Whether it is the same format."""
        if not isinstance(other, Format):
            raise no_such_overload()
        return self.name == other.name


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text, re.ASCII) is not None


def _too_long(text: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} characters"] if len(text.encode()) > limit else []


def _wrong(sentence: str, pattern: str, *examples: str) -> str:
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{sentence} (e.g. {listed}regex used for validation is '{pattern}')"


def _label(text: str) -> list[str]:
    found = _too_long(text, 63)
    if not _matches(_LABEL, text):
        if _matches(_SUBDOMAIN, text):
            found.append("must not contain dots")
        else:
            found.append(_wrong(_LABEL_TEXT, _LABEL, "my-name", "123-abc"))
    return found


def _subdomain(text: str) -> list[str]:
    found = _too_long(text, 253)
    if not _matches(_SUBDOMAIN, text):
        found.append(_wrong(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return found


def _label_1035(text: str) -> list[str]:
    found = _too_long(text, 63)
    if not _matches(_LABEL_1035, text):
        found.append(_wrong(_LABEL_1035_TEXT, _LABEL_1035, "my-name", "abc-123"))
    return found


def _qualified_name(text: str) -> list[str]:
    parts = text.split("/")
    found: list[str] = []
    if len(parts) == 2:
        if not parts[0]:
            found.append("prefix part must be non-empty")
        else:
            found += [f"prefix part {problem}" for problem in _subdomain(parts[0])]
    elif len(parts) > 2:
        sentence = f"a valid label key must {_NAME_PART_TEXT.removeprefix('name part must ')}"
        wrong = _wrong(sentence, _QUALIFIED, "MyName", "my.name", "123-abc")
        return [
            f"{wrong} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    name = parts[-1]
    if not name:
        found.append("name part must be non-empty")
    else:
        found += [f"name part {problem}" for problem in _too_long(name, 63)]
    if not _matches(_QUALIFIED, name):
        found.append(_wrong(_NAME_PART_TEXT, _QUALIFIED, "MyName", "my.name", "123-abc"))
    return found


def _label_value(text: str) -> list[str]:
    found = _too_long(text, 63)
    if not _matches(_LABEL_VALUE, text):
        found.append(_wrong(_VALUE_TEXT, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return found


def _prefix(validate: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Accept what may start a generated name: one dash at the end."""

    def masked(text: str) -> list[str]:
        if len(text) > 1 and text.endswith("-"):
            text = f"{text[:-2]}a"
        return validate(text)

    return masked


def _uri(text: str) -> list[str]:
    problem = request_uri_problem(text)
    return [problem] if problem else []


def _is_date(text: str) -> bool:
    shape = _DATE.fullmatch(text)
    if shape is None:
        return False
    year, month, day = map(int, shape.groups())
    return 1 <= month <= 12 and 1 <= day <= days_in_month(year, month)


def _is_datetime(text: str) -> bool:
    parts = text.lower().split("t")
    if len(text) < 4 or len(parts) < 2 or not _is_date(parts[0]):
        return False
    clock = _TIME.fullmatch(parts[1])
    return clock is not None and clock[1] <= "23" and clock[2] <= "59" and clock[3] <= "59"


def _either(test: Callable[[str], object], sentence: str) -> Callable[[str], list[str]]:
    return lambda text: [] if test(text) else [sentence]


FORMATS: Final = {
    name: Format(shown, size, validate)
    for name, shown, size, validate in (
        ("dns1123Label", "DNS1123Label", 30, _label),
        ("dns1123Subdomain", "DNS1123Subdomain", 60, _subdomain),
        ("dns1035Label", "DNS1035Label", 30, _label_1035),
        ("qualifiedName", "QualifiedName", 60, _qualified_name),
        ("dns1123LabelPrefix", "DNS1123LabelPrefix", 30, _prefix(_label)),
        ("dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", 60, _prefix(_subdomain)),
        ("dns1035LabelPrefix", "DNS1035LabelPrefix", 30, _prefix(_label_1035)),
        ("labelValue", "LabelValue", 40, _label_value),
        ("uri", "URI", 1103, _uri),
        ("uuid", "uuid", 70, _either(_UUID.fullmatch, "does not match the UUID format")),
        ("byte", "byte", 84, _either(_BASE64.fullmatch, "invalid base64")),
        ("date", "date", 71, _either(_is_date, "invalid date")),
        ("datetime", "datetime", 71, _either(_is_datetime, "invalid datetime")),
    )
}
"""The formats by the name that ``format.named()`` takes. Sizes: apiserver pkg/cel/library."""
