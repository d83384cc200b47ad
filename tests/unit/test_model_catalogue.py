"""The built-in catalogue: complete, consistent, and right where a published number says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from claimfit.model.catalogue import DIRECTORY, built_in
from claimfit.model.entry import facts_of

if TYPE_CHECKING:
    from claimfit.model.entry import Entry
    from claimfit.model.facts import ModelFacts

CATALOGUE = built_in()
ENTRIES = {entry.name: entry for entry in CATALOGUE.entries()}

FAMILIES = [
    "Llama-2-7b",
    "Llama-3-8B",
    "Llama-3.1-405B",
    "Llama-3.2-1B",
    "Llama-3.3-70B",
    "Llama-4-Scout",
    "Qwen2.5-72B",
    "QwQ-32B",
    "Qwen3-235B",
    "Qwen3-VL-8B",
    "Qwen3-Coder-480B",
    "Qwen3-Next-80B",
    "Qwen3.5-27B",
    "Mistral-7B",
    "Mistral-Nemo",
    "Mistral-Small-3.1",
    "Mistral-Large",
    "Codestral",
    "Devstral",
    "Magistral",
    "Ministral-3-8B",
    "Mixtral-8x22B",
    "gemma-2-9b",
    "gemma-3-27b",
    "gemma-3n-E4B",
    "phi-4",
    "Phi-3.5-MoE",
    "DeepSeek-V2-Lite",
    "DeepSeek-V3.1",
    "DeepSeek-V3.2",
    "DeepSeek-R1-Distill-Llama-70B",
    "Kimi-K2-Inst",
    "Kimi-K2.5",
    "Kimi-Linear",
    "Kimi-VL",
    "gpt-oss-120b",
    "GLM-4-9B",
    "GLM-4.5-Air",
    "GLM-4.6",
    "GLM-5",
    "granite-3.3-8b",
    "granite-4.0-h-small",
    "Nemotron-Super-49B",
    "Nemotron-3-Nano",
    "Nemotron-H-8B",
    "command-r-plus",
    "command-r7b",
    "command-a",
    "aya-expanse",
    "OLMo-2",
    "Olmo-3",
    "OLMoE",
    "falcon-7b",
    "Falcon3",
    "Falcon-H1",
    "SmolLM2",
    "SmolLM3",
    "MiniMax-M1",
    "MiniMax-M2.5",
    "Yi-1.5",
    "internlm3",
    "starcoder2",
    "EXAONE-4.0",
    "Seed-OSS",
    "Hunyuan",
    "ERNIE-4.5",
    "MiMo",
    "TinyLlama",
    "bge-m3",
    "bge-reranker",
    "e5-base",
    "gte-base",
    "nomic-embed",
    "Qwen3-Embedding",
    "Qwen3-Reranker",
    "snowflake-arctic",
    "mxbai-embed",
    "all-MiniLM",
]
"""Parts of the names of at least one model of each family in use."""

NOT_COMPARED = {
    "mistralai/Devstral-2-123B-Instruct-2512": "no published total was opened",
}
"""Entries whose parameters cannot be checked, and why."""


@pytest.fixture(scope="module")
def facts() -> dict[str, ModelFacts]:
    """Return the facts of every entry."""
    return {name: facts_of(entry) for name, entry in ENTRIES.items()}


def test_the_index_is_that_of_the_files() -> None:
    """Every entry of every family file is in the index, once, and nothing else."""
    families = {}
    aliases = {}
    for path in sorted(Path(DIRECTORY).glob("*.json")):
        if path.stem != "index":
            for item in json.loads(path.read_text(encoding="utf-8"))["models"]:
                assert item["name"] not in families
                families[item["name"]] = path.stem
                aliases |= dict.fromkeys(item.get("aliases", ()), item["name"])

    assert families == CATALOGUE.families
    assert list(families) == list(CATALOGUE.families)
    assert aliases == CATALOGUE.aliases


def test_it_holds_the_families_in_use() -> None:
    """At least 200 models, and every family that the documentation names."""
    assert len(ENTRIES) >= 200
    listed = " ".join(ENTRIES)
    for family in FAMILIES:
        assert family in listed


def test_no_two_models_share_a_spelling() -> None:
    """Names and aliases are unique in any letter case: a whole name is never ambiguous."""
    spellings = [
        spelling.casefold()
        for entry in ENTRIES.values()
        for spelling in (entry.name, *entry.aliases)
    ]

    assert len(spellings) == len(set(spellings))


@pytest.mark.parametrize("name", list(ENTRIES))
def test_an_entry_says_where_it_is_from(name: str) -> None:
    """Counts carry a source, repositories are org/name, and the name has no blanks."""
    entry = ENTRIES[name]

    assert bool(entry.parameters) == bool(entry.parameters_source)
    assert bool(entry.active_parameters) == bool(entry.active_parameters_source)
    assert entry.repository.count("/") == 1
    assert " " not in entry.name + entry.repository
    assert entry.config["model_type"]
    assert entry.config["architectures"]


@pytest.mark.parametrize("name", list(ENTRIES))
def test_parameters_recomputed_from_the_shapes_are_the_published_ones(
    name: str, facts: dict[str, ModelFacts]
) -> None:
    """Within 1 %, with or without the parts that engines leave in the files (MTP layers)."""
    found = facts[name]
    unloaded = sum(part.parameters for part in found.components if not part.loaded)
    totals = (found.parameters, found.parameters + unloaded)
    published = found.declared_parameters
    agree = any(abs(total - published) <= 0.01 * published for total in totals)

    assert ("parameters" in ENTRIES[name].checks) == (name not in NOT_COMPARED)
    assert agree or name in NOT_COMPARED


@pytest.mark.parametrize(
    "name", [name for name, entry in ENTRIES.items() if entry.active_parameters]
)
def test_active_parameters_are_near_the_published_ones(
    name: str, facts: dict[str, ModelFacts]
) -> None:
    """Published counts are rounded and often include the embedding: within a fifth of them."""
    found = facts[name]
    published = found.declared_active_parameters
    with_embedding = found.active_parameters + found.embedding_parameters

    assert 0.8 * published <= with_embedding
    assert found.active_parameters <= 1.2 * published


@pytest.mark.parametrize("name", list(ENTRIES))
def test_every_entry_is_understood(name: str, facts: dict[str, ModelFacts]) -> None:
    """No entry is read as another model type than its own, and each can be sized."""
    found = facts[name]

    assert not [note for note in found.notes if "not known" in note]
    assert found.context_tokens >= 512
    assert found.layers
    assert found.origin == "catalogue"
    if found.task == "generate":
        assert any(layer.cache.kind not in {"none", "shared"} for layer in found.layers)


@pytest.mark.parametrize(
    ("name", "layers", "context", "dtype", "quantization"),
    [
        # Each as the model's card or paper states it.
        ("meta-llama/Llama-2-7b-hf", {"full": 32}, 4096, "F16", "F16"),
        ("meta-llama/Llama-3.1-8B-Instruct", {"full": 32}, 131_072, "BF16", "BF16"),
        ("mistralai/Mistral-7B-v0.1", {"sliding": 32}, 32_768, "BF16", "BF16"),
        ("mistralai/Mistral-7B-Instruct-v0.3", {"full": 32}, 32_768, "BF16", "BF16"),
        ("google/gemma-2-9b", {"sliding": 21, "full": 21}, 8192, "BF16", "BF16"),
        ("google/gemma-3-27b-it", {"sliding": 52, "full": 10}, 131_072, "BF16", "BF16"),
        ("openai/gpt-oss-20b", {"sliding": 12, "full": 12}, 131_072, "BF16", "MXFP4"),
        ("deepseek-ai/DeepSeek-V3", {"mla": 61}, 163_840, "BF16", "FP8"),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", {"linear": 36, "full": 12}, 262_144, "BF16", "BF16"),
        (
            "moonshotai/Kimi-Linear-48B-A3B-Instruct",
            {"linear": 20, "mla": 7},
            2**20,
            "BF16",
            "BF16",
        ),
        ("ibm-granite/granite-4.0-h-small", {"linear": 36, "full": 4}, 131_072, "BF16", "BF16"),
        (
            "CohereLabs/c4ai-command-r7b-12-2024",
            {"sliding": 24, "full": 8},
            132_096,
            "BF16",
            "BF16",
        ),
        ("MiniMaxAI/MiniMax-M1-80k", {"linear": 70, "full": 10}, 10_240_000, "BF16", "BF16"),
        ("BAAI/bge-m3", {"none": 24}, 8194, "F32", "F32"),
    ],
)
def test_caches_context_and_element_type_of_known_models(
    facts: dict[str, ModelFacts],
    name: str,
    layers: dict[str, int],
    context: int,
    dtype: str,
    quantization: str,
) -> None:
    """What each layer caches, how long the context is and what the weights are stored in."""
    found = facts[name]
    kinds: dict[str, int] = {}
    for layer in found.layers:
        kinds[layer.cache.kind] = kinds.get(layer.cache.kind, 0) + 1

    assert kinds == layers
    assert found.context_tokens == context
    assert (found.dtype, found.quantization) == (dtype, quantization)


def tasks(entries: dict[str, Entry], word: str, facts: dict[str, ModelFacts]) -> set[str]:
    """Return the tasks of the models whose name contains `word`."""
    return {facts[name].task for name in entries if word in name.lower()}


def test_embedding_and_reranking_models_are_known_as_such(facts: dict[str, ModelFacts]) -> None:
    """They pool or score: no tokens per second, no cache for encoders."""
    assert tasks(ENTRIES, "embedding", facts) == {"embed"}
    assert tasks(ENTRIES, "rerank", facts) == {"rerank"}
    assert tasks(ENTRIES, "minilm", facts) == {"embed", "rerank"}  # ms-marco is a cross-encoder
