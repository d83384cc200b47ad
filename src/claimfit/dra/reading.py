"""Turns files into API objects: JSON or YAML, one object, a List, many documents.

JSON goes straight from bytes to structs (10,000 devices in a tenth of a second); YAML comes through
`claimfit.manifests.reader`. The versions v1beta2 and v1beta1 of resource.k8s.io are read too and
converted, which `Objects.notes` says. Kinds that no rule reads are counted, not dropped in silence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from claimfit.dra.objects import (
    DeviceClass,
    DeviceTaintRule,
    Node,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from claimfit.errors import InputError
from claimfit.manifests.reader import read_documents

if TYPE_CHECKING:
    from claimfit.dra.pods import Pod, ResourceQuota, WholeList, Workload

__all__ = ["Objects", "read_objects"]

_GROUP: Final = "resource.k8s.io/"
_VERSIONS: Final = ("v1", "v1beta2", "v1beta1")
_KINDS: Final = {
    "ResourceSlice": ResourceSlice,
    "DeviceClass": DeviceClass,
    "ResourceClaim": ResourceClaim,
    "ResourceClaimTemplate": ResourceClaimTemplate,
}
_Kind = TypeVar("_Kind")


class Objects(msgspec.Struct):
    """What was read, by kind, in the order of reading."""

    slices: list[ResourceSlice] = []
    classes: list[DeviceClass] = []
    claims: list[ResourceClaim] = []
    templates: list[ResourceClaimTemplate] = []
    nodes: list[Node] = []
    taint_rules: list[DeviceTaintRule] = []  # this and what follows: only when all is read
    pods: list[Pod] = []
    workloads: list[Workload] = []
    quotas: list[ResourceQuota] = []
    other_kinds: dict[str, int] = {}
    """Kind -> how many objects of it were there and not read."""
    notes: list[str] = []
    """Conversions that were made, one sentence each."""
    reads_all: bool = False
    """Whether taint rules, pods, workloads and quotas are read; else they are counted."""

    def extend(self, other: Objects) -> None:
        """Add what `other` holds."""
        for name in (*_LISTS, "notes"):
            getattr(self, name).extend(getattr(other, name))
        for kind, number in other.other_kinds.items():
            self.other_kinds[kind] = self.other_kinds.get(kind, 0) + number

    @property
    def count(self) -> int:
        """How many objects were read, other kinds included."""
        read = sum(len(getattr(self, name)) for name in _LISTS)
        return read + sum(self.other_kinds.values())


_LISTS: Final = (
    "slices",
    "classes",
    "claims",
    "templates",
    "nodes",
    "taint_rules",
    "pods",
    "workloads",
    "quotas",
)


class _Header(msgspec.Struct, rename="camel", gc=False):
    """What tells an object's kind; `items` is set for Lists."""

    api_version: str = ""
    kind: str = ""
    items: list[msgspec.Raw] | None = None


def read_objects(text: bytes, place: str, *, everything: bool = False) -> Objects:
    """Return the objects of `text`; with `everything` also taint rules, pods, workloads and quotas.

    Raises `InputError`: DRA001 an object that does not have the shape of its kind, DRA002 no
    Kubernetes object, DRA003 a version of resource.k8s.io that no supported Kubernetes serves; and
    what `claimfit.manifests.reader` raises for unreadable text.
    """
    objects = Objects(reads_all=everything)
    if text.lstrip()[:1] == b"{":
        try:
            _read_json(msgspec.Raw(text), place, objects)
        except msgspec.DecodeError as error:
            if isinstance(error, msgspec.ValidationError):
                raise InputError("DRA002", str(error), place=place, expected=_EXPECTED) from None
        else:
            return objects
    for document in read_documents(text, place):
        _read_value(document.value, document.where(), objects)
    return objects


_EXPECTED: Final = "an object with apiVersion and kind, as kubectl get -o json or yaml prints it"


_Object = ResourceSlice | DeviceClass | ResourceClaim | ResourceClaimTemplate | Node


class _CurrentList(msgspec.Struct, gc=False):
    """A List all of whose items are of kinds and versions that need no second look."""

    kind: str
    items: list[_Object]


class _Version(msgspec.Struct, rename="camel", gc=False):
    api_version: str


class _Versions(msgspec.Struct, gc=False):
    items: list[_Version]


def _read_json(raw: msgspec.Raw, place: str, objects: Objects) -> None:
    if _read_current(raw, objects):
        return
    header = msgspec.json.decode(raw, type=_Header)
    if header.items is not None and header.kind.endswith("List"):
        for index, item in enumerate(header.items):
            # A typed list (ResourceSliceList) may leave kind and apiVersion out of its items.
            _read_item(item, header, f"{place}: items[{index}]", objects)
        return
    _add_json(raw, header, place, objects)


def _read_current(raw: msgspec.Raw, objects: Objects) -> bool:
    """Read a List in two passes; return False, having read nothing, when it needs the slow way."""
    listed: _CurrentList | WholeList
    plain = {"v1", _GROUP + "v1"}
    try:
        if objects.reads_all:
            from claimfit.dra.pods import KINDS, WholeList

            plain |= {version for version, _ in KINDS}
            listed = msgspec.json.decode(raw, type=WholeList)
        else:
            listed = msgspec.json.decode(raw, type=_CurrentList)
        versions = {item.api_version for item in msgspec.json.decode(raw, type=_Versions).items}
    except msgspec.ValidationError:
        return False
    if listed.kind != "List" or not versions <= plain:
        return False
    for item in listed.items:
        _add(item, objects)
    return True


def _read_item(item: msgspec.Raw, outer: _Header, place: str, objects: Objects) -> None:
    header = msgspec.json.decode(item, type=_Header)
    if not header.kind and outer.kind != "List":
        header = _Header(outer.api_version, outer.kind.removesuffix("List"))
    _add_json(item, header, place, objects)


def _add_json(raw: msgspec.Raw, header: _Header, place: str, objects: Objects) -> None:
    kind = _kind_of(header.api_version, header.kind, place, objects)
    if kind is None:
        return
    if header.api_version.endswith("/v1beta1"):
        _add(_converted(msgspec.json.decode(raw), kind, place), objects)
        return
    try:
        _add(msgspec.json.decode(raw, type=kind), objects)
    except msgspec.ValidationError as error:
        raise _wrong_shape(error, header.kind, place) from None


def _read_value(value: object, place: str, objects: Objects) -> None:
    if not isinstance(value, dict):
        raise InputError("DRA002", "not an object", place=place, found=value, expected=_EXPECTED)
    items, kind_name = value.get("items"), str(value.get("kind") or "")
    version = str(value.get("apiVersion") or "")
    if isinstance(items, list) and kind_name.endswith("List"):
        for index, item in enumerate(items):
            _read_value(_with_kind(item, kind_name, version), f"{place}: items[{index}]", objects)
        return
    kind = _kind_of(version, kind_name, place, objects)
    if kind is not None:
        convert = _converted if version.endswith("/v1beta1") else _typed
        _add(convert(value, kind, place), objects)


def _with_kind(item: object, list_kind: str, version: str) -> object:
    """Return `item` with the kind that its typed list implies, where it names none itself."""
    if isinstance(item, dict) and not item.get("kind") and list_kind != "List":
        return {**item, "kind": list_kind.removesuffix("List"), "apiVersion": version}
    return item


def _kind_of(version: str, kind: str, place: str, objects: Objects) -> type | None:
    """Return the type of objects of `kind`, or None (counted) for one that no rule reads."""
    if not kind or not version:
        raise InputError("DRA002", "no Kubernetes object", place=place, expected=_EXPECTED)
    if version == "v1" and kind == "Node":
        return Node
    if objects.reads_all:
        if kind == "DeviceTaintRule" and version.startswith(_GROUP):
            return DeviceTaintRule  # v1alpha3, v1beta2 and v1 have one shape
        from claimfit.dra.pods import KINDS

        if (version, kind) in KINDS:
            return KINDS[version, kind]
    if version.startswith(_GROUP) and kind in _KINDS:
        served = version.removeprefix(_GROUP)
        if served not in _VERSIONS:
            raise InputError(
                "DRA003",
                f"{kind} of {version} is served by no supported Kubernetes",
                place=place,
                found=version,
                expected="resource.k8s.io/v1 (or v1beta2, v1beta1)",
                fix="read the objects again from a cluster of Kubernetes 1.34 or newer",
            )
        if served != "v1":
            note = f"{kind} objects of {version} were read as resource.k8s.io/v1"
            if note not in objects.notes:
                objects.notes.append(note)
        return _KINDS[kind]
    objects.other_kinds[kind] = objects.other_kinds.get(kind, 0) + 1
    return None


def _add(item: object, objects: Objects) -> None:
    match item:
        case ResourceSlice():
            objects.slices.append(item)
        case DeviceClass():
            objects.classes.append(item)
        case ResourceClaim():
            objects.claims.append(item)
        case ResourceClaimTemplate():
            objects.templates.append(item)
        case Node():
            objects.nodes.append(item)
        case DeviceTaintRule():
            objects.taint_rules.append(item)
        case _:
            _add_pod(item, objects)


def _add_pod(item: object, objects: Objects) -> None:
    from claimfit.dra.pods import Pod, ResourceQuota, Workload

    match item:
        case Pod():
            objects.pods.append(item)
        case Workload():
            objects.workloads.append(item)
        case ResourceQuota():
            objects.quotas.append(item)


def _typed(value: object, kind: type[_Kind], place: str) -> _Kind:
    try:
        return msgspec.convert(value, type=kind)
    except msgspec.ValidationError as error:
        if "`raw`" not in str(error):
            raise _wrong_shape(error, kind.__name__, place) from None
    try:  # the parameters of a driver are kept as JSON, which only JSON can be decoded to
        return msgspec.json.decode(msgspec.json.encode(value), type=kind)
    except msgspec.ValidationError as error:
        raise _wrong_shape(error, kind.__name__, place) from None


def _wrong_shape(error: msgspec.ValidationError, kind: str, place: str) -> InputError:
    message, _, path = str(error).partition(" - at ")
    return InputError(
        "DRA001",
        f"{kind}: {message}",
        place=f"{place} {path.strip('`').removeprefix('$.')}".strip(),
        expected=f"a {kind} as the API server stores it",
    )


# --- resource.k8s.io/v1beta1 ----------------------------------------------------------------------


def _converted(value: object, kind: type[_Kind], place: str) -> _Kind:
    """Return a v1beta1 object as v1: devices lose their `basic`, requests gain their `exactly`."""
    if isinstance(value, dict) and isinstance(value.get("spec"), dict):
        spec = dict(value["spec"])
        if kind is ResourceSlice:
            spec["devices"] = [_flat_device(item) for item in spec.get("devices") or ()]
        elif kind is ResourceClaim:
            spec = _exact_claim(spec)
        elif kind is ResourceClaimTemplate and isinstance(spec.get("spec"), dict):
            spec["spec"] = _exact_claim(spec["spec"])
        value = {**value, "spec": spec}
    return _typed(value, kind, place)


def _flat_device(device: object) -> object:
    if isinstance(device, dict) and isinstance(device.get("basic"), dict):
        return {"name": device.get("name"), **device["basic"]}
    return device


def _exact_claim(spec: dict[str, object]) -> dict[str, object]:
    devices = spec.get("devices")
    if not isinstance(devices, dict) or not isinstance(devices.get("requests"), list):
        return spec
    requests = [_exact_request(item) for item in devices["requests"]]
    return {**spec, "devices": {**devices, "requests": requests}}


def _exact_request(request: object) -> object:
    if not isinstance(request, dict) or "exactly" in request or request.get("firstAvailable"):
        return request
    outer = {"name": request.get("name")}
    return {**outer, "exactly": {key: item for key, item in request.items() if key not in outer}}
