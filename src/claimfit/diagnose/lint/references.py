"""Rules that look at several objects: who refers to whom, and what may not change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from claimfit.diagnose.lint.claim_rules import request_parts
from claimfit.diagnose.lint.paths import text_of
from claimfit.diagnose.lint.pods import PodPart, pod_of
from claimfit.errors import ClaimfitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claimfit.diagnose.lint.linting import Checked, Context
    from claimfit.diagnose.lint.parts import Part
    from claimfit.dra.objects import ResourceClaim, ResourceClaimTemplate

__all__ = ["check"]

_IMMUTABLE: Final = ("ResourceClaim", "ResourceClaimTemplate")
_ADMIN_LABEL: Final = "resource.kubernetes.io/admin-access"
_FIELDS: Final = {
    "resourceClaimName": "ResourceClaim",
    "resourceClaimTemplateName": "ResourceClaimTemplate",
}

Key = tuple[str, str, str]
"""(kind, namespace, name)."""


Labels = dict[str, dict[str, object]]
"""Namespace -> its labels."""


def check(objects: Sequence[Checked], namespaces: Labels, context: Context) -> None:
    """Report on references between `objects` and to the cluster of `context`.

    `namespaces` are those among the files.
    """
    known = _known(objects, context)
    claims: dict[Key, Part] = {}
    for checked in objects:
        if checked.devices is not None:
            claims.setdefault(_key(checked), checked.devices)
    sharing: dict[Key, int] = {}
    for checked in objects:
        pod = pod_of(checked.part, checked.manifest.kind)
        if pod is not None and checked.devices is None:
            _check_pod(checked, pod, known, claims, context, sharing)
    _check_immutable(objects, context)
    _check_admin(objects, namespaces)


def _key(checked: Checked) -> Key:
    manifest = checked.manifest
    return manifest.kind, manifest.namespace, manifest.name


def _known(objects: Iterable[Checked], context: Context) -> set[Key]:
    found = {_key(checked) for checked in objects if checked.devices is not None}
    if context.cluster is not None:
        for kind, items in (
            ("ResourceClaim", context.cluster.claims),
            ("ResourceClaimTemplate", context.cluster.templates),
        ):
            found |= {(kind, item.metadata.namespace, item.metadata.name) for item in items}
    return found


def _matches(key: Key, kind: str, namespace: str, name: str) -> bool:
    """Whether `key` may be meant; a namespace that is not written is any."""
    return (
        key[0] == kind and key[2] == name and (not key[1] or not namespace or key[1] == namespace)
    )


# --- pods -----------------------------------------------------------------------------------------


def _check_pod(
    checked: Checked,
    pod: PodPart,
    known: set[Key],
    claims: dict[Key, Part],
    context: Context,
    sharing: dict[Key, int],
) -> None:
    templates: dict[str, str] = {}
    for entry in pod.spec.parts("resourceClaims"):
        for field, kind in _FIELDS.items():
            name = entry.text(field)
            if not name:
                continue
            namespace = checked.manifest.namespace
            found = [key for key in known if _matches(key, kind, namespace, name)]
            if not found:
                _report_missing(checked, entry, field, known, context)
            asked = next((claims[key] for key in sorted(found) if key in claims), None)
            if asked is not None:
                _check_request_names(checked, pod, entry, asked)
            if kind == "ResourceClaim":
                _check_sharing(checked, pod, entry, asked)
                _check_shared_by_several(checked, entry, (kind, namespace, name), sharing)
            elif name in templates:
                checked.report.add(
                    "LNT025",
                    "warning",
                    entry.at(field),
                    f"entries {templates[name]} and {entry.text('name')} use one template: each "
                    "gets a claim and devices of its own, a template never shares",
                    fix=f"to share, let containers refer to one entry ({templates[name]}); to have "
                    "devices of two kinds, use two templates",
                )
            else:
                templates[name] = entry.text("name")


def _report_missing(
    checked: Checked, entry: Part, field: str, known: set[Key], context: Context
) -> None:
    """Report a claim or template that is nowhere, when there is reason to expect it."""
    kind, name = _FIELDS[field], entry.text(field)
    namespace = checked.manifest.namespace
    other = next(item for item in _FIELDS if item != field)
    if any(_matches(key, _FIELDS[other], namespace, name) for key in known):
        checked.report.add(
            "LNT024",
            "error",
            entry.at(field),
            f"{name} is a {_FIELDS[other]}, not a {kind}",
            fix=f"{other}: {name}",
        )
        return
    elsewhere = sorted(key[1] for key in known if key[0] == kind and key[2] == name)
    if elsewhere:
        checked.report.add(
            "LNT024",
            "error",
            entry.at(field),
            f"{kind} {name} is in namespace {elsewhere[0]}, the pod in {namespace}: a pod uses "
            "only claims of its own namespace",
            fix=f"put both into one namespace: {namespace} or {elsewhere[0]}",
        )
        return
    if context.cluster is None and not known:
        return  # nothing was given to look in
    from difflib import get_close_matches

    offered = sorted(key[2] for key in known if key[0] == kind)
    near = get_close_matches(name[:63], offered, 3, 0.6)
    where = "the files" if context.cluster is None else "the files and the cluster"
    checked.report.add(
        "LNT024",
        "warning",
        entry.at(field),
        f"no {kind} {name} is in {where}: the pod waits until it is created",
        fix=f"nearest: {', '.join(near)}" if near else f"create {kind} {name}",
    )


def _check_request_names(checked: Checked, pod: PodPart, entry: Part, devices: Part) -> None:
    """Report containers that ask for a request which the claim does not have."""
    names = [request.text("name") for request in devices.parts("requests")]
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in pod.spec.parts(field):
            for reference in container.below("resources").parts("claims"):
                request = reference.text("request")
                if (
                    reference.text("name") == entry.text("name")
                    and request
                    and request not in names
                ):
                    checked.report.add(
                        "LNT027",
                        "error",
                        reference.at("request"),
                        f'the claim has no request "{request}": the container gets no device of it',
                        fix="one of " + ", ".join(names) if names else "",
                    )


def _check_sharing(checked: Checked, pod: PodPart, entry: Part, devices: Part | None) -> None:
    if pod.replicas <= 1:
        return
    name = entry.text("resourceClaimName")
    count = _device_count(devices)
    what = {None: "the devices", 1: "the single device"}.get(count, f"the {count} devices")
    all_pods = "all pods" if checked.manifest.kind == "DaemonSet" else f"all {pod.replicas} pods"
    checked.report.add(
        "LNT023",
        "warning",
        entry.at("resourceClaimName"),
        f"{all_pods} ({pod.counter}) share {what} of claim {name} and land on its node; memory is "
        "not divided among them: a vLLM server takes most of it by default, so the second replica "
        "is likely to run out",
        fix="use a template for one claim per pod: resourceClaimTemplateName",
    )


def _check_shared_by_several(
    checked: Checked, entry: Part, key: Key, sharing: dict[Key, int]
) -> None:
    sharing[key] = sharing.get(key, 0) + 1
    if sharing[key] == 2:
        checked.report.add(
            "LNT023",
            "info",
            entry.at("resourceClaimName"),
            f"claim {key[2]} is used by several pods here: they share its devices and must all fit "
            "on its node",
            fix="use resourceClaimTemplateName where each pod should have devices of its own",
        )


def _device_count(devices: Part | None) -> int | None:
    """Return how many devices a claim asks for; None when that depends on the node."""
    if devices is None:
        return None
    total = 0
    for name, request in request_parts(devices):
        if "/" in name or request.text("allocationMode") == "All":
            return None
        total += request.number("count") or 1
    return total


# --- what may not change --------------------------------------------------------------------------


def _check_immutable(objects: Sequence[Checked], context: Context) -> None:
    first: dict[Key, Checked] = {}
    for checked in objects:
        if checked.manifest.kind not in _IMMUTABLE or not checked.manifest.metadata.get("name"):
            continue
        key = _key(checked)
        before = first.setdefault(key, checked)
        if before is not checked:
            if _spec(before) != _spec(checked):
                where = before.manifest.mark(("kind",))
                place = f"{before.manifest.document.place}:{where.line}"
                _report_immutable(checked, f"the one at {place}")
        elif context.cluster is not None and _differs(checked, context):
            _report_immutable(checked, "the one in the cluster")


def _spec(checked: Checked) -> str:
    """Return the spec as comparable text, with what the API server fills in."""
    spec = json.loads(json.dumps(checked.manifest.at(("spec",)), sort_keys=True))
    _fill(spec)
    return json.dumps(spec, sort_keys=True)


def _fill(value: object) -> None:
    if isinstance(value, dict):
        if "deviceClassName" in value:
            value.setdefault("allocationMode", "ExactCount")
            if value["allocationMode"] == "ExactCount" and not value.get("count"):
                value["count"] = 1
        for key in [key for key, item in value.items() if item in (None, [], {}, "")]:
            del value[key]
        for item in value.values():
            _fill(item)
    elif isinstance(value, list):
        for item in value:
            _fill(item)


def _differs(checked: Checked, context: Context) -> bool:
    """Whether the cluster holds the object with another spec."""
    import msgspec

    from claimfit.dra.reading import read_objects

    cluster = context.cluster
    if cluster is None:
        return False
    kind, namespace, name = _key(checked)
    stored: Sequence[ResourceClaim | ResourceClaimTemplate] = (
        cluster.claims if kind == "ResourceClaim" else cluster.templates
    )
    try:
        text = json.dumps(checked.manifest.value).encode()
        read = read_objects(text, str(checked.manifest))
    except (ClaimfitError, ValueError):
        return False
    items: list[ResourceClaim | ResourceClaimTemplate] = [*read.claims, *read.templates]
    for item in items:
        for old in stored:
            same_place = (old.metadata.namespace or "default") == (namespace or "default")
            if old.metadata.name == name and same_place:
                specs = [msgspec.to_builtins(each.spec) for each in (old, item)]
                for spec in specs:
                    _fill(spec)
                return bool(specs[0] != specs[1])
    return False


def _report_immutable(checked: Checked, other: str) -> None:
    kind = checked.manifest.kind
    rollout = (
        "; pods that run keep their old claims and need a rollout to get new ones"
        if kind == "ResourceClaimTemplate"
        else ""
    )
    checked.report.add(
        "LNT034",
        "error",
        ("spec",),
        f"spec: Invalid value: field is immutable: it differs from {other} of the same name "
        f"(ResourceClaimTemplate and ResourceClaim never change their spec){rollout}",
        fix="replace it (delete and create), or give it a new name and refer to that",
        at_key=True,
    )


# --- admin access ---------------------------------------------------------------------------------


def _check_admin(objects: Sequence[Checked], namespaces: Labels) -> None:
    for checked in objects:
        devices = checked.devices
        if devices is None:
            continue
        asking = [part for _, part in request_parts(devices) if part.flag("adminAccess")]
        if not asking:
            continue
        labels = namespaces.get(checked.manifest.namespace or "default")
        path = asking[0].at("adminAccess")
        needs = (
            f"{text_of(path)}: Forbidden: admin access to devices requires the "
            f"`{_ADMIN_LABEL}: true` label on the containing namespace"
        )
        fix = (
            f'metadata.labels of the Namespace: {_ADMIN_LABEL}: "true" (case-sensitive); whoever '
            "may label the namespace grants the access"
        )
        if labels is None:
            checked.report.add("LNT035", "warning", path, needs, fix=fix)
        elif labels.get(_ADMIN_LABEL) != "true":
            old = [key for key in labels if key.endswith("/admin-access") and key != _ADMIN_LABEL]
            note = f"; the older spelling {old[0]} on this namespace does not count" if old else ""
            checked.report.add("LNT035", "error", path, needs + note, fix=fix)
