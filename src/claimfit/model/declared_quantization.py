"""The quantization that a configuration declares, as a canonical name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.errors import ModelError
from claimfit.model.quantization import quantization
from claimfit.model.quantized_parts import PARTS, covered_parts, part_of_module, parts_of
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claimfit.model.facts import Layer
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

_IGNORED: Final = (
    "ignore",
    "modules_to_not_convert",
    "exclude_modules",
    "ignored_layers",
    "exclude",
)

_ALGORITHMS: Final[dict[str, str]] = {
    "FP8": "FP8",
    "FP8_PB_WO": "FP8",
    "FP8_PER_CHANNEL_PER_TOKEN": "FP8",
    "MXFP8": "MXFP8",
    "NVFP4": "NVFP4",
    "NVFP4_AWQ": "NVFP4",
    "W4A16_NVFP4": "NVFP4",
    "W4A8_NVFP4_FP8": "NVFP4",
    "MXFP4": "MXFP4",
    "W4A8_MXFP4_FP8": "MXFP4",
    "INT8": "INT8",
    "W8A16": "INT8",
    "INT8_SQ": "INT8",
    "W8A8_SQ_PER_CHANNEL": "INT8",
    "W4A16_AWQ": "AWQ-INT4",
    "W4A8_AWQ": "AWQ-INT4",
    "INT4_AWQ": "AWQ-INT4",
    "W4A16": "INT4",
}
"""Names of NVIDIA ModelOpt's `quant_algo` -> ours."""


class DeclaredQuantization(NamedTuple):
    """What the published weights are stored in."""

    name: str
    """Canonical name; the dtype when nothing is quantized."""
    group_size: int
    parts: tuple[tuple[str, str], ...]
    """Parts that differ, as `ModelFacts.part_quantization`."""
    source: str
    """Path of the field that says so, empty when none does."""


def declared_dtype(*sections: Fields) -> tuple[str, str]:
    """Return the element type of unquantized tensors and the field that states it.

    Nothing stated reads BF16, which is what every engine loads such a model as; the caller notes
    it. A float8 type reads BF16 too: it is the stored type, the unquantized rest is BF16.

    Raises:
        InputError: CFG002, the field is no string or no known type.
    """
    for fields in sections:
        stated = fields.text("dtype", "torch_dtype").removeprefix("torch.")
        if not stated or stated == "auto":
            continue
        path = fields.source_of("dtype", "torch_dtype")
        if stated in DTYPES:
            return DTYPES[stated], path
        if stated.startswith("float8"):
            return "BF16", path
        raise fields.wrong("dtype", stated, f"one of {', '.join(DTYPES)}")
    return "BF16", ""


def declared_quantization(
    root: Fields, text: Fields, dtype: str, layers: Sequence[Layer]
) -> DeclaredQuantization:
    """Return the quantization that `root` or its text section declares, else `dtype`.

    NVIDIA's separate hf_quant_config.json is read where it stands under `quantization_config`, as
    a whole or its `quantization` mapping alone; whoever reads the files puts it there.

    Raises:
        InputError: CFG002 on malformed fields, CFG005 on a method that is not known.
    """
    for fields in (root, text):
        section = fields.section("quantization_config", "compression_config")
        if section is not None and section.names():
            # ModelOpt's own file wraps the scheme: {"producer": ..., "quantization": {...}}.
            wrapped = section.section("quantization")
            return _Declaration(wrapped or section, text, dtype, layers).read()
    for fields in (root, text):
        if isinstance(fields.raw("quantization"), str):
            stated = fields.text("quantization")
            return DeclaredQuantization(
                _canonical(fields, "quantization", stated), 0, (), fields.path("quantization")
            )
        section = fields.section("quantization")
        if section is not None:
            return _mlx(section)
    return DeclaredQuantization(dtype, 0, (), "")


def _mlx(section: Fields) -> DeclaredQuantization:
    mode = section.text("mode", default="affine").lower()
    group = section.optional_count("group_size", "q_group_size", default=64, least=1, most=4096)
    bits = section.count("bits", most=16)
    name = f"MLX-{bits}BIT" if mode == "affine" else f"MLX-{mode.upper()}"
    return DeclaredQuantization(_canonical(section, "bits", name), group, (), section.path("bits"))


def _canonical(section: Fields, key: str, name: str) -> str:
    """Return the canonical form of `name`, found under `key`."""
    try:
        return quantization(name).name
    except ModelError as error:
        raise section.unknown_method(key, name, error.candidates) from None


class _Declaration:
    """One `quantization_config`, read once."""

    def __init__(self, section: Fields, text: Fields, dtype: str, layers: Sequence[Layer]) -> None:
        self.section = section
        self.text = text
        self.dtype = dtype
        self.layers = layers
        self.method = section.text("quant_method").lower().replace("_", "-")
        names = ("group_size", "q_group_size", "w_group_size")
        self.group: int | None = None  # the scheme's own; -1 in a file is one group per row
        if section.raw(*names) is not None:
            self.group = max(0, section.optional_count(*names, least=-1, most=65_536))

    def read(self) -> DeclaredQuantization:
        section, method = self.section, self.method
        if section.raw("quantized_layers") is not None:
            return self._by_layer()
        if method in ("fp8", "fbgemm-fp8"):
            if self.text.text("expert_dtype") in ("fp4", "mxfp4"):
                return self._of("MXFP4", 32, dict.fromkeys(PARTS[:4], "FP8"))
            block = section.counts("weight_block_size", least=1) or [0]
            return self._of("FP8", block[-1])
        if method == "mxfp4":
            return self._of("MXFP4", 32)
        if method in ("awq", "gptq", "auto-round", "intel/auto-round"):
            family = "autoround" if "auto-round" in method else method
            bits = section.count("bits", "w_bit", most=16)
            name = _canonical(section, "bits", f"{family}-int{bits}")
            return self._of(name, self.group)
        if method in ("bitsandbytes", "bnb"):
            return self._bitsandbytes()
        if method in ("compressed-tensors", "modelopt", "modelopt-fp4", "") and (
            section.raw("quant_algo") is None
        ):
            return self._by_groups()
        if section.raw("quant_algo") is not None:
            return self._by_algorithm(section.text("quant_algo"))
        if method == "quark":
            return self._quark()
        raise section.unknown_method("quant_method", method or "nothing", ())

    def _of(
        self, name: str, group: int | None = None, parts: dict[str, str] | None = None
    ) -> DeclaredQuantization:
        """Return `name` with `parts` that differ and the parts that are listed as left out."""
        group = quantization(name).group_size if group is None else group
        differing = dict(parts or {})
        present = parts_of(self.layers)
        ignored = [item for item in self.section.items(*_IGNORED) or () if isinstance(item, str)]
        body = quantization(name)
        for part in covered_parts(ignored, present):
            native = body.body_bits if part != "experts" else body.expert_bits
            if native and part not in ("embedding", "output"):
                differing[part] = self.dtype
        shown = ((part, differing[part]) for part in PARTS if part in differing and present[part])
        source = "quant_method" if self.method else "quant_algo"
        return DeclaredQuantization(name, group, tuple(shown), self.section.path(source))

    def _bitsandbytes(self) -> DeclaredQuantization:
        section = self.section
        if section.flag("load_in_8bit", "_load_in_8bit", default=False):
            return self._of("BNB-INT8")
        kind = section.text("bnb_4bit_quant_type", default="nf4")
        return self._of(_canonical(section, "bnb_4bit_quant_type", f"bnb-{kind}"))

    def _by_algorithm(self, algorithm: str) -> DeclaredQuantization:
        name = _ALGORITHMS.get(algorithm.upper())
        if name is None:
            raise self.section.unknown_method("quant_algo", algorithm, ())
        return self._spread(name, self.group)

    def _spread(self, name: str, group: int | None) -> DeclaredQuantization:
        """Return `name` for all matrices: MXFP4 by itself means the experts only."""
        if name != "MXFP4":
            return self._of(name, group)
        present = parts_of(self.layers)
        ignored = [item for item in self.section.items(*_IGNORED) or () if isinstance(item, str)]
        left = covered_parts(ignored, present)
        parts = {part: "MXFP4" for part in PARTS[:4] if part not in left}
        return self._of(name, group, parts if present["experts"] else {})

    def _by_groups(self) -> DeclaredQuantization:
        """Read compressed-tensors: groups of modules that share a scheme."""
        section = self.section
        groups = section.required("config_groups")
        schemes: dict[str, tuple[str, int]] = {}
        for key in groups.names():
            group = groups.required(key)
            scheme = _scheme(group)
            targets = [item for item in group.items("targets") or () if isinstance(item, str)]
            parts = {part_of_module(target) for target in targets} - {""}
            for part in parts if parts and "Linear" not in targets else {"Linear"}:
                schemes.setdefault(part, scheme)
        if not schemes:
            raise section.missing(("config_groups",), "a scheme")
        main = _heaviest(schemes, ("Linear", *_BY_WEIGHT))
        name, size = schemes.pop(main)
        if main == "Linear":
            spread = self._spread(name, size)
            own = tuple((part, schemes[part][0]) for part in PARTS if part in schemes)
            return spread._replace(parts=spread.parts + own)
        return self._listed(main, name, size, {part: entry[0] for part, entry in schemes.items()})

    def _by_layer(self) -> DeclaredQuantization:
        """Read ModelOpt's mixed precision: an algorithm for each quantized module."""
        modules = self.section.required("quantized_layers")
        schemes: dict[str, tuple[str, int]] = {}
        for key in modules.names():
            part = part_of_module(key)
            if not part or part in schemes:
                continue
            module = modules.required(key)
            algorithm = module.text("quant_algo").upper()
            if algorithm not in _ALGORITHMS:
                raise module.unknown_method("quant_algo", algorithm, ())
            size = module.optional_count("group_size", most=65_536)
            schemes[part] = (_ALGORITHMS[algorithm], size)
        main = _heaviest(schemes, _BY_WEIGHT)
        if not main:
            raise self.section.missing(("quantized_layers",), "a module of the layers")
        name, size = schemes.pop(main)
        return self._listed(main, name, size, {part: entry[0] for part, entry in schemes.items()})

    def _listed(
        self, main: str, name: str, group: int, parts: dict[str, str]
    ) -> DeclaredQuantization:
        """Return `name` for the part `main`; parts that are not listed are not quantized."""
        rest = "FP8" if self.method == "fp8" else self.dtype
        present = parts_of(self.layers)
        others = {part: parts.get(part, rest) for part in PARTS[:5] if part != main}
        others |= {part: parts[part] for part in ("embedding", "output") if part in parts}
        shown = tuple((p, others[p]) for p in PARTS if p in others and present[p])
        size = group or quantization(name).group_size
        return DeclaredQuantization(name, size, shown, self.section.path("quantized_layers"))

    def _quark(self) -> DeclaredQuantization:
        """Read AMD Quark: the weight type of the global scheme."""
        weight = self.section.required("global_quant_config").required("weight")
        kind = weight.text("dtype")
        name = {"fp8_e4m3": "FP8", "fp4": "MXFP4", "int8": "INT8", "int4": "INT4"}.get(kind)
        if name is None:
            raise weight.unknown_method("dtype", kind, ())
        return self._spread(name, weight.optional_count("group_size", most=65_536) or None)


_BY_WEIGHT: Final = ("experts", "feed_forward", "attention", "linear_attention", "shared_experts")


def _heaviest(schemes: dict[str, tuple[str, int]], order: tuple[str, ...]) -> str:
    return next((part for part in order if part in schemes), "")


def _scheme(group: Fields) -> tuple[str, int]:
    """Return the canonical name and group size of one compressed-tensors group."""
    weights = group.required("weights")
    bits = weights.count("num_bits", most=16)
    kind = weights.text("type", default="int")
    size = weights.optional_count("group_size", least=-1, most=65_536)
    size = max(0, size)
    match kind, bits:
        case "float", 8:
            return ("MXFP8" if size == 32 else "FP8"), size
        case "float", 4:
            return ("MXFP4" if size == 32 else "NVFP4"), size
        case "int", 8:
            return "INT8", size
        case "int", 4:
            return "INT4", size
        case _:
            raise weights.unknown_method("num_bits", f"{kind} of {bits} bits", ())
