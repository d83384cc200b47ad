"""The functions of Kubernetes' own types: quantities, versions, addresses, URLs, formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.dra.cel.formats import FORMATS
from claimfit.dra.cel.network import CIDR, IP
from claimfit.dra.cel.quantities import CelQuantity
from claimfit.dra.cel.semver import Semver
from claimfit.dra.cel.urls import URL, request_uri_problem
from claimfit.dra.cel.values import NONE, EvalError, MapValue, Optional, Value, no_such_overload

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.cel.formats import Format


__all__ = ["BOUND"]


def _parses(parse: Callable[[str], object]) -> Callable[[str], Value]:
    def test(text: str) -> Value:
        try:
            parse(text)
        except EvalError:
            return False
        return True

    return test


def _as_integer(quantity: CelQuantity) -> Value:
    whole = quantity.as_int64()
    if whole is None:
        raise EvalError("cannot convert value to integer")
    return whole


def _arithmetic(*, in_place: bool) -> dict[str, Callable[..., Value]]:
    of_int = CelQuantity.of_int
    return {
        "quantity_add": lambda one, two: one.plus(two, in_place=in_place),
        "quantity_add_int": lambda one, two: one.plus(of_int(two), in_place=in_place),
        "quantity_sub": lambda one, two: one.minus(two, in_place=in_place),
        "quantity_sub_int": lambda one, two: one.minus(of_int(two), in_place=in_place),
    }


def _semver(text: str, normalize: bool = False) -> Value:
    return Semver.parse(text, normalize=normalize)


def _is_semver(text: str, normalize: bool = False) -> Value:
    return _parses(lambda one: Semver.parse(one, normalize=normalize))(text)


def _contains_ip_text(cidr: CIDR, text: str) -> Value:
    try:
        return cidr.contains(IP.parse(text))
    except EvalError:
        raise no_such_overload() from None  # what Kubernetes makes of an unreadable address


def _query(url: URL) -> Value:
    values = {key: (key, list[Value](found)) for key, found in url.query_values().items()}
    return MapValue(values)  # type: ignore[arg-type]  # strings are their own map keys


def _named_format(name: str) -> Value:
    found = FORMATS.get(name)
    return NONE if found is None else Optional(found)


def _validate_before_35(form: Format, text: str) -> Value:
    problems: list[Value] = [_older_sentence(problem) for problem in form.validate(text)]
    return Optional(problems) if problems else NONE


def _older_sentence(problem: str) -> str:
    newer = "a valid label key must consist"
    if problem.startswith(newer):
        return f"a qualified name must consist{problem.removeprefix(newer)}"
    return problem


def _validate(form: Format, text: str) -> Value:
    problems = form.validate(text)
    return Optional([*problems]) if problems else NONE


BOUND: Final[dict[str, Callable[..., Value]]] = {
    "string_to_quantity": CelQuantity.parse,
    "is_quantity_string": _parses(CelQuantity.parse),
    "quantity_sign": CelQuantity.sign,
    "quantity_is_greater_than": lambda one, two: one.compare(two) > 0,
    "quantity_is_less_than": lambda one, two: one.compare(two) < 0,
    "quantity_compare_to": CelQuantity.compare,
    "quantity_get_float": CelQuantity.approximate,
    "quantity_get_int": _as_integer,
    "quantity_is_integer": lambda one: one.as_int64() is not None,
    **_arithmetic(in_place=False),
    "string_to_semver": _semver,
    "string_bool_to_semver": _semver,
    "is_semver_string": _is_semver,
    "is_semver_string_bool": _is_semver,
    "semver_major": lambda version: version.numbers[0],
    "semver_minor": lambda version: version.numbers[1],
    "semver_patch": lambda version: version.numbers[2],
    "semver_is_greater_than": lambda one, two: one.compare(two) > 0,
    "semver_is_less_than": lambda one, two: one.compare(two) < 0,
    "semver_compare_to": Semver.compare,
    "string_to_ip": IP.parse,
    "is_ip": _parses(IP.parse),
    "ip_is_canonical": lambda text: str(IP.parse(text)) == text,
    "ip_family": lambda ip: ip.family,
    "ip_is_unspecified": lambda ip: ip.is_unspecified,
    "ip_is_loopback": lambda ip: ip.is_loopback,
    "ip_is_link_local_multicast": lambda ip: ip.is_link_local_multicast,
    "ip_is_link_local_unicast": lambda ip: ip.is_link_local_unicast,
    "ip_is_global_unicast": lambda ip: ip.is_global_unicast,
    "string_to_cidr": CIDR.parse,
    "is_cidr": _parses(CIDR.parse),
    "cidr_contains_ip_string": _contains_ip_text,
    "cidr_contains_ip_ip": CIDR.contains,
    "cidr_contains_cidr_string": lambda cidr, text: cidr.covers(CIDR.parse(text)),
    "cidr_contains_cidr": CIDR.covers,
    "cidr_ip": lambda cidr: cidr.ip,
    "cidr_prefix_length": lambda cidr: cidr.length,
    "cidr_masked": CIDR.masked,
    "string_to_url": URL.parse,
    "is_url_string": lambda text: not request_uri_problem(text),
    "url_get_scheme": lambda url: url.scheme,
    "url_get_host": lambda url: url.host,
    "url_get_hostname": lambda url: url.hostname,
    "url_get_port": lambda url: url.port,
    "url_get_escaped_path": lambda url: url.escaped_path,
    "url_get_query": _query,
    "format-named": _named_format,
    "format-validate": _validate,
    **{f"format.{name}": lambda found=found: found for name, found in FORMATS.items()},
}
"""What each overload does with operands of its types, by its name."""

BEFORE_35: Final[dict[str, Callable[..., Value]]] = {"format-validate": _validate_before_35}
"""The overloads that differ before 1.35, which words one problem of names otherwise."""

BOUND_IN_PLACE: Final = _arithmetic(in_place=True)
"""The overloads that differ before 1.37, where a sum changes a receiver kept as a decimal."""
