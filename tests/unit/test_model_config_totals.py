"""Parameters counted from configurations against the totals that repositories publish.

The published totals are those of the repositories' safetensors metadata, as llmfit 1.1.17 lists
them too. Each configuration is the part of the repository's config.json that sizes depend on.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from claimfit.model.config import facts_from_config

if TYPE_CHECKING:
    from claimfit.model.facts import ModelFacts

ROWS = json.loads(
    (Path(__file__).parents[1] / "golden" / "model_published_totals.json").read_text("utf-8")
)


def read(row: dict[str, object]) -> ModelFacts:
    name = str(row["repository"])
    return facts_from_config(
        row["config"], name=name, repository=name, origin="catalogue", place=name
    )


def in_the_repository(facts: ModelFacts) -> int:
    """Everything that the files hold: what is loaded and what is not."""
    return facts.parameters + sum(part.parameters for part in facts.components if not part.loaded)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["repository"])
def test_parameters_equal_the_published_total(row):
    """Shapes give the published number to the last parameter, or the difference is judged."""
    counted = in_the_repository(read(row))

    if "judged" in row:
        assert counted != row["published_parameters"]
        assert counted == pytest.approx(row["published_parameters"], rel=1e-4)
    else:
        assert counted == row["published_parameters"]


def test_most_rows_are_exact():
    """The table covers the families in use, and a judged difference is the exception."""
    families = {read(row).architecture for row in ROWS}

    assert len(families) >= 55
    assert sum("judged" in row for row in ROWS) <= 5


def named(repository: str) -> ModelFacts:
    return read(next(row for row in ROWS if row["repository"] == repository))


@pytest.mark.parametrize(
    ("repository", "billions"),
    [
        ("Qwen/Qwen3-30B-A3B", 3.0),  # the A3B of its name
        ("Qwen/Qwen3-235B-A22B", 22),
        ("deepseek-ai/DeepSeek-R1", 37),
        ("openai/gpt-oss-120b", 5.1),
        ("openai/gpt-oss-20b", 3.6),
        ("mistralai/Mixtral-8x7B-v0.1", 12.9),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 17),
        ("moonshotai/Kimi-K2-Instruct", 32),
        ("MiniMaxAI/MiniMax-Text-01", 45.9),
    ],
)
def test_active_parameters_agree_with_the_model_cards(repository, billions):
    """What one token reads is what the model cards round to, the embedding look-up left out."""
    assert named(repository).active_parameters / 1e9 == pytest.approx(billions, rel=0.055)


def test_prediction_layers_are_in_the_file_but_not_loaded():
    """DeepSeek-R1 loads 671,026,419,200 of the 684,489,845,504 parameters it publishes."""
    facts = named("deepseek-ai/DeepSeek-R1")

    assert facts.parameters == 671_026_419_200
    assert [part.name for part in facts.components if not part.loaded] == ["multi-token prediction"]


def test_a_vision_tower_is_a_component():
    """Qwen3-VL-30B-A3B is Qwen3-30B-A3B (30,532,122,624) and a tower."""
    facts = named("Qwen/Qwen3-VL-30B-A3B-Instruct")

    tower = next(part for part in facts.components if part.name == "vision tower")
    assert facts.multimodal
    assert facts.parameters - tower.parameters == 30_532_122_624


@pytest.mark.parametrize(
    ("repository", "counts"),
    [
        ("meta-llama/Meta-Llama-3.1-8B", {"full": 32}),
        ("openai/gpt-oss-20b", {"sliding": 12, "full": 12}),
        ("google/gemma-2-9b-it", {"sliding": 21, "full": 21}),
        ("google/gemma-3-27b-it", {"sliding": 52, "full": 10}),
        ("google/gemma-3-4b-it", {"sliding": 29, "full": 5}),
        ("google/gemma-3n-E4B", {"sliding": 16, "full": 4, "shared": 15}),
        ("google/gemma-4-E2B-it", {"sliding": 12, "full": 3, "shared": 20}),
        ("CohereLabs/c4ai-command-r7b-12-2024", {"sliding": 24, "full": 8}),
        ("LGAI-EXAONE/EXAONE-4.0-32B", {"sliding": 48, "full": 16}),
        ("mistralai/Mistral-7B-v0.1", {"sliding": 32}),
        ("mistralai/Mistral-Nemo-Instruct-2407", {"full": 40}),
        ("microsoft/phi-4", {"full": 40}),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", {"sliding": 36, "full": 12}),
        ("deepseek-ai/DeepSeek-R1", {"mla": 61}),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", {"linear": 20, "mla": 7}),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", {"linear": 36, "full": 12}),
        ("Qwen/Qwen3.5-27B", {"linear": 48, "full": 16}),
        ("MiniMaxAI/MiniMax-Text-01", {"linear": 70, "full": 10}),
        ("nvidia/Nemotron-H-56B-Base-8K", {"linear": 54, "none": 54, "full": 10}),
        ("nvidia/Llama-3_3-Nemotron-Super-49B-v1", {"full": 49, "none": 31}),
        ("ibm-granite/granite-4.0-h-tiny", {"linear": 36, "full": 4}),
        ("ai21labs/Jamba-v0.1", {"linear": 28, "full": 4}),
        ("tiiuae/falcon-mamba-7b", {"linear": 64}),
        ("tiiuae/Falcon-H1-0.5B-Instruct", {"full": 36}),
        ("LiquidAI/LFM2-1.2B", {"linear": 10, "full": 6}),
        ("XiaomiMiMo/MiMo-V2-Flash", {"full": 9, "sliding": 39}),
        ("BAAI/bge-m3", {"none": 24}),
    ],
)
def test_each_layer_has_the_cache_of_its_kind(repository, counts):
    """Layer kinds are those that the model cards and papers describe."""
    kinds = [layer.cache.kind for layer in named(repository).layers]

    assert {kind: kinds.count(kind) for kind in kinds} == counts


def test_state_of_a_delta_net():
    """Qwen3-Next: 32 value heads x 128 x 128, and 3 inputs of 2 x 2048 + 4096 channels."""
    cache = named("Qwen/Qwen3-Next-80B-A3B-Instruct").layers[0].cache

    assert (cache.state_elements, cache.convolution_elements) == (32 * 128 * 128, 3 * 8192)


def test_state_of_mamba():
    """Falcon-Mamba: 8192 channels x 16, and 3 inputs; Nemotron-H: 256 heads x 64 x 256."""
    first = named("tiiuae/falcon-mamba-7b").layers[0].cache
    second = named("nvidia/Nemotron-H-56B-Base-8K").layers[0].cache

    assert (first.state_elements, first.convolution_elements) == (8192 * 16, 3 * 8192)
    assert second.state_elements == 256 * 64 * 256
    assert second.convolution_elements == 3 * (256 * 64 + 2 * 8 * 256)


def test_side_by_side_mixers_keep_both_caches():
    """A Falcon-H1 layer caches keys and values of every token, and a state of 24 x 64 x 128."""
    cache = named("tiiuae/Falcon-H1-0.5B-Instruct").layers[0].cache

    assert (cache.kind, cache.kv_heads, cache.key_size) == ("full", 2, 64)
    assert cache.state_elements == 24 * 64 * 128


def test_latent_cache_is_independent_of_heads():
    """DeepSeek-R1 caches 512 + 64 elements per token and layer."""
    cache = named("deepseek-ai/DeepSeek-R1").layers[7].cache

    assert (cache.latent_size, cache.rope_size, cache.kv_heads) == (512, 64, 1)


def test_wider_heads_in_full_layers():
    """Gemma 4 full layers have heads of 512, sliding ones of 256 in a window of 512."""
    layers = named("google/gemma-4-E2B-it").layers

    assert (layers[0].cache.key_size, layers[0].cache.window) == (256, 512)
    assert (layers[4].cache.kind, layers[4].cache.key_size) == ("full", 512)


def test_mixture_of_a_layer():
    """Qwen3-30B-A3B: 128 experts of 3 x 2048 x 768, 8 of them active, a router of 2048 x 128."""
    layer = named("Qwen/Qwen3-30B-A3B").layers[0]

    assert layer.mixture is not None
    assert layer.mixture[:3] == (128, 8, 3 * 2048 * 768)
    assert layer.mixture.router_parameters == 2048 * 128
    assert (layer.feed_forward_parameters, layer.intermediate_size) == (0, 768)


def test_dense_layers_before_the_experts():
    """DeepSeek-R1 has 3 dense layers of 3 x 7168 x 18432 before 58 layers of experts."""
    layers = named("deepseek-ai/DeepSeek-R1").layers

    assert [layer.mixture is None for layer in layers[:4]] == [True, True, True, False]
    assert layers[0].feed_forward_parameters == 3 * 7168 * 18432
