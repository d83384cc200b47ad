"""What ``claimfit models`` says about models: rows of the list, the page of one, their JSON.

Layers that are alike are told as runs (``0-2``, ``3-60``), because a page with 61 equal rows hides
the three that differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.cli.lines import visible
from claimfit.model.facts import active_layer_parameters, layer_parameters
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claimfit.model.entry import Entry
    from claimfit.model.facts import Cache, Layer, ModelFacts

__all__ = ["MODELS_SCHEMA", "LayerRun", "as_json", "cache_summary", "layer_runs", "page", "row"]

MODELS_SCHEMA: Final = "claimfit.dev/models/v1"

_UNITS: Final = ((10**12, "T"), (10**9, "B"), (10**6, "M"))


class LayerRun(NamedTuple):
    """Neighbouring layers that are alike."""

    first: int
    length: int
    layer: Layer


def layer_runs(layers: tuple[Layer, ...]) -> tuple[LayerRun, ...]:
    """Return `layers` as runs of neighbours that are alike, in order."""
    runs: list[LayerRun] = []
    for position, layer in enumerate(layers):
        if runs and runs[-1].layer == layer:
            runs[-1] = runs[-1]._replace(length=runs[-1].length + 1)
        else:
            runs.append(LayerRun(position, 1, layer))
    return tuple(runs)


def cache_summary(facts: ModelFacts) -> str:
    """Return what the layers cache, most layers first: ``36 linear + 12 full (2 x 256)``."""
    counts: dict[str, int] = {}
    for layer in facts.layers:
        text = _cache_short(layer.cache)
        counts[text] = counts.get(text, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return " + ".join(f"{count} {text}" for text, count in ordered)


def _cache_short(cache: Cache) -> str:
    match cache.kind:
        case "full":
            return f"full ({cache.kv_heads} x {cache.key_size})"
        case "sliding":
            return f"sliding {cache.window} ({cache.kv_heads} x {cache.key_size})"
        case "mla":
            return f"MLA ({cache.latent_size} + {cache.rope_size})"
        case "linear":
            return "linear"
        case "shared":
            return "shared"
        case _:
            return "without cache"


def amount(parameters: int) -> str:
    """Return a parameter count for people: ``30.5 B``."""
    for size, unit in _UNITS:
        if parameters >= size:
            return f"{parameters / size:.1f} {unit}"
    return str(parameters)


HEADER: Final = ("name", "parameters", "active", "context", "layers and caches", "weights")


def row(facts: ModelFacts) -> tuple[str, ...]:
    """Return the row of the list under `HEADER`."""
    return (
        facts.name,
        amount(facts.parameters),
        amount(facts.active_parameters) if facts.is_mixture else "-",
        f"{facts.context_tokens:,}",
        cache_summary(facts),
        facts.quantization,
    )


_DERIVED: Final = {
    "embedding_parameters": "vocabulary x hidden size",
    "output_parameters": "as the embedding, unless it is tied",
}
"""Sources of fields that follow from others, where the reader of the model says nothing."""


def page(facts: ModelFacts, entry: Entry | None) -> str:
    """Return the page of one model; `entry` is its catalogue or overlay entry, if it has one."""
    told = _DERIVED | {item.field: item.source for item in facts.sources}
    lines = [_headline(facts), ""]
    for label, value, field in _fields(facts):
        source = told.get(field, "")
        lines.append(f"{label:<14}{value:<34}{source}".rstrip())
    lines.append(f"{'layers':<14}{len(facts.layers):<34}{told.get('layers', '')}".rstrip())
    lines += [f"  {_run_line(run)}" for run in layer_runs(facts.layers)]
    lines += [
        f"{'component':<14}{part.name}: {part.parameters:,} parameters"
        + ("" if part.loaded else ", in the files, not loaded for serving")
        for part in facts.components
    ]
    lines += [f"{'note':<14}{note}" for note in facts.notes]
    if entry is not None:
        lines.append(f"{'opened':<14}{entry.opened or 'nothing: values from general knowledge'}")
        lines.append(f"{'checks passed':<14}{', '.join(entry.checks) or 'none'}")
        if entry.aliases:
            lines.append(f"{'also called':<14}{', '.join(entry.aliases)}")
    return "".join(f"{visible(line)}\n" for line in lines)


def _headline(facts: ModelFacts) -> str:
    active = f", {amount(facts.active_parameters)} active per token" if facts.is_mixture else ""
    return f"{facts.name}: {amount(facts.parameters)} parameters{active}, {facts.quantization}"


def _fields(facts: ModelFacts) -> Iterator[tuple[str, str, str]]:
    """Yield label, value and the provenance field of each line."""
    yield "repository", facts.repository or "-", "repository"
    yield "architecture", f"{facts.architecture}, to {facts.task}", "architecture"
    yield "parameters", f"{facts.parameters:,} loaded", "parameters"
    if facts.declared_parameters:
        yield "  published", f"{facts.declared_parameters:,}", "declared_parameters"
    if facts.is_mixture:
        yield "active", f"{facts.active_parameters:,} per token", "parameters"
    if facts.declared_active_parameters:
        published = f"{facts.declared_active_parameters:,}"
        yield "  published", published, "declared_active_parameters"
    yield "context", f"{facts.context_tokens:,} tokens", "context_tokens"
    yield "hidden size", f"{facts.hidden_size:,}", "hidden_size"
    yield "vocabulary", f"{facts.vocabulary_size:,}", "vocabulary_size"
    yield "embedding", f"{facts.embedding_parameters:,} parameters", "embedding_parameters"
    yield "output head", _head(facts), "output_parameters"
    yield "dtype", facts.dtype, "dtype"
    group = f", groups of {facts.group_size}" if facts.group_size else ""
    yield "weights", facts.quantization + group, "quantization"
    for part, name in facts.part_quantization:
        yield "  except", f"{part.replace('_', ' ')}: {name}", "quantization"
    yield "multimodal", "yes" if facts.multimodal else "no", "multimodal"


def _head(facts: ModelFacts) -> str:
    if facts.tied:
        return "tied to the embedding"
    return f"{facts.output_parameters:,} parameters" if facts.output_parameters else "none"


def _run_line(run: LayerRun) -> str:
    last = run.first + run.length - 1
    span = f"{run.first}-{last}" if run.length > 1 else str(run.first)
    layer = run.layer
    parts = [f"{layer.heads} heads" if layer.heads else "no heads", _cache_short(layer.cache)]
    mixture = layer.mixture
    if mixture is not None:
        parts.append(
            f"{mixture.experts} experts of width {layer.intermediate_size}, "
            f"{mixture.experts_per_token} per token"
        )
    elif layer.feed_forward_parameters:
        parts.append(f"feed-forward {layer.intermediate_size}")
    parts.append(f"{amount(layer_parameters(layer))} each")
    return f"{span:<12}{'; '.join(parts)}"


def as_json(facts: ModelFacts, entry: Entry | None, *, whole: bool) -> dict[str, object]:
    """Return the object of one model; `whole` adds layers, components and sources."""
    short: dict[str, object] = {
        "name": facts.name,
        "repository": facts.repository,
        "aliases": list(entry.aliases) if entry is not None else [],
        "origin": facts.origin,
        "architecture": facts.architecture,
        "task": facts.task,
        "parameters": facts.parameters,
        "activeParameters": facts.active_parameters,
        "publishedParameters": facts.declared_parameters or None,
        "publishedActiveParameters": facts.declared_active_parameters or None,
        "contextTokens": facts.context_tokens,
        "dtype": facts.dtype,
        "quantization": facts.quantization,
        "multimodal": facts.multimodal,
        "layerCount": len(facts.layers),
        "cache": cache_summary(facts),
        "checks": list(entry.checks) if entry is not None else [],
    }
    if not whole:
        return short
    return short | {
        "hiddenSize": facts.hidden_size,
        "vocabularySize": facts.vocabulary_size,
        "embeddingParameters": facts.embedding_parameters,
        "outputParameters": facts.output_parameters,
        "groupSize": facts.group_size,
        "partQuantization": dict(facts.part_quantization),
        "layers": [_run_json(run) for run in layer_runs(facts.layers)],
        "components": [part._asdict() for part in facts.components],
        "opened": entry.opened if entry is not None else "",
        "sources": [item._asdict() for item in facts.sources],
        "notes": list(facts.notes),
    }


def _run_json(run: LayerRun) -> dict[str, object]:
    layer = run.layer
    cache = {key: value for key, value in layer.cache._asdict().items() if value}
    mixture = layer.mixture
    return {
        "first": run.first,
        "count": run.length,
        "heads": layer.heads,
        "cache": {_camel(key): value for key, value in cache.items()},
        "mixerParameters": layer.mixer_parameters,
        "feedForwardParameters": layer.feed_forward_parameters,
        "intermediateSize": layer.intermediate_size,
        "mixture": None
        if mixture is None
        else {_camel(key): value for key, value in mixture._asdict().items()},
        "parameters": layer_parameters(layer),
        "activeParameters": active_layer_parameters(layer),
    }


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)
