"""Runs a control plane for trials by hand until Ctrl-C: `-m support.throwaway_cluster [SAMPLE]`.

SAMPLE is a sample cluster (mixed unless given) or `none`. CLAIMFIT_KUBERNETES chooses the version,
CLAIMFIT_FEATURE_GATES is passed to all programs. Everything is in a temporary folder that goes at
the end; `make cluster` is the usual way in.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from pathlib import Path

from claimfit.hardware.samples import sample_names
from support import kubernetes_build
from support.cluster_objects import load, sample_objects
from support.control_plane import ControlPlane, api_server, scheduling

__all__ = ["main"]


def _started(plane: ControlPlane, sample: str, kubectl: Path) -> str:
    return f"""\
Kubernetes {plane.version}, sample {sample}, on {plane.url}
  export KUBECONFIG={plane.kubeconfig_path}
  kubectl is {kubectl}
  logs are in {plane.folder}
Ctrl-C ends it all.
"""


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def main(arguments: list[str]) -> int:
    """Run until SIGINT or SIGTERM; return an exit code."""
    sample = arguments[0] if arguments else "mixed"
    if sample not in (*sample_names(), "none"):
        sys.stderr.write(f"no sample {sample}: {', '.join(sample_names())} or none\n")
        return 2
    if kubernetes_build.go_program() is None:
        sys.stderr.write("no go command: the control plane cannot be built\n")
        return 3
    signal.signal(signal.SIGTERM, _stop)
    version = kubernetes_build.chosen_version()
    kubectl = kubernetes_build.program("kubectl", version)
    gates = os.environ.get("CLAIMFIT_FEATURE_GATES", "")
    objects = [] if sample == "none" else sample_objects(sample)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="claimfit-cluster-") as folder,
            api_server(Path(folder), version, gates) as plane,
            scheduling(plane, gates),
        ):
            load(plane, objects)
            sys.stdout.write(_started(plane, sample, kubectl))
            sys.stdout.flush()
            threading.Event().wait()
    except KeyboardInterrupt:
        sys.stdout.write("ended\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
