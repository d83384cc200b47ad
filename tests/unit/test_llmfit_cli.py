"""``claimfit claim --dialect llmfit`` where llmfit itself is no judge: refusals, warnings, streams.

What both programs print is compared in tests/oracle/test_llmfit_parity.py.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from claimfit.cli import claim_llmfit
from claimfit.storage.llmfit_dump import Installation

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = {
    "name": "acme/Net-7B",
    "provider": "acme",
    "parameter_count": "7B",
    "min_ram_gb": 5,
    "recommended_ram_gb": 8.0,
    "quantization": "Q4_K_M",
    "context_length": 32768,
    "use_case": "chat",
}
MODELS = [
    ENTRY,
    {**ENTRY, "name": "acme/Net 7B"},
    {**ENTRY, "name": "acme/Lots", "parameter_count": "lots"},
    {**ENTRY, "name": "模型"},
    {**ENTRY, "name": "acme/Evil\nkind: Pod"},
]


@pytest.fixture(autouse=True)
def own_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the user's own entries be all there is."""
    file = tmp_path / "own.json"
    file.write_text(json.dumps(MODELS), encoding="utf-8")
    monkeypatch.setenv("LLMFIT_CUSTOM_MODELS", str(file))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(claim_llmfit, "installation", lambda: None)


def test_the_dialect_flag_itself_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    """In both spellings, anywhere."""
    assert claim_llmfit.run(["--dialect", "llmfit", "acme/Lots", "--json"]) == 0
    first = capsys.readouterr().out
    assert claim_llmfit.run(["acme/Lots", "--json", "--dialect=llmfit"]) == 0
    assert capsys.readouterr().out == first


def test_without_the_package_own_entries_are_answered(capsys: pytest.CaptureFixture[str]) -> None:
    """The resolver is the release whose rules were used."""
    assert claim_llmfit.run(["--json", "acme/Net-7B"]) == 0

    printed = json.loads(capsys.readouterr().out)
    # 7 x 0.58 = 4.06 GB; 20 x 4.06 x 100 / 55 = 147.6 -> 148; memory: 5 of the entry
    assert (printed["memoryGi"], printed["minBandwidthGBs"]) == (5, 148)
    assert printed["resolverVersion"] == "1.1.17"


def test_without_the_package_an_unknown_model_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """llmfit's catalogue is an extra."""
    assert claim_llmfit.run(["meta-llama/Llama-3.1-8B-Instruct"]) == 1
    out, err = capsys.readouterr()

    assert out == ""
    assert "LLM011" in err
    assert "pip install 'claimfit[llmfit]'" in err


def test_a_shared_claim_name_is_kept_and_warned_about(capsys: pytest.CaptureFixture[str]) -> None:
    """Two of these claims in one namespace would be one object; --name ends the warning."""
    assert claim_llmfit.run(["acme/net 7b"]) == 0
    out, err = capsys.readouterr()

    assert "\n  name: acme-net-7b-fit\n" in out
    assert err == (
        "warning: the same claim name is made for acme/Net-7B: two of them in one namespace need "
        "--name\n"
    )
    assert claim_llmfit.run(["acme/net 7b", "--name", "other"]) == 0
    assert capsys.readouterr().err == ""


def test_an_unreadable_size_is_warned_about(capsys: pytest.CaptureFixture[str]) -> None:
    """llmfit takes it for seven billion without a word; so does the output, with one."""
    assert claim_llmfit.run(["acme/Lots"]) == 0
    out, err = capsys.readouterr()

    assert "(7.0B params" in out
    assert err.startswith("warning: parameter count 'lots' of acme/Lots is not readable")


def test_another_release_is_warned_about(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The formulas are those of one release; the catalogue is that of the installed one."""
    monkeypatch.setattr(claim_llmfit, "installation", lambda: Installation("/bin/llmfit", "1.2.0"))
    monkeypatch.setattr(claim_llmfit, "ask", lambda question, *_: question(None))

    assert claim_llmfit.run(["acme/Net-7B", "--json", "--name", "a"]) == 0
    out, err = capsys.readouterr()

    assert json.loads(out)["resolverVersion"] == "1.2.0"
    assert err == "warning: the formulas are those of llmfit 1.1.17; 1.2.0 is installed\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["acme/Lots", "--name", ""], "LLM006"),
        (["acme/Lots", "--name=a: b\n  evil: yes"], "LLM006"),
        (["acme/Lots", "--device-class", "Bad Class"], "LLM007"),
        (["acme/Lots", "--quant", "Q8_0\nkind: Pod"], "LLM008"),
        (["acme/Evil"], "LLM009"),
        (["模型"], "LLM006"),
        (["acme/Lots", "--min-tps", "nan"], "LLM004"),
        (["acme/Lots", "--min-tps", "inf"], "LLM004"),
        (["acme/Lots", "--min-tps", "1e300"], "LLM005"),
        (["acme/Lots", "--tui"], "LLM020"),
        (["acme/Lots", "--context", "8192"], "LLM020"),
        (["acme/Lots", "-o", "json"], "LLM020"),
        (["acme/Lots", "--efficiency", "٥٥"], "LLM021"),
        (["acme/Lots\udcff"], "LLM020"),
        ([], "LLM020"),
    ],
)
@pytest.mark.parametrize("json_first", [[], ["--json"]])
def test_what_llmfit_prints_or_has_no_word_for_is_refused(
    arguments: list[str], code: str, json_first: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, nothing on stdout, one error on stderr, control characters made visible."""
    assert claim_llmfit.run([*json_first, *arguments]) == 2
    out, err = capsys.readouterr()

    assert out == ""
    assert err.startswith(f"error {code}: ")
    assert "\nkind: Pod" not in err
    assert "\n  evil" not in err


def test_help_names_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0, also before other arguments are judged."""
    assert claim_llmfit.run(["--dialect", "llmfit", "--help", "--bogus"]) == 0
    out = capsys.readouterr().out

    for flag in ("--min-tps", "--quant", "--efficiency", "--device-class", "--template", "--name"):
        assert f"  {flag}" in out
    assert claim_llmfit.run(["-h"]) == 0


def test_output_is_utf_8_whatever_the_locale(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """As bytes, because llmfit knows no locale."""
    assert claim_llmfit.run(["acme/Net-7B"]) == 0

    assert "≈ 4.1 GB weights".encode() in capfdbinary.readouterr().out
