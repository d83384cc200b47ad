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

from claimfit.sizing.coefficients import arithmetic_tflops, unpacks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from speed_rows import Row

DECODING = (
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
SERVING = (
    *DECODING,
    "eight_bit_efficiency",
    "four_bit_efficiency",
    "expert_eight_bit_efficiency",
    "expert_four_bit_efficiency",
    "unpack_operations",
    "latent_layer_us",
    "indexed_layer_us",
    "link_efficiency",
    "prompt_efficiency",
    "prompt_expert_efficiency",
    "attention_efficiency",
)
PARAMETERS = {"llama.cpp": DECODING, "vllm": SERVING, "sglang": SERVING}
"""What is fitted per engine; the rows of llama.cpp are single streams of packed weights."""
Prior = dict[str, tuple[float, float]]
CAPS = {name: 0.95 for name in SERVING if name.endswith("efficiency")}
"""No memory, link or matrix unit gives more than its peak."""

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
        "efficiency": (0.75, 0.3),
        "expert_efficiency": (0.65, 0.4),
        "cache_efficiency": (0.7, 0.3),
        "step_us": (800.0, 0.8),
        "layer_us": (30.0, 0.7),
        "expert_layer_us": (25.0, 0.8),
        "state_layer_us": (20.0, 0.8),
        "sequence_us": (15.0, 0.8),
        "vocabulary_us": (0.05, 0.3),
        "collective_us": (10.0, 0.6),
        "compute_efficiency": (0.35, 0.5),
        "eight_bit_efficiency": (0.75, 0.3),
        "four_bit_efficiency": (0.75, 0.3),
        "expert_eight_bit_efficiency": (0.65, 0.4),
        "expert_four_bit_efficiency": (0.65, 0.4),
        "unpack_operations": (100.0, 0.8),
        "latent_layer_us": (10.0, 1.0),
        "indexed_layer_us": (20.0, 1.0),
        "link_efficiency": (0.4, 0.6),
        "prompt_efficiency": (0.5, 0.5),
        "prompt_expert_efficiency": (0.35, 0.5),
        "attention_efficiency": (0.4, 0.6),
    },
}
START["sglang"] = START["vllm"]
SERVERS = ("vllm", "sglang")
SERVER_SPREAD = 0.25
"""How far one server may lie from what both give together, in log: they run the same kernels or
kernels of the same libraries, on the same devices."""

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

DEVICE_SCALE = {"llama.cpp": 1.0, "vllm": 0.25, "sglang": 0.15}
"""Factor on the spread of a device: rows of the servers are many but of few architectures, and what
is particular to an architecture must not be taken for the device."""

ROW_ERROR = 0.08
TOLERANCE = 1e-5
DEVICE_ROWS = {"llama.cpp": 12, "vllm": 60, "sglang": 60}
"""A device counts in its family for at most so many rows; servers have few devices, many rows."""
SAME_ROWS = {"llama.cpp": -0.5, "vllm": -0.25, "sglang": -0.25}
"""Rows of one model on one device weigh their number to twice this power: one row's weight under
llama.cpp, where they repeat each other; servers' rows differ in streams and prompts."""


class Features:
    """Columns of the rows: amounts over peak rates in milliseconds, counts in thousands."""

    def __init__(self, rows: Sequence[Row]) -> None:
        def column(value: Callable[[Row], float]) -> np.ndarray:
            return np.array([value(row) for row in rows], dtype=float)

        bandwidth = column(lambda row: (row.device.bandwidth_gbs or 1.0) * 1e6)
        half = column(lambda row: (arithmetic_tflops(row.device) or 0.0) * 1e9)
        rate = column(lambda row: (arithmetic_tflops(row.device, _main_bits(row)) or 0.0) * 1e9)
        self.reads = []
        self.unpacked = np.zeros(len(rows))
        for kind, names in READS.items():
            amount = column(lambda row, kind=kind: getattr(row.traffic, f"{kind}_bytes"))
            bits = [getattr(row.traffic, f"{kind}_bits") for row in rows]
            packed = np.array(
                [unpacks(row.device, b) for row, b in zip(rows, bits, strict=True)], dtype=bool
            )
            read_as = np.where(packed, 0, bits)
            own = np.isin(read_as, (8, 4))
            for name, chosen in (
                (names[0], ~own),
                (names[1], read_as == 8),
                (names[2], read_as == 4),
            ):
                self.reads.append((name, names[0], np.where(chosen, amount / bandwidth, 0.0)))
            self.unpacked += np.where(packed, _over(amount, half), 0.0)
        self.cache = column(lambda row: row.traffic.cache_bytes) / bandwidth
        self.fixed = {
            "step_us": np.full(len(rows), 1e-3),
            "layer_us": column(lambda row: row.traffic.layers) / 1e3,
            "expert_layer_us": column(lambda row: row.traffic.expert_layers) / 1e3,
            "state_layer_us": column(lambda row: row.traffic.state_layers) / 1e3,
            "latent_layer_us": column(lambda row: row.traffic.latent_layers) / 1e3,
            "indexed_layer_us": column(lambda row: row.traffic.indexed_layers) / 1e3,
            "sequence_us": column(lambda row: row.traffic.sequences) / 1e3,
            # llama-bench, which the published rows are from, samples nothing.
            "vocabulary_us": column(
                lambda row: (
                    0.0
                    if row.source.startswith("published")
                    else row.traffic.vocabulary * row.traffic.sequences / 1e6
                )
            ),
        }
        self.compute = _over(column(lambda row: row.traffic.operations), rate)
        ranks = column(lambda row: row.parallelism.tensor)
        layers = column(lambda row: row.traffic.layers)
        self.fixed["collective_us"] = np.where(ranks > 1, 2 * layers / 1e3, 0.0)
        link = column(lambda row: (row.device.link_gbs or 50.0) / 2 * 1e6)
        hidden = column(lambda row: row.traffic.hidden_bytes)
        tokens = column(lambda row: 1 + row.traffic.prompt_tokens / row.traffic.sequences)
        self.moved = 2 * layers * 2 * (ranks - 1) / ranks * hidden * tokens / link
        prompts = _over(column(lambda row: row.traffic.prompt_operations), rate)
        mixture = column(lambda row: row.traffic.expert_layers) > 0
        self.prompts = np.where(mixture, 0.0, prompts)
        self.expert_prompts = np.where(mixture, prompts, 0.0)
        self.attention = _over(column(lambda row: row.traffic.prompt_attention_operations), half)
        self.measured = column(lambda row: row.milliseconds)


READS = {
    "dense": ("efficiency", "eight_bit_efficiency", "four_bit_efficiency"),
    "expert": (
        "expert_efficiency",
        "expert_eight_bit_efficiency",
        "expert_four_bit_efficiency",
    ),
}
"""Kind of weights -> its efficiencies: others, 8 bits and 4 bits that are multiplied as stored."""


def _over(amount: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Return `amount` over `rate`, 0 where the rate is not known."""
    return np.where(rate > 0, amount / np.maximum(rate, 1e-9), 0.0)


def _main_bits(row: Row) -> int:
    return row.traffic.expert_bits if row.traffic.expert_layers else row.traffic.dense_bits


def milliseconds(f: Features, p: dict[str, float]) -> np.ndarray:
    """Return the predicted time of a step of each row; the same sum as `step_terms`."""
    weights = f.unpacked * p.get("unpack_operations", 0.0)
    for name, other, amount in f.reads:
        weights = weights + amount / (p.get(name) or p[other])
    return (
        sum(p[name] * amount for name, amount in f.fixed.items() if name in p)
        + weights
        + f.cache / p["cache_efficiency"]
        + np.maximum(0.0, f.compute / p["compute_efficiency"] - weights)
        + f.moved / p.get("link_efficiency", 1.0)
        + f.prompts / p.get("prompt_efficiency", 0.4)
        + f.expert_prompts / p.get("prompt_expert_efficiency", 0.2)
        + f.attention / p.get("attention_efficiency", 0.4)
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
        [
            same[(r.device.id, r.label, r.parallelism, r.engine.name)] ** SAME_ROWS[r.engine.name]
            for r in rows
        ]
    )
    if per_device:
        total: Counter[str] = Counter()
        for row, one in zip(rows, weight, strict=True):
            total[row.device.id] += one**2
        weight *= np.array([min(1.0, per_device / total[r.device.id]) ** 0.5 for r in rows])
    names = list(prior)
    centre = np.log([prior[name][0] for name in names])
    spread = np.array([prior[name][1] for name in names])
    upper = np.array([np.log(CAPS.get(name, 1e9)) for name in names])

    def residuals(logs: np.ndarray) -> np.ndarray:
        p = dict(zip(names, np.exp(logs), strict=True))
        errors = weight * np.log(milliseconds(features, p) / features.measured) / ROW_ERROR
        robust = np.sign(errors) * np.sqrt(2 * (np.sqrt(1 + errors**2) - 1))
        return np.concatenate([robust, (logs - centre) / spread])

    start = np.minimum(centre, upper - 1e-6)
    bounds = np.full(len(start), -20.0), upper
    found = least_squares(residuals, start, bounds=bounds, ftol=TOLERANCE, xtol=TOLERANCE)
    return dict(zip(names, (float(value) for value in np.exp(found.x)), strict=True))


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
