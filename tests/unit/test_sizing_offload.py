"""Partial offload of llama.cpp: how many layers a device holds, and what the host keeps."""

from __future__ import annotations

import pytest

from claimfit.model.facts import FileWeights
from claimfit.sizing.memory import size
from claimfit.sizing.offload import partial_offload
from claimfit.sizing.plan import EngineChoice, Workload
from claimfit.units import GIB, Bytes
from support.sizing_models import llama_8b

LLAMA_CPP = EngineChoice("llama.cpp")


def test_half_the_memory_holds_some_layers() -> None:
    """8 GiB hold a part of 16-bit Llama-3.1-8B; the rest of its 30 GiB stays in host memory."""
    found = partial_offload(llama_8b(), LLAMA_CPP, Workload(8192), device_memory=Bytes(8 * GIB))
    assert found is not None
    assert 0 < found.layers < 32 == found.of_layers
    assert found.device <= 8 * GIB
    # One layer is 218,112,000 x 2 bytes: one more would not have fitted.
    assert 8 * GIB - found.device < 436_224_000 * 1.1
    layers = (32 - found.layers) * (218_112_000 * 2 + 8192 * 4096)
    assert found.host == pytest.approx(layers + 128_256 * 4096 * 2, rel=0.02)


def test_a_large_device_holds_all() -> None:
    """Full offload is the end of the scale, and what `size` says."""
    found = partial_offload(llama_8b(), LLAMA_CPP, Workload(8192), device_memory=Bytes(80 * GIB))
    assert found is not None
    assert found.layers == 32
    assert found.device == size(llama_8b(), LLAMA_CPP, Workload(8192)).floor


def test_a_tiny_device_holds_none() -> None:
    """The head and the buffers alone exceed 1 GiB."""
    assert partial_offload(llama_8b(), LLAMA_CPP, Workload(8192), device_memory=Bytes(GIB)) is None


def test_bytes_of_a_file_go_with_their_layers() -> None:
    """With headers at hand the last layers' own bytes count."""
    sizes = tuple(range(100_000_000, 132_000_000, 1_000_000))
    file = FileWeights(
        sum(sizes) + 600, 300, 300, sizes, (0,) * 32, 0, 0, "Q4_K_M", (), ("m.gguf",)
    )
    model = llama_8b(quantization="Q4_K_M")._replace(file=file)
    found = partial_offload(model, LLAMA_CPP, Workload(512), device_memory=Bytes(3 * GIB))
    assert found is not None
    assert 0 < found.layers < 32
    assert found.host >= sum(sizes[: 32 - found.layers])
