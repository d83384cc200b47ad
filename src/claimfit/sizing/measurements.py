"""Reads what benchmarks print, as measured decode speeds.

Known forms, told apart by their fields:

* ``llama-bench -o json|jsonl|csv|md`` (tools/llama-bench/README.md of llama.cpp),
* ``vllm bench serve --save-result`` and ``vllm bench latency --output-json`` (vllm/benchmarks),
* llmfit's community rows (``llmfit bench --share``),
* rows in the form of ``bench/data/published_decode_speed.json``.

A row that measures something else, or lacks what decides its speed, becomes a `Refused` with the
reason: nothing is dropped in silence, and nothing is guessed. Pure: text in, values out.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from claimfit.errors import InputError
from claimfit.manifests.reader import read_documents
from claimfit.sizing import llama_bench
from claimfit.sizing.measured import Given, Measured, Refused, count_field, rate_field, text_field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claimfit.manifests.reader import Value
    from claimfit.sizing.measured import Row

__all__ = ["read_measurements"]

_WALL_CLOCK_ENGINES: Final = {
    "llamacpp": "llama.cpp",
    "llama.cpp": "llama.cpp",
    "ollama": "llama.cpp",
    "lmstudio": "llama.cpp",
    "vllm": "vllm",
    "sglang": "sglang",
}
_INTERRUPTED_BY_PROMPTS: Final = 1.0
"""Prompt tokens per answer token up to which a batch's decode speed is taken as measured."""


def read_measurements(text: str, place: str, given: Given) -> list[Measured | Refused]:
    """Return every row of `text`, in order.

    Raises:
        InputError: CAL001 when `text` has none of the known forms; MAN001 to MAN008 when it is
            broken JSON.
    """
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith(("[", "{")):
        return [_from_object(row, at, given) for row, at in _json_rows(start, place)]
    if re.search(r"^\|.*\bt/s\b.*\|\s*$", text, re.MULTILINE):
        return list(llama_bench.from_markdown(text, place, given))
    if "avg_ts" in start.split("\n", 1)[0]:
        return list(llama_bench.from_csv(start, place, given))
    raise InputError(
        "CAL001",
        "not the output of a benchmark that claimfit reads",
        place=place,
        found=start[:60],
        expected="llama-bench (json, jsonl, csv, md), vllm bench serve or latency (JSON), "
        "llmfit community rows, or rows with decode_tps",
    )


def _json_rows(text: str, place: str) -> Iterator[tuple[Row, str]]:
    """Yield the row objects of a JSON text, or of JSON lines, with their places."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and all(line.startswith("{") and line.endswith("}") for line in lines):
        values: list[Value] = [read_documents(line, place)[0].value for line in lines]
    else:
        value = read_documents(text, place)[0].value
        values = value if isinstance(value, list) else [value]
    number = 0
    for value in values:
        for row in _rows_of(value):
            number += 1
            yield row, f"{place} row {number}"


def _rows_of(value: Value) -> Iterator[Row]:
    """Yield the rows of one JSON value; a wrapper's own fields are added to each of its rows."""
    if not isinstance(value, dict):
        yield {}
        return
    rows = next(
        (
            item
            for key, item in value.items()
            if isinstance(item, list)
            and item
            and all(isinstance(row, dict) for row in item)
            and key in {"rows", "results", "models", "benchmarks", "runs"}
        ),
        None,
    )
    if rows is None:
        yield value
        return
    common: Row = {key: item for key, item in value.items() if not isinstance(item, list)}
    hardware = common.pop("hardware", None)
    if isinstance(hardware, dict):
        common |= hardware
    for row in rows:
        assert isinstance(row, dict)  # noqa: S101  # chosen so above
        yield {**common, **row}


def _from_object(row: Row, place: str, given: Given) -> Measured | Refused:
    if "avg_ts" in row:
        return llama_bench.from_row(row, place, given)
    if "mean_tpot_ms" in row or "median_tpot_ms" in row:
        return _vllm_serve(row, place, given)
    if "avg_latency" in row:
        return _vllm_latency(row, place, given)
    if "tokens_per_second" in row and "requests_per_second" in row:
        return Refused(place, "vllm bench throughput tells no speed of a stream; use bench serve")
    if "avgTps" in row:
        return _llmfit_community(row, place, given)
    if "decode_tps" in row:
        return _decode_row(row, place, given)
    return Refused(place, "no field of a benchmark that claimfit reads")


# -- vLLM -------------------------------------------------------------------------------------


def _vllm_serve(row: Row, place: str, given: Given) -> Measured | Refused:
    tpot = rate_field(row, "median_tpot_ms") or rate_field(row, "mean_tpot_ms")
    completed = count_field(row, "completed")
    prompts, answers = (
        count_field(row, "total_input_tokens"),
        count_field(row, "total_output_tokens"),
    )
    if tpot is None or not completed or prompts is None or not answers:
        return Refused(place, "TPOT, completed requests or token totals are missing or unusable")
    if any("spec_decode" in key or "speculative" in key for key in row):
        return Refused(place, "speculative decoding")
    most = given.concurrency or count_field(row, "max_concurrency")
    if not most:
        return Refused(place, "max_concurrency is not set: give --concurrency")
    mean_input, mean_output = prompts / completed, answers / completed
    if most > 1 and mean_input > _INTERRUPTED_BY_PROMPTS * mean_output:
        return Refused(place, "prompts longer than answers interrupt the decoding of a batch")
    throughput = rate_field(row, "output_throughput")
    # Little's law: streams that decode at one moment; fewer than the limit at a fixed request rate.
    streams = most if throughput is None else math.ceil(throughput * tpot / 1000.0 - 0.5)
    return Measured(
        model=given.model or text_field(row, "model_id"),
        model_bytes=0,
        quantization=given.quantization,
        device=given.device,
        engine=given.engine or ("sglang" if text_field(row, "backend") == "sglang" else "vllm"),
        engine_version="",
        gpu_layers=-1,
        kv_dtype="",
        context_tokens=max(1, round(mean_input + mean_output / 2)),
        concurrency=max(1, min(most, streams)),
        tensor=given.tensor
        or count_field(row, "tensor_parallel_size")
        or count_field(row, "tp")
        or 1,
        tokens_per_second=1000.0 / tpot,
        place=place,
    )


def _vllm_latency(row: Row, place: str, given: Given) -> Measured | Refused:
    """A whole batch from prompt to last token; the file names neither model nor lengths."""
    seconds = rate_field(row, "avg_latency")
    if seconds is None:
        return Refused(place, "avg_latency is no usable number")
    if not (given.model and given.output_tokens and given.input_tokens and given.concurrency):
        return Refused(
            place,
            "vllm bench latency writes no model, lengths or batch: "
            "give --model, --input-tokens, --output-tokens and --concurrency",
        )
    if given.output_tokens < given.input_tokens:
        return Refused(
            place, "the prompt takes much of the time: use at least as many answer tokens"
        )
    return Measured(
        model=given.model,
        model_bytes=0,
        quantization=given.quantization,
        device=given.device,
        engine=given.engine or "vllm",
        engine_version="",
        gpu_layers=-1,
        kv_dtype="",
        context_tokens=given.input_tokens + given.output_tokens // 2,
        concurrency=given.concurrency,
        tensor=given.tensor or 1,
        tokens_per_second=given.output_tokens / seconds,
        place=place,
    )


# -- rows of llmfit and of this repository ----------------------------------------------------


def _llmfit_community(row: Row, place: str, given: Given) -> Measured | Refused:
    speed = rate_field(row, "avgTps")
    if speed is None:
        return Refused(place, "avgTps is no usable number")
    provider = text_field(row, "provider").lower()
    engine = given.engine or _WALL_CLOCK_ENGINES.get(provider, "")
    if not engine:
        return Refused(place, f"no profile for provider {provider or 'unknown'}")
    if (count_field(row, "gpuCount") or 1) > 1 and not given.tensor:
        return Refused(place, "ran on several devices: give --tp when it was tensor-parallel")
    tokens = rate_field(row, "avgOutputTokens")
    return Measured(
        model=given.model or text_field(row, "model"),
        model_bytes=0,
        quantization=given.quantization,
        device=given.device or text_field(row, "hardwareName"),
        engine=engine,
        engine_version="",
        gpu_layers=-1,
        kv_dtype="",
        context_tokens=max(1, round((tokens or 256) / 2)),
        concurrency=1,
        tensor=given.tensor or 1,
        tokens_per_second=speed,
        place=place,
    )


def _decode_row(row: Row, place: str, given: Given) -> Measured | Refused:
    speed = rate_field(row, "decode_tps")
    if speed is None:
        return Refused(place, "decode_tps is no usable number")
    quality = row.get("quality")
    if isinstance(quality, list) and quality:
        return Refused(place, "marked " + ", ".join(str(item) for item in quality))
    if row.get("spec_decode") or row.get("fits_gpu") is False:
        return Refused(place, "speculative decoding, or not wholly on the device")
    runtime = text_field(row, "runtime").lower()
    engine = given.engine or _WALL_CLOCK_ENGINES.get(runtime, "")
    if not engine:
        return Refused(place, f"no profile for runtime {runtime or 'unknown'}")
    tensor = given.tensor or count_field(row, "tensor_parallel") or 1
    if (count_field(row, "gpu_count") or 1) > tensor:
        return Refused(place, "ran on several devices: give --tp when it was tensor-parallel")
    context = count_field(row, "context")
    generated = rate_field(row, "out_tokens")
    return Measured(
        model=given.model or text_field(row, "catalog") or text_field(row, "model"),
        model_bytes=0,
        quantization=given.quantization or text_field(row, "quant"),
        device=given.device or text_field(row, "hardware"),
        engine=engine,
        engine_version="",
        gpu_layers=-1,
        kv_dtype="",
        context_tokens=max(1, context or round((generated or 256) / 2)),
        concurrency=max(1, count_field(row, "batch") or 1),
        tensor=tensor,
        tokens_per_second=speed,
        place=place,
    )
