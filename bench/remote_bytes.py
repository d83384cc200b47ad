"""Counts what reading a model of 400 GB over HTTP transfers.

    python bench/remote_bytes.py

A server on loopback plays the hub: a mixture of experts in 100 shards of 4 GB whose headers have
the size of real ones, and a GGUF in 10 parts with a vocabulary of 150,000 tokens. The data after
the headers is made up on demand. Goal: under 32 MiB, and a bounded number of requests.
"""

from __future__ import annotations

import json
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import httpx2  # noqa: E402  # after the path

from claimfit.storage.http import Http  # noqa: E402
from claimfit.storage.opening import open_model  # noqa: E402
from support.gguf_writer import Array, Tensor, gguf_bytes  # noqa: E402
from support.range_server import RangeServer, SparseFile  # noqa: E402
from support.safetensors_writer import safetensors_bytes  # noqa: E402

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LAYERS, EXPERTS, WIDTH, EXPERT_WIDTH, SHARDS = 94, 192, 4096, 1792, 100
CONFIG = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "hidden_size": WIDTH,
    "intermediate_size": 12288,
    "moe_intermediate_size": EXPERT_WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "num_experts": EXPERTS,
    "num_experts_per_tok": 8,
    "norm_topk_prob": True,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "max_position_embeddings": 40960,
    "vocab_size": 151936,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
"""Qwen3-235B in shape, with 192 instead of 128 experts, a sixth wider, in 8 bits."""


def shards() -> dict[str, SparseFile]:
    """Return the shards: every expert is three tensors, as Qwen and DeepSeek publish them."""
    tensors: dict[str, tuple[str, tuple[int, ...]]] = {
        "model.embed_tokens.weight": ("BF16", (151936, WIDTH)),
        "lm_head.weight": ("BF16", (151936, WIDTH)),
        "model.norm.weight": ("BF16", (WIDTH,)),
    }
    for layer in range(LAYERS):
        base = f"model.layers.{layer}"
        tensors |= {
            f"{base}.input_layernorm.weight": ("BF16", (WIDTH,)),
            f"{base}.post_attention_layernorm.weight": ("BF16", (WIDTH,)),
            f"{base}.self_attn.q_proj.weight": ("BF16", (8192, WIDTH)),
            f"{base}.self_attn.k_proj.weight": ("BF16", (512, WIDTH)),
            f"{base}.self_attn.v_proj.weight": ("BF16", (512, WIDTH)),
            f"{base}.self_attn.o_proj.weight": ("BF16", (WIDTH, 8192)),
            f"{base}.mlp.gate.weight": ("BF16", (EXPERTS, WIDTH)),
        }
        for expert in range(EXPERTS):
            for part in ("gate_proj", "up_proj", "down_proj"):
                shape = (WIDTH, EXPERT_WIDTH) if part == "down_proj" else (EXPERT_WIDTH, WIDTH)
                tensors[f"{base}.mlp.experts.{expert}.{part}.weight"] = ("F8_E4M3", shape)
    names = list(tensors)
    share = -(-len(names) // SHARDS)
    files = {}
    for index in range(SHARDS):
        own = {name: tensors[name] for name in names[index * share : (index + 1) * share]}
        head = safetensors_bytes(own, data=False)
        data = sum(_bytes(*tensor) for tensor in own.values())
        files[f"model-{index + 1:05}-of-{SHARDS:05}.safetensors"] = SparseFile(
            head, len(head) + data
        )
    return files


def _bytes(dtype: str, shape: tuple[int, ...]) -> int:
    size = 2 if dtype == "BF16" else 1
    for dimension in shape:
        size *= dimension
    return size


def parts() -> dict[str, SparseFile]:
    """Return a GGUF of the same layers in 10 parts; only the first has the vocabulary."""
    words = [f"token{index}" for index in range(150_000)]
    architecture = "qwen3moe"
    keys: dict[str, object] = {
        "general.architecture": architecture,
        "general.file_type": 7,
        f"{architecture}.block_count": LAYERS,
        f"{architecture}.context_length": 40960,
        f"{architecture}.embedding_length": WIDTH,
        f"{architecture}.attention.head_count": 64,
        f"{architecture}.attention.head_count_kv": 4,
        f"{architecture}.attention.key_length": 128,
        f"{architecture}.attention.value_length": 128,
        f"{architecture}.expert_count": EXPERTS,
        f"{architecture}.expert_used_count": 8,
        "tokenizer.ggml.tokens": Array("text", list(words)),
        "tokenizer.ggml.merges": Array("text", [f"{word[0]} {word[1:]}" for word in words]),
    }
    tensors = [
        Tensor("token_embd.weight", (WIDTH, 150_000), "Q8_0"),
        Tensor("output_norm.weight", (WIDTH,), "F32"),
    ]
    for layer in range(LAYERS):
        tensors += [
            Tensor(f"blk.{layer}.attn_norm.weight", (WIDTH,), "F32"),
            Tensor(f"blk.{layer}.attn_q.weight", (WIDTH, 8192), "Q8_0"),
            Tensor(f"blk.{layer}.attn_k.weight", (WIDTH, 512), "Q8_0"),
            Tensor(f"blk.{layer}.attn_v.weight", (WIDTH, 512), "Q8_0"),
            Tensor(f"blk.{layer}.attn_output.weight", (8192, WIDTH), "Q8_0"),
            Tensor(f"blk.{layer}.ffn_gate_inp.weight", (WIDTH, EXPERTS), "F32"),
            Tensor(f"blk.{layer}.ffn_gate_exps.weight", (WIDTH, EXPERT_WIDTH, EXPERTS), "Q8_0"),
            Tensor(f"blk.{layer}.ffn_up_exps.weight", (WIDTH, EXPERT_WIDTH, EXPERTS), "Q8_0"),
            Tensor(f"blk.{layer}.ffn_down_exps.weight", (EXPERT_WIDTH, WIDTH, EXPERTS), "Q8_0"),
        ]
    share = -(-len(tensors) // 10)
    files = {}
    for index in range(10):
        split = {"split.no": index, "split.count": 10, "split.tensors.count": len(tensors)}
        own = tensors[index * share : (index + 1) * share]
        head = gguf_bytes((keys if index == 0 else {}) | split, own, data=False)
        files[f"m-Q8_0-{index + 1:05}-of-00010.gguf"] = SparseFile(head, 60 * 10**9)
    return files


def measure(files: dict[str, SparseFile | bytes]) -> dict[str, object]:
    """Open a repository of `files` twice, the second time by its commit, and count."""
    listing = {"sha": COMMIT, "siblings": [{"rfilename": name} for name in files]}
    with RangeServer() as server, tempfile.TemporaryDirectory() as cache:
        for revision in ("main", COMMIT):
            path = f"/api/models/org/huge/revision/{revision}"
            server.files[path] = json.dumps(listing).encode()
        for name, file in files.items():
            server.files[f"/org/huge/resolve/{COMMIT}/{name}"] = file
        environment = {"HF_ENDPOINT": server.url, "XDG_CACHE_HOME": cache}
        found: dict[str, object] = {}
        for label, reference in (("first", "hf://org/huge"), ("again", f"hf://org/huge@{COMMIT}")):
            http = Http(lambda: httpx2.Client(trust_env=False))
            start = time.perf_counter()
            facts = open_model(reference, environment=environment, http=http)
            found[label] = {
                "transferred_mib": http.transferred_bytes / 2**20,
                "requests": http.requests,
                "seconds": time.perf_counter() - start,
            }
            http.close()
        if facts.file is None:
            raise SystemExit("no headers were read")
        return {"model_gb": facts.file.total_bytes / 1e9, "files": len(facts.file.files)} | found


if __name__ == "__main__":
    config: dict[str, SparseFile | bytes] = {"config.json": json.dumps(CONFIG).encode()}
    print(
        json.dumps(
            {"safetensors": measure(config | shards()), "gguf": measure({**parts()})}, indent=2
        )
    )
