"""Which API version an object is written in, and whether a Kubernetes has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.diagnose.lint.edits import replace_scalar
from claimfit.diagnose.lint.schema import GROUP, KINDS, RESOURCE_KINDS
from claimfit.errors import printable

if TYPE_CHECKING:
    from claimfit.diagnose.lint.finding import Report
    from claimfit.diagnose.lint.manifest import Manifest

__all__ = ["check"]

_BETA: Final = ("v1beta1", "v1beta2")
_POD_KINDS: Final = {kind: version for version, kind in KINDS}
_FORMER_KINDS: Final = {
    "ResourceClass": "a DeviceClass",
    "PodSchedulingContext": "nothing: the scheduler allocates by itself",
    "ResourceClassParameters": "opaque config in the DeviceClass",
    "ResourceClaimParameters": "selectors and opaque config in the claim",
}


def check(manifest: Manifest, report: Report) -> str | None:
    """Return the structure of `manifest`, None when it is not to be looked at further.

    Reports what is no object, an unknown kind of the group and versions that are old or gone.
    """
    if not isinstance(manifest.value, dict):
        report.add("LNT016", "error", (), "not an object: apiVersion and kind are missing")
        return None
    for field, value in (("apiVersion", manifest.api_version), ("kind", manifest.kind)):
        if not value:
            report.add("LNT016", "error", (field,), f"{field}: Required value: every object has it")
            return None
    version = manifest.api_version
    if version.startswith(GROUP):
        return _resource_structure(manifest, version.removeprefix(GROUP), report)
    if manifest.kind in RESOURCE_KINDS:
        report.add(
            "LNT013",
            "error",
            ("apiVersion",),
            f"{manifest.kind} is of resource.k8s.io, not of {printable(version)}",
            fix="apiVersion: resource.k8s.io/v1",
        )
        return None
    structure = KINDS.get((version, manifest.kind))
    if structure is None and manifest.kind in _POD_KINDS and "." not in version:
        report.add(
            "LNT013",
            "error",
            ("apiVersion",),
            f"no Kubernetes has {manifest.kind} in {printable(version)}",
            fix=f"apiVersion: {_POD_KINDS[manifest.kind]}",
        )
    return structure


def _resource_structure(manifest: Manifest, version: str, report: Report) -> str | None:
    kind, profile = manifest.kind, report.profile
    if kind not in RESOURCE_KINDS:
        instead = _FORMER_KINDS.get(kind)
        if instead is not None:
            report.add(
                "LNT013",
                "error",
                ("kind",),
                f"{kind} went with resource.k8s.io/v1alpha2; no Kubernetes since 1.31 has it",
                fix=f"write {instead}",
            )
        return None
    if kind == "DeviceTaintRule":
        return _taint_rule(manifest, version, report)
    if version == "v1":
        return kind
    if version not in _BETA:
        report.add(
            "LNT013",
            "error",
            ("apiVersion",),
            f"{GROUP}{printable(version)} is served by no Kubernetes since 1.34",
            fix="apiVersion: resource.k8s.io/v1, and the fields of v1",
        )
        return kind if version.startswith("v1alpha") else None
    edits = replace_scalar(manifest, ("apiVersion",), f"{GROUP}v1")
    report.add(
        "LNT014",
        "warning",
        ("apiVersion",),
        f"{GROUP}{version} is a beta that Kubernetes {profile.kubernetes} serves only when told to;"
        " v1 is there since 1.34",
        fix="apiVersion: resource.k8s.io/v1"
        + ("" if version == "v1beta2" else " (fix again for what moved since)"),
        edits=edits,
    )
    return kind


def _taint_rule(manifest: Manifest, version: str, report: Report) -> str | None:
    minor = report.profile.minor
    served = {"v1": 37, "v1beta2": 36, "v1alpha3": 33}
    since = served.get(version)
    if since is None or since > minor:
        newest = next(name for name, first in served.items() if first <= minor)
        report.add(
            "LNT013",
            "error",
            ("apiVersion",),
            f"Kubernetes {report.profile.kubernetes} has no DeviceTaintRule in "
            f"{GROUP}{printable(version)}",
            fix=f"apiVersion: {GROUP}{newest}",
        )
    if not report.profile.enabled("DRADeviceTaintRules"):
        report.add(
            "LNT012",
            "warning",
            ("kind",),
            f"Kubernetes {report.profile.kubernetes} does nothing with a DeviceTaintRule: feature "
            "gate DRADeviceTaintRules is off",
            fix="turn it on, or lint with --feature-gates DRADeviceTaintRules=true",
        )
    return manifest.kind
