"""``claimfit fit``: where a model fits, or which models fit a place.

Four questions, by what is given: a model on a cluster, a model on the accelerator table, all models
on a cluster, all models on one accelerator.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from claimfit.cli.arguments import Parser, add_output, count, positive_number
from claimfit.cli.model_sources import add_models_option, model_sources
from claimfit.cli.serving import add_serving, engine_of, workload_of
from claimfit.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from claimfit.fit.verdict import FitQuestion
    from claimfit.model.facts import ModelFacts
    from claimfit.model.lookup import Sources

__all__ = ["run"]

_DEFAULT_DEVICES_PER_NODE: Final = 8
_DEFAULT_MIN_TPS: Final = 20.0
"""Speed that a model must reach to be listed when no model is given: about reading speed."""
_DEFAULT_LIMIT: Final = 20

_EPILOG = """examples
  claimfit fit Qwen/Qwen3-8B --cluster sample:mixed
  kubectl get resourceslices,nodes,deviceclasses,resourceclaims -A -o json |
    claimfit fit Qwen/Qwen3-8B --cluster -
  claimfit fit --device "L40S" --min-tps 30
"""


def run(argv: list[str]) -> int:
    """Answer one fit question; 0 when something fits now, 1 when nothing does."""
    arguments = _parser().read(argv)
    if not arguments.model and not arguments.cluster and not arguments.device:
        raise UsageError(
            "CLI006",
            "nothing to compare",
            expected="a MODEL, --cluster or --device",
            fix="claimfit fit MODEL --cluster sample:mixed",
        )
    _refuse_idle_flags(arguments)
    from claimfit.cli.fit_place import FitContext
    from claimfit.cli.hardware import hardware_of

    sources = model_sources(arguments.models, os.environ, arguments.quant)
    context = FitContext(
        hardware=hardware_of(arguments.driver_file),
        cluster=arguments.cluster,
        device=arguments.device,
        devices_per_node=arguments.devices_per_node or _DEFAULT_DEVICES_PER_NODE,
        as_json=arguments.output == "json",
        verbose=arguments.verbose,
    )
    if arguments.model:
        from claimfit.cli import fit_model
        from claimfit.model.lookup import find_model

        model = find_model(arguments.model, sources)
        question = _question(arguments, model, _speed_floor(arguments, model.task, 0.0))
        return fit_model.report(question, context, _assumptions(arguments, question))
    from claimfit.cli import fit_models

    task = arguments.task or "generate"
    floor = _speed_floor(arguments, task, _DEFAULT_MIN_TPS)
    models = _candidates(arguments.query, task, sources)
    questions = [_question(arguments, model, floor) for model in models]
    return fit_models.report(
        questions, context, limit=arguments.limit or _DEFAULT_LIMIT, min_tps=floor
    )


def _refuse_idle_flags(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` CLI001 for two flags of which one would have no effect."""
    model, cluster, device = bool(arguments.model), bool(arguments.cluster), bool(arguments.device)
    for one, other, both in (
        ("--cluster", "--device", cluster and device),
        ("--cluster", "--devices-per-node", cluster and arguments.devices_per_node is not None),
        ("MODEL", "--query", model and bool(arguments.query)),
        ("MODEL", "--task", model and bool(arguments.task)),
        ("MODEL", "--limit", model and arguments.limit is not None),
    ):
        if both:
            raise UsageError("CLI001", f"{one} and {other} exclude each other", fix="give one")


def _speed_floor(arguments: argparse.Namespace, task: str, default: float) -> float:
    """Return the p10 that is asked for, 0 for none; raises CLI008 where nothing is decoded."""
    floor: float | None = arguments.min_tps
    if task == "generate":
        return default if floor is None else floor
    if floor is not None:
        raise UsageError(
            "CLI008",
            "models that embed or rerank generate no tokens",
            place="--min-tps",
            found=floor,
            fix="leave it out",
        )
    return 0.0


def _parser() -> Parser:
    parser = Parser(
        prog="claimfit fit",
        description="Where a model fits and why not elsewhere; without MODEL, which models fit.",
        epilog=_EPILOG,
    )
    parser.add_argument("model", nargs="?", default="", metavar="MODEL")
    place = parser.add_argument_group("where")
    place.add_argument(
        "--cluster",
        metavar="SOURCE",
        default="",
        help="FILE, FOLDER, - or sample:NAME: what kubectl get -o json prints of resourceslices, "
        "nodes, deviceclasses and resourceclaims",
    )
    place.add_argument(
        "--device", metavar="NAME", default="", help="one accelerator of the table, by any name"
    )
    place.add_argument(
        "--devices-per-node",
        type=count("--devices-per-node", most=1024),
        metavar="N",
        help=f"without --cluster: like devices in a node (default: {_DEFAULT_DEVICES_PER_NODE})",
    )
    place.add_argument(
        "--driver-file",
        action="append",
        default=[],
        metavar="FILE",
        help="description of a driver of your own (docs/drivers.md)",
    )
    add_serving(parser)
    parser.add_argument(
        "--min-tps",
        type=positive_number("--min-tps"),
        metavar="N",
        help="tokens per second that each stream must reach (p10); default: none with a MODEL, "
        f"{_DEFAULT_MIN_TPS:g} without",
    )
    add_models_option(parser)
    parser.add_argument("--calibration", default="", metavar="FILE", help="see claimfit calibrate")
    choose = parser.add_argument_group("without MODEL")
    choose.add_argument("--query", default="", metavar="WORDS", help="part of the model's name")
    choose.add_argument("--task", choices=("generate", "embed", "rerank"), help="default: generate")
    choose.add_argument(
        "--limit", type=count("--limit"), metavar="N", help=f"default: {_DEFAULT_LIMIT}"
    )
    parser.add_argument("--verbose", action="store_true", help="every device, also what is far off")
    add_output(parser, "text", "json")
    return parser


def _question(arguments: argparse.Namespace, model: ModelFacts, min_tps: float) -> FitQuestion:
    from claimfit.cli.own_files import user_calibration
    from claimfit.fit.verdict import FitQuestion

    return FitQuestion(
        model,
        engine_of(arguments, model),
        workload_of(arguments, model),
        min_tps,
        arguments.tp or 0,
        arguments.pp or 1,
        user_calibration(arguments.calibration, os.environ),
    )


def _assumptions(arguments: argparse.Namespace, question: FitQuestion) -> tuple[str, ...]:
    """Return what the user did not give, each with the flag that changes it."""
    workload, engine = question.workload, question.engine
    assumed = []
    if arguments.context is None:
        assumed.append(f"context {workload.context_tokens:,} (assumed: --context)")
    if arguments.concurrency is None:
        assumed.append("1 request at a time (assumed: --concurrency)")
    if not arguments.engine:
        assumed.append(f"engine {engine.name} (assumed: --engine)")
    if not arguments.cluster and not arguments.device and arguments.devices_per_node is None:
        assumed.append(
            f"{_DEFAULT_DEVICES_PER_NODE} like devices in a node (assumed: --devices-per-node)"
        )
    return tuple(assumed)


def _candidates(query: str, task: str, sources: Sources) -> list[ModelFacts]:
    from claimfit.model.entry import facts_of
    from claimfit.model.lookup import known_entries

    words = query.casefold().split()
    models = [
        facts_of(entry)
        for entry in known_entries(sources)
        if all(word in entry.name.casefold() for word in words)
    ]
    return [model for model in models if model.task == task]
