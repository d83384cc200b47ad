"""The quantization that a configuration declares, as a canonical name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.model.quantization import quantization

if TYPE_CHECKING:
    from claimfit.errors import InputError
    from claimfit.model.fields import Fields

__all__ = ["DTYPES", "DeclaredQuantization", "declared_dtype", "declared_quantization"]

DTYPES: Final[dict[str, str]] = {
    "bfloat16": "BF16",
    "bf16": "BF16",
    "float16": "F16",
    "fp16": "F16",
    "half": "F16",
    "float32": "F32",
    "fp32": "F32",
    "float": "F32",
}
"""torch's names of element types -> ours."""


class DeclaredQuantization(NamedTuple):
    """What the published weights are stored in."""

    name: str
    """Canonical name; the dtype when nothing is quantized."""
    group_size: int
    parts: tuple[tuple[str, str], ...]
    """Parts that differ, as `ModelFacts.part_quantization`."""
    source: str
    """Path of the field that says so."""


def declared_dtype(*sections: Fields) -> tuple[str, str]:
    """Return the element type of unquantized tensors and the field that states it.

    Nothing stated reads BF16, which is what every engine loads such a model as; the caller notes
    it. An F8 dtype reads BF16 too: it is the stored type, the unquantized rest is BF16.

    Raises:
        InputError: CFG002, the field is no string or no known type.
    """
    for fields in sections:
        stated = fields.text("dtype", "torch_dtype").removeprefix("torch.")
        if not stated:
            continue
        path = fields.source_of("dtype", "torch_dtype")
        if stated in DTYPES:
            return DTYPES[stated], path
        if stated.startswith("float8"):
            return "BF16", path
        raise fields.wrong("dtype", stated, f"one of {', '.join(DTYPES)}")
    return "BF16", ""


def declared_quantization(root: Fields, text: Fields, dtype: str) -> DeclaredQuantization:
    """Return the quantization that `root` or its text section declares, else `dtype`.

    Raises:
        InputError: CFG002 on malformed fields, CFG005 on a method that is not known.
    """
    for fields in (root, text):
        section = fields.section("quantization_config", "compression_config")
        if section is not None:
            return _from_section(section, text)
    for fields in (root, text):
        if isinstance(fields.raw("quantization"), str):
            name = quantization(fields.text("quantization")).name
            return DeclaredQuantization(name, 0, (), fields.path("quantization"))
        section = fields.section("quantization")
        if section is not None:
            return _mlx(section)
    return DeclaredQuantization(dtype, 0, (), "")


def _mlx(section: Fields) -> DeclaredQuantization:
    mode = section.text("mode", default="affine").lower()
    group = section.optional_count("group_size", "q_group_size", default=64, least=1, most=4096)
    bits = section.count("bits", most=16)
    name = f"MLX-{bits}BIT" if mode == "affine" else f"MLX-{mode.upper()}"
    return DeclaredQuantization(_known(section, name), group, (), section.path("bits"))


def _known(section: Fields, name: str) -> str:
    from claimfit.errors import ModelError

    try:
        return quantization(name).name
    except ModelError:
        raise _unknown(section, name) from None


def _unknown(section: Fields, found: object) -> InputError:
    return section.unsupported("quant_method", found, "a known quantization method")


def _from_section(section: Fields, text: Fields) -> DeclaredQuantization:
    method = section.text("quant_method").lower().replace("_", "-")
    algorithm = section.text("quant_algo").upper()
    path = section.path("quant_method" if method else "quant_algo")
    group = section.optional_count(
        "group_size", "q_group_size", "w_group_size", least=-1, most=65536
    )
    group = max(group, 0)
    if method in ("fp8", "fbgemm-fp8"):
        return DeclaredQuantization("FP8", 0, (), path)
    if method in ("awq", "gptq"):
        bits = section.count("bits", "w_bit", most=16)
        name = _known(section, f"{method}-int{bits}")
        return DeclaredQuantization(name, group, (), path)
    if method == "mxfp4":
        return DeclaredQuantization("MXFP4", 32, (), path)
    if algorithm:
        return DeclaredQuantization(_known(section, algorithm), group, (), path)
    raise _unknown(section, method or "nothing")
