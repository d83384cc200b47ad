"""The same model read from a GGUF header and from its configuration caches the same.

Two readings that share no code: the keys that convert_hf_to_gguf.py writes, by the rules of
llama.cpp, against the catalogue's config.json, by the rules of transformers and vLLM.
"""

from __future__ import annotations

import pytest

from claimfit.model.catalogue import built_in
from claimfit.model.entry import facts_of
from claimfit.model.facts import Cache, ModelFacts
from claimfit.model.gguf_facts import facts_from_gguf
from support.gguf_models import WIDTH, attention, feed_forward, keys_of, model_tensors
from support.gguf_writer import Tensor, gguf_bytes
from support.memory_files import MemoryStore


def catalogued(name: str) -> ModelFacts:
    """Return a model of the catalogue."""
    entry = built_in().entry(name)
    assert entry is not None
    return facts_of(entry)


def from_header(keys: dict[str, object], layers: list[list[Tensor]]) -> ModelFacts:
    """Return the facts of a GGUF with these keys and layers."""
    content = gguf_bytes(keys, model_tensors(layers))
    return facts_from_gguf(MemoryStore({"m.gguf": content}), "m.gguf")


@pytest.mark.parametrize(
    ("name", "architecture"),
    [
        ("google/gemma-2-9b", "gemma2"),
        ("google/gemma-3-1b-it", "gemma3"),
        ("google/gemma-3-27b-it", "gemma3"),
        ("google/gemma-3n-E2B-it", "gemma3n"),
        ("google/gemma-3n-E4B-it", "gemma3n"),
        ("openai/gpt-oss-20b", "gpt-oss"),
        ("openai/gpt-oss-120b", "gpt-oss"),
        ("CohereLabs/c4ai-command-r7b-12-2024", "cohere2"),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama4"),
        ("allenai/Olmo-3-7B-Instruct", "olmo2"),
        ("allenai/OLMo-2-1124-7B-Instruct", "olmo2"),
        ("LGAI-EXAONE/EXAONE-4.0-32B", "exaone4"),
        ("LGAI-EXAONE/EXAONE-4.0-1.2B", "exaone4"),
    ],
)
def test_layers_slide_and_share_alike(name: str, architecture: str) -> None:
    """Kind and window of every layer, in order."""
    model = catalogued(name)
    count = len(model.layers)
    window = max(layer.cache.window for layer in model.layers)
    keys = keys_of(architecture, count, attention__sliding_window=window or None)

    found = from_header(keys, [attention(i) + feed_forward(i) for i in range(count)])

    assert [(layer.cache.kind, layer.cache.window) for layer in found.layers] == [
        (layer.cache.kind, layer.cache.window) for layer in model.layers
    ]


def linear_caches(model: ModelFacts) -> set[tuple[int, int]]:
    """Return the distinct sizes of states and convolution windows."""
    return {
        (layer.cache.state_elements, layer.cache.convolution_elements)
        for layer in model.layers
        if layer.cache.state_elements
    }


@pytest.mark.parametrize(
    ("name", "architecture", "keys"),
    [
        # value heads x head size, key head size and count, as the converter writes them
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", "qwen3next", {"inner": 32 * 128, "group": 16}),
        (
            "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
            "nemotron_h",
            {"inner": 64 * 64, "group": 8},
        ),
        ("ibm-granite/granite-4.0-h-small", "granitehybrid", {"inner": 128 * 64, "group": 1}),
        ("ai21labs/AI21-Jamba-Mini-1.6", "jamba", {"inner": 2 * 4096, "group": 0, "state": 16}),
    ],
)
def test_recurrent_layers_keep_alike(name: str, architecture: str, keys: dict[str, int]) -> None:
    """State and convolution window of one sequence."""
    own = keys_of(
        architecture,
        1,
        ssm__conv_kernel=4,
        ssm__inner_size=keys["inner"],
        ssm__state_size=keys.get("state", 128),
        ssm__group_count=keys["group"],
    )

    found = from_header(own, [[Tensor("blk.0.ssm_in.weight", (WIDTH, 64), "F16")]])

    assert linear_caches(found) == linear_caches(catalogued(name))


def test_delta_attention_keeps_alike() -> None:
    """Kimi Linear: 32 heads of 128, three convolutions."""
    keys = keys_of(
        "kimi-linear",
        1,
        attention__head_count=32,
        attention__head_count_kv=0,
        ssm__conv_kernel=4,
        kda__head_dim=128,
    )

    found = from_header(keys, [[Tensor("blk.0.ssm_conv1d_q.weight", (4, 64), "F32")]])

    assert linear_caches(found) == linear_caches(
        catalogued("moonshotai/Kimi-Linear-48B-A3B-Instruct")
    )


@pytest.mark.parametrize(
    ("name", "architecture", "indexer"),
    [
        ("deepseek-ai/DeepSeek-V3", "deepseek2", 0),
        ("deepseek-ai/DeepSeek-V3.2", "deepseek32", 128),
    ],
)
def test_latent_caches_are_alike(name: str, architecture: str, indexer: int) -> None:
    """The latent vector, the rope key and the indexer's key."""
    keys = keys_of(
        architecture,
        1,
        attention__kv_lora_rank=512,
        attention__key_length_mla=192,
        rope__dimension_count=64,
        attention__indexer__key_length=indexer or None,
    )
    layer = [Tensor("blk.0.attn_kv_a_mqa.weight", (WIDTH, 576), "F16")]
    if indexer:
        layer.append(Tensor("blk.0.indexer.attn_k.weight", (WIDTH, indexer), "F16"))

    found = from_header(keys, [layer])

    assert found.layers[0].cache == Cache(
        "mla", kv_heads=1, latent_size=512, rope_size=64, index_size=indexer
    )
    assert {item.cache for item in catalogued(name).layers} == {found.layers[0].cache}
