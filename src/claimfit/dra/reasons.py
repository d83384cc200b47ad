"""The reasons why a node, a request or a device does not serve: stable codes with their meaning.

`docs/reasons` has a page per code, with cause and fix. The order is the one in which Kubernetes
looks at them: what is named first hides what comes later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from claimfit.dra.inventory import DeviceId

__all__ = ["MEANINGS", "Reason"]

MEANINGS: Final = {
    # the claim, before any device is looked at
    "request-empty": "a request has neither exactly nor firstAvailable",
    "gate-off": "the claim uses a field whose feature gate is off",
    "selector-empty": "a selector is of a kind that is not known",
    "class-missing": "the device class does not exist",
    "mode-unknown": "the allocation mode is not known",
    "constraint-unknown": "a constraint is of a kind that is not known",
    "result-limit": "a claim would get more than 32 devices",
    # the pool
    "pool-obsolete": "the pool is being replaced by a newer generation",
    "pool-incomplete": "not all slices of the pool are published",
    "pool-invalid": "the slices of the pool contradict each other",
    # the device
    "device-in-use": "the device is allocated to another claim",
    "binding-unsupported": "the device has binding conditions, whose feature gates are off",
    "class-selector-false": "a selector of the class does not admit the device",
    "class-selector-error": "a selector of the class fails on the device",
    "request-selector-false": "a selector of the request does not admit the device",
    "request-selector-error": "a selector of the request fails on the device",
    "not-on-node": "the device cannot be reached from the node",
    "capacity-missing": "the device has no capacity of the name that is requested",
    "capacity-policy": "the device gives out no share of the size that is requested",
    "capacity-short": "too little of a capacity of the device is left",
    "capacity-error": "an amount of capacity cannot be computed with",
    "counters-unsupported": "the device draws on counters, whose feature gate is off",
    "counters-short": "a counter that the device shares with others is used up",
    "taint-untolerated": "the device has a taint that the request does not tolerate",
    "attribute-missing": "the device lacks the attribute of a constraint",
    # the request and the claim as a whole
    "too-few-devices": "fewer devices can serve the request than it wants",
    "no-devices": "mode All finds no device",
    "all-mode-constraint": "mode All has to take a device that a constraint forbids",
    "constraint-groups": "no value of the constraint's attribute has enough devices",
    "competition": "each request alone has enough devices, all together have not",
    # the attempt
    "selector-error": "a selector fails on a device, which ends the attempt on every node",
    "node-selector": "a slice has a node selector of several terms",
    "scheduler-crash": "this release of kube-scheduler crashes here",
    "undecided": "the search was given up after a number of steps",
}
"""Code -> meaning."""


class Reason(NamedTuple):
    """One reason with the values that were seen.

    Attributes:
        code: a key of `MEANINGS`.
        text: one sentence.
        device: the device it is about, or None.
        values: name -> value, such as ``wanted`` and ``found``.
    """

    code: str
    text: str
    device: DeviceId | None
    values: dict[str, str]
