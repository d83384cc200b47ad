"""Turns the header of a GGUF model into `ModelFacts`: everything counted, nothing estimated.

Parameters and bytes are sums over the tensor table. Cache sizes come from the keys and are checked
against the shapes of the key and value projections, so that a wrong key cannot pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from claimfit.errors import InputError
from claimfit.model.facts import Component, FileWeights, ModelFacts, Provenance
from claimfit.model.ggml_types import GGML_TYPES
from claimfit.model.gguf_file_types import file_quantization
from claimfit.model.gguf_keys import Keys
from claimfit.model.gguf_layers import CACHELESS, LayerReader
from claimfit.model.gguf_split import base_name, read_model
from claimfit.model.gguf_tensors import sort_tensors

if TYPE_CHECKING:
    from claimfit.model.byte_range import FileStore
    from claimfit.model.facts import Layer
    from claimfit.model.gguf import GgufTensor
    from claimfit.model.gguf_split import GgufModel
    from claimfit.model.gguf_tensors import LayerTensors, ModelTensors

__all__ = ["facts_from_gguf", "facts_from_header"]

_PREDICTION: Final = "multi-token prediction"

_DIFFUSION: Final = frozenset({"dream", "llada", "llada-moe", "rnd1"})
_NOT_MODELS: Final[dict[str, str]] = {
    "adapter": "a LoRA adapter: give the model, and --lora for adapters",
    "imatrix": "an importance matrix",
    "mmproj": "a vision or audio projector: give the model's own file",
    "vocab": "a vocabulary",
}
"""`general.type` of files that hold no model."""
_NOT_SERVED: Final[dict[str, str]] = {
    "clip": "a vision projector: give the model's own file",
    "t5": "an encoder-decoder model",
    "t5encoder": "the encoder of an encoder-decoder model",
    "wavtokenizer-dec": "an audio decoder",
}
_PREDICTION_ON_DEMAND: Final = frozenset(
    {
        "bailingmoe3",
        "cohere2moe",
        "deepseek2",
        "deepseek32",
        "deepseek4",
        "glm-dsa",
        "glm4moe",
        "hy_v3",
        "mimo2",
        "nemotron_h",
        "qwen35",
        "qwen35moe",
        "qwen3next",
        "step35",
    }
)
"""Architectures whose multi-token-prediction layers llama.cpp skips unless drafting asks for them
(TENSOR_SKIP in src/models/*.cpp). Of others we do not know it, so they count as loaded."""
_MOST_PREDICTING: Final = 64  # layers; known models have 1 to 3
_POOLING_RANK: Final = 4  # LLAMA_POOLING_TYPE_RANK in include/llama.h
_FLOATS: Final = ("BF16", "F16", "F32")


def facts_from_gguf(
    store: FileStore,
    file: str,
    *,
    name: str = "",
    repository: str = "",
    origin: Literal["gguf", "remote"] = "gguf",
) -> ModelFacts:
    """Return the facts of the model in `file` of `store`, which may be any part of a split set.

    Args:
        store: where the file and its other parts are.
        file: the file's name in `store`.
        name: what to call the model; empty takes the file's base name.
        repository: `org/name` that the file is from, if it is.
        origin: `gguf` for a local file, `remote` for a downloaded header.

    Raises:
        InputError: GGU001 to GGU024, see docs/errors/GGU.md.
    """
    model = read_model(store, file)
    return facts_from_header(
        model, name=name or base_name(file), repository=repository, origin=origin
    )


def facts_from_header(
    model: GgufModel, *, name: str, repository: str = "", origin: Literal["gguf", "remote"] = "gguf"
) -> ModelFacts:
    """Return the facts of a model whose header was read; see `facts_from_gguf`."""
    keys = Keys(model)
    _check_served(model, keys)
    count = keys.positive("block_count")
    predicting = _predicting_layers(keys, count)
    if count - predicting > len(model.tensors):  # before anything is made per layer
        raise InputError(
            "GGU023",
            "the model has more layers than tensors",
            place=f"{keys.file}: {keys.name('block_count')}",
            found=count,
            expected=f"at most {len(model.tensors)}",
        )
    tensors = sort_tensors(model.tensors, count, predicting, keys.file)
    embedding = _embedding(model, keys, tensors)
    hidden_size, vocabulary_size = embedding.dimensions
    reader = LayerReader(keys, count, count - predicting, hidden_size)
    main = tensors.layers[: count - predicting]
    layers = tuple(reader.layer(index, layer) for index, layer in enumerate(main))
    weights = _weights(model, keys, tensors, predicting)
    return ModelFacts(
        name=name,
        repository=repository,
        architecture=keys.architecture,
        task=_task(keys),
        layers=layers,
        hidden_size=hidden_size,
        vocabulary_size=vocabulary_size,
        embedding_parameters=embedding.elements,
        output_parameters=tensors.output_elements,
        components=_components(keys, tensors, predicting),
        context_tokens=keys.positive("context_length"),
        dtype=_dtype(model.tensors),
        quantization=weights.quantization,
        group_size=_group_size(weights),
        declared_parameters=0,
        declared_active_parameters=0,
        multimodal="vision tower" in tensors.component_elements,
        file=weights,
        origin=origin,
        sources=_sources(keys),
        notes=_notes(keys, layers),
    )


def _check_served(model: GgufModel, keys: Keys) -> None:
    kind = keys.text("general.type")
    reason = _NOT_MODELS.get(kind) or _NOT_SERVED.get(keys.architecture)
    if reason:
        raise InputError(
            "GGU022",
            "the file holds no language model",
            place=keys.file,
            found=reason,
            expected="a decoder or an encoder with its layers",
        )
    if not model.tensors:
        raise InputError(
            "GGU022", "the file holds no language model", place=keys.file, found="no tensors"
        )


def _predicting_layers(keys: Keys, count: int) -> int:
    predicting = keys.count("nextn_predict_layers", 0)
    if predicting >= min(count, _MOST_PREDICTING):
        raise InputError(
            "GGU021",
            "the key has an unusable value",
            place=f"{keys.file}: {keys.name('nextn_predict_layers')}",
            found=predicting,
            expected=f"fewer than {min(count, _MOST_PREDICTING)}, and than block_count",
        )
    return predicting


def _embedding(model: GgufModel, keys: Keys, tensors: ModelTensors) -> GgufTensor:
    """Return the token embedding, checked against what keys say of its shape."""
    embedding = tensors.embedding
    if embedding is None or len(embedding.dimensions) != 2:
        raise InputError(
            "GGU023",
            "the model has no token embedding",
            place=f"{model.files[0]}: token_embd.weight",
            found=None if embedding is None else f"shape {list(embedding.dimensions)}",
            expected="a matrix of width by vocabulary",
        )
    width, rows = embedding.dimensions
    declared = (
        ("embedding_length", keys.positive("embedding_length"), width),
        ("tokenizer.ggml.tokens", keys.array_length("tokenizer.ggml.tokens"), rows),
    )
    for key, said, there in declared:
        if said is not None and said != there:
            raise InputError(
                "GGU024",
                "keys and tensors contradict each other",
                place=f"{keys.file}: token_embd.weight",
                found=f"shape {list(embedding.dimensions)}",
                expected=f"{said} ({key})",
            )
    return embedding


def _task(keys: Keys) -> Literal["generate", "embed", "rerank"]:
    pooling = keys.count("pooling_type", 0)
    if pooling == _POOLING_RANK:
        return "rerank"
    encodes = keys.architecture in CACHELESS and keys.architecture not in _DIFFUSION
    return "embed" if encodes or pooling or keys.flag("attention.causal") is False else "generate"


def _components(keys: Keys, tensors: ModelTensors, predicting: int) -> tuple[Component, ...]:
    found = [Component(name, count) for name, count in tensors.component_elements.items()]
    extra = sum(
        sum(layer.elements.values()) for layer in tensors.layers[len(tensors.layers) - predicting :]
    )
    if extra:
        loaded = keys.architecture not in _PREDICTION_ON_DEMAND
        found.append(Component(_PREDICTION, extra, loaded))
    return tuple(found)


def _weights(model: GgufModel, keys: Keys, tensors: ModelTensors, predicting: int) -> FileWeights:
    main = len(tensors.layers) - predicting
    extra = sum(sum(layer.bytes.values()) for layer in tensors.layers[main:])
    on_demand = keys.architecture in _PREDICTION_ON_DEMAND
    embedding = tensors.embedding
    types = sorted(
        ((name, elements, size) for name, (elements, size) in tensors.types.items()),
        key=lambda item: (-item[2], item[0]),
    )
    total = sum(size for _, _, size in types)
    return FileWeights(
        total_bytes=total,
        embedding_bytes=0 if embedding is None else embedding.bytes,
        output_bytes=tensors.output_bytes,
        layer_bytes=tuple(_without_experts(layer) for layer in tensors.layers[:main]),
        expert_bytes=tuple(layer.bytes.get("expert", 0) for layer in tensors.layers[:main]),
        other_bytes=sum(tensors.component_bytes.values()) + (0 if on_demand else extra),
        unloaded_bytes=extra if on_demand else 0,
        quantization=_quantization(keys, types, total),
        types=tuple(types),
        files=model.files,
    )


def _quantization(keys: Keys, types: list[tuple[str, int, int]], total: int) -> str:
    bits = 8 * total / sum(elements for _, elements, _ in types)
    file_type = keys.general_count("general.file_type")
    dominant = types[0][0]
    name = file_quantization(file_type, dominant, stem=base_name(keys.file), bits=bits)
    if not name:
        raise InputError(
            "GGU025",
            "most of the model is of a type that is no quantization of weights",
            place=keys.file,
            found=dominant,
            expected="a type that the engines multiply with",
        )
    return name


def _without_experts(layer: LayerTensors) -> int:
    return sum(size for role, size in layer.bytes.items() if role != "expert")


def _dtype(tensors: tuple[GgufTensor, ...]) -> str:
    """Return the type of the unquantized matrices; F16 when there is none but vectors.

    Vectors (norms, biases) are always written as F32 and say nothing of the model.
    """
    elements = dict.fromkeys(_FLOATS, 0)
    for tensor in tensors:
        if tensor.type.name in elements and len(tensor.dimensions) > 1:
            elements[tensor.type.name] += tensor.elements
    most = max(_FLOATS, key=lambda name: elements[name])
    return most if elements[most] else "F16"


def _group_size(weights: FileWeights) -> int:
    """Return the block of the type that holds most bytes: rows are cut at whole blocks only."""
    dominant = weights.types[0][0]
    block = next(item.block_elements for item in GGML_TYPES.values() if item.name == dominant)
    return block if block > 1 else 0


def _sources(keys: Keys) -> tuple[Provenance, ...]:
    table = "tensor table of the GGUF header"
    return (
        Provenance("architecture", "general.architecture"),
        Provenance("layers", f"{table}; {keys.architecture}.* keys"),
        Provenance(
            "caches", f"{keys.architecture}.attention.* and .ssm.* keys; rules of llama.cpp"
        ),
        Provenance("hidden_size", "shape of token_embd.weight"),
        Provenance("vocabulary_size", "shape of token_embd.weight"),
        Provenance("parameters", table),
        Provenance("context_tokens", keys.name("context_length")),
        Provenance("quantization", "general.file_type, checked against the tensor types"),
        Provenance("file", table),
    )


def _notes(keys: Keys, layers: tuple[Layer, ...]) -> tuple[str, ...]:
    notes = []
    window = keys.count("attention.sliding_window", 0)
    if window and not any(layer.cache.kind in {"sliding", "none"} for layer in layers):
        notes.append(
            f"the file names a window of {window} tokens; llama.cpp caches every token of "
            f"{keys.architecture} all the same"
        )
    latent = any(layer.cache.kind == "mla" for layer in layers)
    if keys.architecture == "deepseek2" and not latent:
        notes.append(
            "the file has no attention.key_length_mla: llama.cpp caches full keys and values "
            "instead of the latent vector; a current conversion needs far less memory"
        )
    return tuple(notes)
