"""Quantizations: their names, however they are spelled, and the bits that they take per weight.

Bits include scales and zero points. Where a scheme leaves tensors in the model's own element type
(embedding and head of FP8, AWQ, GPTQ; everything but the experts of MXFP4) its bits for them are 0,
which reads "native": 16 for BF16 and F16.

Sources of the numbers:

* GGUF: `tools/quantize/README.md` of ggml-org/llama.cpp lists measured bits per weight of whole
  files of Llama-3.1-8B; types that it does not list carry the average that the recipe
  (`claimfit.model.gguf_recipes`) gives on that shape. The split by tensor is in
  `claimfit.model.weights`.
* Integer and float formats: value bits plus scale (and zero point) bits per group, arithmetic that
  stands beside each entry.
"""

from __future__ import annotations

from typing import Final, Literal

from claimfit.errors import ModelError
from claimfit.records import NamedTuple

__all__ = ["Family", "Quantization", "names", "quantization"]

Family = Literal[
    "float", "fp8", "fp4", "int", "awq", "gptq", "autoround", "bitsandbytes", "mlx", "gguf"
]


class Quantization(NamedTuple):
    """How the weights of a model are stored."""

    name: str
    """Canonical name."""
    family: Family
    bits_per_weight: float
    """Quantized matrices with their scales; of GGUF types the average of a whole file."""
    body_bits: float = 0.0
    """Matrices of the layers, routed experts apart; 0 is native."""
    expert_bits: float = 0.0
    """Routed experts; 0 is native."""
    embedding_bits: float = 0.0
    """Input embedding; 0 is native."""
    output_bits: float = 0.0
    """Output head; 0 is native."""
    value_bits: float = 0.0
    """Bits of one stored value, without its share of the group's scale."""
    group_bits: float = 0.0
    """Bits of scale and zero point of one group; 0 when scales are per row or per tensor."""
    group_size: int = 0
    """Values that share a scale along the input dimension; 0 when they are not grouped."""
    recipe: str = ""
    """Key in `claimfit.model.gguf_recipes.RECIPES`; empty when every matrix has one type."""

    def with_group_size(self, group_size: int) -> Quantization:
        """Return the same scheme with another group size (such as GPTQ with groups of 32)."""
        if not self.group_bits or group_size <= 0 or group_size == self.group_size:
            return self
        bits = self.value_bits + self.group_bits / group_size

        def regrouped(part: float) -> float:
            return bits if part == self.bits_per_weight else part

        return self._replace(
            bits_per_weight=bits,
            body_bits=regrouped(self.body_bits),
            expert_bits=regrouped(self.expert_bits),
            embedding_bits=regrouped(self.embedding_bits),
            output_bits=regrouped(self.output_bits),
            group_size=group_size,
        )


def _float(name: str, bits: float) -> Quantization:
    return Quantization(name, "float", bits, bits, bits, bits, bits, bits)


def _grouped(name: str, family: Family, bits: int, group_bits: int, group: int) -> Quantization:
    """Return a scheme that quantizes the matrices of the layers and leaves embedding and head."""
    total = bits + group_bits / group
    return Quantization(
        name,
        family,
        total,
        total,
        total,
        value_bits=bits,
        group_bits=group_bits,
        group_size=group,
    )


def _mlx(name: str, bits: int, group_bits: int, group: int) -> Quantization:
    """Return an MLX scheme: embedding and head are quantized too (mlx.nn.quantize)."""
    total = bits + group_bits / group
    return Quantization(
        name,
        "mlx",
        total,
        total,
        total,
        total,
        total,
        bits,
        group_bits=group_bits,
        group_size=group,
    )


def _gguf(name: str, bits: float, recipe: str) -> Quantization:
    return Quantization(name, "gguf", bits, bits, bits, bits, bits, bits, recipe=recipe)


_FLOATS: Final = (_float("F32", 32.0), _float("F16", 16.0), _float("BF16", 16.0))

_CHECKPOINTS: Final = (
    # One F32 scale per 128 x 128 block (DeepSeek, Qwen FP8) is 0.002 bits; per row or tensor less.
    Quantization("FP8", "fp8", 8.002, 8.002, 8.002, value_bits=8),
    # OCP MX: 32 values share one 8-bit exponent.
    _grouped("MXFP8", "fp8", 8, 8, 32),
    # NVFP4: 16 values share one FP8 scale; the F32 scale per tensor does not count.
    _grouped("NVFP4", "fp4", 4, 8, 16),
    # gpt-oss: experts alone are MXFP4, attention, router, embedding and head stay BF16.
    Quantization("MXFP4", "fp4", 4.25, 0.0, 4.25, value_bits=4, group_bits=8, group_size=32),
    # W8A8 and W8A16 of compressed-tensors: one BF16 scale per output row, 0.004 bits at 4096.
    Quantization("INT8", "int", 8.004, 8.004, 8.004, value_bits=8),
    # Pack-quantized compressed-tensors, symmetric: a BF16 scale; files of llm-compressor add the
    # group index or zero point, 0.03 bits, which is counted.
    _grouped("INT4", "int", 4, 20, 128),
    # AWQ: F16 scale and a packed 4-bit zero point per group.
    _grouped("AWQ-INT4", "awq", 4, 20, 128),
    _grouped("AWQ-INT8", "awq", 8, 24, 128),
    # GPTQ: the same; the group index (32 bits per input row) is 0.005 bits.
    _grouped("GPTQ-INT2", "gptq", 2, 18, 128),
    _grouped("GPTQ-INT3", "gptq", 3, 19, 128),
    _grouped("GPTQ-INT4", "gptq", 4, 20, 128),
    _grouped("GPTQ-INT8", "gptq", 8, 24, 128),
    # AutoRound exports the GPTQ layout.
    _grouped("AUTOROUND-INT2", "autoround", 2, 18, 128),
    _grouped("AUTOROUND-INT3", "autoround", 3, 19, 128),
    _grouped("AUTOROUND-INT4", "autoround", 4, 20, 128),
    _grouped("AUTOROUND-INT8", "autoround", 8, 24, 128),
    # bitsandbytes: an F32 maximum per 64 values without double quantization.
    _grouped("BNB-NF4", "bitsandbytes", 4, 32, 64),
    _grouped("BNB-FP4", "bitsandbytes", 4, 32, 64),
    Quantization("BNB-INT8", "bitsandbytes", 8.008, 8.008, 8.008, value_bits=8),
    # MLX affine: BF16 scale and bias per 64 values; mxfp4 and nvfp4 modes as their formats.
    _mlx("MLX-2BIT", 2, 32, 64),
    _mlx("MLX-3BIT", 3, 32, 64),
    _mlx("MLX-4BIT", 4, 32, 64),
    _mlx("MLX-5BIT", 5, 32, 64),
    _mlx("MLX-6BIT", 6, 32, 64),
    _mlx("MLX-8BIT", 8, 32, 64),
    _mlx("MLX-MXFP4", 4, 8, 32),
    _mlx("MLX-MXFP8", 8, 8, 32),
    _mlx("MLX-NVFP4", 4, 8, 16),
)

_GGUF_BITS: Final = {
    "UD-Q8_K_XL": 10.1088,
    "Q8_0": 8.5008,
    "Q6_K_L": 6.8168,
    "Q6_K": 6.5633,
    "Q5_K_L": 6.0266,
    "Q5_K_M": 5.7036,
    "Q5_K_S": 5.5704,
    "Q5_1": 6.0377,
    "Q5_0": 5.5704,
    "Q4_K_L": 5.2828,
    "Q4_K_M": 4.8944,
    "Q4_K_S": 4.6672,
    "Q4_1": 5.1031,
    "Q4_0": 4.6358,
    "IQ4_NL": 4.6818,
    "IQ4_XS": 4.4597,
    "Q3_K_XL": 4.7558,
    "Q3_K_L": 4.2979,
    "Q3_K_M": 3.9960,
    "Q3_K_S": 3.6429,
    "IQ3_M": 3.7628,
    "IQ3_S": 3.6606,
    "IQ3_XS": 3.4977,
    "IQ3_XXS": 3.2548,
    "Q2_K_L": 3.6704,
    "Q2_K": 3.1593,
    "Q2_K_S": 2.9697,
    "IQ2_M": 2.9294,
    "IQ2_S": 2.7403,
    "IQ2_XS": 2.5882,
    "IQ2_XXS": 2.3824,
    "IQ1_M": 2.1460,
    "IQ1_S": 2.0042,
    "TQ2_0": 2.5173,
    "TQ1_0": 2.1914,
    "MXFP4_MOE": 8.5008,
}
"""Average bits per weight of a Llama-3.1-8B file, scales, head and embedding included."""

_DYNAMIC: Final = {
    "UD-Q6_K_XL": "Q6_K_L",
    "UD-Q5_K_XL": "Q5_K_L",
    "UD-Q4_K_XL": "Q4_K_L",
    "UD-Q3_K_XL": "Q3_K_XL",
    "UD-Q2_K_XL": "Q2_K_L",
    "UD-IQ4_NL": "IQ4_NL",
    "UD-IQ4_XS": "IQ4_XS",
    "UD-IQ3_XXS": "IQ3_XS",
    "UD-IQ3_S": "IQ3_S",
    "UD-IQ2_M": "IQ3_XXS",
    "UD-IQ2_XXS": "IQ2_S",
    "UD-IQ1_M": "IQ2_XXS",
    "UD-IQ1_S": "IQ1_M",
    "UD-TQ1_0": "IQ1_S",
}
"""Unsloth's dynamic files choose types per model; sized by the recipe nearest above their sizes."""


_QUANTIZATIONS: Final[dict[str, Quantization]] = {
    entry.name: entry
    for entry in (
        *_FLOATS,
        *_CHECKPOINTS,
        *(_gguf(name, bits, name) for name, bits in _GGUF_BITS.items()),
        *(_gguf(name, _GGUF_BITS[sized], sized) for name, sized in _DYNAMIC.items()),
    )
}

_ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "F32": ("fp32", "float32"),
    "F16": ("fp16", "float16", "half"),
    "BF16": ("bfloat16",),
    "FP8": (
        "float8",
        "f8",
        "e4m3",
        "f8e4m3",
        "fp8e4m3",
        "float8e4m3fn",
        "fp8e5m2",
        "fp8dynamic",
        "fp8static",
        "fp8block",
        "fp8w8a8",
        "w8a8fp8",
        "fp8pbwo",
        "fp8pertensor",
    ),
    "MXFP8": ("mx8",),
    "NVFP4": ("fp4", "nvfp4a16", "w4a16nvfp4", "modeloptfp4", "nvfp4w4a4", "w4a4nvfp4"),
    "MXFP4": ("mx4", "mxfp4a16", "w4a16mxfp4"),
    "INT8": ("w8a8", "w8a16", "w8", "8bit", "int8w8a8", "w8a8int8", "w8a8dynamic", "quantizedw8a8"),
    "INT4": ("w4a16", "w4a8", "w4", "4bit", "int4w4a16", "w4a16g128", "quantizedw4a16"),
    "AWQ-INT4": ("awq", "awq4", "awq4bit", "4bitawq", "int4awq", "w4a16awq", "awqmarlin"),
    "AWQ-INT8": ("awq8", "awq8bit", "8bitawq", "int8awq"),
    "GPTQ-INT2": ("gptq2", "gptq2bit"),
    "GPTQ-INT3": ("gptq3", "gptq3bit"),
    "GPTQ-INT4": ("gptq", "gptq4", "gptq4bit", "4bitgptq", "int4gptq", "gptqw4a16", "gptqmarlin"),
    "GPTQ-INT8": ("gptq8", "gptq8bit", "8bitgptq", "int8gptq", "gptqw8a16"),
    "AUTOROUND-INT2": ("autoround2bit",),
    "AUTOROUND-INT3": ("autoround3bit",),
    "AUTOROUND-INT4": ("autoround", "autoround4bit", "int4autoround", "4bitautoround"),
    "AUTOROUND-INT8": ("autoround8bit", "int8autoround", "8bitautoround"),
    "BNB-NF4": ("bnb", "nf4", "bnb4bit", "bitsandbytes", "bitsandbytes4bit", "bitsandbytesnf4"),
    "BNB-FP4": ("bitsandbytesfp4",),
    "BNB-INT8": ("bnb8bit", "bitsandbytes8bit", "bitsandbytesint8", "llmint8"),
    "MLX-2BIT": ("2bitmlx", "mlx2"),
    "MLX-3BIT": ("3bitmlx", "mlx3"),
    "MLX-4BIT": ("4bitmlx", "mlx4", "mlxint4"),
    "MLX-5BIT": ("5bitmlx", "mlx5"),
    "MLX-6BIT": ("6bitmlx", "mlx6"),
    "MLX-8BIT": ("8bitmlx", "mlx8", "mlxint8"),
    # llama-quantize itself reads the short forms this way (tools/quantize/quantize.cpp).
    "Q5_K_M": ("q5k",),
    "Q4_K_M": ("q4k",),
    "Q3_K_M": ("q3k",),
}
"""Other spellings, folded as `_folded` does."""

_SEPARATORS: Final = str.maketrans("", "", "-_ .:")


def _folded(name: str) -> str:
    return name.lower().translate(_SEPARATORS)


_BY_SPELLING: Final[dict[str, str]] = {
    **{alias: name for name, aliases in _ALIASES.items() for alias in aliases},
    **{_folded(name): name for name in _QUANTIZATIONS},
}


def names() -> tuple[str, ...]:
    """Return the canonical names, checkpoint formats first, then GGUF types by falling size."""
    return tuple(_QUANTIZATIONS)


def quantization(name: str) -> Quantization:
    """Return the quantization called `name`.

    Case, ``-``, ``_``, ``.``, ``:`` and spaces do not matter; common other spellings (``W4A16``,
    ``fp8-dynamic``, ``bnb-4bit``) are known. ``UD-`` before a GGUF type that Unsloth's dynamic
    table does not list, and ``i1-`` (importance matrix), read as the type itself.

    Raises:
        ModelError: QNT001, the name is unknown; the nearest names are its candidates.
    """
    folded = _folded(name)
    known = _BY_SPELLING.get(folded)
    if known is None and folded[:2] in ("ud", "i1"):
        known = _BY_SPELLING.get(folded[2:])
        if known is not None and _QUANTIZATIONS[known].family != "gguf":
            known = None
    if known is None:
        raise ModelError(
            "QNT001",
            "unknown quantization",
            place="quantization",
            found=name,
            expected="the name of a quantization",
            fix="claimfit models --quants",
            candidates=_nearest(folded),
        )
    return _QUANTIZATIONS[known]


def _nearest(folded: str) -> tuple[str, ...]:
    """Return up to three names whose spelling is closest to `folded`, best first."""
    from difflib import get_close_matches

    near = get_close_matches(folded[:40], _BY_SPELLING, n=6, cutoff=0.5)
    return tuple(dict.fromkeys(_BY_SPELLING[spelling] for spelling in near))[:3]
