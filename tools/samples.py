"""Writes the sample clusters in src/claimfit/data/samples: `python tools/samples.py`.

Each file is what `kubectl get resourceslices,nodes,deviceclasses,resourceclaims -A -o json` prints
on an invented cluster. Product names, memory and classes come from the accelerator table and the
driver descriptions, so that the samples cannot drift from them; everything else is made up, and the
same on every run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sample_gpus import amd, intel, mixed
from sample_others import llmfit, tpu_gaudi

if TYPE_CHECKING:
    from sample_objects import Object

FOLDER = Path(__file__).parent.parent / "src/claimfit/data/samples"
SAMPLES = {"mixed": mixed, "amd": amd, "intel": intel, "llmfit": llmfit, "tpu-gaudi": tpu_gaudi}
ORDER = ("ResourceSlice", "Node", "DeviceClass", "ResourceClaim")


def rendered(name: str) -> str:
    """Return the file of sample `name`, in the order and form in which kubectl prints it."""

    def place(item: Object) -> tuple[int, str, str]:
        metadata = item["metadata"]
        assert isinstance(metadata, dict)  # noqa: S101  # for the type checker
        return ORDER.index(str(item["kind"])), metadata.get("namespace", ""), metadata["name"]

    document = {
        "apiVersion": "v1",
        "kind": "List",
        "metadata": {"resourceVersion": ""},
        "items": sorted(SAMPLES[name](), key=place),
    }
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def main() -> int:
    """Write all samples."""
    for name in SAMPLES:
        (FOLDER / f"{name}.json").write_text(rendered(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
