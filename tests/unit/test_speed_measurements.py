"""Benchmark output of every form, and the rows that are refused with their reasons."""

from __future__ import annotations

import json

import pytest

from claimfit.errors import InputError
from claimfit.sizing.measured import Given, Measured, Refused
from claimfit.sizing.measurements import read_measurements

LLAMA_BENCH: dict[str, object] = {
    "build_number": 5163,
    "gpu_info": "NVIDIA GeForce RTX 4080",
    "backends": "CUDA",
    "model_filename": "models/Qwen2.5-7B-Instruct-Q4_K_M.gguf",
    "model_type": "qwen2 7B Q4_K - Medium",
    "model_size": 4677120000,
    "type_k": "f16",
    "n_gpu_layers": -1,
    "n_cpu_moe": 0,
    "no_kv_offload": False,
    "n_prompt": 0,
    "n_gen": 128,
    "n_depth": 512,
    "avg_ts": 118.9,
}
SERVE: dict[str, object] = {
    "backend": "vllm",
    "model_id": "meta-llama/Llama-3.1-8B-Instruct",
    "max_concurrency": 4,
    "completed": 100,
    "total_input_tokens": 20_000,
    "total_output_tokens": 100_000,
    "output_throughput": 400.0,
    "median_tpot_ms": 10.0,
}
TABLE = """\
ggml_cuda_init: found 1 CUDA devices:
  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes
| model                  |     size |  params | backend | ngl |         test |             t/s |
| ---------------------- | -------: | ------: | ------- | --: | -----------: | --------------: |
| qwen2 7B Q4_K - Medium | 4.36 GiB |  7.62 B | CUDA    |  -1 |        pp512 | 7340.20 ± 23.45 |
| qwen2 7B Q4_K - Medium | 4.36 GiB |  7.62 B | CUDA    |  -1 |        tg128 |   120.60 ± 0.59 |
| qwen2 7B Q4_K - Medium | 4.36 GiB |  7.62 B | CUDA    |  -1 | tg128 @ d512 |   116.71 ± 0.60 |

build: 8cf427ff (5163)
"""
OTHER_MODEL = "| llama 8B Q8_0 | 7.95 GiB | 8.03 B | CUDA | -1 | tg128 | 60.10 ± 0.10 |\n"
NOTHING = Given()


def read(value: object, given: Given = NOTHING) -> list[Measured | Refused]:
    """Return what `value`, as JSON or as text, measures."""
    text = value if isinstance(value, str) else json.dumps(value)
    return read_measurements(text, "bench", given)


def one(value: object, given: Given = NOTHING) -> Measured:
    """Return the only row, which must be usable."""
    (found,) = read(value, given)
    assert isinstance(found, Measured), found
    return found


def reason(value: object, given: Given = NOTHING) -> str:
    """Return why the only row is refused."""
    (found,) = read(value, given)
    assert isinstance(found, Refused), found
    return found.reason


def test_llama_bench_json() -> None:
    """A tg128 at depth 512 holds 512 + 64 tokens on average."""
    found = one([LLAMA_BENCH])

    assert found == Measured(
        model="models/Qwen2.5-7B-Instruct-Q4_K_M.gguf",
        model_bytes=4677120000,
        quantization="",
        device="NVIDIA GeForce RTX 4080",
        engine="llama.cpp",
        engine_version="b5163",
        gpu_layers=-1,
        kv_dtype="f16",
        context_tokens=576,
        concurrency=1,
        tensor=1,
        tokens_per_second=118.9,
        place="bench row 1",
        samples=False,
    )


def test_llama_bench_forms_agree() -> None:
    """JSON, one object per line, and CSV with its quoted numbers read the same."""
    lines = "\n".join(json.dumps(LLAMA_BENCH) for _ in range(2))
    header = ",".join(LLAMA_BENCH)
    cells = ",".join(
        f'"{int(value) if isinstance(value, bool) else value}"' for value in LLAMA_BENCH.values()
    )

    assert read(lines)[0] == one([LLAMA_BENCH])
    assert len(read(lines)) == 2
    assert read(f"{header}\n{cells}\n") == read([LLAMA_BENCH])


def test_llama_bench_table() -> None:
    """The table tells type, size, device and depth; the model must be given."""
    prompt, flat, deep = read(TABLE, Given(model="Qwen/Qwen2.5-7B-Instruct"))

    assert isinstance(prompt, Refused)
    assert isinstance(flat, Measured)
    assert isinstance(deep, Measured)
    assert (flat.tokens_per_second, flat.context_tokens) == (120.6, 64)
    assert (deep.tokens_per_second, deep.context_tokens) == (116.71, 576)
    assert flat.quantization == "Q4_K_M"
    assert flat.device == "NVIDIA GeForce RTX 3090"
    assert flat.model == "Qwen/Qwen2.5-7B-Instruct"
    assert flat.model_bytes == int(4.36 * 2**30)


def test_a_table_of_several_models_is_refused_after_the_first() -> None:
    """--model names one model: rows of another are not taken for it."""
    other = TABLE.replace("\nbuild", OTHER_MODEL + "\nbuild")
    last = read(other, Given(model="x"))[-1]

    assert isinstance(last, Refused)
    assert "several models" in last.reason


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"n_gen": 0, "n_prompt": 512}, "measures the prompt"),
        ({"n_prompt": 512}, "measures the prompt"),
        ({"backends": "CPU"}, "ran on the CPU"),
        ({"backends": "BLAS,CPU"}, "ran on the CPU"),
        ({"n_cpu_moe": 12}, "experts ran on the CPU"),
        ({"no_kv_offload": True}, "host memory"),
        ({"no_kv_offload": []}, ""),
        ({"gpu_info": "RTX 3090, RTX 3090"}, "several devices"),
        ({"avg_ts": 0}, "no usable number"),
        ({"avg_ts": -5}, "no usable number"),
        ({"avg_ts": 1e9}, "no usable number"),
        ({"avg_ts": "fast"}, "no usable number"),
        ({"avg_ts": [1]}, "no usable number"),
        ({"avg_ts": True}, "no usable number"),
        ({"n_gen": None}, "no usable number"),
        ({"n_gen": 1e300}, "no usable number"),
    ],
)
def test_llama_bench_rows_that_say_nothing_about_decoding(
    change: dict[str, object], expected: str
) -> None:
    """Prompts, host memory, several devices and numbers that are none are refused by reason."""
    (found,) = read([{**LLAMA_BENCH, **change}])
    if expected:
        assert isinstance(found, Refused)
        assert expected in found.reason
    else:
        assert isinstance(found, Measured)


def test_vllm_serve() -> None:
    """200 prompt and 1000 answer tokens hold 700 on average; 4 streams of 100 tokens per second."""
    found = one(SERVE, Given(device="nvidia-l4", tensor=2))

    assert found.tokens_per_second == pytest.approx(100.0)
    assert found.context_tokens == 700
    assert found.concurrency == 4
    assert found.tensor == 2
    assert found.engine == "vllm"


def test_vllm_serve_at_a_request_rate_counts_the_streams_that_ran() -> None:
    """Little's law: 200 tokens per second at 10 ms per token are 2 streams, not the limit of 64."""
    found = one({**SERVE, "max_concurrency": 64, "output_throughput": 200.0})

    assert found.concurrency == 2


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"max_concurrency": None}, "--concurrency"),
        ({"total_input_tokens": 200_000}, "interrupt"),
        ({"spec_decode_acceptance_rate": 0.5}, "speculative"),
        ({"completed": 0}, "missing or unusable"),
        ({"total_output_tokens": 0}, "missing or unusable"),
        ({"median_tpot_ms": 0, "mean_tpot_ms": -1}, "missing or unusable"),
    ],
)
def test_vllm_serve_rows_that_are_refused(change: dict[str, object], expected: str) -> None:
    """Unknown batch, long prompts, speculation and missing totals."""
    assert expected in reason({**SERVE, **change})


def test_vllm_latency_needs_what_its_file_leaves_out() -> None:
    """8 streams of 512 tokens in 4 seconds are 128 tokens per second each."""
    given = Given(model="m", concurrency=8, input_tokens=32, output_tokens=512)
    found = one({"avg_latency": 4.0, "latencies": []}, given)

    assert found.tokens_per_second == 128.0
    assert found.context_tokens == 32 + 256
    assert "--model" in reason({"avg_latency": 4.0})
    assert "answer tokens" in reason({"avg_latency": 4.0}, given._replace(input_tokens=4096))


def test_vllm_throughput_is_refused() -> None:
    """Total tokens per second are no speed of a stream."""
    assert "no speed of a stream" in reason(
        {"elapsed_time": 1, "requests_per_second": 2.0, "tokens_per_second": 3.0}
    )


def test_llmfit_community_rows() -> None:
    """Hardware stands beside the rows; the provider says which engine ran."""
    document: dict[str, object] = {
        "hardwareName": "NVIDIA GB10",
        "gpuCount": 1,
        "results": [
            {"model": "Qwen3-8B-Q4_K_M.gguf", "provider": "llamacpp", "avgTps": 40.0},
            {"model": "Qwen3-8B-4bit", "provider": "mlx", "avgTps": 40.0},
        ],
    }
    hardware = {key: document.pop(key) for key in ("hardwareName", "gpuCount")}
    nested = {"hardware": hardware, **document}
    taken, refused = read(nested)

    assert read({**hardware, **document}) == [taken, refused]
    assert isinstance(taken, Measured)
    assert (taken.device, taken.engine) == ("NVIDIA GB10", "llama.cpp")
    assert isinstance(refused, Refused)
    assert "mlx" in refused.reason


def test_rows_of_this_repository() -> None:
    """decode_tps rows, with what others marked as doubtful left out."""
    row = {
        "hardware": "NVIDIA GB10",
        "model": "Qwen3-8B-Q4_K_M.gguf",
        "catalog": "Qwen/Qwen3-8B",
        "quant": "Q4_K_M",
        "runtime": "ollama",
        "context": 300,
        "batch": 2,
        "decode_tps": 40.0,
        "quality": [],
    }
    found = one({"rows": [row]})

    assert (found.model, found.engine) == ("Qwen/Qwen3-8B", "llama.cpp")
    assert (found.context_tokens, found.concurrency) == (300, 2)
    assert "marked" in reason([{**row, "quality": ["above-roofline"]}])
    assert "speculative" in reason([{**row, "spec_decode": "mtp"}])
    assert "several devices" in reason([{**row, "gpu_count": 2}])
    assert "runtime" in reason([{**row, "runtime": "magic"}])


@pytest.mark.parametrize("value", [[1, "x", None, []], [{}], {"rows": [{"a": 1}]}])
def test_json_without_measurements_is_refused_row_by_row(value: object) -> None:
    """Values that are no rows get a reason each, never an exception."""
    assert all(isinstance(item, Refused) for item in read(value))


@pytest.mark.parametrize("text", ["", "hello", "a,b\n1,2\n", "| a | b |\n"])
def test_text_of_no_known_form(text: str) -> None:
    """Anything else is one error that lists what is read."""
    with pytest.raises(InputError) as caught:
        read(text)
    assert caught.value.code == "CAL001"


@pytest.mark.parametrize("text", ["[" * 5000, '{"avg_ts": 1', '{"a": 1, "a": 2}', "[NaN]"])
def test_broken_json_is_an_input_error(text: str) -> None:
    """Bombs, cut files, duplicate keys and constants that JSON has not."""
    with pytest.raises(InputError) as caught:
        read(text)
    assert caught.value.code.startswith("MAN")
