"""Names of quantizations, their spellings and their bits; the tensor types of GGUF."""

from __future__ import annotations

import pytest

from claimfit.errors import ModelError
from claimfit.model.ggml_types import GGML_TYPES, TYPE_BITS
from claimfit.model.gguf_recipes import RECIPES, type_in_layer
from claimfit.model.quantization import names, quantization


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("Q4_K_M", "Q4_K_M"),
        ("q4_k_m", "Q4_K_M"),
        ("q4-k-m", "Q4_K_M"),
        ("Q4 K M", "Q4_K_M"),
        ("q4_k", "Q4_K_M"),
        ("i1-Q4_K_M", "Q4_K_M"),
        ("UD-Q4_K_XL", "UD-Q4_K_XL"),
        ("ud_q4_k_xl", "UD-Q4_K_XL"),
        ("UD-Q4_K_M", "Q4_K_M"),
        ("UD-IQ1_S", "UD-IQ1_S"),
        ("iq4_nl", "IQ4_NL"),
        ("mxfp4_moe", "MXFP4_MOE"),
        ("bf16", "BF16"),
        ("bfloat16", "BF16"),
        ("fp16", "F16"),
        ("float32", "F32"),
        ("fp8", "FP8"),
        ("FP8-dynamic", "FP8"),
        ("fp8_e4m3", "FP8"),
        ("NVFP4", "NVFP4"),
        ("fp4", "NVFP4"),
        ("mxfp4", "MXFP4"),
        ("int8", "INT8"),
        ("w8a8", "INT8"),
        ("W4A16", "INT4"),
        ("4bit", "INT4"),
        ("awq", "AWQ-INT4"),
        ("AWQ-4bit", "AWQ-INT4"),
        ("gptq-int4", "GPTQ-INT4"),
        ("GPTQ-Int8", "GPTQ-INT8"),
        ("auto-round", "AUTOROUND-INT4"),
        ("AutoRound-4bit", "AUTOROUND-INT4"),
        ("bnb-nf4", "BNB-NF4"),
        ("bnb-4bit", "BNB-NF4"),
        ("bitsandbytes-8bit", "BNB-INT8"),
        ("mlx-4bit", "MLX-4BIT"),
        ("mlx-8bit", "MLX-8BIT"),
    ],
)
def test_spelling_does_not_matter(spelling, name):
    """Case, separators and the common other names lead to one canonical name."""
    assert quantization(spelling).name == name


@pytest.mark.parametrize("name", names())
def test_every_name_reads_as_itself(name):
    """A canonical name is found in its own and in lower case."""
    assert quantization(name).name == name
    assert quantization(name.lower().replace("_", "-")).name == name


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("Q4_K_X", "Q4_K"), ("NVFP5", "NVFP4"), ("IQ4_XXS", "IQ4_XS"), ("gguf-q8_0x", "Q8_0")],
)
def test_an_unknown_name_is_refused_with_the_nearest(name, nearest):
    """The error names what was given, three candidates and where all are listed."""
    with pytest.raises(ModelError) as caught:
        quantization(name)

    error = caught.value
    assert error.code == "QNT001"
    assert error.found == name
    assert error.fix == "claimfit models --quants"
    assert any(candidate.startswith(nearest) for candidate in error.candidates)
    assert len(error.candidates) <= 3


@pytest.mark.parametrize("name", ["", "nonsense" * 10_000, "\x00\n", "UD-FP8", "q", "-_-"])
def test_hostile_names_are_refused(name):
    """Empty, endless and unprintable names are unknown like any other."""
    with pytest.raises(ModelError) as caught:
        quantization(name)

    assert "\n" not in caught.value.found


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("F32", 32),
        ("BF16", 16),
        ("FP8", 8 + 32 / (128 * 128)),  # an F32 scale per block of 128 x 128
        ("MXFP8", 8 + 8 / 32),
        ("NVFP4", 4 + 8 / 16),
        ("MXFP4", 4 + 8 / 32),
        ("AWQ-INT4", 4 + (16 + 4) / 128),  # F16 scale, 4-bit zero point
        ("GPTQ-INT8", 8 + (16 + 8) / 128),
        ("BNB-NF4", 4 + 32 / 64),
        ("MLX-4BIT", 4 + (16 + 16) / 64),
        ("MLX-8BIT", 8 + (16 + 16) / 64),
        ("MLX-MXFP4", 4 + 8 / 32),
    ],
)
def test_bits_include_scales(name, bits):
    """Bits per weight are value bits and the share of the group's scale and zero point."""
    assert quantization(name).bits_per_weight == pytest.approx(bits, abs=1e-4)


def test_a_smaller_group_costs_more():
    """GPTQ with groups of 32: 4 + 20 / 32 bits; the embedding stays native."""
    grouped = quantization("gptq").with_group_size(32)

    assert grouped.bits_per_weight == grouped.body_bits == 4 + 20 / 32
    assert grouped.group_size == 32
    assert grouped.embedding_bits == 0


def test_group_sizes_that_change_nothing():
    """No group, the same group, or a scheme without groups."""
    scheme = quantization("gptq")

    assert scheme.with_group_size(0) is scheme
    assert scheme.with_group_size(128) is scheme
    assert quantization("fp8").with_group_size(128) is quantization("fp8")


@pytest.mark.parametrize("name", ["FP8", "INT4", "AWQ-INT4", "GPTQ-INT4", "NVFP4", "BNB-NF4"])
def test_checkpoint_formats_leave_embedding_and_head(name):
    """0 bits read native: these formats quantize the matrices of the layers."""
    scheme = quantization(name)

    assert (scheme.embedding_bits, scheme.output_bits) == (0, 0)
    assert scheme.body_bits == scheme.expert_bits == scheme.bits_per_weight


def test_mxfp4_quantizes_experts_only():
    """gpt-oss keeps attention, router, embedding and head in BF16."""
    scheme = quantization("MXFP4")

    assert (scheme.body_bits, scheme.expert_bits) == (0, 4.25)


def test_mlx_quantizes_embedding_and_head():
    """mlx quantizes every matrix that has a quantized form, embeddings among them."""
    scheme = quantization("MLX-4BIT")

    assert scheme.embedding_bits == scheme.output_bits == 4.5


def test_every_recipe_uses_known_types():
    """Each type that a recipe names has a block size."""
    for recipe in RECIPES.values():
        named = {
            recipe.base,
            recipe.output,
            recipe.embedding or recipe.base,
            recipe.query or recipe.base,
            recipe.key or recipe.base,
            recipe.grouped_value or recipe.base,
            recipe.attention_output or recipe.base,
            recipe.eight_expert_output or recipe.base,
            recipe.expert or recipe.base,
        }
        for rule in (recipe.value, recipe.gate_up, recipe.down):
            if rule is not None:
                named |= {rule.base, rule.special or rule.base}

        assert named <= TYPE_BITS.keys()


def test_more_bits_in_half_of_the_layers():
    """Q4_K_M of 32 layers: the first 4, the last 4 and every third between are Q6_K: 16."""
    rule = RECIPES["Q4_K_M"].down
    types = [type_in_layer(rule, "Q4_K", layer, 32) for layer in range(32)]

    assert types[:4] == types[28:] == ["Q6_K"] * 4
    assert types[4:10] == ["Q4_K", "Q4_K", "Q6_K"] * 2
    assert types.count("Q6_K") == 16


@pytest.mark.parametrize(
    ("name", "bits"),
    [("Q4_0", 4.5), ("Q8_0", 8.5), ("Q2_K", 2.625), ("Q6_K", 6.5625), ("IQ1_S", 1.5625)],
)
def test_type_bits(name, bits):
    """A block of 32 with an F16 scale: 4.5 and 8.5 bits; 84, 210 and 50 bytes of 256 weights."""
    assert TYPE_BITS[name] == bits


def test_types_are_those_of_the_gguf_package():
    """Numbers, names and sizes equal the reference table, Q8_1's old layout apart."""
    constants = pytest.importorskip("gguf.constants")
    theirs = {int(kind): (kind.name, *size) for kind, size in constants.GGML_QUANT_SIZES.items()}
    theirs.pop(9)
    ours = {number: tuple(entry) for number, entry in GGML_TYPES.items() if number != 9}

    assert ours == theirs
