"""Facts from llmfit's entries: used where they add up, refused where they do not."""

from __future__ import annotations

import pytest

from claimfit.errors import ModelError
from claimfit.model.catalogue import built_in
from claimfit.model.entry import entry_from_json, facts_of
from claimfit.model.llmfit_catalogue import Index, IndexKey, index_bytes
from claimfit.model.llmfit_entry import LlmfitModel
from claimfit.model.llmfit_facts import facts_from_llmfit, find_in_llmfit
from claimfit.model.llmfit_quantization import stored_quantization

EMBEDDING = 128_256 * 4096
LAYERS = 32 * (
    4096 * (4096 + 1024 + 1024 + 4096)  # query, key, value, output
    + 3 * 4096 * 14_336  # gate, up, down
    + 2 * 4096  # norms
)
LLAMA_8B = LlmfitModel(
    name="someone/Tuned",
    provider="someone",
    parameter_count="8.0B",
    parameters_raw=2 * EMBEDDING + LAYERS + 4096,  # 8,030,261,248 as published
    min_ram_gb=4.5,
    min_vram_gb=4.1,
    quantization="Q4_K_M",
    context_length=8192,
    num_attention_heads=32,
    num_key_value_heads=8,
    num_hidden_layers=32,
    head_dim=128,
    hidden_size=4096,
    vocab_size=128_256,
    moe_intermediate_size=14_336,
    architecture="llama",
)
DENSE = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "intermediate_size": 14_336,
    "vocab_size": 128_256,
    "max_position_embeddings": 131_072,
    "tie_word_embeddings": False,
}
LLAMA_31 = entry_from_json(
    {"name": "meta-llama/Llama-3.1-8B", "config": DENSE, "opened": "config.json"},
    place="x",
    origin="catalogue",
)


def of(model: LlmfitModel, *catalogue):
    return facts_from_llmfit(model, catalogue, "1.1.17")


class TestKnownModels:
    def test_a_model_with_the_sizes_of_a_known_one_has_its_configuration(self) -> None:
        """Also what llmfit does not state or states otherwise, such as the context."""
        facts = of(LLAMA_8B, LLAMA_31)
        known = facts_of(LLAMA_31)

        assert (facts.name, facts.origin) == ("someone/Tuned", "llmfit")
        assert facts.layers == known.layers
        assert facts.context_tokens == 131_072
        assert facts.declared_parameters == 8_030_261_248
        assert "states the sizes of meta-llama/Llama-3.1-8B" in facts.notes[-2]

    def test_sizes_that_llmfit_leaves_out_are_taken_when_the_rest_agrees(self) -> None:
        """As in its entry of Llama 3.1 8B: no hidden size, vocabulary or width."""
        bare = LLAMA_8B._replace(hidden_size=None, vocab_size=None, moe_intermediate_size=None)

        assert of(bare, LLAMA_31).hidden_size == 4096

    @pytest.mark.parametrize(
        "changes",
        [
            {"num_hidden_layers": 31},
            {"num_attention_heads": 16},
            {"num_key_value_heads": 32},
            {"hidden_size": 2048},
            {"vocab_size": 128_000},
            {"architecture": "qwen2"},
            {"is_moe": True, "num_experts": 8, "active_experts": 2},
            {"parameters_raw": 7_000_000_000},
            {"parameters_raw": 9_000_000_000},
        ],
    )
    def test_one_contradiction_is_enough(self, changes: dict[str, object]) -> None:
        """Then the known model is another one: its context, for one, is not taken over."""
        model = LLAMA_8B._replace(**changes)
        try:
            assert of(model, LLAMA_31).context_tokens == 8192
        except ModelError as error:
            assert error.code == "MOD012"

    def test_packed_weights_may_have_any_lower_count(self) -> None:
        """Eight weights in one element, scales beside them; the sizes still tell."""
        packed = LLAMA_8B._replace(
            name="a/Tuned-AWQ", format="awq", quantization="AWQ-4bit", parameters_raw=2 * 10**9
        )
        facts = of(packed, LLAMA_31)

        assert facts.parameters == 8_030_261_248
        assert (facts.quantization, facts.group_size) == ("AWQ-INT4", 128)
        assert any("llmfit counts 2,000,000,000 parameters" in note for note in facts.notes)
        with pytest.raises(ModelError, match="MOD012"):
            of(packed._replace(hidden_size=None), LLAMA_31)

    def test_the_best_of_several_is_taken(self) -> None:
        """The one whose parameters are nearest to llmfit's."""
        wider = {**DENSE, "intermediate_size": 14_400}  # 25 million parameters more, 0.3 %
        other = entry_from_json({"name": "a/Wider", "config": wider}, place="x", origin="overlay")

        assert of(LLAMA_8B, other, LLAMA_31).parameters == 8_030_261_248

    def test_the_stated_context_decides_between_equal_sizes(self) -> None:
        """Releases that differ in nothing but the context they were extended to."""
        longer = {**DENSE, "max_position_embeddings": 262_144}
        other = entry_from_json({"name": "a/Longer", "config": longer}, place="x", origin="overlay")
        for context in (131_072, 262_144):
            facts = of(LLAMA_8B._replace(context_length=context), LLAMA_31, other)
            assert facts.context_tokens == context
        facts = of(LLAMA_8B._replace(context_length=300_000), LLAMA_31, other)
        assert "llmfit states a context of 300,000" in facts.notes

    def test_every_model_of_the_catalogue_is_known_by_its_own_sizes(self) -> None:
        """What llmfit states of a model leads back to that model's parameters and cache."""
        entries = built_in().entries()
        for entry in entries[::9]:
            facts = facts_of(entry)
            mixtures = [layer.mixture for layer in facts.layers if layer.mixture is not None]
            stated = LLAMA_8B._replace(
                name="someone/else",
                architecture=facts.architecture,
                parameters_raw=facts.parameters,
                num_hidden_layers=len(facts.layers),
                num_attention_heads=facts.heads or None,
                num_key_value_heads=facts.kv_heads or None,
                head_dim=None,
                hidden_size=facts.hidden_size,
                vocab_size=facts.vocabulary_size,
                moe_intermediate_size=None,
                is_moe=bool(mixtures),
                num_experts=mixtures[0].experts if mixtures else None,
                active_experts=mixtures[0].experts_per_token if mixtures else None,
            )
            if stated.num_attention_heads is None:
                continue
            found = facts_from_llmfit(stated, entries, "1.1.17")

            assert abs(found.parameters / facts.parameters - 1) <= 0.01, entry.name


class TestOwnSizes:
    def test_sizes_that_add_up_are_used(self) -> None:
        """Llama 3 8B: untied head, native BF16 and not llmfit's label."""
        facts = of(LLAMA_8B)

        assert facts.parameters == 8_030_261_248
        assert facts.quantization == "BF16"
        assert (facts.kv_heads, len(facts.layers), facts.context_tokens) == (8, 32, 8192)
        assert any("with untied embeddings they add up" in note for note in facts.notes)
        assert any("Q4_K_M" in note for note in facts.notes)

    def test_a_tied_head_is_known_by_the_count(self) -> None:
        """Without the second matrix of 128,256 x 4,096 the head must be tied."""
        assert of(LLAMA_8B._replace(parameters_raw=EMBEDDING + LAYERS + 4096)).tied

    def test_a_missing_width_is_what_is_left(self) -> None:
        """The feed-forward is the rest of the parameters, which a note says."""
        facts = of(LLAMA_8B._replace(moe_intermediate_size=None))

        assert abs(facts.parameters - 8_030_261_248) <= 3 * 4096 * 32
        assert any("what is left of the parameters" in note for note in facts.notes)

    def test_the_rest_of_a_multimodal_model_is_its_tower(self) -> None:
        """Up to 40 % and 6 billion; it is loaded, so it counts."""
        seeing = LLAMA_8B._replace(
            use_case="Multimodal, vision and text", parameters_raw=8_630_261_248
        )
        facts = of(seeing)

        assert facts.parameters == 8_630_261_248
        assert facts.components[-1].parameters == 600_000_000
        for changes in ({"use_case": "chat"}, {"parameters_raw": 14_100_000_000}):
            with pytest.raises(ModelError, match="MOD012"):
                of(seeing._replace(**changes))

    @pytest.mark.parametrize(
        "changes",
        [
            {"hidden_size": None},
            {"num_hidden_layers": None},
            {"num_attention_heads": None},
            {"vocab_size": None},
            {"head_dim": None},
            {"parameters_raw": 7_000_000_000},
            {"parameters_raw": None},
            {"parameters_raw": 0},
            {"parameters_raw": 2**64 - 1},
            {"num_hidden_layers": 31},
            {"num_hidden_layers": 2**32 - 1},
            {"architecture": None},
            {"architecture": "deepseek_v3"},
            {"architecture": "unheard", "is_moe": True, "num_experts": 8, "active_experts": 2},
            {"is_moe": True},
            {"moe_intermediate_size": None, "parameters_raw": 10**12},
            {"moe_intermediate_size": None, "parameters_raw": 10**6},
            {"context_length": 0},
            {"format": "awq", "quantization": "AWQ-4bit", "parameters_raw": 2 * 10**9},
        ],
    )
    def test_an_entry_that_does_not_add_up_is_refused(self, changes: dict[str, object]) -> None:
        """Missing sizes, or a count that they do not give: the repository is named instead."""
        with pytest.raises(ModelError, match="MOD012") as caught:
            of(LLAMA_8B._replace(**changes))
        assert "hf://someone/Tuned" in caught.value.fix


class TestQuantization:
    @pytest.mark.parametrize(
        ("name", "fields", "expected"),
        [
            ("a/X-8B-FP8", {}, "FP8"),
            ("a/X-8B-FP8-Dynamic", {}, "FP8"),
            ("a/X-8B-NVFP4A16", {}, "NVFP4"),
            ("a/X-MXFP4-AWQ", {"format": "awq", "quantization": "AWQ-4bit"}, "MXFP4"),
            ("a/X-quantized.w4a16", {}, "INT4"),
            ("a/X-quantized.w8a8", {}, "INT8"),
            ("a/X-AWQ", {"format": "awq", "quantization": "AWQ-4bit"}, "AWQ-INT4"),
            ("a/X", {"format": "awq", "quantization": "AWQ-8bit"}, "AWQ-INT8"),
            ("a/X-GPTQ-Int8", {"format": "gptq", "quantization": "GPTQ-Int8"}, "GPTQ-INT8"),
            ("a/X-AutoRound", {"format": "autoround"}, "AUTOROUND-INT4"),
            ("mlx-community/X-6bit", {"format": "mlx"}, "MLX-6BIT"),
            ("a/X-mlx-mxfp4", {"format": "mlx"}, "MLX-MXFP4"),
            ("a/X-bnb-4bit", {}, "BNB-NF4"),
            ("a/X-bnb-8bit", {}, "BNB-INT8"),
            ("a/X-4-bit-mlx", {}, "MLX-4BIT"),
            ("a/X-mixed-9bit-mlx", {}, ""),
            ("a/X-3.5bpw", {}, ""),
            ("a/X-Q4-mlx", {}, ""),
            ("a/X-Q8_0-GGUF", {}, "Q8_0"),
            ("a/X-IQ4_XS", {}, "IQ4_XS"),
            ("a/X-GGUF", {}, "Q4_K_M"),
            ("a/X-bf16", {}, "BF16"),
            ("a/X-fp16", {}, "F16"),
            ("a/X-2.6bit", {"format": "mlx"}, ""),
            ("a/X-exl3-4bpw", {}, ""),
            ("a/X-8B", {}, ""),
            ("fp8/X-8B", {}, ""),
        ],
    )
    def test_the_name_and_the_format_tell(
        self, name: str, fields: dict[str, str], expected: str
    ) -> None:
        """A word of the repository's name before a format, a format before llmfit's label."""
        model = LLAMA_8B._replace(name=name, **fields)

        assert stored_quantization(model, "BF16").name == expected

    def test_what_goes_against_the_label_is_said(self) -> None:
        """With the flag that decides otherwise."""
        fp8 = stored_quantization(LLAMA_8B._replace(name="a/X-FP8"), "BF16")
        native = stored_quantization(LLAMA_8B, "BF16")
        agreed = stored_quantization(LLAMA_8B._replace(quantization="F16"), "BF16")

        assert fp8.note == "weights in FP8: by its name, llmfit's label is Q4_K_M (--quant)"
        assert native.note.startswith("weights in BF16: what it was trained in; llmfit's label")
        assert agreed.note == ""


class Memory:
    """Bytes as a file."""

    def __init__(self, data: bytes) -> None:
        self.name = "index"
        self.size: int | None = len(data)
        self._data = data

    def read(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]


def test_names_are_whole_or_uniquely_short() -> None:
    """A part of a name means nothing here, unlike in llmfit."""
    names = ("a/One-8B", "b/Two-8B", "c/Two-8B", "d/One-8B-long")
    models = [LLAMA_8B._replace(name=name) for name in names]
    index = Index(Memory(index_bytes(models, IndexKey("1", "p"))))

    assert getattr(find_in_llmfit("A/one-8b", index), "name", None) == "a/One-8B"
    assert getattr(find_in_llmfit("one-8b", index), "name", None) == "a/One-8B"
    for unknown in ("One", "x/One-8B", "8B", "a/One-8B\n", "", "\n"):
        assert find_in_llmfit(unknown, index) is None
    with pytest.raises(ModelError, match="MOD002") as caught:
        find_in_llmfit("two-8b", index)
    assert caught.value.candidates == ("b/Two-8B", "c/Two-8B")
