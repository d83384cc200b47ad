"""What a fold goes through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.dra.cel.values import EvalError, MapValue, go_type

if TYPE_CHECKING:
    from claimfit.dra.cel.values import Value

__all__ = ["fold_entries"]


def fold_entries(subject: Value, *, pairs: bool) -> list[tuple[Value, Value]]:
    """Return what a fold goes through: members or keys, or with `pairs` keys and values."""
    if isinstance(subject, MapValue):
        if pairs:
            return list(subject.items())
        return [(key, None) for key in subject.keys()]  # noqa: SIM118  # MapValue is no dict
    if isinstance(subject, list):
        if pairs:
            return list(enumerate(subject))
        return [(item, None) for item in subject]
    if pairs:
        raise EvalError("unsupported comprehension range type: %s", go_type(subject))
    raise EvalError("got '%s', expected iterable type", go_type(subject))
