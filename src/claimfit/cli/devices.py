"""``claimfit devices``: what a cluster publishes, one row per device, filtered by an expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.cli.arguments import Parser, add_output
from claimfit.cli.cluster_arguments import add_cluster, profile_of, read_sources, write_json
from claimfit.cli.lines import write_line, write_notes
from claimfit.cli.table import write_table
from claimfit.diagnose.sentences import plural
from claimfit.errors import UsageError
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from claimfit.dra.cel.program import Program
    from claimfit.dra.inventory import PublishedRow
    from claimfit.dra.profile import Profile
    from claimfit.dra.reading import Objects

__all__ = ["DEVICES_SCHEMA", "run"]

DEVICES_SCHEMA: Final = "claimfit.dev/devices/v1"

_MOST_ERRORS: Final = 5

_EPILOG = """examples
  claimfit devices --cluster sample:mixed
  claimfit devices --cluster sample:mixed --free \\
    --where "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('80Gi')) >= 0"
"""


class _Row(NamedTuple):
    published: PublishedRow
    product: str
    memory: str
    state: str


def run(argv: list[str]) -> int:
    """List devices; 0 when there is one, 1 when none matches."""
    arguments = _parser().read(argv)
    if not arguments.cluster:
        raise UsageError("CLI001", "--cluster is missing", expected="where the devices are")
    objects, _ = read_sources(arguments.cluster, [])
    profile, note = profile_of(arguments, objects)
    rows, failed = _rows(objects, profile, arguments.where)
    if arguments.free:
        rows = [row for row in rows if row.published.free]
    if arguments.output == "json":
        write_json(DEVICES_SCHEMA, _as_json(rows, failed))
    else:
        notes = [*objects.notes, *([note] if arguments.where else [])]
        write_notes(filter(None, notes))
        _write(rows, failed, arguments.where)
    return 0 if rows else 1


def _parser() -> Parser:
    parser = Parser(
        prog="claimfit devices",
        description="The devices that drivers publish in a cluster: where, which product, how much "
        "memory, free or held by whom.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--where", metavar="CEL", default="", help="only devices for which the expression is true"
    )
    parser.add_argument("--free", action="store_true", help="only what a plain claim could get")
    add_cluster(parser, "resourceslices, resourceclaims and nodes")
    add_output(parser, "text", "json")
    return parser


def _rows(
    objects: Objects, profile: Profile, where: str
) -> tuple[list[_Row], list[tuple[str, str]]]:
    """Return the rows that match, and the devices on which the expression fails with its error."""
    from claimfit.diagnose.simulation import product_name
    from claimfit.dra.inventory import inventory

    program = _program(where, profile) if where else None
    found: list[_Row] = []
    failed: list[tuple[str, str]] = []
    for row in inventory(objects.slices, objects.claims, objects.nodes):
        if program is not None:
            result = program.evaluate(row.device, row.id.driver)
            if result.error:
                failed.append((f"{row.node}/{row.id.device}", result.error))
            if not result.matches:
                continue
        memory = row.device.capacity.get("memory")
        shown = str(memory.value) if memory is not None else "-"
        found.append(_Row(row, product_name(row.device) or "-", shown, _state(row)))
    return found, failed


def _program(where: str, profile: Profile) -> Program:
    """Compile `where`; raises `InputError` CEL001 to CEL003."""
    from claimfit.dra.cel.program import Program, compile_selector

    compiled = compile_selector(where, profile)
    if isinstance(compiled, Program):
        return compiled
    raise compiled.as_error("--where")


def _state(row: PublishedRow) -> str:
    if row.pool_problem is not None:
        return f"pool {row.pool_problem.kind}: {row.pool_problem.text}"
    if row.held_by:
        return f"claim {row.held_by}"
    if row.taints:
        taint = row.taints[0]
        shown = f"{taint.key}={taint.value}" if taint.value else taint.key
        return f"taint {shown}:{taint.effect}"
    return "free"


def _write(rows: list[_Row], failed: list[tuple[str, str]], where: str) -> None:
    if rows:
        cells = [
            (
                row.published.node,
                row.published.id.driver,
                row.published.id.pool,
                row.published.id.device,
                row.product,
                row.memory,
                row.state,
            )
            for row in rows
        ]
        write_table(("node", "driver", "pool", "device", "product", "memory", "state"), cells)
        write_line()
    free = sum(row.published.free for row in rows)
    matching = " that match" if where else ""
    write_line(f"{plural(len(rows), 'device')}{matching}, {free} free")
    for name, error in failed[:_MOST_ERRORS]:
        write_line(f"the expression fails on {name}: {error}")
    if len(failed) > _MOST_ERRORS:
        write_line(f"and on {plural(len(failed) - _MOST_ERRORS, 'more device')}")


def _as_json(rows: list[_Row], failed: list[tuple[str, str]]) -> dict[str, object]:
    return {
        "devices": [
            {
                "node": row.published.node,
                "driver": row.published.id.driver,
                "pool": row.published.id.pool,
                "device": row.published.id.device,
                "product": row.product if row.product != "-" else None,
                "memory": row.memory if row.memory != "-" else None,
                "free": row.published.free,
                "heldBy": row.published.held_by or None,
                "taints": [
                    {"key": item.key, "value": item.value, "effect": item.effect}
                    for item in row.published.taints
                ],
                "poolProblem": None
                if row.published.pool_problem is None
                else row.published.pool_problem.text,
            }
            for row in rows
        ],
        "errors": [{"device": name, "error": error} for name, error in failed],
    }
