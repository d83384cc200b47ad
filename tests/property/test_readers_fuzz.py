"""Hostile model files: whatever the bytes are, the readers return facts or a coded error."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

from hypothesis import example, given, settings
from hypothesis import strategies as st

from claimfit.errors import ClaimfitError
from claimfit.model.folder import facts_from_folder
from claimfit.model.gguf import read_header
from claimfit.model.gguf_facts import facts_from_gguf
from claimfit.model.safetensors import read_header as read_safetensors
from claimfit.storage.reference import hub_reference, is_safe_path
from support.gguf_models import attention, dense_model, feed_forward, keys_of, model_tensors
from support.gguf_writer import Array, Raw, Tensor, gguf_bytes
from support.memory_files import MemoryFile, MemoryStore
from support.safetensors_writer import LLAMA, header_bytes, llama_tensors, safetensors_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

MIXED = gguf_bytes(
    keys_of(
        "gemma3",
        2,
        attention__sliding_window=512,
        attention__sliding_window_pattern=Array("?", [True, False]),
    )
    | {"tokenizer.ggml.merges": Array("text", ["a b"] * 20), "general.file_type": 15},
    model_tensors([attention(layer) + feed_forward(layer) for layer in range(2)]),
    data=False,
)
SAFE = safetensors_bytes(llama_tensors(), data=False)
EXTREMES = st.sampled_from([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1])


def coded(read: Callable[[], object]) -> object:
    """Return what `read` returns; a `ClaimfitError` with code and place counts as an answer."""
    try:
        return read()
    except ClaimfitError as error:
        assert error.code
        assert error.place or error.found
        assert str(error).isprintable()
        return None


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """Return `content` with bytes flipped, a number overwritten, a piece cut out or doubled."""
    raw = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(raw) - 9)))
        match draw(st.sampled_from(["flip", "number", "cut", "double", "end"])):
            case "flip":
                raw[at : at + 1] = draw(st.binary(min_size=1, max_size=4))
            case "number":
                raw[at : at + 8] = struct.pack("<Q", draw(EXTREMES))
            case "cut":
                del raw[at : at + draw(st.integers(1, 64))]
            case "double":
                raw[at:at] = raw[at : at + draw(st.integers(1, 64))]
            case "end":
                del raw[at:]
    return bytes(raw)


@settings(max_examples=200, deadline=20_000)
@given(content=damaged(MIXED), size=st.one_of(st.just(10**7), st.none()))
def test_damaged_gguf_files_are_read_or_refused(content: bytes, size: int | None) -> None:
    """Any damage to a valid header ends in facts or in a coded error, in bounded time."""
    source = MemoryFile(content, size=size)

    coded(lambda: read_header(source))
    coded(lambda: facts_from_gguf(MemoryStore({"m.gguf": content}), "m.gguf"))


@settings(max_examples=100, deadline=20_000)
@given(content=st.binary(max_size=300), magic=st.sampled_from([b"", b"GGUF", b"GGUF\3\0\0\0"]))
def test_noise_is_no_gguf(content: bytes, magic: bytes) -> None:
    """Random bytes behind a right start are refused like any other."""
    coded(lambda: read_header(MemoryFile(magic + content)))


VALUES = st.one_of(
    st.integers(0, 2**32 - 1),
    st.booleans(),
    st.floats(width=32),
    st.text(max_size=20),
    st.builds(Array, st.just("I"), st.lists(st.integers(0, 2**32 - 1), max_size=5)),
    st.builds(Array, st.just("?"), st.lists(st.booleans(), max_size=5)),
    st.builds(Array, st.just("f"), st.lists(st.floats(width=32), max_size=3)),
    st.just(Raw(struct.pack("<IQ", 11, 2**63))),  # int64, the smallest
)
KEYS = st.sampled_from(
    [
        "attention.causal",
        "attention.head_count",
        "attention.head_count_kv",
        "attention.indexer.key_length",
        "attention.key_length",
        "attention.key_length_mla",
        "attention.kv_lora_rank",
        "attention.shared_kv_layers",
        "attention.sliding_window",
        "attention.sliding_window_pattern",
        "attention.value_length",
        "block_count",
        "context_length",
        "embedding_length",
        "expert_count",
        "expert_used_count",
        "full_attention_interval",
        "nextn_predict_layers",
        "pooling_type",
        "rope.dimension_count",
        "ssm.conv_kernel",
        "ssm.inner_size",
    ]
)
EXTRA = st.lists(
    st.builds(
        Tensor,
        st.sampled_from(
            [
                "blk.0.attn_kv_a_mqa.weight",
                "blk.0.ffn_down_exps.weight",
                "blk.0.ffn_gate.0.weight",
                "blk.0.ssm_in.weight",
                "blk.1.time_mix_key.weight",
                "blk.99999.attn_k.weight",
                "blk.x.attn_k.weight",
                "output.weight",
                "v.blk.0.attn_q.weight",
                "\u2028.\n",
            ]
        ),
        st.lists(st.integers(1, 64), max_size=4).map(tuple),
        st.just("F16"),
        st.none(),
    ),
    max_size=3,
    unique_by=lambda tensor: tensor.name,
)


@settings(max_examples=200, deadline=20_000)
@given(
    architecture=st.sampled_from(["llama", "gemma3n", "deepseek2", "mamba", "bert", "falcon-h1"]),
    keys=st.dictionaries(KEYS, VALUES, max_size=6),
    extra=EXTRA,
)
def test_any_keys_give_facts_or_a_coded_error(
    architecture: str, keys: dict[str, object], extra: list[Tensor]
) -> None:
    """Well-formed headers with nonsense in them; what is returned accounts for every byte."""
    own = keys_of(architecture, 2) | {f"{architecture}.{name}": v for name, v in keys.items()}
    tensors = [*dense_model()[1], *extra]
    content = gguf_bytes(own, tensors)

    facts = coded(lambda: facts_from_gguf(MemoryStore({"m.gguf": content}), "m.gguf"))

    if facts is None:
        return
    file = facts.file  # type: ignore[attr-defined]
    assert file.total_bytes == (
        file.embedding_bytes
        + file.output_bytes
        + sum(file.layer_bytes)
        + sum(file.expert_bytes)
        + file.other_bytes
        + file.unloaded_bytes
    )
    unloaded = sum(part.parameters for part in facts.components if not part.loaded)  # type: ignore[attr-defined]
    assert facts.parameters + unloaded == sum(  # type: ignore[attr-defined]
        elements for _, elements, _ in file.types
    )


@settings(max_examples=200, deadline=20_000)
@given(content=damaged(SAFE), size=st.one_of(st.just(-1), st.none()))
def test_damaged_safetensors_files_are_read_or_refused(content: bytes, size: int | None) -> None:
    """Any damage ends in a tensor table without holes, or in a coded error."""
    tensors = coded(lambda: read_safetensors(MemoryFile(content, "m.safetensors", size)))

    end = 0
    for tensor in tensors or ():  # type: ignore[attr-defined]
        assert tensor.offset == end
        end += tensor.bytes


JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(["F16", "BF16", "F4"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["dtype", "shape", "data_offsets", "weight_map"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=20_000)
@given(header=st.dictionaries(st.text(max_size=5), JSON, max_size=3))
@example(header={"t": {"dtype": "F16", "shape": [], "data_offsets": [0, 2]}})
def test_any_json_is_a_header_or_refused(header: dict[str, object]) -> None:
    """Headers with any value in any place."""
    coded(lambda: read_safetensors(MemoryFile(header_bytes(header) + bytes(64))))


@settings(max_examples=150, deadline=20_000)
@given(changes=st.dictionaries(st.sampled_from(sorted(LLAMA)), JSON, max_size=3), index=JSON)
def test_any_configuration_gives_facts_or_a_coded_error(
    changes: dict[str, object], index: object
) -> None:
    """config.json and index with nonsense in them."""
    files = {
        "config.json": json.dumps(LLAMA | changes).encode(),
        "model.safetensors.index.json": json.dumps(index).encode(),
        "other.safetensors": SAFE,
    }

    coded(lambda: facts_from_folder(MemoryStore(files), name="m"))


@settings(max_examples=200)
@given(text=st.text(alphabet="hf:/@.%-aB1_ \n\u00e4", max_size=40))
def test_references_parse_to_safe_parts_or_are_refused(text: str) -> None:
    """No text becomes a repository or a path that leads elsewhere."""
    found = coded(lambda: hub_reference(f"hf://{text}"))

    if found is None:
        return
    organization, _, name = found.repository.partition("/")  # type: ignore[attr-defined]
    assert organization
    assert name
    assert found.repository.isascii()  # type: ignore[attr-defined]
    assert is_safe_path(found.repository)  # type: ignore[attr-defined]
    assert not found.path or is_safe_path(found.path)  # type: ignore[attr-defined]
