"""The installed `llmfit` package: where it is, and its catalogue as an index in the user's cache.

The package (extra ``claimfit[llmfit]``) is one native program with the catalogue inside. It is
asked once for all of it (``llmfit list --json``, 18 MB); the index made of that is kept in
``$XDG_CACHE_HOME/claimfit/llmfit-VERSION.idx`` until the program changes. The cold path of
``claimfit claim`` only opens that file, so nothing heavy is imported at the top.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, TypeVar

from claimfit.errors import EnvironmentFailure, InputError
from claimfit.model.llmfit_catalogue import Index, IndexKey, index_bytes
from claimfit.model.llmfit_entry import entries_from_json, model_from_entry
from claimfit.records import NamedTuple
from claimfit.storage.user_folders import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Self

    from claimfit.model.llmfit_entry import LlmfitModel

__all__ = ["Installation", "ask", "installation"]

Answer = TypeVar("Answer")

_PROGRAMS: Final = frozenset({"llmfit", "llmfit.exe"})
_DUMP_SECONDS: Final = 60.0
"""llmfit takes 0.3 s; more than this is a program that hangs."""
_DUMP_BYTES: Final = 128 << 20
"""Seven times what llmfit 1.1.17 prints."""

# os.path throughout: importing pathlib costs 5 ms of a start that may take 100.
# ruff: noqa: PTH103, PTH105, PTH108, PTH113, PTH116, PTH118, PTH119, PTH120
# ruff: noqa: PTH123, PTH208


class Installation(NamedTuple):
    """The program of the `llmfit` package."""

    program: str
    """Its path."""
    version: str
    """The package's version."""


def installation(search_path: Iterable[str] | None = None) -> Installation | None:
    """Return the `llmfit` package that is installed on `search_path` (sys.path), None without one.

    Reads the package's RECORD; importlib.metadata would cost the cold start 30 ms.
    """
    for directory in sys.path if search_path is None else search_path:
        try:
            names = os.listdir(directory or ".")
        except OSError:
            continue
        for name in names:
            if name.startswith("llmfit-") and name.endswith(".dist-info"):
                program = _program(directory, name)
                version = name.removeprefix("llmfit-").removesuffix(".dist-info")
                if program is not None and version.replace(".", "").isalnum():
                    return Installation(program, version)
    return None


def _program(directory: str, information: str) -> str | None:
    """Return the path of the program that the package in `directory` installed."""
    try:
        with open(os.path.join(directory, information, "RECORD"), encoding="utf-8") as file:
            listed = [line.partition(",")[0] for line in file]
    except (OSError, UnicodeDecodeError):
        return None
    for path in listed:
        full = os.path.normpath(os.path.join(directory, path))
        if os.path.basename(full) in _PROGRAMS and os.path.isfile(full):
            return full
    return None


def ask(
    question: Callable[[Index], Answer],
    installed: Installation,
    environment: Mapping[str, str],
    warn: Callable[[str], None],
) -> Answer:
    """Return what `question` answers when given the index of the catalogue in `installed`.

    The index is made first where the cache has none, or one that is out of date, cut short or
    changed; `question` is then asked again. `warn` is told when the index cannot be kept, so that
    every start pays for the dump.

    Raises `EnvironmentFailure` LCT005 when the program does not answer as llmfit does, and what
    `question` raises.
    """
    state = os.stat(installed.program)
    key = IndexKey(installed.version, f"{state.st_size}-{state.st_mtime_ns}")
    path = os.path.join(cache_folder(environment), f"llmfit-{installed.version}.idx")
    try:
        with _LocalFile(path) as file:
            index = Index(file)
            if index.key == key:
                return question(index)
    except OSError:
        pass  # not made yet, or not readable: made anew below
    except InputError as error:
        if error.code != "LCT004":
            raise
    data = index_bytes(_models(installed, environment), key)
    try:
        _write(path, data)
    except OSError as error:
        warn(f"cannot keep the index of llmfit's catalogue ({error}); it is made on every start")
    return question(Index(_Memory(path, data)))


class _LocalFile:
    """A file as a `ByteRange`, open for the duration of a ``with``."""

    __slots__ = ("_file", "name", "size")

    def __init__(self, path: str) -> None:
        self.name = path
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115  # closed by __exit__
        self.size: int | None = os.fstat(self._file.fileno()).st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, offset: int, length: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(length)


class _Memory:
    """Bytes as a `ByteRange`."""

    __slots__ = ("_data", "name", "size")

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.size: int | None = len(data)
        self._data = data

    def read(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]


def _write(path: str, data: bytes) -> None:
    """Put `data` at `path` in one step, so that a reader sees the old file or the whole new one."""
    from tempfile import NamedTemporaryFile

    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    with NamedTemporaryFile(dir=folder, prefix=".llmfit-", delete=False) as file:
        try:
            file.write(data)
            file.close()
            os.replace(file.name, path)
        except OSError:
            os.unlink(file.name)
            raise


def _models(installed: Installation, environment: Mapping[str, str]) -> list[LlmfitModel]:
    """Return the models inside the program, without those of the user."""
    place = f"{installed.program} list --json"
    try:
        text = _dump(installed.program, environment).decode()
        entries = entries_from_json(text, place)
        return [
            model_from_entry(entry, f"{place}: [{position}]")
            for position, entry in enumerate(entries)
        ]
    except (InputError, UnicodeDecodeError) as error:
        raise _failed(installed.program, str(error)) from error


def _dump(program: str, environment: Mapping[str, str]) -> bytes:
    import subprocess
    from tempfile import TemporaryDirectory
    from threading import Timer

    with TemporaryDirectory(prefix="claimfit-") as empty:
        # The user's own entries and updates are read at each start; the index has none of them.
        own = {"HOME": empty, "XDG_DATA_HOME": empty, "LLMFIT_CUSTOM_MODELS": ""}
        try:
            process = subprocess.Popen(  # noqa: S603  # the program that the package installed
                [program, "list", "--json"],
                env={**environment, **own},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise _failed(program, str(error)) from error
        timer = Timer(_DUMP_SECONDS, process.kill)
        timer.start()
        try:
            with process:
                assert process.stdout is not None  # noqa: S101  # asked for with PIPE
                data = process.stdout.read(_DUMP_BYTES + 1)
                if len(data) > _DUMP_BYTES:
                    process.kill()
        finally:
            timer.cancel()
    if len(data) > _DUMP_BYTES:
        raise _failed(program, f"more than {_DUMP_BYTES} bytes")
    if process.returncode != 0:
        raise _failed(program, f"exit code {process.returncode}")
    return data


def _failed(program: str, found: str) -> EnvironmentFailure:
    return EnvironmentFailure(
        "LCT005",
        "the llmfit program does not list its catalogue",
        place=f"{program} list --json",
        found=found,
        expected=f"a JSON array of models within {_DUMP_SECONDS:.0f} s",
        fix="reinstall it: pip install --force-reinstall 'claimfit[llmfit]'",
    )
