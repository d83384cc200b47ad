"""What the allocator decides about claims on a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from claimfit.dra.inventory import DeviceId
    from claimfit.dra.objects import AllocationResult

__all__ = ["Outcome", "Verdict"]

Outcome = Literal["allocated", "unsatisfiable", "node-error", "aborted", "undecided"]
"""
``allocated``: the claims get devices. ``unsatisfiable``: they do not, on this node.
``node-error``: they do not, and kube-scheduler says a sentence about the node.
``aborted``: kube-scheduler gives up the whole attempt, on all nodes.
``undecided``: the search was stopped after `Verdict.steps` steps; nothing is known.
"""


class Verdict(NamedTuple):
    """The answer for one node.

    Attributes:
        node: its name.
        outcome: what happens.
        allocations: one per claim, in order; empty unless allocated.
        code: the reason code of an error, or empty.
        error: the sentence of kube-scheduler for an error, or empty.
        device: at which an error happened, or None.
        request: for which an error happened, or empty.
        steps: how many steps the search took.
        profile: which rules decided, such as ``1.36 incubating``.
    """

    node: str
    outcome: Outcome
    allocations: tuple[AllocationResult, ...]
    code: str
    error: str
    device: DeviceId | None
    request: str
    steps: int
    profile: str

    @property
    def fits(self) -> bool:
        """Whether the claims get devices on the node."""
        return self.outcome == "allocated"

    @property
    def scheduler_text(self) -> str:
        """What kube-scheduler says about the node; empty when the claims fit or none is known."""
        if self.outcome == "unsatisfiable":
            return "cannot allocate all claims"
        return self.error
