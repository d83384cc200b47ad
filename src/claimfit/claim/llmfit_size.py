"""How large llmfit takes a model to be: its parameter count and its bytes per parameter.

Both rules belong to llmfit 1.1.17, wrong cases included (docs/llmfit.md); claimfit's own sizes come
from `claimfit.model`. They were found by running the program on entries made for the purpose, and
the parity tests compare them with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.claim.llmfit_numbers import parse_float
from claimfit.model.llmfit_entry import WHITE_SPACE
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claimfit.model.llmfit_entry import LlmfitModel

__all__ = ["ParameterCount", "bytes_per_parameter", "parameter_count"]

_DEFAULT_BILLIONS: Final = 7.0
"""llmfit's size for a model whose parameter count it cannot read."""

_OTHER_QUANTIZATION: Final = 0.58
"""Bytes per parameter of every quantization that llmfit does not know."""

_UNSLOTH_GRADES: Final = ("XL", "L", "M", "S")

# Exact spelling counts: "q8_0" is not known and therefore 0.58.
_BYTES_PER_PARAMETER: Final[dict[str, float]] = {
    "F32": 4.0,
    "F16": 2.0,
    "BF16": 2.0,
    "Q8_0": 1.05,
    "Q6_K": 0.80,
    "Q5_K_M": 0.68,
    "Q4_K_M": 0.58,
    "Q4_0": 0.58,
    "Q3_K_M": 0.48,
    "Q2_K": 0.37,
    "I2_S": 0.42,
    "TQ1_0": 0.42,
    "TQ2_0": 0.42,
    "MXFP4": 0.55,
    "mlx-4bit": 0.55,
    "mlx-8bit": 1.0,
    "AWQ-4bit": 0.5,
    "AWQ-8bit": 1.0,
    "GPTQ-Int4": 0.5,
    "GPTQ-Int8": 1.0,
    "AutoRound-4bit": 0.5,
    "AutoRound-8bit": 1.0,
    **{
        f"UD-Q{bits}_K_{grade}": size
        for bits, size in ((2, 0.37), (3, 0.48), (4, 0.58), (5, 0.68), (6, 0.80), (8, 1.05))
        for grade in _UNSLOTH_GRADES
    },
}

_PACKED: Final = ("nvfp4", "mxfp4", "mxfp8", "awq", "gptq", "int4", "int8", "w4a16", "w8a16")
"""Parts of a name whose files hold several weights in one element, so that counts come out low."""

_PACKED_SHORTFALL: Final = 4.0 / 3.0
"""How far the size in the name must exceed the count before llmfit believes the name."""

_DRAFTS: Final = ("eagle", "dflash", "dspark")
"""Draft heads carry the name of the large model they speculate for; their own count is right."""

_DIGITS: Final = frozenset("0123456789")


class ParameterCount(NamedTuple):
    """Parameters of a model, as llmfit sees them."""

    billions: float
    readable: bool
    """Whether the entry told; else `billions` is llmfit's default."""


def bytes_per_parameter(quantization: str) -> float:
    """Return what llmfit multiplies parameters with for `quantization`, spelled as it is."""
    return _BYTES_PER_PARAMETER.get(quantization, _OTHER_QUANTIZATION)


def parameter_count(model: LlmfitModel) -> ParameterCount:
    """Return the parameters of `model`: the entry's count, its text, or the size in a packed name.

    The count may come out as 0, negative or not finite when the entry's text says so.
    """
    stated = _stated(model)
    name = model.name.lower()
    if any(part in name for part in _PACKED) and not _is_draft(name):
        named = max(_sizes_in(name), default=0.0)
        if named > 0.0 and (stated.billions == 0.0 or named / stated.billions > _PACKED_SHORTFALL):
            return stated._replace(billions=named)
    return stated


def _stated(model: LlmfitModel) -> ParameterCount:
    if model.parameters_raw is not None:
        return ParameterCount(model.parameters_raw / 1e9, readable=True)
    text = model.parameter_count.strip(WHITE_SPACE).upper()
    value = parse_float(text[:-1]) if text.endswith(("B", "M")) else None
    if value is None:
        return ParameterCount(_DEFAULT_BILLIONS, readable=False)
    return ParameterCount(value if text.endswith("B") else value / 1000.0, readable=True)


def _is_draft(name: str) -> bool:
    """Return whether a word of the lower-case `name` after its organisation is ``eagle3`` or so."""
    words = name.rpartition("/")[2].replace("_", "-").replace(".", "-").split("-")
    return any(
        word == draft or (word.startswith(draft) and word.removeprefix(draft).isdecimal())
        for word in words
        for draft in _DRAFTS
    )


def _sizes_in(name: str) -> Iterator[float]:
    """Yield the sizes in the lower-case `name`: 30 of ``qwen3-30b-a3b``, 1.5 of ``x-1_5b``.

    A size is a number and a ``b``, neither beside another letter or digit (so no ``a3b``), and not
    followed by a number of experts (``17b-16e``).
    """
    at = name.find("b")
    while at >= 0:
        number = _number_before(name, at)
        if number and not name[at + 1 : at + 2].isalnum() and not _experts_follow(name, at + 1):
            yield float(number)
        at = name.find("b", at + 1)


def _number_before(name: str, end: int) -> str:
    """Return the number that ends at `end`, its point being ``.`` or ``_``; empty if none does."""
    whole = _digits_before(name, end)
    start = end - len(whole)
    number = whole
    if name[start - 1 : start] in {".", "_"}:
        before = _digits_before(name, start - 1)
        if before:
            start -= 1 + len(before)
            number = f"{before}.{whole}"
    return "" if name[start - 1 : start].isalnum() else number


def _digits_before(name: str, end: int) -> str:
    start = end
    while start > 0 and name[start - 1] in _DIGITS:
        start -= 1
    return name[start:end]


def _experts_follow(name: str, at: int) -> bool:
    """Return whether ``-16e`` or the like stands at `at`."""
    if name[at : at + 1] not in {"-", "_", "."}:
        return False
    end = at + 1
    while end < len(name) and name[end] in _DIGITS:
        end += 1
    return end > at + 1 and name[end : end + 1] == "e" and not name[end + 1 : end + 2].isalnum()
