"""Entries of the catalogue and of users' files: schema, refusals, shared configurations."""

from __future__ import annotations

import pytest

from claimfit.errors import InputError, ModelError
from claimfit.model.catalogue import built_in
from claimfit.model.entry import Entry, completed, entry_from_json, facts_of, merged
from claimfit.model.overlay import overlay_entries

CONFIG = {
    "model_type": "qwen3",
    "architectures": ["Qwen3ForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 1000,
    "max_position_embeddings": 512,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


def entry(**fields: object) -> Entry:
    """Return an entry of the user's with `fields` over the least ones."""
    return entry_from_json({"name": "a/b", "config": CONFIG} | fields, place="f", origin="overlay")


@pytest.mark.parametrize(
    ("base", "patch", "result"),
    [
        # RFC 7396, appendix A, the cases whose target and patch are objects.
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_sharing_follows_the_rfc_of_merge_patches(
    base: dict[str, object], patch: dict[str, object], result: dict[str, object]
) -> None:
    """The cases of RFC 7396 give what its appendix says."""
    assert merged(base, patch) == result


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"name": ""}, "MOD006"),
        ({"name": "a\nb"}, "MOD004"),
        ({"name": " a"}, "MOD004"),
        ({"name": "x" * 257}, "MOD004"),
        ({"name": 7}, "MOD004"),
        ({"name": None}, "MOD004"),
        ({"config": []}, "MOD004"),
        ({"config": None}, "MOD004"),
        ({"parameters": 0}, "MOD004"),
        ({"parameters": -1}, "MOD004"),
        ({"parameters": True}, "MOD004"),
        ({"parameters": 1.5}, "MOD004"),
        ({"parameters": 10**400}, "MOD004"),
        ({"parameters": "8B"}, "MOD004"),
        ({"aliases": "a"}, "MOD004"),
        ({"aliases": [1]}, "MOD004"),
        ({"aliases": ["x\x00"]}, "MOD004"),
        ({"notes": {}}, "MOD004"),
        ({"task": "chat"}, "MOD004"),
        ({"paramters": 5}, "MOD005"),
        ({"hidden_size": 5}, "MOD005"),
    ],
)
def test_a_wrong_entry_is_refused(fields: dict[str, object], code: str) -> None:
    """Every wrong type, range or key is an error with its place, on one printable line."""
    with pytest.raises(ModelError) as caught:
        entry(**fields)

    assert caught.value.code == code
    assert caught.value.place.startswith("f")
    assert caught.value.found.isprintable()


@pytest.mark.parametrize("item", [None, 5, "x", [], True])
def test_an_entry_that_is_no_object_is_refused(item: object) -> None:
    """Anything but an object is MOD004."""
    with pytest.raises(ModelError, match="MOD004"):
        entry_from_json(item, place="f", origin="overlay")


def test_an_entry_without_a_shape_is_refused() -> None:
    """Neither config nor sameAs: nothing can be sized."""
    with pytest.raises(ModelError, match="MOD006"):
        entry_from_json({"name": "a/b"}, place="f", origin="overlay")


def test_a_misspelt_key_names_the_right_one() -> None:
    """The nearest key of the schema is offered."""
    with pytest.raises(ModelError) as caught:
        entry(activeParamters=5)

    assert caught.value.candidates[0] == "activeParameters"


def test_facts_count_the_shapes_of_the_configuration() -> None:
    """The counted parameters are the sum over the shapes, written out here."""
    facts = facts_of(entry(parameters=123))

    attention = 64 * 64 + 2 * 64 * 32 + 64 * 64 + 2 * 16  # q, k and v, output, two head norms
    layer = attention + 3 * 64 * 128 + 2 * 64  # gated feed-forward, two norms
    assert facts.parameters == 2 * 1000 * 64 + 2 * layer + 64
    assert facts.declared_parameters == 123
    assert facts.repository == "a/b"


def test_a_task_that_pools_has_no_output_head() -> None:
    """An embedding model on a language model's configuration keeps no head over words."""
    generates, embeds = facts_of(entry()), facts_of(entry(task="embed"))

    assert embeds.task == "embed"
    assert generates.parameters - embeds.parameters == 1000 * 64


def test_same_as_shares_and_changes_a_configuration() -> None:
    """An entry that shares a configuration states only what differs."""
    (base, tuned) = overlay_entries(
        [
            {"name": "base", "config": CONFIG},
            {"name": "tuned", "sameAs": "base", "config": {"max_position_embeddings": 64}},
        ],
        place="f",
        built_in=lambda _: None,
    )

    assert facts_of(base).context_tokens == 512
    assert facts_of(tuned).context_tokens == 64
    assert facts_of(tuned).parameters == facts_of(base).parameters


def test_same_as_may_name_an_entry_of_the_catalogue() -> None:
    """A fine-tune of a public model needs no configuration of its own."""
    (tuned,) = overlay_entries(
        [{"name": "mine", "sameAs": "Qwen/Qwen3-8B"}], place="f", built_in=built_in().entry
    )

    assert facts_of(tuned).parameters == 8_190_735_360  # llmfit's record of the safetensors total


@pytest.mark.parametrize("target", ["nobody", "loop", "second"])
def test_same_as_must_lead_to_a_configuration(target: str) -> None:
    """An unknown name, the entry itself and a chain are MOD008."""
    items = [
        {"name": "loop", "sameAs": target},
        {"name": "second", "sameAs": "base"},
        {"name": "base", "config": CONFIG},
    ]
    with pytest.raises(ModelError) as caught:
        overlay_entries(items, place="f", built_in=lambda _: None)

    assert caught.value.code == "MOD008"
    assert caught.value.place == "f: models[0].sameAs"


def test_completing_leaves_both_entries_as_they_were() -> None:
    """Merging makes a new configuration."""
    base, other = entry(), entry(name="c/d", sameAs="a/b", config={"hidden_size": 32})

    whole = completed(other, {"a/b": base}.get)

    assert whole.config["hidden_size"] == 32
    assert base.config["hidden_size"] == 64
    assert other.config == {"hidden_size": 32}


@pytest.mark.parametrize("taken", ["A/B", "alias"])
def test_a_name_given_twice_is_refused(taken: str) -> None:
    """Names and aliases are unique in a file, whatever their case."""
    items = [
        {"name": "a/b", "aliases": ["Alias"], "config": CONFIG},
        {"name": taken, "config": CONFIG},
    ]
    with pytest.raises(ModelError) as caught:
        overlay_entries(items, place="f", built_in=lambda _: None)

    assert caught.value.code == "MOD007"
    assert caught.value.place == "f: models[1]"


@pytest.mark.parametrize(
    "document",
    [None, "text", 5, {}, {"models": {}}, {"models": None}, {"items": []}],
)
def test_a_document_that_is_no_list_of_models_is_refused(document: object) -> None:
    """Neither a list of entries nor an object with models: MOD004."""
    with pytest.raises(ModelError, match="MOD004"):
        overlay_entries(document, place="f", built_in=lambda _: None)


def test_another_key_beside_models_is_refused() -> None:
    """A misspelt section must not lose entries silently."""
    with pytest.raises(ModelError, match="MOD005"):
        overlay_entries({"models": [], "model": []}, place="f", built_in=lambda _: None)


def test_errors_of_the_configuration_name_the_entry() -> None:
    """What the configuration lacks is said with the entry's place."""
    (broken,) = overlay_entries(
        [{"name": "a/b", "config": {"model_type": "llama"}}], place="f", built_in=lambda _: None
    )
    with pytest.raises(InputError) as caught:
        facts_of(broken)

    assert caught.value.place.startswith("f: models[0].config")
