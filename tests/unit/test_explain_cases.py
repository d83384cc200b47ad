"""The cases of ../shared/data/cases that ask about a cluster: verdict, picks, every fact to state.

A fact is a line ``must-say`` of the case's header; here it stands as the pieces of text that the
answer must hold, for any way of putting it. Facts that this command cannot state are listed with
the reason, so that a change of the header is noticed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from claimfit.cli import explain_text
from claimfit.diagnose.asking import questions_of
from claimfit.diagnose.cluster import Cluster
from claimfit.diagnose.explaining import explain
from claimfit.diagnose.suggestions import suggestions
from claimfit.dra.objects import (
    CelSelector,
    DeviceClaim,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
    Metadata,
    ResourceClaim,
    ResourceClaimSpec,
)
from claimfit.dra.profile import profile
from claimfit.dra.reading import read_objects

if TYPE_CHECKING:
    from claimfit.diagnose.tree import Answer

CASES = Path(__file__).parents[3] / "shared" / "data" / "cases"
pytestmark = pytest.mark.skipif(not CASES.exists(), reason="the cases are not here")

ELSEWHERE = "stated by another command"
"""Marks a fact that is no answer of explain: what it would ask is not in the case's objects."""

OUTCOMES = {
    "satisfiable": {"fits"},
    "unsatisfiable": {"pending", "refused"},
    "selector-error": {"aborted"},
}

FACTS: dict[str, list[list[str] | str]] = {
    "c01-unguarded-attr-other-node": [
        ["selector #0", "gpu-3-131", "node-b", "no such key: partitionProfile"],
        ["node-a alone would fit", "gpu-1-129"],
        ["An error is not a mismatch", "ends the attempt on all nodes"],
        ['"partitionProfile" in device.attributes["gpu.amd.com"] &&'],
    ],
    "c04-wrong-domain": [
        ["unknown domain is an empty map", "names the key productName"],
        ['productName is published under "gpu.nvidia.com"'],
    ],
    "c08-version-vs-string": [
        ["driverVersion is a version", "no overload", "instead of being false"],
        ['compareTo(semver("580.95.5")) >= 0'],
    ],
    "c09-capacity-as-attribute": [
        ["memory is published as a capacity", 'device.capacity["gpu.nvidia.com"].memory'],
        "the selector of the case reads no key model",
    ],
    "c10-marketing-gb-amd": [
        ["gpu-1-129", "196592Mi", "16Mi short of 192Gi"],
        ["ask for 192G ", "ask for 191Gi "],
    ],
    "c12-kserve-illustrative-keys": [
        ELSEWHERE,
        ['no device has type "A100"', "the text stands in productName", 'type "gpu"'],
        ["clause 2  memory >= 40Gi", "true on all 4 devices"],
    ],
    "c15-mig-guard-by-type": [
        ["Fits:", "gpu-0", "type == 'mig' is false"],
        ["gpu-1-mig-1g10gb-19-0"],
    ],
    "c19-memory-zero": [
        ["2 devices of gpu.intel.com publish memory 0", "reports nothing", "xpumd"],
        ["mend its installation", "before lowering the threshold"],
    ],
    "c20-llmfit-fit-claim": [
        ["no memoryBandwidthGBs", "cpu0"],
        ["memoryBandwidthGBs 136, 16 short of 152", "gpu0"],
        ["healthy is false", "not of class llmfit.ai", "gpu1"],
        ["no memory", "nic0"],
        ["1  fits and is free", "gpu2"],
    ],
    "d01-class-missing": [
        [
            "DeviceClass gpu.nvidia.com does not exist",
            "compute-domain-daemon.nvidia.com, compute-domain-default-channel.nvidia.com",
        ],
        ["no slice of a driver gpu.nvidia.com is published either"],
    ],
    "e01-count-over-node": [
        ["no node has more than 4", "2 nodes", "a claim cannot span nodes"],
        ["4 is the largest count"],
    ],
    "e03-pcie-root-pairing": [
        ["same resource.kubernetes.io/pcieRoot"],
        ["node node-a", "gpu: pci0000:10: 1, pci0000:20: 2; nic: pci0000:10: 1"],
        ["node node-b", "gpu: pci0000:10: 2; nic: pci0000:80: 1"],
        ["ask for 1 device in request gpu", "-> node-a"],
    ],
    "e07-numa-name-differs": [
        [
            "gpu.amd.com publishes gpu.amd.com/numaNode",
            "dra.cpu publishes resource.kubernetes.io/numaNode",
            "the names differ, so no device qualifies",
        ],
        ["gpu.amd.com/numaNode (1)", "resource.kubernetes.io/numaNode (1)"],
    ],
    "e09-first-available-fallback": [
        ["claim serving/older", "gpu-0", "is in use"],
        ["gpu/two-l40s"],
    ],
    "e11-incomplete-pool": [
        ["pool gpu.nvidia.com/node-a", "1 of 2 slices of generation 3", "not usable yet"],
        ["no selector is the cause", "wait for driver gpu.nvidia.com or repair it"],
    ],
    "f01-full-gpu-blocks-slices": [
        ["counter set gpu-0-counter-set", "device gpu-0 (serving/older) uses up"],
        ["the node has no other board"],
    ],
    "f03-mixed-slices-fit": [
        ["gpu-0-mig-1g10gb-19-4, gpu-0-mig-1g10gb-19-5"],
        ["same gpu.nvidia.com/parentUUID"],
    ],
    "f05-taint-no-toleration": [
        ["HealthIssues-memorytemperature:NoExecute", "taint is not tolerated", "gpu-0"],
        ["matches, but its taint"],
    ],
    "f06-taint-tolerated": [["gpu-0", "with its tolerations"]],
    "g07-extended-resource-class": [
        ["class gpu.nvidia.com stands for extended resource nvidia.com/gpu", "2 devices"],
        ["gate DRAExtendedResource", "by default from 1.36"],
    ],
}


def header(name: str) -> dict[str, list[str]]:
    """Return the lines of a case's header by key."""
    found: dict[str, list[str]] = {}
    for line in (CASES / f"{name}.yaml").read_text(encoding="utf-8").splitlines():
        match = re.match(r"# ([a-z-]+): (.*)", line)
        if match:
            found.setdefault(match[1], []).append(match[2])
    return found


def asked(name: str) -> tuple[Answer, Cluster, tuple[object, ...]]:
    """Return the answer to a case, its cluster, and what would work."""
    path = CASES / f"{name}.yaml"
    objects = read_objects(path.read_bytes(), path.name, everything=True)
    if name.startswith("c12"):  # the service object is another command's; its claim is as stated
        expressions = (
            "device.attributes['gpu.nvidia.com']['type'] == 'A100'",
            "device.capacity['gpu.nvidia.com']['memory'].compareTo(quantity('40Gi')) >= 0",
        )
        selectors = [DeviceSelector(CelSelector(text)) for text in expressions]
        exact = ExactDeviceRequest("gpu.nvidia.com", selectors, count=2)
        spec = ResourceClaimSpec(DeviceClaim([DeviceRequest("gpu", exact)]))
        objects.claims.append(ResourceClaim(Metadata("managed", "serving"), spec))
    cluster = Cluster(objects, profile("1.36"))
    (question,) = [
        item for item in questions_of(objects, cluster) if item.waiting or item.extended or item.pod
    ]
    answer = explain(question, cluster)
    return answer, cluster, suggestions(question, answer, cluster)


@pytest.mark.parametrize("name", FACTS)
def test_verdict_and_picks(name: str) -> None:
    """The verdict is the case's, and so are node and devices where it names them."""
    said = header(name)
    answer, _, _ = asked(name)

    assert answer.outcome in OUTCOMES[said["verdict"][0]]
    for pick in said.get("picks", []):
        node, _, devices = pick.partition(": ")
        chosen = next(item for item in answer.nodes if item.state == "fits")
        results = [x.device for each in chosen.allocations for x in each.devices.results]
        assert (chosen.node, results) == (node, devices.split(", "))


@pytest.mark.parametrize("name", FACTS)
def test_every_fact_is_stated(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The text of the answer holds every must-say fact."""
    answer, cluster, works = asked(name)

    explain_text.write([(answer, works)], cluster.objects, [], verbose=False)  # type: ignore[list-item]

    text = re.sub(r"\n +", " ", capsys.readouterr().out)  # wrapped lines are one
    facts = FACTS[name]
    assert len(facts) == len(header(name)["must-say"])
    for fact, line in zip(facts, header(name)["must-say"], strict=True):
        for piece in [] if isinstance(fact, str) else fact:
            assert piece in text, f"{line}\n---\n{text}"


def test_all_cases_about_clusters_are_here() -> None:
    """No case whose verdict this command can give is left out."""
    about = {
        path.stem for path in CASES.glob("*.yaml") if header(path.stem)["verdict"][0] in OUTCOMES
    }

    assert about == FACTS.keys()
