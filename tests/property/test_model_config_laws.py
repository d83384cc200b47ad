"""Laws of configuration reading and of weights, for any input."""

from __future__ import annotations

import copy
import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from claimfit.errors import ClaimfitError, ModelError
from claimfit.model.config import facts_from_config
from claimfit.model.facts import CACHE_KINDS
from claimfit.model.quantization import names, quantization
from claimfit.model.weights import weight_split

ROWS = json.loads(
    (Path(__file__).parents[1] / "golden" / "model_published_totals.json").read_text("utf-8")
)
CONFIGS = [row["config"] for row in ROWS]

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, -1, 3, 128, 10**9, 10**12, 10**400, -(10**400)])
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["auto", "M*E-", "LLLG", "fp4", "full_attention", "\x00\n\x1b[2J"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4)
    ),
    max_leaves=12,
)
EXTRA_KEYS = [
    "attention_chunk_size",
    "attn_layer_period",
    "block_configs",
    "compress_ratios",
    "first_k_dense_replace",
    "full_attention_interval",
    "head_dim",
    "hybrid_override_pattern",
    "is_encoder_decoder",
    "layer_types",
    "linear_attn_config",
    "max_position_embeddings",
    "mlp_layer_types",
    "model_type",
    "moe_layer_freq",
    "num_experts",
    "num_kv_shared_layers",
    "num_nextn_predict_layers",
    "quantization",
    "quantization_config",
    "rope_scaling",
    "sliding_window",
    "sliding_window_pattern",
    "text_config",
    "torch_dtype",
    "vision_config",
]


def read(config: dict[str, object]) -> object:
    return facts_from_config(config, name="n", repository="r", origin="folder", place="config.json")


def keys(config: dict[str, object]) -> list[str]:
    nested = config.get("text_config")
    return [*config, *(nested if isinstance(nested, dict) else ()), *EXTRA_KEYS]


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, object]:
    """A real configuration in which up to three keys hold anything at all."""
    config = copy.deepcopy(draw(st.sampled_from(CONFIGS)))
    for _ in range(draw(st.integers(1, 3))):
        key = draw(st.sampled_from(keys(config)))
        nested = config.get("text_config")
        target = nested if isinstance(nested, dict) and key in nested else config
        target[key] = draw(JSON)
    return config


@settings(max_examples=200, deadline=20_000)
@given(damaged())
def test_a_damaged_configuration_is_facts_or_a_refusal(config):
    """Whatever stands under a key: sound facts, or an error of ours that prints on one line."""
    try:
        facts = read(config)
    except ClaimfitError as error:
        assert "\n" not in error.found
        assert len(str(error)) < 1000
        return

    assert facts.layers
    assert facts.parameters >= 0
    assert 0 <= facts.active_parameters
    assert all(layer.cache.kind in CACHE_KINDS for layer in facts.layers)
    assert weight_split(facts).total >= 0


@settings(max_examples=100, deadline=20_000)
@given(st.dictionaries(st.sampled_from(EXTRA_KEYS) | st.text(max_size=12), JSON, max_size=12))
def test_anything_at_all_is_refused_or_read(config):
    """A mapping that is no configuration never ends in another exception."""
    try:
        read(config)
    except ClaimfitError as error:
        assert error.code.startswith(("CFG", "QNT"))


@settings(max_examples=100, deadline=20_000)
@given(st.sampled_from(CONFIGS), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(config, random):
    """The same configuration in another order gives the same facts."""
    items = list(config.items())
    random.shuffle(items)

    assert read(dict(items)) == read(config)


@settings(max_examples=100, deadline=20_000)
@given(st.sampled_from(CONFIGS), st.sampled_from(names()))
def test_every_model_has_a_size_in_every_quantization(config, name):
    """Parts are never negative, and no quantization is larger than F32 nor below one bit."""
    facts = read(config)
    split = weight_split(facts, quantization(name))

    assert min(split.embedding, split.output, split.other, *split.layers, *split.experts) >= 0
    assert len(split.layers) == len(split.experts) == len(facts.layers)
    assert facts.parameters / 8 < split.total <= facts.parameters * 4 + 8 * len(facts.layers) + 32


@settings(max_examples=100, deadline=20_000)
@given(st.sampled_from(CONFIGS))
def test_more_bits_are_more_bytes(config):
    """Within one family of GGUF types the size grows with the type's name."""
    facts = read(config)
    ladder = ["Q2_K", "Q3_K_S", "Q4_K_S", "Q5_K_S", "Q6_K", "Q8_0", "BF16", "F32"]
    sizes = [weight_split(facts, quantization(name)).total for name in ladder]

    assert sizes == sorted(sizes)


@settings(max_examples=200)
@given(st.text(max_size=40))
def test_any_name_is_a_quantization_or_refused(name):
    """A name is known, or an error with candidates that are all known."""
    try:
        assert quantization(name).name in names()
    except ModelError as error:
        assert error.code == "QNT001"
        assert set(error.candidates) <= set(names())


@settings(max_examples=200)
@given(st.sampled_from(names()), st.randoms(use_true_random=False))
def test_case_and_separators_never_matter(name, random):
    """Any mixture of case, and any of the separators, reads as the same quantization."""
    spelled = "".join(
        random.choice([char.lower(), char.upper()])
        if char not in "-_"
        else random.choice(["-", "_", " ", ".", ""])
        for char in name
    )

    assert quantization(spelled).name == name
