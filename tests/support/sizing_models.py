"""Models of stated shape for the tests of sizing: the numbers that tests compute with."""

from __future__ import annotations

from claimfit.model.facts import Cache, Component, Layer, Mixture, ModelFacts


def full(kv_heads: int = 8, size: int = 128) -> Cache:
    """Return a cache of full attention."""
    return Cache("full", kv_heads, size, size)


def sliding(window: int, kv_heads: int = 8, size: int = 128) -> Cache:
    """Return a cache of sliding attention."""
    return Cache("sliding", kv_heads, size, size, window)


def latent(latent_size: int = 512, rope_size: int = 64, index_size: int = 0) -> Cache:
    """Return a cache of MLA."""
    return Cache("mla", 1, latent_size=latent_size, rope_size=rope_size, index_size=index_size)


def state(elements: int, convolution: int = 0) -> Cache:
    """Return a cache of a recurrent layer."""
    return Cache("linear", state_elements=elements, convolution_elements=convolution)


def attention_layer(
    cache: Cache, *, hidden: int = 4096, heads: int = 32, width: int = 14336
) -> Layer:
    """Return a layer of attention and a gated feed-forward."""
    mixer = 2 * hidden * heads * 128 + hidden * cache.kv_heads * (cache.key_size + cache.value_size)
    return Layer(cache, heads, mixer + 2 * hidden, 3 * hidden * width, None, width)


def expert_layer(
    cache: Cache,
    *,
    hidden: int = 2048,
    heads: int = 32,
    width: int = 768,
    experts: int = 128,
    per_token: int = 8,
) -> Layer:
    """Return a layer of attention and routed experts."""
    mixer = 2 * hidden * heads * 128 + hidden * cache.kv_heads * (cache.key_size + cache.value_size)
    mixture = Mixture(experts, per_token, 3 * hidden * width, 0, hidden * experts)
    return Layer(cache, heads, mixer + 2 * hidden, 0, mixture, width)


def model_of(  # a model has that many facts
    layers: tuple[Layer, ...],
    *,
    name: str = "example/model",
    hidden: int = 4096,
    vocabulary: int = 128_256,
    context: int = 131_072,
    tied: bool = False,
    quantization: str = "BF16",
    group_size: int = 0,
    task: str = "generate",
    multimodal: bool = False,
    components: tuple[Component, ...] = (),
) -> ModelFacts:
    """Return a model of these layers."""
    embedding = vocabulary * hidden
    return ModelFacts(
        name=name,
        repository=name,
        architecture="example",
        task=task,  # type: ignore[arg-type]
        layers=layers,
        hidden_size=hidden,
        vocabulary_size=vocabulary,
        embedding_parameters=embedding,
        output_parameters=0 if tied or task != "generate" else embedding,
        components=components,
        context_tokens=context,
        dtype="BF16",
        quantization=quantization,
        group_size=group_size,
        declared_parameters=0,
        declared_active_parameters=0,
        multimodal=multimodal,
        file=None,
        origin="folder",
        sources=(),
    )


def llama_8b(**facts: object) -> ModelFacts:
    """Return the shape of Llama-3.1-8B: 32 equal layers, 8 key/value heads of 128."""
    return model_of((attention_layer(full()),) * 32, name="example/llama-8b", **facts)  # type: ignore[arg-type]
