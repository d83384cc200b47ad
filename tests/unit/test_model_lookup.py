"""Finding a model by name: order of the sources, letter case, short names, refusals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from claimfit.errors import ModelError
from claimfit.model.catalogue import Catalogue, built_in
from claimfit.model.lookup import (
    Sources,
    entry_named,
    find_model,
    is_file_reference,
    known_entries,
    matching_names,
)
from claimfit.model.overlay import overlay_entries

if TYPE_CHECKING:
    from pathlib import Path

    from claimfit.model.entry import Entry
    from claimfit.model.facts import ModelFacts

LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 1000,
    "max_position_embeddings": 512,
}


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    """Return a catalogue of four models, two of which share a short name."""
    items: list[dict[str, object]] = [
        {"name": "first/Alpha-1B", "config": LLAMA, "aliases": ["old/Alpha"]},
        {"name": "second/Alpha-1B", "config": LLAMA},
        {"name": "first/Beta", "config": LLAMA},
        {"name": "first/Größe-7B", "config": LLAMA},
    ]
    (tmp_path / "all.json").write_text(json.dumps({"models": items}), encoding="utf-8")
    names = {str(item["name"]): "all" for item in items}
    return Catalogue(str(tmp_path), names, {"old/Alpha": "first/Alpha-1B"})


def overlay(*items: dict[str, object]) -> tuple[Entry, ...]:
    """Return `items` as the user's entries."""
    return overlay_entries(list(items), place="mine.json", built_in=lambda _: None)


def a_file(reference: str) -> ModelFacts:
    """Stand in for the reader of files: facts whose name is the reference."""
    facts = find_model("Qwen/Qwen3-0.6B", Sources(built_in()))
    return facts._replace(name=reference, origin="gguf")


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("first/Alpha-1B", "first/Alpha-1B"),
        ("old/Alpha", "first/Alpha-1B"),
        ("SECOND/ALPHA-1b", "second/Alpha-1B"),
        ("beta", "first/Beta"),
        ("OLD/alpha", "first/Alpha-1B"),
        ("Alpha", "first/Alpha-1B"),
        ("GRÖSSE-7b", "first/Größe-7B"),
    ],
)
def test_a_name_is_found_whole_or_short_in_any_case(
    catalogue: Catalogue, reference: str, name: str
) -> None:
    """Whole names, aliases and unique parts after the slash mean their model in any case."""
    assert find_model(reference, Sources(catalogue)).name == name


def test_an_ambiguous_short_name_lists_the_candidates(catalogue: Catalogue) -> None:
    """Two models with one short name are an error that names both, sorted."""
    with pytest.raises(ModelError) as caught:
        find_model("alpha-1b", Sources(catalogue))

    assert caught.value.code == "MOD002"
    assert caught.value.candidates == ("first/Alpha-1B", "second/Alpha-1B")


def test_a_whole_name_in_other_case_wins_over_short_names(catalogue: Catalogue) -> None:
    """A user's entry without a slash is meant whole before it is anybody's short name."""
    sources = Sources(catalogue, overlay({"name": "alpha-1b", "config": LLAMA}))

    assert find_model("Alpha-1B", sources).origin == "overlay"


def test_an_overlay_entry_hides_the_one_of_the_catalogue(catalogue: Catalogue) -> None:
    """The user's entry answers for its name, in any case, and stands in the list once."""
    own = dict(LLAMA, max_position_embeddings=99)
    sources = Sources(catalogue, overlay({"name": "first/beta", "config": own}))

    assert find_model("FIRST/BETA", sources).context_tokens == 99
    names = [entry.name for entry in known_entries(sources)]
    assert names == ["first/beta", "first/Alpha-1B", "second/Alpha-1B", "first/Größe-7B"]


def test_the_exact_catalogue_name_still_answers_beside_an_overlay(catalogue: Catalogue) -> None:
    """An entry of another name does not disturb the catalogue's."""
    sources = Sources(catalogue, overlay({"name": "mine", "config": LLAMA}))

    found = entry_named("first/Beta", sources)
    assert found is not None
    assert found.origin == "catalogue"


def test_an_unknown_name_tells_the_nearest_and_how_else(catalogue: Catalogue) -> None:
    """A misspelt name is never guessed: the error lists near names and other ways to give one."""
    with pytest.raises(ModelError) as caught:
        find_model("first/Betta", Sources(catalogue))

    assert caught.value.code == "MOD001"
    assert caught.value.candidates[0] == "first/Beta"
    assert "hf://" in caught.value.fix


def test_names_that_hold_the_text_come_before_names_that_look_like_it() -> None:
    """A shortened name leads to the model that it begins."""
    with pytest.raises(ModelError) as caught:
        find_model("qwen3-30b", Sources(built_in()))

    assert caught.value.candidates[0] == "Qwen/Qwen3-30B-A3B"


@pytest.mark.parametrize(
    "reference",
    ["", "   ", "a" * 1_000_000, "llama\n# evil", "x\x00y", "\x1b[31mred", "nul\u2028line"],
    ids=["empty", "blank", "10^6", "newline", "nul", "escape", "separator"],
)
def test_what_can_be_no_name_is_refused(catalogue: Catalogue, reference: str) -> None:
    """Empty, endless and unprintable names are MOD003, and the error prints on one line."""
    with pytest.raises(ModelError) as caught:
        find_model(reference, Sources(catalogue))

    assert caught.value.code == "MOD003"
    assert caught.value.found.isprintable()
    assert len(caught.value.found) < 300


@pytest.mark.parametrize(
    ("reference", "is_file"),
    [
        ("hf://org/name@main", True),
        ("https://example.org/x.gguf", True),
        ("/models/x", True),
        ("./x", True),
        ("../x", True),
        ("~/x", True),
        (".", True),
        ("x-Q4_K_M.GGUF", True),
        ("model.safetensors", True),
        ("there/is-one", True),
        ("org/name", False),
        ("there", False),
    ],
)
def test_what_reads_as_a_file(reference: str, is_file: bool) -> None:
    """Schemes, leading separators, suffixes and existing paths are files; a bare name is a name."""
    there = {"there/is-one", "there"}

    assert is_file_reference(reference, there.__contains__) is is_file


def test_files_are_opened_by_the_given_reader(catalogue: Catalogue) -> None:
    """A file reference goes to the reader, not to the tables."""
    sources = Sources(catalogue, open_model=a_file)

    assert find_model("./first/Beta", sources).name == "./first/Beta"


def test_a_file_without_a_reader_is_refused(catalogue: Catalogue) -> None:
    """Where only names are looked up, a path is an error and no unknown name."""
    with pytest.raises(ModelError) as caught:
        find_model("./model.gguf", Sources(catalogue))

    assert caught.value.code == "MOD009"


def test_a_folder_of_that_name_is_pointed_out(catalogue: Catalogue) -> None:
    """A bare name that is a folder here is not read silently; the error says how to read it."""
    with pytest.raises(ModelError) as caught:
        find_model("my-model", Sources(catalogue, exists=lambda path: path == "my-model"))

    assert "./my-model" in caught.value.fix


def test_llmfit_is_asked_last(catalogue: Catalogue) -> None:
    """llmfit's catalogue answers for names that no table has, and only for those."""
    asked = []

    def ask(reference: str) -> ModelFacts | None:
        asked.append(reference)
        return a_file(reference) if reference == "only/llmfit" else None

    sources = Sources(catalogue, llmfit=ask)

    assert find_model("beta", sources).name == "first/Beta"
    assert find_model("only/llmfit", sources).name == "only/llmfit"
    with pytest.raises(ModelError, match="MOD001"):
        find_model("nobody/knows", sources)
    assert asked == ["only/llmfit", "nobody/knows"]


def test_matching_names_of_a_reference_with_a_slash_are_whole(catalogue: Catalogue) -> None:
    """`x/beta` is a whole name and never short for `first/Beta`."""
    assert matching_names("x/beta", Sources(catalogue)) == ()
