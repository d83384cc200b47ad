"""Rules for the spec of claims, claim templates and device classes.

Those of pkg/apis/resource/validation/validation.go (Kubernetes 1.36), in its words. Expressions are
left to `claimfit.diagnose.lint.selectors`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from claimfit.diagnose.lint.finding import NULL
from claimfit.diagnose.lint.names import (
    c_identifier,
    driver_name,
    extended_resource_name,
    label,
    label_key,
    label_value,
    length,
    subdomain,
)
from claimfit.diagnose.lint.schema import ENUMERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claimfit.diagnose.lint.finding import Report
    from claimfit.diagnose.lint.parts import Part
    from claimfit.diagnose.lint.paths import Path

__all__ = [
    "check_claim",
    "check_class",
    "check_driver",
    "check_qualified_name",
    "check_taint",
    "request_parts",
]

MOST_DEVICES: Final = 32
"""Results of one claim (AllocationResultsMaxSize), and so requests too."""
MOST_SELECTORS: Final = 32
MOST_ALTERNATIVES: Final = 8
MOST_CONSTRAINTS: Final = 32
MOST_CONFIGURATIONS: Final = 32
LONGEST_PARAMETERS: Final = 10 << 10
LONGEST_DOMAIN: Final = 63
LONGEST_IDENTIFIER: Final = 32

_REFERENCE: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)
_ONE_REQUEST: Final = "exactly one of `exactly` or `firstAvailable` is required"
_ONE_CONSTRAINT: Final = (
    'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are '
    "set"
)
"""The server's words, also where none is set."""


def request_parts(devices: Part) -> Iterator[tuple[str, Part]]:
    """Yield (name, what is asked for) of each request and alternative of a claim.

    Names are as in allocation results, ``REQUEST`` or ``REQUEST/ALTERNATIVE``.
    """
    for request in devices.parts("requests"):
        name = request.text("name")
        exact = request.part("exactly")
        if exact is not None:
            yield name, exact
        elif request.has("deviceClassName"):  # v1beta1
            yield name, request
        for alternative in request.parts("firstAvailable"):
            yield f"{name}/{alternative.text('name')}", alternative


def check_claim(devices: Part, report: Report) -> None:
    """Report what the API server refuses in `devices`, the part of a spec that asks."""
    names = _request_names(devices)
    requests = devices.parts("requests")
    if devices.count("requests") > MOST_DEVICES:
        report.too_many(devices.at("requests"), devices.count("requests"), MOST_DEVICES)
    else:
        for request in requests:
            _check_request(request, report)
        _check_unique(requests, report)
    if devices.count("constraints") > MOST_CONSTRAINTS:
        report.too_many(devices.at("constraints"), devices.count("constraints"), MOST_CONSTRAINTS)
    else:
        for constraint in devices.parts("constraints"):
            _check_constraint(constraint, names, report)
    if devices.count("config") > MOST_CONFIGURATIONS:
        report.too_many(devices.at("config"), devices.count("config"), MOST_CONFIGURATIONS)
    else:
        for configuration in devices.parts("config"):
            _check_references(configuration, names, report)
            _check_configuration(configuration, report)


def check_class(spec: Part, report: Report) -> None:
    """Report what the API server refuses in the spec of a DeviceClass."""
    _check_selectors(spec, report)
    if spec.count("config") > MOST_CONFIGURATIONS:
        report.too_many(spec.at("config"), spec.count("config"), MOST_CONFIGURATIONS)
    else:
        for configuration in spec.parts("config"):
            _check_configuration(configuration, report)
    if spec.has("extendedResourceName"):
        name = spec.text("extendedResourceName")
        if not extended_resource_name(name):
            path = spec.at("extendedResourceName")
            report.invalid(path, name, "must be a valid extended resource name")


# --- requests -------------------------------------------------------------------------------------


def _request_names(devices: Part) -> dict[str, set[str]]:
    return {
        request.text("name"): {
            alternative.text("name") for alternative in request.parts("firstAvailable")
        }
        for request in devices.parts("requests")
    }


def _check_unique(requests: list[Part], report: Report) -> None:
    seen: set[str] = set()
    for request in requests:
        name = request.text("name")
        if name in seen:
            report.duplicate(request.path, name)
        seen.add(name)


def _check_request(request: Part, report: Report) -> None:
    _check_label(request, "name", report)
    if report.manifest.api_version.endswith("/v1beta1"):
        _check_beta_request(request, report)
        return
    exact, alternatives = request.has("exactly"), request.count("firstAvailable") > 0
    if exact and alternatives:
        report.invalid(request.path, NULL, f"{_ONE_REQUEST}, but multiple fields are set")
    elif alternatives:
        _check_alternatives(request, report)
    elif exact:
        part = request.part("exactly")
        if part is not None:
            _check_exact(part, report)
    elif not request.unknown:  # else an unknown field is likely what was meant, and reported
        report.required(request.path, _ONE_REQUEST)


def _check_beta_request(request: Part, report: Report) -> None:
    if request.count("firstAvailable"):
        if request.has("deviceClassName"):
            detail = "exactly one of `deviceClassName` or `firstAvailable` is required, but "
            report.invalid(request.path, "", f"{detail}multiple fields are set")
        _check_alternatives(request, report)
    elif not request.has("deviceClassName"):
        report.required(
            request.path, "exactly one of `deviceClassName` or `firstAvailable` must be specified"
        )
    else:
        _check_exact(request, report)


def _check_alternatives(request: Part, report: Report) -> None:
    alternatives = request.parts("firstAvailable")
    count = request.count("firstAvailable")
    if count > MOST_ALTERNATIVES:
        report.too_many(request.at("firstAvailable"), count, MOST_ALTERNATIVES)
        return
    for alternative in alternatives:
        _check_label(alternative, "name", report)
        _check_exact(alternative, report)
    _check_unique(alternatives, report)


def _check_exact(request: Part, report: Report) -> None:
    name = request.text("deviceClassName")
    path = request.at("deviceClassName")
    if not name:
        report.required(path)
    else:
        for problem in subdomain(name):
            report.invalid(path, name, problem)
    _check_selectors(request, report)
    _check_count(request, report)
    for toleration in request.parts("tolerations"):
        _check_toleration(toleration, report)


def _check_count(request: Part, report: Report) -> None:
    mode, count = request.text("allocationMode") or "ExactCount", request.number("count")
    path = request.at("count")
    if mode == "All":
        if count != 0:
            detail = "must not be specified when allocationMode is 'All'"
            report.invalid(path, count, detail)
    elif mode == "ExactCount":
        if count < 0:  # 0 becomes the default, 1
            report.invalid(path, count, "must be greater than zero")
    else:
        modes = ENUMERATIONS["allocationMode"]
        report.unsupported(request.at("allocationMode"), mode, modes)


def _check_selectors(holder: Part, report: Report) -> None:
    if holder.count("selectors") > MOST_SELECTORS:
        report.too_many(holder.at("selectors"), holder.count("selectors"), MOST_SELECTORS)
        return
    for selector in holder.parts("selectors"):
        if not selector.has("cel"):
            report.required(selector.at("cel"))


def _check_toleration(toleration: Part, report: Report) -> None:
    key, value = toleration.text("key"), toleration.text("value")
    operator, effect = toleration.text("operator") or "Equal", toleration.text("effect")
    if key:
        _check_label_key(toleration.at("key"), key, report)
    if operator == "Exists":
        if value:
            detail = "must be empty for operator `Exists`"
            report.invalid(toleration.at("value"), value, detail)
    elif operator == "Equal":
        for problem in label_value(value):
            report.invalid(toleration.at("value"), value, problem)
    else:
        report.unsupported(toleration.at("operator"), operator, ENUMERATIONS["operator"])
    if effect and effect not in _effects(report):
        report.unsupported(toleration.at("effect"), effect, _effects(report))


def _effects(report: Report) -> tuple[str, ...]:
    """Return the effects of taints: None came with 1.35."""
    every = ENUMERATIONS["effect"]
    return every if report.profile.minor >= 35 else every[:2]


def check_taint(taint: Part, report: Report) -> None:
    """Report what the API server refuses in a taint of a device."""
    _check_label_key(taint.at("key"), taint.text("key"), report)
    for problem in label_value(taint.text("value")):
        report.invalid(taint.at("value"), taint.text("value"), problem)
    effect = taint.text("effect")
    if not effect:
        report.required(taint.at("effect"))
    elif effect not in _effects(report):
        report.unsupported(taint.at("effect"), effect, _effects(report))


def _check_label(part: Part, field: str, report: Report) -> None:
    name = part.text(field)
    for problem in label(name):
        report.invalid(part.at(field), name, problem)


def _check_label_key(path: Path, key: str, report: Report) -> None:
    for problem in label_key(key):
        report.invalid(path, key, problem)


# --- constraints and configuration ----------------------------------------------------------------


def _check_constraint(constraint: Part, names: dict[str, set[str]], report: Report) -> None:
    _check_references(constraint, names, report)
    if constraint.has("matchAttribute"):
        _check_full_name(constraint, "matchAttribute", report)
    elif constraint.has("distinctAttribute"):
        _check_full_name(constraint, "distinctAttribute", report)
    elif report.profile.enabled("DRAConsumableCapacity"):
        report.required(constraint.path, _ONE_CONSTRAINT)
    else:
        report.required(constraint.at("matchAttribute"))


def _check_full_name(constraint: Part, field: str, report: Report) -> None:
    name, path = constraint.text(field), constraint.at(field)
    check_qualified_name(name, path, report)
    if "/" not in name:
        detail = "a fully qualified name must be a domain and a name separated by a slash"
        report.invalid(path, name, detail)


def check_qualified_name(name: str, path: Path, report: Report, *, key: str | None = None) -> None:
    """Report what keeps `name` from naming an attribute or capacity, with or without a domain.

    With `key` the name is that key of the map at `path`.
    """
    domain, slash, identifier = name.rpartition("/")
    if name.count("/") > 1:
        return  # the server lets this pass (a known gap in its validation)
    if slash and not domain:
        report.invalid(path, "", "the domain must not be empty", key=key)
    elif slash:
        check_driver(domain, path, report, key=key)
    if slash and not identifier:
        report.invalid(path, "", "the name must not be empty", key=key)
        return
    if length(identifier) > LONGEST_IDENTIFIER:
        report.too_long(path, LONGEST_IDENTIFIER, key=key)
    for problem in c_identifier(identifier):
        meant = re.sub(r"\W", "_", identifier, flags=re.ASCII)
        hint = f": {meant}" if not c_identifier(meant) else ""
        report.invalid(
            path,
            identifier,
            problem,
            fix=f"letters, digits and underscore, no leading digit{hint} (counters, unlike "
            "attributes and capacities, may contain hyphens)",
            key=key,
        )


def check_driver(name: str, path: Path, report: Report, *, key: str | None = None) -> None:
    """Report what keeps `name` from being the name of a driver."""
    if not name:
        report.required(path, key=key)
        return
    if length(name) > LONGEST_DOMAIN:
        report.too_long(path, LONGEST_DOMAIN, key=key)
    for problem in driver_name(name):
        report.invalid(path, name, problem, key=key)


def _check_references(part: Part, names: dict[str, set[str]], report: Report) -> None:
    if part.count("requests") > MOST_DEVICES:
        report.too_many(part.at("requests"), part.count("requests"), MOST_DEVICES)
        return
    seen: set[str] = set()
    for index, name in enumerate(part.texts("requests")):
        path = part.at("requests", index)
        segments = name.split("/")
        if len(segments) > 2:
            report.invalid(path, name, _REFERENCE)
        else:
            for segment in segments:
                for problem in label(segment):
                    report.invalid(path, segment, problem)
            alternatives = names.get(segments[0])
            if alternatives is None or (len(segments) > 1 and segments[1] not in alternatives):
                report.invalid(path, name, _REFERENCE)
        if name in seen:
            report.duplicate(path, name)
        seen.add(name)


def _check_configuration(configuration: Part, report: Report) -> None:
    opaque = configuration.part("opaque")
    if opaque is None:
        if not configuration.has("opaque"):
            report.required(configuration.at("opaque"))
        return
    check_driver(opaque.text("driver"), opaque.at("driver"), report)
    path = opaque.at("parameters")
    if not opaque.has("parameters"):
        report.required(path)
        return
    parameters = opaque.values["parameters"]
    written = json.dumps(parameters, ensure_ascii=False, separators=(",", ":"))
    if length(written) > LONGEST_PARAMETERS:
        report.too_long(path, LONGEST_PARAMETERS)
    elif not isinstance(parameters, dict):
        report.invalid(path, "<value omitted>", "must be a valid JSON object")
