"""Makes the changes that `explain` suggests as an operator would: in the text of the manifests.

Nothing of claimfit takes part, so that a change that works has been told in words that suffice.
Clauses are numbered through the selectors of a request; those of the tests are joined by ` && ` at
the top only.
"""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from claimfit.diagnose.what_if import Change
    from support.api_client import Object

__all__ = ["edited_devices", "edited_pod"]

_READS: Final = re.compile(r"(device\.(?:attributes|capacity)\['[^']+'\])\.(\w+)")
_QUANTITY: Final = re.compile(r"quantity\('[^']*'\)")


def edited_devices(devices: Object, change: Change) -> Object:
    """Return `spec.devices` of a claim with a change made."""
    edited = copy.deepcopy(devices)
    if change.kind == "unconstrain":
        del edited["constraints"][int(change.value)]
    for request in edited["requests"]:
        named = [(request["name"], request["exactly"])] if "exactly" in request else []
        named += [
            (f"{request['name']}/{part['name']}", part)
            for part in request.get("firstAvailable", [])
        ]
        for name, spec in named:
            if change.request in {"", name, request["name"]}:
                _edit(spec, change)
    return edited


def _edit(spec: Object, change: Change) -> None:
    if change.kind == "count":
        spec.update(allocationMode="ExactCount", count=int(change.value))
    elif change.kind == "tolerate":
        spec.setdefault("tolerations", []).append(_toleration(change.value))
    elif change.kind in {"relax", "guard"}:
        texts = _clauses(spec)
        at = int(change.value) - 1
        if change.kind == "guard":
            guards = [f"'{name}' in {where}" for where, name in _READS.findall(texts[at])]
            texts[at] = " && ".join([*guards, texts[at]])
        elif change.threshold:
            texts[at], count = _QUANTITY.subn(f"quantity('{change.threshold}')", texts[at])
            assert count == 1
        else:
            del texts[at]
        # One selector for each clause means the same as all of them joined.
        spec["selectors"] = [{"cel": {"expression": text}} for text in texts]


def _clauses(spec: Object) -> list[str]:
    return [
        clause for item in spec["selectors"] for clause in item["cel"]["expression"].split(" && ")
    ]


def _toleration(taint: str) -> Object:
    """Return the toleration of KEY=VALUE:EFFECT."""
    key, value, effect = re.split("[=:]", taint)
    return {"key": key, "operator": "Equal", "value": value, "effect": effect}


def edited_pod(pod: Object, change: Change) -> Object:
    """Return a pod with a change made: only tolerations concern it."""
    edited = copy.deepcopy(pod)
    if change.kind == "tolerate":
        edited["spec"].setdefault("tolerations", []).append(_toleration(change.value))
    return edited
