"""What each layer of a GGUF model caches, by the rules with which llama.cpp loads it.

The rules are those of ggml-org/llama.cpp: `load_hparams` per architecture in src/llama-model.cpp
(commit 00342301; src/models/*.cpp since), and the sizes in src/llama-hparams.cpp: `set_swa_pattern`
for sliding layers, `n_embd_r` and `n_embd_s` for the states of recurrent ones. Where tensors tell
the kind of a layer, they are believed rather than a list of architectures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from claimfit.errors import InputError
from claimfit.model.facts import Cache, Layer, Mixture
from claimfit.model.gguf_keys import wrong_key
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from claimfit.model.gguf_keys import Keys
    from claimfit.model.gguf_tensors import LayerTensors

__all__ = ["CACHELESS", "LayerReader"]

CACHELESS: Final = frozenset(
    {
        "bert",
        "modern-bert",
        "nomic-bert",
        "nomic-bert-moe",
        "neo-bert",
        "jina-bert-v2",
        "jina-bert-v3",
        "eurobert",
        "gemma-embedding",
        "dream",
        "llada",
        "llada-moe",
        "rnd1",
    }
)
"""Architectures that attend in both directions: `create_memory` gives them no cache."""


class _Pattern(NamedTuple):
    """Which layers slide when the file does not say it."""

    period: int
    full_first: bool = False
    window: int = 0
    """Tokens, where the file need not say it."""


_PATTERNS: Final[dict[str, _Pattern]] = {
    "afmoe": _Pattern(4),
    "cohere2": _Pattern(4),
    "exaone-moe": _Pattern(4),
    "gemma2": _Pattern(2, window=4096),
    "gemma3": _Pattern(6),
    "gemma3n": _Pattern(5),
    "gpt-oss": _Pattern(2),
    "llama4": _Pattern(4, window=8192),  # chunked attention: the chunk bounds the cache alike
    "olmo2": _Pattern(4),
    "plamo3": _Pattern(8),
    "smallthinker": _Pattern(4, full_first=True, window=4096),
}
_FULL_DESPITE_WINDOW: Final = frozenset({"phi3", "phimoe"})
"""Their files carry a window that llama.cpp does not use (ggml-org/llama.cpp pull 13676)."""
_PARALLEL_HYBRIDS: Final = frozenset({"falcon-h1"})
"""Each layer attends and keeps a state."""
_SHARED_FROM: Final[dict[str, int]] = {"gemma3n": 20}
"""First layer that reads the cache of an earlier one, where the file does not say it."""
_ATTENTION: Final = ("attn_q", "attn_k", "attn_kv", "attn_qkv")
_RECURRENT: Final = ("ssm_", "time_mix_", "shortconv")


class LayerReader:
    """Makes `Layer`s of one model; alike layers are the same object."""

    def __init__(self, keys: Keys, layers: int, main_layers: int, hidden_size: int) -> None:
        self._keys = keys
        self._layers = layers
        self._hidden_size = hidden_size
        self._seen: dict[Layer, Layer] = {}
        self._heads = keys.per_layer("attention.head_count", layers, default=0)
        most_heads = max(self._heads, default=0)
        self._kv_heads = (
            keys.per_layer("attention.head_count_kv", layers)
            if keys.has("attention.head_count_kv")
            else self._heads
        )
        head_size = hidden_size // most_heads if most_heads else 0
        self._key_size = keys.count("attention.key_length", head_size)
        self._value_size = keys.count("attention.value_length", head_size)
        self._sliding_key_size = keys.count("attention.key_length_swa", self._key_size)
        self._sliding_value_size = keys.count("attention.value_length_swa", self._value_size)
        self._window, self._slides = _sliding_layers(keys, layers, main_layers)
        shared = keys.count("attention.shared_kv_layers", 0)
        self._shared_from = layers - shared if shared else layers
        if not keys.has("attention.shared_kv_layers"):
            self._shared_from = _SHARED_FROM.get(keys.architecture, layers)

    def layer(self, index: int, tensors: LayerTensors) -> Layer:
        """Return layer `index`.

        Raises:
            InputError: GGU020, GGU021 for keys; GGU024 when keys and tensors contradict.
        """
        cache = self._cache(index, tensors)
        mixture = self._mixture(index, tensors)
        attends = cache.kind != "linear" and tensors.has(*_ATTENTION)
        made = Layer(
            cache=cache,
            heads=self._heads[index] if attends else 0,
            mixer_parameters=tensors.count("mixer"),
            feed_forward_parameters=0 if mixture else tensors.count("feed_forward"),
            mixture=mixture,
            intermediate_size=tensors.expert_width if mixture else tensors.width,
        )
        return self._seen.setdefault(made, made)

    def _cache(self, index: int, tensors: LayerTensors) -> Cache:
        recurrent = tensors.has(*_RECURRENT)
        attends = tensors.has(*_ATTENTION)
        if recurrent and not (attends and self._keys.architecture in _PARALLEL_HYBRIDS):
            return self._state(tensors)
        if not attends or self._keys.architecture in CACHELESS:
            return Cache("none")
        if self._kv_heads[index] == 0:
            self._no_heads(index)
        if index >= self._shared_from:
            return Cache("shared")
        if self._keys.has("attention.key_length_mla"):
            return self._latent(tensors)
        cache = self._keys_and_values(index, tensors)
        if not recurrent:
            return cache
        state = self._state(tensors)
        return cache._replace(
            state_elements=state.state_elements, convolution_elements=state.convolution_elements
        )

    def _no_heads(self, index: int) -> NoReturn:
        """Refuse a layer that attends, by its tensors, with no heads, by its keys."""
        raise InputError(
            "GGU024" if self._keys.has("attention.head_count") else "GGU020",
            "keys and tensors contradict each other",
            place=f"{self._keys.file}: blk.{index}",
            found="attention without key/value heads",
            expected=f"{self._keys.name('attention.head_count_kv')} above 0",
        )

    def _keys_and_values(self, index: int, tensors: LayerTensors) -> Cache:
        sliding = self._slides[index]
        key_size = self._sliding_key_size if sliding else self._key_size
        value_size = self._sliding_value_size if sliding else self._value_size
        if not key_size or not value_size:
            raise InputError(
                "GGU020",
                "the file lacks a fact that sizing needs",
                place=f"{self._keys.file}: {self._keys.name('attention.key_length')}",
                expected="key_length and value_length, or head_count to divide the width by",
            )
        heads = self._kv_heads[index]
        self._agree(index, tensors, "attn_k", heads * key_size)
        self._agree(index, tensors, "attn_v", heads * value_size)
        return Cache(
            "sliding" if sliding else "full",
            kv_heads=heads,
            key_size=key_size,
            value_size=value_size,
            window=self._window if sliding else 0,
        )

    def _agree(self, index: int, tensors: LayerTensors, base: str, width: int) -> None:
        """Refuse keys that say another cache width than the projection has."""
        shape = tensors.shapes.get(base)
        if shape is not None and (len(shape) != 2 or shape[1] != width):
            raise InputError(
                "GGU024",
                "keys and tensors contradict each other",
                place=f"{self._keys.file}: blk.{index}.{base}.weight",
                found=f"shape {list(shape)}",
                expected=f"{width} outputs, after head_count_kv and the head sizes",
            )

    def _latent(self, tensors: LayerTensors) -> Cache:
        indexer = tensors.has("indexer")
        return Cache(
            "mla",
            kv_heads=1,
            latent_size=self._keys.positive("attention.kv_lora_rank"),
            rope_size=self._keys.positive("rope.dimension_count"),
            index_size=self._keys.positive("attention.indexer.key_length") if indexer else 0,
        )

    def _state(self, tensors: LayerTensors) -> Cache:
        """Return the state of a recurrent layer: `n_embd_s` and `n_embd_r` of llama.cpp."""
        keys = self._keys
        if tensors.has("time_mix_"):
            return Cache(
                "linear",
                state_elements=self._hidden_size * keys.positive("wkv.head_size"),
                convolution_elements=self._hidden_size * keys.count("token_shift_count", 2),
            )
        if tensors.has("shortconv"):
            kept = keys.positive("shortconv.l_cache") - 1
            return Cache("linear", convolution_elements=kept * self._hidden_size)
        kept = keys.positive("ssm.conv_kernel") - 1
        if keys.has("kda.head_dim"):
            size, heads = keys.positive("kda.head_dim"), max(self._heads, default=0)
            return Cache(
                "linear",
                state_elements=heads * size * size,
                convolution_elements=kept * 3 * heads * size,
            )
        inner, state = keys.positive("ssm.inner_size"), keys.positive("ssm.state_size")
        groups = keys.count("ssm.group_count", 0)
        return Cache(
            "linear",
            state_elements=inner * state,
            convolution_elements=kept * (inner + 2 * groups * state),
        )

    def _mixture(self, index: int, tensors: LayerTensors) -> Mixture | None:
        parameters = tensors.count("expert")
        if not parameters:
            return None
        experts = tensors.expert_count
        declared = self._keys.per_layer("expert_count", self._layers)[index]
        if experts != declared:
            raise InputError(
                "GGU024",
                "keys and tensors contradict each other",
                place=f"{self._keys.file}: blk.{index}",
                found=f"tensors of {experts} experts",
                expected=f"{declared} ({self._keys.name('expert_count')})",
            )
        used = self._keys.per_layer("expert_used_count", self._layers)[index]
        if not 0 < used <= experts:
            name = self._keys.name("expert_used_count")
            raise wrong_key(self._keys.file, name, used, f"1 to {experts}, the experts there are")
        each, rest = divmod(parameters, experts)
        return Mixture(
            experts=experts,
            experts_per_token=used,
            expert_parameters=each,
            shared_parameters=tensors.count("shared") + tensors.count("feed_forward") + rest,
            router_parameters=tensors.count("router"),
        )


def _sliding_layers(keys: Keys, layers: int, main_layers: int) -> tuple[int, tuple[bool, ...]]:
    """Return the window in tokens and, per layer, whether it slides."""
    none = (0, (False,) * layers)
    architecture = keys.architecture
    known = _PATTERNS.get(architecture)
    if architecture in _FULL_DESPITE_WINDOW:
        return none
    window = keys.count("attention.sliding_window", known.window if known else 0)
    if known and known.window and window and architecture in {"llama4", "smallthinker"}:
        window = known.window  # set by the loader, whatever the file says
    if window == 0 or (architecture == "exaone4" and layers < 64):
        return none
    if keys.is_array("attention.sliding_window_pattern"):
        given = keys.per_layer("attention.sliding_window_pattern", layers)
        return window, tuple(bool(item) for item in given)
    if known is None:  # a window alone does not say which layers slide: none is the safe reading
        known = _Pattern(4) if architecture == "exaone4" else _Pattern(1)
    period = keys.count("attention.sliding_window_pattern", known.period)
    slides = tuple(
        index < main_layers and _slides(index, period, full_first=known.full_first)
        for index in range(layers)
    )
    return window, slides


def _slides(index: int, period: int, *, full_first: bool) -> bool:
    """Return whether layer `index` slides: all but one of each `period`; period 0: every layer."""
    if period == 0:
        return True
    return index % period != 0 if full_first else index % period < period - 1
