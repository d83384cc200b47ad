"""Cross-validation of memory sizing against measured engine start-ups (goals A3, A4, A5).

    python bench/accuracy_memory.py                        tables of ../shared/data
    python bench/accuracy_memory.py --rows FILE            the same for other rows of that form
    python bench/accuracy_memory.py --write                also writes docs/accuracy-memory.md

A row is judged by bytes per device: what the engine says it took (weights, peak activation, memory
outside the framework, captured graphs) plus the cache of one request of max_model_len, from the
pool's size and its tokens. With pipeline stages the device that limits the pool is judged: budget
less the bytes that its tokens take.

Two verdicts stand side by side: with the coefficients that claimfit ships, and with coefficients
fitted on the other architectures only. Margins are never refitted.

Facts of a row's model come from the catalogue, else from bench/memory_models.json, else from a
`config` object in the row; a row without facts is listed, not dropped silently.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from claimfit.errors import ClaimfitError
from claimfit.model.catalogue import built_in
from claimfit.model.config import facts_from_config
from claimfit.model.lookup import Sources, find_model
from claimfit.model.quantization import quantization
from claimfit.model.weights import weight_split
from claimfit.sizing import overhead
from claimfit.sizing.engines import EngineProfile, Overheads, profile
from claimfit.sizing.kv_cache import CachePlan, cache_dtype, cache_need, pool_bytes_per_token
from claimfit.sizing.memory import size_with
from claimfit.sizing.plan import DeviceNeed, EngineChoice, Parallelism, Workload
from claimfit.sizing.weights import element_bytes, stage_layers
from claimfit.units import GIB, MIB, Bytes

if TYPE_CHECKING:
    from claimfit.model.facts import ModelFacts

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = REPOSITORY.parent / "shared" / "data"
PAGE = REPOSITORY / "docs" / "accuracy-memory.md"
CONFIGURATIONS = REPOSITORY / "bench" / "memory_models.json"

SCHEMES = {"fp8": "FP8", "w8a8": "INT8", "w4a16": "INT4", "mxfp4": "", "awq": "AWQ-INT4"}
"""Last word of a row's `quant` -> quantization; MXFP4 is how its models are published."""
SUFFIXES = ("-fp8-dynamic", "-quantized.w8a8", "-quantized.w4a16", "-fp8", "-quantized.w8a16")


class Case(NamedTuple):
    """One measured start-up with the facts of its model."""

    row: dict[str, Any]
    model: ModelFacts
    workload: Workload
    parallelism: Parallelism
    memory: Bytes
    truth: float
    """GiB per device."""

    @property
    def architecture(self) -> str:
        """What is left out together."""
        return self.model.architecture


class Verdict(NamedTuple):
    """What sizing said about one case."""

    case: Case
    need: DeviceNeed

    @property
    def error(self) -> float:
        """Expected over truth, less one."""
        return self.need.total.expected / GIB / self.case.truth - 1

    @property
    def over(self) -> float:
        """High over truth, less one; negative is an under-estimate."""
        return self.need.total.high / GIB / self.case.truth - 1


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Path, nargs="*", default=[SHARED / "vllm_memory.json"])
    parser.add_argument("--sizes", type=Path, default=SHARED / "exact_sizes.json")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} too")
    options = parser.parse_args(arguments)
    missing = [str(path) for path in options.rows if not path.exists()]
    if missing:
        print(f"no such file: {', '.join(missing)}", file=sys.stderr)
        return 2
    cases, unknown = read_cases(options.rows)
    training, _ = read_cases([path for path in [SHARED / "vllm_memory.json"] if path.exists()])
    report = Report()
    report.title(len(cases), unknown)
    good = memory_tables(report, cases, training or cases)
    coefficient_table(report, cases)
    good &= cache_table(report, cases)
    good &= weight_table(report, options.sizes)
    text = report.text()
    print(text)
    if options.write:
        PAGE.write_text(text, encoding="utf-8")
    return 0 if good else 1


# ---- rows and facts


def read_cases(paths: list[Path]) -> tuple[list[Case], list[str]]:
    """Return the cases of all files, and the models that have no facts."""
    cases, unknown = [], []
    for path in paths:
        for row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
            try:
                cases.append(read_case(row))
            except (ClaimfitError, KeyError) as error:
                unknown.append(f"{row.get('model')}: {error}")
    return cases, sorted(set(unknown))


def read_case(row: dict[str, Any]) -> Case:
    """Return the case of one row. Raises ClaimfitError when its model has no facts."""
    model = facts(row["model"], row.get("config"))
    small = "a100" in row["gpu"].lower()  # vLLM keeps the small defaults on every A100
    workload = Workload(
        row["max_model_len"],
        quantization=quantization_of(row, model),
        kv_dtype="" if row["kv_cache_dtype"] == "auto" else row["kv_cache_dtype"],
        gpu_memory_utilization=row["gpu_memory_utilization"],
        max_batched_tokens=row.get("max_num_batched_tokens") or (2048 if small else 0),
        max_sequences=row.get("max_num_seqs") or (256 if small else 0),
    )
    parts = row["weights_GiB"] + row["activation_GiB"] + row["non_torch_GiB"]
    one = row["kv_cache_GiB"] / row["kv_cache_tokens"] * row["max_model_len"]
    heaviest = max(row["non_kv_total_GiB"], parts)
    parallelism = Parallelism(row["tp"], row["pp"])
    memory = Bytes.of_gib(row["total_GiB"])
    case = Case(row, model, workload, parallelism, memory, 0.0)
    if parallelism.pipeline > 1:
        # The row's figures are of some stage; the pool's tokens are of the one that has least room.
        pool = row["kv_cache_tokens"] * pool_per_token(case) / GIB
        heaviest = max(heaviest, row["total_GiB"] * row["gpu_memory_utilization"] - pool)
    return case._replace(truth=heaviest + row["cuda_graph_actual_GiB"] + one)


def quantization_of(row: dict[str, Any], model: ModelFacts) -> str:
    """Return the quantization that the row ran with; empty when it is the model's own."""
    if row["dtype"] == "f32":
        return "F32"
    scheme = SCHEMES[row["quant"].split()[-1]] if row["quant"] else ""
    return "" if scheme and scheme == model.quantization else scheme


def facts(name: str, config: dict[str, object] | None = None) -> ModelFacts:
    """Return the facts of a model: catalogue, study file or the row's own configuration."""
    base = name
    for suffix in SUFFIXES:
        if base.lower().endswith(suffix):
            base = base[: -len(suffix)]
    if config is not None:
        return from_config(name, config)
    study = json.loads(CONFIGURATIONS.read_text(encoding="utf-8"))["models"]
    short = base.split("/")[-1].lower().removeprefix("meta-")
    candidates = (name, base, *((short,) if base != name else ()))
    for candidate in candidates:
        try:
            return find_model(candidate, Sources(built_in()))
        except ClaimfitError:
            continue
    for known, reduced in study.items():
        if known in candidates or known.split("/")[-1].lower() == short:
            return from_config(known, reduced)
    return find_model(name, Sources(built_in()))


def from_config(name: str, config: dict[str, object]) -> ModelFacts:
    """Return facts from a reduced configuration."""
    return facts_from_config(config, name=name, repository=name, origin="folder", place=name)


# ---- fitting


def fitted(cases: list[Case], base: EngineProfile) -> EngineProfile:
    """Return `base` with coefficients fitted on `cases`, shrunk to a physical prior.

    Prior of sampling: three float32 copies of the logits and two of the hidden states; of graphs:
    0.3 GiB and 10 MiB per layer.
    """
    sampling_prior = {"sampler_bytes": 12.0, "sampler_hidden": 2.0, "activation_base": 0.0}
    graph_prior = {
        "graph_base": 0.3 * GIB,
        "graph_layer": 0.01 * GIB,
        "graph_layer_hidden": 0.0,
        "graph_expert_layer": 0.01 * GIB,
    }
    single = [case for case in cases if case.parallelism.pipeline == 1]
    dominated = [
        case
        for case in single
        if overhead.sampling_peak(stage(case), base)
        > max(overhead.layer_peak(layer, stage(case), base) for layer in case.model.layers[:1])
    ]
    found = solve(dominated, "activation_GiB", sampling_prior, overhead.sampling_peak)
    found |= solve(
        cases, "cuda_graph_actual_GiB", graph_prior, lambda s, p: overhead.graphs(s, p).expected
    )
    ranks = [case for case in single if case.parallelism.tensor > 1]
    alone = [case for case in single if case.parallelism.tensor == 1]
    if ranks:
        per_rank = base.overheads.runtime_per_rank
        found["runtime_tensor"] = float(
            np.mean([c.row["non_torch_GiB"] * GIB - per_rank * c.row["tp"] for c in ranks])
        )
    if alone:
        found["runtime_single"] = float(np.median([c.row["non_torch_GiB"] * GIB for c in alone]))
    return base._replace(overheads=base.overheads._replace(**found))


def solve(cases: list[Case], field: str, prior: dict[str, float], formula: Any) -> dict[str, float]:
    """Return the coefficients in `prior` that fit `field`, by ridge regression to the prior.

    The formulas are linear in their coefficients, so a column is the formula with one of them 1.
    """
    if not cases:
        return dict(prior)
    zero = Overheads(*(0.0 for _ in Overheads._fields))
    names = list(prior)
    blank = profile(EngineChoice("vllm", "0.19"))._replace(overheads=zero)
    columns, offsets, measured = [], [], []
    for case in cases:
        at = stage(case)
        offset = formula(at, blank)
        unit = [
            formula(at, blank._replace(overheads=zero._replace(**{name: 1.0}))) - offset
            for name in names
        ]
        columns.append(unit)
        offsets.append(offset)
        measured.append(case.row[field] * GIB)
    matrix = np.array(columns, dtype=float)
    start = np.array([prior[name] for name in names])
    scale = np.where(np.abs(matrix).max(axis=0) > 0, np.abs(matrix).max(axis=0), 1.0)
    weak = 0.1 * np.eye(len(names))  # a row's worth of belief in the prior, in scaled units
    target = np.array(measured) - np.array(offsets) - matrix @ start
    step = np.linalg.lstsq(
        np.vstack([matrix / scale, weak]),
        np.concatenate([target, np.zeros(len(names))]),
        rcond=None,
    )[0]
    values = np.maximum(start + step / scale, 0.0)
    return {name: float(value) for name, value in zip(names, values, strict=True)}


def stage(case: Case) -> overhead.Stage:
    """Return the first pipeline stage (the only one without pipeline parallelism) of a case."""
    batch = profile(EngineChoice("vllm", "0.19")).batch
    defaults = [entry for entry in batch if entry.from_bytes <= case.memory][-1]
    count = stage_layers(len(case.model.layers), case.parallelism.pipeline, "vllm")[0]
    return overhead.Stage(
        case.model,
        case.model.layers[:count],
        case.parallelism.pipeline == 1,
        case.parallelism.tensor,
        case.parallelism.pipeline,
        element_bytes(case.workload.quantization),
        case.workload.context_tokens,
        1,
        defaults.batched_tokens,
        defaults.sequences,
        0,
        0,
        2.0,
    )


# ---- tables


class Report:
    """Markdown that is printed and written."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, *lines: str) -> None:
        """Append lines."""
        self._lines.extend(lines)

    def table(self, head: list[str], rows: list[list[str]]) -> None:
        """Append a table."""
        self.add("", "| " + " | ".join(head) + " |", "|" + "---|" * len(head))
        self.add(*("| " + " | ".join(row) + " |" for row in rows), "")

    def title(self, cases: int, unknown: list[str]) -> None:
        """Append the head of the page."""
        self.add(
            "# Accuracy of memory sizing",
            "",
            "Written by `python bench/accuracy_memory.py --write`; do not edit.",
            "",
            f"{cases} start-ups of vLLM, per device: weights, peak activation, memory outside the",
            "framework, captured graphs, and the cache of one request of the longest context.",
            "`high` is what a claim asks for before it is divided by the utilization.",
        )
        for line in unknown:
            self.add("", f"No facts, left out: {line}")

    def text(self) -> str:
        """Return the page."""
        return "\n".join(self._lines).rstrip() + "\n"


def memory_tables(report: Report, cases: list[Case], training: list[Case]) -> bool:
    """Append A3; return whether its goals are met for the coefficients fitted without each."""
    base = profile(EngineChoice("vllm", "0.19"))
    shipped = [judge(case, profile(choice(case))) for case in cases]
    left_out = []
    for architecture in sorted({case.architecture for case in cases}):
        others = [case for case in training if case.architecture != architecture]
        refit = fitted(others, base).overheads if others else base.overheads
        left_out += [
            judge(case, profile(choice(case))._replace(overheads=refit))
            for case in cases
            if case.architecture == architecture
        ]
    report.add(
        "",
        "## A3: memory per device",
        "",
        "Goal: no under-estimate, median error of the expected value at most 8 %, 95th percentile",
        "of high over truth at most 25 %. Left out: coefficients fitted on the other architectures",
        "of `vllm_memory.json` only.",
    )
    rows = []
    for label, verdicts in (("shipped", shipped), ("left out", left_out)):
        rows += [summary(f"all, {label}", verdicts)]
        rows += [
            summary(
                f"{architecture}, {label}",
                [v for v in verdicts if v.case.architecture == architecture],
            )
            for architecture in sorted({case.architecture for case in cases})
        ]
    report.table(
        ["rows", "n", "under", "median error", "worst error", "95 % over", "worst over"], rows
    )
    report.add("Each row, coefficients fitted without its architecture (GiB; bounds in brackets):")
    report.table(
        ["model", "TP x PP", "measured", "expected", "high", "error", "over",
         "weights", "activation", "runtime", "graphs"],
        [detail(verdict) for verdict in left_out],
    )  # fmt: skip
    return all(meets(verdicts) for verdicts in (shipped, left_out))


def coefficient_table(report: Report, cases: list[Case]) -> None:
    """Append the shipped coefficients beside the fit on every row at hand."""
    base = profile(EngineChoice("vllm", "0.19"))
    whole = fitted(cases, base).overheads
    report.add(
        "## Coefficients",
        "",
        "`claimfit.sizing.engines`, vLLM 0.19, beside a fit on all rows above; amounts in MiB.",
        "The copies of hidden states inside a layer (`layer_hidden`, `expert_hidden`) and the",
        "memory of pipeline-only replicas are set by hand: one architecture each shows them.",
    )
    rows = []
    for name in Overheads._fields:
        shipped, found = getattr(base.overheads, name), getattr(whole, name)
        unit = 1 if name.startswith("sampler") or name in ("layer_hidden", "expert_hidden") else MIB
        rows.append([name, f"{shipped / unit:.4g}", f"{found / unit:.4g}"])
    report.table(["coefficient", "shipped", "fitted"], rows)


def choice(case: Case) -> EngineChoice:
    """Return the engine of a row, written as "vllm 0.19.0"."""
    name, _, version = case.row["engine"].partition(" ")
    return EngineChoice(name, version)


def judge(case: Case, used: EngineProfile) -> Verdict:
    """Return what sizing says about `case` on its device."""
    need = size_with(used, case.model, case.workload, case.parallelism, device_memory=case.memory)
    return Verdict(case, need)


def meets(verdicts: list[Verdict]) -> bool:
    """Return whether the goals of A3 hold."""
    errors = [abs(verdict.error) for verdict in verdicts]
    overs = [verdict.over for verdict in verdicts]
    return bool(min(overs) >= 0 and np.median(errors) <= 0.08 and np.percentile(overs, 95) <= 0.25)


def summary(label: str, verdicts: list[Verdict]) -> list[str]:
    """Return one line of the A3 summary."""
    errors = [abs(verdict.error) for verdict in verdicts]
    overs = [verdict.over for verdict in verdicts]
    return [
        label,
        str(len(verdicts)),
        str(sum(1 for over in overs if over < 0)),
        f"{np.median(errors):.1%}",
        f"{max(errors):.1%}",
        f"{np.percentile(overs, 95):.1%}",
        f"{max(overs):.1%}",
    ]


def detail(verdict: Verdict) -> list[str]:
    """Return one row of the A3 detail."""
    case, need = verdict.case, verdict.need
    row = case.row

    def part(name: str, measured: float) -> str:
        found = need.component(name)
        low, expected, high = (value / GIB for value in found[:3])
        return f"{measured:.2f}: {expected:.2f} ({low:.2f}-{high:.2f})"

    settings = [row["dtype"] if row["dtype"] != "bf16" else "", row["quant"] or ""]
    settings.append("" if row["kv_cache_dtype"] == "auto" else f"KV {row['kv_cache_dtype']}")
    name = " ".join([row["model"], *(item for item in settings if item)])
    return [
        f"{name}, {row['max_model_len']}",
        f"{row['tp']} x {row['pp']}",
        f"{case.truth:.2f}",
        f"{need.total.expected / GIB:.2f}",
        f"{need.total.high / GIB:.2f}",
        f"{verdict.error:+.1%}",
        f"{verdict.over:+.1%}",
        part("weights", row["weights_GiB"]),
        part("activation", row["activation_GiB"]),
        part("runtime", row["non_torch_GiB"]),
        part("graphs", row["cuda_graph_actual_GiB"]),
    ]


def cache_table(report: Report, cases: list[Case]) -> bool:
    """Append A4; return whether the limits of every cache kind hold."""
    rows = []
    good = True
    for case in cases:
        measured = case.row["kv_cache_GiB"] * GIB / case.row["kv_cache_tokens"]
        kinds = sorted({layer.cache.kind for layer in case.model.layers} - {"none", "shared"})
        ours = pool_per_token(case)
        off = ours / measured - 1
        # A pool is printed to 0.01 GiB and its tokens are those of the stage that has fewest.
        good &= abs(off) <= (0.05 if kinds != ["full"] else 0.02)
        rows.append(
            [
                f"{case.row['model']}, {case.row['max_model_len']}",
                f"{case.row['tp']} x {case.row['pp']}",
                "+".join(kinds),
                f"{measured:,.0f}",
                f"{ours:,.0f}",
                f"{off:+.2%}",
            ]
        )
    report.add(
        "## A4: cache bytes per token",
        "",
        "Measured is the pool divided by the tokens that vLLM says it holds. Goal: 2 % for full",
        "attention, 5 % for sliding or hybrid, MLA and the tensor-parallel rule exact.",
    )
    unique = list(dict.fromkeys(tuple(row) for row in rows))
    report.table(
        ["model, context", "TP x PP", "cache", "measured", "ours", "off"],
        [list(row) for row in unique],
    )
    return good


def pool_per_token(case: Case) -> float:
    """Return pool bytes per token of the stage with most layers, as vLLM reports its pool."""
    used = profile(choice(case))
    element = element_bytes(case.workload.quantization)
    _, cache_bytes = cache_dtype(case.workload.kv_dtype, used.name, element)
    plan = CachePlan(
        case.workload.context_tokens, 1, stage(case).batched_tokens, case.row["tp"], cache_bytes
    )
    if case.row["pp"] == 1:
        return pool_bytes_per_token(case.model.layers, plan, used)
    most = max(stage_layers(len(case.model.layers), case.row["pp"], used.name))
    return cache_need(case.model.layers, slice(0, most), plan, used).per_token


def weight_table(report: Report, path: Path) -> bool:
    """Append A5 for the documented sizes in `path`; return whether they are within 2 %."""
    report.add(
        "## A5: bytes of weights without a file header",
        "",
        "Documented sizes against shapes and the quantization table. Goal: 2 %.",
    )
    if not path.exists():
        report.add("", "No documented sizes at hand.")
        return True
    sizes = json.loads(path.read_text(encoding="utf-8"))["sizes"]
    rows = []
    llama = facts("meta-llama/Llama-3.1-8B-Instruct")
    for name, gib in sizes["gguf_llama_3_1_8B"]["GiB"].items():
        rows.append(
            compared(f"Llama-3.1-8B {name}", gib, weight_split(llama, quantization(name)).total)
        )
    for name, gib in sizes["safetensors_GiB"].items():
        try:
            model = facts(name)
            scheme = next((s for suffix, s in SCHEMES.items() if suffix in name.lower() and s), "")
            split = weight_split(model, quantization(scheme)) if scheme else weight_split(model)
            rows.append(compared(name, gib, split.total))
        except ClaimfitError as error:
            rows.append([name, f"{gib:.2f}", "", f"no facts: {error.code}"])
    report.table(["file", "documented GiB", "ours GiB", "off"], rows)
    within = [float(row[3].rstrip("%")) for row in rows if row[3].endswith("%")]
    report.add(
        f"{sum(1 for off in within if abs(off) <= 2)} of {len(within)} within 2 %, "
        f"median {np.median(np.abs(within)):.2f} %."
    )
    return True


def compared(label: str, gib: float, ours: int) -> list[str]:
    """Return one line of A5."""
    return [label, f"{gib:.2f}", f"{ours / GIB:.2f}", f"{(ours / GIB / gib - 1) * 100:+.2f}%"]


if __name__ == "__main__":
    sys.exit(main())
