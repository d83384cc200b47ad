"""Devices folded into rows: those that give a request the same answer for the same values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.diagnose.gaps import (
    Bound,
    amount_text,
    comparison,
    gap,
    reading,
    short_text,
    values_seen,
)
from claimfit.diagnose.selection import clauses
from claimfit.diagnose.tree import ClauseAnswer, DeviceRow
from claimfit.dra.allocator.requests import claim_text
from claimfit.dra.amounts import nanos_of
from claimfit.dra.cel.program import Program, compile_selector
from claimfit.dra.reasons import Reason
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claimfit.diagnose.cluster import Cluster
    from claimfit.diagnose.tree import NodeAnswer
    from claimfit.dra.inventory import DeviceId
    from claimfit.dra.objects import (
        DeviceAttribute,
        DeviceCapacity,
        DeviceSelector,
        DeviceSubRequest,
        ExactDeviceRequest,
    )
    from claimfit.dra.pools import PooledDevice

__all__ = ["Numbered", "RowMaker", "numbered", "product_of"]

_ORDER: Final = (
    "request-selector-error",
    "class-selector-error",
    "request-selector-false",
    "device-in-use",
    "taint-untolerated",
    "counters-short",
    "capacity-short",
    "capacity-policy",
    "capacity-missing",
    "capacity-error",
    "not-on-node",
    "binding-unsupported",
    "counters-unsupported",
    "",
    "class-selector-false",
)
_PRODUCT_NAMES: Final = ("productName", "model", "accelerator")


class Numbered(NamedTuple):
    """A clause with its number among all clauses of a request, and the selector it is part of."""

    number: int
    selector: int
    expression: str


def numbered(selectors: Sequence[DeviceSelector], cluster: Cluster) -> list[Numbered]:
    """Return the clauses of `selectors`, counted from 1."""
    found: list[Numbered] = []
    for index, selector in enumerate(selectors):
        if selector.cel is not None:
            for text in clauses(selector.cel.expression, cluster.profile):
                found.append(Numbered(len(found) + 1, index, text))
    return found


def product_of(entry: PooledDevice) -> str:
    """Return what the device calls itself, or an empty text."""
    for name in _PRODUCT_NAMES:
        found = entry.device.attributes.get(name)
        if found is not None and found.string:
            return found.string
    return ""


class _Request(NamedTuple):
    """What of a request selects devices."""

    name: str
    device_class: str
    selectors: list[DeviceSelector]


class RowMaker:
    """Makes rows of a cluster's devices."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._entries = {
            entry.id: entry
            for parts in cluster.allocator.slices.by_pool.values()
            for part in parts
            for entry in part.devices
        }
        self._clauses: dict[tuple[str, ...], list[Numbered]] = {}
        self._told: dict[tuple[object, ...], tuple[str, str, str, str, float]] = {}
        """What devices with the same values were told: most of a cluster's are alike."""

    def entry(self, device: DeviceId) -> PooledDevice:
        """Return the device called so; of two of one name, the last that was published."""
        return self._entries[device]

    def rows(self, nodes: Iterable[NodeAnswer]) -> tuple[DeviceRow, ...]:
        """Return all devices of the nodes that were asked, most useful rows first."""
        places: dict[tuple[object, ...], dict[str, list[str]]] = {}
        for node in nodes:
            if node.explanation is None:
                continue
            for request in node.explanation.requests:
                wanted = self._request(node, request.claim, request.request)
                for answer in request.devices:
                    entry = self._entries[answer.device]
                    key = (
                        request.claim,
                        request.request,
                        *self._said(answer.reason, entry, wanted),
                    )
                    found = places.setdefault(key, {})
                    found.setdefault(node.node, []).append(answer.device.device)
        made = [self._row(key, found) for key, found in places.items()]
        return tuple(sorted(made, key=_usefulness))

    def _row(self, key: tuple[object, ...], places: dict[str, list[str]]) -> DeviceRow:
        claim, request, code, text, detail, product, off_by = key
        return DeviceRow(
            str(claim),
            str(request),
            str(code),
            str(text),
            str(detail),
            str(product),
            tuple((node, tuple(devices)) for node, devices in places.items()),
            off_by if isinstance(off_by, float) else 0.0,
        )

    def _said(
        self, reason: Reason | None, entry: PooledDevice, request: _Request
    ) -> tuple[str, str, str, str, float]:
        """Return (code, text, detail, product, off by) of a device."""
        product = product_of(entry)
        if reason is None:
            return "", "fits and is free", "", product, 0.0
        if reason.code == "device-in-use":
            # Freeing it is no help where a selector is false too, which the allocator does not ask.
            reason = self._false_anyway(request, entry) or reason
        code, values = reason.code, reason.values
        if code.startswith("class-selector"):
            return (code, *self._of_class(reason, entry), "", 0.0)
        if code.startswith("request-selector"):
            key = (id(request.selectors), code, product, *self._read(values["expression"], entry))
            if key not in self._told:
                self._told[key] = self._of_clause(reason, entry, request.selectors, product)
            return self._told[key]
        if code == "device-in-use":
            return code, "matches, but is in use", self._held(values["holders"]), product, 0.0
        if code == "capacity-short":
            held = self._held(values["holders"])
            return code, reason.text, f"shared by {held}" if held else "", product, 0.0
        if code == "taint-untolerated":
            shown = f"{values['key']}={values['value']}" if values["value"] else values["key"]
            detail = f"{shown}:{values['effect']}"
            return code, "matches, but its taint is not tolerated", detail, product, 0.0
        if code == "counters-short":
            text = f"matches, but counter set {values['counter set']} is used up"
            wanted, left = (
                amount_text(nanos_of(values[key]), binary=values["counter"] == "memory")
                for key in ("wanted", "left")
            )
            detail = f"{values['counter']}: {wanted} wanted, {left} left"
            if values["holders"]:
                detail += f"; drawn by device {values['holders']}"
            return code, text, detail, product, 0.0
        return code, reason.text, "", product, 0.0

    def _of_class(self, reason: Reason, entry: PooledDevice) -> tuple[str, str]:
        """Return text and detail of a device that the class does not admit."""
        profile = self._cluster.profile
        name = reason.values["class"]
        if reason.code.endswith("error"):
            return f"selector of class {name} fails", reason.values["error"]
        for clause in clauses(reason.values["expression"], profile):
            if self._cluster.allocator.selectors.answer(clause, entry) is not True:
                seen = values_seen(clause, entry, profile)
                detail = f"{short_text(clause, profile)} is false" + (f": {seen}" if seen else "")
                return f"not of class {name}", detail
        return f"not of class {name}", ""

    def _of_clause(
        self,
        reason: Reason,
        entry: PooledDevice,
        selectors: Sequence[DeviceSelector],
        product: str,
    ) -> tuple[str, str, str, str, float]:
        profile, answer = self._cluster.profile, self._cluster.allocator.selectors.answer
        failed = reason.code.endswith("error")
        index = int(reason.values["selector"])
        for clause in self._numbered(selectors):
            if clause.selector != index or answer(clause.expression, entry) is True:
                continue
            if failed and answer(clause.expression, entry) is False:
                continue
            test = comparison(clause.expression, profile)
            missed = gap(test, entry) if isinstance(test, Bound) else None
            if failed:
                detail = reason.values["error"]
            elif missed is not None:
                detail = f"{missed.name} {missed.found}, {missed.short} short of {missed.wanted}"
            else:
                detail = values_seen(clause.expression, entry, profile)
            verb = "fails" if failed else "is false"
            off_by = missed.share if missed is not None else 0.0
            return reason.code, f"clause {clause.number} {verb}", detail, product, off_by
        return reason.code, reason.text, "", product, 0.0

    def _read(self, expression: str, entry: PooledDevice) -> tuple[object, ...]:
        """Return the expression with what tells its answers on devices apart."""
        compiled = compile_selector(expression, self._cluster.profile)
        if not isinstance(compiled, Program):
            return (expression,)
        seen: list[object] = [expression, entry.id.driver]
        for read in compiled.reads:
            if read.kind not in {"attributes", "capacity"} or not read.name:
                if read.kind != "driver":
                    return (expression, entry.id)  # it may read anything: no two are alike
                continue
            found = reading(entry, read.kind, read.domain, read.name)
            seen.append(None if found is None else repr(found.value) + str(_is_version(found)))
        return tuple(seen)

    def _numbered(self, selectors: Sequence[DeviceSelector]) -> list[Numbered]:
        key = tuple(item.cel.expression if item.cel else "" for item in selectors)
        if key not in self._clauses:
            self._clauses[key] = numbered(selectors, self._cluster)
        return self._clauses[key]

    def _held(self, holders: str) -> str:
        shown = []
        for claim in filter(None, holders.split(", ")):
            users = self._cluster.users(claim)
            shown.append(f"claim {claim}" + "".join(f", {user}" for user in users))
            if not users:
                shown[-1] += " (no pod uses it)"
        return "; ".join(shown)

    def _false_anyway(self, request: _Request, entry: PooledDevice) -> Reason | None:
        """Return the reason of the first selector that is false on a device in use."""
        answer = self._cluster.allocator.selectors.answer
        device_class = self._cluster.classes.get(request.device_class)
        owners = (
            ("class", request.device_class, device_class.spec.selectors if device_class else ()),
            ("request", request.name, request.selectors),
        )
        for owner, name, selectors in owners:
            for index, selector in enumerate(selectors):
                expression = selector.cel.expression if selector.cel else ""
                found = answer(expression, entry)
                if found is False:
                    values = {owner: name, "selector": str(index), "expression": expression}
                    text = f"selector #{index} of {owner} {name} is false"
                    return Reason(f"{owner}-selector-false", text, entry.id, values)
                if found is not True:
                    return None
        return None

    def _request(self, node: NodeAnswer, claim: str, request: str) -> _Request:
        """Return class and selectors of a request (or alternative) by its name."""
        base, _, sub = request.partition("/")
        for item in node.claims:
            if claim_text(item) != claim:
                continue
            for wanted in item.spec.devices.requests:
                if wanted.name != base:
                    continue
                spec: ExactDeviceRequest | DeviceSubRequest | None = wanted.exactly
                for alternative in wanted.first_available:
                    if alternative.name == sub:
                        spec = alternative
                if spec is not None:
                    return _Request(request, spec.device_class_name, spec.selectors)
        return _Request(request, "", [])

    def clause_answers(
        self,
        selectors: Sequence[DeviceSelector],
        class_selectors: Sequence[DeviceSelector],
        devices: Sequence[PooledDevice],
    ) -> tuple[ClauseAnswer, ...]:
        """Return for each clause on how many of the devices of the class it is false or fails."""
        answer = self._cluster.allocator.selectors.answer
        admitted = [
            entry
            for entry in devices
            if all(
                item.cel and answer(item.cel.expression, entry) is True for item in class_selectors
            )
        ]
        whole = [item.cel.expression if item.cel else "" for item in selectors]
        found = []
        for clause in self._numbered(selectors):
            false = failing = true = 0
            for entry in admitted:
                said = answer(clause.expression, entry)
                # An error beside a clause that is false is absorbed: it is none of the selector's.
                if said is True:
                    true += 1
                elif said is False:
                    false += 1
                elif answer(whole[clause.selector], entry) is not False:
                    failing += 1
            short = short_text(clause.expression, self._cluster.profile)
            found.append(
                ClauseAnswer(
                    clause.number, short, clause.expression, false, failing, true, len(admitted)
                )
            )
        return tuple(found)


def _is_version(found: DeviceAttribute | DeviceCapacity) -> bool:
    return getattr(found, "version", None) is not None


def _usefulness(row: DeviceRow) -> tuple[object, ...]:
    rank = _ORDER.index(row.code) if row.code in _ORDER else len(_ORDER)
    return (row.claim, row.request, rank, row.off_by or 2.0, -row.number, row.text, row.detail)
