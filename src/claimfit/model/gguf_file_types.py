"""Names the quantization of a GGUF file: by its recipe, its tensors, or its own name.

`general.file_type` holds the recipe's number (`enum llama_ftype` in include/llama.h of
ggml-org/llama.cpp). The recipe names a file only while its tensors agree: quantizers override it
tensor by tensor, and some converters write a wrong number. Variants that have no number (``UD-``,
``_XL``, ``Q4_K_L``) stand in the file's name only.
"""

from __future__ import annotations

import re
from typing import Final

from claimfit.errors import ModelError
from claimfit.model.quantization import quantization
from claimfit.records import NamedTuple

__all__ = ["FILE_TYPES", "REMOVED_TYPES", "FileType", "file_quantization", "label_of"]


class FileType(NamedTuple):
    """A recipe, and the tensor types of which one dominates a file made by it."""

    name: str
    dominant: tuple[str, ...]


FILE_TYPES: Final[dict[int, FileType]] = {
    0: FileType("F32", ("F32",)),
    1: FileType("F16", ("F16",)),
    2: FileType("Q4_0", ("Q4_0",)),
    3: FileType("Q4_1", ("Q4_1",)),
    7: FileType("Q8_0", ("Q8_0",)),
    8: FileType("Q5_0", ("Q5_0",)),
    9: FileType("Q5_1", ("Q5_1",)),
    10: FileType("Q2_K", ("Q2_K", "Q3_K")),
    11: FileType("Q3_K_S", ("Q3_K",)),
    12: FileType("Q3_K_M", ("Q3_K",)),
    13: FileType("Q3_K_L", ("Q3_K",)),
    14: FileType("Q4_K_S", ("Q4_K",)),
    15: FileType("Q4_K_M", ("Q4_K",)),
    16: FileType("Q5_K_S", ("Q5_K",)),
    17: FileType("Q5_K_M", ("Q5_K",)),
    18: FileType("Q6_K", ("Q6_K",)),
    19: FileType("IQ2_XXS", ("IQ2_XXS",)),
    20: FileType("IQ2_XS", ("IQ2_XS",)),
    21: FileType("Q2_K_S", ("Q2_K",)),
    22: FileType("IQ3_XS", ("IQ3_S", "IQ3_XXS")),
    23: FileType("IQ3_XXS", ("IQ3_XXS",)),
    24: FileType("IQ1_S", ("IQ1_S",)),
    25: FileType("IQ4_NL", ("IQ4_NL",)),
    26: FileType("IQ3_S", ("IQ3_S",)),
    27: FileType("IQ3_M", ("IQ3_S",)),
    28: FileType("IQ2_S", ("IQ2_XS",)),
    29: FileType("IQ2_M", ("IQ2_S",)),
    30: FileType("IQ4_XS", ("IQ4_XS",)),
    31: FileType("IQ1_M", ("IQ1_M",)),
    32: FileType("BF16", ("BF16",)),
    36: FileType("TQ1_0", ("TQ1_0",)),
    37: FileType("TQ2_0", ("TQ2_0",)),
    38: FileType("MXFP4_MOE", ("MXFP4",)),
    39: FileType("NVFP4", ("NVFP4",)),
    40: FileType("Q1_0", ("Q1_0",)),
}

REMOVED_TYPES: Final[dict[int, str]] = {
    4: "Q4_2",
    5: "Q4_3",
    31: "Q4_0_4_4",
    32: "Q4_0_4_8",
    33: "Q4_0_8_8",
    36: "IQ4_NL_4_4",
    37: "IQ4_NL_4_8",
    38: "IQ4_NL_8_8",
}
"""Tensor types that ggml once wrote and refuses to load today."""


_LABEL: Final = re.compile(
    r"[-._]((?:UD-)?(?:I?Q[1-9]|TQ[12]|BF16|F16|F32|MXFP4|NVFP4)\w*)$", re.IGNORECASE
)
_LARGEST_DIFFERENCE: Final = 0.35
"""Between the bits of a file and those that its name stands for: dynamic recipes vary by model."""


def label_of(stem: str) -> str:
    """Return the quantization at the end of a file name without ending; empty without one."""
    label = _LABEL.search(stem)
    return "" if label is None else label[1]


def file_quantization(
    file_type: int | None, dominant: str, *, stem: str = "", bits: float = 0.0
) -> str:
    """Return the canonical name of a file's quantization; empty when no name is known.

    Args:
        file_type: `general.file_type`, if the file has it.
        dominant: the tensor type that holds most bytes.
        stem: the file's name without ending. It counts for variants without a recipe number, and
            only while the file is about as large as such a variant.
        bits: bits per weight of the whole file.
    """
    named = _canonical(label_of(stem))
    if named.startswith("UD-") or named.endswith(("_L", "_XL")):
        expected = quantization(named).bits_per_weight
        if abs(bits / expected - 1) <= _LARGEST_DIFFERENCE:
            return named
    recipe = None if file_type is None else FILE_TYPES.get(file_type)
    if recipe is not None and dominant in recipe.dominant:
        return _canonical(recipe.name)
    return _canonical(dominant)


def _canonical(name: str) -> str:
    try:
        return quantization(name).name if name else ""
    except ModelError:
        return ""
