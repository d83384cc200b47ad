"""Folders: which model is in them, and what is refused."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from claimfit.errors import ClaimfitError, InputError
from claimfit.model.folder import facts_from_folder, gguf_candidates
from claimfit.storage.local import LocalFile, LocalFolder
from claimfit.storage.opening import open_model
from support.gguf_models import dense_model
from support.gguf_writer import gguf_bytes
from support.memory_files import MemoryStore
from support.safetensors_writer import LLAMA, llama_tensors, safetensors_bytes

if TYPE_CHECKING:
    import pathlib

    from claimfit.model.facts import ModelFacts

CONFIG = json.dumps(LLAMA).encode()
WEIGHTS = safetensors_bytes(llama_tensors())
GGUF = gguf_bytes(*dense_model())


def folder(files: dict[str, bytes], quantization: str = "") -> ModelFacts:
    """Return the facts of a folder in memory."""
    return facts_from_folder(MemoryStore(files), name="org/m", quantization=quantization)


def refused(files: dict[str, bytes], quantization: str = "") -> ClaimfitError:
    """Return the error that the folder raises."""
    with pytest.raises(ClaimfitError) as caught:
        folder(files, quantization)
    return caught.value


def test_a_configuration_with_weights_has_exact_bytes() -> None:
    """Layers from config.json, bytes from the headers: both agree on a plain model."""
    facts = folder({"config.json": CONFIG, "model.safetensors": WEIGHTS})

    assert (facts.architecture, facts.origin, facts.name) == ("llama", "folder", "org/m")
    assert facts.file is not None
    assert facts.file.total_bytes == 2 * facts.parameters  # BF16


def test_a_configuration_alone_says_that_bytes_are_derived() -> None:
    """Without safetensors there are facts, no exact bytes, and a note."""
    facts = folder({"config.json": CONFIG, "pytorch_model.bin": b""})

    assert facts.file is None
    assert any("safetensors" in note for note in facts.notes)


def test_the_quantization_of_modelopt_is_read_from_its_own_file() -> None:
    """ModelOpt writes hf_quant_config.json beside config.json."""
    apart = {"quantization": {"quant_algo": "NVFP4", "group_size": 16}}

    facts = folder({"config.json": CONFIG, "hf_quant_config.json": json.dumps(apart).encode()})

    assert (facts.quantization, facts.group_size) == ("NVFP4", 16)


def test_a_folder_of_one_gguf_is_that_model() -> None:
    """Projectors beside it are not candidates; a config.json without weights does not hide it."""
    files = {"m-Q4_K_M.gguf": GGUF, "mmproj-F16.gguf": b"", "config.json": CONFIG}

    facts = folder(files)

    assert (facts.origin, facts.quantization) == ("gguf", "Q4_K_M")


def test_weights_come_before_gguf_unless_a_gguf_is_asked_for() -> None:
    """A repository may hold both; a quantization that names a GGUF file chooses it."""
    files = {"config.json": CONFIG, "model.safetensors": WEIGHTS, "m-Q4_K_M.gguf": GGUF}

    assert folder(files).origin == "folder"
    assert folder(files, "FP8").origin == "folder"
    assert folder(files, "q4_k_m").origin == "gguf"


@pytest.mark.parametrize(
    ("quantization", "chosen"),
    [
        ("Q4_K_M", "a-Q4_K_M.gguf"),
        ("q4-k-m", "a-Q4_K_M.gguf"),
        ("UD-Q4_K_M", "UD/a-UD-Q4_K_M-00001-of-00001.gguf"),
        ("Q8_0", "a.Q8_0.gguf"),
        ("a-Q4_K_M", "a-Q4_K_M.gguf"),
    ],
)
def test_a_quantization_chooses_among_files(quantization: str, chosen: str) -> None:
    """However it is spelled; UD- variants are other files than those without."""
    names = ("a-Q4_K_M.gguf", "UD/a-UD-Q4_K_M-00001-of-00001.gguf", "a.Q8_0.gguf")

    facts = folder(dict.fromkeys(names, GGUF), quantization)

    assert facts.file is not None
    assert facts.file.files == (chosen,)


def test_several_models_are_listed() -> None:
    """Which one is meant is never guessed, and a choice that is not there lists those that are."""
    files = {"a-Q4_K_M.gguf": GGUF, "a-Q8_0.gguf": GGUF}

    several, other = refused(files), refused(files, "Q6_K")

    assert (several.code, other.code) == ("FIL006", "FIL007")
    assert several.candidates == other.candidates == tuple(files)


def test_the_parts_of_a_set_are_one_candidate() -> None:
    """A split model is listed once, by its first part."""
    names = ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "x.gguf")

    assert gguf_candidates(MemoryStore(dict.fromkeys(names, b""))) == (names[0], "x.gguf")


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({}, "FIL005"),
        ({"model.safetensors": WEIGHTS}, "FIL005"),
        ({"config.json": b""}, "FIL004"),
        ({"config.json": b"[]"}, "FIL004"),
        ({"config.json": b'{"hidden_size": 1, "hidden_size": 2}'}, "FIL004"),
        ({"config.json": b'{"hidden_size": Infinity}'}, "FIL004"),
        ({"config.json": b'{"hidden_size": 1' + b"0" * 400 + b"}"}, "FIL004"),
        ({"config.json": b'{"hidden_size": 1e400}'}, "FIL004"),
        ({"config.json": b'{"a":' * 200_000}, "FIL004"),
        ({"config.json": b"{}" + b" " * (4 << 20)}, "FIL004"),
        ({"config.json": b"\xff\xfe{}"}, "FIL004"),
        ({"config.json": b"{}"}, "CFG001"),
        ({"config.json": CONFIG, "model.safetensors": b"x" * 100}, "SAF001"),
        ({"m.gguf": b"nothing"}, "GGU001"),
    ],
)
def test_folders_that_hold_no_usable_model_are_refused(files: dict[str, bytes], code: str) -> None:
    """Every unusable file ends in a coded error."""
    assert refused(files).code == code


def test_local_paths_are_opened(tmp_path: pathlib.Path) -> None:
    """A folder, its config.json, its weights, a GGUF file and a part of a set; ~ is the home."""
    (tmp_path / "llama").mkdir()
    (tmp_path / "llama" / "config.json").write_bytes(CONFIG)
    (tmp_path / "llama" / "model.safetensors").write_bytes(WEIGHTS)
    (tmp_path / "m-Q4_K_M.gguf").write_bytes(GGUF)
    home = {"HOME": str(tmp_path)}

    found = [
        open_model(reference, environment=home)
        for reference in (
            f"{tmp_path}/llama",
            f"{tmp_path}/llama/",
            f"{tmp_path}/llama/config.json",
            f"{tmp_path}/llama/model.safetensors",
            "~/llama",
        )
    ]

    assert {facts.name for facts in found} == {"llama"}
    assert len({facts.file for facts in found}) == 1
    assert open_model("~/m-Q4_K_M.gguf", environment=home).name == "m-Q4_K_M"


def test_paths_relative_to_the_working_folder_are_opened(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bare file name, and the folder itself, which has a name too."""
    (tmp_path / "m.gguf").write_bytes(GGUF)
    monkeypatch.chdir(tmp_path)

    assert open_model("m.gguf", environment={}).name == "m"
    assert open_model(".", environment={}).name == tmp_path.name


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (os.fspath, "FIL001"),
        (os.mkdir, "FIL003"),
        (os.mkfifo, "FIL003"),
    ],
)
def test_what_is_no_file_is_refused(tmp_path: pathlib.Path, make: object, code: str) -> None:
    """Nothing there, a folder, a pipe that would block for ever."""
    path = tmp_path / "m.gguf"
    assert callable(make)
    make(path)

    with pytest.raises(ClaimfitError) as caught:
        open_model(str(path), environment={})

    assert caught.value.code == code


@pytest.mark.parametrize("path", ["/nonexistent/model", "/dev/null/x", "a\0b"])
def test_folders_that_are_not_there_are_refused(path: str) -> None:
    """Also a path through a device, and one that no system takes."""
    with pytest.raises(ClaimfitError) as caught:
        open_model(path, environment={})

    assert caught.value.code in {"FIL001", "FIL002"}


def test_gguf_without_a_suffix_is_known_by_its_content(tmp_path: pathlib.Path) -> None:
    """Ollama keeps models as blobs/sha256-...: the first bytes say what they are."""
    blob = tmp_path / "sha256-6a0746a1ec1a"
    blob.write_bytes(GGUF)

    facts = open_model(str(blob), environment={})

    assert (facts.name, facts.origin) == ("sha256-6a0746a1ec1a", "gguf")


@pytest.mark.parametrize("path", ["notes.txt", "config.yaml", "/dev/null"])
def test_file_without_a_model_is_not_said_to_be_missing(tmp_path: pathlib.Path, path: str) -> None:
    """A file that is there but holds no model is told apart from one that is not there."""
    file = tmp_path / path
    if not file.exists():
        file.write_text("no model")

    with pytest.raises(InputError) as caught:
        open_model(str(file), environment={})

    assert (caught.value.code, caught.value.place) == ("FIL005", str(file))


def test_unknown_schemes_are_refused() -> None:
    """Nothing but paths, the hub and the web is read."""
    with pytest.raises(ClaimfitError) as caught:
        open_model("ftp://host/m.gguf", environment={})

    assert caught.value.code == "NET009"


def test_hidden_files_and_deeper_folders_are_not_listed(tmp_path: pathlib.Path) -> None:
    """A folder's names are its own and those one folder down."""
    for name in ("a", ".hidden", "one/b", "one/two/c", ".git/d"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")

    assert LocalFolder(str(tmp_path)).names() == ("a", "one/b")


def test_a_local_file_reads_ranges(tmp_path: pathlib.Path) -> None:
    """Inside, across the end, beyond it; absurd offsets are an error, not a crash."""
    path = tmp_path / "f"
    path.write_bytes(b"0123456789")
    file = LocalFile(str(path))

    assert file.size == 10
    assert [file.read(2, 3), file.read(8, 5), file.read(20, 5)] == [b"234", b"89", b""]
    with pytest.raises(ClaimfitError) as caught:
        file.read(2**70, 1)
    assert caught.value.code == "FIL002"
    file.close()
    with pytest.raises(ClaimfitError):
        file.read(0, 1)
