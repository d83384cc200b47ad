"""Judges decode speed on devices and architectures that the fit did not see; writes the page.

    python bench/accuracy_speed.py [--rows FILE ...] [--output docs/accuracy-speed.md | -]

Every number comes from rows that were left out of the fit that predicts them: by architecture on
calibrated devices, by device elsewhere; the intervals too come from the errors of other devices.
`--rows` takes more rows in the form of bench/data/published_decode_speed.json. They are judged
first as strangers, by the coefficients that are shipped, then join the cross-validation.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import speed_fit  # noqa: E402  # found through the line above
import speed_rows  # noqa: E402  # found through the line above
import speed_study  # noqa: E402

from claimfit.sizing.coefficients import family  # noqa: E402
from claimfit.sizing.speed import rate  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

ENGINES = ("llama.cpp", "vllm", "sglang")
PAGE = ROOT / "docs" / "accuracy-speed.md"
TARGET_MARGIN = 1.25
FAR_ABOVE = 1.25


class Figures(NamedTuple):
    """What A1, A2 and A7 ask of a set of predictions."""

    rows: int
    mdape: float
    mdape_mixture: float | None
    above: float
    """Share of rows whose p10 was promised above what was measured."""
    far_above: float
    rejected: float
    """Share of rows rejected although they measured 1.25 times the target."""
    inside: float
    """Share of rows between p10 and p90."""


def figures(judged: Sequence[speed_study.Judged]) -> Figures:
    """Return the figures of predictions of left-out rows."""
    error = np.array([item.log_error for item in judged])
    low = error + np.log([item.low for item in judged])
    high = error + np.log([item.high for item in judged])
    mixture = np.array([item.row.model.is_mixture for item in judged])
    return Figures(
        rows=len(judged),
        mdape=mdape(error),
        mdape_mixture=mdape(error[mixture]) if mixture.any() else None,
        above=float(np.mean(low > 0)),
        far_above=float(np.mean(low > np.log(FAR_ABOVE))),
        rejected=float(np.mean(low < -np.log(TARGET_MARGIN))),
        inside=float(np.mean((low <= 0) & (high >= 0))),
    )


def mdape(log_errors: np.ndarray) -> float:
    """Return the median absolute percentage error of predictions."""
    return float(100 * np.median(np.abs(np.expm1(log_errors))))


def strangers(rows: Sequence[speed_rows.Row]) -> list[speed_study.Judged]:
    """Return rows judged by the coefficients as shipped."""
    result = []
    for row in rows:
        found = rate(row.model, row.device, row.engine, row.workload, row.parallelism)
        result.append(
            speed_study.Judged(
                row,
                float(np.log(found.p50 / row.tokens_per_second)),
                found.p10 / found.p50,
                found.p90 / found.p50,
            )
        )
    return result


# -- the page ---------------------------------------------------------------------------------


def main() -> None:
    """Judge and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", action="append", default=[], type=Path, metavar="FILE")
    parser.add_argument("--output", default=str(PAGE), metavar="FILE", help="- for stdout")
    options = parser.parse_args()
    text = page(options.rows)
    if options.output == "-":
        sys.stdout.write(text)
    else:
        Path(options.output).write_text(text, encoding="utf-8")
        print(f"wrote {options.output}")


def page(more: Sequence[Path] = ()) -> str:
    """Return the page as Markdown."""
    files = (speed_rows.SHARED_ROWS, speed_rows.PUBLISHED_ROWS)
    sources = [(path.name, speed_rows.decode_rows(path)) for path in files if path.exists()]
    sources.append(("aiconfigurator-core silicon samples", speed_rows.silicon_rows()))
    extra = [(path.name, speed_rows.decode_rows(path)) for path in more]
    lines = [*HEAD, "", "## Rows", "", "| source | rows | left out |", "|---|---:|---|"]
    for name, found in [*sources, *extra]:
        reasons = ", ".join(f"{count} {reason}" for reason, count in found.refused.most_common(6))
        lines.append(f"| {name} | {len(found.rows)} | {reasons or 'none'} |")
    if extra:
        lines += ["", "## Rows given with --rows, judged by what is shipped", "", *TABLE]
        for name, found in extra:
            for engine in ENGINES:
                own = [row for row in found.rows if row.engine.name == engine]
                if own:
                    lines.append(line(f"{name}, {engine}", figures(strangers(own))))
                    lines += by_device(strangers(own))
    rows = [row for _, found in [*sources, *extra] for row in found.rows]
    for engine in ENGINES:
        if speed_study.of_engines(rows, engine):
            lines += section(engine, rows)
    return "\n".join(lines) + "\n"


HEAD = """\
# Accuracy of decode speed

Written by `python bench/accuracy_speed.py`; do not edit.
Each row was predicted by a fit that had not seen it.
On a *calibrated device*, all rows of the row's architecture were left out of that device's fit.
For a *device left out*, none of its rows was used: its family predicts it.
For an *architecture left out*, no row of it was used, of no device and under no engine.
For a *family left out*, the engine's device-independent prior predicts it,
of which bandwidth floors are made. Nearly all rows of vLLM and SGLang are of one family,
so their prior takes the width of its interval from that of llama.cpp.

What was chosen by looking at these tables: the form of the terms (a share of 0.8 of
independently routed tokens; unpacking; prompts apart for dense models and others), the
widths of the priors, the quantiles 0.08 and 0.88, and which samples count, each for a
reason given in [speed.md](speed.md). A term for the release of the engine was tried and
left out: it helped architectures left out, not devices left out.

| goal | asked |
|---|---|
| A1 | median absolute error: 10 % on calibrated devices, 18 % on a device left out, 22 % for MoE |
| A2 above | p10 above what was measured: at most 10 % of rows; by more than 25 %: at most 2 % |
| A2 rejected | rows that measured 1.25 times the target, rejected: at most 25 % |
| A7 | rows between p10 and p90: 75 to 85 % |
""".splitlines()
TABLE = (
    "| predicted | rows | A1 | A1 MoE | A2 above | by > 25 % | A2 rejected | A7 |",
    "|---|---:|---:|---:|---:|---:|---:|---:|",
)


def section(engine: str, rows: Sequence[speed_rows.Row]) -> list[str]:
    """Return the part of the page about one engine."""
    errors = speed_study.cross_validate(rows, engine)
    judged = speed_study.judged(errors)
    kinds = (
        ("calibrated device", judged["measured"]),
        ("device left out", judged["family"]),
        ("architecture left out", judged["architecture"]),
    )
    if engine not in speed_fit.SERVERS:
        kinds += (("family left out", judged["prior"]),)
    lines = ["", f"## {engine}", "", *TABLE]
    for name, found in kinds:
        if found:
            lines.append(line(name, figures(found)))
            dense = [item for item in found if not item.row.model.is_mixture]
            if 0 < len(dense) < len(found):
                lines.append(line(f"{name}, dense", figures(dense)))
    lines += ["", "### Devices left out", "", "| device | family | rows | error | median, signed |"]
    lines += ["|---|---|---:|---:|---:|"]
    groups: dict[str, list[tuple[speed_rows.Row, float]]] = defaultdict(list)
    for row, error in errors.family:
        groups[row.device.id].append((row, error))
    for device, group in sorted(groups.items()):
        log_errors = np.array([error for _, error in group])
        lines.append(
            f"| {device} | {family(group[0][0].device)} | {len(group)} | {mdape(log_errors):.1f} % "
            f"| {100 * np.expm1(np.median(log_errors)):+.1f} % |"
        )
    lines += ["", "### Architectures left out on calibrated devices", ""]
    lines += ["| architecture | rows | error | median, signed |", "|---|---:|---:|---:|"]
    kinds_of: dict[str, list[float]] = defaultdict(list)
    for row, error in errors.measured:
        kinds_of[row.architecture].append(error)
    for name, values in sorted(kinds_of.items()):
        signed = 100 * np.expm1(np.median(values))
        lines.append(
            f"| {name} | {len(values)} | {mdape(np.array(values)):.1f} % | {signed:+.1f} % |"
        )
    return lines


def by_device(judged: Sequence[speed_study.Judged]) -> list[str]:
    """Return a line per device."""
    groups: dict[str, list[speed_study.Judged]] = defaultdict(list)
    for item in judged:
        groups[item.row.device.id].append(item)
    return [line(f"- {name}", figures(group)) for name, group in sorted(groups.items())]


def line(name: str, found: Figures) -> str:
    """Return one row of the table."""
    mixture = "-" if found.mdape_mixture is None else f"{found.mdape_mixture:.1f} %"
    return (
        f"| {name} | {found.rows} | {found.mdape:.1f} % | {mixture} | {100 * found.above:.1f} % "
        f"| {100 * found.far_above:.1f} % | {100 * found.rejected:.1f} % "
        f"| {100 * found.inside:.1f} % |"
    )


if __name__ == "__main__":
    main()
