"""The installed llmfit package: found, asked once, and its index kept, shared and made anew."""

from __future__ import annotations

import json
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from claimfit.errors import EnvironmentFailure, ModelError
from claimfit.model.llmfit_catalogue import Index, LlmfitCatalogue
from claimfit.storage import llmfit_dump
from claimfit.storage.llmfit_dump import Installation, ask, installation
from claimfit.storage.llmfit_user_files import custom_models, data_directory, updated_models

if TYPE_CHECKING:
    from pathlib import Path

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


def program(path: Path, body: str) -> Path:
    """Write a program that runs `body` in Python instead of llmfit."""
    path.write_text(f"#!{sys.executable}\nimport os, sys\n{body}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def listing(path: Path, *names: str) -> Path:
    """Write a program that lists models of these `names` and counts its runs in ``runs``."""
    document = json.dumps([{**ENTRY, "name": name} for name in names])
    body = f"open({str(path.with_name('runs'))!r}, 'a').write('x')\nprint({document!r})"
    return program(path, body)


@pytest.fixture
def cache(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}


def name_of(selector: str):
    """Return the question that `ask` puts: which model does `selector` mean."""
    return lambda index: LlmfitCatalogue(index).select(selector).name


def unexpected(text: str) -> None:
    raise AssertionError(text)


def files_of(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


def runs(path: Path) -> int:
    return len(path.with_name("runs").read_text())


class TestInstallation:
    def install(self, folder: Path, version: str, record: str) -> None:
        information = folder / "lib" / f"llmfit-{version}.dist-info"
        information.mkdir(parents=True)
        (information / "RECORD").write_text(record)

    def test_the_program_is_where_its_record_says(self, tmp_path: Path) -> None:
        """The package's own file list leads to the program, the first found wins."""
        self.install(tmp_path, "1.2.3", "../bin/llmfit,sha256=x,1\nllmfit/__init__.py,,\n")
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "llmfit").touch()
        found = installation([str(tmp_path / "none"), str(tmp_path), str(tmp_path / "lib")])

        assert found == Installation(str(tmp_path / "bin" / "llmfit"), "1.2.3")

    @pytest.mark.parametrize("record", ["", "../bin/other,,\n", "../bin/llmfit,,\n"])
    def test_a_package_without_its_program_is_none(self, tmp_path: Path, record: str) -> None:
        """A file list that is empty, or names what is not there."""
        self.install(tmp_path, "1.2.3", record)

        assert installation([str(tmp_path / "lib")]) is None

    def test_nothing_installed_is_none(self, tmp_path: Path) -> None:
        """Folders that are not there, or hold something else, do not matter."""
        (tmp_path / "llmfit-1.dist-info").mkdir()

        assert installation([str(tmp_path), str(tmp_path / "none")]) is None

    def test_a_version_becomes_part_of_a_file_name(self, tmp_path: Path) -> None:
        """So it must not lead anywhere else."""
        self.install(tmp_path, "1 .. ", "../bin/llmfit,,\n")
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "llmfit").touch()

        assert installation([str(tmp_path / "lib")]) is None


class TestIndexFile:
    def test_the_program_is_asked_once(self, tmp_path: Path, cache: dict[str, str]) -> None:
        """The second question is answered by the file in the cache."""
        installed = Installation(
            str(listing(tmp_path / "llmfit", "acme/Net", "acme/Other")), "1.1.17"
        )

        assert ask(name_of("net"), installed, cache, unexpected) == "acme/Net"
        assert ask(name_of("other"), installed, cache, unexpected) == "acme/Other"
        assert runs(tmp_path / "llmfit") == 1
        assert files_of(tmp_path / "cache" / "claimfit") == ["llmfit-1.1.17.idx"]

    def test_another_program_is_asked_again(self, tmp_path: Path, cache: dict[str, str]) -> None:
        """Size or time of the program tell, even when its version is the same."""
        path = listing(tmp_path / "llmfit", "acme/Net")
        ask(name_of("net"), Installation(str(path), "1.1.17"), cache, unexpected)
        listing(path, "acme/Newer-Net")

        assert ask(name_of("net"), Installation(str(path), "1.1.17"), cache, unexpected) == (
            "acme/Newer-Net"
        )

    @pytest.mark.parametrize("keep", [0, 10, 600, -1, -60])
    def test_a_damaged_index_is_made_anew(
        self, tmp_path: Path, cache: dict[str, str], keep: int
    ) -> None:
        """Cut anywhere, also where only the answer notices."""
        path = listing(tmp_path / "llmfit", "acme/Net", "acme/Other")
        installed = Installation(str(path), "1.1.17")
        ask(name_of("net"), installed, cache, unexpected)
        file = tmp_path / "cache" / "claimfit" / "llmfit-1.1.17.idx"
        whole = file.read_bytes()
        file.write_bytes(whole[:keep])

        assert ask(name_of("other"), installed, cache, unexpected) == "acme/Other"
        assert file.read_bytes() == whole

    def test_a_changed_record_is_made_anew(self, tmp_path: Path, cache: dict[str, str]) -> None:
        """The checksum is per record, so only reading it can tell."""
        installed = Installation(str(listing(tmp_path / "llmfit", "acme/Net")), "1.1.17")
        ask(name_of("net"), installed, cache, unexpected)
        file = tmp_path / "cache" / "claimfit" / "llmfit-1.1.17.idx"
        file.write_bytes(file.read_bytes().replace(b"32768", b"99999"))

        context = ask(lambda index: index.model(0).context_length, installed, cache, unexpected)

        assert context == 32768

    def test_an_answer_that_is_an_error_is_the_answer(
        self, tmp_path: Path, cache: dict[str, str]
    ) -> None:
        """An unknown model is no reason to ask the program again."""
        installed = Installation(str(listing(tmp_path / "llmfit", "acme/Net")), "1.1.17")
        ask(name_of("net"), installed, cache, unexpected)

        with pytest.raises(ModelError, match="LLM011"):
            ask(name_of("nothing"), installed, cache, unexpected)
        assert runs(tmp_path / "llmfit") == 1

    def test_without_a_cache_the_answer_comes_with_a_warning(
        self, tmp_path: Path, cache: dict[str, str]
    ) -> None:
        """A folder that cannot be made costs time, not the answer."""
        (tmp_path / "cache").touch()
        installed = Installation(str(listing(tmp_path / "llmfit", "acme/Net")), "1.1.17")
        warnings: list[str] = []

        assert ask(name_of("net"), installed, cache, warnings.append) == "acme/Net"
        assert len(warnings) == 1
        assert warnings[0].startswith("cannot keep the index of llmfit's catalogue (")

    def test_many_at_once_share_one_file(self, tmp_path: Path, cache: dict[str, str]) -> None:
        """Each sees a whole index, whoever wrote it, and no temporary file stays."""
        installed = Installation(str(listing(tmp_path / "llmfit", "acme/Net")), "1.1.17")
        with ThreadPoolExecutor(6) as pool:
            answers = list(
                pool.map(lambda _: ask(name_of("net"), installed, cache, unexpected), range(12))
            )

        assert answers == ["acme/Net"] * 12
        assert files_of(tmp_path / "cache" / "claimfit") == ["llmfit-1.1.17.idx"]

    def test_the_user_s_own_entries_are_not_indexed(
        self, tmp_path: Path, cache: dict[str, str]
    ) -> None:
        """The program is asked in empty folders: own entries are read at every start instead."""
        body = (
            "seen = [os.environ['LLMFIT_CUSTOM_MODELS'], *os.listdir(os.environ['HOME'])]\n"
            "seen += os.listdir(os.environ['XDG_DATA_HOME'])\n"
            f"print({json.dumps([ENTRY])!r} if seen == [''] else 'seen: %s' % seen)"
        )
        installed = Installation(str(program(tmp_path / "llmfit", body)), "1.1.17")
        environment = {**cache, "LLMFIT_CUSTOM_MODELS": "own.json", "XDG_DATA_HOME": str(tmp_path)}

        assert ask(name_of("net"), installed, environment, unexpected) == "acme/Net"

    @pytest.mark.parametrize(
        ("body", "found"),
        [
            ("print('[]')\nsys.exit(3)", "exit code 3"),
            ("print('Usage: something else')", "not JSON"),
            ("print('[{}]')", "LCT002"),
            ("sys.stdout.buffer.write(b'\\xff')", "utf-8"),
            ("os.kill(os.getpid(), 9)", "exit code -9"),
        ],
    )
    def test_a_program_that_is_no_llmfit_is_reported(
        self, tmp_path: Path, cache: dict[str, str], body: str, found: str
    ) -> None:
        """As a failure of the environment, with what it did."""
        installed = Installation(str(program(tmp_path / "llmfit", body)), "1.1.17")
        with pytest.raises(EnvironmentFailure, match="LCT005") as caught:
            ask(name_of("net"), installed, cache, unexpected)
        assert found in caught.value.found

    def test_a_program_that_cannot_run_is_reported(
        self, tmp_path: Path, cache: dict[str, str]
    ) -> None:
        """Such as one for another machine."""
        path = tmp_path / "llmfit"
        path.write_bytes(b"\x00")
        path.chmod(0o755)
        with pytest.raises(EnvironmentFailure, match="LCT005"):
            ask(name_of("net"), Installation(str(path), "1.1.17"), cache, unexpected)

    def test_endless_output_is_cut(
        self, tmp_path: Path, cache: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The program is stopped at the limit."""
        monkeypatch.setattr(llmfit_dump, "_DUMP_BYTES", 1000)
        installed = Installation(
            str(program(tmp_path / "llmfit", "while True: print('x' * 500)")), "1.1.17"
        )
        with pytest.raises(EnvironmentFailure, match="LCT005") as caught:
            ask(name_of("net"), installed, cache, unexpected)
        assert caught.value.found == "more than 1000 bytes"

    def test_a_program_that_hangs_is_stopped(
        self, tmp_path: Path, cache: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After the time limit."""
        monkeypatch.setattr(llmfit_dump, "_DUMP_SECONDS", 0.05)
        body = "import signal\nsignal.pause()"
        installed = Installation(str(program(tmp_path / "llmfit", body)), "1.1.17")
        with pytest.raises(EnvironmentFailure, match="LCT005") as caught:
            ask(name_of("net"), installed, cache, unexpected)
        assert caught.value.found == "exit code -9"


class TestFolders:
    @pytest.mark.skipif(sys.platform != "linux", reason="llmfit keeps its data elsewhere")
    def test_data_is_where_llmfit_keeps_it(self) -> None:
        """The user's data folder."""
        assert data_directory({"HOME": "/home/me"}) == "/home/me/.local/share/llmfit"
        assert data_directory({"XDG_DATA_HOME": "/data"}) == "/data/llmfit"


class TestUserFiles:
    def test_a_missing_file_is_nothing_to_mention(self, tmp_path: Path) -> None:
        """Neither for own entries nor for updates; an empty variable names no file."""
        environment = {"HOME": str(tmp_path)}

        assert custom_models(environment, unexpected) == ()
        assert custom_models({**environment, "LLMFIT_CUSTOM_MODELS": ""}, unexpected) == ()
        assert updated_models(environment, unexpected) == ()

    @pytest.mark.parametrize("content", [b"", b"\xff", b"[{}]", b"{}"])
    def test_a_file_that_cannot_be_read_is_skipped_with_a_warning(
        self, tmp_path: Path, content: bytes
    ) -> None:
        """The rest of the command goes on, as in llmfit."""
        file = tmp_path / "own.json"
        file.write_bytes(content)
        warnings: list[str] = []

        assert custom_models({"LLMFIT_CUSTOM_MODELS": str(file)}, warnings.append) == ()
        assert len(warnings) == 1
        assert warnings[0].startswith("skipping custom models: LCT00")
        assert str(file) in warnings[0]

    def test_a_folder_is_no_file(self, tmp_path: Path) -> None:
        """It is there, and cannot be read."""
        warnings: list[str] = []

        assert custom_models({"LLMFIT_CUSTOM_MODELS": str(tmp_path)}, warnings.append) == ()
        assert "LCT008" in warnings[0]

    @pytest.mark.parametrize(
        "content",
        [
            "[]",
            '{"version": 3, "models": []}',
            '{"version": 4, "models": 1}',
            '{"version": 4}',
            "1, 2",
        ],
    )
    def test_updates_of_another_schema_are_skipped(self, tmp_path: Path, content: str) -> None:
        """Only version 4, which llmfit 1.1.17 writes, is read."""
        folder = tmp_path / "llmfit"
        folder.mkdir()
        (folder / "hf_models_cache.json").write_text(content)
        warnings: list[str] = []

        assert updated_models({"XDG_DATA_HOME": str(tmp_path)}, warnings.append) == ()
        assert warnings[0].startswith("skipping the models of llmfit update: LCT006")

    def test_updates_are_read(self, tmp_path: Path) -> None:
        """The list inside the envelope."""
        folder = tmp_path / "llmfit"
        folder.mkdir()
        document = {"version": 4, "models": [ENTRY]}
        (folder / "hf_models_cache.json").write_text(json.dumps(document))

        (found,) = updated_models({"XDG_DATA_HOME": str(tmp_path)}, unexpected)

        assert found.name == "acme/Net"


def test_an_index_of_nothing_answers_nothing(tmp_path: Path, cache: dict[str, str]) -> None:
    """An empty catalogue is a catalogue."""
    installed = Installation(str(listing(tmp_path / "llmfit")), "1.1.17")

    def count(index: Index) -> int:
        return index.models

    assert ask(count, installed, cache, unexpected) == 0
