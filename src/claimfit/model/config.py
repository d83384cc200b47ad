"""Facts of a model from its Hugging Face configuration.

One function serves a local folder, a remote repository and a catalogue entry, which is a reduced
config.json: `facts_from_config`. Parameters are counted from shapes, never from element counts of
files (packed 4-bit weights hold eight in one), so that they agree with what the repository
publishes. The facts that a configuration does not state (is there a bias, which layers slide) come
from `claimfit.model.families`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from claimfit.model.components import read_components
from claimfit.model.declared_quantization import declared_dtype, declared_quantization
from claimfit.model.facts import FileWeights, ModelFacts, Provenance
from claimfit.model.families import LLAMA_LIKE, Family, family_of
from claimfit.model.fields import Fields
from claimfit.model.layers import read_layers
from claimfit.model.shape import (
    HEAD_COUNTS,
    HIDDEN_SIZES,
    KV_HEAD_COUNTS,
    LAYER_COUNTS,
    read_shape,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Origin", "facts_from_config"]

Origin = Literal["gguf", "folder", "remote", "overlay", "catalogue", "llmfit"]
Task = Literal["generate", "embed", "rerank"]

_TEXT_SECTIONS: Final = ("text_config", "llm_config", "language_config", "thinker_config")
_VOCABULARY: Final = ("vocab_size", "padded_vocab_size", "n_vocab")
_CONTEXT: Final = (
    "max_position_embeddings",
    "max_position_embedding",
    "max_sequence_length",
    "model_max_length",
    "max_seq_len",
    "seq_length",
    "n_positions",
    "n_ctx",
)


_GENERATING_CLASSES: Final = ("LMHeadModel", "ChatModel", "ChatGLMModel")
"""Ends of class names that say Model and generate text all the same."""

_UNBOUNDED_CONTEXT: Final = 1 << 20
"""Context of a state-space model that states none; memory does not depend on it."""


def facts_from_config(  # noqa: PLR0913  # the caller knows nine things that the file does not
    config: Mapping[str, object],
    *,
    name: str,
    repository: str,
    origin: Origin,
    place: str,
    file: FileWeights | None = None,
    declared_parameters: int = 0,
    declared_active_parameters: int = 0,
    source: str = "config.json",
) -> ModelFacts:
    """Return the facts that `config` states.

    Args:
        config: the parsed config.json, untrusted.
        name: what the user calls the model.
        repository: `org/name` that publishes it, or empty.
        origin: where the configuration is from.
        place: file or URL, for errors.
        file: exact bytes from headers, when they were read.
        declared_parameters: total that the repository publishes, 0 when it publishes none.
        declared_active_parameters: the same for one token's parameters.
        source: what provenance lines call the configuration.

    Raises:
        InputError: CFG001 missing or null, CFG002 wrong type or range, CFG003 contradictory,
            CFG004 not a kind of model that is sized here.
    """
    root = Fields(config, place=place)
    text, family, architecture, notes = _language_model(root)
    context = _context_tokens(text, family, notes)
    shape = read_shape(text, family, context_tokens=context)
    layers = read_layers(shape)
    vocabulary = text.count(*_VOCABULARY)
    task = _task(root, family, name, notes)
    embedding = vocabulary * shape.hidden_size
    output = _output_parameters(root, text, task, embedding)
    dtype, dtype_source = declared_dtype(root, text)
    if not dtype_source:
        notes.append("no dtype is stated; read as BF16")
    quantized = declared_quantization(root, text, dtype, layers)
    return ModelFacts(
        name=name,
        repository=repository,
        architecture=architecture,
        task=task,
        layers=layers,
        hidden_size=shape.hidden_size,
        vocabulary_size=vocabulary,
        embedding_parameters=embedding,
        output_parameters=output,
        components=read_components(root, shape, layers, vocabulary, notes),
        context_tokens=context,
        dtype=dtype,
        quantization=quantized.name,
        group_size=quantized.group_size,
        declared_parameters=declared_parameters,
        declared_active_parameters=declared_active_parameters,
        multimodal="vision_config" in root or "audio_config" in root,
        file=file,
        origin=origin,
        sources=_sources(text, source, dtype_source, quantized.source),
        notes=tuple(notes),
        part_quantization=quantized.parts,
    )


def _language_model(root: Fields) -> tuple[Fields, Family, str, list[str]]:
    """Return the fields of the language model, its family, its model type and first notes."""
    notes: list[str] = []
    text = root.section(*_TEXT_SECTIONS) or root
    if root.flag("is_encoder_decoder", default=False):
        raise root.unsupported("is_encoder_decoder", found=True, expected="a decoder or an encoder")
    architecture = text.text("model_type") or root.text("model_type")
    if not architecture:
        raise root.missing(("model_type",), "the model type, such as llama")
    family = family_of(architecture)
    if family is None:
        family = LLAMA_LIKE
        notes.append(
            f"architecture {architecture[:60]!r} is not known; read as a llama-like decoder"
        )
    return text.with_defaults(family.defaults), family, architecture, notes


def _context_tokens(text: Fields, family: Family, notes: list[str]) -> int:
    """Return the longest context: what is stated, or what YaRN extends the original to."""
    stated = max((text.optional_count(key, least=1) for key in _CONTEXT if key in text), default=0)
    if not stated and not family.attends:
        notes.append("no context is stated: the state of this model does not grow with it")
        return _UNBOUNDED_CONTEXT
    if not stated:
        raise text.missing(("max_position_embeddings",))
    rope = text.section("rope_scaling", "rope_parameters")
    if rope is None or rope.text("rope_type", "type") != "yarn":
        return stated
    factor = rope.number("factor", default=1.0, least=1.0, most=1e6)
    original = rope.optional_count("original_max_position_embeddings", default=stated, least=1)
    return max(stated, int(factor * original))


def _task(root: Fields, family: Family, name: str, notes: list[str]) -> Task:
    """Return what the model is served for, from its architecture class or its name."""
    classes = root.items("architectures") or []
    first = classes[0] if classes and isinstance(classes[0], str) else ""
    if first.endswith("ForSequenceClassification"):
        return "rerank"
    headless = first.endswith("Model") and not first.endswith(_GENERATING_CLASSES)
    if family.encoder or headless:
        return "embed"
    lowered = name.lower()
    if "rerank" in lowered:
        notes.append("read as a reranking model by its name")
        return "rerank"
    if "embedding" in lowered or "-embed" in lowered:
        notes.append("read as an embedding model by its name")
        return "embed"
    return "generate"


def _output_parameters(root: Fields, text: Fields, task: Task, embedding: int) -> int:
    if task != "generate":
        return 0
    tied = root.raw("tie_word_embeddings")
    if tied is None:
        return 0 if text.flag("tie_word_embeddings", default=False) else embedding
    return 0 if root.flag("tie_word_embeddings", default=False) else embedding


def _sources(text: Fields, source: str, dtype: str, quantized: str) -> tuple[Provenance, ...]:
    """Return where each fact was read, in the order in which a report shows them."""

    def read(field: str, *names: str, absent: str = "") -> Provenance:
        found = text.source_of(*names)
        return Provenance(field, f"{source}: {found}" if found else absent)

    return (
        read("architecture", "model_type", absent=f"{source}: model_type"),
        Provenance("task", f"{source}: architectures, or the name"),
        read("layers", *LAYER_COUNTS, absent=f"{source}: length of the list of layer kinds"),
        read("heads", *HEAD_COUNTS, absent="this model type has none"),
        read("kv_heads", *KV_HEAD_COUNTS, absent="as many as heads"),
        read("hidden_size", *HIDDEN_SIZES),
        read("vocabulary_size", *_VOCABULARY),
        read("context_tokens", *_CONTEXT, absent="no limit is stated"),
        Provenance("dtype", f"{source}: {dtype}" if dtype else "assumed, none is stated"),
        Provenance("quantization", f"{source}: {quantized}" if quantized else "none; as dtype"),
        Provenance("parameters", f"counted from the shapes in {source}"),
        Provenance("cache", f"layer kinds in {source} and of the model type"),
    )
