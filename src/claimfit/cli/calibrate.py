"""``claimfit calibrate``: learns the speed of the user's own devices from what they measured.

The measurements go into one file that the user owns, ``$XDG_CONFIG_HOME/claimfit/calibration.json``
unless ``--calibration`` names another; ``claim`` and ``fit`` read it. Nothing else is kept.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from claimfit.cli.arguments import Parser, add_output, count
from claimfit.cli.model_sources import add_models_option, model_sources
from claimfit.cli.own_files import read_bytes, user_calibration
from claimfit.errors import EnvironmentFailure, InputError, UsageError
from claimfit.sizing.calibration import (
    Calibration,
    Observation,
    correction,
    dump_calibration,
)
from claimfit.sizing.measured import Given, Measured, Refused
from claimfit.sizing.measurements import read_measurements
from claimfit.storage.user_folders import configuration_folder

if TYPE_CHECKING:
    import argparse

    from claimfit.model.lookup import Sources

__all__ = ["calibration_path", "run"]

_SCHEMA: Final = "claimfit.dev/calibrate/v1"
_SHOWN: Final = "$XDG_CONFIG_HOME/claimfit/calibration.json"
_LARGEST_INPUT: Final = 16 << 20
_REASONS_SHOWN: Final = 8
_ENGINES: Final = ("vllm", "sglang", "llama.cpp")
_EXAMPLES: Final = """\
examples
  llama-bench -m model.gguf -o json > bench.json && claimfit calibrate bench.json
  claimfit calibrate serve.json --device nvidia-l40s --tp 2
  claimfit calibrate --list

exit codes: 0 something was learned, 1 nothing was usable, 2 wrong use or unreadable input
"""


def calibration_path(given: str = "") -> Path:
    """Return where the calibration is kept: `given`, else in the user's configuration folder."""
    if given:
        return Path(given)
    return Path(configuration_folder(os.environ)) / "calibration.json"


def run(arguments: list[str]) -> int:
    """Run ``claimfit calibrate`` and return its exit code."""
    options = _parser().read(arguments)
    _refuse_two_answers(options)
    path = calibration_path(options.calibration)
    stored = user_calibration(options.calibration, os.environ) if path.exists() else None
    known = stored or Calibration()
    if options.list:
        return _list(known, path, options.output)
    if options.remove:
        return _remove(known, options.remove, path, options.output, dry_run=options.dry_run)
    if not options.files:
        raise UsageError(
            "CAL010",
            "no file to learn from",
            expected="output of llama-bench, vllm bench or llmfit bench; - for standard input",
            fix="see claimfit calibrate --help",
        )
    rows: list[Measured | Refused] = []
    given = _given(options)
    for name in options.files:
        rows += read_measurements(_text(name), name, given)
    taken, refused = _observed(rows, model_sources(options.models, os.environ), options.model)
    merged = known.merged(taken)
    if taken and not options.dry_run:
        _write(path, dump_calibration(merged))
    if options.output == "json":
        _print_json(taken, refused, merged, path, written=bool(taken) and not options.dry_run)
    else:
        _print_text(taken, refused, merged, path, dry_run=options.dry_run)
    return 0 if taken else 1


def _refuse_two_answers(options: argparse.Namespace) -> None:
    """Raise `UsageError` CLI001 unless one thing is asked for: to learn, to list or to forget."""
    asked = [
        name
        for name, given in (
            ("FILE", options.files),
            ("--list", options.list),
            ("--remove", options.remove),
        )
        if given
    ]
    if len(asked) > 1:
        raise UsageError("CLI001", f"{' and '.join(asked)} exclude each other", fix="give one")


def _parser() -> Parser:
    parser = Parser(
        prog="claimfit calibrate",
        description="Learn the speed of your own devices from benchmarks that you ran.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="benchmark output, or -")
    parser.add_argument("--device", default="", metavar="NAME", help="accelerator of all rows")
    parser.add_argument("--engine", default="", choices=_ENGINES, help="engine of all rows")
    parser.add_argument("--model", default="", metavar="NAME", help="model of all rows")
    parser.add_argument("--quant", default="", metavar="NAME", help="quantization of all rows")
    for flag, text in (
        ("--tp", "tensor-parallel size of all rows"),
        ("--concurrency", "streams that ran at once"),
        ("--input-tokens", "prompt length, for vllm bench latency"),
        ("--output-tokens", "answer length, for vllm bench latency"),
    ):
        parser.add_argument(flag, type=count(flag), default=0, metavar="N", help=text)
    parser.add_argument(
        "--calibration", default="", metavar="FILE", help=f"file to keep (default: {_SHOWN})"
    )
    parser.add_argument("--dry-run", action="store_true", help="show, write nothing")
    parser.add_argument("--list", action="store_true", help="show what was learned so far")
    parser.add_argument("--remove", default="", metavar="DEVICE", help="forget one device")
    add_models_option(parser)
    add_output(parser, "text", "json")
    return parser


def _given(options: argparse.Namespace) -> Given:
    from claimfit.hardware.accelerators import accelerator
    from claimfit.model.quantization import quantization

    # A wrong name for all rows is one error, not one refusal per row.
    device = accelerator(options.device).id if options.device else ""
    quant = quantization(options.quant).name if options.quant else ""
    return Given(
        model=options.model,
        quantization=quant,
        device=device,
        engine=options.engine,
        tensor=options.tp,
        concurrency=options.concurrency,
        input_tokens=options.input_tokens,
        output_tokens=options.output_tokens,
    )


def _observed(
    rows: list[Measured | Refused], sources: Sources, given_model: str
) -> tuple[list[Observation], list[Refused]]:
    from claimfit.sizing.matching import observe

    taken: list[Observation] = []
    refused: list[Refused] = []
    for row in rows:
        found = observe(row, sources, given_model) if isinstance(row, Measured) else row
        if isinstance(found, Refused):
            refused.append(found)
        else:
            taken.append(found)
    return taken, refused


# -- files ------------------------------------------------------------------------------------


def _text(name: str) -> str:
    data = sys.stdin.buffer.read(_LARGEST_INPUT + 1) if name == "-" else read_bytes(name)
    if len(data) > _LARGEST_INPUT:
        raise InputError(
            "CAL005", "too large for benchmark output", place=name, expected="at most 16 MiB"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("CAL005", "not UTF-8 text", place=name, found=str(error)) from None


def _write(path: Path, text: str) -> None:
    """Replace the file in one step: a reader sees the old or the new one, never half."""
    import tempfile

    part = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=".calibration-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(part).replace(path)
    except OSError as error:
        if part:
            Path(part).unlink(missing_ok=True)
        raise EnvironmentFailure(
            "CAL006", "the calibration cannot be written", place=str(path), found=error.strerror
        ) from None


# -- what is printed --------------------------------------------------------------------------


def _list(known: Calibration, path: Path, output: str) -> int:
    if output == "json":
        document = {
            "schemaVersion": _SCHEMA,
            "file": str(path),
            "devices": _summaries(known),
            "unlistedDevices": _unlisted(known),
        }
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
        return 0
    if not known.observations:
        sys.stdout.write(f"Nothing was learned yet: {path} holds no measurement.\n")
        return 0
    sys.stdout.write(f"{_rows(len(known.observations))} in {path}\n\n")
    _print_table(known)
    absent = _unlisted(known)
    if absent:
        sys.stdout.write(f"\nnot in the accelerator table, so not used: {', '.join(absent)}\n")
    return 0


def _remove(known: Calibration, name: str, path: Path, output: str, *, dry_run: bool) -> int:
    from claimfit.hardware.accelerators import accelerator

    device = name if name in known.devices else accelerator(name).id
    if device not in known.devices:
        raise UsageError(
            "CAL011",
            "nothing was learned about this device",
            place="--remove",
            found=name,
            candidates=known.devices,
        )
    kept = known.without(device)
    gone = len(known.observations) - len(kept.observations)
    if not dry_run:
        _write(path, dump_calibration(kept))
    remain = len(kept.observations)
    if output == "json":
        document = {
            "schemaVersion": _SCHEMA,
            "file": str(path),
            "device": device,
            "removed": gone,
            "remain": remain,
            "written": not dry_run,
        }
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
        return 0
    verb = "Would forget" if dry_run else "Forgot"
    left = f"{remain} {'remains' if remain == 1 else 'remain'}"
    sys.stdout.write(f"{verb} {_rows(gone)} of {device}; {left}.\n")
    return 0


def _print_text(
    taken: list[Observation],
    refused: list[Refused],
    merged: Calibration,
    path: Path,
    *,
    dry_run: bool,
) -> None:
    if taken:
        verb = "Would learn" if dry_run else "Learned"
        sys.stdout.write(f"{verb} from {_rows(len(taken))}; {len(refused)} refused.\n\n")
        touched = {item.device for item in taken}
        _print_table(
            Calibration(tuple(item for item in merged.observations if item.device in touched))
        )
        are = "is in" if len(merged.observations) == 1 else "are in"
        where = "would go to" if dry_run else are
        sys.stdout.write(f"\n{_rows(len(merged.observations))} {where} {path}\n")
    else:
        every = "the only" if len(refused) == 1 else "all"
        sys.stdout.write(f"Nothing usable: {every} {_rows(len(refused))} refused.\n")
    if refused:
        sys.stdout.write("\nrefused\n")
        for reason, places in _by_reason(refused):
            sys.stdout.write(f"  {len(places):>4}  {reason}  ({places[0]})\n")


def _by_reason(refused: list[Refused]) -> list[tuple[str, list[str]]]:
    """Return reasons with their places, most frequent first; beyond a screenful they are summed."""
    groups: dict[str, list[str]] = {}
    for item in refused:
        groups.setdefault(item.reason, []).append(item.place)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    shown, rest = ordered[:_REASONS_SHOWN], ordered[_REASONS_SHOWN:]
    if rest:
        places = [place for _, found in rest for place in found]
        shown.append((f"{len(rest)} other reasons (-o json has all)", places))
    return shown


def _print_table(known: Calibration) -> None:
    from claimfit.cli.table import write_table

    rows = [
        (
            str(item["device"]),
            str(item["engine"]),
            str(item["rows"]),
            str(item["outliers"]),
            f"{item['fixedTimeFactor']:.2f}",
            f"{item['transferTimeFactor']:.2f}",
            f"{item['spreadPercent']:.0f} %",
        )
        for item in _summaries(known)
    ]
    write_table(
        ("device", "engine", "rows", "outliers", "fixed time x", "transfer time x", "spread"), rows
    )


def _unlisted(known: Calibration) -> list[str]:
    """Return the measured devices that the accelerator table lacks, such as a newer table's."""
    from claimfit.hardware.accelerators import accelerators

    listed = {item.id for item in accelerators()}
    return [name for name in known.devices if name not in listed]


def _summaries(known: Calibration) -> list[dict[str, str | int | float]]:
    from claimfit.hardware.accelerators import accelerator
    from claimfit.sizing.coefficients import coefficients
    from claimfit.sizing.plan import EngineChoice

    summaries: list[dict[str, str | int | float]] = []
    absent = _unlisted(known)
    for name, engine in sorted({(item.device, item.engine) for item in known.observations}):
        if name in absent:
            continue
        device = accelerator(name)
        found = correction(
            coefficients(device, EngineChoice(engine)), device, known.of(name, engine)
        )
        summaries.append(
            {
                "device": name,
                "engine": engine,
                "rows": found.rows,
                "outliers": len(found.outliers),
                "fixedTimeFactor": round(found.fixed, 4),
                "transferTimeFactor": round(found.transfer, 4),
                "spreadPercent": round(100 * found.spread, 1),
            }
        )
    return summaries


def _print_json(
    taken: list[Observation],
    refused: list[Refused],
    merged: Calibration,
    path: Path,
    *,
    written: bool,
) -> None:
    document = {
        "schemaVersion": _SCHEMA,
        "file": str(path),
        "written": written,
        "taken": [
            {
                "place": item.source,
                "device": item.device,
                "engine": item.engine,
                "model": item.model,
                "quantization": item.quantization,
                "contextTokens": item.context_tokens,
                "concurrency": item.concurrency,
                "tensorParallel": item.tensor,
                "tokensPerSecond": item.tokens_per_second,
            }
            for item in taken
        ],
        "refused": [{"place": item.place, "reason": item.reason} for item in refused],
        "devices": _summaries(merged),
    }
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def _rows(number: int) -> str:
    return f"{number} measurement" + ("" if number == 1 else "s")
