"""Builds etcd and the Kubernetes programs from their Go modules, once per version.

A scratch module requires `k8s.io/kubernetes` and replaces each staging module (required there as
v0.0.0) by its published twin v0.MINOR.PATCH. The programs land in a cache outside the repository,
`$CLAIMFIT_KUBERNETES_CACHE` or `~/.cache/claimfit-kubernetes`, and are moved there whole, so that
an interrupted build leaves nothing half done.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "DEFAULT_VERSION",
    "JUDGED",
    "PROGRAMS",
    "VERSIONS",
    "BuildError",
    "build_all",
    "chosen_version",
    "etcd",
    "go_program",
    "judge",
    "program",
]

VERSIONS: Final = {"1.34": "v1.34.4", "1.35": "v1.35.4", "1.36": "v1.36.3", "1.37": "v1.37.2"}
"""Minor -> version of the programs; the Go proxy serves `k8s.io/kubernetes` of these."""
DEFAULT_VERSION: Final = VERSIONS["1.36"]
PROGRAMS: Final = ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl")
JUDGED: Final = {34: "v0.34.13", 35: "v0.35.10", 36: "v0.36.3", 37: "v0.37.2"}
"""The modules that judge each minor."""
_ETCD: Final = "v3.6.7"
_MODULE_VERSION: Final = re.compile(r"(k8s\.io/[\w-]+ )v0\.\d+\.\d+")
_STAGING: Final = re.compile(r"^\s*(k8s\.io/[\w.-]+) v0\.0\.0\s*(?://.*)?$", re.MULTILINE)
_LIMIT_SECONDS: Final = 40 * 60
_JUDGES: Final = {"allocatorjudge": (36, 37), "celjudge": (34, 36)}
"""Folder in tests/oracle -> minors that the usual test run asks."""


class BuildError(Exception):
    """A program could not be built; the message holds the end of what go said."""


def chosen_version() -> str:
    """Return the version that CLAIMFIT_KUBERNETES names: a minor, a whole version, or nothing."""
    named = os.environ.get("CLAIMFIT_KUBERNETES") or DEFAULT_VERSION
    return VERSIONS.get(named.removeprefix("v"), named)


def go_program() -> str | None:
    """Return the path of the go command, or None."""
    return shutil.which("go")


def cache() -> Path:
    """Return the folder of built programs, made if needed."""
    chosen = os.environ.get("CLAIMFIT_KUBERNETES_CACHE")
    folder = Path(chosen) if chosen else Path.home() / ".cache" / "claimfit-kubernetes"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def etcd() -> Path:
    """Return the path of etcd, built if needed."""
    module = f"module scratch\ngo 1.24\nrequire go.etcd.io/etcd/server/v3 {_ETCD}\n"
    return _built(cache() / f"etcd-{_ETCD}", module, "go.etcd.io/etcd/server/v3", "-s -w")


def program(name: str, version: str = DEFAULT_VERSION) -> Path:
    """Return the path of kube-apiserver, kube-scheduler, ... of `version`, built if needed."""
    target = cache() / version / name
    if target.exists():
        return target
    flags = f"-s -w -X k8s.io/component-base/version.gitVersion={version}"
    return _built(target, _kubernetes_module(version), f"k8s.io/kubernetes/cmd/{name}", flags)


def judge(sources: Path, version: str) -> Path:
    """Return the path of the Go program in `sources`, built with `version` of k8s.io/NAME.

    The same source builds against the published modules of every minor; where one lacks a name, the
    build tag `minorNN` chooses another file. A go.mod in the folder says what else is needed, and
    its version of those modules is replaced. A changed source is built anew.
    """
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(sources.glob("*.go"))}
    listed = sources / "go.mod"
    module = f"module judge\ngo 1.24\nrequire k8s.io/dynamic-resource-allocation {version}\n"
    hashed = list(texts.values())
    if listed.exists():
        module = _MODULE_VERSION.sub(rf"\g<1>{version}", listed.read_text(encoding="utf-8"))
        hashed.append(module)
    digest = hashlib.sha256("".join(hashed).encode()).hexdigest()[:12]
    target = cache() / f"{sources.name}-{version}-{digest}"
    tag = f"minor{version.split('.')[1]}"
    return _built(target, module, ".", "-s -w", texts, ["-tags", tag])


def _kubernetes_module(version: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        answer = _go(["mod", "download", "-json", f"k8s.io/kubernetes@{version}"], Path(folder))
        required = Path(json.loads(answer)["GoMod"]).read_text(encoding="utf-8")
    staged = "v0" + version.removeprefix("v1")
    replaced = "".join(
        f"replace {name} => {name} {staged}\n" for name in sorted(set(_STAGING.findall(required)))
    )
    return f"module scratch\ngo 1.24\nrequire k8s.io/kubernetes {version}\n{replaced}"


def _built(  # one caller per kind of program
    target: Path,
    module: str,
    package: str,
    flags: str,
    sources: dict[str, str] | None = None,
    options: Sequence[str] = (),
) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    lock = target.with_name(f"{target.name}.lock")
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # two test processes must not build the same program
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=target.parent) as folder:
                work = Path(folder)
                (work / "go.mod").write_text(module, encoding="utf-8")
                for name, text in (sources or {}).items():
                    (work / name).write_text(text, encoding="utf-8")
                for name, text in (sources or {}).items():
                    (work / name).write_text(text, encoding="utf-8")
                output = work / "program"
                _go(
                    ["build", "-trimpath", "-ldflags", flags, *options, "-o", str(output), package],
                    work,
                )
                output.rename(target)
    return target


def _go(arguments: list[str], folder: Path) -> str:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod"}
    done = subprocess.run(
        ["nice", "-n", "10", "go", *arguments],  # minutes of all cores: let others work
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_LIMIT_SECONDS,
        check=False,
    )
    if done.returncode:
        raise BuildError(f"go {' '.join(arguments)}\n{done.stderr[-2000:]}")
    return done.stdout


def build_all(version: str = DEFAULT_VERSION) -> int:
    """Build what the tests need before their time limits run; return an exit code."""
    if go_program() is None:
        sys.stdout.write("no go command: tests with Kubernetes programs will be skipped\n")
        return 1 if os.environ.get("CLAIMFIT_REQUIRE_CLUSTER") else 0
    oracle = Path(__file__).parents[1] / "oracle"
    judges = [(oracle / name, JUDGED[minor]) for name in _JUDGES for minor in _JUDGES[name]]
    builds: list[Callable[[], Path]] = [etcd]
    builds += (functools.partial(program, name, version) for name in PROGRAMS)
    builds += (functools.partial(judge, *item) for item in judges)
    for build in builds:
        sys.stdout.write(f"built {build().relative_to(cache())}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(build_all(chosen_version()))
