"""Valid tensor-parallel sizes, and the reasons of the others."""

from __future__ import annotations

import pytest

from claimfit.errors import SizingError
from claimfit.sizing.parallel import check_parallelism, tensor_sizes
from claimfit.sizing.plan import EngineChoice, Parallelism
from support.sizing_models import attention_layer, expert_layer, full, latent, llama_8b, model_of

VLLM = EngineChoice("vllm")


def allowed(model, engine=VLLM, scheme="", limit=8):
    """Return the sizes that are allowed."""
    return [item.size for item in tensor_sizes(model, engine, scheme, limit) if item.allowed]


def reason(model, size, scheme=""):
    """Return why `size` is refused."""
    return tensor_sizes(model, VLLM, scheme, size)[size - 1].reason


def qwen_7b():
    """Return the shape of Qwen2.5-7B: 28 heads, 4 key/value heads."""
    layer = attention_layer(full(4), hidden=3584, heads=28, width=18_944)
    return model_of((layer,) * 28, name="example/qwen-7b", hidden=3584, vocabulary=152_064)


def test_llama_splits_into_powers_of_two() -> None:
    """32 heads, 8 key/value heads, vocabulary 128256, width 14336."""
    assert allowed(llama_8b(), limit=32) == [1, 2, 4, 8, 16, 32]
    assert all(not item.reason for item in tensor_sizes(llama_8b(), VLLM) if item.allowed)


def test_28_heads_on_8_devices_list_the_divisors() -> None:
    """Eight is impossible; 1, 2 and 4 are left on a node of 8 (4 key/value heads)."""
    assert "8 does not divide 28 attention heads (divisors: 1, 2, 4, 7, 14, 28)" == reason(
        qwen_7b(), 8
    )
    assert allowed(qwen_7b()) == [1, 2, 4]


def test_more_ranks_than_key_value_heads_must_be_a_multiple() -> None:
    """Seven ranks divide 28 heads, but 4 key/value heads cannot be repeated evenly."""
    assert reason(qwen_7b(), 7) == "7 is no multiple of 4 key/value heads"


def test_40_heads_on_3_devices() -> None:
    """Two devices or three pipeline stages; five divide the heads but not the width, 13824."""
    layer = attention_layer(full(40), hidden=5120, heads=40, width=13_824)
    model = model_of((layer,) * 40, name="example/13b", hidden=5120, vocabulary=32_000)
    assert allowed(model, limit=3) == [1, 2]
    with pytest.raises(SizingError) as caught:
        check_parallelism(model, VLLM, "", Parallelism(3))
    error = caught.value
    assert error.code == "SIZ020"
    assert "3 does not divide 40 attention heads" in error.message
    assert error.candidates == ("1", "2", "4", "8")
    assert "--pp 3" in error.fix
    check_parallelism(model, VLLM, "", Parallelism(1, 3))


def test_the_padded_vocabulary_must_divide() -> None:
    """30 heads on 3 ranks: 151936 is a multiple of 64 but not of 3."""
    layer = attention_layer(full(30), heads=30, width=14_400)
    model = model_of((layer,), vocabulary=151_936)
    assert reason(model, 3) == "3 does not divide the vocabulary of 151936 (padded to 64)"


def test_experts_are_cut_between_blocks_of_a_scale() -> None:
    """Qwen3-235B-A22B-FP8: 1536 / 8 = 192 cuts through 128, 1536 / 4 = 384 does not."""
    layer = expert_layer(full(4), hidden=4096, heads=64, width=1536)
    model = model_of((layer,), vocabulary=151_936, quantization="FP8", group_size=128)
    assert allowed(model) == [1, 2, 4]
    assert "1536 / 8 = 192, cuts through the groups of 128" in reason(model, 8)


def test_groups_of_gptq_must_stay_whole() -> None:
    """Width 29568 is 231 groups of 128: eight ranks get 3696, 28.9 groups."""
    layer = attention_layer(full(8), hidden=8192, heads=64, width=29_568)
    model = model_of((layer,), hidden=8192, vocabulary=152_064)
    assert reason(model, 8) == ""
    assert "29568 / 8 = 3696" in reason(model, 8, "GPTQ-INT4")
    assert "GPTQ-INT4" in reason(model, 2, "gptq")


def test_the_attention_output_is_cut_between_groups_too() -> None:
    """14 heads of 64 are 896, seven groups of 128: two ranks get 448."""
    layer = attention_layer(full(2, 64), hidden=896, heads=14, width=4864)
    model = model_of((layer,), hidden=896, vocabulary=151_936)
    assert "896 / 2 = 448" in reason(model, 2, "AWQ-INT4")
    assert reason(model, 2) == ""


def test_mxfp4_pads_instead_of_refusing() -> None:
    """gpt-oss runs on 8 ranks though 2880 / 8 = 360 is no multiple of 32."""
    layer = expert_layer(full(8, 64), hidden=2880, heads=64, width=2880, experts=32, per_token=4)
    model = model_of((layer,), hidden=2880, vocabulary=201_088, quantization="MXFP4", group_size=32)
    assert allowed(model) == [1, 2, 4, 8]


def test_a_latent_has_no_key_value_heads_to_divide() -> None:
    """MLA with 128 heads splits by query head alone."""
    layer = attention_layer(latent(), heads=128, width=18_432)
    assert allowed(model_of((layer,)), limit=16) == [1, 2, 4, 8, 16]


def test_llama_cpp_splits_by_layer() -> None:
    """Tensor sizes are refused with the way that works."""
    verdicts = tensor_sizes(llama_8b(), EngineChoice("llama.cpp"), "", 2)
    assert [item.allowed for item in verdicts] == [True, False]
    assert "pipeline" in verdicts[1].reason


@pytest.mark.parametrize(
    "parallelism",
    [Parallelism(0), Parallelism(-1), Parallelism(1, 0), Parallelism(10**400), Parallelism(2000)],
)
def test_sizes_that_are_no_count(parallelism: Parallelism) -> None:
    """Zero, negative and absurd sizes are named."""
    with pytest.raises(SizingError) as caught:
        check_parallelism(llama_8b(), VLLM, "", parallelism)
    assert caught.value.code == "SIZ001"


def test_no_more_stages_than_layers() -> None:
    """33 stages for 32 layers."""
    with pytest.raises(SizingError) as caught:
        check_parallelism(llama_8b(), VLLM, "", Parallelism(1, 33))
    assert caught.value.code == "SIZ021"
