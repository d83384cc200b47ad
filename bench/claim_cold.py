"""Cold start of `claimfit claim NAME -o json` against `llmfit claim NAME --json`.

    python bench/claim_cold.py [RUNS]

Each run is a process of its own; claimfit and llmfit take turns on the same names, so that both see
the machine in the same state. Printed are medians of wall time, their ratio, and the largest
resident set (wait4). Goals: 0.6 of llmfit's time, 30 MB. Three ways are measured: a model of the
built-in catalogue, one that only llmfit's catalogue has, and the dialect that prints what llmfit
prints. The index of llmfit's catalogue is made before, as the first use of it does.

Needs claimfit installed beside this interpreter, with the extra `llmfit`; Linux or macOS.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time

GOAL_RATIO = 0.6
GOAL_MEGABYTES = 30.0
RUNS = 15
BIN = os.path.dirname(sys.executable)  # noqa: PTH120  # this process stays small, see measured()
NULL = os.open(os.devnull, os.O_RDWR)

BUILT_IN = ("Qwen/Qwen3-30B-A3B", "meta-llama/Llama-3.1-8B-Instruct", "google/gemma-3-27b-it")
ONLY_LLMFIT = (
    "NousResearch/Hermes-3-Llama-3.1-8B",
    "RedHatAI/gemma-3-12b-it-quantized.w8a8",
    "RedHatAI/Qwen3-30B-A3B-Instruct-2507-quantized.w4a16",
)
WAYS = (
    ("built-in catalogue", BUILT_IN, ("-o", "json")),
    ("llmfit's catalogue", ONLY_LLMFIT, ("-o", "json")),
    ("dialect llmfit", ONLY_LLMFIT, ("--dialect", "llmfit", "--json")),
)


def measured(
    program: str, arguments: tuple[str, ...], environment: dict[str, str]
) -> tuple[float, float]:
    """Run a program; return its wall time in seconds and its largest resident set in MB.

    A child's set counts from before its exec, when it is this process's: hence no heavy imports.
    """
    path = f"{BIN}/{program}"
    silent = [(os.POSIX_SPAWN_DUP2, NULL, stream) for stream in (0, 1, 2)]
    start = time.perf_counter()
    child = os.posix_spawn(path, [path, *arguments], environment, file_actions=silent)
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{program} {' '.join(arguments)} failed: run it to see why")
    kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return seconds, kilobytes / 1000 * 1.024


def compared(
    names: tuple[str, ...], flags: tuple[str, ...], runs: int, environment: dict[str, str]
) -> tuple[float, float, float]:
    """Return the median seconds of claimfit and of llmfit, and claimfit's largest set in MB."""
    for name in names:  # writes the index and the compiled modules
        measured("claimfit", ("claim", name, *flags), environment)
    ours, theirs, peaks = [], [], []
    for _ in range(runs):
        for name in names:
            seconds, peak = measured("claimfit", ("claim", name, *flags), environment)
            ours.append(seconds)
            peaks.append(peak)
            theirs.append(measured("llmfit", ("claim", name, "--json"), environment)[0])
    return statistics.median(ours), statistics.median(theirs), max(peaks)


def main() -> int:
    """Measure the three ways; return 1 when a goal is missed."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    missed = False
    print(f"claimfit claim, cold process, medians of {runs} x 3 runs; goals {GOAL_RATIO} and 30 MB")
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "XDG_CACHE_HOME": cache, "XDG_DATA_HOME": cache}
        for way, names, flags in WAYS:
            ours, theirs, peak = compared(names, flags, runs, environment)
            fine = ours / theirs <= GOAL_RATIO and peak <= GOAL_MEGABYTES
            missed = missed or not fine
            print(
                f"{way:<20} claimfit {ours * 1000:6.1f} ms   llmfit {theirs * 1000:6.1f} ms   "
                f"ratio {ours / theirs:.2f}   peak {peak:5.1f} MB   {'pass' if fine else 'FAIL'}"
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
