"""The collected cases of users whose answer is lint's: each fact that has to be said is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimfit.diagnose.lint import Context, lint
from claimfit.dra.profile import profile
from claimfit.manifests.reader import read_documents

CASES = Path(__file__).parents[2].parent / "shared" / "data" / "cases"

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not there")

FACTS = {
    "d01-class-missing": [
        ["LNT030", "DeviceClass gpu.nvidia.com does not exist", "present: compute-domain-daemon"],
        ["compute-domain-default-channel.nvidia.com", "no slice of driver gpu.nvidia.com exists"],
    ],
    "d02-v1-without-exactly": [
        [
            "LNT011",
            'unknown field "spec.spec.devices.requests[0].deviceClassName"',
            "under exactly",
        ],
    ],
    "d04-pod-claim-source-shape": [
        ["LNT015", "spec.resourceClaims[0] must set exactly one of resourceClaimName or"],
        ["resourceClaimTemplateName; source is no longer a field"],
    ],
    "d08-slice-bad-attribute-name": [
        ["LNT004", "numa-1", "C identifier", "letters, digits and underscore, no leading digit"],
        ["counters, unlike attributes and capacities, may contain hyphens"],
    ],
    "d10-rct-immutable": [
        ["LNT034", "immutable", "ResourceClaimTemplate and ResourceClaim", "delete and create"],
        ["new name", "pods that run keep their old claims and need a rollout"],
    ],
    "d11-admin-access-label": [
        ["LNT035", "resource.kubernetes.io/admin-access: true", 'true" (case-sensitive)'],
        ["the older spelling resource.k8s.io/admin-access on this namespace does not count"],
    ],
    "c01-unguarded-attr-other-node": [
        ["LNT046", "request gpu selector 0 raises on node-b device gpu-3-131"],
        ["no such key: partitionProfile", "node-a alone would satisfy it (gpu-1-129)"],
        ["An evaluation error is not a non-match: kube-scheduler may abort the whole attempt"],
        ["'partitionProfile' in device.attributes['gpu.amd.com'] && "],
    ],
    "c04-wrong-domain": [
        ["LNT045", "an unknown domain is an empty map", "no such key: productName"],
        ["about the key, not the domain", "productName is published under gpu.nvidia.com"],
    ],
    "c06-quantity-operator": [
        ["LNT041", ">= is not defined for Quantity; use compareTo(...) >= 0 or isGreaterThan"],
        ["it is rejected at admission, no device is evaluated"],
    ],
    "c08-version-vs-string": [
        ["LNT047", "driverVersion is a version attribute", "no overload and raises at run time"],
        ["it does not evaluate to false", ".compareTo(semver('580.95.5')) == 0 (>= 0"],
    ],
    "c09-capacity-as-attribute": [
        ["LNT048", "memory is published as a capacity, not an attribute"],
        ['device.capacity["gpu.nvidia.com"].memory'],
    ],
    "c10-marketing-gb-amd": [
        ["LNT052", "device gpu-1-129", "publishes 196592Mi, 16Mi below 192Gi (196608Mi)"],
        ["192G (decimal) or 191Gi match"],
    ],
    "c19-memory-zero": [
        [
            "LNT053",
            "both devices publish memory 0",
            "the driver reporting nothing, not a real size",
        ],
        ["xpumd", "before lowering the floor"],
    ],
    "g01-shared-claim-replicas": [
        ["LNT023", "all 3 pods", "share the single device of claim gpu and land on its node"],
        ["a vLLM server takes most of it by default", "second replica is likely to run out"],
        ["use a template for one claim per pod"],
    ],
    "g07-extended-resource-class": [
        ["LNT026", "class gpu.nvidia.com carries extendedResourceName nvidia.com/gpu"],
        ["the scheduler makes an implicit claim for 2 devices of that class"],
    ],
}
"""Case -> groups of texts, each to be found in one finding or its fix."""

QUIET = (
    "c15-mig-guard-by-type",
    "c20-llmfit-fit-claim",
    "e07-numa-name-differs",
    "f06-taint-tolerated",
)
"""Cases in which nothing is wrong that lint can see: a false alarm would show here."""


def said(name: str, kubernetes: str = "1.36") -> list[str]:
    """Return each finding for the case as one text."""
    documents = read_documents((CASES / f"{name}.yaml").read_text(encoding="utf-8"), name)
    findings = lint(documents, Context(profile(kubernetes)))
    return [f"{item.code} {item.severity} {item.message} fix {item.fix}" for item in findings]


@pytest.mark.parametrize("name", FACTS)
def test_every_fact_is_said(name: str) -> None:
    """Each group of words is in one finding."""
    texts = said(name)

    for group in FACTS[name]:
        assert any(all(word in text for word in group) for text in texts), (group, texts)


@pytest.mark.parametrize("name", QUIET)
def test_no_false_alarm(name: str) -> None:
    """A case that works, or fails for reasons of allocation, has no finding."""
    assert said(name) == []


def test_extended_resources_before_136_wait() -> None:
    """Where the gate is off the pod waits on the device plugin's resource."""
    field, text = said("g07-extended-resource-class", "1.35")

    assert "1.35 drops this field" in field
    assert "DRAExtendedResource is off" in text
    assert "Insufficient nvidia.com/gpu" in text
