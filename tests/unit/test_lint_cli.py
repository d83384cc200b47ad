"""``claimfit lint``: outputs, exit codes, files, folders, standard input, --fix."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

import pytest

from claimfit.__main__ import main

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: good}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.nvidia.com}}]}}
"""
BAD = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec:
  devices:
    requests:
    - name: r
      deviceClassName: gpu.nvidia.com  # class
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder, the current one, with a good and a bad file."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "good.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(BAD, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no manifest", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_nothing_found_is_0(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A good file exits with 0 and says so."""
    assert main(["lint", "sub/good.yaml"]) == 0
    assert capsys.readouterr().out == "nothing found in 1 file\n"


def test_errors_are_1(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A finding is place, severity, code and message; the fix below; the sum at the end."""
    assert main(["lint", "."]) == 1

    lines = capsys.readouterr().out.splitlines()

    assert lines[0].startswith('bad.yaml:8:7 error    LNT011  unknown field "spec.devices.requests')
    assert lines[1] == "    fix  {name: ..., exactly: {deviceClassName: ...}}"
    assert lines[2] == "1 error in 2 files; 1 can be fixed with --fix"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["lint"], "CLI001"),
        (["lint", "none.yaml"], "FIL101"),
        (["lint", "empty"], "FIL103"),
        (["lint", "bad.yaml", "--kubernetes", "1.30"], "DRA101"),
        (["lint", "bad.yaml", "--feature-gates", "Nope=true"], "DRA102"),
        (["lint", "bad.yaml", "--cluster", "sample:none"], "FIL104"),
        (["lint", "bad.yaml", "--fix", "-o", "json"], "CLI001"),
        (["lint", "-", "--cluster", "-"], "CLI001"),
        (["lint", "broken.yaml"], "MAN001"),
    ],
)
def test_wrong_use_is_2(
    files: Path, arguments: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be read or asked has its code on stderr."""
    (files / "empty").mkdir()
    (files / "broken.yaml").write_text("a: [", encoding="utf-8")

    assert main(arguments) == 2
    assert f"error {code}: " in capsys.readouterr().err


def test_json(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One object with a schema version."""
    assert main(["lint", "bad.yaml", "-o", "json"]) == 1

    document = json.loads(capsys.readouterr().out)

    assert document["schemaVersion"] == "claimfit.dev/lint/v1"
    assert document["counts"] == {"error": 1, "warning": 0, "info": 0}
    (finding,) = document["findings"]
    assert finding["code"] == "LNT011"
    assert (finding["file"], finding["line"], finding["column"]) == ("bad.yaml", 8, 7)
    assert finding["path"] == "spec.devices.requests[0].deviceClassName"
    assert finding["object"] == "ResourceClaim a"
    assert finding["fixable"] is True


def test_sarif(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SARIF 2.1.0 with a rule per code and a region per result."""
    assert main(["lint", "bad.yaml", "-o", "sarif"]) == 1

    document = json.loads(capsys.readouterr().out)
    (run,) = document["runs"]
    (result,) = run["results"]

    assert document["version"] == "2.1.0"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "LNT011"
    assert result["level"] == "error"
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "bad.yaml"
    assert location["physicalLocation"]["region"] == {"startLine": 8, "startColumn": 7}


def test_github(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One workflow command per finding; separators in a file name are escaped."""
    (files / "b,a:d.yaml").write_text(BAD, encoding="utf-8")

    assert main(["lint", "b,a:d.yaml", "-o", "github"]) == 1

    out = capsys.readouterr().out
    assert out.startswith("::error file=b%2Ca%3Ad.yaml,line=8,col=7,title=LNT011::unknown field")
    assert out.count("\n") == 1


def test_fix_rewrites_the_file(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is fixed in place, comments and permissions kept; a second run has nothing to do."""
    path = files / "bad.yaml"
    path.chmod(0o640)

    assert main(["lint", "bad.yaml", "--fix"]) == 0

    captured = capsys.readouterr()
    fixed = path.read_text(encoding="utf-8")
    assert "      exactly:\n        deviceClassName: gpu.nvidia.com  # class\n" in fixed
    assert path.stat().st_mode & 0o777 == 0o640
    assert captured.err.startswith("fixed bad.yaml:8 LNT011 ")
    assert captured.out == "nothing found in 1 file\n"
    assert [item.name for item in files.iterdir() if item.name.startswith(".")] == []
    assert main(["lint", "bad.yaml", "--fix"]) == 0
    assert path.read_text(encoding="utf-8") == fixed


def test_standard_input(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`-` reads standard input; with --fix the text goes to stdout and the findings to stderr."""

    class Stdin:
        buffer = io.BytesIO(BAD.encode())

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert main(["lint", "-"]) == 1
    assert capsys.readouterr().out.startswith("-:8:7 error")

    Stdin.buffer = io.BytesIO(BAD.encode())
    assert main(["lint", "-", "--fix"]) == 0
    captured = capsys.readouterr()
    assert captured.out == BAD.replace(
        "      deviceClassName", "      exactly:\n        deviceClassName"
    )
    assert captured.err.endswith("nothing found in 1 file\n")


def test_a_cluster_and_own_drivers_are_used(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Classes of the cluster are looked up; --cluster sample:amd has no gpu.nvidia.com."""
    assert main(["lint", "sub/good.yaml", "--cluster", "sample:amd"]) == 1
    assert "DeviceClass gpu.nvidia.com does not exist" in capsys.readouterr().out
    assert main(["lint", "sub/good.yaml", "--cluster", "sample:mixed"]) == 0
