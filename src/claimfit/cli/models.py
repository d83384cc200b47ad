"""``claimfit models``: the models claimfit knows, where each fact is from, and whether it holds.

::

    claimfit models [WORD ...]        list: names that contain every WORD
    claimfit models show MODEL        every field of one model with its source
    claimfit models check [MODEL ...] compare entries with their repositories
    claimfit models --quants          the quantizations that --quant takes
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Final

from claimfit.cli.arguments import Parser, add_output
from claimfit.cli.model_report import HEADER, MODELS_SCHEMA, as_json, page, row
from claimfit.cli.model_sources import add_models_option, model_sources
from claimfit.cli.table import write_table
from claimfit.errors import UsageError
from claimfit.model.entry import facts_of
from claimfit.model.lookup import entry_named, find_model, known_entries

if TYPE_CHECKING:
    from claimfit.model.entry import Entry
    from claimfit.model.facts import ModelFacts
    from claimfit.model.lookup import Sources

__all__ = ["run"]

_TASKS: Final = ("generate", "embed", "rerank")


def run(arguments: list[str]) -> int:
    """Run the verb and return its exit code: 0, or 1 when `check` finds differences.

    Raises:
        ClaimfitError: what the arguments, the tables or the network raise.
    """
    match arguments[:1]:
        case ["show"]:
            return _show(arguments[1:])
        case ["check"]:
            from claimfit.cli.models_check import run as check

            return check(arguments[1:])
        case _:
            return _list(arguments)


def _list(arguments: list[str]) -> int:
    parser = Parser(
        prog="claimfit models",
        description="List the models claimfit knows. `claimfit models show MODEL` tells one whole; "
        "`claimfit models check` compares entries with their repositories.",
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="part of the name; all must match")
    parser.add_argument("--task", choices=_TASKS, help="only models that serve this")
    parser.add_argument("--quants", action="store_true", help="list the quantizations instead")
    add_models_option(parser)
    add_output(parser, "table", "json")
    options = parser.read(arguments)
    if options.quants:
        for flag, given in (("--task", options.task), ("--models", options.models)):
            if given:
                raise UsageError(
                    "CLI001", f"--quants and {flag} exclude each other", fix="give one"
                )
        return _quantizations(options.words, as_document=options.output == "json")
    entries = known_entries(model_sources(options.models, os.environ))
    matching = [entry for entry in entries if _matches(entry, options.words)]
    found = [(entry, facts_of(entry)) for entry in matching]
    if options.task:
        found = [(entry, facts) for entry, facts in found if facts.task == options.task]
    if options.output == "json":
        _write_json({"models": [as_json(facts, entry, whole=False) for entry, facts in found]})
    else:
        _write_list([facts for _, facts in found], of=len(entries))
    return 0


def _matches(entry: Entry, words: list[str]) -> bool:
    """Return whether the name or one alias contains every word, without regard to case."""
    spellings = [name.casefold() for name in (entry.name, *entry.aliases)]
    return any(all(word.casefold() in name for word in words) for name in spellings)


def _write_list(found: list[ModelFacts], *, of: int) -> None:
    if found:
        write_table(HEADER, [row(facts) for facts in found])
        sys.stdout.write("\n")
    sys.stdout.write(f"{len(found)} of {of} models\n")


def _show(arguments: list[str]) -> int:
    parser = Parser(
        prog="claimfit models show",
        description="Show every field of one model with its source.",
    )
    parser.add_argument(
        "model", metavar="MODEL", help="name, GGUF file, folder, hf://org/name or https://..."
    )
    add_models_option(parser)
    add_output(parser, "text", "json")
    options = parser.read(arguments)
    sources = model_sources(options.models, os.environ)
    facts = find_model(options.model, sources)
    entry = _entry_of(facts, sources)
    if options.output == "json":
        _write_json({"model": as_json(facts, entry, whole=True)})
    else:
        sys.stdout.write(page(facts, entry))
    return 0


def _entry_of(facts: ModelFacts, sources: Sources) -> Entry | None:
    return entry_named(facts.name, sources) if facts.origin in {"catalogue", "overlay"} else None


def _quantizations(words: list[str], *, as_document: bool) -> int:
    from claimfit.model.quantization import names, quantization

    found = [
        quantization(name)
        for name in names()
        if all(word.casefold() in name.casefold() for word in words)
    ]
    if as_document:
        _write_json(
            {
                "quantizations": [
                    {
                        "name": item.name,
                        "family": item.family,
                        "bitsPerWeight": item.bits_per_weight,
                    }
                    for item in found
                ]
            }
        )
        return 0
    rows = [(item.name, item.family, f"{item.bits_per_weight:.4f}") for item in found]
    write_table(("name", "family", "bits per weight"), rows)
    return 0


def _write_json(content: dict[str, object]) -> None:
    document = {"schemaVersion": MODELS_SCHEMA} | content
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
