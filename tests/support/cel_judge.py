"""Asks Kubernetes' own CEL environment, the Go program in tests/oracle/celjudge."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

from support.kubernetes_build import judge

__all__ = ["GATES", "Judge", "gates"]

SOURCES: Final = Path(__file__).parents[1] / "oracle" / "celjudge"
GATES: Final = {
    "DRAConsumableCapacity": "EnableConsumableCapacity",
    "DRAListTypeAttributes": "EnableListTypeAttributes",
}
"""The Go field of each gate that the environment depends on."""


def gates(on: frozenset[str]) -> dict[str, bool]:
    """Return the gates as the judge takes them."""
    return {field: name in on for name, field in GATES.items()}


class Judge:
    """A running judge of one version; answers one question at a time."""

    def __init__(self, version: str) -> None:
        self._process = subprocess.Popen(
            [judge(SOURCES, version)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(self, **question: object) -> dict[str, Any]:
        """Return the answer to a question (see main.go)."""
        pipe = self._process
        assert pipe.stdin is not None
        assert pipe.stdout is not None
        pipe.stdin.write(json.dumps(question) + "\n")
        pipe.stdin.flush()
        line = pipe.stdout.readline()
        if not line:
            raise RuntimeError(pipe.stderr.read() if pipe.stderr else "no answer")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the program."""
        self._process.communicate("")
