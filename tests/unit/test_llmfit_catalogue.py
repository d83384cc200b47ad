"""llmfit's catalogue as an index: look-ups, overlays, and files that are not what they seem."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from claimfit.errors import InputError, ModelError
from claimfit.model.llmfit_catalogue import Index, IndexKey, LlmfitCatalogue, index_bytes
from claimfit.model.llmfit_entry import (
    LlmfitModel,
    entries_from_json,
    merged,
    model_from_entry,
    slug,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

KEY = IndexKey("1.1.17", "37178688-1")
NAMES = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "Qwen/Qwen2.5-7B",
    "Qwen/Qwen2.5-7B-Instruct",
    "acme/Net",
    "acme/Ünïcode-模型",
    "b/Net",
    "b/a.b",
    "b/a-b",
)


class Bytes:
    """Bytes in memory as a `ByteRange`; `size` may be hidden as a server hides it."""

    name = "test.idx"

    def __init__(self, data: bytes, *, tells_size: bool = True) -> None:
        self.data = data
        self.size = len(data) if tells_size else None
        self.was_read = 0

    def read(self, offset: int, length: int) -> bytes:
        part = self.data[offset : offset + length]
        self.was_read += len(part)
        return part


def model(name: str, **fields) -> LlmfitModel:
    return LlmfitModel(name, "p", "7B", 7 * 10**9, 8.0, None, "Q4_K_M")._replace(**fields)


def index_of(names: Sequence[str]) -> Index:
    return Index(Bytes(index_bytes([model(name) for name in names], KEY)))


@pytest.fixture
def catalogue() -> LlmfitCatalogue:
    return LlmfitCatalogue(index_of(NAMES))


class TestSelection:
    @pytest.mark.parametrize("name", NAMES)
    def test_a_whole_name_in_any_case_is_found(self, catalogue: LlmfitCatalogue, name: str) -> None:
        """Surrounding white space does not matter either."""
        assert catalogue.select(name).name == name
        assert catalogue.select(f" {name.upper()}\t").name == name

    def test_a_whole_name_wins_over_a_part(self, catalogue: LlmfitCatalogue) -> None:
        """Qwen2.5-7B is a part of Qwen2.5-7B-Instruct too."""
        assert catalogue.select("qwen/qwen2.5-7b").name == "Qwen/Qwen2.5-7B"

    def test_a_part_that_one_name_has_is_enough(self, catalogue: LlmfitCatalogue) -> None:
        """Anywhere in the name."""
        assert catalogue.select("llama-3.1").name == "meta-llama/Llama-3.1-8B-Instruct"
        assert catalogue.select("模型").name == "acme/Ünïcode-模型"

    def test_an_ambiguous_part_lists_names_in_order(self, catalogue: LlmfitCatalogue) -> None:
        """In llmfit's order, at most ten."""
        with pytest.raises(ModelError, match="LLM012") as caught:
            catalogue.select("/net")
        assert caught.value.candidates == ("acme/Net", "b/Net")
        many = LlmfitCatalogue(index_of([f"x/m{number}" for number in range(30)]))
        with pytest.raises(ModelError) as caught:
            many.select("x/m")
        assert caught.value.candidates == tuple(f"x/m{number}" for number in range(10))

    @pytest.mark.parametrize("selector", ["", " ", "\u2003\n"])
    def test_an_empty_selector_is_refused(self, catalogue: LlmfitCatalogue, selector: str) -> None:
        """Else every model would match."""
        with pytest.raises(ModelError, match="LLM010"):
            catalogue.select(selector)

    @pytest.mark.parametrize(
        "selector",
        ["nothing", "net\nb/net", "\x1c", "b/net\nb/a.b", "\udc80", "[.*]", "x" * 10_000],
    )
    def test_what_no_name_has_is_unknown(self, catalogue: LlmfitCatalogue, selector: str) -> None:
        """A selector is text, and lines of the index are no names together."""
        with pytest.raises(ModelError, match="LLM011"):
            catalogue.select(selector)

    def test_part_look_ups_agree_with_python(self) -> None:
        """Every part of every name finds exactly the names that have it."""
        chance = random.Random(7)
        names = sorted(
            {"".join(chance.choices("ab-/", k=chance.randint(1, 9))) for _ in range(200)}
        )
        index = index_of(names)
        for _ in range(300):
            name = chance.choice(names)
            start = chance.randrange(len(name))
            part = name[start : start + chance.randint(1, 4)]
            expected = [position for position, other in enumerate(names) if part in other]
            assert list(index.positions_with(part)) == expected
            assert list(index.positions_of(name)) == [names.index(name)]


class TestOverlay:
    def test_an_own_entry_hides_its_slug(self) -> None:
        """The organisation, case and the characters - _ . do not count."""
        own = model("me/qwen2-5_7b", parameters_raw=1)
        catalogue = LlmfitCatalogue(index_of(NAMES), [own])

        assert catalogue.select("qwen2-5_7b") == own
        with pytest.raises(ModelError, match="LLM012"):
            catalogue.select("qwen")  # the Instruct model and the own entry
        assert catalogue.select("qwen/qwen2.5").name == "Qwen/Qwen2.5-7B-Instruct"

    def test_updates_never_hide(self) -> None:
        """A fetched model is seen only when neither catalogue nor own entries have its slug."""
        fetched = [model("hub/NET"), model("hub/own"), model("hub/new")]
        catalogue = LlmfitCatalogue(index_of(NAMES), [model("me/own")], fetched)

        assert catalogue.select("hub/new").name == "hub/new"
        for hidden in ("hub/net", "hub/own"):
            with pytest.raises(ModelError, match="LLM011"):
                catalogue.select(hidden)

    def test_without_the_package_own_entries_are_all(self) -> None:
        """The extra is optional."""
        catalogue = LlmfitCatalogue(None, [model("me/own")])

        assert catalogue.select("own").name == "me/own"
        assert catalogue.sharing_claim_name(model("me/own")) == ()

    def test_models_that_share_a_claim_name_are_named(self) -> None:
        """b/a.b and b/a-b both become b-a-b-fit; so does an own entry."""
        catalogue = LlmfitCatalogue(index_of(NAMES), [model("B a B")])

        assert catalogue.sharing_claim_name(model("b/a.b")) == ("b/a-b", "B a B")
        assert catalogue.sharing_claim_name(model("acme/Net")) == ()

    def test_entries_of_one_slug_are_merged(self) -> None:
        """Larger size and memory win; name, format and quantization of the first stay."""
        first = model("a/Net", parameters_raw=10**9, min_vram_gb=3.0, head_dim=64)
        later = model(
            "b/N.E.T", parameters_raw=2 * 10**9, parameter_count="2B", min_ram_gb=9.0,
            quantization="F32", is_moe=True, num_experts=8, head_dim=128, num_hidden_layers=2,
        )  # fmt: skip

        assert merged([first, model("c/other"), later]) == [
            first._replace(
                parameters_raw=2 * 10**9, parameter_count="2B", min_ram_gb=9.0,
                is_moe=True, num_experts=8, num_hidden_layers=2,
            ),
            model("c/other"),
        ]  # fmt: skip
        assert slug("a/N_e-T.1") == slug("NET1")


class TestIndex:
    def test_fields_survive(self) -> None:
        """Every field of an entry comes back as it went in."""
        entry = model(
            "x/All", provider="é", parameters_raw=None, min_ram_gb=0.1, min_vram_gb=1e300,
            context_length=2**32 - 1, use_case='"\\', format="mlx", is_moe=True, num_experts=8,
            active_experts=2, active_parameters=2**64 - 1, num_attention_heads=1,
            num_key_value_heads=2, num_hidden_layers=3, head_dim=4, hidden_size=5, vocab_size=6,
            moe_intermediate_size=7, shared_expert_intermediate_size=8, architecture="llama",
        )  # fmt: skip
        index = Index(Bytes(index_bytes([model("x/First"), entry], KEY)))

        assert index.key == KEY
        assert index.model(1) == entry

    def test_a_look_up_reads_names_and_one_record(self) -> None:
        """Not the records of the others, which are most of the file."""
        file = Bytes(index_bytes([model(f"org/model-{number}") for number in range(2_000)], KEY))
        catalogue = LlmfitCatalogue(Index(file))

        assert catalogue.select("org/model-1234").name == "org/model-1234"
        assert file.was_read < len(file.data) / 5

    @pytest.mark.parametrize("tells_size", [True, False])
    def test_a_cut_file_is_noticed(self, tells_size: bool) -> None:
        """At whatever length it ends, before or while it is used."""
        data = index_bytes([model(name) for name in NAMES], KEY)
        for length in range(0, len(data), 97):
            with pytest.raises(InputError, match="LCT004"):
                read_all(Bytes(data[:length], tells_size=tells_size))

    def test_a_changed_byte_is_noticed(self) -> None:
        """In names, claim names, rows and records; padding may change."""
        data = index_bytes([model(name) for name in NAMES], KEY)
        for at in range(512, len(data), 13):
            changed = bytearray(data)
            changed[at] ^= 0x20
            with pytest.raises(InputError, match="LCT004"):
                read_all(Bytes(bytes(changed)))

    @pytest.mark.parametrize(
        "header",
        [
            b"{",
            b"[]",
            b'{"models": -1}',
            b'{"models": 1e3, "names": [1, 2]}',
            b'{"models": 1, "names": 3}',
            b'{"models": 1, "names": [1]}',
            b'{"models": 99999999999, "names": [1, 2], "claims": [1, 2]}',
            b"[" * 400,
            b"\xff",
        ],
    )
    def test_a_hostile_header_is_refused(self, header: bytes) -> None:
        """Whatever stands there, it is the same error."""
        data = (b"claimfit llmfit index 1\n" + header).ljust(2_000)
        with pytest.raises(InputError, match="LCT004"):
            read_all(Bytes(data))

    @pytest.mark.parametrize("name", ["", "a\nb", "\x00"])
    def test_a_name_that_is_no_line_cannot_be_indexed(self, name: str) -> None:
        """It would stand for two names."""
        with pytest.raises(InputError, match="LCT003"):
            index_bytes([model(name)], KEY)


def read_all(file: Bytes) -> None:
    index = Index(file)
    assert list(index.positions_of(NAMES[-1])) == [len(NAMES) - 1]
    assert list(index.positions_claiming("acme-net-fit")) == [3]
    for position in range(index.models):
        index.model(position)


ENTRY = {
    "name": "acme/Net",
    "provider": "acme",
    "parameter_count": "7B",
    "min_ram_gb": 5,
    "recommended_ram_gb": 8.0,
    "quantization": "Q4_K_M",
    "context_length": 32768,
    "use_case": "chat",
}


class TestEntries:
    def test_a_minimal_entry_is_read(self) -> None:
        """The fields that llmfit requires; the others are absent."""
        assert model_from_entry(ENTRY, "x") == LlmfitModel(
            "acme/Net", "acme", "7B", None, 5.0, None, "Q4_K_M", 32768, "chat"
        )

    @pytest.mark.parametrize("field", sorted(ENTRY))
    @pytest.mark.parametrize("value", [None, [], {}, True, "", 1, -1.5])
    def test_a_required_field_of_another_type_is_refused(self, field: str, value: object) -> None:
        """The place names the field; text may be any string, numbers any number."""
        text = field not in {"min_ram_gb", "recommended_ram_gb", "context_length"}
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fine = (
            isinstance(value, str) if text else number and (field != "context_length" or value == 1)
        )
        if fine:
            model_from_entry({**ENTRY, field: value}, "x")
            return
        with pytest.raises(InputError, match="LCT002") as caught:
            model_from_entry({**ENTRY, field: value}, "x")
        assert caught.value.place == f"x.{field}"

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("parameters_raw", 7e9),
            ("parameters_raw", 2**64),
            ("active_parameters", -1),
            ("num_hidden_layers", 2**32),
            ("head_dim", True),
            ("hidden_size", "4096"),
            ("min_vram_gb", float("inf")),
            ("min_vram_gb", float("nan")),
            ("min_vram_gb", 10**400),
            ("min_vram_gb", "1"),
            ("is_moe", None),
            ("is_moe", 1),
            ("format", "zip"),
            ("format", None),
            ("format", ["gguf"]),
            ("capabilities", None),
            ("capabilities", ["fly"]),
            ("capabilities", [["vision"]]),
            ("languages", [1]),
            ("gguf_sources", [{"repo": "a"}]),
            ("gguf_sources", ["a"]),
            ("license", 3),
            ("architecture", ["llama"]),
            ("hf_downloads", None),
            ("name", "\ud800"),
        ],
    )
    def test_other_fields_are_as_strict_as_llmfit(self, field: str, value: object) -> None:
        """Else an entry would mean something else here than there."""
        with pytest.raises(InputError, match="LCT002"):
            model_from_entry({**ENTRY, field: value}, "x")

    @pytest.mark.parametrize("value", [None, 3, "x", []])
    def test_an_entry_is_an_object(self, value: object) -> None:
        """Any other value is refused at its place."""
        with pytest.raises(InputError, match="LCT002"):
            model_from_entry(value, "x")

    def test_json_is_read_as_llmfit_reads_it(self) -> None:
        """-0 and integers beyond 64 bits are floats; a known field may not be repeated."""
        (entry,) = entries_from_json('[{"a": [-0, 18446744073709551616], "a": 1e400}]', "x")
        assert entry == {"a": float("inf")}
        (numbers,) = entries_from_json("[[-0, 18446744073709551616, " + "9" * 5000 + "]]", "x")
        assert [type(number) for number in numbers] == [float, int, float]
        (twice,) = entries_from_json('[{"name": "a", "provider": "b", "name": "c"}]', "x")
        with pytest.raises(InputError, match=r"LCT002: x\.name"):
            model_from_entry(twice, "x")

    @pytest.mark.parametrize(
        "text",
        ["", "{}", "null", "[", "[1,]", "[NaN]", "[Infinity]", "\ufeff[]", "[" * 100_000, "[] x"],
    )
    def test_what_is_no_list_of_models_is_refused(self, text: str) -> None:
        """Broken, nested without end, or another document."""
        with pytest.raises(InputError, match="LCT001"):
            entries_from_json(text, "x")
