"""Writes src/claimfit/data/speed.json from measured rows.

    python tools/fit_speed.py [--rows FILE ...] [--dated YYYY-MM-DD]

Needs numpy, scipy and, for the data-centre rows, aiconfigurator-core. Same rows, same file.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import speed_fit
import speed_rows
import speed_study

from claimfit.hardware.accelerators import accelerators
from claimfit.sizing.coefficients import family

OUTPUT = speed_rows.ROOT / "src" / "claimfit" / "data" / "speed.json"
Group = dict[str, dict[str, Any]]
Spread = tuple[tuple[float, float], ...]
"""p10 and p90 as multiples of p50: of dense models, of models with experts."""
ENGINES = ("llama.cpp", "vllm", "sglang")


def main() -> None:
    """Fit and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", action="append", default=[], type=Path, metavar="FILE")
    parser.add_argument("--dated", required=True, help="date that the entries carry")
    options = parser.parse_args()
    rows = all_rows(options.rows)
    groups: dict[str, Group] = {"devices": {}, "families": {}, "priors": {}}
    for engine in ENGINES:
        add_engine(groups, rows, engine, options.dated)
    document = {
        "schemaVersion": "claimfit.dev/speed/v1",
        "source": "tools/fit_speed.py; docs/accuracy-speed.md judges it",
        **groups,
    }
    OUTPUT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {OUTPUT.relative_to(speed_rows.ROOT)} from {len(rows)} rows")


def all_rows(more: list[Path]) -> list[speed_rows.Row]:
    """Return every usable row, and print how many were refused and why."""
    files = [speed_rows.SHARED_ROWS, speed_rows.PUBLISHED_ROWS, *more]
    rows: list[speed_rows.Row] = []
    for path in files:
        if path.exists():
            found = speed_rows.decode_rows(path)
            report(path.name, found)
            rows += found.rows
    silicon = speed_rows.silicon_rows()
    report("aiconfigurator", silicon)
    return rows + silicon.rows


def report(name: str, found: speed_rows.Rows) -> None:
    """Print what a source gave."""
    reasons = ", ".join(f"{count} {reason}" for reason, count in found.refused.most_common())
    print(f"{name}: {len(found.rows)} rows; left out: {reasons or 'none'}")


def add_engine(
    groups: dict[str, Group], rows: list[speed_rows.Row], engine: str, dated: str
) -> None:
    """Add the entries of one engine to `groups`; `rows` are of all engines."""
    fits = speed_study.fit_all(rows, engine)
    errors = speed_study.cross_validate(rows, engine)
    mine = speed_study.of_engines(rows, engine)
    family_of = {row.device.id: str(family(row.device)) for row in mine}
    of_device = Counter(row.device.id for row in mine)
    of_family = Counter(str(family(row.device)) for row in mine)

    def spreads(name: str) -> list[Spread]:
        both = (speed_study.spreads(errors, name, experts=kind) for kind in (False, True))
        return list(zip(*both, strict=True))

    unseen = spreads("")[2]
    if engine in speed_fit.SERVERS:
        # Their rows are nearly all of one family; how families differ, those of llama.cpp tell.
        unseen = wider(unseen, groups["priors"]["llama.cpp"]["coefficients"])
    groups["priors"][engine] = entry(fits.engine, unseen, len(mine), dated)
    listed = {device.id for device in accelerators()}
    for name, parameters in fits.devices.items():
        if name not in listed:  # a board that nobody can name; it counts in its family
            continue
        groups["devices"].setdefault(name, {})[engine] = entry(
            parameters, spreads(family_of[name])[0], of_device[name], dated
        )
    for name, parameters in fits.families.items():
        few = engine in speed_fit.SERVERS and of_family[name] < speed_study.MEASURED_ROWS
        groups["families"].setdefault(name, {})[engine] = entry(
            parameters, unseen if few else spreads(name)[1], of_family[name], dated
        )


def wider(spread: Spread, other: dict[str, float]) -> Spread:
    """Return `spread` at least as wide as that of the coefficients `other`."""
    return tuple(
        (min(low, other[f"{kind}low"]), max(high, other[f"{kind}high"]))
        for kind, (low, high) in zip(("", "expert_"), spread, strict=True)
    )


def entry(
    parameters: dict[str, float],
    spreads: Spread,
    rows: int,
    dated: str,
) -> dict[str, object]:
    """Return one entry, rounded to what the rows can tell; `spreads` of dense models and others."""
    coefficients = {name: float(f"{value:.3g}") for name, value in parameters.items()}
    (low, high), (expert_low, expert_high) = spreads
    coefficients |= {"low": round(low, 3), "high": round(high, 3)}
    coefficients |= {"expert_low": round(expert_low, 3), "expert_high": round(expert_high, 3)}
    return {"rows": rows, "dated": dated, "coefficients": coefficients}


if __name__ == "__main__":
    main()
