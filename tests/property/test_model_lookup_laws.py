"""Laws of finding a model: letter case does not matter, every failure is a coded error."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from claimfit.errors import ClaimfitError
from claimfit.model.catalogue import built_in
from claimfit.model.entry import entry_from_json
from claimfit.model.lookup import Sources, find_entry, find_model, matching_names
from claimfit.model.overlay import overlay_entries

SOURCES = Sources(built_in())
NAMES = sorted(SOURCES.catalogue.families)

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=True)
    | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
ENTRY_KEYS = st.sampled_from(
    ["name", "config", "sameAs", "aliases", "parameters", "task", "notes", "opened", "other"]
)


@st.composite
def in_any_case(draw: st.DrawFn) -> tuple[str, str]:
    """Return a name of the catalogue and the same name in random letter case."""
    name = draw(st.sampled_from(NAMES))
    upper = draw(st.lists(st.booleans(), min_size=len(name), max_size=len(name)))
    spelt = "".join(
        char.upper() if up else char.lower() for char, up in zip(name, upper, strict=True)
    )
    return name, spelt


@given(in_any_case())
@settings(max_examples=150, deadline=None)
def test_a_whole_name_is_found_in_any_case(spelling: tuple[str, str]) -> None:
    """However it is spelt, a whole name means its model."""
    name, spelt = spelling

    assert find_entry(spelt, SOURCES).name == name


@given(in_any_case())
@settings(max_examples=100, deadline=None)
def test_a_short_name_means_one_model_or_lists_all(spelling: tuple[str, str]) -> None:
    """The part after the slash finds its model, or is an error with that model among others."""
    name, spelt = spelling
    short = spelt.rpartition("/")[2]
    try:
        assert find_entry(short, SOURCES).name == name
    except ClaimfitError as error:
        assert error.code == "MOD002"
        assert name in error.candidates
        assert error.candidates == matching_names(short, SOURCES)


@given(st.text(max_size=40))
@settings(max_examples=150, deadline=None)
def test_any_text_is_a_model_or_a_coded_error(text: str) -> None:
    """No text crashes the look-up or makes an unprintable message."""
    try:
        find_model(text, SOURCES)
    except ClaimfitError as error:
        assert error.code in {"MOD001", "MOD002", "MOD003", "MOD009"}
        assert error.found.isprintable()


@given(st.dictionaries(ENTRY_KEYS, JSON_VALUES, max_size=6))
@settings(max_examples=150, deadline=None)
def test_any_object_is_an_entry_or_a_coded_error(item: dict[str, object]) -> None:
    """What a user's file holds is accepted whole or refused with a code and a place."""
    try:
        entry_from_json(item, place="f", origin="overlay")
    except ClaimfitError as error:
        assert error.code in {"MOD004", "MOD005", "MOD006"}
        assert error.place.startswith("f")


@given(JSON_VALUES)
@settings(max_examples=150, deadline=None)
def test_any_document_is_a_list_of_entries_or_a_coded_error(document: object) -> None:
    """A whole file likewise."""
    try:
        overlay_entries(document, place="f", built_in=SOURCES.catalogue.entry)
    except ClaimfitError as error:
        assert error.code.startswith("MOD")
