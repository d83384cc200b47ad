"""``claimfit simulate``: what would be placed where, and what stays free."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from claimfit.cli.arguments import Parser, add_output
from claimfit.cli.cluster_arguments import add_cluster, profile_of, read_sources, write_json
from claimfit.cli.lines import write_line, write_notes
from claimfit.cli.table import write_table
from claimfit.diagnose.sentences import devices_text, plural
from claimfit.errors import UsageError

if TYPE_CHECKING:
    from claimfit.diagnose.simulation import Group, Simulation
    from claimfit.dra.objects import ResourceClaim

__all__ = ["SIMULATE_SCHEMA", "run"]

SIMULATE_SCHEMA: Final = "claimfit.dev/simulate/v1"

_MOST_ROWS: Final = 40
_PROGRESS_EVERY: Final = 50

_EPILOG = """examples
  claimfit simulate -f deployment.yaml --cluster sample:mixed
  claimfit simulate -f deployment.yaml --cluster sample:mixed --until-full
  claimfit simulate -f pods.yaml --cluster cluster.json -o yaml > allocated-claims.yaml
"""


def run(argv: list[str]) -> int:
    """Place pods; 0 when all that were wanted have a node, 1 when some stay pending."""
    arguments = _parser().read(argv)
    from claimfit.diagnose.cluster import Cluster
    from claimfit.diagnose.simulation import simulate

    objects, manifests = read_sources(arguments.cluster, arguments.file)
    if not manifests.pods and not manifests.workloads:
        raise UsageError(
            "EXP008",
            "the manifests ask for nothing",
            place="-f",
            expected="a Pod, Deployment, StatefulSet, ReplicaSet, DaemonSet or Job",
        )
    profile, note = profile_of(arguments, objects)
    cluster = Cluster(objects, profile)
    done = simulate(manifests, cluster, until_full=arguments.until_full, progress=_progress())
    if arguments.output == "text":
        write_notes(dict.fromkeys(filter(None, (*objects.notes, note))))
        _write_text(done, len(cluster.nodes), verbose=arguments.verbose)
    elif arguments.output == "json":
        write_json(SIMULATE_SCHEMA, _as_json(done))
    else:
        _write_yaml(done)
    if arguments.until_full:
        return 0 if done.placed else 1
    return 0 if done.complete else 1


def _parser() -> Parser:
    parser = Parser(
        prog="claimfit simulate",
        description="Place pods one after the other by the rules of Kubernetes: which node and "
        "devices each gets, what stays free, who stays pending and why.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "-f",
        "--file",
        action="append",
        required=True,
        metavar="FILE",
        help="pods, workloads, and the templates and claims that they use",
    )
    add_cluster(
        parser, "nodes, pods, resourceslices, deviceclasses, resourceclaims, resourcequotas"
    )
    parser.add_argument(
        "--until-full", action="store_true", help="how many pods of each manifest fit"
    )
    parser.add_argument("--verbose", action="store_true", help="every pod")
    add_output(parser, "text", "json", "yaml")
    return parser


class _progress:  # noqa: N801  # used as a function with a state
    """Says on a terminal how many pods are placed."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()

    def __call__(self, placed: int) -> None:
        if self._shown and placed % _PROGRESS_EVERY == 0:
            sys.stderr.write(f"\r{placed:,} pods placed\r")


def _write_text(done: Simulation, nodes: int, *, verbose: bool) -> None:
    used = len({item.node for group in done.groups for item in group.placements})
    wanted = [group.wanted for group in done.groups]
    total = sum(number for number in wanted if number is not None)
    pods = plural(done.placed, "pod")
    if None not in wanted:
        pods = f"{done.placed:,} of {plural(total, 'pod')}"
    write_line(f"{pods} placed on {used} of {plural(nodes, 'node')}.")
    rows = [
        (item.pod, item.node, _devices(item.claims))
        for group in done.groups
        for item in group.placements
    ]
    kept = rows if verbose else rows[:_MOST_ROWS]
    if kept:
        write_line()
        write_table(("pod", "node", "devices"), kept)
    if len(rows) > len(kept):
        write_line(f"and {plural(len(rows) - len(kept), 'more pod')} (--verbose)")
    for group in done.groups:
        _write_group(group)
    if done.free:
        write_line()
        free = [
            (item.product or "-", item.driver, str(item.total), str(item.before), str(item.after))
            for item in done.free
        ]
        write_table(("product", "driver", "devices", "free before", "free after"), free)


def _write_group(group: Group) -> None:
    if group.pending is None:
        return
    write_line()
    if group.wanted is None:
        write_line(f"{group.name}: {plural(len(group.placements), 'pod')} fit. The next one:")
    else:
        missing = group.wanted - len(group.placements)
        write_line(f"{group.name}: {plural(missing, 'pod')} of {group.wanted} pending.")
    write_line(f"  {group.pending.sentence}")
    if group.pending.closest:
        write_line(f"  {group.pending.closest}")
    for hint in group.pending.hints[:3]:
        write_line(f"  {hint}")


def _devices(claims: tuple[ResourceClaim, ...]) -> str:
    return "; ".join(
        devices_text(claim.status.allocation)
        for claim in claims
        if claim.status.allocation is not None
    )


def _claims(done: Simulation) -> dict[str, ResourceClaim]:
    """Return the last state of each claim by its name, in the order of placing."""
    return {
        f"{claim.metadata.namespace}/{claim.metadata.name}": claim
        for group in done.groups
        for item in group.placements
        for claim in item.claims
    }


def _object(claim: ResourceClaim) -> dict[str, object]:
    import msgspec

    body = msgspec.json.decode(msgspec.json.encode(claim), type=dict[str, object])
    kind = body.pop("kind")
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, **body}


def _as_json(done: Simulation) -> dict[str, object]:
    return {
        "placed": done.placed,
        "complete": done.complete,
        "groups": [
            {
                "name": group.name,
                "wanted": group.wanted,
                "placed": len(group.placements),
                "pods": [{"pod": item.pod, "node": item.node} for item in group.placements],
                "pending": None
                if group.pending is None
                else {
                    "text": group.pending.sentence,
                    "closest": group.pending.closest,
                    "hints": list(group.pending.hints),
                    "schedulerLine": group.pending.scheduler_line,
                },
            }
            for group in done.groups
        ],
        "free": [item._asdict() for item in done.free],
        "claims": [_object(claim) for claim in _claims(done).values()],
    }


def _json(body: dict[str, object]) -> str:
    import json

    return json.dumps(body, indent=2) + "\n"


def _write_yaml(done: Simulation) -> None:
    from claimfit.manifests.emitter import yaml_text

    for claim in _claims(done).values():
        body = _object(claim)
        # YAML readers disagree on the notation of floats, which only parameters of drivers hold;
        # JSON, which is YAML too, writes them as they were.
        text = _json(body) if _has_float(body) else yaml_text(body)  # type: ignore[arg-type]  # JSON
        sys.stdout.write(f"---\n{text}")


def _has_float(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_float, value.values()))
    if isinstance(value, list):
        return any(map(_has_float, value))
    return isinstance(value, float)
