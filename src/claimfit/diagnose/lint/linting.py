"""Lints documents: what an API server would refuse, and what it accepts and users regret."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from claimfit.diagnose.lint import pods, versions
from claimfit.diagnose.lint.claim_rules import check_claim, check_class
from claimfit.diagnose.lint.finding import Finding, Report
from claimfit.diagnose.lint.manifest import Manifest, manifests_of
from claimfit.diagnose.lint.metadata_rules import check_metadata, check_template_metadata
from claimfit.diagnose.lint.parts import Part, read
from claimfit.diagnose.lint.schema import RESOURCE_KINDS
from claimfit.diagnose.lint.slice_rules import check_slice, check_taint_rule
from claimfit.diagnose.lint.unknown_fields import explain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.dra.profile import Profile
    from claimfit.dra.reading import Objects
    from claimfit.hardware.facts import DriverDescription
    from claimfit.manifests.reader import Document

__all__ = ["Checked", "Context", "lint"]


class Context(NamedTuple):
    """What manifests are linted against.

    Attributes:
        profile: the Kubernetes version and its gates.
        cluster: what a cluster holds, None when nothing is known of one.
        drivers: descriptions of drivers by the user, which win over those shipped.
    """

    profile: Profile
    cluster: Objects | None = None
    drivers: tuple[DriverDescription, ...] = ()


class Checked(NamedTuple):
    """An object that was read by its schema."""

    manifest: Manifest
    part: Part
    report: Report

    @property
    def devices(self) -> Part | None:
        """What a claim or template asks for, None for other kinds."""
        if self.manifest.kind == "ResourceClaim":
            return self.part.below("spec", "devices")
        if self.manifest.kind == "ResourceClaimTemplate":
            return self.part.below("spec", "spec", "devices")
        return None


def lint(documents: Sequence[Document], context: Context) -> list[Finding]:
    """Return what is wrong with `documents`, which are looked at together, in order of place."""
    from claimfit.diagnose.lint import cluster, published, references, selectors

    reports: list[Report] = []
    objects: list[Checked] = []
    namespaces: dict[str, dict[str, object]] = {}
    for manifest in manifests_of(documents):
        if (manifest.api_version, manifest.kind) == ("v1", "Namespace"):
            labels = manifest.metadata.get("labels")
            namespaces[manifest.name] = {**labels} if isinstance(labels, dict) else {}
        report = Report(manifest, context.profile)
        reports.append(report)
        checked = _check(manifest, report)
        if checked is not None:
            objects.append(checked)
    world = published.world_of(objects, context)
    for checked in objects:
        selectors.check(checked, world)
    references.check(objects, namespaces, context)
    cluster.check(objects, world, context)
    order = {id(document): at for at, document in enumerate(documents)}
    found = [
        (order.get(id(report.manifest.document), 0), finding)
        for report in reports
        for finding in report.findings
    ]
    found.sort(key=lambda item: (item[0], item[1].line, item[1].column, item[1].code))
    return list(dict.fromkeys(finding for _, finding in found))


def _check(manifest: Manifest, report: Report) -> Checked | None:
    """Check one object by itself; return None when it is none that lint knows."""
    structure = versions.check(manifest, report)
    if structure is None:
        return None
    part = read(manifest.value, structure, (), report, lambda unknown: explain(unknown, report))
    if manifest.kind in RESOURCE_KINDS:
        _check_resource(manifest, part, report)
    else:
        pods.check(part, report)
    return Checked(manifest, part, report)


def _check_resource(manifest: Manifest, part: Part, report: Report) -> None:
    kind = manifest.kind
    check_metadata(part.below("metadata"), report, namespaced=kind.startswith("ResourceClaim"))
    spec = part.below("spec")
    if kind == "ResourceClaim":
        check_claim(spec.below("devices"), report)
    elif kind == "ResourceClaimTemplate":
        check_template_metadata(spec.below("metadata"), report)
        check_claim(spec.below("spec", "devices"), report)
    elif kind == "DeviceClass":
        check_class(spec, report)
    elif kind == "ResourceSlice":
        check_slice(spec, report)
    else:
        check_taint_rule(spec, report)
