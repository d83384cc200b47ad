"""Flags that the verbs about a cluster share, and the cluster that they name."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from claimfit.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from claimfit.dra.profile import Profile
    from claimfit.dra.reading import Objects

__all__ = ["add_cluster", "profile_of", "read_sources", "write_json"]

_STDIN: Final = "-"


def add_cluster(parser: argparse.ArgumentParser, kinds: str) -> None:
    """Add ``--cluster``, ``--kubernetes`` and ``--feature-gates``; `kinds` is what is read."""
    group = parser.add_argument_group("cluster")
    group.add_argument(
        "--cluster",
        metavar="SOURCE",
        default="",
        help=f"FILE, FOLDER, - or sample:NAME: what kubectl get -A -o json prints of {kinds}",
    )
    group.add_argument(
        "--kubernetes",
        metavar="VERSION",
        default="",
        help="rules of 1.34 to 1.37 (default: the kubelets' version, else 1.36)",
    )
    group.add_argument(
        "--feature-gates", metavar="A=true,B=false", default="", help="gates that differ"
    )


def read_sources(
    cluster: str, files: list[str], added: list[str] | None = None
) -> tuple[Objects, Objects]:
    """Return (the cluster with `files` and `added` in it, the objects of `files` alone).

    Raises `UsageError` CLI001 where standard input is wanted twice.
    """
    from claimfit.diagnose.what_if import merged
    from claimfit.dra.reading import Objects
    from claimfit.storage.cluster_files import read_cluster

    more = added or []
    if [cluster, *files, *more].count(_STDIN) > 1:
        raise UsageError("CLI001", "standard input can be read once", fix="give a file for one")
    stdin = sys.stdin.buffer
    base = Objects(reads_all=True)
    if cluster:
        base = read_cluster(cluster, stdin, everything=True)
    asked = Objects(reads_all=True)
    for name in files:
        asked.extend(read_cluster(name, stdin, everything=True))
    whole = merged(base, asked)
    for name in more:
        whole = merged(whole, read_cluster(name, stdin, everything=True))
    return whole, asked


def profile_of(arguments: argparse.Namespace, objects: Objects) -> tuple[Profile, str]:
    """Return the rules, and a note where the version was taken from the nodes or assumed."""
    from claimfit.diagnose.asking import cluster_version
    from claimfit.dra.profile import profile

    version = arguments.kubernetes or cluster_version(objects.nodes)
    note = ""
    if not arguments.kubernetes:
        note = f"rules of Kubernetes {version} (assumed: --kubernetes)"
    rules = profile(version, arguments.feature_gates)
    for gate in rules.not_modelled:
        sys.stderr.write(f"warning: gate {gate} is on; what it changes in allocation is left out\n")
    return rules, note


def write_json(schema: str, body: dict[str, object]) -> None:
    """Write `body` as one JSON object, its schema first."""
    import json

    import msgspec

    document = {"schemaVersion": schema, **body}
    try:  # the standard library's encoder is ten times slower where it indents
        text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    except UnicodeEncodeError:  # lone surrogates of a name that is not UTF-8
        text = json.dumps(document, indent=2)
    sys.stdout.write(text + "\n")
