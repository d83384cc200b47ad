"""The claim that ``llmfit claim`` writes: same arithmetic, same text, to the byte.

One device, one request, one CEL selector over what the llmfit.ai driver publishes. The formulas
are llmfit's and are wrong in known ways (no KV cache in the floor, mixture-of-experts speed by all
weights; docs/llmfit.md lists them): this module exists so that claimfit can stand in for llmfit
where its output is wanted. Everything else uses the strict dialect.

Refused instead of printed, because the result could not be a valid manifest or would carry text
that is no part of it: names and device classes that are no DNS name, text that breaks out of a
comment line, rates and sizes that are not finite, a bandwidth that is no CEL int (int64), memory
that no Kubernetes quantity holds.
"""

from __future__ import annotations

import json
import math
from typing import Final

from claimfit.claim.llmfit_numbers import display, json_number, one_decimal, tenths
from claimfit.claim.llmfit_size import bytes_per_parameter, parameter_count
from claimfit.errors import ModelError, SizingError, UsageError
from claimfit.model.llmfit_entry import LlmfitModel, claim_name
from claimfit.records import NamedTuple

__all__ = [
    "DRIVER",
    "LLMFIT_VERSION",
    "ClaimTarget",
    "FitBounds",
    "LlmfitModel",
    "claim_name",
    "fit_bounds",
    "render",
    "render_json",
]

LLMFIT_VERSION: Final = "1.1.17"
"""The release whose arithmetic and text this module reproduces."""

DRIVER: Final = "llmfit.ai"
"""Driver name and attribute domain of llmfit-dra; also its default DeviceClass."""

_OTHER_QUANTIZATION_HEADROOM: Final = 1.2
"""llmfit's factor on the weights when the quantization is not, letter for letter, the entry's."""

_INT64_MAX: Final = 2**63 - 1
"""Largest CEL int; the API server refuses a selector with a larger literal."""

_MEMORY_GI_MAX: Final = _INT64_MAX >> 30
"""Largest whole number of Gi in a Kubernetes quantity, whose values end at 2**63 - 1."""


class ClaimTarget(NamedTuple):
    """What a claim must reach, in llmfit's terms. The defaults are llmfit's."""

    min_tps: float = 20.0
    """Tokens per second of one stream."""
    efficiency_pct: int = 55
    """Share of the bandwidth that decoding reaches, 1 to 100."""
    device_class: str = DRIVER
    template: bool = False
    """Write a ResourceClaimTemplate."""
    quant: str | None = None
    """Another quantization than the entry's."""
    name: str | None = None
    """metadata.name instead of the one made from the model's name."""


class FitBounds(NamedTuple):
    """The two floors of a claim and what they were computed from."""

    memory_gi: int
    """Device memory, in Gi. llmfit's number of decimal GB, rounded up, is used as Gi."""
    min_bandwidth_gbs: int
    """Memory bandwidth, GB/s."""
    weights_gb: float
    """Weights, GB (10**9 bytes)."""
    quant: str


def fit_bounds(model: LlmfitModel, target: ClaimTarget) -> FitBounds:
    """Return the floors that `model` needs to reach `target`, by llmfit's formulas.

    weights = parameters x bytes per parameter; bandwidth = tokens/s x weights / efficiency; memory
    = the entry's own minimum or the weights, whichever is more, and 1.2 x weights when the
    quantization is not the entry's.

    Raises `SizingError` LLM001 (rate not above 0), LLM002 (efficiency outside 1..100), LLM003 (no
    parameters), LLM004 (not finite), LLM005 (beyond what a claim can hold).
    """
    if target.min_tps <= 0.0:
        raise SizingError("LLM001", "--min-tps must be > 0", found=target.min_tps)
    if not 1 <= target.efficiency_pct <= 100:
        raise SizingError("LLM002", "--efficiency must be in 1..=100", found=target.efficiency_pct)
    quant = model.quantization if target.quant is None else target.quant
    weights_gb = parameter_count(model).billions * bytes_per_parameter(quant)
    if weights_gb <= 0.0:
        raise SizingError("LLM003", f"cannot size model '{model.name}' (unknown parameter count)")
    if quant == model.quantization:
        minimum_gb = model.min_ram_gb if model.min_vram_gb is None else model.min_vram_gb
        memory_gb = max(minimum_gb, weights_gb)
    else:
        memory_gb = weights_gb * _OTHER_QUANTIZATION_HEADROOM
    bandwidth_gbs = target.min_tps * weights_gb * 100.0 / target.efficiency_pct
    return FitBounds(
        memory_gi=_ceiling(memory_gb, _MEMORY_GI_MAX, "memory, Gi"),
        min_bandwidth_gbs=_ceiling(bandwidth_gbs, _INT64_MAX, "bandwidth, GB/s"),
        weights_gb=weights_gb,
        quant=quant,
    )


def _ceiling(value: float, most: int, what: str) -> int:
    if not math.isfinite(value):
        raise SizingError(
            "LLM004", "not a finite number", place=what, found=value, expected="a finite amount"
        )
    whole = math.ceil(value)
    if whole > most:
        raise SizingError(
            "LLM005",
            "more than a claim can ask for",
            place=what,
            found=f"{value:.6g}",
            expected=f"at most {most}",
        )
    return whole


def render(model: LlmfitModel, target: ClaimTarget) -> str:
    """Return the ResourceClaim (or template) for `model` as YAML, equal to llmfit's to the byte.

    Raises what `fit_bounds` raises, `UsageError` LLM006 (name), LLM007 (device class), LLM008
    (quantization) and `ModelError` LLM009 (entry) for text that has no place in a manifest.
    """
    bounds = fit_bounds(model, target)
    name, device_class = _checked_names(model, target)
    weights = one_decimal(bounds.weights_gb)
    header = (
        "# Generated by llmfit claim — do not compute these constants by hand.\n"
        f"# model:  {model.name} ({one_decimal(parameter_count(model).billions)}B params, "
        f"{bounds.quant} ≈ {weights} GB weights)\n"
        f"# fit:    tok/s ≈ bandwidth × {target.efficiency_pct}% / {weights} GB  ⇒  "
        f"bandwidth ≥ {bounds.min_bandwidth_gbs} GB/s for ≥ {display(target.min_tps)} tok/s\n"
        f"# memory: ≥ {bounds.memory_gi} Gi (weights + KV/runtime headroom)\n"
    )
    kind, spec, margin = (
        ("ResourceClaimTemplate", "spec:\n  spec:\n", "    ")
        if target.template
        else ("ResourceClaim", "spec:\n", "  ")
    )
    devices = _devices(bounds, _scalar(device_class))
    return (
        f"{header}apiVersion: resource.k8s.io/v1\nkind: {kind}\nmetadata:\n"
        f"  name: {_scalar(name)}\n{spec}" + "".join(f"{margin}{line}\n" for line in devices)
    )


def _devices(bounds: FitBounds, device_class: str) -> list[str]:
    """Return the lines of ``devices:``; each attribute is guarded, so its absence is a no."""
    attributes = f"device.attributes['{DRIVER}']"
    capacity = f"device.capacity['{DRIVER}']"
    return [
        "devices:",
        "  requests:",
        "    - name: model",
        "      exactly:",
        f"        deviceClassName: {device_class}",
        "        selectors:",
        "          - cel:",
        "              expression: >-",
        f"                'memory' in {capacity} &&",
        f"                {capacity}.memory.compareTo(quantity('{bounds.memory_gi}Gi')) >= 0 &&",
        f"                'memoryBandwidthGBs' in {attributes} &&",
        f"                {attributes}.memoryBandwidthGBs >= {bounds.min_bandwidth_gbs} &&",
        f"                'healthy' in {attributes} &&",
        f"                {attributes}.healthy",
    ]


def render_json(model: LlmfitModel, target: ClaimTarget, resolver_version: str) -> str:
    """Return the bounds of `model` as llmfit's JSON object, without a final newline.

    `resolver_version` is the llmfit release whose catalogue the entry is from. Raises what
    `render` raises.
    """
    bounds = fit_bounds(model, target)
    name, device_class = _checked_names(model, target)
    fields = (
        ("claimName", _json_text(name)),
        ("deviceClass", _json_text(device_class)),
        ("efficiencyPct", str(target.efficiency_pct)),
        ("memoryGi", str(bounds.memory_gi)),
        ("minBandwidthGBs", str(bounds.min_bandwidth_gbs)),
        ("minTps", json_number(target.min_tps)),
        ("model", _json_text(model.name)),
        ("quant", _json_text(bounds.quant)),
        ("resolverVersion", _json_text(resolver_version)),
        ("weightsGb", json_number(tenths(bounds.weights_gb))),
    )
    return "{\n" + ",\n".join(f'  "{key}": {value}' for key, value in fields) + "\n}"


def _json_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _checked_names(model: LlmfitModel, target: ClaimTarget) -> tuple[str, str]:
    """Return the object's name and its device class; raises LLM006 to LLM009."""
    for field, text in (("name", model.name), ("quantization", model.quantization)):
        if not _fits_a_comment(text):
            raise ModelError(
                "LLM009",
                "the entry has characters that break out of a comment",
                place=field,
                found=text,
                fix="change the entry",
            )
    if target.quant is not None and not _fits_a_comment(target.quant):
        raise UsageError(
            "LLM008",
            "the quantization has characters that break out of a comment",
            place="--quant",
            found=target.quant,
        )
    name = claim_name(model.name) if target.name is None else target.name
    if not _is_dns_subdomain(name):
        raise UsageError(
            "LLM006",
            "not a name that Kubernetes accepts",
            place="--name",
            found=name,
            expected=_DNS_RULE,
            fix="give another --name",
        )
    if not _is_dns_subdomain(target.device_class):
        raise UsageError(
            "LLM007",
            "not a device class name that Kubernetes accepts",
            place="--device-class",
            found=target.device_class,
            expected=_DNS_RULE,
        )
    return name, target.device_class


_DNS_RULE: Final = (
    "lower-case letters, digits, '-' and '.', a letter or digit at both ends of each part, "
    "at most 253 characters"
)
_DNS_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_DNS_SUBDOMAIN_LENGTH: Final = 253  # k8s.io/apimachinery validation.DNS1123SubdomainMaxLength


def _is_dns_subdomain(text: str) -> bool:
    """Return whether `text` is an RFC 1123 subdomain, as names of API objects must be."""
    return len(text) <= _DNS_SUBDOMAIN_LENGTH and all(
        part and part[0] != "-" and part[-1] != "-" and _DNS_CHARACTERS.issuperset(part)
        for part in text.split(".")
    )


def _fits_a_comment(text: str) -> bool:
    """Return whether `text` stays on its line and is printable by YAML 1.2, section 5.1."""
    return all(
        char == "\t" or (" " <= char <= "~") or (char >= "\xa0" and char not in _NOT_IN_YAML)
        for char in text
    )


# Line breaks of YAML 1.1 (kubectl's reader), the byte order mark and what is no character.
_NOT_IN_YAML: Final = frozenset(
    {"\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff", *map(chr, range(0xD800, 0xE000))}
)


def _scalar(name: str) -> str:
    """Return the DNS name `name` as a YAML scalar: quoted only where it would be no string.

    llmfit prints ``--name 123`` bare, which the API server refuses as a number.
    """
    return f'"{name}"' if name in _YAML_WORDS or _reads_as_number(name) else name


# What go-yaml v2, kubectl's reader, resolves to a boolean or null, as far as a DNS name can be it.
_YAML_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def _reads_as_number(name: str) -> bool:
    if name[:2] in {"0b", "0o", "0x"}:
        return _HEX_DIGITS.issuperset(name[2:])
    digits = name.replace("e-", "e", 1).replace("e", "", 1).replace(".", "", 1)
    return name[0] in _DIGITS and _DIGITS.issuperset(digits)


_DIGITS: Final = frozenset("0123456789")
_HEX_DIGITS: Final = frozenset("0123456789abcdef")
