"""The allocator on 5,000 nodes of 8 devices against Kubernetes' own (structured v0.36.3).

    python bench/allocator_nodes.py [RUNS]

Three questions, put to both in turns, on the same objects: a claim of 4 devices with a selector
of six clauses, a claim of 9 devices that never fits, and 10 of 20 like devices with an impossible
request after them. Printed are the best times and their ratios. Goals: 1.0, 0.2 and 0.05 of
upstream's time. Decoding the objects is left out on both sides, compiling the expressions is in.

Needs Go (the judge of tests/oracle is built once).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from claimfit.dra.allocation import Allocator
from claimfit.dra.objects import DeviceClass, Node, ResourceClaim, ResourceSlice
from claimfit.dra.profile import profile
from support.allocator_objects import claim, device, device_class, exact, node, published, read
from support.kubernetes_build import JUDGED, judge

DRIVER = "llmfit.ai"
SELECTOR = (
    f"'memory' in device.capacity['{DRIVER}'] && "
    f"device.capacity['{DRIVER}'].memory.compareTo(quantity('6Gi')) >= 0 && "
    f"'memoryBandwidthGBs' in device.attributes['{DRIVER}'] && "
    f"device.attributes['{DRIVER}'].memoryBandwidthGBs >= 152 && "
    f"'healthy' in device.attributes['{DRIVER}'] && device.attributes['{DRIVER}'].healthy"
)
CLASSES = [device_class("gpu", f"device.driver == '{DRIVER}'")]
FEATURES = dict.fromkeys(
    (
        "AdminAccess",
        "PrioritizedList",
        "PartitionableDevices",
        "DeviceTaints",
        "DeviceBindingAndStatus",
        "ConsumableCapacity",
    ),
    True,
)
IMPOSSIBLE = f"device.attributes['{DRIVER}'].kind == 'none'"
QUESTIONS = (
    ("4 devices, six clauses", 5000, 8, claim(exact("r", 4, SELECTOR)), 1.0),
    ("9 devices, never fits", 5000, 8, claim(exact("r", 9, SELECTOR)), 0.2),
    ("10 of 20, then impossible", 1, 20, claim(exact("r", 10), exact("s", 1, IMPOSSIBLE)), 0.05),
)


def slices(nodes: int, devices: int) -> list[dict[str, Any]]:
    """Return a slice per node, with ten attributes per device."""
    return [
        published(
            *(
                device(
                    f"gpu{index}",
                    "80Gi",
                    attributes={
                        "kind": "gpu",
                        "healthy": True,
                        "memoryBandwidthGBs": 960,
                        "uuid": f"GPU-{number}-{index}",
                        **{f"a{extra}": f"v{extra}" for extra in range(6)},
                    },
                )
                for index in range(devices)
            ),
            name=f"slice-{number}",
            driver=DRIVER,
            pool=f"node-{number}",
            nodeName=f"node-{number}",
        )
        for number in range(nodes)
    ]


def ours(made: list[ResourceSlice], nodes: list[Node], wanted: ResourceClaim) -> tuple[float, int]:
    """Return the seconds for all nodes, and how many fit."""
    classes = [read(item, DeviceClass) for item in CLASSES]
    start = time.perf_counter()
    allocator = Allocator.for_profile(profile("1.36"), made, classes)
    fitting = sum(verdict.fits for verdict in allocator.decide_all(nodes, [wanted]))
    return time.perf_counter() - start, fitting


def theirs(program: Path, question: str) -> tuple[float, int]:
    """Return what the judge measured."""
    done = subprocess.run([program], input=question, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    return said["seconds"], said["fitting"]


def main() -> int:
    """Print a row per question; return 1 when a ratio is above its goal."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    program = judge(Path(__file__).parents[1] / "tests" / "oracle" / "allocatorjudge", JUDGED[36])
    missed = 0
    for title, number, devices, wanted, goal in QUESTIONS:
        published_slices = slices(number, devices)
        nodes = [node(f"node-{index}") for index in range(number)]
        made = [read(item, ResourceSlice) for item in published_slices]
        question = json.dumps(
            {
                "nodes": [{"metadata": {"name": item.metadata.name}} for item in nodes],
                "slices": published_slices,
                "classes": CLASSES,
                "claims": [json.loads(msgspec.json.encode(wanted)) | {"kind": "ResourceClaim"}],
                "features": FEATURES,
                "timeoutSeconds": 60,
            }
        )
        question = question.replace('"count"', '"allocationMode": "ExactCount", "count"')
        mine, other = [], []
        for _ in range(runs):
            mine.append(ours(made, nodes, read(wanted, ResourceClaim)))
            other.append(theirs(program, question))
        if mine[0][1] != other[0][1]:
            print(f"{title}: {mine[0][1]} nodes fit here, {other[0][1]} upstream")
            return 2
        ratio = min(mine)[0] / min(other)[0]
        missed += ratio > goal
        print(
            f"{title:28} {min(mine)[0]:8.4f} s  upstream {min(other)[0]:8.4f} s"
            f"  ratio {ratio:.3f}  goal {goal}"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
