"""Tries every assignment of devices, in order: a second, simple allocator for tiny clusters.

It shares nothing with `claimfit.dra.allocator`: it reads the JSON of a scenario and knows the rules
of 1.37 for healthy pools and claims without mode All. Whole assignments are judged, one after the
other, in the order in which a first-fit search would meet them.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from support.allocator_scenarios import NODE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.allocator_scenarios import Scenario

__all__ = ["MOST", "first_assignment", "suits"]

MOST: Final = 4000
"""Assignments that are worth trying."""
_UNITS: Final = {"Gi": 2**30, "Mi": 2**20, "m": Fraction(1, 1000), "": 1}
_DAMAGE: Final = frozenset(
    (
        "incomplete pool",
        "duplicate device",
        "older generation",
        "newer generation elsewhere",
        "part of the pool elsewhere",
        "bad counters",
        "counters elsewhere",
        "mode All",
        "unguarded selectors",
        "selector that does not compile",
        "many devices",
        "a feature off",
    )
)


class Item(NamedTuple):
    """A device with its place."""

    driver: str
    pool: str
    device: dict[str, Any]

    @property
    def path(self) -> str:
        """DRIVER/POOL/DEVICE."""
        return f"{self.driver}/{self.pool}/{self.device['name']}"


Pick = tuple[int, str, dict[str, Any], Item]
"""Claim, request name, request, device."""


def suits(made: Scenario) -> bool:
    """Return whether the scenario has only what this module knows."""
    bodies = [body for claim in made.claims for _, body in _bodies(claim)]
    known = {item["metadata"]["name"] for item in made.classes} - {"risky"}
    return not (_DAMAGE & made.tags) and all(x["deviceClassName"] in known for x in bodies)


def _bodies(claim: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for request in claim["spec"]["devices"]["requests"]:
        for body in request.get("firstAvailable") or [request["exactly"]]:
            yield request["name"], body


def amount(text: str) -> Fraction:
    """Return what a quantity of these scenarios is worth."""
    for suffix, unit in _UNITS.items():
        if suffix and text.endswith(suffix):
            return Fraction(text.removesuffix(suffix)) * unit
    return Fraction(text)


def first_assignment(made: Scenario) -> list[tuple[str, str]] | str | None:
    """Return (request, device) of the first assignment that holds; None; or ``too many``."""
    devices = list(_devices(made))
    options = [
        list(_options(index, request, devices))
        for index, claim in enumerate(made.claims)
        for request in claim["spec"]["devices"]["requests"]
    ]
    total = 1
    for option in options:
        total *= max(1, len(option))
    if total > MOST:
        return "too many"
    for choice in itertools.product(*options):
        picks = [pick for part in choice for pick in part]
        if _holds(made, picks):
            return [(pick[1], pick[3].path) for pick in picks]
    return None


def _devices(made: Scenario) -> Iterator[Item]:
    """Yield the devices of the node: pools by name, those with binding conditions last."""
    pools: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for item in made.slices:
        spec = item["spec"]
        if spec.get("devices") and _reaches(spec, made):
            pools.setdefault((spec["driver"], spec["pool"]["name"]), []).append(item)

    def order(pool: tuple[str, str]) -> tuple[bool, tuple[str, str]]:
        devices = [x for item in pools[pool] for x in item["spec"]["devices"]]
        return any(x.get("bindingConditions") for x in devices), pool

    for pool in sorted(pools, key=order):
        for item in sorted(pools[pool], key=lambda item: item["metadata"]["name"]):
            for device in item["spec"]["devices"]:
                if not item["spec"].get("perDeviceNodeSelection") or _matches(device, made):
                    yield Item(*pool, device)


def _reaches(spec: dict[str, Any], made: Scenario) -> bool:
    if spec.get("perDeviceNodeSelection"):
        return any(_matches(device, made) for device in spec["devices"])
    return _matches(spec, made)


def _matches(place: dict[str, Any], made: Scenario) -> bool:
    if "nodeName" in place:
        return bool(place["nodeName"] == NODE)
    if place.get("allNodes"):
        return True
    labels = made.node["metadata"]["labels"]
    return any(
        all(
            part["key"] in labels
            and (part["operator"] == "Exists" or labels[part["key"]] in part["values"])
            for part in term["matchExpressions"]
        )
        for term in place["nodeSelector"]["nodeSelectorTerms"]
    )


def _options(claim: int, request: dict[str, Any], devices: list[Item]) -> Iterator[list[Pick]]:
    alternatives = request.get("firstAvailable")
    for body in alternatives or [request["exactly"]]:
        name = f"{request['name']}/{body['name']}" if alternatives else request["name"]
        for chosen in itertools.combinations(devices, body["count"]):
            yield [(claim, name, body, item) for item in chosen]


def _holds(made: Scenario, picks: list[Pick]) -> bool:
    return (
        all(_selected(made, body, item) for _, _, body, item in picks)
        and all(_tolerated(body, item) for _, _, body, item in picks)
        and _in_turn(made, picks)
        and all(
            _constrained(constraint, [pick for pick in picks if pick[0] == index])
            for index, claim in enumerate(made.claims)
            for constraint in claim["spec"]["devices"].get("constraints", ())
        )
    )


def _selected(made: Scenario, body: dict[str, Any], item: Item) -> bool:
    device_class = next(x for x in made.classes if x["metadata"]["name"] == body["deviceClassName"])
    selectors = device_class["spec"].get("selectors", []) + body.get("selectors", [])
    return all(_true(x["cel"]["expression"], item) for x in selectors)


def _true(expression: str, item: Item) -> bool:
    """Evaluate the expressions of the scenarios by their parts."""
    quoted = expression.split('"')
    if expression.startswith("device.driver =="):
        return quoted[1] == item.driver
    attributes, domain = item.device["attributes"], quoted[3]
    if ".memory.compareTo" in expression:
        have = item.device.get("capacity", {}).get("memory")
        return bool(domain == item.driver and have and amount(have["value"]) >= amount(quoted[-2]))
    kind = attributes.get("kind") if domain == item.driver else None
    return bool(kind and kind["string"] == quoted[-2])


def _tolerated(body: dict[str, Any], item: Item) -> bool:
    def accepts(toleration: dict[str, Any], taint: dict[str, Any]) -> bool:
        return (
            toleration.get("effect", taint["effect"]) == taint["effect"]
            and toleration.get("key", taint["key"]) == taint["key"]
            and (toleration["operator"] == "Exists" or toleration["value"] == taint["value"])
        )

    return all(
        taint["effect"] == "None" or any(accepts(x, taint) for x in body.get("tolerations", ()))
        for taint in item.device.get("taints", ())
    )


def _in_turn(made: Scenario, picks: list[Pick]) -> bool:
    """Hand out the devices one after the other."""
    hand = _Hand(made)
    return all(hand.gives(claim, body, item) for claim, _, body, item in picks)


class _Hand:
    """What is left while devices are handed out: use, capacity and counters."""

    def __init__(self, made: Scenario) -> None:
        self.made = made
        self.held: dict[str, set[int]] = {}
        self.used: dict[str, dict[str, Fraction]] = {}
        self.left = _left_of_counters(made)
        for entry in made.consumed:
            amounts = {name: amount(value) for name, value in entry["capacity"].items()}
            self.add("/".join(entry["device"]), amounts)

    def add(self, path: str, amounts: dict[str, Fraction]) -> None:
        total = self.used.setdefault(path, {})
        for name, value in amounts.items():
            total[name] = total.get(name, Fraction(0)) + value

    def gives(self, claim: int, body: dict[str, Any], item: Item) -> bool:
        taken = _share(body, item)
        if taken is None or not self.free(claim, body, item) or not self.room(taken, item):
            return False
        shared = item.device.get("allowMultipleAllocations")
        identity = (item.driver, item.pool, item.device["name"])
        alone = item.path not in self.used and identity not in self.made.shared
        if (not shared or alone) and not self.draws(item):
            return False
        if shared:
            self.add(item.path, taken)
        else:
            self.held.setdefault(item.path, set()).add(claim)
        return True

    def free(self, claim: int, body: dict[str, Any], item: Item) -> bool:
        users = self.held.get(item.path, set())
        if body.get("adminAccess"):
            return claim not in users
        identity = (item.driver, item.pool, item.device["name"])
        return not users and identity not in self.made.exclusive

    def room(self, taken: dict[str, Fraction], item: Item) -> bool:
        total = self.used.get(item.path, {})
        return all(
            total.get(name, Fraction(0)) + value <= amount(item.device["capacity"][name]["value"])
            for name, value in taken.items()
        )

    def draws(self, item: Item) -> bool:
        """Draw the counters of a device; a pool with any counter overdrawn gives nothing."""
        pool = (item.driver, item.pool)
        boards = item.device.get("consumesCounters", ())
        for consumed in boards:
            for name, value in consumed["counters"].items():
                self.left[(*pool, consumed["counterSet"], name)] -= amount(value["value"])
        return not boards or all(value >= 0 for key, value in self.left.items() if key[:2] == pool)


def _left_of_counters(made: Scenario) -> dict[tuple[str, str, str, str], Fraction]:
    left: dict[tuple[str, str, str, str], Fraction] = {}
    for item in made.slices:
        pool = (item["spec"]["driver"], item["spec"]["pool"]["name"])
        for board in item["spec"].get("sharedCounters", ()):
            for name, value in board["counters"].items():
                left[(*pool, board["name"], name)] = amount(value["value"])
    for item in made.slices:
        pool = (item["spec"]["driver"], item["spec"]["pool"]["name"])
        for device in item["spec"].get("devices", ()):
            if (*pool, device["name"]) in {*made.exclusive, *made.shared}:
                for consumed in device.get("consumesCounters", ()):
                    for name, value in consumed["counters"].items():
                        left[(*pool, consumed["counterSet"], name)] -= amount(value["value"])
    return left


def _share(body: dict[str, Any], item: Item) -> dict[str, Fraction] | None:
    """Return what a request takes of each capacity; None when it gets no such share."""
    asked = body.get("capacity", {}).get("requests", {})
    capacities = item.device.get("capacity", {})
    if set(asked) - set(capacities):
        return None
    taken = {}
    for name, capacity in capacities.items():
        policy = capacity.get("requestPolicy", {})
        if name not in asked:
            taken[name] = amount(policy.get("default", capacity["value"]))
            continue
        wanted = amount(asked[name])
        if "validValues" in policy:
            fitting = [amount(x) for x in policy["validValues"] if amount(x) >= wanted]
            if not fitting:
                return None
            wanted = min(fitting)
        if "validRange" in policy:
            least, step, most = (amount(policy["validRange"][x]) for x in ("min", "step", "max"))
            wanted = max(wanted, least)
            wanted = least + -(-(wanted - least) // step) * step
            if wanted > most:
                return None
        taken[name] = wanted
    return taken


def _constrained(constraint: dict[str, Any], picks: list[Pick]) -> bool:
    names = constraint["requests"]
    covered = [
        item
        for _, name, _, item in picks
        if not names or name in names or name.split("/")[0] in names
    ]
    attribute = constraint.get("matchAttribute") or constraint["distinctAttribute"]
    values = [_values(item, attribute) for item in covered]
    if any(value is None for value in values):
        return False
    sets = [value for value in values if value is not None]
    if "matchAttribute" in constraint:
        return not sets or bool(frozenset.intersection(*sets))
    return all(not (one & other) for one, other in itertools.combinations(sets, 2))


def _values(item: Item, attribute: str) -> frozenset[tuple[str, Any]] | None:
    attributes = item.device["attributes"]
    domain, _, name = attribute.partition("/")
    found = attributes.get(attribute)
    if found is None and domain == item.driver:
        found = attributes.get(name)
    if found is None:
        return None
    ((kind, value),) = found.items()
    values = value if isinstance(value, list) else [value]
    return frozenset((kind.removesuffix("s"), x) for x in values)
