"""Facts from GGUF headers: expected values are sums over the tensors that the test wrote."""

from __future__ import annotations

import pytest

from claimfit.errors import InputError
from claimfit.model.facts import Cache, Component, Mixture, ModelFacts
from claimfit.model.gguf_facts import facts_from_gguf
from support.gguf_models import (
    VOCABULARY,
    WIDTH,
    attention,
    dense_model,
    feed_forward,
    keys_of,
    model_tensors,
)
from support.gguf_writer import Array, Tensor, gguf_bytes
from support.memory_files import MemoryStore

FULL = Cache("full", kv_heads=2, key_size=64, value_size=64)
ATTENTION = 2 * WIDTH * WIDTH + 2 * WIDTH * 128 + WIDTH
DENSE = 3 * WIDTH * 1024


def facts_of(keys: dict[str, object], tensors: list[Tensor], name: str = "m.gguf") -> ModelFacts:
    """Return the facts of a file with these keys and tensors."""
    return facts_from_gguf(MemoryStore({name: gguf_bytes(keys, tensors)}), name)


def decoder(architecture: str, layers: int, **more: object) -> ModelFacts:
    """Return the facts of a dense decoder of another architecture."""
    blocks = [attention(layer) + feed_forward(layer) for layer in range(layers)]
    return facts_of(keys_of(architecture, layers, **more), model_tensors(blocks))


def kinds(facts: ModelFacts) -> list[str]:
    """Return the cache kind of each layer."""
    return [layer.cache.kind for layer in facts.layers]


def refused(keys: dict[str, object], tensors: list[Tensor]) -> InputError:
    """Return the error that these facts raise."""
    with pytest.raises(InputError) as caught:
        facts_of(keys, tensors)
    return caught.value


def test_a_dense_model_is_counted_to_the_byte() -> None:
    """Parameters and bytes of embedding, layers and norm equal the arithmetic on their shapes."""
    facts = facts_of(*dense_model(), name="Tiny-Q4_K_M.gguf")

    assert facts.name == "Tiny-Q4_K_M"
    assert (facts.architecture, facts.task, facts.origin) == ("llama", "generate", "gguf")
    assert (facts.hidden_size, facts.vocabulary_size) == (WIDTH, VOCABULARY)
    assert facts.context_tokens == 4096
    assert [layer.cache for layer in facts.layers] == [FULL, FULL]
    assert [layer.heads for layer in facts.layers] == [8, 8]
    assert [layer.mixer_parameters for layer in facts.layers] == [ATTENTION] * 2
    assert [layer.feed_forward_parameters for layer in facts.layers] == [DENSE] * 2
    assert [layer.intermediate_size for layer in facts.layers] == [1024] * 2
    assert facts.parameters == VOCABULARY * WIDTH + WIDTH + 2 * (ATTENTION + DENSE)
    assert facts.tied
    assert facts.components == (Component("norms outside layers", WIDTH),)
    assert facts.file is not None
    q4, q6 = 144 / 256, 210 / 256  # bytes per element
    layer = (2 * WIDTH * WIDTH + WIDTH * 128 + DENSE) * q4 + WIDTH * 128 * q6 + WIDTH * 4
    assert facts.file.layer_bytes == (layer, layer)
    assert facts.file.embedding_bytes == VOCABULARY * WIDTH * q4
    assert (facts.file.output_bytes, facts.file.unloaded_bytes) == (0, 0)
    assert facts.file.other_bytes == WIDTH * 4
    assert facts.file.total_bytes == VOCABULARY * WIDTH * q4 + 2 * layer + WIDTH * 4
    assert facts.file.quantization == facts.quantization == "Q4_K_M"
    assert [name for name, _, _ in facts.file.types] == ["Q4_K", "Q6_K", "F32"]
    assert facts.group_size == 256


def test_alike_layers_are_one_object() -> None:
    """Eighty equal layers cost the memory of one."""
    facts = facts_of(*dense_model(5))

    assert len({id(layer) for layer in facts.layers}) == 1


def test_an_output_head_of_its_own_is_no_tie() -> None:
    """output.weight and its bias count as the head."""
    keys, tensors = dense_model()
    head = [
        Tensor("output.weight", (WIDTH, VOCABULARY), "Q6_K"),
        Tensor("output.bias", (VOCABULARY,), "F32"),
    ]

    facts = facts_of(keys, tensors + head)

    assert not facts.tied
    assert facts.output_parameters == WIDTH * VOCABULARY + VOCABULARY
    assert facts.file is not None
    assert facts.file.output_bytes == WIDTH * VOCABULARY * 210 / 256 + VOCABULARY * 4


def test_bytes_by_part_sum_to_the_total() -> None:
    """Every tensor is counted once, one with a name that nobody knows too."""
    keys, tensors = dense_model()
    more = [
        Tensor("rope_freqs.weight", (64,), "F32"),
        Tensor("blk.0.something_new.weight", (64,), "F32"),
        Tensor("something.new", (64,), "F32"),
    ]

    facts = facts_of(keys, tensors + more)

    file = facts.file
    assert file is not None
    assert file.total_bytes == (
        file.embedding_bytes
        + file.output_bytes
        + sum(file.layer_bytes)
        + sum(file.expert_bytes)
        + file.other_bytes
        + file.unloaded_bytes
    )
    assert facts.layers[0].mixer_parameters == ATTENTION + 64
    assert {part.name for part in facts.components} == {
        "norms outside layers",
        "rope factors",
        "something",
    }


def mixture(layer: int, experts: int = 8, width: int = 256) -> list[Tensor]:
    """Return a feed-forward of experts with a shared one and a router."""
    shape_in, shape_out = (WIDTH, width, experts), (width, WIDTH, experts)
    return [
        Tensor(f"blk.{layer}.ffn_gate_inp.weight", (WIDTH, experts), "F32"),
        Tensor(f"blk.{layer}.exp_probs_b.bias", (experts,), "F32"),
        Tensor(f"blk.{layer}.ffn_gate_exps.weight", shape_in, "Q4_K"),
        Tensor(f"blk.{layer}.ffn_up_exps.weight", shape_in, "Q4_K"),
        Tensor(f"blk.{layer}.ffn_down_exps.weight", shape_out, "Q6_K"),
        Tensor(f"blk.{layer}.ffn_up_shexp.weight", (WIDTH, width), "Q4_K"),
        Tensor(f"blk.{layer}.ffn_down_shexp.weight", (width, WIDTH), "Q4_K"),
    ]


def test_experts_are_split_from_what_every_token_reads() -> None:
    """One expert, the shared ones and the router are counted apart; a dense first layer stays."""
    keys = keys_of("qwen3moe", 2, expert_count=8, expert_used_count=2)
    tensors = model_tensors([attention(0) + feed_forward(0), attention(1) + mixture(1)])

    facts = facts_of(keys, tensors)

    assert facts.layers[0].mixture is None
    assert facts.layers[1].mixture == Mixture(
        experts=8,
        experts_per_token=2,
        expert_parameters=3 * WIDTH * 256,
        shared_parameters=2 * WIDTH * 256,
        router_parameters=WIDTH * 8 + 8,
    )
    assert facts.layers[1].feed_forward_parameters == 0
    assert facts.layers[1].intermediate_size == 256
    assert facts.file is not None
    experts = 8 * WIDTH * 256
    assert facts.file.expert_bytes == (0, 2 * experts * 144 / 256 + experts * 210 / 256)


def test_experts_as_single_tensors_count_alike() -> None:
    """Files from before April 2024 hold one tensor per expert."""
    keys = keys_of("llama", 1, expert_count=4, expert_used_count=2)
    experts = [
        Tensor(f"blk.0.ffn_{part}.{index}.weight", shape, "Q4_0")
        for index in range(4)
        for part, shape in (("gate", (WIDTH, 256)), ("up", (WIDTH, 256)), ("down", (256, WIDTH)))
    ]
    router = Tensor("blk.0.ffn_gate_inp.weight", (WIDTH, 4), "F32")

    facts = facts_of(keys, model_tensors([[*attention(0), *experts, router]]))

    assert facts.layers[0].mixture == Mixture(4, 2, 3 * WIDTH * 256, 0, WIDTH * 4)
    assert facts.layers[0].intermediate_size == 256


def test_a_dense_feed_forward_beside_experts_is_always_active() -> None:
    """Arctic and Gemma 4 add a dense feed-forward to each layer of experts."""
    keys = keys_of("arctic", 1, expert_count=8, expert_used_count=2)

    facts = facts_of(keys, model_tensors([attention(0) + feed_forward(0) + mixture(0)]))

    found = facts.layers[0].mixture
    assert found is not None
    assert found.shared_parameters == 2 * WIDTH * 256 + DENSE


SLIDES = "sliding"


@pytest.mark.parametrize(
    ("architecture", "layers", "more", "expected"),
    [
        # llama.cpp: set_swa_pattern(n): layer i slides where i % n < n - 1
        ("gemma2", 4, {}, [SLIDES, "full"] * 2),
        ("gemma3", 7, {"attention__sliding_window": 1024}, [SLIDES] * 5 + ["full", SLIDES]),
        ("gpt-oss", 4, {"attention__sliding_window": 128}, [SLIDES, "full"] * 2),
        ("cohere2", 5, {"attention__sliding_window": 4096}, [SLIDES] * 3 + ["full", SLIDES]),
        ("llama4", 5, {}, [SLIDES] * 3 + ["full", SLIDES]),
        ("llama4", 4, {"attention__sliding_window": 0}, ["full"] * 4),
        ("olmo2", 4, {}, ["full"] * 4),
        ("olmo2", 4, {"attention__sliding_window": 4096}, [SLIDES] * 3 + ["full"]),
        # dense first: layer i slides where i % n != 0
        (
            "smallthinker",
            5,
            {"attention__sliding_window": 4096},
            ["full"] + [SLIDES] * 3 + ["full"],
        ),
        ("phi3", 2, {"attention__sliding_window": 2047}, ["full"] * 2),
        ("exaone4", 4, {"attention__sliding_window": 4096}, ["full"] * 4),
        ("llama", 2, {"attention__sliding_window": 4096}, ["full"] * 2),
        # what the file says comes first
        (
            "mimo2",
            3,
            {
                "attention__sliding_window": 128,
                "attention__sliding_window_pattern": Array("?", [False, True, True]),
            },
            ["full", SLIDES, SLIDES],
        ),
        (
            "gemma3",
            3,
            {"attention__sliding_window": 512, "attention__sliding_window_pattern": 3},
            [SLIDES, SLIDES, "full"],
        ),
        (
            "newarch",
            4,
            {"attention__sliding_window": 512, "attention__sliding_window_pattern": 2},
            [SLIDES, "full"] * 2,
        ),
    ],
)
def test_sliding_layers_follow_the_loader_of_each_architecture(
    architecture: str, layers: int, more: dict[str, object], expected: list[str]
) -> None:
    """The pattern is the file's, else the one that llama.cpp sets itself."""
    assert kinds(decoder(architecture, layers, **more)) == expected


@pytest.mark.parametrize(
    ("architecture", "more", "window"),
    [
        ("gemma2", {}, 4096),
        ("gemma2", {"attention__sliding_window": 2048}, 2048),
        ("gpt-oss", {"attention__sliding_window": 128}, 128),
        ("llama4", {"attention__sliding_window": 16384}, 8192),
    ],
)
def test_windows_come_from_the_file_or_the_loader(
    architecture: str, more: dict[str, object], window: int
) -> None:
    """Gemma 2 has a default; Llama 4's chunk is fixed in the loader."""
    assert decoder(architecture, 2, **more).layers[0].cache.window == window


def test_an_unused_window_is_told() -> None:
    """Phi-3 files carry a window that llama.cpp does not use: the cache is that of every token."""
    facts = decoder("phi3", 2, attention__sliding_window=2047)

    assert any("2047" in note for note in facts.notes)


def test_heads_and_sizes_may_differ_by_layer() -> None:
    """Gemma 4 has more and smaller heads in sliding layers; the projections prove the sizes."""
    keys = keys_of(
        "gemma4",
        2,
        attention__head_count=8,
        attention__head_count_kv=Array("I", [4, 1]),
        attention__key_length=256,
        attention__value_length=256,
        attention__key_length_swa=64,
        attention__value_length_swa=64,
        attention__sliding_window=1024,
        attention__sliding_window_pattern=Array("?", [True, False]),
    )
    layers = [attention(0, kv_width=256), attention(1, kv_width=256)]
    tensors = model_tensors([layer + feed_forward(i) for i, layer in enumerate(layers)])

    facts = facts_of(keys, tensors)

    assert [layer.cache for layer in facts.layers] == [
        Cache("sliding", kv_heads=4, key_size=64, value_size=64, window=1024),
        Cache("full", kv_heads=1, key_size=256, value_size=256),
    ]


def test_last_layers_may_share_the_cache_of_others() -> None:
    """Gemma 4 names how many; Gemma 3n shares from layer 20 on when the file is silent."""
    gemma4 = decoder(
        "gemma4",
        4,
        attention__shared_kv_layers=2,
        attention__sliding_window=512,
        attention__sliding_window_pattern=Array("?", [True, False, True, False]),
    )
    gemma3n = decoder("gemma3n", 22, attention__sliding_window=512)

    assert kinds(gemma4) == ["sliding", "full", "shared", "shared"]
    assert kinds(gemma3n)[18:] == ["sliding", "full", "shared", "shared"]  # 5th of 5 is full


LATENT = [
    Tensor("blk.0.attn_norm.weight", (WIDTH,), "F32"),
    Tensor("blk.0.attn_q.weight", (WIDTH, 8 * 192), "Q4_K"),
    Tensor("blk.0.attn_kv_a_mqa.weight", (WIDTH, 576), "Q4_K"),
    Tensor("blk.0.attn_output.weight", (1024, WIDTH), "Q4_K"),
]


def test_latent_attention_caches_one_vector() -> None:
    """DeepSeek: kv_lora_rank and the rope part, once for all heads."""
    keys = keys_of(
        "deepseek2",
        1,
        attention__head_count_kv=1,
        attention__kv_lora_rank=512,
        attention__key_length=576,
        attention__value_length=512,
        attention__key_length_mla=192,
        attention__value_length_mla=128,
        rope__dimension_count=64,
    )

    facts = facts_of(keys, model_tensors([LATENT + feed_forward(0)]))

    assert facts.layers[0].cache == Cache("mla", kv_heads=1, latent_size=512, rope_size=64)
    assert facts.layers[0].heads == 8


def test_an_old_conversion_of_latent_attention_caches_everything() -> None:
    """Without the MLA keys llama.cpp keeps full keys and values of every head, and we say so."""
    keys = keys_of(
        "deepseek2",
        1,
        attention__head_count_kv=8,
        attention__kv_lora_rank=512,
        attention__key_length=192,
        attention__value_length=128,
        rope__dimension_count=64,
    )

    facts = facts_of(keys, model_tensors([LATENT + feed_forward(0)]))

    assert facts.layers[0].cache == Cache("full", kv_heads=8, key_size=192, value_size=128)
    assert any("key_length_mla" in note for note in facts.notes)


def test_a_sparse_attention_indexer_caches_its_keys_too() -> None:
    """DeepSeek V3.2 and GLM-5 add an indexer key per token."""
    keys = keys_of(
        "deepseek32",
        1,
        attention__kv_lora_rank=512,
        attention__key_length_mla=192,
        rope__dimension_count=64,
        attention__indexer__key_length=128,
    )
    indexer = Tensor("blk.0.indexer.attn_k.weight", (WIDTH, 128), "F16")

    facts = facts_of(keys, model_tensors([[*LATENT, *feed_forward(0), indexer]]))

    assert facts.layers[0].cache.index_size == 128


SSM = {
    "ssm__conv_kernel": 4,
    "ssm__inner_size": 1024,
    "ssm__state_size": 128,
    "ssm__group_count": 2,
    "ssm__time_step_rank": 8,
}
STATE = Cache(
    "linear",
    state_elements=1024 * 128,  # n_embd_s: d_state * d_inner
    convolution_elements=3 * (1024 + 2 * 2 * 128),  # n_embd_r: (d_conv - 1) * (d_inner + 2 g n)
)


def recurrent(layer: int) -> list[Tensor]:
    """Return a state-space mixer."""
    return [
        Tensor(f"blk.{layer}.attn_norm.weight", (WIDTH,), "F32"),
        Tensor(f"blk.{layer}.ssm_in.weight", (WIDTH, 2048), "Q4_K"),
        Tensor(f"blk.{layer}.ssm_out.weight", (1024, WIDTH), "Q4_K"),
    ]


def test_state_space_layers_keep_a_state() -> None:
    """Mamba has no heads, and nothing per token."""
    keys = keys_of("mamba2", 2, attention__head_count=None, attention__head_count_kv=None, **SSM)

    facts = facts_of(keys, model_tensors([recurrent(0), recurrent(1)]))

    assert [layer.cache for layer in facts.layers] == [STATE, STATE]
    assert facts.heads == facts.kv_heads == 0


def test_hybrids_are_told_by_their_tensors() -> None:
    """Nemotron-H: a state, a feed-forward alone, attention alone; zero heads where none attends."""
    keys = keys_of(
        "nemotron_h",
        3,
        attention__head_count=Array("I", [0, 0, 8]),
        attention__head_count_kv=Array("I", [0, 0, 2]),
        attention__key_length=64,
        attention__value_length=64,
        **SSM,
    )

    facts = facts_of(keys, model_tensors([recurrent(0), feed_forward(1), attention(2)]))

    assert [layer.cache for layer in facts.layers] == [STATE, Cache("none"), FULL]
    assert [layer.heads for layer in facts.layers] == [0, 0, 8]


def test_gated_delta_layers_attend_to_no_token() -> None:
    """Qwen3-Next names the fused input of its linear layers attn_qkv; they still keep a state."""
    linear = [*recurrent(0), Tensor("blk.0.attn_qkv.weight", (WIDTH, 1536), "Q4_K")]
    keys = keys_of("qwen3next", 2, **SSM)

    facts = facts_of(
        keys, model_tensors([linear + feed_forward(0), attention(1) + feed_forward(1)])
    )

    assert [layer.cache for layer in facts.layers] == [STATE, FULL]


def test_parallel_hybrids_have_both() -> None:
    """Falcon-H1 attends and keeps a state in every layer."""
    keys = keys_of("falcon-h1", 1, **SSM)

    facts = facts_of(keys, model_tensors([recurrent(0)[1:] + attention(0) + feed_forward(0)]))

    assert facts.layers[0].cache == FULL._replace(
        state_elements=STATE.state_elements, convolution_elements=STATE.convolution_elements
    )


def test_other_recurrences_have_their_own_sizes() -> None:
    """LFM2's short convolution, RWKV's matrix state and Kimi's delta attention."""
    short = [Tensor("blk.0.shortconv.conv.weight", (3, WIDTH), "F32")]
    rwkv = [Tensor("blk.0.time_mix_key.weight", (WIDTH, WIDTH), "F16")]
    delta = [Tensor("blk.0.ssm_conv1d_q.weight", (4, 512), "F32"), *attention(0)]
    lfm2 = keys_of("lfm2", 1, attention__head_count_kv=0, shortconv__l_cache=3)
    rwkv7 = keys_of("rwkv7", 1, wkv__head_size=64, attention__head_count=0)
    kimi = keys_of(
        "kimi-linear",
        1,
        attention__head_count_kv=Array("I", [0]),
        ssm__conv_kernel=4,
        kda__head_dim=64,
    )

    found = [
        facts_of(keys, model_tensors([tensors])).layers[0].cache
        for keys, tensors in ((lfm2, short), (rwkv7, rwkv), (kimi, delta))
    ]

    assert found == [
        Cache("linear", convolution_elements=2 * WIDTH),
        Cache("linear", state_elements=WIDTH * 64, convolution_elements=2 * WIDTH),
        Cache("linear", state_elements=8 * 64 * 64, convolution_elements=3 * 3 * 8 * 64),
    ]


@pytest.mark.parametrize(
    ("architecture", "more", "task", "kind"),
    [
        ("bert", {"attention__causal": False, "pooling_type": 1}, "embed", "none"),
        ("nomic-bert", {"attention__causal": False}, "embed", "none"),
        ("gemma-embedding", {"pooling_type": 1}, "embed", "none"),
        ("bert", {"attention__causal": False, "pooling_type": 4}, "rerank", "none"),
        ("qwen3", {"pooling_type": 3}, "embed", "full"),  # a decoder that pools its last token
        ("qwen3", {"pooling_type": 4}, "rerank", "full"),
        ("qwen3", {"pooling_type": 0}, "generate", "full"),
        ("dream", {}, "generate", "none"),  # a diffusion model
    ],
)
def test_encoders_cache_nothing(
    architecture: str, more: dict[str, object], task: str, kind: str
) -> None:
    """Encoders embed or rank; decoders that embed still fill a cache."""
    facts = decoder(architecture, 1, **more)

    assert (facts.task, kinds(facts)) == (task, [kind])


def test_prediction_layers_are_in_the_file_but_not_loaded() -> None:
    """GLM-4.5 stores its next-token predictor as a last layer, which llama.cpp skips."""
    keys = keys_of("glm4moe", 2, nextn_predict_layers=1)
    extra = [*attention(1), *feed_forward(1), Tensor("blk.1.nextn.enorm.weight", (WIDTH,), "F32")]
    tensors = model_tensors([attention(0) + feed_forward(0), extra])

    facts = facts_of(keys, tensors)

    count = ATTENTION + DENSE + WIDTH
    assert len(facts.layers) == 1
    assert Component("multi-token prediction", count, loaded=False) in facts.components
    assert facts.file is not None
    assert facts.file.unloaded_bytes == facts.file.layer_bytes[0] + WIDTH * 4
    assert facts.parameters == VOCABULARY * WIDTH + WIDTH + ATTENTION + DENSE


def test_prediction_layers_that_were_left_out_are_not_missed() -> None:
    """Some quantizers drop them and keep the count."""
    keys = keys_of("glm4moe", 2, nextn_predict_layers=1)

    facts = facts_of(keys, model_tensors([attention(0) + feed_forward(0)]))

    assert len(facts.layers) == 1
    assert [part.name for part in facts.components] == ["norms outside layers"]


def test_an_unknown_loader_is_assumed_to_load_prediction_layers() -> None:
    """What is not known to be skipped counts: a claim must not be too small."""
    keys = keys_of("newarch", 2, nextn_predict_layers=1)
    blocks = [attention(layer) + feed_forward(layer) for layer in range(2)]

    facts = facts_of(keys, model_tensors(blocks))

    assert Component("multi-token prediction", ATTENTION + DENSE) in facts.components
    assert facts.file is not None
    assert facts.file.unloaded_bytes == 0


def test_unquantized_files_have_their_own_dtype() -> None:
    """The dtype is that of the matrices; norms in F32 say nothing."""
    keys = keys_of("llama", 1) | {"general.file_type": 32}
    tensors = [
        tensor._replace(type="BF16") if len(tensor.dimensions) > 1 else tensor
        for tensor in model_tensors([attention(0) + feed_forward(0)])
    ]

    facts = facts_of(keys, tensors)

    assert (facts.dtype, facts.quantization, facts.group_size) == ("BF16", "BF16", 0)


def changed(**more: object) -> tuple[dict[str, object], list[Tensor]]:
    """Return the dense model with some keys changed; None removes one."""
    keys, tensors = dense_model()
    for name, value in more.items():
        full = f"llama.{name.replace('__', '.')}"
        if value is None:
            del keys[full]
        else:
            keys[full] = value
    return keys, tensors


@pytest.mark.parametrize(
    ("more", "code", "place"),
    [
        ({"block_count": None}, "GGU020", "llama.block_count"),
        ({"context_length": None}, "GGU020", "llama.context_length"),
        ({"embedding_length": None}, "GGU020", "llama.embedding_length"),
        ({"block_count": 0}, "GGU021", "llama.block_count"),
        ({"block_count": "two"}, "GGU021", "llama.block_count"),
        ({"block_count": True}, "GGU021", "llama.block_count"),
        ({"block_count": 2.0}, "GGU021", "llama.block_count"),
        ({"block_count": 2**32 - 1}, "GGU021", "llama.block_count"),
        ({"block_count": 2**31 - 1}, "GGU023", "llama.block_count"),
        ({"block_count": 1}, "GGU023", "blk.1"),
        ({"block_count": 3}, "GGU023", "blk.2"),
        ({"embedding_length": 256}, "GGU024", "token_embd.weight"),
        ({"attention__head_count_kv": 4}, "GGU024", "blk.0.attn_k.weight"),
        ({"attention__key_length": 32}, "GGU024", "blk.0.attn_k.weight"),
        ({"attention__value_length": 32}, "GGU024", "blk.0.attn_v.weight"),
        ({"attention__head_count_kv": 0}, "GGU024", "blk.0"),
        ({"attention__head_count_kv": Array("I", [2])}, "GGU021", "head_count_kv"),
        ({"attention__head_count": None, "attention__head_count_kv": None}, "GGU020", "blk.0"),
        ({"nextn_predict_layers": 2}, "GGU021", "nextn_predict_layers"),
        (
            {"block_count": 2**31 - 1, "nextn_predict_layers": 2**31 - 2},
            "GGU021",
            "nextn_predict_layers",
        ),
        ({"attention__causal": 1, "pooling_type": 0}, "GGU021", "attention.causal"),
    ],
)
def test_keys_that_cannot_be_right_are_named(
    more: dict[str, object], code: str, place: str
) -> None:
    """Missing, of another type, impossible or against the tensors: the error names the place."""
    error = refused(*changed(**more))

    assert error.code == code
    assert place in error.place


def test_a_vocabulary_of_another_length_is_refused() -> None:
    """Tokenizer and embedding must agree, as llama.cpp demands."""
    keys, tensors = dense_model()
    keys["tokenizer.ggml.tokens"] = Array("text", ["a"] * (VOCABULARY - 1))

    assert refused(keys, tensors).code == "GGU024"


def test_experts_must_agree_with_their_count() -> None:
    """The number of experts stands in a key and in the tensors; more cannot be used than exist."""
    tensors = model_tensors([attention(0) + mixture(0)])

    missing = refused(keys_of("qwen3moe", 1), tensors)
    other = refused(keys_of("qwen3moe", 1, expert_count=16, expert_used_count=2), tensors)
    many = refused(keys_of("qwen3moe", 1, expert_count=8, expert_used_count=9), tensors)

    assert [error.code for error in (missing, other, many)] == ["GGU020", "GGU024", "GGU021"]


@pytest.mark.parametrize(
    "keys",
    [
        {"general.type": "mmproj", "general.architecture": "clip"},
        {"general.architecture": "clip"},
        {"general.type": "adapter", "general.architecture": "llama"},
        {"general.architecture": "t5"},
        {"general.architecture": "llama"},
    ],
)
def test_files_without_a_language_model_are_refused(keys: dict[str, object]) -> None:
    """Projectors, adapters, encoder-decoders and empty files are no model to serve."""
    assert refused(keys, []).code == "GGU022"


def test_files_without_architecture_or_embedding_are_refused() -> None:
    """The two things that every model has."""
    keys, tensors = dense_model()

    assert refused({}, tensors).code == "GGU020"
    assert refused(keys, tensors[1:]).code == "GGU023"
    assert refused(keys, [Tensor("token_embd.weight", (WIDTH,)), *tensors[1:]]).code == "GGU023"


def test_sources_name_the_keys() -> None:
    """`models show` prints where each field is from."""
    facts = facts_of(*dense_model())

    assert {source.field: source.source for source in facts.sources}["context_tokens"] == (
        "llama.context_length"
    )
