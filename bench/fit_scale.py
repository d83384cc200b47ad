"""``claimfit fit`` on 10,000 devices against decoding the same JSON with the standard library.

Both run as fresh processes, alternating; medians and ratio are printed, and the exit code is 1
when the ratio is above the goal of 3.

    python bench/fit_scale.py [--devices 10000] [--runs 7]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GOAL = 3.0
PRODUCTS = (
    ("NVIDIA H100 80GB HBM3", "81559Mi", "Hopper", "9.0.0"),
    ("NVIDIA H200", "143771Mi", "Hopper", "9.0.0"),
    ("NVIDIA A100-SXM4-80GB", "81920Mi", "Ampere", "8.0.0"),
    ("NVIDIA L40S", "46068Mi", "Ada Lovelace", "8.9.0"),
)
DEVICES_PER_NODE = 8


def cluster(devices: int) -> dict[str, object]:
    """Return a List of slices with `devices` devices, eight to a node, as kubectl prints it."""
    slices = []
    for node in range(devices // DEVICES_PER_NODE):
        product, memory, architecture, capability = PRODUCTS[node % len(PRODUCTS)]
        name = f"gpu-{node}"
        slices.append(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {"name": f"{name}-gpu.nvidia.com", "uid": f"{node:032x}"},
                "spec": {
                    "driver": "gpu.nvidia.com",
                    "nodeName": name,
                    "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                    "devices": [
                        {
                            "name": f"gpu-{index}",
                            "attributes": {
                                "type": {"string": "gpu"},
                                "uuid": {"string": f"GPU-{node:08x}-{index:04x}"},
                                "productName": {"string": product},
                                "brand": {"string": "Nvidia"},
                                "architecture": {"string": architecture},
                                "cudaComputeCapability": {"version": capability},
                                "driverVersion": {"version": "580.126.20"},
                                "cudaDriverVersion": {"version": "13.0.0"},
                                "resource.kubernetes.io/pcieRoot": {
                                    "string": f"pci0000:{index:02x}"
                                },
                                "resource.kubernetes.io/numaNode": {"int": index // 4},
                            },
                            "capacity": {"memory": {"value": memory}},
                        }
                        for index in range(DEVICES_PER_NODE)
                    ],
                },
            }
        )
    return {"apiVersion": "v1", "kind": "List", "items": slices}


def seconds(command: list[str], expected: int) -> float:
    """Return the wall time of `command`."""
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    elapsed = time.perf_counter() - start
    if done.returncode != expected:
        raise SystemExit(f"{command} exited {done.returncode}: {done.stderr.decode()[-500:]}")
    return elapsed


def main() -> int:
    """Print the medians and the ratio; return 1 above the goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.json"
        path.write_text(json.dumps(cluster(arguments.devices)), encoding="utf-8")
        peer = [sys.executable, "-c", "import json,sys; json.load(open(sys.argv[1]))", str(path)]
        ours = [sys.executable, "-m", "claimfit", "fit", "Qwen/Qwen3-8B", "--cluster", str(path)]
        ours += ["-o", "json"]
        times: dict[str, list[float]] = {"json": [], "fit": []}
        for _ in range(arguments.runs):
            times["json"].append(seconds(peer, 0))
            times["fit"].append(seconds(ours, 0))
        size = path.stat().st_size
    json_median, fit_median = (statistics.median(times[name]) for name in ("json", "fit"))
    ratio = fit_median / json_median
    print(f"{arguments.devices} devices, {size / 1e6:.1f} MB of JSON, {arguments.runs} runs each")
    print(f"json.load      median {json_median:.3f} s")
    print(f"claimfit fit   median {fit_median:.3f} s")
    print(f"ratio          {ratio:.2f} (goal: at most {GOAL:g})")
    return 0 if ratio <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
