"""What a model type fixes beyond its configuration: norms, biases, patterns and default values.

A configuration says how many heads there are, not whether the query projection has a bias: that is
in the code of the model type. `FAMILIES` holds those facts, read from `configuration_*.py` and
`modeling_*.py` of huggingface/transformers 5.24 or, for types that live beside their weights, from
the shapes in their published files. A string in place of a bool names the configuration key that
decides (absent means no).

`defaults` are values that the type's configuration class assumes and that published files leave
out; nothing else is ever assumed.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FAMILIES", "LLAMA_LIKE", "Family", "family_of"]

QkNorm = Literal["", "head", "width", "per-head"]
"""Norm on queries and keys: none; one vector of head size; one of the full projected width (OLMo);
a vector of head size for each head (Command R, StableLM)."""

MixerKind = Literal[
    "attention", "mla", "deepseek-v4", "gemma-4", "mimo-v2", "nas", "step-3", "step-3.5", "falcon"
]
"""How attention is read; everything but `attention` has sizes of its own per layer."""

LinearKind = Literal["", "delta-net", "kda", "lightning", "mamba1", "mamba2", "short-conv"]
"""What a `linear_attention`, `mamba` or `conv` layer is."""


PredictionKind = Literal["like-last", "dense-sliding", "mixer-and-experts", "none"]


class Family(NamedTuple):
    """The facts of one model type."""

    norms: int = 2
    """Norm vectors of hidden size per layer."""
    norm_bias: bool = False
    """LayerNorm (weight and bias) instead of RMSNorm."""
    norm_weight: bool = True
    """False: the norms have no parameters (OLMo)."""
    qkv_bias: bool | str = False
    output_bias: bool | str = False
    mlp_bias: bool | str = False
    gated: bool = True
    """Gate, up and down projection; otherwise up and down."""
    width_factor: int = 0
    """Feed-forward width over hidden size where no width is stated; 0 makes it required."""
    qk_norm: QkNorm = ""
    qk_norm_key: str = ""
    """Configuration key that must be true for `qk_norm`; empty is always."""
    output_gate: bool | str = False
    """The query projection also makes a gate (twice the width)."""
    sinks: bool = False
    """One learned sink per query head."""
    mixer: MixerKind = "attention"
    linear: LinearKind = ""
    attends: bool = True
    """False: no layer attends (Mamba)."""
    parallel_state: bool = False
    """Attention and a state-space mixer side by side in every layer (Falcon-H1)."""
    window_pattern: int = 0
    """Every n-th layer is full attention, the others slide; 0 when there is no pattern."""
    window_everywhere: bool = False
    """A sliding_window in the configuration holds for every layer."""
    router_bias: bool | str = False
    """One number per expert beside the router matrix (bias or score correction)."""
    expert_bias: bool = False
    """Biases on the projections of each expert (gpt-oss)."""
    shared_gate: bool = False
    """A one-column gate for the shared experts."""
    head_bias: bool | str = False
    """A bias on the output head."""
    embedding_norms: int = 0
    """Norms of hidden size right after the embedding."""
    final_norm: bool = True
    positions: str = ""
    """Configuration key with the number of learned position vectors."""
    extra_positions: int = 0
    """Vectors in that table beyond the stated number (OPT)."""
    token_types: bool = False
    pooler: bool = False
    """A square projection with bias after the last layer (BERT)."""
    prediction: PredictionKind = "like-last"
    """What a multi-token-prediction layer is made like; `none` where files have none."""
    prediction_copies: int = 0
    """Copies of vocabulary x hidden size (embedding, head) that each of them has in the file."""
    encoder: bool = False
    """Bidirectional: no cache, and no head for text generation."""
    defaults: Mapping[str, object] = MappingProxyType({})


def _assuming(family: Family, defaults: Mapping[str, object]) -> Family:
    """Return `family` with `defaults` added to its own."""
    return family._replace(defaults={**family.defaults, **defaults})


_UNTIED: Final = {"tie_word_embeddings": False}
_TIED: Final = {"tie_word_embeddings": True}

_PLAIN: Final = Family(defaults=_UNTIED)

LLAMA_LIKE: Final = _PLAIN._replace(
    qkv_bias="attention_bias", output_bias="attention_bias", mlp_bias="mlp_bias"
)
"""The common decoder: grouped-query attention, gated feed-forward, two RMSNorms."""

_MISTRAL: Final = _PLAIN._replace(window_everywhere=True)
_QWEN2: Final = _PLAIN._replace(qkv_bias=True)
_QWEN3: Final = _assuming(LLAMA_LIKE, {"head_dim": 128})._replace(qk_norm="head", mlp_bias=False)
_QWEN3_NEXT: Final = _assuming(_QWEN3, {"head_dim": 256, "full_attention_interval": 4})._replace(
    output_gate=True, linear="delta-net", shared_gate=True
)
_GEMMA: Final = Family(
    qkv_bias="attention_bias",
    output_bias="attention_bias",
    defaults={**_TIED, "head_dim": 256, "vocab_size": 256_000, "max_position_embeddings": 8192},
)
_GEMMA3: Final = _assuming(
    _GEMMA,
    {
        "vocab_size": 262_208,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "max_position_embeddings": 131_072,
        "sliding_window": 4096,
    },
)._replace(norms=4, qk_norm="head", window_pattern=6)
_GEMMA3N: Final = _assuming(
    _GEMMA,
    {
        "vocab_size": 262_400,
        "vocab_size_per_layer_input": 262_144,
        "hidden_size_per_layer_input": 256,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "max_position_embeddings": 32_768,
        "sliding_window": 512,
        "num_kv_shared_layers": 15,
        "laurel_rank": 64,
        "altup_num_inputs": 4,
    },
)._replace(norms=4, qk_norm="head", window_pattern=5)
_GEMMA4: Final = _assuming(
    _GEMMA,
    {
        "vocab_size": 262_144,
        "vocab_size_per_layer_input": 262_144,
        "hidden_size_per_layer_input": 256,
        "global_head_dim": 512,
        "max_position_embeddings": 131_072,
        "sliding_window": 512,
    },
)._replace(norms=4, mixer="gemma-4", window_pattern=6)
_DEEPSEEK: Final = _PLAIN._replace(
    mixer="mla",
    qkv_bias="attention_bias",
    output_bias="attention_bias",
    router_bias=True,
    prediction_copies=2,
)
_GLM: Final = _assuming(_PLAIN, {"attention_bias": True})._replace(qkv_bias="attention_bias")
_GLM4_MOE: Final = _PLAIN._replace(
    qkv_bias="attention_bias",
    qk_norm="head",
    qk_norm_key="use_qk_norm",
    router_bias=True,
    prediction_copies=2,
)
_LAYER_NORM: Final = Family(norm_bias=True, defaults=_UNTIED)
_BIASED: Final = _LAYER_NORM._replace(qkv_bias=True, output_bias=True, mlp_bias=True, gated=False)
_COHERE: Final = Family(
    norms=1,
    qkv_bias="attention_bias",
    output_bias="attention_bias",
    qk_norm="per-head",
    qk_norm_key="use_qk_norm",
    defaults=_TIED,
)
_OLMO2: Final = _PLAIN._replace(
    qkv_bias="attention_bias", output_bias="attention_bias", qk_norm="width"
)
_ERNIE: Final = Family(
    qkv_bias="use_bias", output_bias="use_bias", mlp_bias="use_bias", defaults=_TIED
)
_MAMBA2_HYBRID: Final = LLAMA_LIKE._replace(linear="mamba2")
_MAMBA: Final = Family(norms=1, linear="mamba1", attends=False, defaults=_TIED)
_MINIMAX: Final = _PLAIN._replace(linear="lightning")
_NEMOTRON_H: Final = _PLAIN._replace(
    norms=1,
    linear="mamba2",
    gated=False,
    mlp_bias="mlp_bias",
    router_bias=True,
    prediction="mixer-and-experts",
)
_EXAONE4: Final = _PLAIN._replace(qk_norm="head", window_pattern=4)
_STEP35: Final = _PLAIN._replace(
    qk_norm="head",
    mixer="step-3.5",
    router_bias=True,
    prediction="dense-sliding",
    prediction_copies=1,
)
_MIMO_V2: Final = _assuming(_PLAIN, {"num_nextn_predict_layers": 3})._replace(
    mixer="mimo-v2", router_bias=True, prediction="dense-sliding"
)
_LFM2: Final = Family(qk_norm="head", linear="short-conv", defaults=_TIED)
_BERT: Final = _BIASED._replace(
    embedding_norms=1,
    final_norm=False,
    positions="max_position_embeddings",
    token_types=True,
    pooler=True,
    encoder=True,
    defaults=_TIED,
)

FAMILIES: Final[dict[str, Family]] = {
    "llama": LLAMA_LIKE,
    "llama4": _assuming(LLAMA_LIKE, {"n_shared_experts": 1, "attention_chunk_size": 8192}),
    "mistral": _MISTRAL,
    "ministral": _MISTRAL,
    "ministral3": _MISTRAL,
    "mistral4": _DEEPSEEK._replace(prediction_copies=0),
    "mixtral": _MISTRAL,
    "pixtral": _MISTRAL,
    "qwen2": _QWEN2,
    "qwen2_vl": _QWEN2,
    "qwen2_5_vl": _QWEN2,
    "qwen2_5_omni_text": _QWEN2,
    "qwen2_moe": _QWEN2._replace(shared_gate=True),
    "qwen3": _QWEN3,
    "qwen3_moe": _QWEN3,
    "qwen3_vl": _QWEN3,
    "qwen3_vl_moe": _QWEN3,
    "qwen3_omni_moe": _QWEN3,
    # Published files have one prediction layer, which the configuration does not mention.
    "qwen3_next": _assuming(_QWEN3_NEXT, {"mtp_num_hidden_layers": 1}),
    "qwen3_5": _QWEN3_NEXT,
    "qwen3_5_moe": _QWEN3_NEXT,
    "gemma": _GEMMA,
    "gemma2": _assuming(_GEMMA, {"sliding_window": 4096})._replace(norms=4, window_pattern=2),
    "gemma3": _GEMMA3,
    "gemma3n": _GEMMA3N,
    "gemma4": _GEMMA4,
    "gemma4_unified": _assuming(_GEMMA4, {"hidden_size_per_layer_input": 0}),
    "phi": _BIASED._replace(norms=1, qk_norm="head", qk_norm_key="qk_layernorm", head_bias=True),
    "phi3": _MISTRAL,
    "phi4mm": _MISTRAL,
    "phimoe": _LAYER_NORM._replace(
        qkv_bias="attention_bias",
        output_bias="attention_bias",
        window_everywhere=True,
        head_bias="lm_head_bias",
    ),
    "deepseek": _PLAIN,
    "deepseek_v2": _DEEPSEEK._replace(router_bias=False),
    "deepseek_v3": _DEEPSEEK,
    "deepseek_v32": _DEEPSEEK,
    "deepseek_v4": _DEEPSEEK._replace(mixer="deepseek-v4", prediction_copies=0),
    "kimi_k2": _DEEPSEEK,
    "kimi_linear": _DEEPSEEK._replace(linear="kda", prediction_copies=0),
    "gpt_oss": Family(
        qkv_bias=True,
        output_bias=True,
        sinks=True,
        window_pattern=2,
        router_bias=True,
        expert_bias=True,
        defaults={**_UNTIED, "head_dim": 64, "sliding_window": 128},
    ),
    "glm": _GLM,
    "glm4": _GLM._replace(norms=4),
    "glm4v_text": _GLM._replace(norms=4),
    "chatglm": _PLAIN._replace(qkv_bias="add_qkv_bias"),
    "glm4_moe": _GLM4_MOE,
    "glm4v_moe_text": _GLM4_MOE._replace(prediction_copies=0),
    "glm4_moe_lite": _DEEPSEEK,
    "glm_moe_dsa": _DEEPSEEK._replace(prediction_copies=0),
    "granite": _assuming(LLAMA_LIKE, _TIED),
    "granitemoe": _assuming(LLAMA_LIKE, _TIED),
    "granitemoeshared": _assuming(LLAMA_LIKE, _TIED),
    "granitemoehybrid": _assuming(_MAMBA2_HYBRID, _TIED),
    "nemotron": _LAYER_NORM._replace(
        qkv_bias="attention_bias", output_bias="attention_bias", mlp_bias="mlp_bias", gated=False
    ),
    "nemotron_h": _NEMOTRON_H,
    "nemotron-nas": LLAMA_LIKE._replace(mixer="nas"),
    "cohere": _COHERE,
    "cohere2": _assuming(_COHERE, {"sliding_window": 4096})._replace(qk_norm="", window_pattern=4),
    "olmo": LLAMA_LIKE._replace(norm_weight=False),
    "olmo2": _OLMO2,
    "olmo3": _assuming(_OLMO2, {"sliding_window": 4096})._replace(window_pattern=4),
    "olmoe": _OLMO2,
    "flex_olmo": _OLMO2,
    "falcon": Family(
        mixer="falcon",
        norms=0,
        width_factor=4,
        norm_bias=True,
        qkv_bias="bias",
        output_bias="bias",
        mlp_bias="bias",
        gated=False,
        defaults={
            **_TIED,
            "multi_query": True,
            "parallel_attn": True,
            "max_position_embeddings": 2048,
        },
    ),
    "falcon_h1": LLAMA_LIKE._replace(linear="mamba2", parallel_state=True),
    "falcon_mamba": _assuming(_MAMBA, {"state_size": 16, "conv_kernel": 4, "expand": 2}),
    "mamba": _assuming(_MAMBA, {"state_size": 16, "conv_kernel": 4, "expand": 2}),
    "mamba2": _MAMBA._replace(
        linear="mamba2", defaults={"state_size": 128, "conv_kernel": 4, "expand": 2, **_UNTIED}
    ),
    "jamba": _PLAIN._replace(linear="mamba1"),
    "bamba": _MAMBA2_HYBRID,
    "smollm3": _assuming(LLAMA_LIKE, _TIED),
    "minimax": _MINIMAX,
    "minimax_text_01": _MINIMAX,
    "minimax_m1": _MINIMAX,
    "minimax_m2": _PLAIN._replace(
        qk_norm="width",
        qk_norm_key="use_qk_norm",
        router_bias="use_routing_bias",
        prediction="none",
    ),
    "minimax_m3": _PLAIN._replace(
        qk_norm="head",
        qk_norm_key="use_qk_norm",
        router_bias="use_routing_bias",
        prediction="none",
    ),
    "mimo": _PLAIN._replace(qkv_bias="attention_bias"),
    "mimo_v2_flash": _MIMO_V2,
    "mimo_v2": _MIMO_V2,
    "step3": _PLAIN._replace(mixer="step-3"),
    "step3p5": _STEP35,
    "step3p7": _STEP35,
    "ernie4_5": _ERNIE,
    "ernie4_5_moe": _assuming(_ERNIE, _TIED)._replace(router_bias=True, head_bias="use_bias"),
    "exaone": _PLAIN,
    "exaone4": _EXAONE4,
    "exaone_moe": _EXAONE4._replace(router_bias=True),
    "internlm2": _PLAIN._replace(qkv_bias="bias", output_bias="bias"),
    "internlm3": _PLAIN._replace(qkv_bias="qkv_bias", output_bias="bias", mlp_bias="bias"),
    "baichuan": _PLAIN,
    "yi": LLAMA_LIKE,
    "stablelm": _LAYER_NORM._replace(
        qkv_bias="use_qkv_bias", qk_norm="per-head", qk_norm_key="qk_layernorm"
    ),
    "gpt2": _assuming(_BIASED, _TIED)._replace(positions="n_positions", width_factor=4),
    "gpt_bigcode": _assuming(_BIASED, _TIED)._replace(positions="n_positions", width_factor=4),
    "gpt_neox": _assuming(_BIASED, _UNTIED),
    "gptj": _BIASED._replace(
        norms=1, qkv_bias=False, output_bias=False, head_bias=True, width_factor=4
    ),
    "opt": _assuming(_BIASED, _TIED)._replace(
        positions="max_position_embeddings", extra_positions=2
    ),
    "bloom": _assuming(_BIASED, {**_TIED, "seq_length": 2048})._replace(
        embedding_norms=1, width_factor=4
    ),
    "starcoder2": _assuming(_LAYER_NORM, _TIED)._replace(
        qkv_bias="use_bias",
        output_bias="use_bias",
        mlp_bias="use_bias",
        gated=False,
        window_everywhere=True,
    ),
    "dbrx": _PLAIN,
    "arctic": _PLAIN,
    "hunyuan_v1_dense": LLAMA_LIKE._replace(qk_norm="head", mlp_bias=False),
    "hunyuan_v1_moe": LLAMA_LIKE._replace(qk_norm="head", mlp_bias=False),
    "hunyuan": LLAMA_LIKE._replace(qk_norm="head", qk_norm_key="use_qk_norm"),
    "seed_oss": _assuming(_PLAIN, {"attention_bias": True, "head_dim": 128})._replace(
        qkv_bias="attention_bias", output_bias="attention_out_bias", mlp_bias="mlp_bias"
    ),
    "lfm2": _LFM2,
    "lfm2_moe": _LFM2._replace(router_bias="use_expert_bias"),
    "afmoe": Family(
        norms=4,
        qk_norm="head",
        output_gate=True,
        router_bias=True,
        window_pattern=4,
        defaults=_UNTIED,
    ),
    "hy_v3": LLAMA_LIKE._replace(qk_norm="head", router_bias=True),
    "solar_open": _PLAIN._replace(qkv_bias="attention_bias", router_bias=True),
    "arcee": LLAMA_LIKE._replace(gated=False),
    "apertus": LLAMA_LIKE._replace(gated=False, qk_norm="head", mlp_bias=False),
    "bert": _BERT,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
    "camembert": _BERT,
    "distilbert": _BERT._replace(token_types=False, pooler=False),
    "mpnet": _BERT._replace(token_types=False),
    "nomic_bert": Family(
        norm_bias=True,
        embedding_norms=1,
        final_norm=False,
        token_types=True,
        encoder=True,
        qkv_bias="qkv_proj_bias",
        output_bias="qkv_proj_bias",
        defaults=_TIED,
    ),
    "modernbert": Family(
        embedding_norms=1,
        encoder=True,
        qkv_bias="attention_bias",
        output_bias="attention_bias",
        mlp_bias="mlp_bias",
        defaults=_TIED,
    ),
    "new": Family(
        norm_bias=True,
        embedding_norms=1,
        final_norm=False,
        qkv_bias=True,
        output_bias=True,
        token_types=True,
        encoder=True,
        defaults=_TIED,
    ),
    "eurobert": LLAMA_LIKE._replace(encoder=True),
}
"""model_type -> facts."""

_SAME: Final[dict[str, str]] = {
    "gemma3_text": "gemma3",
    "gemma3n_text": "gemma3n",
    "gemma4_text": "gemma4",
    "gemma4_unified_text": "gemma4_unified",
    "llama4_text": "llama4",
    "qwen2_vl_text": "qwen2_vl",
    "qwen2_5_vl_text": "qwen2_5_vl",
    "qwen3_vl_text": "qwen3_vl",
    "qwen3_vl_moe_text": "qwen3_vl_moe",
    "qwen3_omni_moe_text": "qwen3_omni_moe",
    "qwen3_5_text": "qwen3_5",
    "qwen3_5_moe_text": "qwen3_5_moe",
    "deepseek_ref": "deepseek_v4",
    "kimi_k3": "kimi_linear",
    "minimax_m3_vl": "minimax_m3",
    "minimax_m3_vl_text": "minimax_m3",
    "step3_text": "step3",
    "step3p7_text": "step3p7",
    "exaone4_5_text": "exaone4",
    "gte": "new",
    "glm4v": "glm4v_text",
    "glm4v_moe": "glm4v_moe_text",
    "ernie4_5_vl_moe_text": "ernie4_5_moe",
    "mistral3": "mistral",
    "Yi": "yi",
}
"""model_type that is read exactly as another."""


def family_of(model_type: str) -> Family | None:
    """Return the facts of `model_type`, None when it is not known."""
    return FAMILIES.get(_SAME.get(model_type, model_type))
