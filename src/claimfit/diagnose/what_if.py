"""Changes of a question or a cluster, to ask it again: what if this were so?

A change is pure: it gives new objects and leaves the old ones alone. `parse_change` reads what the
command line says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from claimfit.diagnose.cluster import namespaced
from claimfit.diagnose.gaps import Bound, comparison
from claimfit.diagnose.selection import clauses
from claimfit.dra.cel.program import Program, compile_selector
from claimfit.dra.objects import CelSelector, DeviceSelector, DeviceToleration
from claimfit.dra.pods import Toleration
from claimfit.dra.reading import Objects
from claimfit.errors import UsageError
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from claimfit.diagnose.question import Question
    from claimfit.dra.objects import (
        DeviceRequest,
        DeviceSubRequest,
        ExactDeviceRequest,
        ResourceClaim,
    )
    from claimfit.dra.profile import Profile

__all__ = ["Change", "changed_objects", "changed_question", "merged", "parse_change"]

Kind = Literal["tolerate", "relax", "free", "count", "guard", "uncordon", "unconstrain"]


class Change(NamedTuple):
    """One change.

    Attributes:
        kind: what is changed.
        request: the request it is about; empty for all of them.
        value: a taint ``KEY=VALUE:EFFECT``; the number of a clause; a claim NAMESPACE/NAME; a
            count; a node; the number of a constraint.
        threshold: of ``relax``, what the clause is to ask for instead; empty to drop it.
    """

    kind: Kind
    value: str
    request: str = ""
    threshold: str = ""

    @property
    def text(self) -> str:
        """The change for people."""
        of = f" of request {self.request}" if self.request else ""
        return {
            "tolerate": f"tolerate {self.value}",
            "relax": f"ask for {self.threshold} in clause {self.value}{of}"
            if self.threshold
            else f"drop clause {self.value}{of}",
            "free": f"free claim {self.value}",
            "count": f"ask for {self.value} device{'' if self.value == '1' else 's'}"
            + (f" in request {self.request}" if self.request else ""),
            "guard": f"guard clause {self.value}{of} with a test that what it reads is there",
            "uncordon": f"uncordon node {self.value}",
            "unconstrain": f"drop constraint {self.value}",
        }[self.kind]

    @property
    def flag(self) -> str:
        """The flags of ``claimfit explain`` that make the change, or empty."""
        head = f"{self.request}:" if self.request else ""
        if self.kind == "relax":
            tail = f"={self.threshold}" if self.threshold else ""
            return f"--relax {head}{self.value}{tail}"
        if self.kind in {"guard", "uncordon", "unconstrain"}:
            return ""
        return f"--{self.kind} {head if self.kind == 'count' else ''}{self.value}"


_MOST_COUNT: Final = 32
_FORMS: Final = {
    "tolerate": "KEY, KEY=VALUE or KEY=VALUE:EFFECT",
    "relax": "CLAUSE, REQUEST:CLAUSE or CLAUSE=THRESHOLD, with the number that explain gives it",
    "free": "NAMESPACE/NAME or NAME",
    "count": f"N or REQUEST:N, at most {_MOST_COUNT}",
}


def parse_change(kind: Literal["tolerate", "relax", "free", "count"], text: str) -> Change:
    """Return the change that a flag asks for; raises `UsageError` EXP001 for an unreadable one."""
    request, colon, rest = text.rpartition(":")
    if kind == "free":
        if text:
            return Change("free", text)
    elif kind == "tolerate":
        if text and not text.startswith((":", "=")):
            return Change("tolerate", text)
    else:
        value = rest if colon else text
        number, equals, threshold = value.partition("=")
        usable = number.isascii() and number.isdigit() and 0 < int(number[:9]) <= 10**6
        if kind == "count":
            usable = usable and not equals and int(number[:9]) <= _MOST_COUNT
        if usable and bool(equals) == bool(threshold):
            return Change(kind, str(int(number[:9])), request if colon else "", threshold)
    raise UsageError(
        "EXP001",
        "the change cannot be read",
        place=f"--{kind}",
        found=text,
        expected=_FORMS[kind],
    )


# --- the cluster ----------------------------------------------------------------------------------


def merged(first: Objects, second: Objects) -> Objects:
    """Return both; an object of `second` replaces that of the same kind and name in `first`."""
    both = Objects(reads_all=first.reads_all)
    for name in _KINDS:
        chosen: dict[tuple[str, str], object] = {}
        for item in (*getattr(first, name), *getattr(second, name)):
            namespace = item.metadata.namespace or "default"
            # Two objects of no name are two objects.
            key = (namespace, item.metadata.name or f"\0{len(chosen)}")
            chosen[key] = item
        setattr(both, name, list(chosen.values()))
    both.other_kinds = dict(first.other_kinds)
    for kind, number in second.other_kinds.items():
        both.other_kinds[kind] = both.other_kinds.get(kind, 0) + number
    both.notes = list(dict.fromkeys((*first.notes, *second.notes)))
    return both


_KINDS: Final = (
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


def changed_objects(objects: Objects, changes: Sequence[Change], namespace: str) -> Objects:
    """Return `objects` with claims freed and nodes uncordoned.

    `namespace` is that of a claim given by its bare name. Raises `UsageError` EXP002 for a claim
    that does not exist or holds nothing.
    """
    both = merged(objects, Objects())
    for change in changes:
        if change.kind == "free":
            both.claims = _freed(both, change, namespace)
        elif change.kind == "uncordon":
            both.nodes = [
                msgspec.structs.replace(
                    node,
                    spec=msgspec.structs.replace(
                        node.spec,
                        unschedulable=False,
                        taints=[x for x in node.spec.taints if x.key != _CORDONED],
                    ),
                )
                if node.metadata.name == change.value
                else node
                for node in both.nodes
            ]
    return both


_CORDONED: Final = "node.kubernetes.io/unschedulable"


def _freed(objects: Objects, change: Change, namespace: str) -> list[ResourceClaim]:
    wanted = change.value if "/" in change.value else namespaced(change.value, namespace)
    claims, found = [], False
    for claim in objects.claims:
        name = namespaced(claim.metadata.name, claim.metadata.namespace)
        if name != wanted or claim.status.allocation is None:
            claims.append(claim)
            continue
        found = True  # left out: what it would ask for next is another question
    if found:
        return claims
    holding = [
        namespaced(claim.metadata.name, claim.metadata.namespace)
        for claim in objects.claims
        if claim.status.allocation is not None
    ]
    from difflib import get_close_matches

    raise UsageError(
        "EXP002",
        "no claim of this name holds a device",
        place="--free",
        found=wanted,
        expected="a claim with an allocation",
        candidates=tuple(get_close_matches(wanted, holding, 3, 0.5) or holding[:5]),
    )


# --- the question ---------------------------------------------------------------------------------


def changed_question(question: Question, changes: Sequence[Change], profile: Profile) -> Question:
    """Return `question` with its claims changed.

    Raises `UsageError` EXP003 for a request that is not there, EXP004 for a clause that is not, and
    EXP005 for a threshold in a clause that has none.
    """
    for change in changes:
        if change.kind in _CHANGES:
            question = _with_requests(question, change, profile)
        elif change.kind == "unconstrain":
            question = question._replace(
                waiting=tuple(
                    _replaced_devices(
                        claim,
                        constraints=[
                            item
                            for index, item in enumerate(claim.spec.devices.constraints)
                            if str(index) != change.value
                        ],
                    )
                    for claim in question.waiting
                )
            )
    return question


def _with_requests(question: Question, change: Change, profile: Profile) -> Question:
    names = [
        name
        for claim in question.waiting
        for request in claim.spec.devices.requests
        for name in (request.name, *(f"{request.name}/{x.name}" for x in request.first_available))
    ]
    if change.request and change.request not in names:
        raise UsageError(
            "EXP003",
            "there is no such request",
            place=f"--{change.kind}",
            found=change.request,
            expected="one of " + ", ".join(names),
        )
    touched = [False]

    def changed(name: str, spec: _Spec) -> _Spec:
        if change.request and change.request not in {name, name.partition("/")[0]}:
            return spec
        result = _CHANGES[change.kind](spec, change, profile)
        touched[0] = touched[0] or result is not spec
        return result

    waiting = tuple(
        _replaced_devices(
            claim, requests=[_request(item, changed) for item in claim.spec.devices.requests]
        )
        for claim in question.waiting
    )
    if change.kind == "relax" and not touched[0]:
        raise UsageError(
            "EXP004",
            "there is no such clause",
            place="--relax",
            found=change.value,
            expected="the number of a clause as claimfit explain lists it",
        )
    pod = question.pod
    if change.kind == "tolerate" and pod is not None:
        key, value, effect = _taint(change.value)
        added = Toleration(key, "Equal" if value else "Exists", value, effect)
        spec = msgspec.structs.replace(pod.spec, tolerations=[*pod.spec.tolerations, added])
        pod = msgspec.structs.replace(pod, spec=spec)
    return question._replace(waiting=waiting, pod=pod)


if TYPE_CHECKING:
    _Spec = ExactDeviceRequest | DeviceSubRequest


def _request(request: DeviceRequest, changed: Callable[[str, _Spec], _Spec]) -> DeviceRequest:
    exactly = request.exactly
    return msgspec.structs.replace(
        request,
        exactly=None if exactly is None else changed(request.name, exactly),
        first_available=[changed(f"{request.name}/{x.name}", x) for x in request.first_available],
    )


def _replaced_devices(claim: ResourceClaim, **fields: object) -> ResourceClaim:
    spec = claim.spec
    devices = msgspec.structs.replace(spec.devices, **fields)
    return msgspec.structs.replace(claim, spec=msgspec.structs.replace(spec, devices=devices))


def _tolerating(spec: _Spec, change: Change, _: Profile) -> _Spec:
    key, value, effect = _taint(change.value)
    added = DeviceToleration(key, "Equal" if value else "Exists", value, effect)
    return msgspec.structs.replace(spec, tolerations=[*spec.tolerations, added])


def _taint(text: str) -> tuple[str, str, str]:
    """Return key, value and effect of ``KEY=VALUE:EFFECT``."""
    head, colon, effect = text.rpartition(":")
    if not colon:
        head, effect = text, ""
    key, _, value = head.partition("=")
    return key, value, effect


def _counted(spec: _Spec, change: Change, _: Profile) -> _Spec:
    return msgspec.structs.replace(spec, count=int(change.value), allocation_mode="ExactCount")


def _relaxed(spec: _Spec, change: Change, profile: Profile) -> _Spec:
    wanted, number = int(change.value), 0
    selectors: list[DeviceSelector] = []
    found = False
    for selector in spec.selectors:
        expression = selector.cel.expression if selector.cel is not None else ""
        parts = clauses(expression, profile)
        kept = []
        for part in parts:
            number += 1
            if number != wanted:
                kept.append(part)
                continue
            found = True
            if change.kind == "guard":
                kept += [*_guards(part, profile), part]
            elif change.threshold:
                kept.append(_lowered(part, change.threshold, profile))
        if kept == [*parts]:
            selectors.append(selector)
        elif kept:
            selectors.append(DeviceSelector(CelSelector(" && ".join(kept))))
    return msgspec.structs.replace(spec, selectors=selectors) if found else spec


def _guards(clause: str, profile: Profile) -> list[str]:
    """Return a test for each name that `clause` reads."""
    compiled = compile_selector(clause, profile)
    if not isinstance(compiled, Program):
        return []
    return [
        f'"{read.name}" in device.{read.kind}["{read.domain}"]'
        for read in compiled.reads
        if read.kind in {"attributes", "capacity"} and read.name
    ]


def _lowered(clause: str, threshold: str, profile: Profile) -> str:
    bound = comparison(clause, profile)
    if not isinstance(bound, Bound) or any(char in threshold for char in "'\"\\"):
        raise UsageError(
            "EXP005",
            "the clause compares nothing with a threshold",
            place="--relax",
            found=f"{clause} with {threshold}",
            expected="a clause such as memory >= 80Gi, and a quantity or a whole number",
        )
    sign = ">" if bound.strict else ">="
    path = f"device.{bound.kind}['{bound.domain}'].{bound.name}"
    if bound.kind == "attributes":
        return f"{path} {sign} {threshold}"
    return f"{path}.compareTo(quantity('{threshold}')) {sign} 0"


_CHANGES: Final = {"tolerate": _tolerating, "relax": _relaxed, "guard": _relaxed, "count": _counted}
