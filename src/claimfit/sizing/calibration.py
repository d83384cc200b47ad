"""Decode speeds that a user measured, and how they correct the fitted coefficients.

A `Calibration` keeps the measurements themselves, each with what a step moved (`StepTraffic`), so
that reading it needs no model and a better fit in a later version improves old files too.

The correction of one device under one engine has two parameters: a factor on the time that no
bandwidth shortens, and one on the time that bytes take. Both are 1 without measurements; with few
they stay near 1, as a penalty says how much devices of one family differ from each other. Rows that
lie far from the rest count little (Huber), and the spread follows from what is left over.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Final

from claimfit.errors import InputError
from claimfit.records import NamedTuple
from claimfit.sizing.plan import EngineChoice, Parallelism
from claimfit.sizing.speed import step_terms
from claimfit.sizing.traffic import StepTraffic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claimfit.hardware.facts import Accelerator
    from claimfit.sizing.coefficients import Coefficients
    from claimfit.units import Basis

__all__ = [
    "SCHEMA",
    "Calibration",
    "Correction",
    "Observation",
    "correction",
    "dump_calibration",
    "load_calibration",
]

SCHEMA: Final = "claimfit.dev/calibration/v1"

_ROW_SPREAD: Final = 0.10
"""Standard deviation, in log time, that rows of one device keep under its own fit; see
docs/accuracy-speed.md (calibrated devices)."""
_FIXED_SPREAD: Final = 0.5
_BYTES_SPREAD: Final = 0.25
"""How much the two parameters differ between devices of one family, in log time (the same page)."""
_HUBER: Final = 1.5
_ITERATIONS: Final = 25
_NORMAL_P10: Final = 1.2816
_MEASURED_FROM: Final = 3
"""Rows from which on a device counts as measured."""
_OUTLIER: Final = 4.0
_SPREAD_ROWS: Final = 4
"""Weight of the prior spread, in rows."""
_LARGEST_FILE: Final = 16 << 20
_LARGEST_NUMBER: Final = 1e18


class Observation(NamedTuple):
    """One measured decode speed with what its step moved."""

    device: str
    """Id of the accelerator."""
    engine: str
    engine_version: str
    model: str
    quantization: str
    context_tokens: int
    concurrency: int
    tensor: int
    tokens_per_second: float
    """Of one stream."""
    traffic: StepTraffic
    source: str
    """File and row."""

    @property
    def key(self) -> tuple[str, str, str, str, str, int, int, int]:
        """What makes two observations the same measurement: a later one replaces an earlier."""
        return (
            self.device,
            self.engine,
            self.engine_version,
            self.model,
            self.quantization,
            self.context_tokens,
            self.concurrency,
            self.tensor,
        )


class Correction(NamedTuple):
    """Factors on the time of a step, and what is left over."""

    fixed: float
    transfer: float
    spread: float
    """Standard deviation of log time that a new row is expected to show."""
    rows: int
    outliers: tuple[int, ...]
    """Indexes of rows that lie too far off to be believed."""


class Calibration(NamedTuple):
    """What a user measured."""

    observations: tuple[Observation, ...] = ()

    @property
    def devices(self) -> tuple[str, ...]:
        """Ids of the accelerators that were measured, sorted."""
        return tuple(sorted({item.device for item in self.observations}))

    def of(self, device: str, engine: str) -> tuple[Observation, ...]:
        """Return the observations of `device` under `engine`."""
        return tuple(
            item for item in self.observations if (item.device, item.engine) == (device, engine)
        )

    def adjust(
        self, chosen: Coefficients, device: Accelerator, engine: EngineChoice
    ) -> Coefficients:
        """Return `chosen` as corrected by the measurements of this device under this engine."""
        rows = self.of(device.id, engine.name)
        if not rows:
            return chosen
        found = correction(chosen, device, rows)
        wide = math.exp(_NORMAL_P10 * found.spread)
        few = found.rows < _MEASURED_FROM
        basis: Basis = chosen.basis if few else "measured"
        dense, mixed = (
            (max(low, 1 / wide), min(high, wide)) if few else (1 / wide, wide)
            for low, high in (chosen.spread(experts=False), chosen.spread(experts=True))
        )
        return chosen._replace(
            efficiency=chosen.efficiency / found.transfer,
            expert_efficiency=chosen.expert_efficiency / found.transfer,
            eight_bit_efficiency=chosen.eight_bit_efficiency / found.transfer,
            four_bit_efficiency=chosen.four_bit_efficiency / found.transfer,
            expert_eight_bit_efficiency=chosen.expert_eight_bit_efficiency / found.transfer,
            expert_four_bit_efficiency=chosen.expert_four_bit_efficiency / found.transfer,
            cache_efficiency=chosen.cache_efficiency / found.transfer,
            step_us=chosen.step_us * found.fixed,
            layer_us=chosen.layer_us * found.fixed,
            expert_layer_us=chosen.expert_layer_us * found.fixed,
            state_layer_us=chosen.state_layer_us * found.fixed,
            latent_layer_us=chosen.latent_layer_us * found.fixed,
            indexed_layer_us=chosen.indexed_layer_us * found.fixed,
            unpack_operations=chosen.unpack_operations * found.transfer,
            sequence_us=chosen.sequence_us * found.fixed,
            vocabulary_us=chosen.vocabulary_us * found.fixed,
            collective_us=chosen.collective_us * found.fixed,
            link_efficiency=chosen.link_efficiency / found.fixed,
            compute_efficiency=chosen.compute_efficiency / found.transfer,
            prompt_efficiency=chosen.prompt_efficiency / found.transfer,
            prompt_expert_efficiency=chosen.prompt_expert_efficiency / found.transfer,
            attention_efficiency=chosen.attention_efficiency / found.transfer,
            low=dense[0],
            high=dense[1],
            expert_low=mixed[0],
            expert_high=mixed[1],
            basis=basis,
            source=f"{found.rows} of your measurements of {device.id}, on {chosen.source}",
        )

    def merged(self, more: Iterable[Observation]) -> Calibration:
        """Return this calibration with `more`; the same measurement again replaces the old one."""
        kept = {item.key: item for item in self.observations}
        kept.update((item.key, item) for item in more)
        return Calibration(tuple(sorted(kept.values(), key=lambda item: item.key)))

    def without(self, device: str) -> Calibration:
        """Return this calibration without the measurements of `device`."""
        return Calibration(tuple(item for item in self.observations if item.device != device))


def correction(
    chosen: Coefficients, device: Accelerator, rows: Sequence[Observation]
) -> Correction:
    """Return the factors that bring `chosen` nearest to the measured times of `rows`.

    Minimises the squared log error of the times, in units of `_ROW_SPREAD`, and the squared logs of
    the factors, in units of their spreads, by Gauss-Newton on both logs; each row is weighted by
    Huber's rule on its own error.
    """
    times = [1000.0 / row.tokens_per_second for row in rows]
    shares = [_split(chosen, device, row) for row in rows]
    log_fixed = log_transfer = 0.0
    for _ in range(_ITERATIONS):
        normal = [1 / _FIXED_SPREAD**2, 0.0, 1 / _BYTES_SPREAD**2]
        gradient = [log_fixed / _FIXED_SPREAD**2, log_transfer / _BYTES_SPREAD**2]
        for time, (fixed, transfer) in zip(times, shares, strict=True):
            first, second = fixed * math.exp(log_fixed), transfer * math.exp(log_transfer)
            predicted = first + second
            error = math.log(predicted / time) / _ROW_SPREAD
            weight = min(1.0, _HUBER / abs(error)) if error else 1.0
            slopes = first / predicted / _ROW_SPREAD, second / predicted / _ROW_SPREAD
            gradient[0] += weight * error * slopes[0]
            gradient[1] += weight * error * slopes[1]
            normal[0] += weight * slopes[0] ** 2
            normal[1] += weight * slopes[0] * slopes[1]
            normal[2] += weight * slopes[1] ** 2
        determinant = normal[0] * normal[2] - normal[1] ** 2
        step_fixed = (normal[2] * gradient[0] - normal[1] * gradient[1]) / determinant
        step_transfer = (normal[0] * gradient[1] - normal[1] * gradient[0]) / determinant
        log_fixed -= max(-1.0, min(1.0, step_fixed))
        log_transfer -= max(-1.0, min(1.0, step_transfer))
    errors = [
        math.log((fixed * math.exp(log_fixed) + transfer * math.exp(log_transfer)) / time)
        for time, (fixed, transfer) in zip(times, shares, strict=True)
    ]
    return _with_spread(log_fixed, log_transfer, errors)


def _split(chosen: Coefficients, device: Accelerator, row: Observation) -> tuple[float, float]:
    """Return the predicted milliseconds that are fixed, and those that bytes and sums take."""
    terms = step_terms(row.traffic, chosen, device, Parallelism(row.tensor))
    fixed = sum(ms for name, ms in terms if name in {"fixed", "collectives"})
    return fixed, sum(ms for name, ms in terms if name not in {"fixed", "collectives"})


def _with_spread(log_fixed: float, log_transfer: float, errors: list[float]) -> Correction:
    middle = _median(errors)
    deviation = 1.4826 * _median([abs(error - middle) for error in errors])
    bound = _OUTLIER * max(deviation, _ROW_SPREAD)
    outliers = tuple(index for index, error in enumerate(errors) if abs(error - middle) > bound)
    inside = [error for index, error in enumerate(errors) if index not in outliers]
    rows = len(inside)
    squares = sum(error**2 for error in inside) + _SPREAD_ROWS * _ROW_SPREAD**2
    spread = math.sqrt(squares / (rows + _SPREAD_ROWS) * (1 + 1 / (rows + 1)))
    return Correction(math.exp(log_fixed), math.exp(log_transfer), spread, rows, outliers)


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


# -- the file ---------------------------------------------------------------------------------


def dump_calibration(calibration: Calibration) -> str:
    """Return the file's text: one observation per line, sorted, so that it diffs well."""
    rows = ",\n".join(
        "  " + json.dumps({**item._asdict(), "traffic": item.traffic._asdict()}, ensure_ascii=False)
        for item in sorted(calibration.observations, key=lambda item: item.key)
    )
    body = f"[\n{rows}\n ]" if rows else "[]"
    return f'{{\n "schemaVersion": "{SCHEMA}",\n "observations": {body}\n}}\n'


def load_calibration(text: str, place: str) -> Calibration:
    """Return the calibration that `text`, a file written by `dump_calibration`, holds.

    Raises:
        InputError: CAL002 not JSON, CAL003 another schema, CAL004 a field that is missing or wrong.
    """
    if len(text) > _LARGEST_FILE:
        raise InputError(
            "CAL002", "too large for a calibration file", place=place, found=f"{len(text)} bytes"
        )
    try:
        document: object = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(
            "CAL002", "not a calibration file", place=place, found=str(error), expected="JSON"
        ) from None
    if not isinstance(document, dict) or document.get("schemaVersion") != SCHEMA:
        found = document.get("schemaVersion") if isinstance(document, dict) else document
        raise InputError(
            "CAL003",
            "not a calibration file of this version",
            place=place,
            found=found,
            expected=f"schemaVersion {SCHEMA}",
        )
    rows = document.get("observations")
    if not isinstance(rows, list):
        raise _wrong(place, "observations", rows, "a list")
    return Calibration(
        tuple(_observation(row, f"{place} observation {n}") for n, row in enumerate(rows, 1))
    )


def _refuse_constant(name: str) -> float:
    raise ValueError(name)


def _observation(row: object, place: str) -> Observation:
    if not isinstance(row, dict):
        raise _wrong(place, "", row, "an object")
    traffic = row.get("traffic")
    if not isinstance(traffic, dict):
        raise _wrong(place, "traffic", traffic, "an object")
    moved = {
        name: _amount(traffic, name, place, least=1 if name in {"layers", "sequences"} else 0)
        for name in StepTraffic._fields
    }
    counts = {name: int(amount) for name, amount in moved.items()}
    if counts["dense_bytes"] + counts["expert_bytes"] < 1:
        raise _wrong(place, "dense_bytes", 0, "bytes that a step reads")
    return Observation(
        device=_text(row, "device", place),
        engine=_text(row, "engine", place),
        engine_version=_text(row, "engine_version", place, least=0),
        model=_text(row, "model", place),
        quantization=_text(row, "quantization", place, least=0),
        context_tokens=int(_amount(row, "context_tokens", place, least=1)),
        concurrency=int(_amount(row, "concurrency", place, least=1)),
        tensor=int(_amount(row, "tensor", place, least=1)),
        tokens_per_second=_amount(row, "tokens_per_second", place, least=1e-6),
        traffic=StepTraffic(**counts)._replace(
            operations=moved["operations"],
            prompt_tokens=moved["prompt_tokens"],
            prompt_operations=moved["prompt_operations"],
            prompt_attention_operations=moved["prompt_attention_operations"],
        ),
        source=_text(row, "source", place, least=0),
    )


def _text(row: dict[str, object], key: str, place: str, least: int = 1) -> str:
    value = row.get(key)
    if not isinstance(value, str) or len(value) < least:
        raise _wrong(place, key, value, "text")
    return value


def _amount(row: dict[str, object], key: str, place: str, least: float) -> float:
    value = row.get(key)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not least <= value <= _LARGEST_NUMBER:  # type: ignore[operator]  # a number
        raise _wrong(place, key, value, f"a number from {least:g} to {_LARGEST_NUMBER:g}")
    return float(value)  # type: ignore[arg-type]  # a number


def _wrong(place: str, key: str, found: object, expected: str) -> InputError:
    at = f"{place}, {key}" if key else place
    return InputError(
        "CAL004",
        "wrong or missing value in a calibration file",
        place=at,
        found=found,
        expected=expected,
        fix="remove the file and calibrate again, or correct the value",
    )
