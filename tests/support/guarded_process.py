"""Runs a program that ends with its starter, however that one ends.

`guarded` starts this file as a small process of its own, which starts the program and reads its
standard input: a pipe that only the starter holds open. When the starter closes it, or is killed
and cannot close anything, the guard ends the program. The guard is in a session of its own, so that
Ctrl-C in a terminal reaches the starter alone, which then ends its programs in order.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["guarded"]

_GRACE_SECONDS: Final = 10


@contextlib.contextmanager
def guarded(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `command` while the context lasts; yield its guard, which ends when the program does."""
    with log.open("ab") as output:
        guard = subprocess.Popen(
            [sys.executable, "-S", "-E", __file__, *command],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield guard
    finally:
        assert guard.stdin is not None
        guard.stdin.close()
        try:
            guard.wait(2 * _GRACE_SECONDS)
        except subprocess.TimeoutExpired:  # the guard itself hangs
            os.killpg(guard.pid, signal.SIGKILL)
            guard.wait()


def _end(program: subprocess.Popen[bytes]) -> None:
    program.terminate()
    try:
        program.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        program.kill()


def _end_with_input(program: subprocess.Popen[bytes]) -> None:
    while os.read(0, 1024):
        pass
    _end(program)


def main() -> int:
    """Run the command of the arguments until it ends or the standard input does."""
    program = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    signal.signal(signal.SIGTERM, lambda *_: _end(program))
    threading.Thread(target=_end_with_input, args=(program,), daemon=True).start()
    return program.wait()


if __name__ == "__main__":
    sys.exit(main())
