"""Names of claims: laws for every model name."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from claimfit.claim.names import check_label, content_room, generated_name, with_content_hash

NAMES = st.text(min_size=1, max_size=120) | st.from_regex(
    r"[A-Za-z]{1,6}/[A-Za-z0-9._-]{1,80}", fullmatch=True
)


@settings(max_examples=300)
@given(NAMES, st.sampled_from([63, 57, content_room()]))
def test_every_name_is_a_label_that_fits(model: str, room: int) -> None:
    """Whatever the model is called, the claim's name is a DNS label within its room."""
    name = generated_name(model, room)
    assert check_label(name, "name") == name
    assert len(name) <= room
    assert generated_name(model, room) == name


@settings(max_examples=300)
@given(NAMES, NAMES)
def test_models_share_a_name_only_when_they_differ_in_case(one: str, two: str) -> None:
    """Two models have one claim name only if nothing but lower-casing was done to both."""
    if one != two and generated_name(one) == generated_name(two):
        assert one.lower() == two.lower() == generated_name(one)


@given(st.from_regex(r"[a-z]{1,20}", fullmatch=True))
def test_nobody_can_choose_the_name_of_another(model: str) -> None:
    """A model called like the hashed name of another gets digits of its own."""
    taken = generated_name(f"org/{model}")
    assert generated_name(taken) != taken


@given(NAMES, st.text(max_size=40))
def test_a_content_hash_never_outgrows_the_label(model: str, content: str) -> None:
    """A generated name has room for the hash of any spec."""
    name = with_content_hash(generated_name(model, content_room()), content)
    assert check_label(name, "name") == name
