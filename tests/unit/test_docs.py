"""Every command shown in README and docs prints what the page says.

A ```console block holds commands (`$ claimfit ...`) and their output, stderr included. A line `...`
stands for lines left out, and `[exit 1]` for the exit code when it is not 0. Commands run in a
folder that holds docs/examples. `CLAIMFIT_UPDATE_DOCS=1` rewrites outputs that leave nothing out.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS = ("claimfit ", "kubectl claimfit ", "cat ")
SHELL_LINES = re.compile(
    r"(make (demo|test|lint|bench|accuracy)|pip install .*|git clone .*|cd .*|kubectl .*|export .*|"
    r"uv .*|CLAIMFIT_\w+=\S+ .*|python .*|#.*|)"
)


class Step(NamedTuple):
    """One command of a page and the output shown below it."""

    page: Path
    line: int
    command: str
    shown: str


def steps_of(page: Path) -> list[Step]:
    """Return the commands of `page` in order."""
    text = page.read_text(encoding="utf-8")
    steps = []
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1)) + 1
        for chunk in re.split(r"^\$ ", block.group(1), flags=re.MULTILINE)[1:]:
            command, _, shown = chunk.partition("\n")
            while command.endswith("\\"):
                more, _, shown = shown.partition("\n")
                command = command[:-1] + more.strip()
            steps.append(Step(page, line, command, shown.rstrip("\n")))
            line += chunk.count("\n")
    return steps


STEPS = [step for page in PAGES for step in steps_of(page)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files that the pages use, as a reader would have them."""
    examples = ROOT / "docs" / "examples"
    if examples.is_dir():
        shutil.copytree(examples, tmp_path, dirs_exist_ok=True)
    return tmp_path


def run(command: str, folder: Path, home: Path) -> str:
    """Return what `command` prints, its exit code added when it is not 0."""
    scripts = str(Path(sys.executable).parent)
    environment = {
        "PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}",
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "NO_COLOR": "1",
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "PYTHONWARNINGS": "error",
    }
    shell = command.replace("kubectl claimfit ", "kubectl-claimfit ")
    done = subprocess.run(
        ["sh", "-c", shell],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    output = done.stdout.rstrip("\n")
    if done.returncode:
        output += f"\n[exit {done.returncode}]"
    return output


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty home, shared by all pages so that caches are built once."""
    return tmp_path_factory.mktemp("home")


@pytest.mark.parametrize("step", STEPS, ids=[f"{step.page.name}:{step.line}" for step in STEPS])
def test_page_shows_what_the_command_prints(step: Step, folder: Path, home: Path) -> None:
    """The output in the page is the output of the command."""
    assert step.command.startswith(PROGRAMS), "a page may only show commands that this test can run"

    printed = run(step.command, folder, home)

    if os.environ.get("CLAIMFIT_UPDATE_DOCS") and "..." not in step.shown.splitlines():
        update(step, printed)
        return
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n"
        for line in step.shown.splitlines()
    )
    matched = re.fullmatch(pattern, printed + "\n" if printed else "")
    assert matched, f"\n--- page\n{step.shown}\n--- command\n{printed}"


def update(step: Step, printed: str) -> None:
    """Put `printed` below the command in its page."""
    text = step.page.read_text(encoding="utf-8")
    head = text.index(f"$ {step.command.split(chr(92))[0]}")
    start = text.index("\n" + step.shown if step.shown else "\n", head) + 1
    step.page.write_text(
        text[:start]
        + (printed + "\n" if not step.shown else printed)
        + text[start + len(step.shown) :],
        encoding="utf-8",
    )


def test_shell_blocks_hold_only_known_commands() -> None:
    """Blocks that are not executed (`sh`) hold installs and make targets, never an output."""
    for page in PAGES:
        for language, body in FENCE.findall(page.read_text(encoding="utf-8")):
            if language in {"sh", "bash", "shell"}:
                for line in body.splitlines():
                    assert SHELL_LINES.fullmatch(line), f"{page.name}: {line}"


def test_python_examples_run() -> None:
    """The sessions of docs/python.md print what they say."""
    failed, tried = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False)

    assert tried
    assert not failed


def test_links_lead_to_files() -> None:
    """Relative links in README, ARCHITECTURE, CONTRIBUTING and docs point to files that exist."""
    pages = [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize(
    ("verb", "pages"),
    [
        ("claim", ["claim"]),
        ("fit", ["fit", "claim"]),
        ("models", ["models", "claim"]),
        ("calibrate", ["calibrate", "claim"]),
    ],
)
def test_every_flag_of_help_is_documented(verb: str, pages: list[str], folder: Path) -> None:
    """A flag that --help names stands on the page of its verb or in the table of shared flags."""
    text = "".join((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8") for page in pages)
    usage = run(f"claimfit {verb} --help", folder, folder).partition("\n\n")[0]

    flags = set(re.findall(r"--[a-z][a-z-]+", usage))
    missing = {flag for flag in flags if not re.search(rf"`[^`\n]*{flag}\b(?!-)[^`\n]*`", text)}
    assert len(flags) > 2
    assert not missing
