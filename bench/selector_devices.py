"""The selector that llmfit writes on 100,000 devices against cel-go in Kubernetes' environment.

    python bench/selector_devices.py [DEVICES] [RUNS]

Two clusters: one with 400 distinct combinations of the attributes that the selector reads, and one
where every device is different. The same devices go to both, decoded beforehand; printed are the
best times, compiling included here, and the ratios. Goals: 0.25 and 1.5 of cel-go's time.

Needs Go (the judge of tests/oracle is built once).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from claimfit.dra.cel.program import Program, compile_selector
from claimfit.dra.objects import Device
from claimfit.dra.profile import profile
from support.cel_judge import Judge

DRIVER = "llmfit.ai"
SELECTOR = " && ".join(  # noqa: FLY002  # one clause a line
    (
        "'memory' in device.capacity['llmfit.ai']",
        "device.capacity['llmfit.ai'].memory.compareTo(quantity('22137Mi')) >= 0",
        "'memoryBandwidthGBs' in device.attributes['llmfit.ai']",
        "device.attributes['llmfit.ai'].memoryBandwidthGBs >= 649",
        "'healthy' in device.attributes['llmfit.ai']",
        "device.attributes['llmfit.ai'].healthy",
    )
)
VERSION = "v0.36.3"
COMBINATIONS = 400
GOALS = {"400 combinations": 0.25, "every device different": 1.5}


def device(number: int, memory_mib: int, bandwidth_gbs: int) -> dict[str, Any]:
    """Return a device of the driver with ten attributes."""
    attributes = {
        "kind": {"string": "gpu"},
        "healthy": {"bool": True},
        "memoryBandwidthGBs": {"int": bandwidth_gbs},
        "uuid": {"string": f"GPU-{number}"},
        **{f"a{index}": {"string": f"v{index}"} for index in range(6)},
    }
    return {"attributes": attributes, "capacity": {"memory": {"value": f"{memory_mib}Mi"}}}


def clusters(number: int) -> dict[str, list[dict[str, Any]]]:
    """Return the two clusters; half of the devices of each match."""
    return {
        "400 combinations": [
            device(i, 16_000 + 600 * (i % 20), 400 + 25 * (i // 20 % (COMBINATIONS // 20)))
            for i in range(number)
        ],
        "every device different": [
            device(i, 10_000 + i % 30_000, 300 + i // 100) for i in range(number)
        ],
    }


def ours(devices: list[Device]) -> tuple[float, int]:
    """Return the seconds to compile and evaluate, and how many devices match."""
    compile_selector.cache_clear()
    start = time.perf_counter()
    program = compile_selector(SELECTOR, profile("1.36"))
    if not isinstance(program, Program):
        raise SystemExit(program.text)
    matches = sum(program.evaluate(item, DRIVER).matches for item in devices)
    return time.perf_counter() - start, matches


def main() -> int:
    """Print a row per cluster; return 1 when a ratio is above its goal."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    judge = Judge(VERSION)
    missed = 0
    for title, raw in clusters(number).items():
        made = [msgspec.convert({"name": f"d{i}", **item}, Device) for i, item in enumerate(raw)]
        question = {"expression": SELECTOR, "gates": {}, "timing": True}
        sent = [{"driver": DRIVER, **item} for item in raw]
        mine, other = [], []
        for run in range(runs):
            mine.append(ours(made))
            more = {"devices": sent, "keep": True} if not run else {"kept": True}
            answer = judge.ask(**question, **more)
            other.append((answer["seconds"], answer["matches"]))
        if mine[0][1] != other[0][1]:
            print(f"{title}: {mine[0][1]} devices match here, {other[0][1]} in cel-go")
            return 2
        ratio = min(mine)[0] / min(other)[0]
        missed += ratio > GOALS[title]
        print(
            f"{title:24} {min(mine)[0]:7.3f} s  cel-go {min(other)[0]:7.3f} s"
            f"  ratio {ratio:.2f}  goal {GOALS[title]}  {mine[0][1]} of {number} match"
        )
    judge.close()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
