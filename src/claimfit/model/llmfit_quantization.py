"""What the files of a model in llmfit's catalogue are stored in, from its format and its name.

llmfit's own label says which GGUF file it would download: of 500 names with ``fp8`` 482 are
labelled Q4_K_M. So the label counts where the entry's format confirms it or the name says GGUF, a
word of the name counts before it, and otherwise the repository is taken to hold what its model was
trained in. Whatever was decided against the label is said in a note; ``--quant`` decides otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.errors import ModelError
from claimfit.model.quantization import names, quantization
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from claimfit.model.llmfit_entry import LlmfitModel

__all__ = ["StoredQuantization", "stored_quantization"]

_PREQUANTIZED: Final = frozenset({"awq", "gptq", "autoround"})
"""Formats whose label names the format, such as AWQ-4bit."""

_CHECKPOINTS: Final = (
    ("nvfp4", "NVFP4"),
    ("mxfp4", "MXFP4"),
    ("mxfp8", "MXFP8"),
    ("fp8", "FP8"),
    ("float8", "FP8"),
    ("w4a", "INT4"),
    ("w8a", "INT8"),
    ("awq", "AWQ-INT4"),
    ("gptq", "GPTQ-INT4"),
    ("autoround", "AUTOROUND-INT4"),
    ("int4", "INT4"),
    ("int8", "INT8"),
    ("nf4", "BNB-NF4"),
)
"""Beginning of a word in a name -> what it says, the first that applies."""

_FLOATS: Final = {"bf16": "BF16", "fp16": "F16", "f16": "F16", "fp32": "F32", "f32": "F32"}
_UNSIZED: Final = ("exl2", "exl3", "hqq", "aqlm", "quip", "vptq", "hifp4", "ternary")
"""Words for schemes whose bits per weight a name does not tell."""

_GGUF: Final = frozenset({"iq", "tq", "ud", *(f"q{bits}" for bits in range(1, 9))})
"""First two characters of the words that GGUF types begin with."""

_BITS: Final = frozenset("2345678")


class StoredQuantization(NamedTuple):
    """What the weights are stored in, and what is to be said about it."""

    name: str
    """Canonical; empty when nothing says anything but what the model was trained in."""
    note: str
    packed: bool
    """Whether files of this kind hold several weights in one element, so that counts are low."""


def stored_quantization(model: LlmfitModel, native: str) -> StoredQuantization:
    """Return what the files of `model` are stored in; `native` is what it was trained in."""
    words, bits = _words(model.name.rpartition("/")[2].lower())
    label = model.quantization
    named = _named(model, words, bits if bits in _BITS else "")
    if named:
        note = "" if _means(label, named) else f"by its name, llmfit's label is {label}"
        return StoredQuantization(named, _said(named, note), quantization(named).value_bits > 0)
    if model.format in _PREQUANTIZED:
        return StoredQuantization(_known(label) or native, _of_label(label), packed=True)
    if "gguf" in words:
        note = f"by llmfit's label {label}; a GGUF repository holds several files"
        known = _known(label) or native
        return StoredQuantization(known, _said(known, note), packed=False)
    unsized = next((word for word in words if word.startswith(_UNSIZED)), "")
    unsized = unsized or (f"{bits} bits" if "." in bits else "")
    if unsized:
        note = f"sized as {native}: the name says {unsized}, whose size is not known"
        return StoredQuantization("", f"{note} (--quant)", packed=True)
    if _means(label, native):
        return StoredQuantization("", "", packed=False)
    note = f"what it was trained in; llmfit's label {label} is the file that it would download"
    return StoredQuantization("", _said(native, note), packed=False)


def _words(name: str) -> tuple[list[str], str]:
    """Return the words of the lower-case `name`, and the number that stands before ``bit``."""
    kept = "".join(
        char if char.isascii() and (char.isalnum() or char == ".") else " " for char in name
    )
    bits = ""
    for part in kept.replace(" bit", "bit").split():
        number = part[:-3]
        if part.endswith(("bit", "bpw")) and number.replace(".", "", 1).isdigit():
            bits = number if part.endswith("bit") or "." in number else bits
    return kept.replace(".", " ").split(), bits


def _named(model: LlmfitModel, words: list[str], bits: str) -> str:
    """Return the quantization that a word of the name says, empty when none does."""
    mlx = model.format == "mlx" or "mlx" in words or model.name.startswith("mlx-community/")
    for beginning, scheme in _CHECKPOINTS:
        if any(word.startswith(beginning) for word in words):
            if mlx and _known(f"MLX-{scheme}"):
                return f"MLX-{scheme}"
            return _with_bits(scheme, bits or ("8" if "int8" in words else ""))
    if bits and mlx:
        return _known(f"MLX-{bits}BIT")
    if bits and "bnb" in words:
        return "BNB-NF4" if bits == "4" else _known(f"BNB-INT{bits}")
    if any(word[:2] in _GGUF for word in words):
        joined = "-" + "-".join(words) + "-"
        for gguf in sorted(names(), key=len, reverse=True):
            spelled = f"-{gguf.lower().replace('_', '-')}-"
            if spelled in joined and quantization(gguf).family == "gguf":
                return gguf
    return next((_FLOATS[word] for word in words if word in _FLOATS), "")


def _with_bits(name: str, bits: str) -> str:
    """Return `name` with the number of bits that the name states, where it has such a kind."""
    return (_known(f"{name[:-1]}{bits}") if bits and name.endswith("-INT4") else "") or name


def _known(name: str) -> str:
    try:
        return quantization(name).name
    except ModelError:
        return ""


def _means(label: str, name: str) -> bool:
    """Return whether llmfit's `label` and the canonical `name` say the same."""
    return _known(label) == name or (label == "F16" and name == "BF16")


def _said(name: str, reason: str) -> str:
    return f"weights in {name}: {reason} (--quant)" if reason else ""


def _of_label(label: str) -> str:
    return "" if _known(label) else f"llmfit's label {label} has no known size (--quant)"
