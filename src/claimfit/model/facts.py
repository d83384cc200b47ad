"""What is to be served, as numbers: the vocabulary that sizing and claims are written in.

A `ModelFacts` is built by `claimfit.model.config` from a Hugging Face configuration (a folder, a
repository or a catalogue entry, which is a reduced configuration) or by `claimfit.model.gguf` from
a GGUF header. Counts are parameters (elements), sizes are elements per head or per token, never
bytes: bytes follow from a quantization (`claimfit.model.quantization`) or, when a file's header was
read, stand exactly in `ModelFacts.file`.

Plain NamedTuples, because this module is on the cold path of ``claimfit claim``.
"""

from __future__ import annotations

from typing import Final, Literal

from claimfit.records import NamedTuple

__all__ = [
    "CACHE_KINDS",
    "Cache",
    "CacheKind",
    "Component",
    "FileWeights",
    "Layer",
    "LoraAdapters",
    "Mixture",
    "ModelFacts",
    "Provenance",
]

CacheKind = Literal["full", "sliding", "mla", "linear", "shared", "none"]
"""What one layer keeps per token or per sequence.

full: keys and values of every token.
sliding: keys and values of the last `window` tokens (sliding window or chunked attention).
mla: one latent vector and one rope key per token, the same on every tensor-parallel rank.
linear: a state of fixed size per sequence (linear attention, state space), nothing per token.
shared: reads the cache of another layer, stores nothing of its own.
none: no cache (encoders, feed-forward-only layers).
"""
CACHE_KINDS: Final[tuple[CacheKind, ...]] = ("full", "sliding", "mla", "linear", "shared", "none")


class Cache(NamedTuple):
    """What one layer caches. Sizes are elements; fields that a kind does not use are 0."""

    kind: CacheKind
    kv_heads: int = 0
    key_size: int = 0
    """Elements of one key head."""
    value_size: int = 0
    """Elements of one value head."""
    window: int = 0
    """Tokens that a sliding layer keeps."""
    latent_size: int = 0
    """MLA: elements of the compressed vector (kv_lora_rank)."""
    rope_size: int = 0
    """MLA: elements of the decoupled rope key (qk_rope_head_dim)."""
    index_size: int = 0
    """Elements per token that a sparse-attention indexer caches too (DeepSeek V3.2)."""
    state_elements: int = 0
    """linear: elements of the recurrent state of one sequence in this layer."""
    convolution_elements: int = 0
    """linear: elements of the convolution window of one sequence in this layer."""


class Mixture(NamedTuple):
    """The experts of one layer; all counts are parameters of this one layer."""

    experts: int
    experts_per_token: int
    expert_parameters: int
    """Parameters of ONE routed expert."""
    shared_parameters: int
    """Parameters of the always-active (shared) experts together."""
    router_parameters: int


class Layer(NamedTuple):
    """One layer. Layers that are alike may be the same object."""

    cache: Cache
    heads: int
    """Query heads; 0 where the mixer has none (state space, feed-forward only)."""
    mixer_parameters: int
    """Attention or state-space parameters, norms of the layer included."""
    feed_forward_parameters: int
    """Dense feed-forward parameters; 0 in a layer of experts."""
    mixture: Mixture | None = None
    intermediate_size: int = 0
    """Width of the feed-forward, of one expert in a layer of experts: TP must divide it."""


class Component(NamedTuple):
    """A part outside the layers, such as a vision tower or a multi-token-prediction head."""

    name: str
    parameters: int
    loaded: bool = True
    """Whether engines load it for plain text serving (MTP heads are in the file, not in memory)."""


class Provenance(NamedTuple):
    """Where one field came from, as `claimfit models show` prints it."""

    field: str
    source: str


class FileWeights(NamedTuple):
    """Exact bytes from file headers. Byte counts are what the tensors occupy in the file."""

    total_bytes: int
    embedding_bytes: int
    output_bytes: int
    """0 when the output head is the embedding (tied)."""
    layer_bytes: tuple[int, ...]
    """Per layer, without routed experts."""
    expert_bytes: tuple[int, ...]
    """Per layer, all routed experts of it."""
    other_bytes: int
    """Everything else that is loaded (vision tower, norms outside layers)."""
    unloaded_bytes: int
    """In the file, not loaded for serving (MTP heads)."""
    quantization: str
    """Canonical name (`claimfit.model.quantization`), of the file as a whole."""
    types: tuple[tuple[str, int, int], ...]
    """(tensor type, elements, bytes), most bytes first."""
    files: tuple[str, ...]


class LoraAdapters(NamedTuple):
    """Adapters that the engine keeps resident."""

    adapters: int
    rank: int


class ModelFacts(NamedTuple):
    """A model to be served."""

    name: str
    """The name the user meets: `Qwen/Qwen3-30B-A3B`, a file's base name for a local GGUF."""
    repository: str
    """`org/name` whose config.json holds these facts; empty for a local file."""
    architecture: str
    """`model_type` of the configuration, or `general.architecture` of a GGUF."""
    task: Literal["generate", "embed", "rerank"]
    layers: tuple[Layer, ...]
    """In order: pipeline stages cut it."""
    hidden_size: int
    vocabulary_size: int
    embedding_parameters: int
    output_parameters: int
    """Output head; 0 when tied to the embedding or absent."""
    components: tuple[Component, ...]
    """Parts outside embedding, layers and output head; final norms are one of them."""
    context_tokens: int
    """The longest context the model was trained or extended for."""
    dtype: str
    """Native element type of unquantized tensors: BF16, F16, F32."""
    quantization: str
    """Canonical name of the weights as published: BF16, FP8, MXFP4, Q4_K_M, ..."""
    group_size: int
    """Quantization group along the input dimension (a divisibility rule of TP); 0 if none."""
    declared_parameters: int
    """Total as published by the repository, 0 when nothing declares it."""
    declared_active_parameters: int
    multimodal: bool
    file: FileWeights | None
    origin: Literal["gguf", "folder", "remote", "overlay", "catalogue", "llmfit"]
    sources: tuple[Provenance, ...]
    notes: tuple[str, ...] = ()
    """What a user of these facts should know, such as an undeclared field that was not needed."""
    part_quantization: tuple[tuple[str, str], ...] = ()
    """(part, canonical quantization) of parts that differ from `quantization` as published.

    Parts: attention, linear_attention, feed_forward, shared_experts, experts, embedding, output.
    """

    @property
    def parameters(self) -> int:
        """Parameters that are loaded: embedding, layers with all experts, head, components."""
        return (
            self.embedding_parameters
            + self.output_parameters
            + sum(layer_parameters(layer) for layer in self.layers)
            + sum(part.parameters for part in self.components if part.loaded)
        )

    @property
    def active_parameters(self) -> int:
        """Parameters that one token of one sequence reads, the embedding look-up left out.

        Tied models read the embedding as output head, so it counts once there.
        """
        head = self.output_parameters or self.embedding_parameters
        if self.task != "generate":
            head = 0
        return head + sum(active_layer_parameters(layer) for layer in self.layers)

    @property
    def is_mixture(self) -> bool:
        """Whether any layer has routed experts."""
        return any(layer.mixture is not None for layer in self.layers)

    @property
    def tied(self) -> bool:
        """Whether the output head is the embedding."""
        return self.task == "generate" and self.output_parameters == 0

    @property
    def heads(self) -> int:
        """Query heads of the widest attention layer, 0 when no layer attends."""
        return max((layer.heads for layer in self.layers), default=0)

    @property
    def kv_heads(self) -> int:
        """Key/value heads of the widest caching layer (1 for MLA), 0 when nothing is cached."""
        return max((layer.cache.kv_heads for layer in self.layers), default=0)


def layer_parameters(layer: Layer) -> int:
    """Return all parameters of `layer`, every expert included."""
    total = layer.mixer_parameters + layer.feed_forward_parameters
    mixture = layer.mixture
    if mixture is not None:
        total += mixture.experts * mixture.expert_parameters
        total += mixture.shared_parameters + mixture.router_parameters
    return total


def active_layer_parameters(layer: Layer) -> int:
    """Return the parameters of `layer` that one token reads."""
    total = layer.mixer_parameters + layer.feed_forward_parameters
    mixture = layer.mixture
    if mixture is not None:
        total += mixture.experts_per_token * mixture.expert_parameters
        total += mixture.shared_parameters + mixture.router_parameters
    return total
