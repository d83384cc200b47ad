"""Disabling any one rule of the allocator makes the comparison with Kubernetes fail.

Each mutation takes one rule away; the comparison over random clusters has to notice.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pytest

from claimfit.dra import allocation, pools
from claimfit.dra.allocator import (
    behaviour,
    capacity,
    constraints,
    counters,
    pruning,
    reservations,
    results,
    search,
    selectors,
    taints,
)
from claimfit.dra.allocator.attempt import AttemptAborted
from claimfit.dra.objects import NodeSelector
from support import allocator_judge
from support.allocator_judge import decided, judged, normal_answer, normal_verdict
from support.allocator_scenarios import Scenario, scenario

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.oracle, pytest.mark.timeout(280)]

FIRST: Final = 7_001_000
CLUSTERS: Final = 1500
Patch = pytest.MonkeyPatch


@cache
def _asked(minor: int) -> list[tuple[Scenario, dict[str, Any]]]:
    """Return scenarios with Kubernetes' answers; the ones on which we agree without mutation."""
    made = [scenario(seed, minor) for seed in range(FIRST, FIRST + CLUSTERS)]
    said = judged(minor, (item.question() for item in made))
    return [
        (item, normal_answer(answer))
        for item, answer in zip(made, said, strict=True)
        if "context deadline" not in answer.get("error", "")
    ]


def _noticed(minor: int) -> bool:
    """Return whether some scenario is decided differently than by Kubernetes."""
    for made, expected in _asked(minor):
        try:
            verdict = decided(made, budget=3000)
        except Exception:  # noqa: BLE001  # a mutation may break the allocator altogether
            return True
        if verdict.outcome != "undecided" and normal_verdict(verdict) != expected:
            return True
    return False


def _always(value: object) -> Callable[..., Any]:
    return lambda *_, **__: value


def _true(*_: object, **__: object) -> bool:
    return True


def _never(*_: object, **__: object) -> bool:
    return False


def _flag(name: str, *, value: object) -> Callable[[Patch], None]:
    """Return a mutation that gives one field of `Behaviour` another value."""

    def mutate(patch: Patch) -> None:
        real = behaviour.behaviour

        def changed(minor: int, features: behaviour.Features) -> behaviour.Behaviour:
            return real(minor, features)._replace(**{name: value})

        patch.setattr(allocator_judge, "behaviour", changed)

    return mutate


def _no_class_selectors(patch: Patch) -> None:
    real = selectors.Selectors.admits

    def admits(self: Any, request: Any, entry: Any, *, names_device: bool) -> bool:
        kept, request.class_selectors = request.class_selectors, []
        try:
            return real(self, request, entry, names_device=names_device)
        finally:
            request.class_selectors = kept

    patch.setattr(selectors.Selectors, "admits", admits)


def _no_request_selectors(patch: Patch) -> None:
    real = selectors.Selectors.admits

    def admits(self: Any, request: Any, entry: Any, *, names_device: bool) -> bool:
        kept, request.selectors = request.selectors, []
        try:
            return real(self, request, entry, names_device=names_device)
        finally:
            request.selectors = kept

    patch.setattr(selectors.Selectors, "admits", admits)


def _errors_do_not_match(patch: Patch) -> None:
    real = selectors.Selectors.admits

    def admits(self: Any, request: Any, entry: Any, *, names_device: bool) -> bool:
        try:
            return real(self, request, entry, names_device=names_device)
        except AttemptAborted:
            return False

    patch.setattr(selectors.Selectors, "admits", admits)


def _all_generations(patch: Patch) -> None:
    def grouped(relevant: Any, rules: Any) -> Any:
        found: dict[Any, Any] = {}
        for item in relevant:
            found.setdefault(item.pool, []).append(item)
        return found

    patch.setattr(pools, "_grouped", grouped)


def _always_complete(patch: Patch) -> None:
    real = pools._built

    def built(pool: Any, members: Any, slices: Any, rules: Any) -> Any:
        found = real(pool, members, slices, rules)
        if found.problem == "incomplete":
            return pools._validated(pool, members, members, rules)
        return found

    patch.setattr(pools, "_built", built)


def _never_obsolete(patch: Patch) -> None:
    real = pools._built

    def built(pool: Any, members: Any, slices: Any, rules: Any) -> Any:
        found = real(pool, members, slices, rules)
        return found._replace(problem="incomplete") if found.problem == "obsolete" else found

    patch.setattr(pools, "_built", built)


def _no_others(patch: Patch) -> None:
    real = pools._validated

    def validated(pool: Any, members: Any, whole: Any, rules: Any) -> Any:
        return real(pool, members, members, rules)

    patch.setattr(pools, "_validated", validated)


def _administrators_respect(patch: Patch) -> None:
    def in_use(self: Any, request: Any, entry: Any) -> bool:
        return entry in self.taken or entry.id in self._state.exclusive

    patch.setattr(reservations.Reservations, "in_use", in_use)


def _administrators_take_twice(patch: Patch) -> None:
    real = reservations.Reservations.in_use

    def in_use(self: Any, request: Any, entry: Any) -> bool:
        return not request.admin and real(self, request, entry)

    patch.setattr(reservations.Reservations, "in_use", in_use)


def _taken_is_free(patch: Patch) -> None:
    real = reservations.Reservations.in_use

    def in_use(self: Any, request: Any, entry: Any) -> bool:
        kept, self.taken = self.taken, {}
        try:
            return real(self, request, entry)
        finally:
            self.taken = kept

    patch.setattr(reservations.Reservations, "in_use", in_use)


def _allocated_is_free(patch: Patch) -> None:
    def in_use(self: Any, request: Any, entry: Any) -> bool:
        holders = self.taken.get(entry)
        if request.admin:
            return holders is not None and request.key[0] in holders
        return holders is not None

    patch.setattr(reservations.Reservations, "in_use", in_use)


def _allocated_draw_nothing(patch: Patch) -> None:
    patch.setattr(counters.Counters, "_allocated", _never)


def _no_rounding(patch: Patch) -> None:
    patch.setattr(
        capacity,
        "_rounded_to_range",
        lambda _name, asked, _policy, _rules: (asked, "BinarySI"),
    )


def _no_valid_values(patch: Patch) -> None:
    real = capacity._rounded

    def rounded(name: str, asked: Any, given: Any, rules: Any) -> Any:
        if asked is not None and given.request_policy and given.request_policy.valid_values:
            return asked.nanos, asked.format
        return real(name, asked, given, rules)

    patch.setattr(capacity, "_rounded", rounded)


def _no_default_share(patch: Patch) -> None:
    real = capacity._rounded

    def rounded(name: str, asked: Any, given: Any, rules: Any) -> Any:
        return (0, "BinarySI") if asked is None else real(name, asked, given, rules)

    patch.setattr(capacity, "_rounded", rounded)


def _consumed_is_left(patch: Patch) -> None:
    real = capacity.shortfall

    def shortfall(asked: Any, entry: Any, consumed: Any, taking: Any, rules: Any) -> Any:
        return real(asked, entry, {}, taking, rules)

    patch.setattr(reservations, "shortfall", shortfall)


def _taking_is_left(patch: Patch) -> None:
    real = capacity.shortfall

    def shortfall(asked: Any, entry: Any, consumed: Any, taking: Any, rules: Any) -> Any:
        return real(asked, entry, consumed, {}, rules)

    patch.setattr(reservations, "shortfall", shortfall)


def _missing_capacity(patch: Patch) -> None:
    real = capacity.shortfall

    def shortfall(asked: Any, entry: Any, consumed: Any, taking: Any, rules: Any) -> Any:
        known = {k: v for k, v in (asked or {}).items() if k in entry.device.capacity}
        return real(known, entry, consumed, taking, rules)

    patch.setattr(reservations, "shortfall", shortfall)
    patch.setattr(allocation, "shortfall", shortfall)


def _kinds_all_alike(patch: Patch) -> None:
    def kinds(plan: Any, covered: Any, candidates: Any, state: Any, rules: Any) -> Any:
        return {entry: 0 for entries in candidates.values() for entry in entries}

    patch.setattr(pruning, "_kinds", kinds)


def _binding_conditions_known(patch: Patch) -> None:
    real = allocator_judge.features
    patch.setattr(
        allocator_judge,
        "features",
        lambda asked: real(asked)._replace(binding=True, device_status=True),
    )


def _setting(target: Any, name: str, value: object) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(target, name, value)


def _limit(number: int) -> Callable[[Patch], None]:
    def mutate(patch: Patch) -> None:
        patch.setattr(search, "MOST_RESULTS", number)
        patch.setattr(allocation, "MOST_RESULTS", number)

    return mutate


def _feature(name: str) -> Callable[[Patch], None]:
    """Return a mutation that takes a feature for on."""

    def mutate(patch: Patch) -> None:
        real = allocator_judge.features
        patch.setattr(
            allocator_judge, "features", lambda asked: real(asked)._replace(**{name: True})
        )

    return mutate


def _without(name: str) -> Callable[[Patch], None]:
    """Return a mutation that takes a feature for off."""

    def mutate(patch: Patch) -> None:
        real = allocator_judge.features
        patch.setattr(
            allocator_judge, "features", lambda asked: real(asked)._replace(**{name: False})
        )

    return mutate


MUTATIONS: Final[dict[str, Callable[[Patch], None]]] = {
    "taints are ignored": _setting(reservations, "untolerated", _always(None)),
    "every toleration fits": _setting(taints, "tolerates", _true),
    "no toleration fits": _setting(taints, "tolerates", _never),
    "every effect prevents": _flag("all_effects", value=True),
    "counters are not drawn": _setting(counters.Counters, "take", _always(None)),
    "counters are not given back": _setting(counters.Counters, "give", _always(None)),
    "allocated devices draw no counters": _allocated_draw_nothing,
    "shared devices draw counters each time": _flag("skips_counters", value=False),
    "every node matches": _setting(pools, "node_matches", _true),
    "devices match every node": _setting(search, "node_matches", _true),
    "allocated devices are free": _allocated_is_free,
    "taken devices are free": _taken_is_free,
    "administrators respect others": _administrators_respect,
    "administrators take twice": _administrators_take_twice,
    "selectors of classes are not asked": _no_class_selectors,
    "selectors of requests are not asked": _no_request_selectors,
    "a failing selector does not match": _errors_do_not_match,
    "all capacity fits": _setting(reservations, "shortfall", _always(None)),
    "no policy is violated": _setting(capacity, "_violates", _never),
    "ranges do not round": _no_rounding,
    "valid values do not round": _no_valid_values,
    "no default share": _no_default_share,
    "consumed capacity is left": _consumed_is_left,
    "capacity being taken is left": _taking_is_left,
    "missing capacities are ignored": _missing_capacity,
    "match constraints always hold": _setting(constraints._Match, "add", _true),
    "distinct constraints always hold": _setting(constraints._DistinctByRequest, "add", _true),
    "distinct looks at all devices": _flag("distinct_by_request", value=False),
    "constraints cover all requests": _setting(constraints._Scope, "applies", _true),
    "attributes are not looked up without domain": _setting(
        constraints, "attribute_of", lambda entry, name: entry.device.attributes.get(name)
    ),
    "old generations count": _all_generations,
    "pools are always complete": _always_complete,
    "obsolete pools are incomplete": _never_obsolete,
    "slices of other nodes draw no counters": _no_others,
    "device names may repeat": _setting(pools, "_repeated_device", _always("")),
    "counters need not exist": _setting(pools, "_unknown_counter", _always("")),
    "pools and slices are not sorted": _flag("sorts", value=False),
    "pools with binding conditions are not last": _flag("binding_last", value=False),
    "slices of counters obey their node": _flag("counters_follow_node", value=True),
    "counters are per pool": _flag("counter_scope", value="pool"),
    "33 devices": _limit(33),
    "31 devices": _limit(31),
    "requests restart": _flag("restarts", value=True),
    "nothing is rolled back": _flag("clean_rollback", value=False),
    "alternative 0 continues": _flag("sub_request_zero", value=True),
    "capacity by position": _flag("capacity_by_index", value=True),
    "no distinct constraints": _flag("has_distinct", value=False),
    "no gate for capacity": _flag("checks_capacity_gate", value=False),
    "tolerations are not copied": _flag("copies_tolerations", value=False),
    "devices never bind": _flag("binds_to_node", value=False),
    "configuration once": _flag("config_once", value=True),
    "mode All looks at the static capacity": _flag("static_all", value=True),
    "the limit counts requests": _flag("limit_counts_requests", value=True),
    "errors name devices": _flag("names_device", value=True),
    "binding gates are on": _binding_conditions_known,
    "gate of alternatives is on": _feature("prioritized_list"),
    "gate of administrators is on": _feature("admin_access"),
    "gate of taints is on": _feature("device_taints"),
    "gate of counters is on": _feature("partitionable"),
    "gate of capacity is on": _feature("consumable_capacity"),
    "no configuration": _setting(results, "_config", _always([])),
    "no node selector": _setting(results, "_node_selector", _always(None)),
    "an empty node selector": _setting(results, "_node_selector", _always(NodeSelector([]))),
    "all devices are alike": _kinds_all_alike,
    "pruning ignores errors": _setting(pruning, "_path_free", _true),
}
ONLY_IN_37: Final[dict[str, Callable[[Patch], None]]] = {
    "values of lists need not meet": _setting(constraints._MatchSets, "add", _true),
    "distinct always holds": _setting(constraints._Distinct, "add", _true),
    "lists are unknown": _without("list_attributes"),
    "mode All looks at what is left": _flag("static_all", value=False),
    "configuration for each request": _flag("config_once", value=False),
    "errors name no device": _flag("names_device", value=False),
    "slices of counters reach all nodes": _flag("counters_follow_node", value=False),
    "counters by pool name": _flag("counter_scope", value="pool name"),
    "distinct by request": _flag("distinct_by_request", value=True),
    "steps of thousandths are unknown": _without("fractional_range"),
}


@pytest.mark.parametrize("minor", [36, 37])
def test_without_mutation_nothing_is_noticed(minor: int) -> None:
    """The comparison that the mutations have to break holds."""
    assert not _noticed(minor)


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_rule_that_is_disabled_is_noticed(name: str, monkeypatch: Patch) -> None:
    """One rule of 1.36 less, and Kubernetes decides some cluster differently."""
    _asked(36)
    MUTATIONS[name](monkeypatch)
    assert _noticed(36)


@pytest.mark.parametrize("name", ONLY_IN_37)
def test_a_rule_of_37_that_is_disabled_is_noticed(name: str, monkeypatch: Patch) -> None:
    """One rule of 1.37 less, and Kubernetes decides some cluster differently."""
    _asked(37)
    ONLY_IN_37[name](monkeypatch)
    assert _noticed(37)
