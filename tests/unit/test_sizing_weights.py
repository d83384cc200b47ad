"""Weights per rank and stage: what is divided, what is whole, what is where."""

from __future__ import annotations

import pytest

from claimfit.model.facts import FileWeights
from claimfit.sizing.engines import profile
from claimfit.sizing.plan import EngineChoice, Parallelism
from claimfit.sizing.weights import element_bytes, loaded_weights, stage_layers, stage_weights
from support.sizing_models import attention_layer, expert_layer, full, latent, llama_8b, model_of

VLLM = profile(EngineChoice("vllm", "0.19"))
LLAMA_CPP = profile(EngineChoice("llama.cpp"))
EMBEDDING = 128_256 * 4096 * 2
ROTARY = 131_072 * 128 * 2
LAYER = (2 * 4096 * 4096 + 2 * 4096 * 1024 + 2 * 4096 + 3 * 4096 * 14336) * 2


def stages(model, tensor=1, pipeline=1, engine=VLLM, scheme=""):
    """Return the expected bytes of every stage."""
    loaded = loaded_weights(model, scheme, engine.name)
    found = stage_weights(model, loaded, Parallelism(tensor, pipeline), engine, 2)
    assert all(one.low <= one.expected <= one.high for one in found)
    return [one.expected for one in found]


def test_one_device_holds_everything_and_the_rotary_table() -> None:
    """Embedding, head and 32 layers; the table of 131072 x 128 angles in 16 bits."""
    assert stages(llama_8b()) == [2 * EMBEDDING + 32 * LAYER + ROTARY]


def test_ranks_divide_matrices_and_repeat_small_tensors() -> None:
    """On two ranks half of all but four vectors per layer and the rotary table."""
    whole = 32 * 4 * 4096 * 2
    expected = (2 * EMBEDDING + 32 * LAYER - whole) / 2 + whole + ROTARY
    assert stages(llama_8b(), tensor=2) == [pytest.approx(expected)]


def test_key_value_projections_are_repeated_beyond_their_heads() -> None:
    """2 heads on 4 ranks: one head on each, half of the projections instead of a quarter."""
    layer = attention_layer(full(kv_heads=2))
    model = model_of((layer,))
    projections = 4096 * 2 * 256 * 2
    whole = 4 * 4096 * 2
    body = (layer.mixer_parameters + layer.feed_forward_parameters) * 2
    rest = body - projections - whole
    expected = (rest + 2 * EMBEDDING) / 4 + projections / 2 + whole + ROTARY
    assert stages(model, tensor=4) == [pytest.approx(expected, rel=1e-9)]


def test_down_projections_of_mla_are_whole() -> None:
    """DeepSeek-V3: the query rank, 1536, follows from the mixer's parameters."""
    hidden, heads = 7168, 128
    query = hidden * 1536 + 1536 * heads * 192
    latents = hidden * 576 + 512 * heads * 256
    output = heads * 128 * hidden
    layer = attention_layer(latent(), hidden=hidden, heads=heads)._replace(
        mixer_parameters=query + latents + output, feed_forward_parameters=0, intermediate_size=0
    )
    model = model_of((layer,), hidden=hidden, vocabulary=64, context=64)
    whole = (hidden * (576 + 1536) + 4 * hidden) * 2
    total = (query + latents + output) * 2
    ends = 2 * 64 * hidden * 2
    expected = (total - whole + ends) / 8 + whole + 64 * 64 * 2
    assert stages(model, tensor=8) == [pytest.approx(expected)]


def test_routers_are_whole_experts_divided() -> None:
    """128 experts on 4 ranks: a quarter of each, the router on all."""
    layer = expert_layer(full(4))
    model = model_of((layer,), hidden=2048, vocabulary=64, context=64)
    experts = 128 * 3 * 2048 * 768 * 2
    router = 2048 * 128 * 2
    mixer = layer.mixer_parameters * 2
    whole = router + 4 * 2048 * 2
    expected = (mixer + router - whole + experts + 2 * 64 * 2048 * 2) / 4 + whole + 64 * 128 * 2
    assert stages(model, tensor=4) == [pytest.approx(expected)]


def test_pipeline_ends_hold_embedding_and_head() -> None:
    """8 layers on each of 4 stages; the first has the embedding, the last the head."""
    middle = 8 * LAYER + ROTARY
    assert stages(llama_8b(), pipeline=4) == [
        middle + EMBEDDING,
        middle,
        middle,
        middle + EMBEDDING,
    ]


def test_a_tied_head_is_copied_to_the_last_stage() -> None:
    """Tied models hold the embedding twice as soon as the ends are on different devices."""
    model = llama_8b(tied=True)
    assert stages(model) == [EMBEDDING + 32 * LAYER + ROTARY]
    assert stages(model, pipeline=2) == [16 * LAYER + ROTARY + EMBEDDING] * 2


def test_llama_cpp_leaves_the_embedding_on_the_host() -> None:
    """The device holds the layers and the head, tied or not."""
    assert stages(llama_8b(), engine=LLAMA_CPP) == [32 * LAYER + EMBEDDING]
    assert stages(llama_8b(tied=True), engine=LLAMA_CPP) == [32 * LAYER + EMBEDDING]


@pytest.mark.parametrize(
    ("layers", "pipeline", "engine", "counts"),
    [
        (32, 1, "vllm", (32,)),
        (10, 4, "vllm", (2, 3, 3, 2)),
        (11, 4, "vllm", (3, 3, 3, 2)),
        (61, 2, "vllm", (31, 30)),
        (10, 4, "llama.cpp", (3, 3, 2, 2)),
        (3, 3, "sglang", (1, 1, 1)),
    ],
)
def test_layers_per_stage(layers: int, pipeline: int, engine: str, counts: tuple[int, ...]) -> None:
    """The last stage of vLLM gets no extra layer: it has the head."""
    assert stage_layers(layers, pipeline, engine) == counts


def test_mxfp4_experts_are_padded_by_vllm() -> None:
    """gpt-oss on two ranks: 1440 is padded to 1536, 2880 to 3072, 1.1378 of the expert bytes."""
    layer = expert_layer(full(8, 64), hidden=2880, width=2880, experts=32, per_token=4)
    model = model_of((layer,), hidden=2880, vocabulary=64, context=64, quantization="MXFP4")
    experts = 32 * 3 * 2880 * 2880 * 4.25 / 8
    padded = stages(model, tensor=2)[0]
    plain = stages(model, tensor=2, engine=profile(EngineChoice("sglang")))[0]
    factor = 1536 * 3072 / (1440 * 2880)
    assert padded - plain == pytest.approx(experts / 2 * (factor - 1))


def test_llama_cpp_calls_eight_bits_beside_such_experts_mxfp4() -> None:
    """Its files keep the rest in Q8_0: the head of 64 x 2880 at 8.5 bits instead of 16."""
    layer = expert_layer(full(8, 64), hidden=2880, width=2880, experts=32, per_token=4)
    model = model_of((layer,), hidden=2880, vocabulary=64, context=64, quantization="MXFP4")
    here, there = (loaded_weights(model, "", name) for name in ("llama.cpp", "vllm"))
    assert (here.scheme, there.scheme) == ("MXFP4_MOE", "MXFP4")
    assert here.split.output == there.split.output * 8.5 / 16
    assert loaded_weights(model, "mxfp4", "llama.cpp") == here


def test_runtime_quantization_shrinks_the_layers() -> None:
    """FP8 of a BF16 checkpoint: the layers about halve, embedding and head stay."""
    body = stages(llama_8b(), scheme="FP8")[0] - 2 * EMBEDDING - ROTARY
    assert body == pytest.approx(32 * LAYER / 2, rel=0.001)


def test_a_float32_checkpoint_is_loaded_in_16_bits_unless_asked() -> None:
    """vLLM's dtype auto; F32 by name doubles everything, llama.cpp keeps the file's type."""
    model = llama_8b(quantization="F32")
    assert loaded_weights(model, "", "vllm").scheme == "BF16"
    assert loaded_weights(model, "", "llama.cpp").scheme == "F32"
    wide, narrow = (loaded_weights(model, name, "vllm").split.total for name in ("F32", ""))
    assert wide == 2 * narrow
    assert (element_bytes("F32"), element_bytes(""), element_bytes("FP8")) == (4, 2, 2)


def test_file_bytes_are_taken_as_they_are() -> None:
    """With headers at hand nothing is computed from a table."""
    file = FileWeights(106, 10, 20, (30, 40), (0, 0), 6, 0, "Q4_K_M", (), ("m.gguf",))
    layer = attention_layer(full())
    model = model_of((layer, layer), quantization="Q4_K_M")._replace(file=file)
    assert stages(model, engine=LLAMA_CPP) == [20 + 30 + 40 + 6]
    assert not loaded_weights(model, "", "llama.cpp").by_recipe
    assert loaded_weights(model, "Q8_0", "llama.cpp").by_recipe
