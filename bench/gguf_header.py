"""Reads the header of a GGUF with a 150,000-token vocabulary: claimfit against the gguf package.

    python bench/gguf_header.py [RUNS]

Each run is a process of its own, the two in turn; printed are medians. "read" is the time from the
open file to the facts (claimfit) or to the reader object (gguf), without imports; "process" is the
wall time of the whole process; "peak" is its largest resident set (VmHWM of /proc, Linux). Goals:
0.05 of the package's read time, and 20 MB.

Needs the dependency group `bench` (gguf, numpy).
"""

from __future__ import annotations

import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from support.gguf_writer import Array, Tensor, gguf_bytes  # noqa: E402  # after the path

TOKENS = 150_000
LAYERS = 36
WIDTH = 4096

PEAK = r"""
import re, sys, time
def peak():  # of this program alone: ru_maxrss would keep what the parent had before exec
    return re.search(r"VmHWM:\s+([0-9]+) kB", open("/proc/self/status").read())[1]
"""
OURS = """
from claimfit.storage.opening import open_model
start = time.perf_counter()
facts = open_model(sys.argv[1], environment={})
seconds = time.perf_counter() - start
assert facts.vocabulary_size == 150_000
print(seconds, peak())
"""
THEIRS = """
from gguf import GGUFReader
start = time.perf_counter()
reader = GGUFReader(sys.argv[1])
seconds = time.perf_counter() - start
assert len(reader.fields["tokenizer.ggml.tokens"].data) == 150_000
print(seconds, peak())
"""


def model() -> tuple[dict[str, object], list[Tensor]]:
    """Return keys and tensors of a model of 8 B with vocabulary, scores, types and merges."""
    draw = random.Random(150_000)  # noqa: S311  # the same file each time
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(draw.choices(letters, k=draw.randint(1, 14))) for _ in range(TOKENS)]
    keys: dict[str, object] = {
        "general.architecture": "qwen3",
        "general.file_type": 15,
        "qwen3.block_count": LAYERS,
        "qwen3.context_length": 40960,
        "qwen3.embedding_length": WIDTH,
        "qwen3.attention.head_count": 32,
        "qwen3.attention.head_count_kv": 8,
        "qwen3.attention.key_length": 128,
        "qwen3.attention.value_length": 128,
        "tokenizer.ggml.tokens": Array("text", list(words)),
        "tokenizer.ggml.token_type": Array("i", [1] * TOKENS),
        "tokenizer.ggml.merges": Array("text", [f"{word[:1]} {word[1:]}" for word in words]),
    }
    shapes = {
        "attn_q": (WIDTH, WIDTH),
        "attn_k": (WIDTH, 1024),
        "attn_v": (WIDTH, 1024),
        "attn_output": (WIDTH, WIDTH),
        "ffn_gate": (WIDTH, 12288),
        "ffn_up": (WIDTH, 12288),
        "ffn_down": (12288, WIDTH),
    }
    tensors = [
        Tensor("token_embd.weight", (WIDTH, TOKENS), "Q4_K"),
        Tensor("output.weight", (WIDTH, TOKENS), "Q6_K"),
        Tensor("output_norm.weight", (WIDTH,), "F32"),
    ]
    for layer in range(LAYERS):
        tensors += [Tensor(f"blk.{layer}.{n}.weight", s, "Q4_K") for n, s in shapes.items()]
        tensors += [
            Tensor(f"blk.{layer}.{n}_norm.weight", (WIDTH,), "F32") for n in ("attn", "ffn")
        ]
    return keys, tensors


def run(code: str, path: str) -> dict[str, float]:
    """Run one reader in a process and return its figures."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", PEAK + code, path],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    process = time.perf_counter() - start
    read, peak = done.stdout.split()
    return {"read": float(read), "process": process, "peak": int(peak) * 1024 / 1e6}


def main(runs: int) -> dict[str, object]:
    """Measure and return the medians with their ratios."""
    keys, tensors = model()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model-Q4_K_M.gguf"
        header = gguf_bytes(keys, tensors, data=False)
        path.write_bytes(header)
        with path.open("r+b") as file:
            file.truncate(40 * 10**9)  # more than the tensors take; the data is a hole
        rows: dict[str, list[dict[str, float]]] = {"claimfit": [], "gguf": []}
        for _ in range(runs):
            rows["claimfit"].append(run(OURS, str(path)))
            rows["gguf"].append(run(THEIRS, str(path)))
    medians = {
        reader: {key: statistics.median(row[key] for row in found) for key in found[0]}
        for reader, found in rows.items()
    }
    ours, theirs = medians["claimfit"], medians["gguf"]
    return {
        "header_mb": len(header) / 1e6,
        "medians": medians,
        "read_ratio": ours["read"] / theirs["read"],
        "process_ratio": ours["process"] / theirs["process"],
        "peak_mb": ours["peak"],
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5), indent=2))
