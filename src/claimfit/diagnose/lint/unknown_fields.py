"""Explains fields that an object does not have: misplaced, renamed since, or misspelt."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from claimfit.diagnose.lint.edits import rename_key, unwrap, wrap
from claimfit.diagnose.lint.paths import text_of
from claimfit.diagnose.lint.schema import STRUCTURES

if TYPE_CHECKING:
    from claimfit.diagnose.lint.edits import Edit
    from claimfit.diagnose.lint.finding import Report
    from claimfit.diagnose.lint.parts import Unknown
    from claimfit.diagnose.lint.schema import Field

__all__ = ["explain"]

_LONGEST_NAME = 63
_V1ALPHA2 = frozenset({"resourceClassName", "parametersRef"})


def explain(unknown: Unknown, report: Report) -> bool:
    """Report `unknown` with what is known about it; return False when nothing is."""
    name = str(unknown.path[-1])
    return (
        _beside_exactly(unknown, report)
        or _source_shape(unknown, name, report)
        or _alpha_shape(name, unknown, report)
        or _basic_shape(unknown, name, report)
        or _other_level(unknown, name, report)
        or _other_version(unknown, name, report)
        or _misspelt(unknown, name, report)
    )


def _beside_exactly(unknown: Unknown, report: Report) -> bool:
    """Report the request fields that v1 has under `exactly`, all in one finding."""
    if unknown.structure != "DeviceRequest":
        return False
    moved = STRUCTURES["ExactDeviceRequest"]
    path = unknown.path[:-1]
    request = report.manifest.at(path)
    keys = [key for key in request if key in moved] if isinstance(request, dict) else []
    if unknown.path[-1] not in keys:
        return False
    if unknown.path[-1] != keys[0]:
        return True  # said with the first
    edits: tuple[Edit, ...] = ()
    if isinstance(request, dict) and "exactly" not in request and "firstAvailable" not in request:
        edits = wrap(report.manifest, path, keys, "exactly")
    fields = ", ".join(keys)
    belongs = "belongs" if len(keys) == 1 else "belong"
    report.add(
        "LNT011",
        "error",
        unknown.path,
        f'unknown field "{text_of(unknown.path)}": in resource.k8s.io/v1 {fields} {belongs} under '
        "exactly",
        fix=f"{{name: ..., exactly: {{{', '.join(f'{key}: ...' for key in keys)}}}}}",
        edits=edits,
        at_key=True,
    )
    return True


def _source_shape(unknown: Unknown, name: str, report: Report) -> bool:
    """Report the reference of a pod nested under `source`, as it was until 1.30."""
    if unknown.structure != "PodResourceClaim" or name != "source":
        return False
    path = unknown.path[:-1]
    entry = report.manifest.at(path)
    alone = isinstance(entry, dict) and not any(key.startswith("resourceClaim") for key in entry)
    inner = unknown.value if isinstance(unknown.value, dict) else {}
    known = set(inner) <= {"resourceClaimName", "resourceClaimTemplateName"} and len(inner) == 1
    report.add(
        "LNT015",
        "error",
        unknown.path,
        f"{text_of(path)} must set exactly one of resourceClaimName or resourceClaimTemplateName; "
        "source is no longer a field (it was in resource.k8s.io/v1alpha2)",
        fix="move the reference out of source"
        + "".join(f": {key}: {value}" for key, value in inner.items() if isinstance(value, str)),
        edits=unwrap(report.manifest, unknown.path) if alone and known else (),
        at_key=True,
    )
    return True


def _alpha_shape(name: str, unknown: Unknown, report: Report) -> bool:
    if unknown.structure != "ResourceClaimSpec" or name not in _V1ALPHA2:
        return False
    report.add(
        "LNT013",
        "error",
        unknown.path,
        f'unknown field "{text_of(unknown.path)}": from resource.k8s.io/v1alpha2, which no '
        "Kubernetes since 1.31 has",
        fix="devices: {requests: [{name: ..., exactly: {deviceClassName: ...}}]}",
        at_key=True,
    )
    return True


def _basic_shape(unknown: Unknown, name: str, report: Report) -> bool:
    """Report the wrapper that v1beta1 had around what a device has."""
    if unknown.structure != "Device" or name != "basic":
        return False
    device = report.manifest.at(unknown.path[:-1])
    alone = isinstance(device, dict) and set(device) == {"name", "basic"}
    report.add(
        "LNT011",
        "error",
        unknown.path,
        f'unknown field "{text_of(unknown.path)}": since v1beta2 the fields of basic stand in the '
        "device itself",
        fix="move them up by one level",
        edits=unwrap(report.manifest, unknown.path) if alone else (),
        at_key=True,
    )
    return True


def _other_level(unknown: Unknown, name: str, report: Report) -> bool:
    """Report a field that belongs one level further down or up."""
    for inner, field in unknown.known.items():
        if name in STRUCTURES.get(_structure(field), {}):
            list_item = field.type.startswith("[]")
            _report_level(unknown, report, f"under {inner}" + (" (in each item)" * list_item))
            return True
    for parent, fields in STRUCTURES.items():
        below = {_structure(field) for field in fields.values()}
        if unknown.structure in below and name in fields and len(unknown.path) > 1:
            outer = next(
                (step for step in reversed(unknown.path[:-1]) if isinstance(step, str)), ""
            )
            if outer in fields and parent != "PodSpec":
                _report_level(unknown, report, f"beside {outer}, one level up")
                return True
    return False


def _structure(field: Field) -> str:
    return field.type.removeprefix("[]").removeprefix("map[]")


def _report_level(unknown: Unknown, report: Report, where: str) -> None:
    report.add(
        "LNT011",
        "error",
        unknown.path,
        f'unknown field "{text_of(unknown.path)}": {unknown.path[-1]} belongs {where}',
        fix=f"move {unknown.path[-1]} {where}",
        at_key=True,
    )


def _other_version(unknown: Unknown, name: str, report: Report) -> bool:
    """Report a field that other minors of Kubernetes have."""
    field = STRUCTURES[unknown.structure].get(name)
    if field is None or field.since <= report.profile.minor <= field.until:
        return False
    newer = field.since > report.profile.minor
    when = f"since 1.{field.since}" if newer else f"only until 1.{field.until}"
    report.add(
        "LNT001",
        "error",
        unknown.path,
        f'unknown field "{text_of(unknown.path)}" in Kubernetes {report.profile.kubernetes}: it is '
        f"there {when}",
        fix="--kubernetes says which version to lint for",
        at_key=True,
    )
    return True


def _misspelt(unknown: Unknown, name: str, report: Report) -> bool:
    known = list(unknown.known)
    folded = [key for key in known if key.casefold() == name.casefold()]
    near = folded or get_close_matches(name[:_LONGEST_NAME], known, 1, 0.75)
    if not near:
        return False
    siblings = report.manifest.at(unknown.path[:-1])
    free = isinstance(siblings, dict) and near[0] not in siblings
    report.add(
        "LNT001",
        "error",
        unknown.path,
        f'unknown field "{text_of(unknown.path)}"',
        fix=f"{near[0]} is a field here",
        edits=rename_key(report.manifest, unknown.path, near[0]) if free else (),
        at_key=True,
    )
    return True
