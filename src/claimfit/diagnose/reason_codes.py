"""Reasons that are found outside the allocator: at the pod, its claims and its nodes.

Together with `claimfit.dra.reasons.MEANINGS` these are all codes of a tree; docs/reasons has them.
"""

from __future__ import annotations

from typing import Final

__all__ = ["POD_MEANINGS"]

POD_MEANINGS: Final = {
    # before any node is looked at
    "scheduling-gate": "a scheduling gate holds the pod back",
    "claim-entry": "an entry of the pod names neither a claim nor a template, or both",
    "claim-missing": "the claim that the pod names does not exist",
    "template-missing": "the template that the pod names does not exist",
    "claim-deleted": "the claim is being deleted",
    "claim-full": "the claim is in use by as many pods as may share it",
    "quota-exceeded": "a ResourceQuota leaves no room for the claim",
    # at a node, in the order of kube-scheduler's filters
    "node-unschedulable": "the node is cordoned",
    "node-name": "the pod names another node",
    "node-taint": "the pod does not tolerate a taint of the node",
    "node-affinity": "the labels of the node do not match the pod's selector or affinity",
    "node-resources": "too little CPU, memory or another resource of the node is left",
    "claim-elsewhere": "the claim is allocated on another node",
}
"""Code -> meaning."""
