"""The sample clusters that claimfit ships: what `kubectl ... -o json` prints on invented clusters.

`tools/samples.py` writes the files.
"""

from __future__ import annotations

import os.path
from typing import Final

from claimfit.errors import HardwareError

__all__ = ["SAMPLES", "sample_names", "sample_path"]

_FOLDER: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data/samples")  # noqa: PTH118, PTH120  # pathlib costs 3 ms at start-up

SAMPLES: Final[dict[str, str]] = {
    "mixed": "NVIDIA: H200, H100, L40S, A100 as MIG slices, GB10; held, tainted, incomplete",
    "amd": "AMD: MI300X whole and in halves, MI325X, Radeons; one whose memory cannot be read",
    "intel": "Intel: Arc Pro B60, Max 1550, Flex 170; one under VFIO, a node that reports nothing",
    "llmfit": "llmfit.ai: GPUs, an NPU, CPUs, a network card; one ill, one owned by another driver",
    "tpu-gaudi": "TPU, Gaudi and Trainium: drivers that publish no memory",
}
"""Name -> what is in it, in a line."""


def sample_names() -> tuple[str, ...]:
    """Return the names of the samples."""
    return tuple(SAMPLES)


def sample_path(name: str) -> str:
    """Return the path of the file of sample `name`.

    Raises:
        HardwareError: HWD003, there is no such sample.
    """
    if name not in SAMPLES:
        raise HardwareError(
            "HWD003",
            "unknown sample cluster",
            found=name,
            expected="one of " + ", ".join(SAMPLES),
            candidates=tuple(SAMPLES),
        )
    return f"{_FOLDER}/{name}.json"
