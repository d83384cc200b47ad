"""Keeps the model catalogue in order: formats the files, writes the index, recomputes the checks.

    python tools/catalogue.py            rewrite src/claimfit/data/models in its canonical form
    python tools/catalogue.py --verify   change nothing; exit 1 when something would change
    python tools/catalogue.py --differences
                                         list where llmfit's catalogue says something else and
                                         tests/golden/catalogue_differences.json judges it not yet

An entry's `checks` are what it passes: ``parameters`` (recomputed from the shapes within 1 % of the
published total) and ``llmfit`` (llmfit's entry of the same name agrees, or every difference is
judged in the table). They need the `llmfit` package (extra ``claimfit[llmfit]``).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from claimfit.errors import ClaimfitError
from claimfit.model.catalogue import DIRECTORY
from claimfit.model.entry import completed, entry_from_json, facts_of
from claimfit.storage.llmfit_dump import installation

if TYPE_CHECKING:
    from claimfit.model.facts import ModelFacts

ROOT = Path(__file__).resolve().parent.parent
MODELS = Path(DIRECTORY)
DIFFERENCES = ROOT / "tests" / "golden" / "catalogue_differences.json"
TOLERANCE = 0.01
KEY_ORDER = (
    "name",
    "repository",
    "aliases",
    "task",
    "parameters",
    "parametersSource",
    "activeParameters",
    "activeParametersSource",
    "opened",
    "checks",
    "notes",
    "sameAs",
    "config",
)


class Difference(NamedTuple):
    """One field that llmfit's entry of a model states differently."""

    name: str
    field: str
    catalogue: int
    llmfit: int


def families() -> dict[str, list[dict[str, Any]]]:
    """Return the entries as they stand in the files, by family, in listing order."""
    files = sorted(path for path in MODELS.glob("*.json") if path.stem != "index")
    return {path.stem: json.loads(path.read_text(encoding="utf-8"))["models"] for path in files}


def index(entries: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, str]]:
    """Return the index of `entries`: name -> family and alias -> name."""
    return {
        "models": {item["name"]: family for family, items in entries.items() for item in items},
        "aliases": {
            alias: item["name"]
            for items in entries.values()
            for item in items
            for alias in item.get("aliases", ())
        },
    }


def facts_by_name(entries: dict[str, list[dict[str, Any]]]) -> dict[str, ModelFacts]:
    """Return the facts of every entry.

    Raises:
        ClaimfitError: what reading an entry or its configuration raises.
    """
    found = {}
    for family, items in entries.items():
        parsed = {
            item["name"]: entry_from_json(item, place=f"{family}.json", origin="catalogue")
            for item in items
        }
        for name, entry in parsed.items():
            found[name] = facts_of(completed(entry, parsed.get))
    return found


def parameters_agree(facts: ModelFacts) -> bool:
    """Return whether the shapes give the published total within 1 %.

    A published total may count parts that engines do not load (multi-token-prediction layers).
    """
    return any(
        abs(total - facts.declared_parameters) <= TOLERANCE * facts.declared_parameters
        for total in totals(facts)
    )


def totals(facts: ModelFacts) -> tuple[int, int]:
    """Return the parameters that are loaded, and all in the files."""
    unloaded = sum(part.parameters for part in facts.components if not part.loaded)
    return facts.parameters, facts.parameters + unloaded


def llmfit_differences(facts: ModelFacts, other: dict[str, Any]) -> list[Difference]:
    """Return the fields in which llmfit's entry `other` disagrees; what it leaves out agrees."""
    caches = [layer.cache for layer in facts.layers if layer.cache.key_size]
    mixtures = [layer.mixture for layer in facts.layers if layer.mixture is not None]
    widths = {layer.intermediate_size for layer in facts.layers}
    width = other["moe_intermediate_size"]  # llmfit fills it for dense models too
    stated = {
        "layers": (len(facts.layers), other["num_hidden_layers"]),
        "heads": (facts.heads, other["num_attention_heads"]),
        "kv_heads": (facts.kv_heads, other["num_key_value_heads"]),
        "head_size": (caches[0].key_size if caches else 0, other["head_dim"]),
        "hidden_size": (facts.hidden_size, other["hidden_size"]),
        "vocabulary_size": (facts.vocabulary_size, other["vocab_size"]),
        "experts": (mixtures[0].experts if mixtures else 0, other["num_experts"]),
        "experts_per_token": (
            mixtures[0].experts_per_token if mixtures else 0,
            other["active_experts"],
        ),
        "intermediate_size": (width if width in widths else max(widths), width),
        "context_tokens": (facts.context_tokens, other["context_length"]),
    }
    found = [
        Difference(facts.name, field, ours, theirs)
        for field, (ours, theirs) in stated.items()
        if theirs is not None and ours != theirs
    ]
    published = other["parameters_raw"]
    if not any(abs(total - published) <= TOLERANCE * published for total in totals(facts)):
        found.append(Difference(facts.name, "parameters", facts.parameters, published))
    return found


def llmfit_entries() -> dict[str, dict[str, Any]]:
    """Return the catalogue of the installed `llmfit` package by name."""
    installed = installation()
    if installed is None:
        sys.exit("the llmfit package is not installed: pip install 'claimfit[llmfit]'")
    with tempfile.TemporaryDirectory() as home:  # the user's own llmfit entries stay out of it
        command = [installed.program, "list", "--json"]
        dump = subprocess.run(command, capture_output=True, check=True, env={"HOME": home})
    return {item["name"]: item for item in json.loads(dump.stdout)}


def judged() -> set[Difference]:
    """Return the differences that the committed table judges."""
    rows = json.loads(DIFFERENCES.read_text(encoding="utf-8"))["differences"]
    return {Difference(row["model"], row["field"], row["catalogue"], row["llmfit"]) for row in rows}


def checks_of(facts: ModelFacts, other: dict[str, Any] | None, known: set[Difference]) -> list[str]:
    """Return the ids of the checks that the model passes."""
    passed = []
    if facts.declared_parameters and parameters_agree(facts):
        passed.append("parameters")
    if other is not None and not set(llmfit_differences(facts, other)) - known:
        passed.append("llmfit")
    return passed


def formatted(value: object, depth: int = 0) -> str:
    """Return `value` as JSON: one key a line, lists of plain values on one line."""
    pad = " " * depth
    if isinstance(value, dict) and value:
        rows = (f"{pad} {json.dumps(k)}: {formatted(v, depth + 1)}" for k, v in value.items())
        return "{\n" + ",\n".join(rows) + f"\n{pad}}}"
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        rows = (f"{pad} {formatted(item, depth + 1)}" for item in value)
        return "[\n" + ",\n".join(rows) + f"\n{pad}]"
    return json.dumps(value, ensure_ascii=False)


def canonical(item: dict[str, Any]) -> dict[str, Any]:
    """Return an entry with its keys in order, those of its configuration sorted."""
    ordered = {key: item[key] for key in KEY_ORDER if key in item}
    if "config" in ordered:
        ordered["config"] = _sorted(ordered["config"])
    return ordered


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def documents() -> dict[str, str]:
    """Return what every file of the catalogue should hold, by file name."""
    entries, others, known = families(), llmfit_entries(), judged()
    facts = facts_by_name(entries)
    for items in entries.values():
        for item in items:
            name = item["name"]
            item["checks"] = checks_of(facts[name], others.get(name), known)
    files = {
        f"{family}.json": formatted({"models": [canonical(item) for item in items]}) + "\n"
        for family, items in entries.items()
    }
    return {**files, "index.json": json.dumps(index(entries), ensure_ascii=False, indent=0) + "\n"}


def main() -> int:
    """Run the command that the module describes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--differences", action="store_true")
    options = parser.parse_args()
    if options.differences:
        others, known = llmfit_entries(), judged()
        for name, facts in facts_by_name(families()).items():
            for row in llmfit_differences(facts, others[name]) if name in others else ():
                if row not in known:
                    print(json.dumps(row._asdict()))
        return 0
    stale = 0
    for name, text in documents().items():
        path = MODELS / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale += 1
            print(f"{'differs' if options.verify else 'wrote'} {path.relative_to(ROOT)}")
            if not options.verify:
                path.write_text(text, encoding="utf-8")
    return 1 if options.verify and stale else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ClaimfitError as error:
        sys.exit(f"{error}: found {error.found}, expected {error.expected}")
