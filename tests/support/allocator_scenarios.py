"""Random small clusters with claims, for the allocator and its judges.

A scenario is made of API objects as JSON, so that the Go judge and the Python objects read the same
text. Everything follows from the seed. `tags` name what a scenario contains, for the table of how
often each feature was met.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from claimfit.dra.allocator.selectors import SelectorProblem
from claimfit.dra.amounts import nanos_of
from claimfit.dra.objects import DeviceClass, Node, ResourceClaim, ResourceSlice

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.pools import PooledDevice

__all__ = ["EXPRESSIONS", "GI", "Scenario", "answer", "scenario"]

GI: Final = 1 << 30
DRIVERS: Final = ("a.example", "b.example")
SHARED: Final = "std.example"
NODE: Final = "n1"


@dataclass
class Scenario:
    """A node, a cluster, claims, and what is on."""

    seed: int
    minor: int
    features: dict[str, bool]
    node: dict[str, Any]
    slices: list[dict[str, Any]]
    classes: list[dict[str, Any]]
    claims: list[dict[str, Any]]
    exclusive: list[tuple[str, str, str]] = field(default_factory=list)
    shared: list[tuple[str, str, str]] = field(default_factory=list)
    consumed: list[dict[str, Any]] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)

    def question(self) -> dict[str, Any]:
        """Return the line for the Go judge."""
        return {
            "node": self.node,
            "slices": self.slices,
            "classes": self.classes,
            "claims": self.claims,
            "exclusive": self.exclusive,
            "shared": self.shared,
            "consumed": self.consumed,
            "features": self.features,
            "timeoutSeconds": 0.25,
        }

    def objects(
        self,
    ) -> tuple[Node, list[ResourceSlice], list[DeviceClass], list[ResourceClaim]]:
        """Return node, slices, classes and claims as the allocator takes them."""
        return (
            _read(self.node, Node),
            [_read(item, ResourceSlice) for item in self.slices],
            [_read(item, DeviceClass) for item in self.classes],
            [_read(item, ResourceClaim) for item in self.claims],
        )


_Kind = TypeVar("_Kind")


def _read(value: dict[str, Any], kind: type[_Kind]) -> _Kind:
    return msgspec.json.decode(msgspec.json.encode(value), type=kind)


# --- expressions, and what they mean in Python ----------------------------------------------------

Answer = bool | SelectorProblem


def _driver(name: str) -> Callable[[PooledDevice], Answer]:
    return lambda entry: entry.id.driver == name


def _attribute(entry: PooledDevice, domain: str, name: str) -> Any:
    found = entry.device.attributes.get(f"{domain}/{name}")
    if found is None and domain == entry.id.driver:
        found = entry.device.attributes.get(name)
    return None if found is None else found.value


def _kind(domain: str, value: str, *, guarded: bool) -> Callable[[PooledDevice], Answer]:
    def evaluate(entry: PooledDevice) -> Answer:
        found = _attribute(entry, domain, "kind")
        if found is None:
            return False if guarded else SelectorProblem("no such key: kind")
        return bool(found == value)

    return evaluate


def _size(domain: str, least: int) -> Callable[[PooledDevice], Answer]:
    def evaluate(entry: PooledDevice) -> Answer:
        found = _attribute(entry, domain, "size")
        return SelectorProblem("no such key: size") if found is None else found >= least

    return evaluate


def _memory(domain: str, gibibytes: int) -> Callable[[PooledDevice], Answer]:
    def evaluate(entry: PooledDevice) -> Answer:
        found = entry.device.capacity.get("memory") if domain == entry.id.driver else None
        return found is not None and nanos_of(found.value) >= gibibytes * GI * 10**9

    return evaluate


def _broken(_: PooledDevice) -> Answer:
    return SelectorProblem("undefined field 'nope'", compile=True)


EXPRESSIONS: Final[dict[str, Callable[[PooledDevice], Answer]]] = {"device.nope": _broken}
"""CEL text -> what it answers."""
for _name in DRIVERS:
    EXPRESSIONS[f'device.driver == "{_name}"'] = _driver(_name)
    for _value in ("x", "y"):
        _get = f'device.attributes["{_name}"].kind == "{_value}"'
        EXPRESSIONS[_get] = _kind(_name, _value, guarded=False)
        _guard = f'"kind" in device.attributes["{_name}"] && {_get}'
        EXPRESSIONS[_guard] = _kind(_name, _value, guarded=True)
    for _least in (1, 2, 3):
        EXPRESSIONS[f'device.attributes["{_name}"].size >= {_least}'] = _size(_name, _least)
        _text = f'device.capacity["{_name}"].memory.compareTo(quantity("{4 * _least}Gi")) >= 0'
        _text = f'"memory" in device.capacity["{_name}"] && {_text}'
        EXPRESSIONS[_text] = _memory(_name, 4 * _least)
GUARDED: Final = [text for text in EXPRESSIONS if " in device" in text or "driver ==" in text]
UNGUARDED: Final = [text for text in EXPRESSIONS if text not in GUARDED and "nope" not in text]


def answer(expression: str, entry: PooledDevice) -> Answer:
    """Answer as CEL does, for the expressions of `EXPRESSIONS`; no other one compiles."""
    return EXPRESSIONS.get(expression, _broken)(entry)


# --- the generator --------------------------------------------------------------------------------


def scenario(seed: int, minor: int, *, one_pool: bool = False, plain: bool = False) -> Scenario:
    """Return the scenario of `seed`.

    With `one_pool` the node has a single pool, for allocators whose order of pools is random. With
    `plain` nothing is on that keeps the stable allocator of 1.36 and later from being chosen.
    """
    return _Generator(seed, minor, one_pool=one_pool, plain=plain).made()


class _Generator:
    def __init__(self, seed: int, minor: int, *, one_pool: bool, plain: bool) -> None:
        self.random = random.Random(seed * 100 + minor)
        self.minor = minor
        self.one_pool = one_pool
        self.plain = plain
        self.tags: set[str] = set()
        self.features = self._features()
        self.seed = seed
        self.devices: list[tuple[str, str, dict[str, Any]]] = []
        self.lean = self.random.random() < 0.5
        """Half of the clusters have few complications, so that deep searches are met too."""

    def chance(self, percent: float, tag: str = "") -> bool:
        """Return true in so many of a hundred cases, and note the tag then."""
        hit = self.random.random() * 100 < percent
        if hit and tag:
            self.tags.add(tag)
        return hit

    def _features(self) -> dict[str, bool]:
        on = dict.fromkeys(
            ("AdminAccess", "PrioritizedList", "PartitionableDevices", "DeviceTaints"), True
        )
        binding = (
            ("DeviceBindingAndStatus",) if self.minor > 34 else ("DeviceBinding", "DeviceStatus")
        )
        on |= dict.fromkeys((*binding, "ConsumableCapacity"), True)
        if self.plain:
            on |= dict.fromkeys((*binding, "ConsumableCapacity"), False)
        elif self.minor >= 37:
            on |= {"FractionalCapacityRange": True, "ListTypeAttributes": self.chance(30, "lists")}
        for name in list(on):
            if name != "ListTypeAttributes" and self.chance(3):
                on[name] = False
                self.tags.add("a feature off")
        return on

    def made(self) -> Scenario:
        node = {"apiVersion": "v1", "kind": "Node"}
        node["metadata"] = {"name": NODE, "labels": {"zone": "z1", "kubernetes.io/hostname": NODE}}
        slices = self._slices()
        if self.chance(50, "slices shuffled"):
            self.random.shuffle(slices)
        made = Scenario(self.seed, self.minor, self.features, node, slices, [], [], tags=self.tags)
        made.classes = self._classes()
        made.claims = [self._claim(index) for index in range(self._few((76, 18, 6)))]
        if len(made.claims) > 1:
            self.tags.add("several claims")
        self._allocated(made)
        return made

    def _few(self, weights: tuple[int, ...]) -> int:
        return self.random.choices(range(1, len(weights) + 1), weights)[0]

    # slices

    def _slices(self) -> list[dict[str, Any]]:
        slices: list[dict[str, Any]] = []
        pools = 1 if self.one_pool else self._few((35, 35, 20, 10))
        for index in range(pools):
            slices += self._pool(index)
        if not self.lean and self.chance(25, "slices of other nodes"):
            slices += self._slice(
                DRIVERS[0], "n2", "other", [self._device(0, DRIVERS[0], "d")], nodeName="n2"
            )
        return slices

    def _pool(self, index: int) -> list[dict[str, Any]]:
        driver = self.random.choice(DRIVERS) if index != 1 else DRIVERS[1]
        name = NODE if self.chance(88) else f"pool-{index}"
        place: dict[str, Any] = {"nodeName": NODE}
        roll = self.random.random()
        if roll < 0.15:
            place = {"allNodes": True}
            self.tags.add("all nodes")
        elif roll < 0.3:
            place = {"nodeSelector": self._selector()}
            self.tags.add("node selector")
        elif roll < 0.42:
            place = {"perDeviceNodeSelection": True}
            self.tags.add("per-device nodes")
        if name == NODE and "nodeName" not in place:
            name = f"net-{index}"
        if any(pool == (driver, name) for pool in {item[:2] for item in self.devices}):
            name = f"{name}-{index}"
        return self._published(index, driver, name, place)

    def _published(
        self, index: int, driver: str, name: str, place: dict[str, Any]
    ) -> list[dict[str, Any]]:
        wide = self.chance(5, "many devices")
        parts = 1 if wide or not self.chance(35, "several slices") else 2
        # Where one driver has partitions another has them too: their counters may be mixed up.
        counters = self.chance(85 if "counters" in self.tags else 20, "counters")
        slices: list[dict[str, Any]] = []
        for part in range(parts):
            number = self.random.randint(17, 36) if wide else self._few((15, 25, 25, 20, 15))
            devices = [
                self._device(k, driver, f"d{part}-", counters=counters, wide=wide)
                for k in range(number)
            ]
            if "perDeviceNodeSelection" in place:
                devices = [device | self._device_place() for device in devices]
            slices += self._slice(
                driver, name, f"s{index}-{self.random.randint(0, 9)}{part}", devices, **place
            )
            self.devices += [(driver, name, device) for device in devices]
        if counters:
            self._add_counters(slices, driver, name, index, place)
        for item in slices:
            item["spec"]["pool"]["resourceSliceCount"] = len(slices)
        self._damage(slices, driver, name)
        return slices

    def _slice(
        self, driver: str, pool: str, name: str, devices: list[dict[str, Any]], **place: Any
    ) -> list[dict[str, Any]]:
        return [
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {"name": f"{driver}-{name}"},
                "spec": {
                    "driver": driver,
                    "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
                    "devices": devices,
                    **place,
                },
            }
        ]

    def _add_counters(
        self,
        slices: list[dict[str, Any]],
        driver: str,
        name: str,
        index: int,
        place: dict[str, Any],
    ) -> None:
        sets = [
            {
                "name": f"board-{board}",
                "counters": {
                    "memory": {"value": f"{self.random.choice((4, 4, 8))}Gi"},
                    "slots": {"value": str(self.random.randint(2, 4))},
                },
            }
            for board in range(2)
        ]
        if self.minor == 34:
            for item in slices:
                item["spec"]["sharedCounters"] = sets
            return
        if "perDeviceNodeSelection" in place:
            place = {"allNodes": True}
        if not self.lean and self.chance(25, "counters elsewhere"):
            place = {"nodeName": "n2"}
        made = self._slice(driver, name, f"c{index}", [], **place)
        del made[0]["spec"]["devices"]
        made[0]["spec"]["sharedCounters"] = sets
        if not self.lean and self.chance(22, "bad counters"):
            problem = self.random.choice(("set", "counter", "twice"))
            if problem == "set":
                sets.pop()
            elif problem == "counter":
                del sets[0]["counters"]["slots"]
            else:
                sets[1]["name"] = sets[0]["name"]
        slices += made

    def _damage(self, slices: list[dict[str, Any]], driver: str, name: str) -> None:
        """Make a pool incomplete, invalid or superseded now and then."""
        if self.lean:
            return
        if self.chance(5, "incomplete pool"):
            for item in slices:
                item["spec"]["pool"]["resourceSliceCount"] += 1
        elif self.chance(6, "duplicate device"):
            target = next(x for x in slices if x["spec"].get("devices"))
            target["spec"]["devices"].append(dict(target["spec"]["devices"][0]))
        elif self.chance(6, "older generation"):
            for item in slices:
                item["spec"]["pool"]["generation"] = 2
            devices = [self._device(0, driver, "old")]
            slices += self._slice(driver, name, "old", devices, nodeName=NODE)
        elif self.chance(6, "newer generation elsewhere"):
            devices = [self._device(0, driver, "new")]
            made = self._slice(driver, name, "new", devices, nodeName="n2")
            made[0]["spec"]["pool"]["generation"] = 2
            slices += made
            if self.chance(60):
                slices[0]["spec"]["pool"]["resourceSliceCount"] += 1
        elif len(slices) > 1 and self.chance(14, "part of the pool elsewhere"):
            place = slices[0]["spec"]
            for key in ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"):
                place.pop(key, None)
            place["nodeName"] = "n2"

    def _selector(self, *, zone: str = "") -> dict[str, Any]:
        zone = zone or ("z1" if self.chance(80) else "z2")
        expressions = [{"key": "zone", "operator": "In", "values": [zone]}]
        if self.chance(30):
            expressions.append({"key": "kubernetes.io/hostname", "operator": "Exists"})
        return {"nodeSelectorTerms": [{"matchExpressions": expressions}]}

    def _device_place(self) -> dict[str, Any]:
        roll = self.random.random()
        if roll < 0.4:
            return {"nodeName": NODE if self.chance(70) else "n2"}
        return {"allNodes": True} if roll < 0.6 else {"nodeSelector": self._selector()}

    def _device(
        self, index: int, driver: str, prefix: str, *, counters: bool = False, wide: bool = False
    ) -> dict[str, Any]:
        device: dict[str, Any] = {
            "name": f"{prefix}{index}",
            "attributes": self._attributes(driver),
        }
        if self.chance(80):
            device["capacity"] = {"memory": {"value": f"{self.random.choice((4, 8, 12))}Gi"}}
        if wide:
            return device
        if self.features["ConsumableCapacity"] and self.chance(22, "shared devices"):
            self._share(device)
        if counters and self.chance(85):
            device["consumesCounters"] = [
                {
                    "counterSet": f"board-{self.random.randint(0, 1)}",
                    "counters": {
                        "memory": {"value": f"{self.random.choice((2, 4))}Gi"},
                        "slots": {"value": str(self.random.randint(1, 2))},
                    },
                }
            ]
        if self.chance(6, "taints"):
            effects = ("NoSchedule", "NoExecute", "None")
            device["taints"] = [
                {
                    "key": self.random.choice(("bad", "bad", "hot")),
                    "value": self.random.choice(("1", "2")),
                    "effect": self.random.choice(effects),
                }
            ]
        if self.minor > 34 or not counters:
            if self.chance(5, "binding conditions"):
                device["bindingConditions"] = ["ready.example/up"]
                device["bindingFailureConditions"] = ["ready.example/down"]
            if self.chance(4, "binds to node"):
                device["bindsToNode"] = True
        return device

    def _attributes(self, driver: str) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        if self.chance(96 if self.lean else 88):
            attributes["kind"] = {"string": self.random.choice("xy")}
        if self.chance(96):
            name = f"{driver}/size" if self.chance(30) else "size"
            attributes[name] = {"int": self.random.randint(1, 3)}
        root = f"{SHARED}/root"
        if self.chance(92):
            attributes[root] = {"string": self.random.choice(("r1", "r2", "r3"))}
        if self.chance(80):
            kind = self.random.choice(("int", "version", "bool", "string"))
            value = {"int": 1, "version": "1.0.0", "bool": True, "string": "1.0.0"}[kind]
            attributes[f"{SHARED}/mixed"] = {kind: value}
        if self.features.get("ListTypeAttributes") and self.chance(60):
            chosen = self.random.sample(("r1", "r2", "r3", "r4"), self.random.randint(1, 3))
            attributes[root] = {"strings": chosen}
        return attributes

    def _share(self, device: dict[str, Any]) -> None:
        device["allowMultipleAllocations"] = True
        memory: dict[str, Any] = {"value": "8Gi"}
        roll = self.random.random()
        if roll < 0.3:
            memory["requestPolicy"] = {
                "default": "2Gi",
                "validRange": {"min": "2Gi", "step": "1Gi", "max": "6Gi"},
            }
            self.tags.add("capacity range")
        elif roll < 0.55:
            memory["requestPolicy"] = {"default": "1Gi", "validValues": ["1Gi", "2Gi", "4Gi"]}
            self.tags.add("capacity values")
        device["capacity"] = {"memory": memory}
        if self.chance(30):
            device["capacity"]["links"] = {"value": "4", "requestPolicy": {"default": "1"}}
        elif self.minor >= 37 and self.chance(40, "fractional range"):
            steps = {"min": "500m", "step": "250m", "max": "2"}
            policy = {"default": "500m", "validRange": steps}
            device["capacity"]["links"] = {"value": "2", "requestPolicy": policy}

    # classes and claims

    def _classes(self) -> list[dict[str, Any]]:
        classes = [
            {"name": "any", "spec": {}},
            {"name": "a", "spec": self._selecting(f'device.driver == "{DRIVERS[0]}"')},
            {"name": "b", "spec": self._selecting(f'device.driver == "{DRIVERS[1]}"')},
            {"name": "guarded", "spec": self._selecting(self.random.choice(GUARDED))},
            {"name": "risky", "spec": self._selecting(self.random.choice(UNGUARDED))},
        ]
        for item in classes:
            if self.chance(30, "class configuration"):
                opaque = {"driver": DRIVERS[0], "parameters": {"of": item["name"]}}
                item["spec"]["config"] = [{"opaque": opaque}]
        return [
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "DeviceClass",
                "metadata": {"name": item["name"]},
                "spec": item["spec"],
            }
            for item in classes
        ]

    def _selecting(self, *expressions: str) -> dict[str, Any]:
        return {"selectors": [{"cel": {"expression": text}} for text in expressions]}

    def _claim(self, index: int) -> dict[str, Any]:
        wide = "many devices" in self.tags
        requests = [self._request(k, wide=wide) for k in range(self._few((55, 30, 15)))]
        if len(requests) > 1:
            self.tags.add("several requests")
        devices: dict[str, Any] = {"requests": requests}
        limits = [self._constraint(requests) for _ in range(self._few((68, 25, 7)) - 1)]
        if limits and not wide:
            devices["constraints"] = limits
        if self.chance(25, "claim configuration"):
            devices["config"] = [
                {
                    "requests": self._names(requests),
                    "opaque": {"driver": DRIVERS[0], "parameters": {}},
                }
            ]
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": f"claim-{index}", "namespace": "test"},
            "spec": {"devices": devices},
        }

    def _request(self, index: int, *, wide: bool) -> dict[str, Any]:
        name = f"r{index}"
        if self.chance(25, "alternatives"):
            number = self._few((20, 50, 30))
            return {
                "name": name,
                "firstAvailable": [
                    {"name": f"s{k}", **self._body(wide=wide, sub=True)} for k in range(number)
                ],
            }
        return {"name": name, "exactly": self._body(wide=wide, sub=False)}

    def _body(self, *, wide: bool, sub: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"deviceClassName": self._class_name()}
        if self.chance(7 if not wide else 40, "mode All"):
            body["allocationMode"] = "All"
        else:
            body["allocationMode"] = "ExactCount"
            body["count"] = (
                self.random.choice((1, 16, 17, 20, 33)) if wide else self._few((65, 25, 10))
            )
            if body["count"] > 1:
                self.tags.add("count above 1")
        if self.chance(25, "request selectors"):
            texts = [self._expression() for _ in range(self._few((80, 20)))]
            body |= self._selecting(*texts)
        if not sub and self.chance(7, "administrators"):
            body["adminAccess"] = True
        if self.chance(22, "tolerations"):
            body["tolerations"] = [self._toleration()]
        known = self.features["ConsumableCapacity"] or self.chance(40)
        if known and self.chance(22, "capacity requests"):
            amounts = ("500Mi", "1Gi", "1.5Gi", "3Gi", "5Gi", "7Gi")
            asked = {"memory": self.random.choice(amounts)}
            if self.minor >= 37 and self.chance(25):
                asked = {"links": self.random.choice(("600m", "1", "1100m"))}
            body["capacity"] = {"requests": asked}
        return body

    def _class_name(self) -> str:
        if self.chance(0.6):
            return "unknown"
        names, weights = ("any", "a", "b", "guarded", "risky"), (64, 14, 14, 5, 3)
        return self.random.choices(names, weights)[0]

    def _expression(self) -> str:
        if self.chance(7, "selector that does not compile"):
            return "device.nope"
        if self.chance(6 if self.lean else 20, "unguarded selectors"):
            return self.random.choice(UNGUARDED)
        return self.random.choice(GUARDED)

    def _toleration(self) -> dict[str, Any]:
        toleration: dict[str, Any] = {"operator": self.random.choice(("Exists", "Equal"))}
        if self.chance(80):
            toleration["key"] = self.random.choice(("bad", "bad", "hot"))
        elif toleration["operator"] == "Equal":
            toleration["operator"] = "Exists"
        if toleration["operator"] == "Equal":
            toleration["value"] = self.random.choice(("1", "2"))
        if self.chance(40):
            toleration["effect"] = self.random.choice(("NoSchedule", "NoExecute"))
        return toleration

    def _names(self, requests: list[dict[str, Any]]) -> list[str]:
        """Return names of some requests or alternatives; none stands for all."""
        if self.chance(40):
            return []
        names = []
        for request in requests:
            if self.chance(60):
                alternatives = request.get("firstAvailable")
                if alternatives and self.chance(40):
                    names.append(f"{request['name']}/{self.random.choice(alternatives)['name']}")
                else:
                    names.append(request["name"])
        return names

    def _constraint(self, requests: list[dict[str, Any]]) -> dict[str, Any]:
        attributes = (f"{SHARED}/root", f"{SHARED}/mixed", f"{DRIVERS[0]}/size")
        attribute = self.random.choices(attributes, (60, 20, 20))[0]
        constraint: dict[str, Any] = {"requests": self._names(requests)}
        if self.chance(60, "match constraints"):
            constraint["matchAttribute"] = attribute
        else:
            constraint["distinctAttribute"] = attribute
            self.tags.add("distinct constraints")
        return constraint

    # what is allocated

    def _allocated(self, made: Scenario) -> None:
        for driver, pool, device in self.devices:
            identity = (driver, pool, device["name"])
            if device.get("allowMultipleAllocations"):
                if self.chance(30, "shares in use"):
                    made.shared.append(identity)
                    amount = self.random.choice(("1Gi", "4Gi", "6Gi"))
                    made.consumed.append({"device": identity, "capacity": {"memory": amount}})
            elif self.chance(9, "devices in use"):
                made.exclusive.append(identity)
