"""Reading a configuration: what is read, what is refused, and how the refusal says so."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from claimfit.errors import InputError
from claimfit.model.config import facts_from_config

if TYPE_CHECKING:
    from claimfit.model.facts import ModelFacts

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


def read(name: str = "some/model", **changes: object) -> ModelFacts:
    config = {**LLAMA, **changes}
    return facts_from_config(
        config, name=name, repository="some/model", origin="folder", place="config.json"
    )


def refusal(**changes: object) -> InputError:
    with pytest.raises(InputError) as caught:
        read(**changes)
    return caught.value


def test_a_plain_decoder():
    """Llama-3.1-8B: 8,030,261,248 parameters, an untied head, 32 layers that are one object."""
    facts = read()

    assert facts.parameters == 8_030_261_248
    assert facts.output_parameters == 128_256 * 4096
    assert (facts.heads, facts.kv_heads, facts.context_tokens) == (32, 8, 131_072)
    assert facts.layers[0] is facts.layers[31]
    assert facts.layers[0].cache[:4] == ("full", 8, 128, 128)


def test_every_fact_says_where_it_is_from():
    """Provenance names the file and the path inside it."""
    facts = read()
    sources = {item.field: item.source for item in facts.sources}

    assert sources["hidden_size"] == "config.json: hidden_size"
    assert sources["context_tokens"] == "config.json: max_position_embeddings"
    assert sources["quantization"] == "none; as dtype"


def test_values_of_the_caller_are_kept():
    """Declared totals, name, repository and origin pass through."""
    facts = facts_from_config(
        LLAMA,
        name="n",
        repository="r/n",
        origin="remote",
        place="p",
        declared_parameters=8,
        declared_active_parameters=3,
        source="https://x/config.json",
    )

    assert (facts.name, facts.repository, facts.origin) == ("n", "r/n", "remote")
    assert (facts.declared_parameters, facts.declared_active_parameters) == (8, 3)
    assert facts.sources[2].source == "https://x/config.json: num_hidden_layers"


@pytest.mark.parametrize(
    ("changes", "tokens"),
    [
        ({"max_position_embeddings": 32768}, 32768),
        # YaRN extends the original length: 4 x 32768, 40 x 4096
        (
            {"max_position_embeddings": 32768, "rope_scaling": {"type": "yarn", "factor": 4.0}},
            131072,
        ),
        (
            {
                "max_position_embeddings": 40960,
                "rope_scaling": {
                    "rope_type": "yarn",
                    "factor": 4.0,
                    "original_max_position_embeddings": 32768,
                },
            },
            131072,
        ),
        (
            {
                "max_position_embeddings": 163840,
                "rope_scaling": {
                    "type": "yarn",
                    "factor": 40,
                    "original_max_position_embeddings": 4096,
                },
            },
            163840,
        ),
        # Llama 3 states the extended length
        (
            {
                "rope_scaling": {
                    "rope_type": "llama3",
                    "factor": 8.0,
                    "original_max_position_embeddings": 8192,
                }
            },
            131072,
        ),
        ({"max_position_embeddings": None, "model_max_length": 4096}, 4096),
    ],
)
def test_context(changes, tokens):
    """The longest context that the file states, extended by YaRN where it is the original."""
    assert read(**changes).context_tokens == tokens


@pytest.mark.parametrize(
    ("stated", "dtype"),
    [("bfloat16", "BF16"), ("torch.float16", "F16"), ("float32", "F32"), ("float8_e4m3fn", "BF16")],
)
def test_dtype(stated, dtype):
    """torch's names read as ours; a float8 file keeps the rest in BF16."""
    assert read(torch_dtype=stated).dtype == dtype


def test_a_missing_dtype_is_noted():
    """BF16 is assumed, and the facts say so."""
    facts = read(torch_dtype=None)

    assert facts.dtype == "BF16"
    assert "no dtype is stated; read as BF16" in facts.notes


@pytest.mark.parametrize(
    ("changes", "task"),
    [
        ({}, "generate"),
        ({"architectures": None}, "generate"),
        ({"architectures": ["LlamaForSequenceClassification"]}, "rerank"),
        ({"architectures": ["LlamaModel"]}, "embed"),
        ({"architectures": ["GPT2LMHeadModel"]}, "generate"),
        ({"name": "Qwen/Qwen3-Embedding-8B"}, "embed"),
        ({"name": "Qwen/Qwen3-Reranker-4B"}, "rerank"),
    ],
)
def test_task(changes, task):
    """The architecture class decides, then the name; models without a head have no output."""
    facts = read(**changes)

    assert facts.task == task
    assert (facts.output_parameters > 0) == (task == "generate")


def test_a_task_that_the_name_decided_is_noted():
    """Qwen3-Embedding is a causal model by its class."""
    assert read(name="x/y-embedding").notes == ("read as an embedding model by its name",)


def test_an_unknown_architecture_is_read_as_llama_and_noted():
    """The common keys suffice, and the user is told."""
    facts = read(model_type="nextgen")

    assert facts.parameters == 8_030_261_248
    assert facts.notes == ("architecture 'nextgen' is not known; read as a llama-like decoder",)


def test_an_unknown_mixture_is_read_too():
    """Experts of an unknown architecture are counted from the same keys."""
    facts = read(model_type="nextgen", num_experts=8, num_experts_per_tok=2)

    assert facts.is_mixture
    assert facts.layers[0].mixture[:3] == (8, 2, 3 * 4096 * 14336)


def test_head_size_is_stated_or_divides():
    """head_dim wins; without it the hidden size is divided."""
    assert read(head_dim=64).layers[0].cache.key_size == 64
    assert read().layers[0].cache.key_size == 4096 // 32


def test_a_window_over_the_whole_context_is_none():
    """Phi-3.5 states a window of 262144 for a context of 131072."""
    facts = read(model_type="phi3", sliding_window=262144)

    assert facts.layers[0].cache.kind == "full"


def test_window_switched_off():
    """Qwen 2.5 states a window and says that it is not used."""
    facts = read(
        model_type="qwen2", sliding_window=4096, use_sliding_window=False, max_window_layers=28
    )

    assert {layer.cache.kind for layer in facts.layers} == {"full"}


def test_upper_layers_slide():
    """With use_sliding_window the layers from max_window_layers on slide: 32 - 28 = 4."""
    facts = read(
        model_type="qwen2", sliding_window=4096, use_sliding_window=True, max_window_layers=28
    )

    assert [layer.cache.kind for layer in facts.layers].count("sliding") == 4


def test_layer_types_are_followed():
    """A list with the kind of each layer overrides every pattern."""
    kinds = ["full_attention"] + ["sliding_attention"] * 31
    facts = read(model_type="gemma2", layer_types=kinds, sliding_window=1024)

    assert [layer.cache.kind for layer in facts.layers].count("full") == 1
    assert facts.layers[1].cache.window == 1024


def test_the_text_section_is_the_language_model():
    """Multimodal files nest the decoder; tie_word_embeddings outside wins."""
    text = {key: value for key, value in LLAMA.items() if key != "architectures"}
    facts = facts_from_config(
        {"model_type": "llava_next", "text_config": text, "vision_config": {"depth": 2}},
        name="n",
        repository="",
        origin="folder",
        place="p",
    )

    assert facts.multimodal
    assert facts.parameters == 8_030_261_248
    assert facts.notes == ("the vision tower is not counted: its shape is not stated",)


def test_an_unknown_tower_is_counted_as_a_transformer_and_noted():
    """2 layers of 4 x 8 x 8 + 2 x 8 x 32 and their 4 x 8 + 32 + 8 biases and 4 x 8 norms."""
    facts = read(
        vision_config={
            "model_type": "new_vision",
            "hidden_size": 8,
            "num_hidden_layers": 2,
            "intermediate_size": 32,
        }
    )
    tower = next(part for part in facts.components if part.name == "vision tower")

    assert tower.parameters == 2 * (4 * 64 + 2 * 8 * 32 + 4 * 8 + 32 + 8 + 4 * 8)
    assert facts.notes == ("the vision tower 'new_vision' is counted as a plain transformer",)


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"hidden_size": None}, "CFG001", "hidden_size is null"),
        ({"num_hidden_layers": 0}, "CFG002", "num_hidden_layers is not"),
        ({"num_hidden_layers": -1}, "CFG002", "num_hidden_layers is not"),
        ({"num_hidden_layers": 10**400}, "CFG002", "num_hidden_layers is not"),
        ({"num_hidden_layers": True}, "CFG002", "num_hidden_layers is not"),
        ({"num_hidden_layers": "32"}, "CFG002", "num_hidden_layers is not"),
        ({"num_hidden_layers": 31.5}, "CFG002", "num_hidden_layers is not"),
        ({"num_hidden_layers": float("nan")}, "CFG002", "num_hidden_layers is not"),
        ({"vocab_size": 10**12}, "CFG002", "vocab_size is not"),
        ({"num_attention_heads": 33}, "CFG003", "num_key_value_heads contradicts"),
        ({"num_key_value_heads": 5}, "CFG003", "num_key_value_heads contradicts"),
        ({"hidden_size": 4001}, "CFG003", "num_attention_heads contradicts"),
        ({"num_experts": 4, "num_experts_per_tok": 5}, "CFG003", "num_experts_per_tok contra"),
        ({"num_experts": 4}, "CFG001", "num_experts_per_tok is missing"),
        ({"layer_types": ["full_attention"]}, "CFG003", "layer_types contradicts"),
        ({"layer_types": ["telepathy"] * 32}, "CFG004", "layer_types names"),
        ({"layer_types": "full"}, "CFG002", "layer_types is not"),
        ({"tie_word_embeddings": 1}, "CFG002", "tie_word_embeddings is not"),
        ({"torch_dtype": "int3"}, "CFG002", "dtype is not"),
        ({"rope_scaling": "yarn"}, "CFG002", "rope_scaling is not"),
        ({"max_position_embeddings": None}, "CFG001", "max_position_embeddings is null"),
        ({"model_type": None}, "CFG001", "model_type is null"),
        ({"is_encoder_decoder": True}, "CFG004", "is_encoder_decoder names"),
        ({"text_config": []}, "CFG002", "text_config is not"),
        ({"moe_layer_freq": [1], "num_experts": 4}, "CFG003", "moe_layer_freq contradicts"),
    ],
)
def test_refusals_name_the_field(changes, code, field):
    """What is missing, impossible or contradictory is named, with what was found and a fix."""
    error = refusal(**changes)

    assert error.code == code
    assert error.message.startswith(field)
    assert error.place == "config.json"
    assert error.found
    assert error.expected
    assert error.fix


def test_a_refusal_inside_a_section_gives_the_path():
    """The path leads to the nested field."""
    with pytest.raises(InputError) as caught:
        facts_from_config(
            {"model_type": "x", "text_config": {**LLAMA, "vocab_size": "many"}},
            name="n",
            repository="",
            origin="folder",
            place="p",
        )

    assert caught.value.message.startswith("text_config.vocab_size is not")


def test_a_refusal_is_one_bounded_line():
    """A hostile value is cut and has no control characters."""
    error = refusal(num_hidden_layers="3\n2" * 10_000)

    assert "\n" not in error.found
    assert len(error.found) < 300


def test_a_deep_model_is_read_quickly():
    """Layers that are alike are counted once: 100 readings of 126 layers in well under a second."""
    started = time.process_time()
    for _ in range(100):
        read(num_hidden_layers=126)

    assert time.process_time() - started < 1.0
