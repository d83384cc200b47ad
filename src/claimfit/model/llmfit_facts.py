"""Facts of a model that only llmfit's catalogue has.

An entry there states nine sizes and a parameter count. What else a plan needs (which layers cache
what, biases, tied embeddings, the ranks of latent attention) comes from, in this order:

1. a model of the built-in catalogue with every stated size and the parameter count: fine-tunes and
   repackings share the configuration of their base;
2. the stated sizes themselves, read as a configuration of that architecture, when the parameters
   counted from them are the stated ones.

Both are held to the parameter count: a shape that explains it within 1 % is taken, and a note says
so; anything else is an error that names what is missing. llmfit's count means little for packed
weights (several in one element, scales beside them), so there all sizes must be those of the known
model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.errors import InputError, ModelError
from claimfit.model.config import facts_from_config
from claimfit.model.entry import facts_of
from claimfit.model.facts import Component, Provenance
from claimfit.model.families import family_of
from claimfit.model.llmfit_quantization import stored_quantization
from claimfit.model.quantization import quantization

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from claimfit.model.entry import Entry
    from claimfit.model.facts import ModelFacts
    from claimfit.model.llmfit_catalogue import Index
    from claimfit.model.llmfit_entry import LlmfitModel

__all__ = ["facts_from_llmfit", "find_in_llmfit", "may_be_in", "may_share"]

_TOLERANCE: Final = 0.01
"""How far counted and stated parameters may be apart; the catalogue is held to the same."""

_LARGEST_TOWER: Final = 6_000_000_000
"""Parameters that a multimodal model may have outside its language model: InternViT-6B."""

_LARGEST_TOWER_SHARE: Final = 0.4
"""Qwen2-VL-2B has 0.30 of its parameters outside its language model."""

_PACKED_COUNT: Final = 1.3
"""How far the count of packed weights may exceed the parameters: scales and zero points."""

_WIDEST_FEED_FORWARD: Final = 16
"""Times the hidden size; beyond it the parameters are not a feed-forward's (Gemma 2B has 8)."""

_DEFAULT_CONTEXT: Final = 4096
"""What llmfit records where it read no configuration; 5,529 of 15,855 entries have it."""

_MODEL_TYPE: Final = b'"model_type":'

_NONE: Final = (False, False, 0.0)

_COMPARED: Final = ("num_hidden_layers", "num_attention_heads", "hidden_size", "vocab_size")
"""Sizes that configurations spell as llmfit does; where they do not, all facts are compared."""

_REQUIRED: Final = ("num_hidden_layers", "num_attention_heads", "architecture", "parameters_raw")
_SHAPE: Final = ("num_key_value_heads", "head_dim", "hidden_size", "vocab_size")
_EXPERTS: Final = ("num_experts", "active_experts", "moe_intermediate_size")


def find_in_llmfit(reference: str, index: Index) -> LlmfitModel | None:
    """Return the entry whose whole name, or else only whose short name, is `reference` in any case.

    Raises `ModelError` MOD002 when several have it as their short name.
    """
    positions = list(index.positions_of(reference))
    if not positions and "/" not in reference:
        positions = list(index.positions_ending(f"/{reference}"))
    if len(positions) > 1:
        raise ModelError(
            "MOD002",
            "several models of llmfit's catalogue have this name",
            found=reference,
            fix="give the whole name",
            candidates=tuple(sorted(index.model(position).name for position in positions)),
        )
    return index.model(positions[0]) if positions else None


def facts_from_llmfit(model: LlmfitModel, catalogue: Iterable[Entry], version: str) -> ModelFacts:
    """Return the facts of `model`, an entry of llmfit `version`.

    `catalogue` are the models that it may share a configuration with.

    Raises `ModelError` MOD012 when the entry lacks a size, or its sizes do not give its parameters.
    """
    for field in _REQUIRED:
        if not getattr(model, field):
            raise _missing(model, field)
    facts = _like_a_known_model(model, catalogue, version) or _of_its_own_sizes(model, version)
    stored = stored_quantization(model, facts.quantization)
    if stored.name and stored.name != facts.quantization:
        facts = facts._replace(
            quantization=stored.name,
            group_size=quantization(stored.name).group_size,
            part_quantization=(),
        )
    said = (
        Provenance("declared_parameters", f"llmfit {version}: parameters_raw"),
        Provenance("declared_active_parameters", f"llmfit {version}: active_parameters"),
        Provenance("quantization", f"llmfit {version}: name, format and quantization"),
    )
    replaced = {source.field for source in said}
    return facts._replace(
        name=model.name,
        repository=model.name,
        origin="llmfit",
        declared_parameters=model.parameters_raw or 0,
        declared_active_parameters=model.active_parameters or 0,
        sources=(*(source for source in facts.sources if source.field not in replaced), *said),
        notes=(*facts.notes, *((stored.note,) if stored.note else ())),
    )


def may_be_in(model: LlmfitModel) -> Callable[[bytes], bool]:
    """Return the test of a catalogue file's text: does it name a model type like `model`'s?"""

    def relevant(text: bytes) -> bool:
        seen = set()
        at = text.find(_MODEL_TYPE)
        while at >= 0:
            start = text.find(b'"', at + len(_MODEL_TYPE)) + 1
            seen.add(text[start : text.find(b'"', start)])
            at = text.find(_MODEL_TYPE, start)
        return any(_same_architecture(name.decode(errors="replace"), model) for name in seen)

    return relevant


def may_share(model: LlmfitModel) -> Callable[[dict[str, object]], bool]:
    """Return the test of a configuration: does none of its sizes contradict `model`?

    Cheap, before facts are made; `facts_from_llmfit` compares all sizes.
    """

    def may_be(config: dict[str, object]) -> bool:
        text = config.get("text_config")
        sizes = {**config, **text} if isinstance(text, dict) else config
        model_type = sizes.get("model_type")
        if isinstance(model_type, str) and not _same_architecture(model_type, model):
            return False
        for field in _COMPARED:
            stated = getattr(model, field)
            if stated and sizes.get(field, stated) != stated:
                return False
        return True

    return may_be


def _like_a_known_model(
    model: LlmfitModel, catalogue: Iterable[Entry], version: str
) -> ModelFacts | None:
    """Return the facts of the catalogue's model that has all stated sizes and parameters.

    Of several the one with the stated context is taken, then the one nearest in parameters.
    """
    may_be = may_share(model)
    best: tuple[tuple[bool, bool, float], ModelFacts] | None = None
    for entry in catalogue:
        if not may_be(entry.config):
            continue
        facts = facts_of(entry)
        if _has_sizes_of(facts, model) and _explains(facts, model):
            distance = _distance(facts, model)
            if best is None or distance < best[0]:
                best = distance, facts
            if distance == _NONE:
                break
    if best is None:
        return None
    (counts_differ, _, _), facts = best
    notes = [f"llmfit {version} states the sizes of {facts.name}; its configuration is used"]
    if counts_differ:
        notes.append(
            f"llmfit counts {model.parameters_raw:,} parameters, {facts.name} has "
            f"{_all_parameters(facts):,}: packed weights, or parts left out; sized as the latter"
        )
    if model.context_length > facts.context_tokens:
        notes.append(f"llmfit states a context of {model.context_length:,}")
    return facts._replace(notes=(*facts.notes, *notes))


def _distance(facts: ModelFacts, model: LlmfitModel) -> tuple[bool, bool, float]:
    """Return how far `facts` are from `model`: count apart, context apart, how far the count."""
    apart = abs(1 - (model.parameters_raw or 0) / _all_parameters(facts))
    return apart > _TOLERANCE, facts.context_tokens != model.context_length, apart


def _has_sizes_of(facts: ModelFacts, model: LlmfitModel) -> bool:
    mixtures = [layer.mixture for layer in facts.layers if layer.mixture is not None]
    if not _same_architecture(facts.architecture, model) or model.is_moe != bool(mixtures):
        return False
    pairs = [
        (model.num_hidden_layers, len(facts.layers)),
        (model.num_attention_heads, facts.heads),
        (model.hidden_size, facts.hidden_size),
        (model.vocab_size, facts.vocabulary_size),
    ]
    if mixtures:
        pairs.append((model.num_experts, mixtures[0].experts))
        pairs.append((model.active_experts, mixtures[0].experts_per_token))
    cached = {layer.cache.kind for layer in facts.layers}
    if not cached & {"mla", "none"}:  # llmfit's heads of latent attention are not what is cached
        pairs.append((model.num_key_value_heads, facts.kv_heads))
    return all(stated is None or stated == known for stated, known in pairs)


def _same_architecture(architecture: str, model: LlmfitModel) -> bool:
    family = family_of(model.architecture or "")
    same_family = family is not None and family is family_of(architecture)
    return same_family or architecture == model.architecture


def _explains(facts: ModelFacts, model: LlmfitModel) -> bool:
    """Return whether `facts` have the stated parameters, parts outside the layers optional."""
    stated = model.parameters_raw or 0
    everything = _all_parameters(facts)
    language = facts.parameters - sum(part.parameters for part in facts.components if part.loaded)
    if language * (1 - _TOLERANCE) <= stated <= everything * (1 + _TOLERANCE):
        return True
    complete = all(getattr(model, field) for field in _SHAPE)
    packed = stored_quantization(model, facts.quantization).packed
    return complete and packed and stated <= everything * _PACKED_COUNT


def _all_parameters(facts: ModelFacts) -> int:
    return facts.parameters + sum(part.parameters for part in facts.components if not part.loaded)


def _of_its_own_sizes(model: LlmfitModel, version: str) -> ModelFacts:
    """Return facts from the sizes of `model` alone; raises MOD012."""
    for field in (*_SHAPE, *(_EXPERTS if model.is_moe else ())):
        if not getattr(model, field):
            raise _missing(model, field)
    if model.is_moe and family_of(model.architecture or "") is None:
        # The experts are nearly all parameters, so that their sum proves nothing of the attention.
        raise _missing(model, f"architecture {model.architecture!r} is not known")
    # Where both readings add up, because the embedding is small or the rest makes up for it, the
    # one that this architecture's models usually have is taken.
    family = family_of(model.architecture or "")
    usual = bool(family is not None and family.defaults.get("tie_word_embeddings"))
    read = [facts for tied in (usual, not usual) for facts in _read(model, version, tied=tied)]
    best = next((facts for facts in read if _adds_up(facts, model)), None)
    if best is None:
        raise _contradictory(model, read)
    ends = "tied" if best.tied else "untied"
    notes = [
        f"sizes from llmfit {version} alone: with {ends} embeddings they add up to its parameters",
        "sliding windows and other savings of cache, if any, are not known to llmfit",
    ]
    if model.context_length == _DEFAULT_CONTEXT:
        notes.append("a context of 4096 is also what llmfit records where it knows none")
    if not model.moe_intermediate_size:
        notes.append("the width of the feed-forward is what is left of the parameters")
    return best._replace(notes=(*best.notes, *notes))


def _adds_up(facts: ModelFacts, model: LlmfitModel) -> bool:
    stated = model.parameters_raw or 0
    return abs(facts.parameters - stated) <= stated * _TOLERANCE


def _read(model: LlmfitModel, version: str, *, tied: bool) -> Iterator[ModelFacts]:
    """Yield the facts of the stated sizes, a multimodal remainder added; none where impossible.

    Raises MOD012 when the architecture needs what llmfit does not state.
    """
    stated = model.parameters_raw or 0
    width = model.moe_intermediate_size
    if not width:
        bare = _configured(model, version, tied=tied, width=1)
        one = bare.layers[0].feed_forward_parameters * len(bare.layers)
        width = (stated - bare.parameters) // one + 1 if one else 0
        if not 0 < width <= _WIDEST_FEED_FORWARD * bare.hidden_size:
            return
    facts = _configured(model, version, tied=tied, width=width)
    rest = stated - facts.parameters
    if _may_have_tower(model) and 0 < rest <= min(_LARGEST_TOWER, _LARGEST_TOWER_SHARE * stated):
        tower = Component("not described by llmfit (vision or audio)", rest)
        facts = facts._replace(components=(*facts.components, tower), multimodal=True)
    yield facts


def _may_have_tower(model: LlmfitModel) -> bool:
    """Return whether parameters beyond the stated sizes can be a vision or audio tower's."""
    known = family_of(model.architecture or "") is not None
    packed = stored_quantization(model, "BF16").packed
    return known and not packed and "multimodal" in model.use_case.lower()


def _configured(model: LlmfitModel, version: str, *, tied: bool, width: int) -> ModelFacts:
    """Return the facts of the stated sizes, written as a config.json; raises MOD012."""
    config: dict[str, object] = {
        "model_type": model.architecture,
        "num_hidden_layers": model.num_hidden_layers,
        "num_attention_heads": model.num_attention_heads,
        "num_key_value_heads": model.num_key_value_heads,
        "head_dim": model.head_dim,
        "hidden_size": model.hidden_size,
        "vocab_size": model.vocab_size,
        "max_position_embeddings": model.context_length,
        "tie_word_embeddings": tied,
        "intermediate_size": width,
        "torch_dtype": "bfloat16",
    }
    if model.is_moe:
        config |= {
            "num_experts": model.num_experts,
            "num_experts_per_tok": model.active_experts,
            "moe_intermediate_size": width,
            "shared_expert_intermediate_size": model.shared_expert_intermediate_size,
        }
    try:
        return facts_from_config(
            config,
            name=model.name,
            repository=model.name,
            origin="llmfit",
            place=model.name,
            source=f"llmfit {version}",
        )
    except InputError as error:
        raise _missing(model, error.message) from error


def _missing(model: LlmfitModel, what: str) -> ModelError:
    return ModelError(
        "MOD012",
        "llmfit's catalogue knows too little of this model to size it",
        place=model.name,
        found=f"no {what}" if what.isidentifier() else what,
        expected="layers, heads, widths and vocabulary, and no architecture that needs more",
        fix=_fix(model),
    )


def _contradictory(model: LlmfitModel, read: list[ModelFacts]) -> ModelError:
    counted = sorted({f"{facts.parameters:,}" for facts in read})
    return ModelError(
        "MOD012",
        "llmfit's sizes of this model do not add up to its parameters",
        place=model.name,
        found=f"{' or '.join(counted) or 'none'} counted from the sizes",
        expected=f"{model.parameters_raw:,} within 1 %",
        fix=_fix(model),
    )


def _fix(model: LlmfitModel) -> str:
    return f"give its repository (hf://{model.name}) or your own entry (--models FILE)"
