"""``claimfit models``: the list, one model whole, quantizations, the user's own entries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from claimfit.__main__ import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def no_user_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the machine's own configuration out; return the folder that stands in for it."""
    folder = tmp_path / "config"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of ``claimfit models`` with `arguments`."""
    code = main(["models", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    """Return the JSON that ``claimfit models`` prints."""
    code, out, err = run(capsys, *arguments, "-o", "json")
    assert (code, err) == (0, "")
    parsed = json.loads(out)
    assert isinstance(parsed, dict)
    assert parsed["schemaVersion"] == "claimfit.dev/models/v1"
    return parsed


def names(listed: dict[str, object]) -> list[str]:
    """Return the names in a listed document."""
    models = listed["models"]
    assert isinstance(models, list)
    return [model["name"] for model in models]


def test_the_list_holds_names_with_every_word(capsys: pytest.CaptureFixture[str]) -> None:
    """Words are matched in any case and all of them must be in the name or in one alias."""
    found = names(document(capsys, "QWEN3", "30b", "fp8"))

    assert "Qwen/Qwen3-30B-A3B-FP8" in found
    assert all("qwen3" in name.lower() and "30b" in name.lower() for name in found)


def test_the_list_finds_former_names(capsys: pytest.CaptureFixture[str]) -> None:
    """A model is listed for a word that only its alias has."""
    assert "meta-llama/Llama-3.1-8B" in names(document(capsys, "meta-llama-3.1-8b"))


def test_an_empty_list_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """No match is no error: a count of nothing, exit 0."""
    code, out, err = run(capsys, "no-such-word-anywhere")

    assert (code, err) == (0, "")
    assert out.startswith("0 of ")


def test_the_table_tells_parameters_context_and_caches(capsys: pytest.CaptureFixture[str]) -> None:
    """One row: 8.0 B parameters, no active share for a dense model, 131,072 tokens, 32 layers."""
    code, out, _ = run(capsys, "meta-llama/Llama-3.1-8B-Instruct")

    assert code == 0
    cells = out.splitlines()[1].split()
    assert cells[:5] == ["meta-llama/Llama-3.1-8B-Instruct", "8.0", "B", "-", "131,072"]
    assert "32 full (8 x 128)" in out


def test_tasks_are_a_filter(capsys: pytest.CaptureFixture[str]) -> None:
    """--task keeps only models that serve it; another word is wrong use."""
    every = document(capsys)["models"]
    assert isinstance(every, list)
    embedding = names(document(capsys, "--task", "embed"))

    assert embedding == [model["name"] for model in every if model["task"] == "embed"]
    assert run(capsys, "--task", "chat")[0] == 2


def test_one_model_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """Layers, heads, experts and sources of Qwen3-30B-A3B as its repository publishes them."""
    model = document(capsys, "show", "qwen3-30b-a3b")["model"]
    assert isinstance(model, dict)

    assert model["name"] == "Qwen/Qwen3-30B-A3B"
    assert model["parameters"] == 30_532_122_624
    (run_of_layers,) = model["layers"]
    assert run_of_layers["count"] == 48
    assert run_of_layers["heads"] == 32
    assert run_of_layers["cache"] == {
        "kind": "full",
        "kvHeads": 4,
        "keySize": 128,
        "valueSize": 128,
    }
    assert run_of_layers["mixture"]["experts"] == 128
    assert run_of_layers["mixture"]["expertsPerToken"] == 8
    assert {item["field"] for item in model["sources"]} >= {"layers", "context_tokens", "dtype"}


def test_the_page_of_a_model_names_the_source_of_each_field(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The text form says where values were read and which checks the entry passed."""
    code, out, _ = run(capsys, "show", "Qwen/Qwen3-8B")

    assert code == 0
    assert out.startswith("Qwen/Qwen3-8B: 8.2 B parameters, BF16\n")
    assert "catalogue: max_position_embeddings" in out
    assert "checks passed parameters" in out
    assert "opened " in out


def test_an_unknown_model_is_wrong_use_with_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit 2, the nearest names on stderr, nothing on stdout."""
    code, out, err = run(capsys, "show", "Qwen/Qwen3-8C")

    assert (code, out) == (2, "")
    assert "MOD001" in err
    assert "Qwen/Qwen3-8B" in err


def test_quantizations_are_listed_with_their_bits(capsys: pytest.CaptureFixture[str]) -> None:
    """MXFP4 stores 32 weights in 16 bytes and one scale byte: 17 x 8 / 32 = 4.25 bits each."""
    listed = document(capsys, "--quants", "mxfp4")["quantizations"]

    assert isinstance(listed, list)
    assert {"name": "MXFP4", "family": "fp4", "bitsPerWeight": 4.25} in listed


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_the_users_entries_come_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, suffix: str
) -> None:
    """An entry of --models answers for its name, in JSON as in YAML."""
    text = (
        '{"models": [{"name": "own/tuned", "sameAs": "Qwen/Qwen3-8B",'
        ' "config": {"max_position_embeddings": 1024}}]}'
    )
    if suffix == "yaml":
        text = (
            "models:\n- name: own/tuned\n  sameAs: Qwen/Qwen3-8B\n"
            "  config: {max_position_embeddings: 1024}\n"
        )
    file = tmp_path / f"mine.{suffix}"
    file.write_text(text, encoding="utf-8")

    model = document(capsys, "show", "tuned", "--models", str(file))["model"]
    assert isinstance(model, dict)
    assert (model["origin"], model["contextTokens"]) == ("overlay", 1024)


def test_the_configured_file_is_read(
    capsys: pytest.CaptureFixture[str], no_user_files: Path
) -> None:
    """$XDG_CONFIG_HOME/claimfit/models.json needs no flag, and --models goes before it."""
    folder = no_user_files / "claimfit"
    folder.mkdir(parents=True)
    configured = [{"name": "own/a", "sameAs": "Qwen/Qwen3-8B", "notes": ["configured"]}]
    (folder / "models.json").write_text(json.dumps(configured), encoding="utf-8")
    given = no_user_files / "given.json"
    given.write_text(
        json.dumps([{"name": "own/a", "sameAs": "Qwen/Qwen3-8B", "notes": ["given"]}]),
        encoding="utf-8",
    )

    for flags, note in ((), "configured"), (("--models", str(given)), "given"):
        model = document(capsys, "show", "own/a", *flags)["model"]
        assert isinstance(model, dict)
        assert note in model["notes"]


def test_two_configured_files_are_refused(
    capsys: pytest.CaptureFixture[str], no_user_files: Path
) -> None:
    """Which of two files holds would be a guess."""
    folder = no_user_files / "claimfit"
    folder.mkdir(parents=True)
    for name in ("models.json", "models.yaml"):
        (folder / name).write_text("[]", encoding="utf-8")

    code, _, err = run(capsys)
    assert code == 2
    assert "MOD010" in err


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("models: [\n", "MAN001"),
        ("models: []\nmodels: []\n", "MAN002"),
        ("a\n---\nb\n", "MOD004"),
        ("", "MOD004"),
        ("models: 5\n", "MOD004"),
        ("- name: x\n  hidden_size: 5\n", "MOD005"),
        ("- name: x\n", "MOD006"),
        ("[" * 100_000, "MAN003"),
    ],
)
def test_a_broken_file_of_models_is_wrong_input(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, code: str
) -> None:
    """What the file has wrong is said with its code, exit 2."""
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")

    result, _, err = run(capsys, "--models", str(file))
    assert result == 2
    assert code in err


def test_a_missing_file_of_models_is_wrong_input(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A file that is not there, or is a folder, is named."""
    for path in (tmp_path / "absent.json", tmp_path):
        code, _, err = run(capsys, "--models", str(path))
        assert code == 2
        assert "MOD011" in err


@pytest.mark.parametrize("flags", [["--task", "embed"], ["--models", "models.yaml"]])
def test_flags_without_meaning_for_quantizations_are_refused(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """`--quants` lists quantizations: what chooses among models would do nothing."""
    code, _, err = run(capsys, "--quants", *flags)

    assert code == 2
    assert "error CLI001: --quants and" in err
