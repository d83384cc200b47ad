"""One measured decode speed, and the fields of untrusted rows that it is read from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from claimfit.manifests.reader import Value

    Row = dict[str, Value]

__all__ = [
    "LARGEST_RATE",
    "Given",
    "Measured",
    "Refused",
    "count_field",
    "finite",
    "integer_field",
    "rate_field",
    "text_field",
]

LARGEST_RATE: Final = 1e6
"""Tokens per second, or milliseconds, that are still believed."""
_LARGEST_COUNT: Final = 10**7
_LARGEST_SIZE: Final = 10**15


class Given(NamedTuple):
    """What the user says about the files, where they do not say it themselves."""

    model: str = ""
    quantization: str = ""
    device: str = ""
    engine: str = ""
    tensor: int = 0
    concurrency: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class Measured(NamedTuple):
    """One measured decode speed, names as the benchmark wrote them."""

    model: str
    """File name, repository or name."""
    model_bytes: int
    """Size of the weights when the benchmark tells it, else 0."""
    quantization: str
    device: str
    engine: str
    engine_version: str
    gpu_layers: int
    """Layers on the device; -1 for all."""
    kv_dtype: str
    context_tokens: int
    """Mean number of tokens that a sequence held while it was decoded."""
    concurrency: int
    tensor: int
    tokens_per_second: float
    """Of one stream."""
    place: str
    samples: bool = True
    """Whether tokens were sampled; llama-bench times the model alone."""


class Refused(NamedTuple):
    """One row that is no use, and why."""

    place: str
    reason: str


def text_field(row: Row, key: str) -> str:
    """Return the string at `key`, trimmed, or an empty one."""
    value = row.get(key)
    return value.strip() if isinstance(value, str) else ""


def finite(value: object) -> float | None:
    """Return `value` as a finite float, or None; llama-bench's CSV writes numbers as strings."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def rate_field(row: Row, key: str) -> float | None:
    """Return the number at `key` when it is above 0 and believable, or None."""
    number = finite(row.get(key))
    return number if number is not None and 0 < number <= LARGEST_RATE else None


def integer_field(row: Row, key: str) -> int | None:
    """Return the whole number at `key`, or None."""
    number = finite(row.get(key))
    return int(number) if number is not None and number == int(number) else None


def count_field(row: Row, key: str) -> int | None:
    """Return the whole number at `key` when it is a believable count, or None."""
    number = integer_field(row, key)
    most = _LARGEST_SIZE if key == "model_size" else _LARGEST_COUNT
    return number if number is not None and 0 <= number <= most else None
