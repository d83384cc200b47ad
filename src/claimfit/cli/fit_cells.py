"""Cells that the tables of ``claimfit fit`` share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claimfit.fit.verdict import Verdict

__all__ = ["decode_speed", "longest_context", "memory_used"]


def memory_used(verdict: Verdict) -> str:
    """Return the share of a device's memory that a claim would ask for."""
    if verdict.need is None or not verdict.memory:
        return "-"
    return f"{100 * int(verdict.need.floor) / int(verdict.memory):.0f} %"


def decode_speed(verdict: Verdict) -> str:
    """Return p10, p50 and p90 in tokens per second; a dash where nothing is decoded."""
    speed = verdict.rate
    if speed is None:
        return "unknown" if verdict.decodes else "-"
    return "  ".join(_figure(value) for value in (speed.p10, speed.p50, speed.p90))


def _figure(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def longest_context(verdict: Verdict) -> str:
    """Return the longest context that fits, in tokens."""
    return f"{verdict.longest_context:,}" if verdict.longest_context else "-"
