"""Fits engine, families and devices together, and judges the fit on what was left out of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import speed_fit

from claimfit.sizing.coefficients import family

if TYPE_CHECKING:
    from collections.abc import Sequence

    from speed_rows import Row

MEASURED_ROWS = 8
MEASURED_MODELS = 4
"""What a device needs for coefficients of its own."""
FEW_ROWS = 10
"""Fewer rows of a kind of model give no spread of their own."""
MANY_DEVICES = 8
"""Devices of a family that tell how much its devices differ from each other."""
LOW, HIGH = 0.08, 0.88
"""Quantiles of the errors that become p10 and p90. Below 0.10, since the quantile of a few rows is
itself uncertain and a promise that is broken costs more than a device that is left out."""

Parameters = dict[str, float]


class Fits(NamedTuple):
    """Parameters of one engine."""

    engine: Parameters
    families: dict[str, Parameters]
    devices: dict[str, Parameters]


class Judged(NamedTuple):
    """One prediction of a row that the fit had not seen."""

    row: Row
    log_error: float
    """log(predicted / measured speed)."""
    low: float
    """p10 as a share of p50, from the errors of other devices."""
    high: float


def of_engines(rows: Sequence[Row], *engines: str) -> list[Row]:
    """Return the rows of `engines`, in a fixed order."""
    return sorted(
        (row for row in rows if row.engine.name in engines),
        key=lambda row: (
            row.engine.name,
            row.device.id,
            row.label,
            row.workload,
            row.tokens_per_second,
        ),
    )


def engine_fit(rows: Sequence[Row], engine: str) -> Parameters:
    """Return what all devices under an engine give together; servers lean on each other's rows."""
    prior = speed_fit.START[engine]
    limit = speed_fit.DEVICE_ROWS[engine]
    if engine in speed_fit.SERVERS:
        both = speed_fit.fit(of_engines(rows, *speed_fit.SERVERS), prior, per_device=limit)
        prior = speed_fit.around(both, {}, speed_fit.SERVER_SPREAD)
    return speed_fit.fit(of_engines(rows, engine), prior, per_device=limit)


def family_fit(rows: Sequence[Row], name: str, whole: Parameters, engine: str) -> Parameters:
    """Return the parameters of one family; `whole`, the engine's, where it has no rows."""
    own = [row for row in of_engines(rows, engine) if family(row.device) == name]
    prior = speed_fit.family_prior(whole, engine, name)
    return speed_fit.fit(own, prior, per_device=speed_fit.DEVICE_ROWS[engine])


def device_fit(rows: Sequence[Row], kin: Parameters) -> Parameters:
    """Return the parameters of the one device that `rows` are of."""
    if not rows:
        return kin
    return speed_fit.fit(rows, speed_fit.device_prior(kin, rows[0].engine.name))


def measured_devices(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the devices with enough rows for coefficients of their own."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.device.id].append(row)
    return {
        name: group
        for name, group in sorted(groups.items())
        if len(group) >= MEASURED_ROWS and len({row.label for row in group}) >= MEASURED_MODELS
    }


def fit_all(rows: Sequence[Row], engine: str) -> Fits:
    """Return every fit of one engine; `rows` are of all engines."""
    whole = engine_fit(rows, engine)
    mine = of_engines(rows, engine)
    families = {
        name: family_fit(rows, name, whole, engine)
        for name in sorted({family(row.device) for row in mine})
    }
    devices = {
        name: device_fit(group, families[family(group[0].device)])
        for name, group in measured_devices(mine).items()
    }
    return Fits(whole, families, devices)


class Errors(NamedTuple):
    """Log errors of left-out rows under the kinds of coefficients."""

    measured: list[tuple[Row, float]]
    """The device is calibrated, the row's architecture was left out."""
    family: list[tuple[Row, float]]
    """The device was left out, its family was not."""
    prior: list[tuple[Row, float]]
    """The device was left out and its family is not used."""
    architecture: list[tuple[Row, float]]
    """The architecture was left out everywhere; the device was not."""


def cross_validate(rows: Sequence[Row], engine: str) -> Errors:
    """Return the errors of rows that were left out, by device and by architecture."""
    errors = Errors([], [], [], [])
    mine = of_engines(rows, engine)
    calibrated = measured_devices(mine)
    for device in sorted({row.device.id for row in mine}):
        own = [row for row in mine if row.device.id == device]
        rest = [row for row in rows if row.device.id != device]
        whole = engine_fit(rest, engine)
        kin = family_fit(rest, family(own[0].device), whole, engine)
        errors.prior.extend(zip(own, speed_fit.log_errors(own, whole), strict=True))
        errors.family.extend(zip(own, speed_fit.log_errors(own, kin), strict=True))
        if device not in calibrated:
            continue
        for architecture in sorted({row.architecture for row in own}):
            seen = [row for row in own if row.architecture != architecture]
            unseen = [row for row in own if row.architecture == architecture]
            fitted = device_fit(seen, kin)
            errors.measured.extend(zip(unseen, speed_fit.log_errors(unseen, fitted), strict=True))
    for name in sorted({kind_of_model(row) for row in mine}):
        fits = fit_all([row for row in rows if kind_of_model(row) != name], engine)
        for row in mine:
            if kind_of_model(row) == name:
                kin = fits.families.get(family(row.device), fits.engine)
                error = speed_fit.log_errors([row], fits.devices.get(row.device.id, kin))
                errors.architecture.append((row, float(error[0])))
    return errors


def kind_of_model(row: Row) -> str:
    """Return what is left out as one architecture: Kimi K2 is DeepSeek V3's, in other words."""
    return row.architecture.replace("kimi_k2", "deepseek_v3")


def spread(errors: Sequence[tuple[Row, float]]) -> tuple[float, float]:
    """Return p10 and p90 as multiples of p50, from the errors of left-out rows.

    log_error is log(predicted / measured), so measured / predicted has the opposite quantiles.
    """
    if not errors:
        return 1.0, 1.0
    # Rows of one architecture on one device err together: n of them count as the root of n.
    alike = Counter((row.device.id, row.architecture) for row, _ in errors)
    order = sorted(
        (-error, alike[row.device.id, row.architecture] ** -0.5) for row, error in errors
    )
    values = np.array([value for value, _ in order])
    weights = np.array([weight for _, weight in order])
    places = (np.cumsum(weights) - weights / 2) / weights.sum()
    low, high = np.exp(np.interp([LOW, HIGH], places, values))
    return float(low), float(high)


class Spreads(NamedTuple):
    """p10 and p90 as multiples of p50, by what is known about the device."""

    measured: tuple[float, float]
    family: tuple[float, float]
    prior: tuple[float, float]


def spreads(errors: Errors, name: str, *, experts: bool, without: str = "") -> Spreads:
    """Return the spreads of the family `name` that the errors of all devices but `without` give.

    Models with `experts` have their own: how fast experts are read depends on kernels that change
    from release to release. A family with many devices has its own too. A measured device is never
    less certain than a relative: an architecture that was left out of the few that a device has is
    a harder question than a device that was left out.
    """

    def of(kind: Sequence[tuple[Row, float]], *, kin: bool = False) -> tuple[float, float]:
        alike = [item for item in kind if item[0].model.is_mixture == experts]
        if len(alike) < FEW_ROWS:
            alike = list(kind)
        others = [item for item in alike if item[0].device.id != without] or alike
        own = [item for item in others if family(item[0].device) == name]
        if kin and len({row.device.id for row, _ in own}) >= MANY_DEVICES:
            return spread(own)
        return spread(others)

    measured, kin, prior = of(errors.measured), of(errors.family, kin=True), of(errors.prior)
    return Spreads((max(measured[0], kin[0]), min(measured[1], kin[1])), kin, prior)


def judged(errors: Errors) -> dict[str, list[Judged]]:
    """Return each kind of error with the interval that the other devices' errors give it."""
    result: dict[str, list[Judged]] = {kind: [] for kind in Errors._fields}
    kin = {row.device.id: family(row.device) for row, _ in errors.family}
    calibrated = {row.device.id for row, _ in errors.measured}
    for device in sorted(kin):
        for experts in (False, True):
            intervals = spreads(errors, kin[device], experts=experts, without=device)
            best = intervals.measured if device in calibrated else intervals.family
            for kind in Errors._fields:
                low, high = getattr(intervals, kind, best)
                result[kind].extend(
                    Judged(row, error, low, high)
                    for row, error in getattr(errors, kind)
                    if row.device.id == device and row.model.is_mixture == experts
                )
    return result
