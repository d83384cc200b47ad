"""Rules for ResourceSlices and DeviceTaintRules, in the API server's words.

pkg/apis/resource/validation/validation.go of Kubernetes 1.36; what differs in 1.34 says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.diagnose.lint.capacity_policy import check_policy
from claimfit.diagnose.lint.claim_rules import check_driver, check_qualified_name, check_taint
from claimfit.diagnose.lint.counters import check_consumptions, check_counter_sets, device_parts
from claimfit.diagnose.lint.finding import NULL
from claimfit.diagnose.lint.names import (
    label,
    label_key,
    label_value,
    length,
    semantic_version,
    subdomain,
)
from claimfit.diagnose.lint.parts import Part

if TYPE_CHECKING:
    from claimfit.diagnose.lint.finding import Report
    from claimfit.diagnose.lint.paths import Path

__all__ = ["check_slice", "check_taint_rule"]

MOST_DEVICES: Final = 128
MOST_ADVANCED_DEVICES: Final = 64
MOST_ENTRIES: Final = 32
MOST_VALUES: Final = 48
MOST_TAINTS: Final = 16
MOST_BINDING_CONDITIONS: Final = 4
LONGEST_VALUE: Final = 64
LONGEST_POOL_NAME: Final = 253

_PLACES: Final = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_LISTS: Final = ("ints", "bools", "strings", "versions")
_SCALARS: Final = ("int", "bool", "string", "version")


def check_slice(spec: Part, report: Report) -> None:
    """Report what the API server refuses in the spec of a ResourceSlice."""
    check_driver(spec.text("driver"), spec.at("driver"), report)
    pool = spec.below("pool")
    _check_pool_name(pool.text("name"), pool.at("name"), report)
    if pool.number("resourceSliceCount") <= 0:
        count = pool.number("resourceSliceCount")
        report.invalid(pool.at("resourceSliceCount"), count, "must be greater than zero")
    if pool.number("generation") < 0:
        generation = pool.number("generation")
        detail = "must be greater than or equal to zero"
        report.invalid(pool.at("generation"), generation, detail)
    _check_places(spec, _PLACES, report)
    if spec.has("sharedCounters") and spec.has("devices") and report.profile.minor >= 35:
        report.invalid(spec.path, "", "only one of `sharedCounters` or `devices` is allowed")
    _check_devices(spec, report)
    check_counter_sets(spec, report)


def check_taint_rule(spec: Part, report: Report) -> None:
    """Report what the API server refuses in the spec of a DeviceTaintRule."""
    selector = spec.part("deviceSelector")
    if selector is not None:
        if selector.has("driver"):
            check_driver(selector.text("driver"), selector.at("driver"), report)
        if selector.has("pool"):
            _check_pool_name(selector.text("pool"), selector.at("pool"), report)
        if selector.has("device"):
            _check_label(selector.text("device"), selector.at("device"), report)
    check_taint(spec.below("taint"), report)


def _check_label(name: str, path: Path, report: Report) -> None:
    for problem in label(name):
        report.invalid(path, name, problem)


def _check_pool_name(name: str, path: Path, report: Report) -> None:
    if not name:
        report.required(path)
        return
    if length(name) > LONGEST_POOL_NAME:
        report.too_long(path, LONGEST_POOL_NAME)
    for part in name.split("/"):
        for problem in subdomain(part):
            report.invalid(path, part, problem)


# --- where ----------------------------------------------------------------------------------------


def _check_places(part: Part, places: tuple[str, ...], report: Report) -> None:
    """Report unless exactly one of `places` says where the slice or device is."""
    whole_slice = "perDeviceNodeSelection" in places
    given = [
        f"`{place}`"
        for place in places
        if part.has(place) and _is_place(part, place, report, one_term=whole_slice)
    ]
    quoted = [f"`{place}`" for place in places]
    one = f"exactly one of {', '.join(quoted)} is required"
    if not whole_slice:
        one = (
            f"exactly one of {', '.join(quoted[:-1])}, or {quoted[-1]} is required when "
            "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
        )
    if not given:
        report.required(part.path, one)
    elif len(given) > 1:
        report.invalid(part.path, f"{{{', '.join(given)}}}", f"{one}, but multiple fields are set")


def _is_place(part: Part, place: str, report: Report, *, one_term: bool) -> bool:
    """Check one of the fields that say where a device is; return whether it says so."""
    path = part.at(place)
    if place == "nodeName":
        name = part.text("nodeName")
        if not name:
            whole = "must be either unset or set to a non-empty string"
            report.invalid(path, name, whole if one_term else "must not be empty")
        for problem in subdomain(name) if name else ():
            report.invalid(path, name, problem)
        return bool(name)
    if place == "nodeSelector":
        selector = part.part("nodeSelector")
        if selector is not None:
            _check_node_selector(selector, report, one_term=one_term)
        return True
    if part.flag(place) is False:
        report.invalid(path, value=False, detail="must be either unset or set to true")
        return False
    return True


def _check_node_selector(selector: Part, report: Report, *, one_term: bool) -> None:
    terms = selector.parts("nodeSelectorTerms")
    path = selector.at("nodeSelectorTerms")
    count = selector.count("nodeSelectorTerms")
    if not count:
        report.required(path, "must have at least one node selector term")
    for term in terms:
        for requirement in term.parts("matchExpressions"):
            _check_requirement(requirement, report)
        for requirement in term.parts("matchFields"):
            _check_field_requirement(requirement, report)
    if one_term and count != 1:
        report.invalid(path, _raw(path, report), "must have exactly one node selector term")


def _raw(path: Path, report: Report) -> object:
    return report.manifest.at(path) or []


def _check_requirement(requirement: Part, report: Report) -> None:
    operator, count = requirement.text("operator"), requirement.count("values")
    path = requirement.at("values")
    if operator in {"In", "NotIn"}:
        if not count:
            report.required(path, "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in {"Exists", "DoesNotExist"}:
        if count:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            report.forbidden(path, detail)
    elif operator in {"Gt", "Lt"}:
        if count != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            report.required(path, detail)
    else:
        report.invalid(requirement.at("operator"), operator, "not a valid selector operator")
    key = requirement.text("key")
    for problem in label_key(key):
        report.invalid(requirement.at("key"), key, problem)
    for index, value in enumerate(requirement.texts("values")):
        for problem in label_value(value):
            report.invalid(requirement.at("values", index), value, problem)


def _check_field_requirement(requirement: Part, report: Report) -> None:
    operator, key = requirement.text("operator"), requirement.text("key")
    if operator not in {"In", "NotIn"}:
        report.invalid(requirement.at("operator"), operator, "not a valid selector operator")
    elif requirement.count("values") != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        report.required(requirement.at("values"), detail)
    if key != "metadata.name":
        report.invalid(requirement.at("key"), key, "not a valid field selector key")
        return
    for index, value in enumerate(requirement.texts("values")):
        for problem in subdomain(value):
            report.invalid(requirement.at("values", index), value, problem)


# --- devices --------------------------------------------------------------------------------------


def _check_devices(spec: Part, report: Report) -> None:
    devices = device_parts(spec)
    advanced = report.profile.minor >= 35 and any(map(_is_advanced, devices))
    most = MOST_ADVANCED_DEVICES if advanced else MOST_DEVICES
    if spec.count("devices") > most:
        report.too_many(spec.at("devices"), spec.count("devices"), most)
        return
    seen: set[str] = set()
    for named, device in devices:
        name = named.text("name")
        _check_label(name, named.at("name"), report)
        if named is device and report.manifest.api_version.endswith("/v1beta1"):
            report.required(named.at("basic"))
        _check_device(device, spec, report)
        if name in seen:
            report.duplicate(named.path, name)
        seen.add(name)


def _is_advanced(named: tuple[Part, Part]) -> bool:
    device = named[1]
    return bool(
        device.count("taints")
        or device.count("consumesCounters")
        or any(
            attribute.has(field)
            for attribute in device.entries("attributes").values()
            if isinstance(attribute, Part)
            for field in _LISTS
        )
    )


def _check_device(device: Part, spec: Part, report: Report) -> None:
    _check_entries(device, report)
    taints = device.parts("taints")
    most = MOST_TAINTS if report.profile.minor >= 35 else 4
    if device.count("taints") > most:
        report.too_many(device.at("taints"), device.count("taints"), most)
    else:
        for taint in taints:
            check_taint(taint, report)
    check_consumptions(device, report)
    if spec.flag("perDeviceNodeSelection"):
        _check_places(device, _PLACES[:3], report)
    elif any(device.has(place) for place in _PLACES[:3]):
        report.invalid(
            device.path,
            NULL,
            "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` "
            "is set to true in the ResourceSlice spec",
        )
    _check_binding(device, report)
    _check_node_resources(device, report)


def _check_entries(device: Part, report: Report) -> None:
    attributes, capacity = device.entries("attributes"), device.entries("capacity")
    if len(attributes) + len(capacity) > MOST_ENTRIES:
        report.invalid(
            device.path,
            len(attributes) + len(capacity),
            f"the total number of attributes and capacities must not exceed {MOST_ENTRIES}",
        )
    values = sum(
        max(sum(item.count(field) for field in _LISTS), 1) if isinstance(item, Part) else 1
        for item in attributes.values()
    )
    if values > MOST_VALUES and report.profile.minor >= 36:
        detail = f"the total number of attribute values must not exceed {MOST_VALUES}"
        report.invalid(device.path, values, detail)
    for name, attribute in attributes.items():
        check_qualified_name(name, device.at("attributes"), report, key=name)
        if isinstance(attribute, Part):
            _check_attribute(attribute, report)
    shared = device.flag("allowMultipleAllocations") is True
    for name, item in capacity.items():
        check_qualified_name(name, device.at("capacity"), report, key=name)
        policy = item.part("requestPolicy") if isinstance(item, Part) else None
        if policy is None or not isinstance(item, Part):
            continue
        if shared:
            check_policy(policy, item.quantity("value"), report)
        else:
            report.forbidden(policy.path, "allowMultipleAllocations must be true")


def _check_attribute(attribute: Part, report: Report) -> None:
    given = [field for field in (*_SCALARS, *_LISTS) if attribute.has(field)]
    if len(given) != 1:
        report.invalid(attribute.path, ", ".join(given), "exactly one value must be specified")
    for field in given:
        path = attribute.at(field)
        if field in _LISTS and not attribute.count(field):
            report.invalid(path, [], "must not be empty if specified")
        texts = attribute.texts(field) if field in _LISTS else [attribute.text(field)]
        for index, text in enumerate(texts):
            item = (*path, index) if field in _LISTS else path
            if field.startswith("version") and not semantic_version(text):
                detail = "must be a string compatible with semver.org spec 2.0.0"
                report.invalid(item, text, detail)
            if length(text) > LONGEST_VALUE:
                report.too_long(item, LONGEST_VALUE)


def _check_binding(device: Part, report: Report) -> None:
    names = ("bindingConditions", "bindingFailureConditions")
    conditions, failures = (device.texts(name) for name in names)
    for name, values in zip(names, (conditions, failures), strict=True):
        if len(values) > MOST_BINDING_CONDITIONS:
            report.too_many(device.at(name), len(values), MOST_BINDING_CONDITIONS)
        for index, value in enumerate(values):
            if len(values) <= MOST_BINDING_CONDITIONS:
                for problem in label_key(value):
                    report.invalid(device.at(name, index), value, problem)
            if value in values[:index]:
                report.duplicate(device.at(name, index), value)
    for index, value in enumerate(failures):
        if value in conditions:
            detail = "bindingFailureConditions must not overlap with bindingConditions"
            report.invalid(device.at(names[1], index), value, detail)
    if bool(conditions) != bool(failures):
        missing, given = names if failures else names[::-1]
        report.invalid(device.at(missing), NULL, f"{missing} are required to use {given}")


def _check_node_resources(device: Part, report: Report) -> None:
    capacity = device.entries("capacity")
    for name, mapping in device.entries("nodeAllocatableResourceMappings").items():
        if not isinstance(mapping, Part):
            continue
        if "/" in name and "kubernetes.io/" not in name:
            report.invalid(mapping.path, name, "must be a node allocatable resource name")
        multiplier, key = mapping.quantity("allocationMultiplier"), mapping.text("capacityKey")
        if multiplier is not None and multiplier.sign <= 0:
            path = mapping.at("allocationMultiplier")
            report.invalid(path, str(multiplier), "must be positive")
        if mapping.has("capacityKey"):
            path = mapping.at("capacityKey")
            if not key:
                report.invalid(path, key, "capacityKey must not be an empty string")
            elif key not in capacity:
                report.not_found(path, key)
