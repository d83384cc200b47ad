"""The inverse of `size`: the longest context and the most requests that a device holds.

Found by bisection on `size` itself, which never falls when context or concurrency grow, so the two
always agree: the answer fits, the answer plus one does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.sizing.memory import size
from claimfit.sizing.plan import Parallelism
from claimfit.units import Bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.model.facts import ModelFacts
    from claimfit.sizing.plan import EngineChoice, Workload

__all__ = ["largest_concurrency", "largest_context"]

_MOST_CONCURRENCY: Final = 65_536
_SINGLE: Final = Parallelism()
_NO_RESERVE: Final = Bytes(0)


def largest_context(
    model: ModelFacts,
    engine: EngineChoice,
    workload: Workload,
    parallelism: Parallelism = _SINGLE,
    *,
    device_memory: Bytes,
    board_reserve: Bytes = _NO_RESERVE,
) -> int:
    """Return the longest context of `workload` that fits `device_memory`, 0 when none does.

    At most the model's own context. `workload.context_tokens` is not looked at.

    Raises:
        SizingError, ModelError: as `size` does.
    """

    def fits(context: int) -> bool:
        asked = workload._replace(context_tokens=context)
        need = size(
            model,
            engine,
            asked,
            parallelism,
            board_reserve=board_reserve,
            device_memory=device_memory,
        )
        return need.floor <= device_memory

    return _largest(fits, model.context_tokens)


def largest_concurrency(
    model: ModelFacts,
    engine: EngineChoice,
    workload: Workload,
    parallelism: Parallelism = _SINGLE,
    *,
    device_memory: Bytes,
    board_reserve: Bytes = _NO_RESERVE,
) -> int:
    """Return how many requests of `workload.context_tokens` fit at once, 0 when none does.

    Capped at 65536, beyond any engine's scheduler, and at `workload.max_sequences` where given.

    Raises:
        SizingError, ModelError: as `size` does.
    """

    def fits(requests: int) -> bool:
        asked = workload._replace(concurrency=requests)
        need = size(
            model,
            engine,
            asked,
            parallelism,
            board_reserve=board_reserve,
            device_memory=device_memory,
        )
        return need.floor <= device_memory

    return _largest(fits, workload.max_sequences or _MOST_CONCURRENCY)


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """Return the largest n in 0..`most` for which `fits` holds; it holds up to some n only."""
    if most < 1 or not fits(1):
        return 0
    low, high = 1, 2
    while high <= most and fits(high):
        low, high = high, high * 2
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low
