"""Measured decode speeds as rows that the fit and the accuracy study read.

Three sources:

* rows in the form of decode_speed.json (``../shared/data``, or any file given),
* ``bench/data/published_decode_speed.json`` in this repository,
* the silicon samples that the package aiconfigurator-core ships (Apache-2.0).

A row that cannot be used is counted under its reason; nothing is dropped in silence.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from claimfit.cli.model_sources import model_sources
from claimfit.errors import ClaimfitError
from claimfit.hardware.accelerators import accelerator
from claimfit.hardware.facts import Accelerator
from claimfit.model.catalogue import built_in
from claimfit.model.config import facts_from_config
from claimfit.model.lookup import Sources, find_model
from claimfit.model.quantization import quantization
from claimfit.sizing.matching import file_stem, model_names
from claimfit.sizing.plan import EngineChoice, Parallelism, Workload
from claimfit.sizing.traffic import StepTraffic, step_traffic
from claimfit.sizing.weights import loaded_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.model.facts import ModelFacts

ROOT = Path(__file__).resolve().parents[1]
SHARED_ROWS = ROOT.parent / "shared" / "data" / "decode_speed.json"
PUBLISHED_ROWS = ROOT / "bench" / "data" / "published_decode_speed.json"
ALIASES = ROOT / "bench" / "data" / "decode_models.json"

ENGINES = {"llamacpp": "llama.cpp", "ollama": "llama.cpp", "vllm": "vllm", "sglang": "sglang"}
SILICON_DEVICES = {
    "h100_sxm": "nvidia-h100-sxm",
    "h200_sxm": "nvidia-h200",
    "b200_sxm": "nvidia-b200",
    "b300_sxm": "nvidia-b300",
}
SILICON_QUANTIZATIONS = {"fp8": "FP8", "fp4": "NVFP4", "int4": "INT4", "bf16": "BF16", "": "BF16"}
NVFP4_CHECKPOINTS = {
    "deepseek-ai/DeepSeek-R1": "nvidia/DeepSeek-V3.1-NVFP4",
    "deepseek-ai/DeepSeek-V3": "nvidia/DeepSeek-V3.1-NVFP4",
    "MiniMaxAI/MiniMax-M2.5": "nvidia/MiniMax-M2.5-NVFP4",
    "Qwen/Qwen3.5-397B-A17B": "nvidia/Qwen3.5-397B-A17B-NVFP4",
    "moonshotai/Kimi-K2.5": "nvidia/Kimi-K2.5-NVFP4",
}
SAME_CONFIG = {
    "meta-llama/Llama-3.1-8B-Instruct": "meta-llama/Meta-Llama-3.1-8B",
    "nvidia/Llama-3.1-8B-Instruct-FP8": "meta-llama/Meta-Llama-3.1-8B",
    "meta-llama/Llama-3.1-70B": "meta-llama/Meta-Llama-3.1-70B",
    "zhipuai/GLM-5": "zai-org/GLM-5",
}
SAME_BANDWIDTH = 0.1
MOST_SEQUENCES = 256
"""Beyond, requests queue: some samples at 512 measure the queue."""
LONGEST_WAIT = 0.2
"""Share of a request's time before its first token; beyond, fewer requests decode than are stated.
"""
LONGEST_PROMPTS = 8.0
"""Prompt tokens per answer token; beyond, a row tells how prompts are scheduled, not decoding."""
SHORTEST_SHARE = 0.8
"""InferenceMAX draws each length between 0.8 and 1.0 of the nominal one (RANDOM_RANGE_RATIO in the
README of jyothisambolu/InferenceMAX): 0.9 on average. The other samples have fixed lengths."""
USABLE_MEMORY = 0.9
"""Where weights and cache need more, requests wait, and fewer run than the row says."""


class Row(NamedTuple):
    """One measurement with everything a prediction needs."""

    device: Accelerator
    engine: EngineChoice
    model: ModelFacts
    workload: Workload
    parallelism: Parallelism
    traffic: StepTraffic
    tokens_per_second: float
    source: str
    label: str

    @property
    def architecture(self) -> str:
        """What is left out together: models of one type, large and small."""
        return self.model.architecture

    @property
    def milliseconds(self) -> float:
        """Measured time of a step."""
        return 1000.0 / self.tokens_per_second


class Rows(NamedTuple):
    """Usable rows, and how many of the others there are per reason."""

    rows: list[Row]
    refused: Counter[str]


def decode_rows(path: Path) -> Rows:
    """Return the rows of a file in the form of decode_speed.json."""
    document = json.loads(path.read_text(encoding="utf-8"))
    items = document["rows"] if isinstance(document, dict) else document
    rows: list[Row] = []
    refused: Counter[str] = Counter()
    for item in items:
        found = _decode_row(item, path.name)
        if isinstance(found, str):
            refused[found] += 1
        else:
            rows.append(found)
    return Rows(rows, refused)


def _decode_row(item: dict[str, Any], source: str) -> Row | str:
    runtime = str(item.get("runtime") or "")
    engine = ENGINES.get(runtime)
    if engine is None:
        return f"runtime {runtime}"
    # "above-roofline" and "active-unknown" say that whoever wrote the row did not know the active
    # parameters; the catalogue does.
    marks = [mark for mark in item.get("quality") or [] if mark not in OTHERS_IGNORANCE]
    if marks:
        return f"marked {marks[0]}"
    if item.get("spec_decode"):
        return "speculative decoding"
    speed = item.get("decode_tps")
    if not isinstance(speed, (int, float)) or not speed > 0:
        return "no decode_tps"
    tensor = int(item.get("tensor_parallel") or 1)
    if int(item.get("gpu_count") or 1) > tensor:
        return "several devices without tensor parallelism"
    device = _device(item)
    model, quant = _model(item)
    if model is None:
        return "unknown model"
    if not quant:
        return "unknown quantization"
    context = item.get("context") or (item.get("out_tokens") or 256) / 2 + 40
    workload = Workload(max(1, round(context)), int(item.get("batch") or 1), quant)
    return _row(device, EngineChoice(engine), model, workload, Parallelism(tensor), speed, source)


OTHERS_IGNORANCE = {"above-roofline", "active-unknown"}


def _row(
    device: Accelerator,
    engine: EngineChoice,
    model: ModelFacts,
    workload: Workload,
    parallelism: Parallelism,
    speed: float,
    source: str,
) -> Row | str:
    try:
        traffic = step_traffic(model, engine, workload, parallelism)
    except ClaimfitError as error:
        return error.message
    label = f"{model.name} {workload.quantization or model.quantization}"
    return Row(device, engine, model, workload, parallelism, traffic, float(speed), source, label)


def _device(item: dict[str, Any]) -> Accelerator:
    """Return the table's accelerator, or one made of what the row itself says."""
    name = str(item.get("hardware") or "")
    peak = item.get("memory_bandwidth_GBs")
    try:
        found = accelerator(name)
    except ClaimfitError:
        return unlisted(name, peak, item.get("tflops"))
    known = found.bandwidth_gbs or 0.0
    # A product of another bandwidth is another product ("4070 Ti" is no "4070 Ti SUPER").
    same = not isinstance(peak, (int, float)) or abs(known - peak) <= SAME_BANDWIDTH * peak
    return found if same else unlisted(name, peak, item.get("tflops"))


def unlisted(name: str, bandwidth_gbs: float | None, tflops: float | None = None) -> Accelerator:
    """Return an accelerator that the table lacks: vendor and kind of memory from its name."""
    words = re.sub(r"[^a-z0-9]+", " ", name.lower()).split()
    vendor = next(
        (
            maker
            for maker, marks in {
                "nvidia": ("nvidia", "geforce", "rtx", "gtx", "tesla", "quadro"),
                "amd": ("amd", "radeon", "instinct"),
                "apple": ("apple", "m1", "m2", "m3", "m4", "m5"),
                "intel": ("intel", "arc"),
            }.items()
            if any(mark in words for mark in marks)
        ),
        "unknown",
    )
    integrated = {"8060s", "890m", "880m", "780m", "760m", "680m", "130v", "140v", "graphics"}
    unified = vendor == "apple" or any(word in integrated for word in words)
    identifier = "-".join(
        [vendor, *(word for word in words if word not in {vendor, "geforce", "radeon"})]
    )
    return Accelerator(
        id=identifier,
        vendor=vendor,
        name=name,
        memory_mib=None,
        memory_known_mib=None,
        memory_visible_mib=None,
        bandwidth_gbs=bandwidth_gbs,
        tflops_fp16=tflops,
        tflops_fp8=None,
        tflops_fp4=None,
        link_gbs=None,
        parent="",
        profile="",
        memory_slices=0,
        published=(),
        unified_memory=unified,
        sources=(),
        uncertain=(),
    )


@cache
def _sources() -> Sources:
    return Sources(built_in())


@cache
def _llmfit() -> Sources:
    """Return llmfit's catalogue too, for rows of models that ours lacks."""
    return model_sources("", {"HOME": str(Path.home()), "XDG_CONFIG_HOME": os.devnull})


@cache
def _aliases() -> tuple[tuple[re.Pattern[str], str], ...]:
    table = json.loads(ALIASES.read_text(encoding="utf-8"))["patterns"]
    return tuple((re.compile(pattern, re.IGNORECASE), name) for pattern, name in table)


@cache
def named_model(name: str) -> ModelFacts | None:
    """Return the catalogue's model of this name, of its file name, or that it is tuned from."""
    for candidate in model_names(name):
        if candidate.endswith(".gguf"):
            continue
        try:
            return find_model(candidate, _sources())
        except ClaimfitError:
            continue
    for pattern, base in _aliases():
        if pattern.search(name):
            try:
                return find_model(base, _sources())
            except ClaimfitError:
                break
    try:
        found = find_model(name, _llmfit()) if "/" in name else None
    except ClaimfitError:
        return None
    return found


def _model(item: dict[str, Any]) -> tuple[ModelFacts | None, str]:
    names = [str(item[key]) for key in ("catalog", "model") if item.get(key)]
    found = next((model for model in map(named_model, names) if model is not None), None)
    quant = str(item.get("quant") or file_stem(str(item.get("model") or ""))[1])
    try:
        return found, quantization(quant).name if quant else ""
    except ClaimfitError:
        return found, ""


# -- aiconfigurator ---------------------------------------------------------------------------


def silicon_rows() -> Rows:
    """Return the decode rows of aiconfigurator's silicon samples for vLLM and SGLang.

    Aggregated serving of one group on one node. The same measurement stands in the file up to four
    times, under several names of a model or of its parallelism; one is kept.
    """
    spec = importlib.util.find_spec("aiconfigurator_core")
    if spec is None or spec.origin is None:
        return Rows([], Counter({"aiconfigurator-core is not installed": 1}))
    base = Path(spec.origin).parent
    with (base / "systems" / "silicon_sample.csv").open(newline="", encoding="utf-8") as file:
        items = list(csv.DictReader(file))
    dumped = _dumped(items)
    rows: list[Row] = []
    refused: Counter[str] = Counter()
    seen: set[tuple[object, ...]] = set()
    for item in items:
        found = _silicon_refusal(item, dumped) or _silicon_row(item, base / "model_configs")
        if isinstance(found, str):
            refused[found] += 1
            continue
        key = (*_silicon_group(item), found.workload, found.parallelism)
        key += (round(found.milliseconds, 1),)
        if key in seen:
            refused["the same measurement again"] += 1
            continue
        seen.add(key)
        rows.append(found)
    return Rows(rows, refused)


def _silicon_group(item: dict[str, str]) -> tuple[str, ...]:
    name = item["model_path"].replace("DeepSeek-R1", "DeepSeek-V3")  # one architecture, two weights
    return item["backend"], item["system"], name, item["precision"]


def _silicon_values(item: dict[str, str]) -> tuple[str, ...]:
    return item["isl"], item["osl"], item["batch_size"], f"{float(item['silicon_tpot_ms']):.2f}"


def _dumped(items: Sequence[dict[str, str]]) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    """Return the measurements that stand in the dump of the benchmark's database."""
    found: dict[tuple[str, ...], set[tuple[str, ...]]] = defaultdict(set)
    for item in items:
        if item["mode"] == "agg" and item["silicon_data_source"].startswith("db-dump"):
            found[_silicon_group(item)].add(_silicon_values(item))
    return found


def _silicon_refusal(
    item: dict[str, str], dumped: dict[tuple[str, ...], set[tuple[str, ...]]]
) -> str:
    """Return why a sample is no row, empty when it may be one."""
    if item["backend"] not in {"vllm", "sglang"} or item["system"] not in SILICON_DEVICES:
        return "other engine or device"
    if item["mode"] != "agg" or item["attention_dp_size"] not in {"", "0", "1"}:
        return "separate prefill or data parallelism"
    prompt, answer, batch = int(item["isl"]), int(item["osl"]), int(item["batch_size"])
    stated = re.search(r"silicon_concurrency=(\d+)", item["silicon_data_source"])
    if stated and int(stated[1]) != batch:
        return "batch differs from concurrency"
    if batch > MOST_SEQUENCES:
        return "more requests than run at once"
    waits = float(item["silicon_ttft_ms"])
    if waits > LONGEST_WAIT * (waits + answer * float(item["silicon_tpot_ms"])):
        return "requests wait for their first token"
    if batch > 1 and prompt > LONGEST_PROMPTS * answer:
        return "prompts far longer than answers"
    if _fixed_lengths(item) and prompt > answer and item["backend"] == "sglang":
        # All requests start and end together, and SGLang reads waiting prompts before it decodes
        # on: the prompts are over when the answers begin.
        return "requests of one length in step"
    known = dumped.get(_silicon_group(item))
    if item["backend"] == "sglang" and known and _silicon_values(item) not in known:
        # The spreadsheets hold series that the database of the same runs lacks: 1.3 times faster
        # per stream at 4 requests and slower at 256 than those it has. Its files mark speculative
        # decoding, the spreadsheets do not.
        return "may be speculative: not in the database"
    if _ranks(item) > 8:
        return "more than one node"
    if _ranks(item) == 0:
        return "contradictory parallelism"
    return ""


def _fixed_lengths(item: dict[str, str]) -> bool:
    return "gap-analysis" in item["silicon_data_source"]


def _ranks(item: dict[str, str]) -> int:
    """Return the devices of a sample, 0 when its columns contradict each other.

    With expert parallelism some rows state tensor x expert ranks (64 of 8 devices).
    """
    tensor = int(item["tp_size"])
    tensor_of_experts = int(item["moe_tp_size"] or 0)
    expert = int(item["moe_ep_size"] or 0)
    if tensor_of_experts * expert in {0, 1, tensor}:
        return tensor_of_experts if tensor_of_experts > 1 and expert > 1 else tensor
    return 0


def _silicon_row(item: dict[str, str], configs: Path) -> Row | str:
    precision = item["precision"]
    name = item["model_path"]
    quant = SILICON_QUANTIZATIONS[precision]
    if name.startswith("openai/gpt-oss") or precision == "int4":
        quant = ""
    if precision == "fp4" and name in NVFP4_CHECKPOINTS:
        name, quant = NVFP4_CHECKPOINTS[name], ""
    if name.endswith("-FP8"):
        quant = "FP8"
    model = _configured(SAME_CONFIG.get(name, name), configs)
    if isinstance(model, str):
        return model
    share = 1.0 if _fixed_lengths(item) else (1 + SHORTEST_SHARE) / 2
    prompt, answer = share * int(item["isl"]), share * int(item["osl"])
    workload = Workload(
        round(prompt + answer / 2), int(item["batch_size"]), quant, prompt_ratio=prompt / answer
    )
    speed = 1000.0 / float(item["silicon_tpot_ms"])
    engine = EngineChoice(item["backend"], item["backend_version"])
    device = accelerator(SILICON_DEVICES[item["system"]])
    found = _row(
        device, engine, model, workload, Parallelism(_ranks(item)), speed, "aiconfigurator"
    )
    if isinstance(found, Row) and not _fits(found, (prompt + answer) / workload.context_tokens):
        return "requests wait for memory"
    return found


def _fits(row: Row, longest: float) -> bool:
    """Return whether all requests are resident when each grows to `longest` of its mean length."""
    weights = loaded_weights(row.model, row.workload.quantization, row.engine.name).split.total
    need = weights / row.parallelism.tensor + row.traffic.cache_bytes * longest
    return need <= USABLE_MEMORY * (row.device.memory_mib or 0) * 2**20


@cache
def _configured(name: str, configs: Path) -> ModelFacts | str:
    path = configs / f"{name.replace('/', '--')}_config.json"
    if not path.exists():
        return f"no configuration of {name}"
    config = json.loads(path.read_text(encoding="utf-8"))
    quant = path.with_name(path.name.replace("_config.json", "_hf_quant_config.json"))
    if quant.exists() and "quantization_config" not in config:
        apart = json.loads(quant.read_text(encoding="utf-8"))
        config["quantization_config"] = apart["quantization"]
    try:
        return facts_from_config(
            config, name=name, repository=name, origin="folder", place=path.name
        )
    except ClaimfitError as error:
        return f"{name}: {error.message}"
