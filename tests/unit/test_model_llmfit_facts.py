"""Facts from llmfit's entries: used where they add up, refused where they do not."""

from __future__ import annotations

import pytest

from claimfit.errors import ModelError
from claimfit.model.llmfit_catalogue import Index, IndexKey, index_bytes
from claimfit.model.llmfit_entry import LlmfitModel
from claimfit.model.llmfit_facts import facts_from_llmfit, find_in_llmfit

LLAMA_8B = LlmfitModel(
    name="someone/Llama-8B-tuned",
    provider="someone",
    parameter_count="8.0B",
    parameters_raw=8_030_261_248,
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


class Memory:
    """Bytes as a file."""

    def __init__(self, data: bytes) -> None:
        self.name = "index"
        self.size: int | None = len(data)
        self._data = data

    def read(self, offset: int, length: int) -> bytes:
        """Return a part."""
        return self._data[offset : offset + length]


def index(*names: str) -> Index:
    """Return an index of models with `names`."""
    models = [LLAMA_8B._replace(name=name) for name in names]
    return Index(Memory(index_bytes(models, IndexKey("1", "p"))))


def test_an_entry_whose_shapes_add_up_is_used() -> None:
    """Llama 3 8B: untied head, 8,030,261,248 parameters, native BF16 and not llmfit's label."""
    facts = facts_from_llmfit(LLAMA_8B)

    assert facts.parameters == 8_030_261_248
    assert facts.origin == "llmfit"
    assert facts.quantization == "BF16"
    assert (facts.kv_heads, len(facts.layers), facts.context_tokens) == (8, 32, 8192)
    assert any("Q4_K_M" in note for note in facts.notes)


def test_a_tied_head_is_known_by_the_total() -> None:
    """Without the second 128,256 x 4,096 matrix the head must be tied."""
    facts = facts_from_llmfit(LLAMA_8B._replace(parameters_raw=8_030_261_248 - 128_256 * 4096))

    assert facts.tied


@pytest.mark.parametrize(
    "changes",
    [
        {"hidden_size": None},
        {"num_hidden_layers": None},
        {"vocab_size": None},
        {"parameters_raw": 7_000_000_000},
        {"parameters_raw": None},
        {"num_hidden_layers": 31},
        {"architecture": None},
        {"architecture": "deepseek_v3"},
        {"context_length": 0},
        {"quantization": "nonsense"},
    ],
)
def test_an_entry_that_does_not_add_up_is_refused(changes: dict[str, object]) -> None:
    """Missing shapes, or a total that they do not give: the repository is named instead."""
    with pytest.raises(ModelError) as caught:
        facts_from_llmfit(LLAMA_8B._replace(**changes))

    assert caught.value.code == "MOD012"
    assert "hf://someone/Llama-8B-tuned" in caught.value.fix


def test_a_packed_repository_keeps_its_quantization() -> None:
    """AWQ entries count packed words: the total judges nothing, the label is the repository's."""
    facts = facts_from_llmfit(LLAMA_8B._replace(quantization="AWQ-4bit", parameters_raw=2 * 10**9))

    assert facts.quantization == "AWQ-INT4"


def test_names_are_whole_or_uniquely_short() -> None:
    """A part of a name means nothing here, unlike in llmfit."""
    catalogue = index("a/One-8B", "b/Two-8B", "c/Two-8B", "d/One-8B-long")

    assert getattr(find_in_llmfit("A/one-8b", catalogue), "name", None) == "a/One-8B"
    assert getattr(find_in_llmfit("one-8b", catalogue), "name", None) == "a/One-8B"
    assert find_in_llmfit("One", catalogue) is None
    assert find_in_llmfit("x/One-8B", catalogue) is None
    with pytest.raises(ModelError) as caught:
        find_in_llmfit("two-8b", catalogue)
    assert caught.value.candidates == ("b/Two-8B", "c/Two-8B")
