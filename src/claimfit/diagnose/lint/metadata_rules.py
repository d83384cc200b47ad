"""Rules for metadata (k8s.io/apimachinery pkg/api/validation/objectmeta.go, v0.36)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.diagnose.lint.names import label_key, label_value, length, subdomain

if TYPE_CHECKING:
    from claimfit.diagnose.lint.finding import Report
    from claimfit.diagnose.lint.parts import Part

__all__ = ["check_metadata", "check_template_metadata"]

_MOST_ANNOTATION_BYTES: Final = 256 << 10
_STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_TEMPLATE_FIELDS: Final = frozenset({"labels", "annotations"})


def check_metadata(metadata: Part, report: Report, *, namespaced: bool) -> None:
    """Report what the API server would refuse about the metadata of a new object."""
    name, prefix = metadata.text("name"), metadata.text("generateName")
    if name:
        for problem in subdomain(name):
            report.invalid(metadata.at("name"), name, problem)
    elif prefix:
        # The server appends five letters of its own, after cutting the prefix to fit.
        for problem in subdomain(f"{prefix[:248]}xxxxx"):
            report.invalid(metadata.at("generateName"), prefix, problem)
    else:
        report.required(metadata.at("name"), "name or generateName is required")
    if metadata.text("namespace") and not namespaced:
        report.forbidden(metadata.at("namespace"), "not allowed on this type")
    _check_labels(metadata, report)
    _check_annotations(metadata, report)
    _check_owners(metadata, report)
    _check_finalizers(metadata, report)


def check_template_metadata(metadata: Part, report: Report) -> None:
    """Report what may not stand in the metadata of a template: all but labels and annotations."""
    _check_annotations(metadata, report)
    _check_labels(metadata, report)
    for field, value in metadata.values.items():
        if field not in _TEMPLATE_FIELDS and value not in ("", [], {}, 0):
            report.forbidden(metadata.at(field), "cannot be set")


def _check_labels(metadata: Part, report: Report) -> None:
    for key, value in metadata.entries("labels").items():
        for problem in label_key(key):
            report.invalid(metadata.at("labels"), key, problem, key=key)
        if isinstance(value, str):
            for problem in label_value(value):
                report.invalid(metadata.at("labels"), value, problem, key=key)


def _check_annotations(metadata: Part, report: Report) -> None:
    size = 0
    for key, value in metadata.entries("annotations").items():
        size += length(key) + (length(value) if isinstance(value, str) else 0)
        for problem in label_key(key.lower()):
            report.invalid(metadata.at("annotations"), key, problem, key=key)
    if size > _MOST_ANNOTATION_BYTES:
        report.too_long(metadata.at("annotations"), _MOST_ANNOTATION_BYTES)


def _check_owners(metadata: Part, report: Report) -> None:
    controllers = 0
    for owner in metadata.parts("ownerReferences"):
        for field in ("apiVersion", "kind", "name", "uid"):
            value = owner.text(field)
            if not value or (field == "apiVersion" and value.endswith("/")):
                detail = (
                    "version must not be empty" if field == "apiVersion" else "must not be empty"
                )
                report.invalid(owner.at(field), value, detail)
        controllers += owner.flag("controller") is True
        if owner.text("apiVersion") == "v1" and owner.text("kind") == "Event":
            report.invalid(owner.path, "Event", "/v1, Kind=Event is disallowed from being an owner")
    if controllers > 1:
        report.invalid(
            metadata.at("ownerReferences"),
            controllers,
            "Only one reference can have Controller set to true",
        )


def _check_finalizers(metadata: Part, report: Report) -> None:
    finalizers = metadata.texts("finalizers")
    for index, name in enumerate(finalizers):
        path = metadata.at("finalizers", index)
        for problem in label_key(name):
            report.invalid(path, name, problem)
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            report.invalid(
                path, name, "name is neither a standard finalizer name nor is it fully qualified"
            )
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        report.invalid(
            metadata.at("finalizers"),
            "orphan, foregroundDeletion",
            "finalizer orphan and foregroundDeletion cannot be both set",
        )
