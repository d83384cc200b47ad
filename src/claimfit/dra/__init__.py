"""Kubernetes' own rules of device allocation, usable alone: objects in, verdicts out.

Two names are reached through their modules, which are called like them:
`claimfit.dra.profile.profile` (the rules of a release) and `claimfit.dra.inventory.inventory`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit._exports import lazy

if TYPE_CHECKING:
    from claimfit.dra.allocation import Allocator
    from claimfit.dra.cel.clauses import clauses
    from claimfit.dra.cel.program import CompileErrors, Program, Result, compile_selector
    from claimfit.dra.explanation import DeviceAnswer, NodeExplanation, RequestExplanation, explain
    from claimfit.dra.inventory import DeviceId, PoolProblem, PublishedRow, pool_problems
    from claimfit.dra.profile import Profile
    from claimfit.dra.reading import Objects, read_objects
    from claimfit.dra.reasons import Reason
    from claimfit.dra.verdict import Verdict

__all__ = [
    "Allocator",
    "CompileErrors",
    "DeviceAnswer",
    "DeviceId",
    "NodeExplanation",
    "Objects",
    "PoolProblem",
    "Profile",
    "Program",
    "PublishedRow",
    "Reason",
    "RequestExplanation",
    "Result",
    "Verdict",
    "clauses",
    "compile_selector",
    "explain",
    "pool_problems",
    "read_objects",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Allocator": "claimfit.dra.allocation",
        "CompileErrors": "claimfit.dra.cel.program",
        "DeviceAnswer": "claimfit.dra.explanation",
        "DeviceId": "claimfit.dra.inventory",
        "NodeExplanation": "claimfit.dra.explanation",
        "Objects": "claimfit.dra.reading",
        "PoolProblem": "claimfit.dra.inventory",
        "Profile": "claimfit.dra.profile",
        "Program": "claimfit.dra.cel.program",
        "PublishedRow": "claimfit.dra.inventory",
        "Reason": "claimfit.dra.reasons",
        "RequestExplanation": "claimfit.dra.explanation",
        "Result": "claimfit.dra.cel.program",
        "Verdict": "claimfit.dra.verdict",
        "clauses": "claimfit.dra.cel.clauses",
        "compile_selector": "claimfit.dra.cel.program",
        "explain": "claimfit.dra.explanation",
        "pool_problems": "claimfit.dra.inventory",
        "read_objects": "claimfit.dra.reading",
    },
)
