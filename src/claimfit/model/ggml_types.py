"""Tensor types and file types of ggml, by their number in a GGUF file.

Numbers, names and block sizes are those of `enum ggml_type`, `enum llama_ftype` and the block
structs in ggml-org/llama.cpp (ggml/include/ggml.h, include/llama.h, ggml/src/ggml-common.h); the
`gguf` package carries the same table, and a test compares them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["FILE_TYPES", "REMOVED_TENSOR_TYPES", "TENSOR_TYPES", "FileType", "TensorType"]


class TensorType(NamedTuple):
    """How one tensor is stored: `block_elements` of a row in `block_bytes`."""

    name: str
    block_elements: int
    block_bytes: int

    @property
    def quantized(self) -> bool:
        """Whether elements share a scale."""
        return self.block_elements > 1


TENSOR_TYPES: Final[dict[int, TensorType]] = {
    0: TensorType("F32", 1, 4),
    1: TensorType("F16", 1, 2),
    2: TensorType("Q4_0", 32, 18),
    3: TensorType("Q4_1", 32, 20),
    6: TensorType("Q5_0", 32, 22),
    7: TensorType("Q5_1", 32, 24),
    8: TensorType("Q8_0", 32, 34),
    9: TensorType("Q8_1", 32, 40),
    10: TensorType("Q2_K", 256, 84),
    11: TensorType("Q3_K", 256, 110),
    12: TensorType("Q4_K", 256, 144),
    13: TensorType("Q5_K", 256, 176),
    14: TensorType("Q6_K", 256, 210),
    15: TensorType("Q8_K", 256, 292),
    16: TensorType("IQ2_XXS", 256, 66),
    17: TensorType("IQ2_XS", 256, 74),
    18: TensorType("IQ3_XXS", 256, 98),
    19: TensorType("IQ1_S", 256, 50),
    20: TensorType("IQ4_NL", 32, 18),
    21: TensorType("IQ3_S", 256, 110),
    22: TensorType("IQ2_S", 256, 82),
    23: TensorType("IQ4_XS", 256, 136),
    24: TensorType("I8", 1, 1),
    25: TensorType("I16", 1, 2),
    26: TensorType("I32", 1, 4),
    27: TensorType("I64", 1, 8),
    28: TensorType("F64", 1, 8),
    29: TensorType("IQ1_M", 256, 56),
    30: TensorType("BF16", 1, 2),
    34: TensorType("TQ1_0", 256, 54),
    35: TensorType("TQ2_0", 256, 66),
    39: TensorType("MXFP4", 32, 17),
    40: TensorType("NVFP4", 64, 36),
    41: TensorType("Q1_0", 128, 18),
}

REMOVED_TENSOR_TYPES: Final[dict[int, str]] = {
    4: "Q4_2",
    5: "Q4_3",
    31: "Q4_0_4_4",
    32: "Q4_0_4_8",
    33: "Q4_0_8_8",
    36: "IQ4_NL_4_4",
    37: "IQ4_NL_4_8",
    38: "IQ4_NL_8_8",
}
"""Types that ggml once wrote and refuses to load today."""


class FileType(NamedTuple):
    """What `general.file_type` says: the recipe, and the tensor types that may dominate it."""

    name: str
    tensor_types: tuple[str, ...]


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
    38: FileType("MXFP4", ("MXFP4",)),
    39: FileType("NVFP4", ("NVFP4",)),
    40: FileType("Q1_0", ("Q1_0",)),
}
