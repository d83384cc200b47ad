"""Room on Python's stack for the deepest expression that the grammar allows."""

from __future__ import annotations

import sys
from functools import wraps
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["deep"]

_FRAMES: Final = 12_000
"""Frames that 250 nested rules need, and every pass over such a tree; Python holds 1,000."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


def deep(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Run `function` with room for the deepest tree; the limit is as before afterwards."""

    @wraps(function)
    def run(*operands: _P.args, **named: _P.kwargs) -> _R:
        limit = sys.getrecursionlimit()
        if limit >= _FRAMES:
            return function(*operands, **named)
        sys.setrecursionlimit(_FRAMES)
        try:
            return function(*operands, **named)
        finally:
            sys.setrecursionlimit(limit)

    return run
