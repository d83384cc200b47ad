"""Bytes of weights by part, against documented file sizes and against arithmetic."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claimfit.model.config import facts_from_config
from claimfit.model.facts import FileWeights, ModelFacts
from claimfit.model.quantization import quantization
from claimfit.model.weights import weight_split

GIB = 1 << 30
ROWS = {
    row["repository"]: row["config"]
    for row in json.loads(
        (Path(__file__).parents[1] / "golden" / "model_published_totals.json").read_text("utf-8")
    )
}


def model(repository: str, **changes: object) -> ModelFacts:
    return facts_from_config(
        {**ROWS[repository], **changes},
        name=repository,
        repository=repository,
        origin="catalogue",
        place=repository,
    )


LLAMA = "meta-llama/Meta-Llama-3.1-8B"

DOCUMENTED_BITS = {
    # tools/quantize/README.md of ggml-org/llama.cpp, Llama-3.1-8B
    "IQ1_S": 2.0042,
    "IQ1_M": 2.1460,
    "IQ2_XXS": 2.3824,
    "IQ2_XS": 2.5882,
    "IQ2_S": 2.7403,
    "IQ2_M": 2.9294,
    "IQ3_XXS": 3.2548,
    "IQ3_XS": 3.4977,
    "IQ3_S": 3.6606,
    "IQ3_M": 3.7628,
    "IQ4_XS": 4.4597,
    "IQ4_NL": 4.6818,
    "Q2_K_S": 2.9697,
    "Q2_K": 3.1593,
    "Q3_K_S": 3.6429,
    "Q3_K_L": 4.2979,
    "Q4_K_S": 4.6672,
    "Q4_K_M": 4.8944,
    "Q5_K_S": 5.5704,
    "Q5_K_M": 5.7036,
    "Q6_K": 6.5633,
    "Q8_0": 8.5008,
    "F16": 16.0005,
}


@pytest.mark.parametrize(("name", "bits"), DOCUMENTED_BITS.items())
def test_recipes_give_the_documented_bits(name, bits):
    """The recipe on Llama-3.1-8B's shapes gives the documented bits per weight to 4 digits."""
    facts = model(LLAMA)
    split = weight_split(facts, quantization(name))

    assert split.total * 8 / facts.parameters == pytest.approx(bits, abs=0.0006)


@pytest.mark.parametrize("name", DOCUMENTED_BITS)
def test_the_table_states_the_documented_bits(name):
    """`bits_per_weight` of a GGUF type is that documented average."""
    if name != "F16":
        assert quantization(name).bits_per_weight == DOCUMENTED_BITS[name]


def test_seventy_billion_at_four_bits():
    """Llama-3.1-70B in Q4_K_M is documented with 43.1 GB."""
    total = weight_split(model("meta-llama/Meta-Llama-3.1-70B"), quantization("Q4_K_M")).total

    assert total / 1e9 == pytest.approx(43.1, rel=0.02)


def compressed(bits: int, kind: str, **weights: object) -> dict[str, object]:
    return {
        "quantization_config": {
            "quant_method": "compressed-tensors",
            "config_groups": {
                "group_0": {
                    "targets": ["Linear"],
                    "weights": {"num_bits": bits, "type": kind, **weights},
                }
            },
            "ignore": ["lm_head"],
        }
    }


SAFETENSORS = [
    # totals of the repositories' safetensors files, GiB
    ("deepseek-ai/DeepSeek-V2-Lite", {}, 29.2556),
    ("google/gemma-2-27b-it", {}, 50.7145),
    ("google/gemma-3-27b-it", {}, 51.0968),
    ("google/gemma-7b", {}, 15.9027),
    ("ibm-granite/granite-3.3-8b-instruct", {}, 15.2194),
    (LLAMA, {}, 14.9575),
    ("microsoft/phi-2", {}, 5.1776),
    ("microsoft/phi-4", {}, 27.3055),
    ("mistralai/Mistral-Small-3.1-24B-Instruct-2503", {}, 44.7246),
    ("mistralai/Mixtral-8x7B-v0.1", {}, 86.9907),
    ("openai/gpt-oss-20b", {}, 12.8162),
    ("Qwen/Qwen2.5-7B-Instruct", {}, 14.1852),
    ("Qwen/Qwen3-30B-A3B", {}, 56.8705),
    ("Qwen/Qwen2.5-7B-Instruct", compressed(8, "float"), 8.1106),
    ("meta-llama/Meta-Llama-3.1-70B", compressed(8, "float"), 67.679),
    ("meta-llama/Meta-Llama-3.1-70B", compressed(8, "int"), 67.679),
    (LLAMA, compressed(8, "int"), 8.4601),
    (LLAMA, compressed(4, "int", group_size=128), 5.3417),
]


@pytest.mark.parametrize(("repository", "changes", "gib"), SAFETENSORS)
def test_published_file_sizes(repository, changes, gib):
    """Shapes and the quantization table give the size of the published files within 0.2 %."""
    total = weight_split(model(repository, **changes)).total

    assert total / GIB == pytest.approx(gib, rel=0.002)


def test_parts_of_a_dense_model():
    """BF16 Llama-3.1-8B: embedding and head of 128256 x 4096, layers of 218,112,000, two bytes."""
    split = weight_split(model(LLAMA))
    layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096

    assert split.embedding == split.output == 128_256 * 4096 * 2
    assert split.layers == (layer * 2,) * 32
    assert split.experts == (0,) * 32
    assert split.other == 4096 * 2


def test_four_bit_keeps_embedding_and_head():
    """INT4 with groups of 128: layers at 4 + 20/128 bits, embedding and head at 16."""
    split = weight_split(model(LLAMA), quantization("INT4"))
    layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096

    assert split.output == 128_256 * 4096 * 2
    assert split.layers[0] == pytest.approx(layer * (4 + 20 / 128) / 8, abs=1)


def test_mxfp4_touches_experts_only():
    """gpt-oss-20b: experts of 32 x (3 x 2880 x 2880 + 3 x 2880) at 4.25 bits, the rest BF16."""
    split = weight_split(model("openai/gpt-oss-20b"))
    experts = 32 * (3 * 2880 * 2880 + 3 * 2880)

    assert split.experts[0] == pytest.approx(experts * 4.25 / 8, abs=1)
    assert split.embedding == 201_088 * 2880 * 2


def test_mxfp4_asked_for_a_dense_model():
    """Without experts the layers are what is quantized."""
    split = weight_split(model(LLAMA), quantization("MXFP4"))

    assert split.layers[0] < weight_split(model(LLAMA)).layers[0] * 0.27


def test_a_tied_head_counts_once():
    """Llama-3.2-1B has no output head of its own; GGUF gives the table the head's type."""
    facts = model("meta-llama/Llama-3.2-1B")
    table = 128_256 * 2048

    assert weight_split(facts).output == 0
    assert weight_split(facts, quantization("Q4_K_M")).embedding == table * 210 // 256


def test_prediction_layers_are_not_loaded():
    """DeepSeek-R1 in BF16 is 671,026,419,200 parameters, without the prediction layer."""
    facts = model("deepseek-ai/DeepSeek-R1", quantization_config=None)

    assert weight_split(facts).total == 671_026_419_200 * 2


def test_parts_keep_their_own_type():
    """Attention left in BF16 by the publisher stays so; asking for another type drops that."""
    declared = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["*self_attn*"]}
    facts = model("Qwen/Qwen3-30B-A3B", quantization_config=declared)
    attention = facts.layers[0].mixer_parameters
    router = 2048 * 128

    assert weight_split(facts).layers[0] == (attention + router) * 2
    assert weight_split(facts, quantization("FP8")).layers[0] < (attention + router) * 1.1


def test_the_group_size_of_the_file_counts():
    """GPTQ with groups of 32 as published is larger than the usual 128."""
    declared = {"quant_method": "gptq", "bits": 4, "group_size": 32}
    grouped = weight_split(model(LLAMA, quantization_config=declared))

    assert grouped.layers[0] == pytest.approx(218_112_000 * (4 + 20 / 32) / 8, abs=1)
    assert weight_split(model(LLAMA), quantization("gptq")).total < grouped.total


FILE = FileWeights(
    total_bytes=100,
    embedding_bytes=10,
    output_bytes=11,
    layer_bytes=(1,) * 32,
    expert_bytes=(0,) * 32,
    other_bytes=5,
    unloaded_bytes=2,
    quantization="Q4_K_M",
    types=(),
    files=("a.gguf",),
)


@pytest.mark.parametrize("asked", [None, "Q4_K_M"])
def test_a_file_states_its_bytes(asked):
    """With headers read, the bytes are the file's, unloaded ones left out."""
    facts = model(LLAMA)._replace(file=FILE, quantization="Q4_K_M")
    split = weight_split(facts, None if asked is None else quantization(asked))

    assert split[:5] == (10, 11, (1,) * 32, (0,) * 32, 5)
    assert split.total == 10 + 11 + 32 + 5
    assert split.bits_source == "headers of a.gguf"


def test_another_quantization_than_the_file_is_computed():
    """Asked for Q8_0, a Q4_K_M file says nothing."""
    facts = model(LLAMA)._replace(file=FILE, quantization="Q4_K_M")

    assert weight_split(facts, quantization("Q8_0")).total > 8e9
