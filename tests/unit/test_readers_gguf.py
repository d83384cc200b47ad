"""The GGUF header reader against files written after the format's description."""

from __future__ import annotations

import struct

import pytest

from claimfit.errors import InputError
from claimfit.model.ggml_types import GGML_TYPES
from claimfit.model.gguf import read_header
from claimfit.model.gguf_cursor import HEADER_LIMIT_BYTES
from claimfit.model.gguf_file_types import FILE_TYPES, REMOVED_TYPES, file_quantization
from claimfit.model.gguf_split import base_name, part_names, read_model
from support.gguf_models import dense_model
from support.gguf_writer import Array, Raw, Tensor, gguf_bytes, key_bytes, text_bytes
from support.memory_files import MemoryFile, MemoryStore

ONE = [Tensor("a.weight", (256, 4), "Q4_K")]


def refused(content: bytes, **options: int | None) -> InputError:
    """Return the error that reading `content` raises."""
    with pytest.raises(InputError) as caught:
        read_header(MemoryFile(content, **options))
    return caught.value


@pytest.mark.parametrize(("version", "order"), [(2, "<"), (3, "<"), (3, ">"), (2, ">")])
def test_every_version_and_byte_order_reads_the_same(version: int, order: str) -> None:
    """Versions 2 and 3 share a layout; big-endian files are told by their version number."""
    keys = {"n": 7, "x": 1.5, "yes": True, "name": "text", "list": Array("I", [1, 2, 3])}
    header = read_header(MemoryFile(gguf_bytes(keys, ONE, version=version, order=order)))

    assert header.version == version
    assert header.big_endian == (order == ">")
    assert header.values == {"n": 7, "x": 1.5, "yes": True, "name": "text", "list": (1, 2, 3)}
    assert [(t.name, t.dimensions, t.type.name, t.elements) for t in header.tensors] == [
        ("a.weight", (256, 4), "Q4_K", 1024)
    ]
    assert header.tensors[0].bytes == 4 * 144  # 4 blocks of 256 elements in 144 bytes each


@pytest.mark.parametrize("code", list("BbHhIiQqfd?"))
def test_every_scalar_type_is_read(code: str) -> None:
    """Each numeric value type, alone and in an array."""
    number = {"B": 0, "b": 1, "H": 2, "h": 3, "I": 4, "i": 5, "f": 6, "?": 7, "Q": 10, "q": 11}
    number["d"] = 12
    raw = Raw(struct.pack(f"<I{code}", number[code], 1))

    header = read_header(MemoryFile(gguf_bytes({"one": raw, "many": Array(code, [1, 0])})))

    assert header.values == {"one": 1, "many": (1, 0)}
    assert header.array_lengths == {"many": 2}


def test_vocabularies_keep_their_length_only() -> None:
    """Arrays of text, long arrays and long texts are stepped over; what follows is still right."""
    keys = {
        "tokens": Array("text", ["ä" * n for n in range(300)]),
        "scores": Array("f", [0.5] * 5000),
        "template": "x" * 5000,
        "after": 42,
    }

    header = read_header(MemoryFile(gguf_bytes(keys)))

    assert header.values == {"after": 42}
    assert header.array_lengths == {"tokens": 300, "scores": 5000}


def test_a_long_text_is_not_even_read() -> None:
    """A text beyond the window is stepped over without asking the source for it."""
    source = MemoryFile(gguf_bytes({"template": "x" * (8 << 20), "after": 1}))

    assert read_header(source).values == {"after": 1}
    assert sum(min(n, len(source.content) - at) for at, n in source.reads) < 1 << 20


def test_windows_grow_with_the_header() -> None:
    """A header of 7 MB takes few reads, each at most 2 MiB."""
    tokens = Array("text", ["token" * 5] * 200_000)  # 33 bytes each
    source = MemoryFile(gguf_bytes({"tokens": tokens, "after": 1}))

    read_header(source)

    assert len(source.reads) <= 10
    assert max(length for _, length in source.reads) <= 2 << 20


def test_nested_arrays_are_stepped_over() -> None:
    """The format allows arrays of arrays; no key that is used has one."""
    inner = struct.pack("<IQ", 4, 2) + struct.pack("<II", 1, 2)
    nested = Raw(struct.pack("<IIQ", 9, 9, 3) + inner * 3)

    header = read_header(MemoryFile(gguf_bytes({"nested": nested, "after": 1})))

    assert header.values == {"after": 1}
    assert header.array_lengths == {"nested": 3}


def test_every_truncation_is_refused() -> None:
    """Wherever a complete header is cut, the reader says so and never returns facts."""
    whole = gguf_bytes({"n": 7, "t": "text", "l": Array("text", ["a", "bc"])}, ONE, data=False)

    codes = {refused(whole[:length]).code for length in range(len(whole))}

    assert codes <= {"GGU003", "GGU004"}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        pytest.param(b"", "GGU003", id="empty"),
        pytest.param(b"GGML" + bytes(100), "GGU001", id="older-format"),
        pytest.param(b"version https://git-lfs.github.com/spec/v1\n", "GGU001", id="lfs-pointer"),
        pytest.param(gguf_bytes({}, version=1), "GGU002", id="version-1"),
        pytest.param(gguf_bytes({}, version=4), "GGU002", id="version-4"),
        pytest.param(gguf_bytes({}, key_count=2**63), "GGU004", id="keys-2-to-63"),
        pytest.param(gguf_bytes({}, tensor_count=2**63), "GGU004", id="tensors-2-to-63"),
        pytest.param(gguf_bytes({}, key_count=1), "GGU004", id="a-key-too-many"),
        pytest.param(gguf_bytes({"k": Raw(struct.pack("<I", 13))}), "GGU006", id="value-type"),
        pytest.param(
            gguf_bytes({"k": Raw(struct.pack("<IIQ", 9, 13, 0))}), "GGU006", id="element-type"
        ),
        pytest.param(
            gguf_bytes({"k": Raw(struct.pack("<IIQ", 9, 8, 2**63))}), "GGU004", id="array-2-to-63"
        ),
        pytest.param(
            gguf_bytes({"k": Raw(struct.pack("<IQ", 8, 2**63))}), "GGU003", id="text-2-to-63"
        ),
        pytest.param(
            gguf_bytes({"k": Raw(struct.pack("<IIQQ", 9, 8, 1, 2**64 - 1))}),
            "GGU003",
            id="text-in-array-2-to-64",
        ),
        pytest.param(
            gguf_bytes({"k": Raw(struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 6 + bytes(99))}),
            "GGU006",
            id="deep-arrays",
        ),
        pytest.param(gguf_bytes([("k", 1), ("k", 2)]), "GGU007", id="key-twice"),
        pytest.param(
            gguf_bytes([("k", Array("text", [])), ("k", 2)]), "GGU007", id="array-key-twice"
        ),
        pytest.param(gguf_bytes({"general.alignment": 24}), "GGU008", id="alignment-24"),
        pytest.param(gguf_bytes({"general.alignment": 0}), "GGU008", id="alignment-0"),
        pytest.param(gguf_bytes({"general.alignment": "32"}), "GGU008", id="alignment-text"),
        pytest.param(gguf_bytes({}, [Tensor("t", (4,), 77)]), "GGU009", id="tensor-type"),
        pytest.param(gguf_bytes({}, [Tensor("t", (4,), 31)]), "GGU009", id="removed-type"),
        pytest.param(gguf_bytes({}, [Tensor("t", (1,) * 5)]), "GGU010", id="five-dimensions"),
        pytest.param(gguf_bytes({}, [Tensor("t", (0, 4))]), "GGU010", id="zero-dimension"),
        pytest.param(
            gguf_bytes({}, [Tensor("t", (2**32, 2**32, 2), 0)], data=False), "GGU010", id="overflow"
        ),
        pytest.param(gguf_bytes({}, [Tensor("t", (100,), 12)]), "GGU010", id="half-a-block"),
        pytest.param(gguf_bytes({}, [*ONE, *ONE]), "GGU011", id="tensor-twice"),
        pytest.param(
            gguf_bytes({}, [Tensor("t", (4,), offset=8)]), "GGU012", id="unaligned-tensor"
        ),
        pytest.param(
            gguf_bytes({}, [Tensor("t", (4,), 0, offset=2**40)], data=False),
            "GGU012",
            id="tensor-beyond-the-file",
        ),
        pytest.param(
            gguf_bytes({}, [Tensor("a", (64,)), Tensor("b", (64,), offset=64)]),
            "GGU013",
            id="overlap",
        ),
    ],
)
def test_malformed_headers_are_refused(content: bytes, code: str) -> None:
    """Each way to break the format has its code, and the file is named."""
    error = refused(content)

    assert error.code == code
    assert error.place.startswith("model.gguf")


def test_text_that_is_not_utf8_is_refused_where_it_names_something() -> None:
    """A key must be UTF-8; a value is shown with replacement characters."""
    key = struct.pack("<Q", 2) + b"\xff\xfe" + struct.pack("<II", 4, 1)
    start = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)

    assert refused(start + key).code == "GGU005"
    value = key_bytes("k", Raw(struct.pack("<I", 8) + text_bytes(b"\xffok")))
    assert read_header(MemoryFile(start + value)).values == {"k": "\ufffdok"}


def test_a_source_of_unknown_size_is_bounded_by_the_longest_header() -> None:
    """Without a size, a text of 2**62 bytes and 2**40 texts still end at once."""
    text = gguf_bytes({"k": Raw(struct.pack("<IQ", 8, 2**62))})
    texts = gguf_bytes({"k": Raw(struct.pack("<IIQ", 9, 8, 2**40))})

    assert refused(text, size=None).code == "GGU004"
    assert refused(texts, size=None).code == "GGU004"
    assert refused(text, size=HEADER_LIMIT_BYTES * 2).code == "GGU004"


def test_a_source_that_claims_to_be_longer_than_it_is_is_truncated() -> None:
    """A size that the bytes do not bear out ends in the same error as a cut file."""
    whole = gguf_bytes({"t": "text"}, data=False)

    assert refused(whole[:-2], size=10_000).code == "GGU003"


def test_tensor_types_agree_with_the_gguf_package() -> None:
    """Names and block sizes equal those of gguf-py, but for Q8_1, which files never hold."""
    gguf = pytest.importorskip("gguf")
    theirs = {
        int(kind): (kind.name, *gguf.GGML_QUANT_SIZES[kind]) for kind in gguf.GGMLQuantizationType
    }

    assert {n: tuple(kind) for n, kind in GGML_TYPES.items() if n != 9} == {
        n: kind for n, kind in theirs.items() if n != 9
    }
    assert not set(REMOVED_TYPES) & set(theirs)


def test_file_types_agree_with_the_gguf_package() -> None:
    """Every recipe number of gguf-py is known under the same name."""
    gguf = pytest.importorskip("gguf")
    theirs = {
        int(kind): kind.name.removeprefix("MOSTLY_").removeprefix("ALL_")
        for kind in gguf.LlamaFileType
        if kind.name != "GUESSED"
    }

    assert {number: kind.name for number, kind in FILE_TYPES.items()} == theirs


@pytest.mark.parametrize(
    ("file_type", "dominant", "name"),
    [
        (15, "Q4_K", "Q4_K_M"),
        (14, "Q4_K", "Q4_K_S"),
        (38, "MXFP4", "MXFP4_MOE"),
        (15, "Q6_K", "Q6_K"),  # overridden tensor by tensor: the recipe is no longer true
        (1024, "Q8_0", "Q8_0"),
        (None, "IQ4_XS", "IQ4_XS"),
        (None, "Q4_K", "Q4_K_M"),  # llama-quantize reads the short form this way
        (None, "I8", ""),
    ],
)
def test_a_file_is_named_by_its_recipe_while_its_tensors_agree(
    file_type: int | None, dominant: str, name: str
) -> None:
    """The recipe number counts only where the type that holds most bytes belongs to it."""
    assert file_quantization(file_type, dominant) == name


@pytest.mark.parametrize(
    ("stem", "bits", "name"),
    [
        ("m-UD-Q4_K_XL", 5.0, "UD-Q4_K_XL"),
        ("m.q4_k_l", 5.0, "Q4_K_L"),
        ("m-UD-Q4_K_XL", 16.0, "Q4_K_M"),  # far from what the name stands for
        ("m-Q6_K", 5.0, "Q4_K_M"),  # a recipe with a number: the header knows better
        ("model", 5.0, "Q4_K_M"),
    ],
)
def test_variants_without_a_number_are_named_by_the_file_name(
    stem: str, bits: float, name: str
) -> None:
    """UD-, _XL and _L are told by the name only, while the size agrees."""
    assert file_quantization(15, "Q4_K", stem=stem, bits=bits) == name


def test_the_gguf_package_reads_the_same_header(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The tensor table of a whole small model equals that of gguf-py, offset by offset."""
    gguf = pytest.importorskip("gguf")
    path = tmp_path_factory.mktemp("gguf") / "model.gguf"
    content = gguf_bytes(*dense_model())
    path.write_bytes(content)

    theirs = gguf.GGUFReader(path)
    ours = read_header(MemoryFile(content))

    assert [
        (t.name, t.dimensions, t.elements, t.bytes, ours.data_offset + t.offset)
        for t in ours.tensors
    ] == [
        (t.name, tuple(int(n) for n in t.shape), int(t.n_elements), int(t.n_bytes), t.data_offset)
        for t in theirs.tensors
    ]
    assert ours.values["llama.block_count"] == theirs.fields["llama.block_count"].contents()


def test_files_of_the_gguf_package_are_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What gguf-py writes, with its own alignment and types, reads back as it was given."""
    gguf = pytest.importorskip("gguf")
    numpy = pytest.importorskip("numpy")
    path = tmp_path_factory.mktemp("gguf") / "written.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(3)
    writer.add_head_count_kv([8, 0, 2])
    writer.add_rope_freq_base(10000.5)
    writer.add_token_list([b"a", b"\xff\xfe", "ä"])
    writer.add_custom_alignment(64)
    writer.add_tensor("a.weight", numpy.zeros((3, 8), dtype=numpy.float16))
    quantized = numpy.zeros((4, 144), dtype=numpy.uint8)
    writer.add_tensor("b.weight", quantized, raw_dtype=gguf.GGMLQuantizationType.Q4_K)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    header = read_header(MemoryFile(path.read_bytes()))

    assert header.values["llama.block_count"] == 3
    assert header.values["llama.attention.head_count_kv"] == (8, 0, 2)
    assert header.values["llama.rope.freq_base"] == 10000.5
    assert header.array_lengths["tokenizer.ggml.tokens"] == 3
    assert [(t.name, t.dimensions, t.type.name, t.bytes, t.offset) for t in header.tensors] == [
        ("a.weight", (8, 3), "F16", 48, 0),
        ("b.weight", (256, 4), "Q4_K", 576, 64),
    ]


def split_set(count: int = 3) -> dict[str, bytes]:
    """Return a set of parts as gguf-split writes it."""
    keys, tensors = dense_model()
    share = -(-len(tensors) // count)
    files = {}
    for index in range(count):
        part = tensors[index * share : (index + 1) * share]
        own: dict[str, object] = dict(keys) if index == 0 else {}
        own |= {"split.no": index, "split.count": count, "split.tensors.count": len(tensors)}
        files[f"m-Q4_K_M-{index + 1:05}-of-{count:05}.gguf"] = gguf_bytes(own, part)
    return files


@pytest.mark.parametrize("part", [1, 2, 3])
def test_any_part_opens_the_whole_set(part: int) -> None:
    """Keys come from the first part, tensors from all of them."""
    model = read_model(MemoryStore(split_set()), f"m-Q4_K_M-0000{part}-of-00003.gguf")

    assert model.files == part_names("m-Q4_K_M-00001-of-00003.gguf")
    assert model.values["general.architecture"] == "llama"
    assert [t.name for t in model.tensors] == [t.name for t in dense_model()[1]]


def test_a_missing_part_is_named() -> None:
    """The error lists the parts that are not there."""
    files = split_set()
    del files["m-Q4_K_M-00002-of-00003.gguf"]

    with pytest.raises(InputError) as caught:
        read_model(MemoryStore(files), "m-Q4_K_M-00003-of-00003.gguf")

    assert caught.value.code == "GGU014"
    assert caught.value.found == "m-Q4_K_M-00002-of-00003.gguf"


def test_a_part_under_another_name_is_refused() -> None:
    """Parts that were swapped, renamed or taken from another set are not joined."""
    files = split_set()
    first, second, third = files
    swapped = files | {second: files[third], third: files[second]}
    renamed = {"model.gguf": files[first]}
    fewer = {name.replace("00003.", "00002."): raw for name, raw in list(files.items())[:2]}

    for store, name in (
        (swapped, second),
        (renamed, "model.gguf"),
        (fewer, "m-Q4_K_M-00001-of-00002.gguf"),
    ):
        with pytest.raises(InputError) as caught:
            read_model(MemoryStore(store), name)
        assert caught.value.code == "GGU014"


def test_parts_must_hold_as_many_tensors_as_the_first_one_says() -> None:
    """A part that was rewritten without some tensors is noticed."""
    files = split_set()
    last = "m-Q4_K_M-00003-of-00003.gguf"
    keys = {"split.no": 2, "split.count": 3}
    files[last] = gguf_bytes(keys, [Tensor("only.weight", (32,))])

    with pytest.raises(InputError) as caught:
        read_model(MemoryStore(files), last)

    assert (caught.value.code, caught.value.expected) == (
        "GGU014",
        f"{len(dense_model()[1])} (split.tensors.count)",
    )


def test_a_tensor_in_two_parts_is_refused() -> None:
    """Bytes are never counted twice."""
    same = gguf_bytes({"split.no": 0, "split.count": 2}, ONE)
    other = gguf_bytes({"split.no": 1, "split.count": 2}, ONE)

    with pytest.raises(InputError) as caught:
        read_model(
            MemoryStore({"m-00001-of-00002.gguf": same, "m-00002-of-00002.gguf": other}),
            "m-00001-of-00002.gguf",
        )

    assert caught.value.code == "GGU011"


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("a/b/Qwen3-8B-Q4_K_M.gguf", "Qwen3-8B-Q4_K_M"),
        ("x-00002-of-00003.gguf", "x"),
        ("x-00002-of-00003.GGUF", "x"),
        ("model", "model"),
    ],
)
def test_base_names_lose_folder_part_and_ending(name: str, base: str) -> None:
    """What the user calls the model."""
    assert base_name(name) == base


@pytest.mark.parametrize("name", ["m-00000-of-00003.gguf", "m-00004-of-00003.gguf"])
def test_impossible_part_numbers_are_refused(name: str) -> None:
    """Parts count from 1 to N."""
    with pytest.raises(InputError) as caught:
        part_names(name)

    assert caught.value.code == "GGU014"
