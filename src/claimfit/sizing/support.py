"""Which devices an engine refuses to start on, whatever their memory.

Only NVIDIA boards under vLLM are judged, by compute capability: there the pages of the engine state
a limit. They are vLLM 0.14 "GPU installation" (7.0 for the engine), its table of quantization
hardware (AWQ and INT8 from Turing on, Marlin from Ampere on), and vLLM 0.32 "FP8 W8A8" (FP8 weights
from 7.5 on). FP4 and INT4 weights run through Marlin where the board has no such arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.model.quantization import quantization

if TYPE_CHECKING:
    from claimfit.hardware.facts import Accelerator
    from claimfit.model.quantization import Family
    from claimfit.sizing.plan import EngineChoice

__all__ = ["engine_refusal"]

_VLLM: Final = (7, 0)
_VLLM_BY_FAMILY: Final[dict[Family, tuple[int, int]]] = {
    "awq": (7, 5),
    "fp8": (7, 5),
    "fp4": (8, 0),
    "autoround": (8, 0),
}
_VLLM_BY_NAME: Final = {"INT8": (7, 5), "INT4": (8, 0)}


def engine_refusal(engine: EngineChoice, quantization_name: str, accelerator: Accelerator) -> str:
    """Return why `engine` does not serve such weights on `accelerator`; empty when it may.

    Raises `ModelError` QNT001 for an unknown quantization.
    """
    if engine.name != "vllm" or accelerator.vendor != "nvidia":
        return ""
    capability = _capability(accelerator.compute_capability)
    if capability is None:
        return ""
    scheme = quantization(quantization_name)
    least = _VLLM_BY_NAME.get(scheme.name, _VLLM_BY_FAMILY.get(scheme.family, _VLLM))
    if capability >= least:
        return ""
    what = f"{scheme.name} weights" if capability >= _VLLM else "models"
    needed = least if capability >= _VLLM else _VLLM
    return (
        f"vLLM serves {what} from compute capability {needed[0]}.{needed[1]} on, "
        f"this is {capability[0]}.{capability[1]}"
    )


def _capability(text: str) -> tuple[int, int] | None:
    """Return (major, minor) of the semver that the driver publishes; None when unknown."""
    parts = text.split(".")
    return (int(parts[0]), int(parts[1])) if len(parts) == 3 else None
