"""Whatever stands where llmfit's catalogue is read from, the answer is a model or our error."""

from __future__ import annotations

import json
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from claimfit.errors import ClaimfitError, InputError
from claimfit.model.catalogue import built_in
from claimfit.model.llmfit_catalogue import Index, IndexKey, LlmfitCatalogue, index_bytes
from claimfit.model.llmfit_entry import (
    LlmfitModel,
    entries_from_json,
    merged,
    model_from_entry,
)
from claimfit.model.llmfit_facts import facts_from_llmfit

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["llama", "deepseek_v3", "gguf", "awq", "7B", "lots", 10**400])
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=4)
FIELDS = (*LlmfitModel._fields, "recommended_ram_gb", "capabilities", "languages", "gguf_sources")
ENTRY = {
    "name": "acme/Net",
    "provider": "acme",
    "parameter_count": "7B",
    "min_ram_gb": 5,
    "recommended_ram_gb": 8.0,
    "quantization": "Q4_K_M",
    "context_length": 32768,
    "use_case": "chat",
}
CHANGES = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=4)
SIZES = st.none() | st.integers(0, 2**32 - 1) | st.sampled_from([1, 2, 8, 32, 128, 4096, 32_000])
MODELS = st.builds(
    LlmfitModel,
    name=st.sampled_from(["a/X", "a/X-FP8", "mlx-community/X-4bit", "a/模型-2.5bpw", "/"]),
    provider=st.just("p"),
    parameter_count=st.just("7B"),
    parameters_raw=st.none() | st.integers(0, 2**64 - 1),
    min_ram_gb=st.just(1.0),
    min_vram_gb=st.none(),
    quantization=st.sampled_from(["Q4_K_M", "F16", "AWQ-4bit", "", "nonsense"]),
    context_length=st.integers(0, 2**32 - 1),
    use_case=st.sampled_from(["", "Multimodal, vision and text"]),
    format=st.sampled_from(["gguf", "awq", "mlx"]),
    is_moe=st.booleans(),
    num_experts=SIZES,
    active_experts=SIZES,
    num_attention_heads=SIZES,
    num_key_value_heads=SIZES,
    num_hidden_layers=SIZES,
    head_dim=SIZES,
    hidden_size=SIZES,
    vocab_size=SIZES,
    moe_intermediate_size=SIZES,
    shared_expert_intermediate_size=SIZES,
    architecture=st.none() | st.sampled_from(["llama", "qwen3_moe", "deepseek_v3", "bert", "x"]),
)
CATALOGUE = built_in().entries()


class Bytes:
    """Bytes as a file."""

    name = "index"

    def __init__(self, data: bytes) -> None:
        self.size: int | None = len(data)
        self._data = data

    def read(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]


@given(CHANGES)
def test_an_entry_is_a_model_or_an_error(changes: dict[str, object]) -> None:
    """Any value under any field."""
    try:
        model = model_from_entry({**ENTRY, **changes}, "x")
    except InputError as error:
        assert error.code == "LCT002"
    else:
        assert merged([model, model])[0] == model


@given(st.text(max_size=60) | st.lists(VALUES, max_size=3).map(json.dumps))
def test_a_file_is_a_list_or_an_error(text: str) -> None:
    """Any text, and any JSON array."""
    try:
        assert isinstance(entries_from_json(text, "x"), list)
    except InputError as error:
        assert error.code == "LCT001"


@given(st.binary(max_size=80), st.binary(max_size=40), st.integers(0, 3))
def test_an_index_with_right_checksums_and_wrong_content_is_refused(
    names: bytes, record: bytes, models: int
) -> None:
    """A file of another release, or made to mislead."""
    row = b"".join(number.to_bytes(4, "little") for number in (0, len(record), crc32(record)))
    header = {
        "models": models,
        "names": [len(names), crc32(names)],
        "claims": [len(names), crc32(names)],
        "records": len(record),
    }
    first = b"claimfit llmfit index 1\n" + json.dumps(header).encode()
    data = first.ljust(512) + names + names + row * models + record
    try:
        index = Index(Bytes(data))
        LlmfitCatalogue(index, [LlmfitModel("b", "", "", 1, 1.0, None, "")]).select("a")
    except ClaimfitError as error:
        assert error.code in {"LCT004", "LLM011", "LLM012"}


@given(st.lists(st.text("abAB-/ é", min_size=1, max_size=6), max_size=6), st.text(max_size=4))
def test_a_selection_is_one_of_the_models_or_an_error(names: list[str], selector: str) -> None:
    """Whatever the names and whatever is asked for."""
    models = [LlmfitModel(name, "p", "7B", 1, 1.0, None, "F16") for name in names]
    catalogue = LlmfitCatalogue(Index(Bytes(index_bytes(models, IndexKey("1", "p")))))
    try:
        assert catalogue.select(selector) in models
    except ClaimfitError as error:
        assert error.code in {"LLM010", "LLM011", "LLM012"}


@given(MODELS)
def test_facts_are_those_of_the_count_or_an_error(model: LlmfitModel) -> None:
    """Any combination of sizes: what is accepted adds up, or is a known model's repacking."""
    try:
        facts = facts_from_llmfit(model, CATALOGUE, "1.1.17")
    except ClaimfitError as error:
        assert error.code == "MOD012"
    else:
        known = any("states the sizes of" in note for note in facts.notes)
        stated = model.parameters_raw or 0
        assert known or abs(facts.parameters - stated) <= 0.01 * stated
