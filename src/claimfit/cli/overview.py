"""``claimfit`` without a verb: help, version, and the error for an unknown verb."""

from __future__ import annotations

import sys

from claimfit._version import __version__
from claimfit.errors import UsageError

__all__ = ["run"]


def run(arguments: list[str]) -> int:
    """Print help or version; raise CLI005 with the nearest verbs for an unknown one."""
    first = next((item for item in arguments if item != "--json"), "--help")
    if first in {"-h", "--help", "help"}:
        sys.stdout.write(_help())
        return 0
    if first in {"-V", "--version", "version"}:
        sys.stdout.write(f"claimfit {__version__}\n")
        return 0
    from difflib import get_close_matches

    from claimfit.__main__ import VERBS

    raise UsageError(
        "CLI005",
        "unknown command",
        found=first,
        expected="one of " + ", ".join(VERBS),
        fix="see claimfit --help",
        candidates=tuple(get_close_matches(first, VERBS)),
    )


def _help() -> str:
    from claimfit.__main__ import VERBS

    rows = "\n".join(f"  {verb:<10} {text}" for verb, (_, text) in VERBS.items())
    return (
        "claimfit sizes LLMs and writes the Kubernetes ResourceClaims that fit them.\n\n"
        "usage: claimfit COMMAND [OPTIONS]        also: kubectl claimfit COMMAND [OPTIONS]\n\n"
        f"commands\n{rows}\n\n"
        "Each command has --help. Exit codes: 0 yes, 1 no, 2 wrong use or input, 3 environment.\n"
    )
