"""Fits the coefficients of `claimfit.sizing.coefficients` to measured rows.

The model is `claimfit.sizing.speed.step_terms`, evaluated for many rows at once. Every parameter is
positive, so the fit works on logarithms, and each has a log-normal prior: a centre and a spread in
log. The centre of a family is what all devices under the engine give together; the centre of a
device is its family. So a device with few rows stays near its family, and a parameter that no row
speaks about (collectives on a desktop card) keeps its centre.

Errors are log(predicted / measured time); large ones count linearly (soft L1), since measured rows
of the field contain mistakes. Rows of the same model on the same device share one weight.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import least_squares

from claimfit.sizing.coefficients import arithmetic_tflops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from speed_rows import Row

PARAMETERS = (
    "efficiency",
    "expert_efficiency",
    "cache_efficiency",
    "step_us",
    "layer_us",
    "expert_layer_us",
    "state_layer_us",
    "sequence_us",
    "vocabulary_us",
    "collective_us",
    "compute_efficiency",
)
Prior = dict[str, tuple[float, float]]
CAPS = {"efficiency": 0.95, "expert_efficiency": 0.95, "cache_efficiency": 0.95}
"""No memory gives more than its peak; 0.95 leaves refresh and turn-around."""

START: dict[str, dict[str, tuple[float, float]]] = {
    # Centre and spread in log of the prior of an engine, before any row: orders of magnitude from
    # the physics (kernel launch some microseconds, a dozen kernels per layer; STREAM-like reads
    # reach 70 to 90 % of peak).
    "llama.cpp": {
        "efficiency": (0.75, 0.25),
        "expert_efficiency": (0.65, 0.35),
        "cache_efficiency": (0.5, 0.4),
        "step_us": (250.0, 0.8),
        "layer_us": (30.0, 0.7),
        "expert_layer_us": (20.0, 0.7),
        "state_layer_us": (25.0, 0.7),
        "sequence_us": (50.0, 0.5),
        "vocabulary_us": (2.0, 0.7),
        "collective_us": (20.0, 0.3),
        "compute_efficiency": (0.3, 0.5),
    },
    "vllm": {
        "efficiency": (0.8, 0.2),
        "expert_efficiency": (0.7, 0.3),
        "cache_efficiency": (0.7, 0.3),
        "step_us": (800.0, 0.7),
        "layer_us": (30.0, 0.6),
        "expert_layer_us": (25.0, 0.6),
        "state_layer_us": (20.0, 0.6),
        "sequence_us": (10.0, 0.7),
        "vocabulary_us": (0.05, 0.3),
        "collective_us": (10.0, 0.5),
        "compute_efficiency": (0.35, 0.4),
    },
}
START["sglang"] = START["vllm"]

FAMILY_SPREAD = {"efficiency": 0.2, "expert_efficiency": 0.25, "compute_efficiency": 0.4}
DEVICE_SPREAD = {"efficiency": 0.10, "expert_efficiency": 0.15, "compute_efficiency": 0.3}
OTHER_FAMILY_SPREAD = 0.5
OTHER_DEVICE_SPREAD = 0.35
"""How far a family may lie from its engine and a device from its family, in log."""

FAMILY_CENTRES: dict[tuple[str, str], Prior] = {
    # Boards that unpack 4-bit weights on FP32 units: 34 and some 60 operations per weight, where
    # the others multiply and add on matrix units beside the reads.
    ("llama.cpp", "cuda-old"): {"compute_efficiency": (2 / 34, 0.2)},
    ("llama.cpp", "xpu-unified"): {"compute_efficiency": (2 / 60, 0.3)},
}

DEVICE_SCALE = {"llama.cpp": 1.0, "vllm": 0.5, "sglang": 0.3}
"""Factor on the spread of a device: rows of the servers are many but of few architectures, and what
is particular to an architecture must not be taken for the device."""

ROW_ERROR = 0.08
DEVICE_ROWS = 12
"""A device counts in its family for at most so many rows."""


class Features:
    """Columns of the rows."""

    def __init__(self, rows: Sequence[Row]) -> None:
        traffic = [row.traffic for row in rows]
        bandwidth = np.array([row.device.bandwidth_gbs or 1.0 for row in rows]) * 1e6
        self.dense = np.array([t.dense_bytes for t in traffic]) / bandwidth
        self.expert = np.array([t.expert_bytes for t in traffic]) / bandwidth
        self.cache = np.array([t.cache_bytes for t in traffic]) / bandwidth
        self.layers = np.array([t.layers for t in traffic]) / 1000
        self.expert_layers = np.array([t.expert_layers for t in traffic]) / 1000
        self.state_layers = np.array([t.state_layers for t in traffic]) / 1000
        self.sequences = np.array([t.sequences for t in traffic]) / 1000
        # llama-bench, which the published rows are from, samples nothing.
        sampled = np.array([0.0 if row.source.startswith("published") else 1.0 for row in rows])
        self.vocabulary = np.array([t.vocabulary * t.sequences for t in traffic]) / 1e6 * sampled
        tflops = np.array([arithmetic_tflops(row.device) or 0.0 for row in rows])
        operations = np.array([t.operations for t in traffic])
        self.compute = np.where(tflops > 0, operations / (np.maximum(tflops, 1e-9) * 1e9), 0.0)
        ranks = np.array([row.parallelism.tensor for row in rows])
        self.collectives = np.where(ranks > 1, 2 * self.layers, 0.0)
        link = np.array([(row.device.link_gbs or 50.0) / 2 for row in rows]) * 1e6
        hidden = np.array([t.hidden_bytes for t in traffic])
        moved = 2 * (ranks - 1) / ranks * hidden * 2 * np.array([t.layers for t in traffic])
        self.moved = moved / link
        self.measured = np.array([row.milliseconds for row in rows])


def milliseconds(f: Features, p: dict[str, float]) -> np.ndarray:
    """Return the predicted time of a step of each row; the same sum as `step_terms`."""
    weights = f.dense / p["efficiency"] + f.expert / p["expert_efficiency"]
    return (
        p["step_us"] / 1000
        + p["layer_us"] * f.layers
        + p["expert_layer_us"] * f.expert_layers
        + p["state_layer_us"] * f.state_layers
        + p["sequence_us"] * f.sequences
        + p["vocabulary_us"] * f.vocabulary
        + weights
        + f.cache / p["cache_efficiency"]
        + np.maximum(0.0, f.compute / p["compute_efficiency"] - weights)
        + p["collective_us"] * f.collectives
        + f.moved
    )


def fit(rows: Sequence[Row], prior: Prior, *, per_device: int = 0) -> dict[str, float]:
    """Return the parameters that fit `rows` best under `prior`.

    With `per_device`, all rows of one device together weigh at most as much as so many rows.
    """
    if not rows:
        return {name: centre for name, (centre, _) in prior.items()}
    features = Features(rows)
    same = Counter((row.device.id, row.label, row.parallelism, row.engine.name) for row in rows)
    weight = np.array(
        [same[(r.device.id, r.label, r.parallelism, r.engine.name)] ** -0.5 for r in rows]
    )
    if per_device:
        total: Counter[str] = Counter()
        for row, one in zip(rows, weight, strict=True):
            total[row.device.id] += one**2
        weight *= np.array([min(1.0, per_device / total[r.device.id]) ** 0.5 for r in rows])
    centre = np.log([prior[name][0] for name in PARAMETERS])
    spread = np.array([prior[name][1] for name in PARAMETERS])
    upper = np.array([np.log(CAPS.get(name, 1e9)) for name in PARAMETERS])

    def residuals(logs: np.ndarray) -> np.ndarray:
        p = dict(zip(PARAMETERS, np.exp(logs), strict=True))
        errors = weight * np.log(milliseconds(features, p) / features.measured) / ROW_ERROR
        robust = np.sign(errors) * np.sqrt(2 * (np.sqrt(1 + errors**2) - 1))
        return np.concatenate([robust, (logs - centre) / spread])

    start = np.minimum(centre, upper - 1e-6)
    found = least_squares(residuals, start, bounds=(np.full(len(start), -20.0), upper))
    return dict(zip(PARAMETERS, (float(value) for value in np.exp(found.x)), strict=True))


def around(centre: dict[str, float], spreads: dict[str, float], other: float) -> Prior:
    """Return a prior at `centre`."""
    return {name: (value, spreads.get(name, other)) for name, value in centre.items()}


def family_prior(whole: dict[str, float], engine: str, name: str) -> Prior:
    """Return the prior of the family `name` under `engine`, whose own parameters are `whole`."""
    known = FAMILY_CENTRES.get((engine, name), {})
    return around(whole, FAMILY_SPREAD, OTHER_FAMILY_SPREAD) | known


def device_prior(family: dict[str, float], engine: str) -> Prior:
    """Return the prior of a device in its family."""
    scale = DEVICE_SCALE[engine]
    spreads = {name: scale * spread for name, spread in DEVICE_SPREAD.items()}
    return around(family, spreads, scale * OTHER_DEVICE_SPREAD)


def log_errors(rows: Sequence[Row], p: dict[str, float]) -> np.ndarray:
    """Return log(predicted / measured speed) of each row."""
    if not rows:
        return np.zeros(0)
    features = Features(rows)
    return np.log(features.measured / milliseconds(features, p))
