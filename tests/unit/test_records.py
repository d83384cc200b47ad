"""Our NamedTuple behaves as typing.NamedTuple does."""

from __future__ import annotations

import copy
import pickle
import typing

import pytest

from claimfit.records import NamedTuple


class Ours(NamedTuple):
    """A record."""

    first: int
    second: str = "b"
    third: tuple[int, ...] = ()

    @property
    def double(self) -> int:
        """Twice the first."""
        return self.first * 2


class Theirs(typing.NamedTuple):
    """The same by the standard library."""

    first: int
    second: str = "b"
    third: tuple[int, ...] = ()


@pytest.mark.parametrize(
    ("values", "named"),
    [((1,), {}), ((1, "x"), {}), ((1, "x", (2,)), {}), ((), {"first": 1}), ((1,), {"third": (3,)})],
)
def test_same_values_as_the_standard_library(
    values: tuple[object, ...], named: dict[str, object]
) -> None:
    """Positional, named and default fields give the same tuple."""
    ours, theirs = Ours(*values, **named), Theirs(*values, **named)

    assert tuple(theirs) == tuple(ours)
    assert theirs._asdict() == ours._asdict()
    assert repr(theirs).replace("Theirs", "Ours") == repr(ours)
    assert hash(theirs) == hash(ours)
    assert Theirs._fields == Ours._fields
    assert Theirs._field_defaults == Ours._field_defaults


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1, "x", (), 4), {}), ((1,), {"first": 2}), ((1,), {"fourth": 4})],
)
def test_wrong_fields_are_refused(values: tuple[object, ...], named: dict[str, object]) -> None:
    """Missing, repeated, unknown and too many fields are TypeErrors in both."""
    for kind in (Ours, Theirs):
        with pytest.raises(TypeError):
            kind(*values, **named)


def test_replace_copies_and_refuses_unknown_fields() -> None:
    """_replace changes the named fields of a copy."""
    record = Ours(1)

    assert Ours(1, "z") == record._replace(second="z")
    assert record == Ours(1)
    with pytest.raises(ValueError, match="fourth"):
        record._replace(fourth=1)


def test_it_is_a_tuple_that_matches_copies_and_pickles() -> None:
    """Pattern matching, unpacking, copies and pickles work; fields cannot be set."""
    record = Ours(1, third=(2,))

    match record:
        case Ours(first, second, third):
            assert (first, second, third) == (1, "b", (2,))
        case _:
            pytest.fail("no match")
    first, *rest = record
    assert (first, rest) == (1, ["b", (2,)])
    assert copy.deepcopy(record) == record == pickle.loads(pickle.dumps(record))
    assert record.double == 2
    with pytest.raises(AttributeError):
        record.first = 3  # type: ignore[misc]
    with pytest.raises(AttributeError):
        record.other = 3  # type: ignore[attr-defined]


def test_order_of_defaults_is_checked() -> None:
    """A field without a default cannot follow one with a default."""
    with pytest.raises(TypeError, match="without a default"):

        class Wrong(NamedTuple):
            first: int = 1
            second: int  # type: ignore[misc]
