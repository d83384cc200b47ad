"""Reads the output of llama-bench: rows of its JSON, its CSV and its Markdown table.

Fields as tools/llama-bench/README.md of llama.cpp shows them. Only text generation on one device
counts: prompt tests, layers or experts on the CPU and several devices are refused with the reason.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Final

from claimfit.errors import InputError
from claimfit.sizing.measured import (
    LARGEST_RATE,
    Given,
    Measured,
    Refused,
    count_field,
    finite,
    integer_field,
    rate_field,
    text_field,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claimfit.sizing.measured import Row

__all__ = ["from_csv", "from_markdown", "from_row"]


def from_row(row: Row, place: str, given: Given) -> Measured | Refused:
    """Return what one row of llama-bench's JSON or CSV measures, or why it is no use."""
    generated, prompt = count_field(row, "n_gen"), count_field(row, "n_prompt")
    speed = rate_field(row, "avg_ts")
    if generated is None or prompt is None or speed is None:
        return Refused(place, "n_gen, n_prompt or avg_ts is missing or no usable number")
    if generated == 0 or prompt > 0:
        return Refused(place, "measures the prompt, not decoding")
    offloaded = _offload(row)
    if offloaded:
        return Refused(place, offloaded)
    device = given.device or text_field(row, "gpu_info")
    if not given.device and "," in device:
        return Refused(place, "ran on several devices, layer by layer")
    layers = integer_field(row, "n_gpu_layers")
    return Measured(
        model=given.model or text_field(row, "model_filename"),
        model_bytes=count_field(row, "model_size") or 0,
        quantization=given.quantization,
        device=device,
        engine=given.engine or "llama.cpp",
        engine_version=f"b{count_field(row, 'build_number') or 0}",
        gpu_layers=-1 if layers is None else layers,
        kv_dtype=text_field(row, "type_k"),
        context_tokens=(count_field(row, "n_depth") or 0) + max(1, generated // 2),
        concurrency=1,
        tensor=1,
        tokens_per_second=speed,
        place=place,
        samples=False,
    )


def _offload(row: Row) -> str:
    """Return why a llama-bench row did not run wholly on the device, or nothing."""
    backends = {item.strip() for item in text_field(row, "backends").split(",") if item.strip()}
    if backends and backends <= {"CPU", "BLAS"}:
        return "ran on the CPU"
    if count_field(row, "n_cpu_moe"):
        return "experts ran on the CPU (n_cpu_moe)"
    if row.get("no_kv_offload") in (True, "1", "true"):
        return "the cache was in host memory (no_kv_offload)"
    return ""


def from_csv(text: str, place: str, given: Given) -> Iterator[Measured | Refused]:
    """Yield the rows of llama-bench's CSV; raises `InputError` CAL001 when it is broken."""
    try:
        rows = list(csv.DictReader(io.StringIO(text), strict=True))
    except csv.Error as error:
        raise InputError("CAL001", "broken CSV", place=place, found=str(error)) from None
    for number, cells in enumerate(rows, 1):
        row: Row = {key: value for key, value in cells.items() if key and isinstance(value, str)}
        yield from_row(row, f"{place} row {number}", given)


_DEVICE_LINE: Final = re.compile(
    r"^\s*(?:Device \d+: (?P<cuda>[^,\n]+),|ggml_vulkan: \d+ = (?P<vulkan>[^(|\n]+)\()",
    re.MULTILINE,
)
_SIZE: Final = re.compile(r"^([0-9.]{1,12}) (MiB|GiB)$")


def from_markdown(text: str, place: str, given: Given) -> Iterator[Measured | Refused]:
    """Yield the rows of llama-bench's table. It names an architecture, never a model."""
    devices = [(hit["cuda"] or hit["vulkan"]).strip() for hit in _DEVICE_LINE.finditer(text)]
    device = given.device or (devices[0] if len(devices) == 1 else "")
    header: list[str] = []
    models: set[str] = set()
    number = 0
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.lstrip().startswith("|") or all(set(cell) <= set("-: ") for cell in cells):
            continue
        if "t/s" in cells and "test" in cells:
            header = cells
            continue
        if len(cells) != len(header):
            continue
        number += 1
        at = f"{place} row {number}"
        fields = dict(zip(header, cells, strict=True))
        models.add(fields.get("model", ""))
        if len(models) > 1:
            yield Refused(at, "a table of several models: give each with --model in its own file")
            continue
        yield _markdown_row(fields, at, device, given)


_TYPE: Final = re.compile(
    r"\b[0-9.?]+B (?:mostly )?(?:UD-)?([A-Z0-9_]+)(?: - (Small|Medium|Large))?"
)


def _type_name(model: str) -> str:
    """Return the file type in the first column: `qwen2 7B Q4_K - Medium` is Q4_K_M."""
    found = _TYPE.search(model)
    if found is None:
        return ""
    return found[1] + (f"_{found[2][0]}" if found[2] else "")


_TEST: Final = re.compile(r"^tg ?(\d{1,7})(?: ?@ ?d(\d{1,8}))?$")


def _markdown_row(
    fields: dict[str, str], place: str, device: str, given: Given
) -> Measured | Refused:
    test = _TEST.match(fields.get("test", ""))
    if test is None:
        return Refused(place, "measures the prompt, not decoding")
    speed = finite(fields["t/s"].split("±")[0].strip())
    size = _SIZE.match(fields.get("size", ""))
    unit = 0 if size is None else 1 << (30 if size[2] == "GiB" else 20)
    size_number = None if size is None else finite(size[1])
    if speed is None or not 0 < speed <= LARGEST_RATE:
        return Refused(place, "t/s is no usable number")
    if fields.get("backend", "").split(",")[0] in {"CPU", "BLAS"}:
        return Refused(place, "ran on the CPU")
    layers = finite(fields.get("ngl", "-1"))
    return Measured(
        model=given.model,
        model_bytes=int((size_number or 0) * unit),
        quantization=given.quantization or _type_name(fields.get("model", "")),
        device=device,
        engine=given.engine or "llama.cpp",
        engine_version="",
        gpu_layers=-1 if layers is None else int(layers),
        kv_dtype=fields.get("type_k", ""),
        context_tokens=int(test[2] or 0) + max(1, int(test[1]) // 2),
        concurrency=1,
        tensor=1,
        tokens_per_second=speed,
        place=place,
        samples=False,
    )
