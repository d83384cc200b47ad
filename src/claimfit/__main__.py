"""Command line entry: maps a verb to its handler and failures to exit codes.

Nothing heavy is imported here: a handler is imported when its verb is given, so that each verb pays
only for what it uses.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["VERBS", "console", "main"]

VERBS: Final[dict[str, tuple[str, str]]] = {
    "claim": ("claimfit.cli.claim:run", "size a model and write the ResourceClaim that fits it"),
    "fit": ("claimfit.cli.fit:run", "where a model fits: on a cluster or on known accelerators"),
    "models": ("claimfit.cli.models:run", "the models claimfit knows, and where each fact is from"),
    "explain": (
        "claimfit.cli.explain:run",
        "why a pod or a claim gets its devices or not, and what would change it",
    ),
    "simulate": ("claimfit.cli.simulate:run", "place pods, see what they get and what stays free"),
    "devices": ("claimfit.cli.devices:run", "what a cluster publishes, free or held by whom"),
    "lint": ("claimfit.cli.lint:run", "what is wrong with claims and pods before they are applied"),
    "calibrate": ("claimfit.cli.calibrate:run", "teach claimfit the speed of your own devices"),
}
"""Verb -> (module:function, one line of help)."""

_OBJECTS_PER_COLLECTION: Final = 100_000
"""One command leaves little garbage in cycles; looking for it at start costs 2 ms of 60."""


def console() -> NoReturn:
    """Run the command of this process and end it.

    Without the interpreter's own tidying up, which takes a tenth of the time of ``claimfit claim``:
    no thread, temporary file or exit handler outlives a command, and the streams are flushed here.
    """
    code = main()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # closed by the reader, which `guarded` has answered already
            code = code or 1
    os._exit(code)


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 yes; 1 no (not satisfiable, inexpressible, findings); 2 wrong use or unreadable input; 3 the
    cluster, the network or the machine failed.
    """
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    arguments = sys.argv[1:] if argv is None else list(argv)
    json_first = arguments[:1] == ["--json"]  # `llmfit --json claim ...` is spelled this way
    verb_at = 1 if json_first else 0
    verb = arguments[verb_at] if len(arguments) > verb_at else "--help"
    if verb in VERBS:
        rest = arguments[verb_at + 1 :]
        return _dispatch(VERBS[verb][0], ["--json", *rest] if json_first else rest)
    return _dispatch("claimfit.cli.overview:run", arguments)


def _dispatch(handler: str, arguments: list[str]) -> int:
    from importlib import import_module

    from claimfit.cli.failures import guarded

    module, function = handler.split(":")
    return guarded(lambda: getattr(import_module(module), function)(arguments), arguments)


if __name__ == "__main__":
    console()
