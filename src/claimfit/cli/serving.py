"""Flags that say what is to be served and how, shared by the verbs that size a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.cli.arguments import count, share
from claimfit.errors import UsageError
from claimfit.sizing.plan import EngineChoice, Workload

if TYPE_CHECKING:
    import argparse

    from claimfit.model.facts import LoraAdapters, ModelFacts

__all__ = ["DEFAULT_CONTEXT_TOKENS", "add_serving", "engine_of", "workload_of"]

DEFAULT_CONTEXT_TOKENS: Final = 8192
"""Context that is assumed when none is given, or the model's own if that is shorter."""
_MOST_DEVICES: Final = 1024


def add_serving(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the workload, the engine and the parallelism."""
    serve = parser.add_argument_group("what to serve")
    serve.add_argument(
        "--context",
        type=count("--context"),
        metavar="TOKENS",
        help=f"longest request (default: the model's own, at most {DEFAULT_CONTEXT_TOKENS})",
    )
    serve.add_argument(
        "--concurrency",
        type=count("--concurrency"),
        metavar="N",
        help="requests of that length at once (default: 1)",
    )
    serve.add_argument(
        "--quant", default="", metavar="NAME", help="quantization (default: the model's own)"
    )
    serve.add_argument(
        "--kv-dtype", default="", metavar="NAME", help="cache type (default: the engine's)"
    )
    serve.add_argument(
        "--engine",
        default="",
        metavar="NAME",
        help="vllm, sglang or llama.cpp (default: llama.cpp for GGUF, else vllm)",
    )
    serve.add_argument(
        "--engine-version", default="", metavar="VERSION", help="default: the newest profile"
    )
    serve.add_argument(
        "--gpu-memory-utilization",
        type=share("--gpu-memory-utilization"),
        metavar="SHARE",
        help="share of a device that the engine may use (default: the engine's)",
    )
    serve.add_argument(
        "--tp",
        type=count("--tp", most=_MOST_DEVICES),
        metavar="N",
        help="tensor-parallel size (default: the smallest that fits)",
    )
    serve.add_argument(
        "--pp",
        type=count("--pp", most=_MOST_DEVICES),
        metavar="N",
        help="pipeline stages (default: 1)",
    )
    serve.add_argument(
        "--lora-adapters",
        type=count("--lora-adapters"),
        metavar="N",
        help="LoRA adapters that stay loaded (default: none)",
    )
    serve.add_argument(
        "--lora-rank", type=count("--lora-rank"), metavar="N", help="largest rank of the adapters"
    )


def engine_of(arguments: argparse.Namespace, model: ModelFacts) -> EngineChoice:
    """Return the engine asked for: llama.cpp for GGUF weights, else vLLM, unless one is named."""
    if arguments.engine:
        return EngineChoice(arguments.engine, arguments.engine_version)
    from claimfit.model.quantization import quantization

    scheme = quantization(arguments.quant or model.quantization)
    is_gguf = model.origin == "gguf" or scheme.family == "gguf"
    return EngineChoice("llama.cpp" if is_gguf else "vllm", arguments.engine_version)


def workload_of(arguments: argparse.Namespace, model: ModelFacts) -> Workload:
    """Return the workload asked for, the context filled in where none was given."""
    return Workload(
        context_tokens=arguments.context or min(model.context_tokens, DEFAULT_CONTEXT_TOKENS),
        concurrency=arguments.concurrency or 1,
        quantization=arguments.quant,
        kv_dtype=arguments.kv_dtype,
        gpu_memory_utilization=arguments.gpu_memory_utilization or 0.0,
        lora=_lora(arguments),
    )


def _lora(arguments: argparse.Namespace) -> LoraAdapters | None:
    adapters, rank = arguments.lora_adapters, arguments.lora_rank
    if adapters is None and rank is None:
        return None
    if adapters is None or rank is None:
        raise UsageError(
            "CLI001",
            "--lora-adapters and --lora-rank need one another",
            expected="both, or none",
            fix="give how many adapters stay loaded, and the largest rank",
        )
    from claimfit.model.facts import LoraAdapters

    return LoraAdapters(adapters, rank)
