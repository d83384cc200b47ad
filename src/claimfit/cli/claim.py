"""``claimfit claim``: sizes a model and writes the claim that fits it.

On the cold path: whatever a plain ``claimfit claim NAME`` does not need is imported where it is
used, and nothing here may pull in asyncio, dataclasses, msgspec, PyYAML or an HTTP client.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from claimfit.cli.arguments import Parser, add_output, count, positive_number
from claimfit.cli.claim_target import DEFAULT_TARGET, chosen_target
from claimfit.cli.model_sources import add_models_option, model_sources
from claimfit.cli.own_files import own_drivers, user_calibration
from claimfit.cli.serving import add_serving, engine_of, workload_of
from claimfit.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from claimfit.claim.need import ClaimNeed
    from claimfit.claim.planner import ClaimPlan
    from claimfit.hardware.drivers import Target
    from claimfit.model.facts import ModelFacts

__all__ = ["run"]

_LLMFIT_ONLY: Final = ("--json", "--efficiency")
_SAME: Final = ("pcieRoot", "numaNode", "product")

_EPILOG = """examples
  claimfit claim Qwen/Qwen3-8B
  claimfit claim Qwen/Qwen3-30B-A3B --context 32768 --min-tps 40 --target gpu.nvidia.com
  claimfit claim meta-llama/Llama-3.3-70B-Instruct --target gpu.nvidia.com --alternatives
  claimfit claim ./model.gguf --cluster sample:mixed -o json

--dialect llmfit takes the flags of `llmfit claim`; see claimfit claim --dialect llmfit --help.
"""


def run(argv: list[str]) -> int:
    """Write one claim to stdout, warnings to stderr; return 0."""
    if _is_llmfit(argv):
        from claimfit.cli import claim_llmfit

        return claim_llmfit.run(argv)
    _refuse_llmfit_flags(argv)
    arguments = _parser().read(argv)
    if arguments.from_fit:
        from claimfit.cli import claim_from_fit

        return claim_from_fit.run(arguments)
    if arguments.dialect != "strict":
        raise UsageError(
            "CLM009",
            f"dialect {arguments.dialect} writes the memory fields of a ModelFit",
            place="--dialect",
            fix=f"claimfit claim --dialect {arguments.dialect} --from-fit FILE",
        )
    if not arguments.model:
        raise UsageError(
            "CLI001", "which model?", expected="MODEL", fix="claimfit models lists the known ones"
        )
    plan = _plan(arguments)
    from claimfit.claim.remarks import plan_warnings
    from claimfit.claim.report import claim_json, claim_yaml

    sys.stdout.write(claim_json(plan) if arguments.output == "json" else claim_yaml(plan))
    for warning in plan_warnings(plan):
        sys.stderr.write(f"warning: {warning}\n")
    return 0


def _is_llmfit(argv: Sequence[str]) -> bool:
    return any(
        item == "--dialect=llmfit" or (item == "--dialect" and argv[at + 1 : at + 2] == ["llmfit"])
        for at, item in enumerate(argv)
    )


def _refuse_llmfit_flags(argv: Sequence[str]) -> None:
    """Raise `UsageError` CLM006 for flags of `llmfit claim` that have no meaning here."""
    for item in argv:
        flag = item.partition("=")[0]
        if flag in _LLMFIT_ONLY:
            raise UsageError(
                "CLM006",
                f"{flag} is a flag of dialect llmfit",
                place=flag,
                fix="write -o json"
                if flag == "--json"
                else "leave it out: speed is calibrated per device; or --dialect llmfit",
            )


def _parser() -> Parser:
    parser = Parser(
        prog="claimfit claim",
        description="Sizes a model and writes the ResourceClaim that fits it.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "model",
        nargs="?",
        default="",
        metavar="MODEL",
        help="a name (claimfit models), a GGUF file, a folder with config.json, or hf://org/name",
    )
    add_serving(parser)
    add_models_option(parser)
    parser.add_argument(
        "--min-tps",
        type=positive_number("--min-tps"),
        metavar="N",
        help="tokens per second of each stream, reached nine times out of ten (default: 20)",
    )
    parser.add_argument("--calibration", default="", metavar="FILE", help="see claimfit calibrate")
    _add_target(parser)
    _add_object(parser)
    add_output(parser, "yaml", "json")
    return parser


def _add_target(parser: Parser) -> None:
    where = parser.add_argument_group("where to serve it")
    where.add_argument(
        "--target",
        default="",
        metavar="DRIVER",
        help=f"a DRA driver or one of its device classes (default: {DEFAULT_TARGET})",
    )
    where.add_argument(
        "--cluster",
        default="",
        metavar="SOURCE",
        help="FILE, FOLDER, - or sample:NAME: chooses driver and class from what is published "
        "there, and refuses what no node there satisfies",
    )
    where.add_argument(
        "--device-class", default=None, metavar="NAME", help="default: the driver's own"
    )
    where.add_argument(
        "--driver-file",
        action="append",
        default=[],
        metavar="FILE",
        help="description of a driver of your own (docs/drivers.md)",
    )
    where.add_argument(
        "--count",
        default="",
        metavar="N|auto",
        help="devices of one replica (default: auto, the fewest that do)",
    )
    where.add_argument(
        "--alternatives",
        action="store_true",
        help="offer several numbers of devices (firstAvailable), each sized for itself",
    )
    where.add_argument(
        "--same",
        action="append",
        default=[],
        choices=_SAME,
        help="what all devices must have in common; several devices are always of one product",
    )
    where.add_argument(
        "--share",
        action="store_true",
        help="ask for a part of a device that allows multiple allocations",
    )
    where.add_argument(
        "--unlisted",
        choices=("exclude", "admit"),
        default="exclude",
        help="products that the accelerator table does not know (default: exclude)",
    )


def _add_object(parser: Parser) -> None:
    what = parser.add_argument_group("what to write")
    what.add_argument(
        "--template", action="store_true", help="a ResourceClaimTemplate: a claim for each pod"
    )
    what.add_argument("--name", default=None, help="default: made from the model's")
    what.add_argument(
        "--name-hash", action="store_true", help="append a hash of the spec, which is immutable"
    )
    what.add_argument("--namespace", default=None)
    what.add_argument(
        "--dialect",
        choices=("strict", "llmfit", "fit-v1alpha2"),
        default="strict",
        help="default: strict",
    )
    what.add_argument(
        "--from-fit",
        default="",
        metavar="FILE",
        help="instead of MODEL: the memory fields of a ModelFit, JSON or YAML",
    )


def _plan(arguments: argparse.Namespace) -> ClaimPlan:
    from claimfit.model.lookup import find_model

    files = own_drivers(arguments.driver_file)
    target = chosen_target(arguments, tuple(item.driver for item in files))
    sources = model_sources(arguments.models, os.environ, arguments.quant)
    model = find_model(arguments.model, sources)
    need = _need(arguments, model, target)._replace(
        own_accelerators=tuple(device for item in files for device in item.accelerators)
    )
    if not arguments.cluster:
        from claimfit.claim.planner import plan_claim

        return plan_claim(need)
    from claimfit.claim.cluster_choice import plan_on_cluster, targets_of
    from claimfit.cli.claim_cluster import read_inventory

    inventory = read_inventory(arguments.cluster)
    if arguments.target or arguments.device_class:
        return plan_on_cluster(need, inventory, [target])
    return plan_on_cluster(
        need, inventory, targets_of(inventory, tuple(item.driver for item in files))
    )


def _need(arguments: argparse.Namespace, model: ModelFacts, target: Target) -> ClaimNeed:
    from claimfit.claim.need import DEFAULT_MIN_TPS, ClaimNeed

    speaks = model.task == "generate"
    return ClaimNeed(
        model,
        engine_of(arguments, model),
        workload_of(arguments, model),
        target.driver,
        target.device_class,
        min_tps=arguments.min_tps or (DEFAULT_MIN_TPS if speaks else 0.0),
        tensor=arguments.tp or 0,
        pipeline=arguments.pp or 0,
        devices=_devices(arguments.count),
        alternatives=arguments.alternatives,
        same=tuple(dict.fromkeys(arguments.same)),
        share=arguments.share,
        admit_unlisted=arguments.unlisted == "admit",
        calibration=user_calibration(arguments.calibration, os.environ),
        template=arguments.template,
        name=_label(arguments.name, "--name"),
        hash_name=arguments.name_hash,
        namespace=_label(arguments.namespace, "--namespace"),
        assumed=tuple(_assumed(arguments, speaks=speaks)),
    )


def _devices(text: str) -> int:
    return 0 if text in {"", "auto"} else count("--count", word="auto")(text)


def _label(text: str | None, flag: str) -> str:
    from claimfit.claim.names import check_label

    return "" if text is None else check_label(text, flag)


def _assumed(arguments: argparse.Namespace, *, speaks: bool) -> Iterator[str]:
    """Yield the flags that were not given and on whose defaults the claim stands."""
    if arguments.context is None:
        yield "--context"
    if arguments.concurrency is None:
        yield "--concurrency"
    if not arguments.engine:
        yield "--engine"
    if arguments.min_tps is None and speaks:
        yield "--min-tps"
    if not arguments.target and not arguments.device_class and not arguments.cluster:
        yield "--target"
