"""One entry of llmfit's catalogue, read by the rules of llmfit's own reader.

The same entry comes from three places: the catalogue inside the installed `llmfit` package, the
user's file of own entries (``LLMFIT_CUSTOM_MODELS``) and the list that ``llmfit update`` keeps. The
field names, which of them may be missing or null, and their integer widths are those of llmfit
1.1.17 (observed by feeding it files; the tests repeat that against the installed program).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from claimfit.errors import InputError
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "FORMATS",
    "WHITE_SPACE",
    "LlmfitModel",
    "claim_name",
    "entries_from_json",
    "merged",
    "model_from_entry",
    "slug",
]

FORMATS: Final[frozenset[str]] = frozenset(
    {"gguf", "awq", "gptq", "autoround", "mlx", "safetensors", "onnx"}
)
"""Values of the field ``format``; a missing one is gguf."""

WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode White_Space, which Rust's trim removes; Python's strip also removes U+001C..U+001F."""

_NAME_CHARACTERS: Final = 48
"""Characters of a model's name that llmfit keeps before it appends ``-fit``."""

_CAPABILITIES: Final = frozenset({"vision", "tool_use", "audio", "tts"})
_LARGEST_FLOAT: Final = 1.7976931348623157e308  # 64 bits; an int of 400 digits is beyond it
_U32: Final = 2**32 - 1
_U64: Final = 2**64 - 1


class LlmfitModel(NamedTuple):
    """A model as llmfit knows it. Sizes named ``_gb`` are llmfit's, which mixes GB and GiB."""

    name: str
    provider: str
    parameter_count: str
    """Text such as ``7B``; used only when `parameters_raw` is None."""
    parameters_raw: int | None
    min_ram_gb: float
    min_vram_gb: float | None
    quantization: str
    context_length: int = 0
    use_case: str = ""
    format: str = "gguf"
    is_moe: bool = False
    num_experts: int | None = None
    active_experts: int | None = None
    active_parameters: int | None = None
    num_attention_heads: int | None = None
    num_key_value_heads: int | None = None
    num_hidden_layers: int | None = None
    head_dim: int | None = None
    hidden_size: int | None = None
    vocab_size: int | None = None
    moe_intermediate_size: int | None = None
    """Feed-forward width; llmfit fills it for dense models too."""
    shared_expert_intermediate_size: int | None = None
    architecture: str | None = None


_TEXT_FIELDS: Final = ("name", "provider", "parameter_count", "quantization", "use_case")
_FLOAT_FIELDS: Final = ("min_ram_gb", "recommended_ram_gb")
_NULLABLE_TEXT: Final = ("release_date", "license", "architecture")
_NULLABLE_U64: Final = ("parameters_raw", "active_parameters")
_NULLABLE_U32: Final = (
    "num_experts",
    "active_experts",
    "num_attention_heads",
    "num_key_value_heads",
    "num_hidden_layers",
    "head_dim",
    "hidden_size",
    "vocab_size",
    "moe_intermediate_size",
    "shared_expert_intermediate_size",
)
_LISTS: Final = ("gguf_sources", "capabilities", "languages")
_COUNTERS: Final = ("hf_downloads", "hf_likes")
_KNOWN: Final = frozenset(
    (
        *_TEXT_FIELDS,
        *_FLOAT_FIELDS,
        *_NULLABLE_TEXT,
        *_NULLABLE_U64,
        *_NULLABLE_U32,
        *_LISTS,
        *_COUNTERS,
        "min_vram_gb",
        "context_length",
        "is_moe",
        "format",
    )
)


class _Object(dict[str, object]):
    """A JSON object that remembers which of its keys were written twice."""

    repeated: frozenset[str] = frozenset()


def entries_from_json(text: str, place: str) -> list[object]:
    """Return the elements of the JSON array in `text`, numbers read as llmfit reads them.

    Raises `InputError` LCT001 when it is not a JSON array, or nests too deeply to be read.
    """
    try:
        document = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError) as error:
        raise InputError("LCT001", "not JSON", place=place, found=str(error)) from error
    if not isinstance(document, list):
        raise InputError(
            "LCT001", "not a list of models", place=place, expected="a JSON array of objects"
        )
    return document


def _object(pairs: list[tuple[str, object]]) -> _Object:
    result = _Object(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        result.repeated = frozenset(key for key in result if keys.count(key) > 1)
    return result


def _integer(text: str) -> int | float:
    # serde_json reads "-0" and integers beyond 64 bits as floats, which no integer field accepts.
    return float(text) if text == "-0" or len(text) > len(str(_U64)) else int(text)


def _refuse_constant(text: str) -> object:
    message = f"{text} is no JSON number"
    raise ValueError(message)


def model_from_entry(entry: object, place: str) -> LlmfitModel:
    """Return the model that `entry`, an element of a catalogue, describes.

    Raises `InputError` LCT002 for what llmfit would refuse: a missing required field, a value of
    the wrong type or width, a field given twice. Unknown fields are ignored, as llmfit does.
    """
    if not isinstance(entry, dict):
        raise _wrong(place, entry, "an object with the fields of a model")
    if isinstance(entry, _Object) and entry.repeated & _KNOWN:
        field = min(entry.repeated & _KNOWN)
        raise _wrong(place + "." + field, "given twice", "each field once")
    read = _Fields(entry, place)
    read.check_ignored()
    numbers = {name: read.integer(name, _U32) for name in _NULLABLE_U32}
    return LlmfitModel(
        name=read.text("name"),
        provider=read.text("provider"),
        parameter_count=read.text("parameter_count"),
        parameters_raw=read.integer("parameters_raw", _U64),
        min_ram_gb=read.required_number("min_ram_gb"),
        min_vram_gb=read.number("min_vram_gb"),
        quantization=read.text("quantization"),
        context_length=read.required_integer("context_length", _U32),
        use_case=read.text("use_case"),
        format=read.choice("format", FORMATS, "gguf"),
        is_moe=read.flag("is_moe"),
        active_parameters=read.integer("active_parameters", _U64),
        architecture=read.nullable_text("architecture"),
        **numbers,
    )


def _wrong(place: str, found: object, expected: str) -> InputError:
    return InputError(
        "LCT002",
        "not a model entry that llmfit reads",
        place=place,
        found=found,
        expected=expected,
        fix="see the fields in docs/llmfit.md",
    )


class _Fields:
    """Typed access to one entry; every method raises LCT002 for a value of another type."""

    __slots__ = ("_entry", "_place")

    def __init__(self, entry: Mapping[str, object], place: str) -> None:
        self._entry = entry
        self._place = place

    def check_ignored(self) -> None:
        """Check the fields that are read by llmfit but used by nothing here."""
        self.required_number("recommended_ram_gb")
        self.nullable_text("release_date")
        self.nullable_text("license")
        for name in _COUNTERS:
            if name in self._entry:
                self.required_integer(name, _U64)
        for name in _LISTS:
            for index, item in enumerate(self._list(name)):
                if name == "gguf_sources":
                    pair = item if isinstance(item, dict) else {}
                    fine = all(isinstance(pair.get(key), str) for key in ("repo", "provider"))
                else:
                    fine = isinstance(item, str) and (
                        name != "capabilities" or item in _CAPABILITIES
                    )
                if not fine:
                    raise self._error(name + f"[{index}]", item, "an element that llmfit knows")

    def text(self, name: str) -> str:
        value = self._entry.get(name)
        if not isinstance(value, str):
            raise self._error(name, value, "a string")
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise self._error(name, value, "a string without lone surrogates")
        return value

    def nullable_text(self, name: str) -> str | None:
        return None if self._entry.get(name) is None else self.text(name)

    def flag(self, name: str) -> bool:
        value = self._entry.get(name, False)
        if not isinstance(value, bool):
            raise self._error(name, value, "true or false")
        return value

    def choice(self, name: str, allowed: frozenset[str], default: str) -> str:
        value = self._entry.get(name, default)
        if not isinstance(value, str) or value not in allowed:
            raise self._error(name, value, "one of " + ", ".join(sorted(allowed)))
        return value

    def number(self, name: str) -> float | None:
        value = self._entry.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._error(name, value, "a number")
        if not abs(value) <= _LARGEST_FLOAT:
            raise self._error(name, value, "a finite number")
        return float(value)

    def required_number(self, name: str) -> float:
        value = self.number(name)
        if value is None:
            raise self._error(name, None, "a finite number")
        return value

    def integer(self, name: str, most: int) -> int | None:
        value = self._entry.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise self._error(name, value, f"a whole number from 0 to {most}")
        return value

    def required_integer(self, name: str, most: int) -> int:
        value = self.integer(name, most)
        if value is None:
            raise self._error(name, None, f"a whole number from 0 to {most}")
        return value

    def _list(self, name: str) -> list[object]:
        value = self._entry.get(name, [])
        if not isinstance(value, list):
            raise self._error(name, value, "a list")
        return value

    def _error(self, name: str, found: object, expected: str) -> InputError:
        missing = found is None and name not in self._entry
        return _wrong(f"{self._place}.{name}", "nothing" if missing else found, expected)


def claim_name(model_name: str) -> str:
    """Return the object name that llmfit makes of `model_name`.

    Not unique (48 characters are kept), and ``-fit`` alone, which is no DNS label, when the name
    has no ASCII letter or digit; `claimfit.claim.llmfit.render` refuses that one.
    """
    kept = "".join(
        char if char.isascii() and char.isalnum() else "-" for char in model_name.lower()
    )
    joined = "-".join(part for part in kept.split("-") if part)
    return joined[:_NAME_CHARACTERS].strip("-") + "-fit"


def slug(name: str) -> str:
    """Return what llmfit compares names by: lower case, without organisation and ``-_.``."""
    bare = name.rpartition("/")[2].lower()
    return bare.replace("-", "").replace("_", "").replace(".", "")


def merged(models: Iterable[LlmfitModel]) -> list[LlmfitModel]:
    """Return `models` with entries of one slug merged into the first of them, as llmfit does.

    The larger size and memory win, the first quantization, name and format stay.
    """
    by_slug: dict[str, LlmfitModel] = {}
    for model in models:
        key = slug(model.name)
        first = by_slug.get(key)
        by_slug[key] = model if first is None else _merge(first, model)
    return list(by_slug.values())


def _merge(first: LlmfitModel, later: LlmfitModel) -> LlmfitModel:
    if (later.parameters_raw or 0) > (first.parameters_raw or 0):
        first = first._replace(
            parameter_count=later.parameter_count, parameters_raw=later.parameters_raw
        )
    if (later.min_vram_gb or 0.0) > (first.min_vram_gb or 0.0):
        first = first._replace(min_vram_gb=later.min_vram_gb)
    if later.is_moe and not first.is_moe:
        first = first._replace(
            is_moe=True,
            num_experts=later.num_experts,
            active_experts=later.active_experts,
            active_parameters=later.active_parameters,
        )
    return first._replace(
        min_ram_gb=max(first.min_ram_gb, later.min_ram_gb),
        context_length=max(first.context_length, later.context_length),
        num_attention_heads=_first(first.num_attention_heads, later.num_attention_heads),
        num_key_value_heads=_first(first.num_key_value_heads, later.num_key_value_heads),
        num_hidden_layers=_first(first.num_hidden_layers, later.num_hidden_layers),
        head_dim=_first(first.head_dim, later.head_dim),
    )


def _first(first: int | None, later: int | None) -> int | None:
    return later if first is None else first
