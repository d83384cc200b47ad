"""The safetensors header reader, its shards, and the split of bytes by part."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from claimfit.errors import InputError
from claimfit.model.config import facts_from_config
from claimfit.model.safetensors import StoredTensor, read_header, read_tensors, weight_files
from claimfit.model.safetensors_weights import Place, file_weights, place_of
from support.memory_files import MemoryFile, MemoryStore
from support.safetensors_writer import LLAMA, header_bytes, llama_tensors, safetensors_bytes

INDEX = "model.safetensors.index.json"


def refused(content: bytes, size: int | None = -1) -> InputError:
    """Return the error that reading `content` raises."""
    with pytest.raises(InputError) as caught:
        read_header(MemoryFile(content, "model.safetensors", size))
    return caught.value


def entry(dtype: object = "F16", shape: object = (2, 3), offsets: object = (0, 12)) -> Any:
    """Return a tensor's record."""
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [
        ("F4", (4, 2), 4),
        ("F6_E2M3", (4,), 3),
        ("U8", (3, 5), 15),
        ("F8_E4M3", (7,), 7),
        ("BF16", (2, 3), 12),
        ("F32", (), 4),
        ("I64", (0, 4), 0),
    ],
)
def test_types_have_their_size(dtype: str, shape: tuple[int, ...], size: int) -> None:
    """Bytes are elements times bits; a scalar has one element and an empty tensor none."""
    content = safetensors_bytes({"t": (dtype, shape)})

    tensors = read_header(MemoryFile(content))

    elements = size * 8 // {"F4": 4, "F6_E2M3": 6, "BF16": 16, "F32": 32, "I64": 64}.get(dtype, 8)
    assert tensors == (StoredTensor("t", dtype, shape, elements, size, 0),)


def test_a_header_is_read_in_two_reads_at_most() -> None:
    """A short header comes with the first read, a long one with the second."""
    short = MemoryFile(safetensors_bytes({"t": ("F16", (2,))}))
    many = {f"model.layers.{index}.weight": ("F16", (2,)) for index in range(3000)}
    long = MemoryFile(safetensors_bytes(many))

    assert len(read_header(short)) == 1
    assert len(read_header(long)) == 3000
    assert (len(short.reads), len(long.reads)) == (1, 2)


def test_padding_after_the_header_is_allowed() -> None:
    """The format pads headers with spaces."""
    raw = json.dumps({"t": entry()}).encode() + b"   "

    assert len(read_header(MemoryFile(header_bytes(raw) + bytes(12)))) == 1


@pytest.mark.parametrize(
    ("content", "code"),
    [
        pytest.param(b"", "SAF001", id="empty"),
        pytest.param(b"1234567", "SAF001", id="seven-bytes"),
        pytest.param(b"version https://git-lfs", "SAF001", id="lfs-pointer"),
        pytest.param(struct.pack("<Q", 2**63) + b"{}", "SAF001", id="header-2-to-63"),
        pytest.param(struct.pack("<Q", (32 << 20) + 1) + b"{}", "SAF001", id="header-33-mib"),
        pytest.param(header_bytes(b"[]"), "SAF001", id="list"),
        pytest.param(struct.pack("<Q", 100) + b"{}", "SAF002", id="cut-header"),
        pytest.param(header_bytes(b"{"), "SAF003", id="broken-json"),
        pytest.param(header_bytes(b'{"a": NaN}'), "SAF003", id="nan"),
        pytest.param(header_bytes(b'{"a": 1e999}'), "SAF003", id="infinite"),
        pytest.param(header_bytes(b'{"a": 1' + b"0" * 400 + b"}"), "SAF003", id="10-to-400"),
        pytest.param(header_bytes(b'{"a": {}, "a": {}}'), "SAF003", id="key-twice"),
        pytest.param(header_bytes(b'{"a": "\xff"}'), "SAF003", id="not-utf8"),
        pytest.param(header_bytes(b'{"a":' * 100_000), "SAF003", id="deep"),
        pytest.param(header_bytes({"t": []}), "SAF004", id="list-record"),
        pytest.param(header_bytes({"t": None}), "SAF004", id="null-record"),
        pytest.param(header_bytes({"t": entry("F7")}) + bytes(12), "SAF004", id="type"),
        pytest.param(header_bytes({"t": entry(["F16"])}) + bytes(12), "SAF004", id="type-list"),
        pytest.param(header_bytes({"t": entry(shape=None)}), "SAF004", id="no-shape"),
        pytest.param(header_bytes({"t": entry(shape=[-2, -3])}), "SAF004", id="negative"),
        pytest.param(header_bytes({"t": entry(shape=[2.0, 3])}), "SAF004", id="fraction"),
        pytest.param(header_bytes({"t": entry(shape=[True, 6])}), "SAF004", id="truth"),
        pytest.param(header_bytes({"t": entry(shape=[1] * 17)}), "SAF004", id="17-dimensions"),
        pytest.param(header_bytes({"t": entry(shape=[2**62, 2**62])}), "SAF004", id="overflow"),
        pytest.param(header_bytes({"t": entry("F4", [3], [0, 2])}), "SAF004", id="half-a-byte"),
        pytest.param(header_bytes({"t": entry(offsets=[0])}), "SAF004", id="one-offset"),
        pytest.param(header_bytes({"t": entry(offsets=[12, 0])}), "SAF004", id="backwards"),
        pytest.param(header_bytes({"t": entry(offsets=[0, 13])}) + bytes(13), "SAF004", id="long"),
        pytest.param(
            header_bytes({"t": entry(offsets=[4, 16])}) + bytes(16), "SAF005", id="hole-in-front"
        ),
        pytest.param(
            header_bytes({"a": entry(), "b": entry(offsets=[6, 18])}) + bytes(18),
            "SAF005",
            id="overlap",
        ),
        pytest.param(
            header_bytes({"a": entry(), "b": entry(offsets=[14, 26])}) + bytes(26),
            "SAF005",
            id="hole",
        ),
        pytest.param(header_bytes({"t": entry()}) + bytes(11), "SAF005", id="cut-data"),
        pytest.param(header_bytes({"t": entry()}) + bytes(13), "SAF005", id="data-left-over"),
    ],
)
def test_malformed_files_are_refused(content: bytes, code: str) -> None:
    """Each way to break the format has its code, and the file is named."""
    error = refused(content)

    assert error.code == code
    assert error.place.startswith("model.safetensors")


def test_a_source_without_a_size_is_believed_about_its_data() -> None:
    """A server may not tell the size; the header is then checked in itself only."""
    content = safetensors_bytes({"t": ("F16", (4,))}, data=False)

    assert len(read_header(MemoryFile(content, size=None))) == 1


def store_of(*names: str, **files: bytes) -> MemoryStore:
    """Return a store with one small tensor in each of `names`."""
    content = {name: safetensors_bytes({f"{name}.weight": ("F16", (2,))}) for name in names} | files
    return MemoryStore(content)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), ()),
        (("model.safetensors",), ("model.safetensors",)),
        (("only.safetensors",), ("only.safetensors",)),
        (("model.safetensors", "other.safetensors"), ("model.safetensors",)),
        (("adapter_model.safetensors",), ()),
        (("sub/model.safetensors",), ()),
        (
            ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"),
            ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"),
        ),
        (
            ("model-00001-of-000002.safetensors", "model-00002-of-000002.safetensors"),
            ("model-00001-of-000002.safetensors", "model-00002-of-000002.safetensors"),
        ),
        (
            # Mistral publishes its own form beside the usual one
            (
                "consolidated-00001-of-00001.safetensors",
                "consolidated.safetensors",
                "model-00001-of-00001.safetensors",
            ),
            ("model-00001-of-00001.safetensors",),
        ),
    ],
)
def test_the_files_of_a_model_are_found(names: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """One file, or a numbered set; adapters and folders below are not the model."""
    assert weight_files(store_of(*names)) == expected


def test_an_index_tells_the_files_when_names_do_not() -> None:
    """The weight_map lists files under any name."""
    index = {"metadata": {}, "weight_map": {"x": "b.safetensors", "y": "a.safetensors"}}
    store = store_of("a.safetensors", "b.safetensors", "c.safetensors")
    store.files[INDEX] = json.dumps(index).encode()

    assert weight_files(store) == ("a.safetensors", "b.safetensors")


def test_missing_shards_are_named() -> None:
    """A numbered set and an index both tell what should be there."""
    numbered = store_of("model-00001-of-00003.safetensors", "model-00003-of-00003.safetensors")
    indexed = store_of("a.safetensors")
    indexed.files[INDEX] = json.dumps({"weight_map": {"x": "lost.safetensors"}}).encode()

    for store, missing in (
        (numbered, "model-00002-of-00003.safetensors"),
        (indexed, "lost.safetensors"),
    ):
        with pytest.raises(InputError) as caught:
            weight_files(store)
        assert (caught.value.code, caught.value.found) == ("SAF007", missing)


@pytest.mark.parametrize(
    "index",
    [
        b"[]",
        b"{}",
        b'{"weight_map": []}',
        b'{"weight_map": {"x": 1}}',
        b'{"weight_map": {"x": NaN}}',
    ],
)
def test_an_unusable_index_is_refused(index: bytes) -> None:
    """The index is as untrusted as the rest."""
    store = store_of("a.safetensors", "b.safetensors")
    store.files[INDEX] = index

    with pytest.raises(InputError) as caught:
        weight_files(store)

    assert caught.value.code == "SAF006"


@pytest.mark.parametrize(
    "names",
    [
        ("a.safetensors", "b.safetensors"),
        ("a-00001-of-00001.safetensors", "b-00001-of-00001.safetensors"),
        ("model-00001-of-00001.safetensors", "model-00001-of-00002.safetensors"),
    ],
)
def test_unclear_files_are_listed(names: tuple[str, ...]) -> None:
    """Which files are the model is never guessed."""
    with pytest.raises(InputError) as caught:
        weight_files(store_of(*names))

    assert caught.value.code == "SAF008"
    assert len(caught.value.candidates) == 2


def test_a_tensor_in_two_shards_is_refused() -> None:
    """Bytes are never counted twice."""
    same = safetensors_bytes({"t": ("F16", (2,))})

    with pytest.raises(InputError) as caught:
        read_tensors(MemoryStore({"a": same, "b": same}), ("a", "b"))

    assert caught.value.code == "SAF009"


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("model.layers.3.self_attn.q_proj.weight", Place("layer", 3)),
        ("transformer.h.3.attn.c_attn.weight", Place("layer", 3)),
        ("backbone.layers.0.mixer.A_log", Place("layer", 0)),
        ("gpt_neox.layers.1.mlp.dense_h_to_4h.bias", Place("layer", 1)),
        ("encoder.layer.2.attention.output.dense.weight", Place("layer", 2)),
        ("model.language_model.layers.2.mlp.up_proj.weight", Place("layer", 2)),
        ("model.layers.3.mlp.experts.17.up_proj.weight_scale_inv", Place("expert", 3)),
        ("model.layers.3.mlp.experts.gate_up_proj_blocks", Place("expert", 3)),
        ("model.layers.3.block_sparse_moe.experts.0.w1.weight", Place("expert", 3)),
        ("model.layers.3.mlp.shared_experts.up_proj.weight", Place("layer", 3)),
        ("model.layers.3.mlp.shared_expert_gate.weight", Place("layer", 3)),
        ("model.layers.4.eh_proj.weight", Place("unloaded", 4)),
        ("mtp.layers.0.mlp.up_proj.weight", Place("unloaded")),
        ("model.mtp_layers.0.mlp.up_proj.weight", Place("unloaded")),
        ("talker.model.layers.0.mlp.up_proj.weight", Place("unloaded")),
        ("model.embed_tokens.weight", Place("embedding")),
        ("model.embed_tokens.scales", Place("embedding")),
        ("transformer.wte.weight", Place("embedding")),
        ("bert.embeddings.word_embeddings.weight", Place("embedding")),
        ("bert.embeddings.position_embeddings.weight", Place("other")),
        ("model.embed_tokens_per_layer.weight", Place("other")),
        ("lm_head.weight", Place("output")),
        ("language_model.lm_head.weight", Place("output")),
        ("model.norm.weight", Place("other")),
        ("vision_tower.encoder.layers.0.self_attn.q_proj.weight", Place("other")),
        ("model.visual.blocks.3.attn.qkv.weight", Place("other")),
        ("audio_tower.layers.30.fc1.weight", Place("other")),
        ("multi_modal_projector.linear_1.weight", Place("other")),
    ],
)
def test_names_tell_the_part(name: str, place: Place) -> None:
    """The naming schemes of the families in use, in a model of 4 layers."""
    assert place_of(name, 4) == place


def weights_of(config: dict[str, object], tensors: dict[str, tuple[str, tuple[int, ...]]]) -> Any:
    """Return the bytes by part of a model with `config`."""
    facts = facts_from_config(config, name="m", repository="", origin="folder", place="config.json")
    store = MemoryStore({"model.safetensors": safetensors_bytes(tensors)})
    files = weight_files(store)
    return file_weights(read_tensors(store, files), files, facts, "folder")


def test_bytes_are_split_by_part() -> None:
    """A llama in BF16: two bytes for each element of each part."""
    found = weights_of(LLAMA, llama_tensors())

    layer = 2 * (2 * 64 + 2 * 64 * 64 + 2 * 32 * 64 + 3 * 64 * 128)
    assert found.layer_bytes == (layer, layer)
    assert found.expert_bytes == (0, 0)
    assert found.embedding_bytes == found.output_bytes == 2 * 100 * 64
    assert found.other_bytes == 2 * 64
    assert found.total_bytes == 2 * layer + 4 * 100 * 64 + 2 * 64
    assert found.types == (("BF16", found.total_bytes // 2, found.total_bytes),)
    assert (found.quantization, found.files) == ("BF16", ("model.safetensors",))


def test_a_stored_but_tied_head_is_not_loaded() -> None:
    """Some repositories store the head although the configuration ties it."""
    found = weights_of(LLAMA | {"tie_word_embeddings": True}, llama_tensors())

    assert (found.output_bytes, found.unloaded_bytes) == (0, 2 * 100 * 64)


def test_prediction_layers_are_not_loaded() -> None:
    """DeepSeek-V3 keeps its predictor as one layer more than it counts."""
    found = weights_of(LLAMA, llama_tensors(3))

    assert len(found.layer_bytes) == 2
    assert found.unloaded_bytes == found.layer_bytes[0]


@pytest.mark.parametrize(("layers", "said"), [(1, 2), (7, 2)])
def test_weights_of_another_model_are_refused(layers: int, said: int) -> None:
    """Layers that are missing, or far more than the configuration has, are a contradiction."""
    with pytest.raises(InputError) as caught:
        weights_of(LLAMA | {"num_hidden_layers": said}, llama_tensors(layers))

    assert caught.value.code == "SAF010"
