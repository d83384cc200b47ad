"""Boards that an engine does not start on, by compute capability."""

from __future__ import annotations

import pytest

from claimfit.hardware.accelerators import accelerator
from claimfit.sizing.plan import EngineChoice
from claimfit.sizing.support import engine_refusal

VLLM = EngineChoice("vllm")


@pytest.mark.parametrize(
    ("board", "quantization", "least"),
    [
        # vLLM 0.14 "GPU installation": compute capability 7.0 or higher; GTX 10xx is 6.1.
        ("nvidia-gtx-1080-ti", "BF16", "7.0"),
        ("nvidia-gtx-1080-ti", "FP8", "7.0"),
        ("nvidia-v100-sxm2-32", "BF16", ""),
        ("nvidia-v100-sxm2-32", "GPTQ-INT4", ""),
        # its table of quantization hardware: Volta has no AWQ, INT8 or Marlin; Turing no Marlin.
        ("nvidia-v100-sxm2-32", "AWQ-INT4", "7.5"),
        ("nvidia-v100-sxm2-32", "INT8", "7.5"),
        ("nvidia-v100-sxm2-32", "MXFP4", "8.0"),
        ("nvidia-t4", "AWQ-INT4", ""),
        ("nvidia-t4", "INT4", "8.0"),
        ("nvidia-t4", "NVFP4", "8.0"),
        # vLLM 0.32 "FP8 W8A8": weight-only from 7.5 on.
        ("nvidia-v100-sxm2-32", "FP8", "7.5"),
        ("nvidia-t4", "fp8", ""),
        ("nvidia-a100-sxm-80", "NVFP4", ""),
        ("nvidia-a100-sxm-80", "FP8", ""),
        ("nvidia-b200", "NVFP4", ""),
    ],
)
def test_vllm_on_nvidia(board: str, quantization: str, least: str) -> None:
    """The limit is the one that vLLM's pages state, and is named."""
    refusal = engine_refusal(VLLM, quantization, accelerator(board))

    assert bool(least) is bool(refusal)
    if least:
        assert f"from compute capability {least} on" in refusal


@pytest.mark.parametrize("board", ["amd-mi300x", "intel-gaudi3", "google-tpu-v6e", "apple-m4-max"])
def test_other_vendors_are_not_judged(board: str) -> None:
    """No page we opened states a limit for them."""
    assert engine_refusal(VLLM, "FP8", accelerator(board)) == ""


def test_other_engines_are_not_judged() -> None:
    """llama.cpp runs on old boards, too."""
    old = accelerator("nvidia-gtx-1080-ti")

    assert engine_refusal(EngineChoice("llama.cpp"), "Q4_K_M", old) == ""
