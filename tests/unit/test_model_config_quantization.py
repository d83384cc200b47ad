"""The quantization that a configuration declares, in the spellings of the tools that write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from claimfit.errors import InputError
from claimfit.model.config import facts_from_config

if TYPE_CHECKING:
    from claimfit.model.facts import ModelFacts

DENSE = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1024,
    "max_position_embeddings": 2048,
    "torch_dtype": "bfloat16",
}
SPARSE = {
    **DENSE,
    "model_type": "qwen2_moe",
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 64,
    "shared_expert_intermediate_size": 128,
}


def read(base: dict[str, object], **changes: object) -> ModelFacts:
    return facts_from_config(
        {**base, **changes}, name="n", repository="", origin="folder", place="config.json"
    )


def groups(bits: int, kind: str, **weights: object) -> dict[str, object]:
    """A compressed-tensors declaration with one group for all Linear modules."""
    return {
        "quant_method": "compressed-tensors",
        "config_groups": {
            "group_0": {
                "targets": ["Linear"],
                "weights": {"num_bits": bits, "type": kind, **weights},
            }
        },
        "ignore": ["lm_head"],
    }


@pytest.mark.parametrize(
    ("declared", "name", "group_size"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "FP8", 128),
        ({"quant_method": "fbgemm_fp8"}, "FP8", 0),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "AWQ-INT4", 128),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 64}, "AWQ-INT4", 64),
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "GPTQ-INT4", 32),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, "GPTQ-INT8", 0),
        ({"quant_method": "auto-round", "bits": 4, "group_size": 128}, "AUTOROUND-INT4", 128),
        ({"quant_method": "intel/auto-round", "bits": 2, "group_size": 64}, "AUTOROUND-INT2", 64),
        (
            {
                "quant_method": "bitsandbytes",
                "load_in_4bit": True,
                "bnb_4bit_quant_type": "nf4",
            },
            "BNB-NF4",
            64,
        ),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "BNB-INT8", 0),
        ({"quant_method": "mxfp4"}, "MXFP4", 32),
        (groups(8, "float", strategy="channel"), "FP8", 0),
        (groups(8, "int", strategy="channel"), "INT8", 0),
        (groups(4, "int", group_size=128), "INT4", 128),
        (groups(4, "float", group_size=16), "NVFP4", 16),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "FP8", 0),
        ({"quant_algo": "NVFP4", "group_size": 16, "exclude_modules": ["lm_head"]}, "NVFP4", 16),
        (
            {
                "producer": {"name": "modelopt"},
                "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"},
            },
            "NVFP4",
            16,
        ),
        ({"quant_method": "modelopt", "quant_algo": "W4A16_AWQ"}, "AWQ-INT4", 128),
        (
            {"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp8_e4m3"}}},
            "FP8",
            0,
        ),
    ],
)
def test_declared_methods(declared, name, group_size):
    """Each tool's declaration becomes one canonical name and its group size."""
    facts = read(DENSE, quantization_config=declared)

    assert (facts.quantization, facts.group_size) == (name, group_size)


def test_nothing_declared_is_the_dtype():
    """Without a declaration, or with an empty one, weights are stored as the dtype says."""
    assert read(DENSE).quantization == "BF16"
    assert read(DENSE, quantization_config={}).quantization == "BF16"
    assert read(DENSE, quantization_config=None).quantization == "BF16"


def test_mlx_states_bits_and_group():
    """MLX writes `quantization`, mlx-lm both keys' meaning."""
    facts = read(DENSE, quantization={"group_size": 32, "bits": 6})

    assert (facts.quantization, facts.group_size) == ("MLX-6BIT", 32)
    assert read(
        DENSE, quantization={"mode": "mxfp4", "bits": 4, "group_size": 32}
    ).quantization == ("MLX-MXFP4")


def test_a_catalogue_entry_states_a_name():
    """A plain string is a quantization in any spelling."""
    assert read(DENSE, quantization="w4a16").quantization == "INT4"


def test_packed_weights_do_not_change_the_count():
    """Parameters are counted from shapes: 4-bit or not, the same number."""
    assert read(DENSE, quantization_config=groups(4, "int", group_size=128)).parameters == (
        read(DENSE).parameters
    )


def test_modules_that_are_left_out_become_parts():
    """A glob for attention and a list of every layer's shared experts leave both in BF16."""
    shared = [f"model.layers.{layer}.mlp.shared_expert.up_proj" for layer in range(4)]
    declared = {
        "quant_method": "modelopt",
        "quant_algo": "NVFP4",
        "ignore": ["*self_attn*", "lm_head", "model.layers.0.mlp.gate", *shared],
    }
    facts = read(SPARSE, quantization_config=declared)

    assert facts.part_quantization == (("attention", "BF16"), ("shared_experts", "BF16"))


def test_a_few_layers_left_out_are_no_part():
    """One layer of four does not make attention unquantized."""
    declared = {
        "quant_method": "fp8",
        "modules_to_not_convert": ["model.layers.0.self_attn.q_proj", "lm_head"],
    }

    assert read(DENSE, quantization_config=declared).part_quantization == ()


def test_mixed_precision_names_the_heaviest_part():
    """Experts give the name; parts that are listed otherwise or not at all are parts."""
    layers = {
        f"model.layers.{layer}.mlp.experts": {"quant_algo": "NVFP4", "group_size": 16}
        for layer in range(4)
    } | {f"model.layers.{layer}.self_attn.q_proj": {"quant_algo": "FP8"} for layer in range(4)}
    declared = {
        "quant_method": "modelopt",
        "quant_algo": "MIXED_PRECISION",
        "quantized_layers": layers,
    }
    facts = read(SPARSE, quantization_config=declared)

    assert (facts.quantization, facts.group_size) == ("NVFP4", 16)
    assert facts.part_quantization == (("attention", "FP8"), ("shared_experts", "BF16"))


def test_four_bit_experts_in_an_fp8_file():
    """DeepSeek V4 declares FP8 and experts of FP4."""
    facts = read(SPARSE, expert_dtype="fp4", quantization_config={"quant_method": "fp8"})

    assert facts.quantization == "MXFP4"
    assert facts.part_quantization == (("attention", "FP8"), ("shared_experts", "FP8"))


def test_mxfp4_for_every_matrix():
    """compressed-tensors quantizes all Linear modules, where plain MXFP4 means the experts."""
    facts = read(SPARSE, quantization_config=groups(4, "float", group_size=32))

    assert facts.quantization == "MXFP4"
    assert facts.part_quantization == (("attention", "MXFP4"), ("shared_experts", "MXFP4"))


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ({"quant_method": "telepathy"}, "CFG005"),
        ({"quant_method": "awq"}, "CFG001"),
        ({"quant_method": "gptq", "bits": 5}, "CFG005"),
        ({"quant_method": "gptq", "bits": "4"}, "CFG002"),
        ({"quant_method": ["awq"]}, "CFG002"),
        ({"quant_algo": "WARP9"}, "CFG005"),
        ({"quant_method": "compressed-tensors"}, "CFG001"),
        ({"quant_method": "compressed-tensors", "config_groups": {}}, "CFG001"),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": 1}}, "CFG002"),
        (groups(3, "int"), "CFG005"),
        ({"quantized_layers": {}}, "CFG001"),
        ({"quant_method": "quark"}, "CFG001"),
        ("fp8", "CFG002"),
    ],
)
def test_refusals(declared, code):
    """A method that is not known, or malformed, is refused; nothing is guessed."""
    with pytest.raises(InputError) as caught:
        read(DENSE, quantization_config=declared)

    assert caught.value.code == code
    assert "quantization_config" in caught.value.message


def test_only_attention_quantized():
    """Where attention alone is listed, the feed-forward keeps the dtype."""
    layers = {f"model.layers.{layer}.self_attn.q_proj": {"quant_algo": "FP8"} for layer in range(4)}
    declared = {"quant_algo": "MIXED_PRECISION", "quantized_layers": layers}
    facts = read(DENSE, quantization_config=declared)

    assert facts.quantization == "FP8"
    assert facts.part_quantization == (("feed_forward", "BF16"),)
