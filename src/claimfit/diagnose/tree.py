"""The answer to one question: pod or claim -> node -> request -> device -> reason.

The same tree is printed as text and as JSON. Everything in it is text, numbers and names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from claimfit.diagnose.node_filters import Refusal
    from claimfit.dra.explanation import NodeExplanation
    from claimfit.dra.objects import AllocationResult, ResourceClaim
    from claimfit.dra.reasons import Reason

__all__ = [
    "Answer",
    "ClauseAnswer",
    "DeviceRow",
    "LatentError",
    "NodeAnswer",
    "NodeState",
    "Outcome",
    "RequestAnswer",
]

Outcome = Literal["fits", "placed", "pending", "refused", "aborted", "undecided"]
"""
``fits``: a node can take it. ``placed``: it has its devices, or its node, already.
``pending``: no node can. ``refused``: it cannot come to any node, whatever they offer.
``aborted``: kube-scheduler gives up at an error, although a node may fit.
``undecided``: the search was given up on some node and no other one fits.
"""


NodeState = Literal["fits", "filtered", "short", "failed", "undecided"]


class NodeAnswer(NamedTuple):
    """What a node says.

    Attributes:
        node: its name.
        state: fits, filtered (before devices are looked at), short, failed (an error) or undecided.
        refusals: of a node that is filtered.
        explanation: of a node that is short, failed or undecided.
        missing: how many devices are short, each request taken alone; 0 where only the combination
            fails.
        claims: what was asked of the node.
        allocations: one per claim, where it fits.
    """

    node: str
    state: NodeState
    refusals: tuple[Refusal, ...] = ()
    explanation: NodeExplanation | None = None
    missing: int = 0
    claims: tuple[ResourceClaim, ...] = ()
    allocations: tuple[AllocationResult, ...] = ()

    @property
    def closeness(self) -> tuple[int, int, str]:
        """Sorts nodes, the one that is nearest to fitting first."""
        fitting = 0
        if self.explanation is not None:
            fitting = sum(min(x.fitting, x.wanted) for x in self.explanation.requests)
        rank = {"fits": 0, "short": 1, "undecided": 1, "failed": 2, "filtered": 3}[self.state]
        return (rank * 1000 + self.missing, -fitting, self.node)


class ClauseAnswer(NamedTuple):
    """One clause of a selector, and how many devices it removes.

    Attributes:
        number: counted through the selectors of a request; 0 for clauses of the class.
        text: the clause for people; `expression` as it is written.
        false: devices of the nodes asked for which it is false; `failing` on which it fails.
        true: devices on which it is true; a clause that fails beside one that is false is neither.
        devices: how many it was held against: those that the class admits.
    """

    number: int
    text: str
    expression: str
    false: int
    failing: int
    true: int
    devices: int


class RequestAnswer(NamedTuple):
    """A request or an alternative, as it was asked of all nodes."""

    claim: str
    request: str
    wanted: str
    device_class: str
    clauses: tuple[ClauseAnswer, ...]
    constraints: tuple[str, ...]


class DeviceRow(NamedTuple):
    """Devices that give one request the same answer for the same values.

    Attributes:
        claim: NAMESPACE/NAME.
        request: name of the request.
        code: a reason code; empty for devices that fit and are free.
        text: the reason.
        detail: what was seen, and by how much it is off.
        product: of the devices, or empty.
        places: (node, names of devices), nearest node first.
        off_by: the share by which a bound is missed; 0 where there is none.
    """

    claim: str
    request: str
    code: str
    text: str
    detail: str
    product: str
    places: tuple[tuple[str, tuple[str, ...]], ...]
    off_by: float = 0.0

    @property
    def number(self) -> int:
        """How many devices."""
        return sum(len(devices) for _, devices in self.places)


class LatentError(NamedTuple):
    """A selector that would fail on devices which are not reached today."""

    owner: str
    selector: int
    error: str
    devices: tuple[str, ...]


class Answer(NamedTuple):
    """The answer to one question.

    Attributes:
        subject: such as ``pod serving/chat-0``.
        outcome: what becomes of it.
        sentence: the verdict, one sentence.
        closest: a second sentence: the node that is nearest, or where it would run.
        requests: what is asked for.
        rows: devices by what they say, most useful first.
        nodes: every node, nearest first.
        reasons: what rules out the whole on all nodes alike, or at the nearest node.
        hints: what the cause seems to be and what would help, not tried.
        latent: selectors that will fail one day.
        scheduler_line: what kube-scheduler writes into its event; empty when it writes none.
        not_considered: what is not modelled.
        notes: what was assumed.
        profile: the rules, such as ``Kubernetes 1.36``.
    """

    subject: str
    outcome: Outcome
    sentence: str
    closest: str
    requests: tuple[RequestAnswer, ...]
    rows: tuple[DeviceRow, ...]
    nodes: tuple[NodeAnswer, ...]
    reasons: tuple[Reason, ...]
    hints: tuple[str, ...]
    latent: tuple[LatentError, ...]
    scheduler_line: str
    not_considered: tuple[str, ...]
    notes: tuple[str, ...]
    profile: str

    @property
    def fits(self) -> bool:
        """Whether the answer is yes."""
        return self.outcome in {"fits", "placed"}
