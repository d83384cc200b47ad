"""Facts of a model from its entry in llmfit's catalogue, where the entry holds enough of them.

llmfit records a few shapes beside the total of parameters. The total is the judge: the shapes are
read as a configuration of the recorded architecture, with the output head tied and not tied, and
the reading whose parameters are within 2 % of the total is taken. Where none is, or shapes are
missing, the answer is an error that names the repository to read instead, never a guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.errors import InputError, ModelError
from claimfit.model.config import facts_from_config
from claimfit.model.facts import Provenance
from claimfit.model.quantization import quantization

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claimfit.model.facts import ModelFacts
    from claimfit.model.llmfit_catalogue import Index
    from claimfit.model.llmfit_entry import LlmfitModel

__all__ = ["facts_from_llmfit", "find_in_llmfit"]

_TOLERANCE: Final = 0.02
_DEFAULT_CONTEXT: Final = 4096
"""What llmfit records where it read no configuration; 5,529 of 15,855 entries have it."""
_ASSUMED: Final = ("Q", "IQ", "UD-")
"""llmfit's labels of GGUF types are its own assumption, not what the repository holds."""


def find_in_llmfit(reference: str, index: Index) -> LlmfitModel | None:
    """Return the entry whose whole name, or only whose short name, is `reference` in any case.

    Raises:
        ModelError: MOD002 when several have it.
    """
    positions = list(index.positions_of(reference))
    if not positions and "/" not in reference:
        wanted = f"/{reference.lower()}"
        positions = [
            position
            for position in index.positions_with(wanted)
            if index.model(position).name.lower().endswith(wanted)
        ]
    models = [index.model(position) for position in positions]
    if len(models) > 1:
        raise ModelError(
            "MOD002",
            "several models of llmfit's catalogue have this name",
            found=reference,
            fix="give the whole name",
            candidates=tuple(sorted(model.name for model in models)),
        )
    return models[0] if models else None


def facts_from_llmfit(model: LlmfitModel) -> ModelFacts:
    """Return the facts of `model`.

    Raises:
        ModelError: MOD012 when the entry lacks shapes, or its shapes do not give its total.
    """
    total = model.parameters_raw or 0
    stored = _stored_quantization(model)
    lacking = ""
    readings = []
    for config in _configurations(model):
        try:
            facts = facts_from_config(
                config,
                name=model.name,
                repository=model.name,
                origin="llmfit",
                place=f"llmfit's entry {model.name}",
                declared_parameters=total,
                declared_active_parameters=model.active_parameters or 0,
                source="llmfit",
            )
        except InputError as error:
            lacking = error.message
            continue
        readings.append(facts)
    best = min(readings, key=lambda facts: abs(facts.parameters - total), default=None)
    if best is None:
        raise _insufficient(model, lacking)
    if stored == "" and abs(best.parameters - total) > _TOLERANCE * total:
        raise _insufficient(model, f"its shapes give {best.parameters:,} parameters, not {total:,}")
    return best._replace(
        quantization=stored or best.quantization,
        sources=(*best.sources, Provenance("declared_parameters", "llmfit: parameters_raw")),
        notes=best.notes + _notes(model, stored),
    )


def _configurations(model: LlmfitModel) -> Iterator[dict[str, object]]:
    """Yield the entry as a config.json, with each value of what llmfit does not record."""
    stated: dict[str, object] = {
        "model_type": model.architecture,
        "hidden_size": model.hidden_size,
        "num_hidden_layers": model.num_hidden_layers,
        "num_attention_heads": model.num_attention_heads,
        "num_key_value_heads": model.num_key_value_heads,
        "head_dim": model.head_dim,
        "vocab_size": model.vocab_size,
        "intermediate_size": model.moe_intermediate_size,
        "max_position_embeddings": model.context_length or None,
    }
    if model.is_moe:
        stated |= {
            "moe_intermediate_size": model.moe_intermediate_size,
            "num_experts": model.num_experts,
            "num_experts_per_tok": model.active_experts,
            "shared_expert_intermediate_size": model.shared_expert_intermediate_size,
        }
    known = {key: value for key, value in stated.items() if value is not None}
    for tied in (False, True):
        yield known | {"tie_word_embeddings": tied}


def _stored_quantization(model: LlmfitModel) -> str:
    """Return the quantization that the repository holds, empty when it is the native one."""
    label = model.quantization
    if label.upper().startswith(_ASSUMED) or label.upper() in {"F16", "BF16", "F32"}:
        return ""
    try:
        return quantization(label).name
    except ModelError as error:
        raise _insufficient(model, f"its quantization {label!r} is not known") from error


def _notes(model: LlmfitModel, stored: str) -> tuple[str, ...]:
    notes = ["from llmfit's catalogue: caches other than plain attention are not recorded there"]
    if model.context_length == _DEFAULT_CONTEXT:
        notes.append("a context of 4096 is also what llmfit records where it knows none")
    if not stored and model.quantization.upper().startswith(_ASSUMED):
        notes.append(f"llmfit assumes {model.quantization}; give it with --quant to size that")
    return tuple(notes)


def _insufficient(model: LlmfitModel, reason: str) -> ModelError:
    return ModelError(
        "MOD012",
        "llmfit's entry does not say enough to size the model",
        place=model.name,
        found=reason,
        expected="layers, heads, widths and vocabulary that add up to its parameters",
        fix=f"read the repository itself: hf://{model.name}",
    )
