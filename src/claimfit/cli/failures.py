"""Turns errors into text, JSON and exit codes: the only place that does.

Text goes to stderr. With ``-o json`` (or ``--json``) stdout additionally carries one object
``{"schemaVersion": ..., "error": {...}}``, so that a program reading stdout always gets JSON.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from typing import TYPE_CHECKING, Final

from claimfit.errors import ClaimfitError, EnvironmentFailure

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ERROR_SCHEMA", "describe", "guarded", "wants_json"]

ERROR_SCHEMA: Final = "claimfit.dev/error/v1"
_INTERRUPTED: Final = 130
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_DEFECT: Final = 70  # EX_SOFTWARE of sysexits.h
_CANDIDATES_SHOWN: Final = 10
_ESCAPED: Final = "claimfit.escaped"


def guarded(command: Callable[[], int], arguments: list[str]) -> int:
    """Run `command` and return its exit code, or report what it raised and return that code."""
    try:
        _open_streams()
        _escape_what_the_terminal_lacks()
        code = _exit_code(command)
        sys.stdout.flush()
    except ClaimfitError as error:
        return report(error, as_json=wants_json(arguments))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`| head`): not our failure; keep the interpreter from complaining.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno not in _NO_ROOM:
            return _defect()
        failure = EnvironmentFailure(
            "ENV001", f"the output cannot be written: {error.strerror}", place="standard output"
        )
        return report(failure, as_json=False)
    except Exception:  # noqa: BLE001  # a defect of ours must not look like the answer "no" (1)
        return _defect()
    return code


def _exit_code(command: Callable[[], int]) -> int:
    try:
        return command()
    except SystemExit as end:  # how argparse ends --help, whose text is then not written yet
        return end.code if isinstance(end.code, int) else 0


def _open_streams() -> None:
    """Open what the caller closed (``<&-``): Python then has None in place of a stream.

    Without input there is nothing to read, without stderr nobody to warn; but an answer that
    nobody can be given is a failure (ENV001).
    """
    devnull = os.devnull
    if sys.stdin is None:
        sys.stdin = open(devnull, encoding="utf-8")  # noqa: PTH123, SIM115  # lives as the process
    if sys.stderr is None:
        sys.stderr = open(devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  # as above
    if sys.stdout is None:
        sys.stdout = open(devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  # as above
        raise EnvironmentFailure(
            "ENV001", "the output cannot be written: it is closed", place="standard output"
        )


def _escape_what_the_terminal_lacks() -> None:
    """Let stdout spell characters that its encoding lacks, instead of failing at the first one."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        codecs.register_error(_ESCAPED, _escaped)
        sys.stdout.reconfigure(errors=_ESCAPED)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    r"""Return the characters that `error` stopped at as ``\uXXXX``, which JSON reads back."""
    assert isinstance(error, UnicodeEncodeError)  # noqa: S101  # stdout only encodes
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = zip(units[::2], units[1::2], strict=True)
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in pairs), error.end


def _defect() -> int:
    import traceback

    traceback.print_exc()
    sys.stderr.write("error: this is a defect of claimfit, please report it with the lines above\n")
    return _DEFECT


def report(error: ClaimfitError, *, as_json: bool) -> int:
    """Print `error` and return its exit code."""
    if as_json:
        import json

        document = {"schemaVersion": ERROR_SCHEMA, "error": error.as_dict()}
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    sys.stderr.write(describe(error))
    return error.exit_code


def describe(error: ClaimfitError) -> str:
    """Return the text form: what is wrong first, then what was found, expected and the fix."""
    where = f"{error.place}: " if error.place else ""
    lines = [f"error {error.code}: {where}{error.message}"]
    lines += [
        f"  {label:<9} {value}"
        for label, value in (
            ("found", error.found),
            ("expected", error.expected),
            ("fix", error.fix),
        )
        if value
    ]
    if error.candidates:
        shown = ", ".join(error.candidates[:_CANDIDATES_SHOWN])
        more = len(error.candidates) - _CANDIDATES_SHOWN
        lines.append(f"  nearest   {shown}" + (f" and {more} more" if more > 0 else ""))
    return "\n".join(lines) + "\n"


def wants_json(arguments: list[str]) -> bool:
    """Return whether the command line asks for JSON, before it is parsed."""
    for index, argument in enumerate(arguments):
        if argument in {"--json", "-ojson", "-o=json", "--output=json"}:
            return True
        if argument in {"-o", "--output"} and arguments[index + 1 : index + 2] == ["json"]:
            return True
    return False
