"""Rules for capacity floors: nameplate sizes, memory of 0, wrong suffixes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.diagnose.lint.accesses import Access, Hypothesis, accesses, conjuncts, outcomes
from claimfit.diagnose.lint.compiled import compiled
from claimfit.diagnose.lint.guards import passes
from claimfit.diagnose.lint.on_devices import devices_reached
from claimfit.dra.cel.syntax import Call, Literal, Node
from claimfit.errors import InputError
from claimfit.hardware.accelerators import accelerators
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claimfit.diagnose.lint.finding import Report
    from claimfit.diagnose.lint.published import World
    from claimfit.diagnose.lint.selector import Selector

__all__ = ["check"]

_NANOS: Final = 10**9
_MIB: Final = 1 << 20
_GIB: Final = 1 << 30
_NEAR: Final = (8, 100)
"""A floor that is missed by at most this share was likely meant to be met: published sizes are
0.01 % (MI300X) to 6 % (L40S) below the nameplate read as GiB."""
_SMALLEST_MEMORY: Final = 64 * _MIB
_SHOWN: Final = 3


class _Floor(NamedTuple):
    """A clause that wants at least so much of a capacity."""

    access: Access
    literal: Literal
    text: str
    wanted: Quantity
    strict: bool


class _Size(NamedTuple):
    """What a device publishes."""

    label: str
    value: Quantity
    product: str


def check(selector: Selector, report: Report, world: World) -> set[Node]:
    """Report on the capacity floors of `selector`; return the clauses reported."""
    reported: set[Node] = set()
    for clause in conjuncts(selector.program.tree):
        floor = _floor(clause)
        if floor is None:
            continue
        before = len(report.findings)
        memory = floor.access.name.lower().endswith("memory")
        if not memory or _check_suffix(floor, selector, report):
            sizes = list(_published(floor, clause, selector, world))
            real = bool(sizes)
            if not real:
                sizes = list(_listed(floor, selector))
            _check_sizes(floor, sizes, selector, report, real=real)
        if len(report.findings) > before:
            reported.add(clause)
    return reported


# --- recognising a floor --------------------------------------------------------------------------


def _floor(clause: Node) -> _Floor | None:
    """Return the floor that `clause` is: ``compareTo(q) >= 0`` and its other spellings."""
    if not isinstance(clause, Call):
        return None
    if clause.function in {"_>=_", "_>_"} and _is_zero(clause.arguments[1]):
        return _method(clause.arguments[0], "compareTo", strict=clause.function == "_>_")
    if clause.function == "isGreaterThan":
        return _method(clause, "isGreaterThan", strict=True)
    if clause.function == "!_":
        return _method(clause.arguments[0], "isLessThan", strict=False)
    return None


def _is_zero(node: Node) -> bool:
    return isinstance(node, Literal) and node.value == 0 and not isinstance(node.value, bool)


def _method(node: Node, name: str, *, strict: bool) -> _Floor | None:
    if not isinstance(node, Call) or node.function != name or node.target is None:
        return None
    access = next((item for item in accesses(node.target) if item.node is node.target), None)
    made = node.arguments[0]
    if access is None or access.table != "capacity" or not isinstance(made, Call):
        return None
    literal = made.arguments[0] if made.function == "quantity" and made.arguments else None
    if not isinstance(literal, Literal) or not isinstance(literal.value, str):
        return None
    try:
        return _Floor(access, literal, literal.value, Quantity.parse(literal.value), strict)
    except InputError:
        return None


# --- what devices publish -------------------------------------------------------------------------


def _published(floor: _Floor, clause: Node, selector: Selector, world: World) -> Iterator[_Size]:
    """Yield what the devices there publish that pass the other clauses."""
    domain, name = floor.access.domain, floor.access.name
    others = [
        program
        for other in conjuncts(selector.program.tree)
        if other is not clause
        for program in [
            compiled(selector.text.text[other.start : other.stop], world.profile, new=False).program
        ]
        if program is not None
    ]
    for row in devices_reached(selector, world):
        if row.id.driver != domain or not all(
            program.evaluate(row.device, domain).matches for program in others
        ):
            continue
        capacity = row.device.capacity.get(name) or row.device.capacity.get(f"{domain}/{name}")
        value = _quantity(str(capacity.value)) if capacity is not None else None
        if value is not None:
            product = _product(
                {
                    key: attribute.string
                    for key, attribute in row.device.attributes.items()
                    if attribute.string
                }
            )
            label = f"device {row.id.device} of {row.node}" + (f" ({product})" if product else "")
            yield _Size(label, value, product)


def _listed(floor: _Floor, selector: Selector) -> Iterator[_Size]:
    """Yield what the accelerator table says that devices of the driver publish."""
    domain = floor.access.domain
    for accelerator in accelerators():
        for published in accelerator.published:
            if published.driver != domain:
                continue
            texts = {name: value for name, value in published.attributes if isinstance(value, str)}
            values = {(domain, name): value for name, value in texts.items()}
            device = Hypothesis(domain, values, None)
            text = dict(published.capacities).get(floor.access.name)
            value = _quantity(text) if text else None
            if value is None or "true" not in outcomes(selector.program.tree, device):
                continue
            if passes(selector, device):
                product = _product(texts) or accelerator.name
                yield _Size(product, value, product)


def _product(texts: dict[str, str]) -> str:
    """Return the name of a device's product, with its profile when it is a partition."""
    product = next((texts[name] for name in ("productName", "model") if name in texts), "")
    return f"{product} {texts['profile']}".strip() if "profile" in texts else product


def _quantity(text: str) -> Quantity | None:
    try:
        return Quantity.parse(text)
    except InputError:
        return None


# --- findings -------------------------------------------------------------------------------------


def _check_suffix(floor: _Floor, selector: Selector, report: Report) -> bool:
    """Report memory that is asked for in bytes or KiB; return False when it was."""
    text = floor.text
    if not 0 < floor.wanted.nanos < _SMALLEST_MEMORY * _NANOS:
        return True
    number = text.rstrip("kKiMmuneE")
    report.add_at(
        "LNT051",
        "warning",
        selector.path,
        f"{text} of {floor.access.name} is {_amount(floor.wanted)}, less than any device has: the "
        "clause is always true",
        selector.text.place(floor.literal.start),
        fix=f"{number}Gi is 2**30 bytes times {number}, {number}Mi is 2**20 times {number}",
    )
    return False


def _check_sizes(
    floor: _Floor, sizes: list[_Size], selector: Selector, report: Report, *, real: bool
) -> None:
    meets = [size for size in sizes if _meets(size.value, floor)]
    zero = [size for size in sizes if not size.value.sign]
    if real and zero and not meets:
        _report_zero(floor, zero, sizes, selector, report)
        return
    short = {
        size.label: size
        for size in sizes
        if size.value.sign > 0 and not _meets(size.value, floor) and _is_near(size.value, floor)
    }
    if not short or (meets and not _is_nameplate(floor)):
        return  # an odd amount such as 83961Mi was computed, not read off a box
    ordered = sorted(short.values(), key=lambda size: (-size.value.nanos, size.label))
    nearest = ordered[0]
    if real and not meets:
        message = (
            f"no device there has enough: the closest, {nearest.label}, publishes "
            f"{_in_mib(nearest.value)}, {_gap(nearest.value, floor)}"
            f"{_mib_note(floor)}"
        )
    else:
        distinct = _distinct(ordered)
        shown = [
            f"{size.product or size.label} publishes {_in_mib(size.value)}, "
            f"{_gap(size.value, floor)}"
            for size in distinct[:_SHOWN]
        ]
        more = len(distinct) - len(shown)
        tail = f"; and {more} more" if more > 0 else ""
        message = f"{floor.text} leaves out devices: {'; '.join(shown)}{tail}"
    report.add_at(
        "LNT052",
        "error" if real and not meets else "warning",
        selector.path,
        message,
        selector.text.place(floor.literal.start),
        fix=_lower(floor, ordered),
    )


def _report_zero(
    floor: _Floor, zero: list[_Size], sizes: list[_Size], selector: Selector, report: Report
) -> None:
    name = floor.access.name
    all_of = {1: "the device publishes", 2: "both devices publish"}.get(
        len(zero), f"all {len(zero)} devices publish"
    )
    if len(zero) < len(sizes):
        all_of = f"{len(zero)} of {len(sizes)} devices publish"
    report.add_at(
        "LNT053",
        "error",
        selector.path,
        f"{all_of} {name} 0 ({zero[0].label}): that is the driver reporting nothing, not a real "
        "size (gpu.intel.com does so without xpumd and without privileges)",
        selector.text.place(floor.literal.start),
        fix="repair the driver's installation before lowering the floor",
    )


def _is_nameplate(floor: _Floor) -> bool:
    """Whether the floor is a whole number of GiB or GB."""
    return not floor.wanted.nanos % (_GIB * _NANOS) or not floor.wanted.nanos % 10**18


def _meets(value: Quantity, floor: _Floor) -> bool:
    return value > floor.wanted if floor.strict else value >= floor.wanted


def _is_near(value: Quantity, floor: _Floor) -> bool:
    share, whole = _NEAR
    return (floor.wanted.nanos - value.nanos) * whole <= floor.wanted.nanos * share


def _gap(value: Quantity, floor: _Floor) -> str:
    """Return how `value` stands to the floor: ``361Mi below 80Gi``."""
    less = floor.wanted - value
    if less.sign:
        return f"{_amount(less)} below {floor.text}"
    return f"no more than {floor.text} (the comparison is strict)"


def _distinct(sizes: list[_Size]) -> list[_Size]:
    """Return one of each product and size, most first."""
    return list({(size.product or size.label, size.value): size for size in sizes}.values())


def _amount(value: Quantity) -> str:
    if value.nanos % (_MIB * _NANOS) == 0:
        return f"{value.nanos // (_MIB * _NANOS)}Mi"
    if value.nanos % _NANOS == 0:
        return f"{value.nanos // _NANOS} bytes"
    return str(value)


def _in_mib(value: Quantity) -> str:
    return _amount(value) if value.nanos % (_MIB * _NANOS) == 0 else str(value)


def _mib_note(floor: _Floor) -> str:
    wanted = _amount(floor.wanted)
    return "" if wanted == floor.text else f" ({wanted})"


def _lower(floor: _Floor, short: list[_Size]) -> str:
    """Return floors that would let the nearest device in: less GiB, and decimal GB if that does."""
    value = short[0].value
    whole = (value.nanos - floor.strict) // (_GIB * _NANOS)
    options = [f"{whole}Gi"] if whole else [_in_mib(value)]
    text = floor.text
    if text.endswith("Gi"):
        decimal = Quantity.parse(text[:-1])
        if value > decimal or (value == decimal and not floor.strict):
            options.insert(0, f"{text[:-1]} (decimal)")
    verb = "matches" if len(options) == 1 else "match"
    return f"{' or '.join(options)} {verb} {short[0].label}"
