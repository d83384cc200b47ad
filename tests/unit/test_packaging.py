"""The package as users get it: entry points, data, types, and the demo."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import claimfit

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(sys.executable).parent


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel and the sdist of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
        timeout=110,
    )
    return folder


def test_wheel_has_code_data_types_and_both_commands(built: Path) -> None:
    """Nothing of the tables is left out, and `kubectl claimfit` works."""
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (points,) = (name for name in names if name.endswith("entry_points.txt"))
        commands = archive.read(points).decode()

    shipped = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "claimfit").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped <= names
    assert "claimfit/py.typed" in names
    assert "claimfit = claimfit.__main__:console" in commands
    assert "kubectl-claimfit = claimfit.__main__:console" in commands
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_sdist_builds_what_the_wheel_is_built_from(built: Path) -> None:
    """The source archive holds package, tests, docs and licence."""
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"pyproject.toml", "LICENSE", "README.md", "src/claimfit/py.typed"} <= names


def test_version_is_the_same_everywhere() -> None:
    """The command prints the version of the package."""
    done = subprocess.run(
        [str(SCRIPTS / "claimfit"), "--version"], capture_output=True, text=True, check=True
    )

    assert done.stdout == f"claimfit {claimfit.__version__}\n"


@pytest.mark.parametrize("command", ["claimfit", "kubectl-claimfit"])
def test_help_of_every_verb(command: str) -> None:
    """--help works for the command and each verb, and exits 0."""
    from claimfit.__main__ import VERBS

    for arguments in ([], *([verb] for verb in VERBS)):
        done = subprocess.run(
            [str(SCRIPTS / command), *arguments, "--help"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "usage: " in done.stdout


def test_demo_shows_the_main_job(tmp_path: Path) -> None:
    """`make demo` sizes a model, writes its claim and shows the devices that fit it."""
    environment = {
        "PATH": f"{SCRIPTS}{os.pathsep}{os.environ.get('PATH', '')}",
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        ["sh", str(ROOT / "docs" / "demo.sh")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "kind: ResourceClaim" in done.stdout
    assert "replicas can start now" in done.stdout
