"""Sizing against measured start-ups and documented files (goals A3, A4, A5)."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from claimfit.sizing.engines import profile
from claimfit.sizing.plan import EngineChoice

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = REPOSITORY.parent / "shared" / "data"
ROWS = SHARED / "vllm_memory.json"

np = pytest.importorskip("numpy", reason="numpy fits the coefficients (dependency group bench)")
pytestmark = pytest.mark.skipif(not ROWS.exists(), reason="measured rows are not at hand")


@pytest.fixture(scope="module")
def study():
    """Return bench/accuracy_memory.py as a module."""
    name = "claimfit_bench_accuracy_memory"
    spec = importlib.util.spec_from_file_location(name, REPOSITORY / "bench" / "accuracy_memory.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[name]


@pytest.fixture(scope="module")
def cases(study):
    """Return every measured row with the facts of its model."""
    found, unknown = study.read_cases([ROWS])
    assert not unknown
    return found


def test_no_start_up_needs_more_than_was_asked_for(study, cases) -> None:
    """A3 with the shipped coefficients: never under, median within 8 %, 95 % within a quarter."""
    verdicts = [study.judge(case, profile(study.choice(case))) for case in cases]
    assert len(verdicts) == 33
    assert min(verdict.over for verdict in verdicts) >= 0
    assert np.median([abs(verdict.error) for verdict in verdicts]) <= 0.08
    assert np.percentile([verdict.over for verdict in verdicts], 95) <= 0.25


@pytest.mark.parametrize("left_out", ["llama", "qwen2", "qwen3", "granite", "mixtral", "gpt_oss"])
def test_architectures_that_were_left_out_are_not_under_estimated(study, cases, left_out) -> None:
    """A3 with coefficients fitted on the other architectures only."""
    base = profile(EngineChoice("vllm", "0.19"))
    refit = study.fitted([case for case in cases if case.architecture != left_out], base)
    tested = [study.judge(case, refit) for case in cases if case.architecture == left_out]
    if not tested:
        pytest.skip(f"no row of architecture {left_out}")
    assert min(verdict.over for verdict in tested) >= 0
    assert np.median([abs(verdict.error) for verdict in tested]) <= 0.08


def test_shipped_coefficients_are_those_of_the_fit(study, cases) -> None:
    """What engines.py carries is the fit on all rows, to a tenth."""
    base = profile(EngineChoice("vllm", "0.19"))
    found = study.fitted(cases, base).overheads
    for name, shipped, fit in zip(found._fields, base.overheads, found, strict=True):
        assert shipped == pytest.approx(fit, rel=0.1), name


def test_cache_per_token_is_what_the_pool_holds(study, cases) -> None:
    """A4: 2 % for full attention (TP rule included), 5 % where sliding layers are padded."""
    for case in cases:
        measured = case.row["kv_cache_GiB"] * 2**30 / case.row["kv_cache_tokens"]
        full = {layer.cache.kind for layer in case.model.layers} == {"full"}
        assert study.pool_per_token(case) == pytest.approx(measured, rel=0.02 if full else 0.05)


def test_gguf_types_are_within_two_percent_of_documented_files(study) -> None:
    """A5: 23 types of Llama-3.1-8B, sizes from the documentation of llama-quantize."""
    sizes = json.loads((SHARED / "exact_sizes.json").read_text())["sizes"]["gguf_llama_3_1_8B"]
    model = study.facts("meta-llama/Llama-3.1-8B-Instruct")
    for name, gib in sizes["GiB"].items():
        total = study.weight_split(model, study.quantization(name)).total
        # Sizes are printed to 0.01 GiB.
        assert total / 2**30 == pytest.approx(gib, rel=0.005, abs=0.006), name
