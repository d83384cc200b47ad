"""Valid objects of resource.k8s.io/v1, and random changes that may or may not make them invalid."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random

__all__ = ["BASES", "EXPRESSIONS", "mutated"]

_SELECTOR: Final = {"cel": {"expression": "device.driver == 'gpu.example.com'"}}

_CLAIM: Final[dict[str, Any]] = {
    "devices": {
        "requests": [
            {
                "name": "gpu",
                "exactly": {
                    "deviceClassName": "gpu.example.com",
                    "selectors": [_SELECTOR],
                    "count": 2,
                    "tolerations": [{"key": "a.example/ill", "operator": "Exists"}],
                    "capacity": {"requests": {"memory": "10Gi"}},
                },
            },
            {
                "name": "any",
                "firstAvailable": [
                    {"name": "big", "deviceClassName": "gpu.example.com", "count": 1},
                    {
                        "name": "all",
                        "deviceClassName": "nic.example.com",
                        "allocationMode": "All",
                        "selectors": [_SELECTOR],
                        "tolerations": [
                            {"key": "x", "operator": "Equal", "value": "y", "effect": "NoSchedule"}
                        ],
                    },
                ],
            },
        ],
        "constraints": [
            {"requests": ["gpu", "any/big"], "matchAttribute": "resource.kubernetes.io/pcieRoot"},
            {"distinctAttribute": "gpu.example.com/uuid"},
        ],
        "config": [
            {
                "requests": ["gpu"],
                "opaque": {"driver": "gpu.example.com", "parameters": {"kind": "Mode", "n": 1}},
            }
        ],
    }
}

_POOL: Final = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}

BASES: Final[tuple[dict[str, Any], ...]] = (
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": "claim",
            "labels": {"app.example/name": "llm"},
            "annotations": {"note": "text"},
        },
        "spec": _CLAIM,
    },
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "template"},
        "spec": {"metadata": {"labels": {"app": "llm"}}, "spec": _CLAIM},
    },
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu.example.com"},
        "spec": {
            "selectors": [_SELECTOR],
            "config": [{"opaque": {"driver": "gpu.example.com", "parameters": {"a": "b"}}}],
            "extendedResourceName": "example.com/gpu",
        },
    },
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "node-1-gpu"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "node-1",
            "pool": _POOL,
            "devices": [
                {
                    "name": "gpu-0",
                    "attributes": {
                        "uuid": {"string": "GPU-1"},
                        "index": {"int": 0},
                        "healthy": {"bool": True},
                        "driverVersion": {"version": "1.2.3"},
                        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"},
                    },
                    "capacity": {"memory": {"value": "80Gi"}, "compute": {"value": "100"}},
                    "taints": [{"key": "a.example/ill", "value": "yes", "effect": "NoSchedule"}],
                    "consumesCounters": [
                        {"counterSet": "board-0", "counters": {"memory-1": {"value": "40Gi"}}}
                    ],
                },
                {
                    "name": "gpu-1",
                    "allowMultipleAllocations": True,
                    "capacity": {
                        "memory": {
                            "value": "80Gi",
                            "requestPolicy": {
                                "default": "10Gi",
                                "validRange": {"min": "1Gi", "max": "40Gi", "step": "1Gi"},
                            },
                        },
                        "slots": {
                            "value": "8",
                            "requestPolicy": {"default": "2", "validValues": ["1", "2", "4"]},
                        },
                    },
                    "bindsToNode": True,
                    "bindingConditions": ["example.com/attached"],
                    "bindingFailureConditions": ["example.com/failed"],
                },
            ],
        },
    },
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "counters"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeSelector": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "zone", "operator": "In", "values": ["a", "b"]}
                        ],
                        "matchFields": [
                            {"key": "metadata.name", "operator": "In", "values": ["node-1"]}
                        ],
                    }
                ]
            },
            "pool": _POOL,
            "sharedCounters": [
                {"name": "board-0", "counters": {"memory": {"value": "80Gi"}}},
                {"name": "board-1", "counters": {"memory": {"value": "80Gi"}}},
            ],
        },
    },
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "per-device"},
        "spec": {
            "driver": "gpu.example.com",
            "perDeviceNodeSelection": True,
            "pool": _POOL,
            "devices": [
                {"name": "one", "nodeName": "node-1"},
                {"name": "two", "allNodes": True},
            ],
        },
    },
)
"""One or more of each kind that an API server can judge by a dry run."""

_TEXTS: Final = (
    *("", "a", "gpu", "Gpu", "a.b", "a-b", "a_b", "-a", "a/b", "a/b/c", "/", "example.com/x", "é"),
    *("All", "ExactCount", "Exists", "Equal", "NoSchedule", "None", "In", "Exists ", "Gt"),
    *("1.2.3", "1.2", "v1.2.3", "01.2.3", "1.2.3-rc.1", "10Gi", "1K", "1Ki", "-5", "1e3", "0.5"),
    *(
        "x" * 32,
        "x" * 33,
        "x" * 63,
        "x" * 64,
        "x" * 65,
        "x" * 254,
        "kubernetes.io/a",
        "requests.a/b",
    ),
)
_VALUES: Final[tuple[Any, ...]] = (
    *_TEXTS,
    *(None, True, False, 0, 1, -1, 33, 2**31, 2**63 - 1, 2**63, 1.5, [], {}, [None], ["a", "a"]),
)
_KEYS: Final = (
    *("name", "count", "exactly", "deviceClassName", "Count", "adminAccess", "allocationMode"),
    *("nodeName", "allNodes", "nodeSelector", "devices", "string", "int", "ints", "version"),
    *("matchAttribute", "distinctAttribute", "selectors", "cel", "expresion", "sharedCounters"),
    *("a-b", "example.com/x", "memory", "validValues", "validRange", "default", "unknown"),
    *("firstAvailable", "finalizers", "generateName", "status", "perDeviceNodeSelection"),
)
_SIZES: Final = (2, 3, 5, 9, 17, 33, 65, 129)

EXPRESSIONS: Final = (
    "device.attributes['gpu.example.com'].model == 'A'",
    "device.capacity['gpu.example.com'].memory.compareTo(quantity('10Gi')) >= 0",
    "device.capacity['gpu.example.com'].memory >= quantity('10Gi')",
    "'model' in device.attributes['gpu.example.com'] && true",
    "device.attributes['gpu.example.com'].exists(k, k == 'model')",
    "device.attributes['a'].x.exists(k, k == 'model')",
    "device.attributes['a'].x in ['a', 1]",
    "device.drivers == 'a'",
    "device.driver",
    "device.attributes['a'].x",
    "device.capacity['a'].x",
    "device.driver.matches('(')",
    "device.driver.matches('^gpu')",
    "semver('1.2.3').isLessThan(semver('v1'))",
    "isSemver('x') || quantity('1Gi').isGreaterThan(quantity('1Mi'))",
    "device.allowMultipleAllocations == true",
    "[1,2,3].all(a, [1,2,3].all(b, [1,2,3].all(c, a + b + c > 2)))",
    "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, a == b)))",
    "duration('x') > duration('1s')",
    "1 +",
    "",
    "true",
    "cel.bind(x, device.driver, x == 'a')",
    "device.attributes[?'a'].?x.orValue('') == 'a'",
    "type(device.driver) == string",
    "device.driver.split('.').join('-') == 'a'",
    "device.attributes['a'].x.includes('b')",
    "('x' + " * 120 + "'x'" + ")" * 120 + " == 'y'",
    "'" + "x" * 10_300 + "' == 'y'",
    "lists.range(3).sum() == 3",
    "device.driver.reverse() == 'a'",
)
"""Selectors that compile and that do not."""

_PLAUSIBLE: Final[dict[str, tuple[Any, ...]]] = {
    "name": ("a", "a-b", "0", "x" * 63),
    "deviceClassName": ("a", "a.b", "gpu.nvidia.com"),
    "count": (0, 1, 5, 32, 33),
    "allocationMode": ("All", "ExactCount", ""),
    "key": ("a", "a.b/c", "A_b"),
    "operator": ("Exists", "Equal", ""),
    "value": ("", "x", "10Gi", "100"),
    "effect": ("NoSchedule", "NoExecute", "None"),
    "matchAttribute": ("a.b/c", "x/_y", "a/b/c"),
    "distinctAttribute": ("a.b/c", "x/_y"),
    "string": ("", "x" * 64, "é" * 32),
    "version": ("1.0.0", "1.2.3-rc.1+b", "0.0.0"),
    "int": (0, -1, 2**63 - 1),
    "driver": ("a", "a.b", "A.B", "x" * 63),
    "nodeName": ("a", "a.b"),
    "generation": (0, 7),
    "resourceSliceCount": (1, 1000),
    "extendedResourceName": ("a.b/c", "x/y"),
    "default": ("1Gi", "2Gi", "10Gi", "1", "4"),
    "step": ("1Gi", "512Mi", "3Gi"),
    "max": ("20Gi", "80Gi", "81Gi"),
    "min": ("0", "1Gi", "2Gi"),
}
"""Values that mostly keep an object valid, so that enough are accepted."""

Container = dict[str, Any] | list[Any]


def mutated(base: dict[str, Any], choose: random.Random) -> dict[str, Any]:
    """Return a copy of `base` with one to three changes below metadata and spec."""
    changed = copy.deepcopy(base)
    change = _change_mildly if choose.random() < 0.4 else _change
    for _ in range(choose.choice((1, 1, 1, 2, 3))):
        places = _places(changed)
        container, key = choose.choice(places)
        change(container, key, choose)
    return changed


def _places(manifest: dict[str, Any]) -> list[tuple[Container, Any]]:
    """Return (container, key or index) of everything that may be changed."""
    found: list[tuple[Container, Any]] = []

    def walk(value: Any) -> None:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in list(items):
            found.append((value, key))
            if isinstance(item, dict | list):
                walk(item)

    for part in ("metadata", "spec"):
        if isinstance(manifest.get(part), dict):
            walk(manifest[part])
    return found


def _change_mildly(container: Container, key: Any, choose: random.Random) -> None:
    plausible = _PLAUSIBLE.get(key) if isinstance(container, dict) else None
    if key == "expression":
        container[key] = choose.choice(EXPRESSIONS)
    elif plausible and isinstance(container[key], str | int):
        container[key] = choose.choice(plausible)
    elif isinstance(container[key], dict | list) and choose.random() < 0.5:
        del container[key]
    elif isinstance(container, dict) and isinstance(container[key], str | int):
        container.pop(key)


def _change(container: Container, key: Any, choose: random.Random) -> None:
    kind = choose.choice(("value", "value", "delete", "key", "add", "grow", "copy", "text"))
    value = container[key]
    if key == "expression":
        container[key] = choose.choice(EXPRESSIONS)
    elif kind == "delete":
        del container[key]
    elif kind == "key" and isinstance(container, dict):
        name = choose.choice((choose.choice(_KEYS), str(key) + "s", str(key).upper()))
        container[name] = container.pop(key)
    elif kind == "add" and isinstance(container, dict):
        container[choose.choice(_KEYS)] = choose.choice((*_VALUES, copy.deepcopy(value)))
    elif kind == "grow" and isinstance(container, list):
        size = choose.choice(_SIZES)
        container[:] = [_renamed(copy.deepcopy(value), at) for at in range(size)]
    elif kind == "grow" and isinstance(container, dict):
        for at in range(choose.choice(_SIZES)):
            container[f"{key}{at}"] = copy.deepcopy(value)
    elif kind == "copy" and isinstance(container, list):
        container.append(copy.deepcopy(value))
    elif kind == "text" and isinstance(value, str):
        container[key] = choose.choice((value + "x", value.upper(), value[:-1], f"{value}/x"))
    else:
        container[key] = choose.choice(_VALUES)


def _renamed(item: Any, at: int) -> Any:
    """Return `item` with a name of its own, so that a long list has no other fault."""
    for field in ("name", "counterSet"):
        if isinstance(item, dict) and isinstance(item.get(field), str):
            item[field] = f"{item[field]}{at}"
    return item
