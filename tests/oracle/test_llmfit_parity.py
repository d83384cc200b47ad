"""The llmfit dialect against llmfit itself: same stdout to the byte, same exit code.

Nothing is stored: each case runs the installed program and our command line on the same arguments.
Per run 500 models drawn by a printed seed with mixed flags, every model whose claim name another
one shares (400 in llmfit 1.1.17), entries of the user's own, and the flags themselves. Repeat a
draw with CLAIMFIT_PARITY_SEED=<the printed number>.
"""

from __future__ import annotations

import collections
import contextlib
import io
import json
import os
import random
import re
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import pytest

from claimfit.claim.llmfit import LLMFIT_VERSION
from claimfit.cli import claim_llmfit
from claimfit.model.llmfit_entry import claim_name
from claimfit.storage.llmfit_dump import ask, installation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

INSTALLED = installation()
REQUIRED = os.environ.get("CLAIMFIT_REQUIRE_LLMFIT") == "1"
if not REQUIRED and (INSTALLED is None or INSTALLED.version != LLMFIT_VERSION):
    pytest.skip(f"llmfit {LLMFIT_VERSION} is not installed", allow_module_level=True)

pytestmark = [pytest.mark.oracle, pytest.mark.timeout(300)]

DRAWN = 500
CHUNK = 50
RUN_AT_ONCE = 2
QUANTIZATIONS = (
    *("F32", "F16", "BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_0", "Q3_K_M", "Q2_K", "MXFP4"),
    *("UD-Q2_K_XL", "UD-Q3_K_L", "UD-Q4_K_M", "UD-Q5_K_S", "UD-Q6_K_XL", "UD-Q8_K_XL"),
    *("mlx-4bit", "mlx-8bit", "AWQ-4bit", "AWQ-8bit", "GPTQ-Int4", "GPTQ-Int8"),
    *("AutoRound-4bit", "AutoRound-8bit", "AutoRound-2bit", "I2_S", "TQ1_0", "TQ2_0"),
    *("q8_0", "bf16", "FP8", "NVFP4", "IQ4_XS", "Q5_0", "UD-Q7_K_XL", "UD-Q4_K", "nonsense", "é"),
)
RATES = ("20", "20.5", "1e3", "0.1", "1e-6", "5e-5", ".5", "7.", "+3", "1e16", "123456789.125")


def seed() -> int:
    """Return the seed of this test run, the same in every worker process of it."""
    given = os.environ.get("CLAIMFIT_PARITY_SEED")
    if given:
        return int(given)
    return zlib.crc32(os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid())).encode())


SEED = seed()


class Answer(NamedTuple):
    """What a command printed and returned."""

    code: int
    stdout: bytes


def llmfit(arguments: Sequence[str]) -> Answer:
    """Run the installed program."""
    assert INSTALLED is not None, "CLAIMFIT_REQUIRE_LLMFIT=1, and llmfit is not installed"
    ran = subprocess.run(
        [INSTALLED.program, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Answer(ran.returncode, ran.stdout)


def ours(arguments: Sequence[str]) -> Answer:
    """Run our command on the arguments of llmfit, the verb left out."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = claim_llmfit.run([item for item in arguments if item != "claim"])
        out.flush()
        return Answer(code, out.buffer.getvalue())


def wanted(arguments: Sequence[str]) -> Answer:
    """Return what we must answer: llmfit's answer, a bandwidth beyond int64 refused."""
    answer = llmfit(arguments)
    found = re.search(rb'(?:minBandwidthGBs": |memoryBandwidthGBs >= )(\d+)', answer.stdout)
    return Answer(2, b"") if found and int(found[1]) > 2**63 - 1 else answer


def check(cases: Iterable[Sequence[str]]) -> int:
    """Compare both programs on every case; return how many there were."""
    listed = list(cases)
    with ThreadPoolExecutor(RUN_AT_ONCE) as pool:
        answers = list(pool.map(wanted, listed))
    different = [
        f"{case}\n  llmfit   {answer}\n  claimfit {mine}"
        for case, answer in zip(listed, answers, strict=True)
        if (mine := ours(case)) != answer
    ]
    sys.stdout.write(f"{len(listed)} runs of llmfit {LLMFIT_VERSION} compared, seed {SEED}\n")
    assert not different, f"seed {SEED}: {len(different)} of {len(listed)}\n" + "\n".join(different)
    return len(listed)


@pytest.fixture(autouse=True)
def user_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give both programs empty user folders; our index is made once for all tests."""
    data = tmp_path_factory.mktemp("data")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(data))
    monkeypatch.setenv("HOME", str(data))
    monkeypatch.delenv("LLMFIT_CUSTOM_MODELS", raising=False)
    return data


@cache
def names() -> tuple[str, ...]:
    """Return the names of llmfit's catalogue, as the program lists them."""
    assert INSTALLED is not None, "CLAIMFIT_REQUIRE_LLMFIT=1, and llmfit is not installed"

    def all_names(index) -> tuple[str, ...]:
        return tuple(index.model(position).name for position in range(index.models))

    return ask(all_names, INSTALLED, os.environ, print)


def mixed_flags(chance: random.Random) -> list[list[str]]:
    """Return a random mix of flags, each with its value, in random order."""

    def valued(flag: str, value: str) -> list[str]:
        return [f"{flag}={value}"] if chance.random() < 0.5 else [flag, value]

    flags = []
    if chance.random() < 0.7:
        rate = chance.choice(
            (*RATES, repr(chance.uniform(0.01, 500)), repr(10 ** chance.uniform(-9, 15)))
        )
        flags.append(valued("--min-tps", rate))
    if chance.random() < 0.6:
        flags.append(valued("--quant", chance.choice(QUANTIZATIONS)))
    if chance.random() < 0.6:
        flags.append(
            valued("--efficiency", str(chance.choice((1, 55, 100, chance.randint(0, 101)))))
        )
    if chance.random() < 0.2:
        flags.append(
            valued("--name", chance.choice(("a", "my-claim", "x.y-z.0", "1st-claim", "7b")))
        )
    if chance.random() < 0.2:
        flags.append(
            valued("--device-class", chance.choice(("gpu.llmfit.ai", "gpu.nvidia.com", "g")))
        )
    flags += [
        [flag]
        for flag in ("--template", "--json", "--csv", "--no-dashboard")
        if chance.random() < 0.35
    ]
    chance.shuffle(flags)
    return flags


def spelled(name: str, chance: random.Random) -> str:
    """Return `name` in one of the ways llmfit accepts: other case, blanks, without organisation."""
    return chance.choice(
        (name, name, name.upper(), name.lower(), f"  {name}\t", name.partition("/")[2] or name)
    )


@pytest.mark.parametrize("chunk", range(DRAWN // CHUNK))
def test_drawn_models_with_mixed_flags(chunk: int) -> None:
    """Models drawn from the whole catalogue print the same claim under any mix of flags."""
    chance = random.Random(SEED)
    drawn = chance.sample(names(), DRAWN)[chunk * CHUNK : (chunk + 1) * CHUNK]
    chance = random.Random(SEED + chunk)
    cases = []
    for name in drawn:
        flags = [part for flag in mixed_flags(chance) for part in flag]
        at = chance.choice((0, len(flags)))
        before = ["--json"] if chance.random() < 0.2 and "--json" not in flags else []
        cases.append([*before, "claim", *flags[:at], spelled(name, chance), *flags[at:]])
    assert check(cases) == CHUNK


@pytest.mark.parametrize("quarter", range(4))
def test_models_that_share_a_claim_name(quarter: int) -> None:
    """Every model whose claim name is another's too keeps that name, as in llmfit."""
    shared = collections.Counter(claim_name(name) for name in names())
    colliding = [name for name in names() if shared[claim_name(name)] > 1]
    assert len(colliding) == 400
    assert sum(count > 1 for count in shared.values()) == 162
    part = colliding[quarter::4]
    cases = [["claim", name, *["--json"][: at % 2]] for at, name in enumerate(part)]
    assert check(cases) == 100


ENTRY = {
    "name": "acme/Own-7B",
    "provider": "acme",
    "parameter_count": "7B",
    "min_ram_gb": 5,
    "recommended_ram_gb": 8.0,
    "quantization": "Q4_K_M",
    "context_length": 32768,
    "use_case": "chat",
}
OWN = [
    ENTRY,
    {**ENTRY, "name": "acme/Tie-Even", "parameters_raw": 625_000_000, "quantization": "F16"},
    {**ENTRY, "name": "acme/Tie-Odd", "parameters_raw": 875_000_000, "quantization": "F16"},
    {**ENTRY, "name": 'acme/Ünïcode "7B" \\ 模型', "parameter_count": " 1.5m "},
    {**ENTRY, "name": "acme/Lots", "parameter_count": "lots", "quantization": "BF16"},
    {**ENTRY, "name": "acme/Trillions", "parameter_count": "1.5T", "min_vram_gb": 9.75},
    {**ENTRY, "name": "acme/Thousand", "parameter_count": "1e3b", "min_vram_gb": None},
    {**ENTRY, "name": "acme/Nothing", "parameters_raw": 0},
    {**ENTRY, "name": "acme/Minus", "parameter_count": "-3B"},
    {**ENTRY, "name": "acme/Merged", "parameters_raw": 1_000_000_000, "min_vram_gb": 3.0},
    {**ENTRY, "name": "other/mer.ged", "parameters_raw": 2 * 10**9, "quantization": "F32"},
    {**ENTRY, "name": "acme/Packed-70B-A3B-NVFP4", "parameters_raw": 40_000_000_000},
    {**ENTRY, "name": "acme/Packed.7_5b-x-9B-16E-AWQ", "parameters_raw": 5_625_000_000},
    {**ENTRY, "name": "acme/Packed-7_5b-int8-x", "parameters_raw": 5_624_000_000},
    {**ENTRY, "name": "acme/Head-70B-gptq.EAGLE3", "parameters_raw": 400_000_000},
    {**ENTRY, "name": "acme/Llama-3.1-8B-Instruct", "parameters_raw": 8 * 10**9},
]  # fmt: skip
OWN_SELECTORS = (
    *(str(entry["name"]) for entry in OWN),
    *("ACME/TIE-EVEN", "tie-", "Trillions", "70b-nvfp4", "meta-llama/Llama-3.1-8B-Instruct"),
)


def test_entries_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Own entries are found, merged and laid over the catalogue as llmfit does."""
    file = tmp_path / "own.json"
    file.write_text(json.dumps(OWN), encoding="utf-8")
    monkeypatch.setenv("LLMFIT_CUSTOM_MODELS", str(file))
    cases = [["claim", name] for name in OWN_SELECTORS]
    cases += [["claim", name, "--json", "--quant", "F32"] for name in OWN_SELECTORS]
    assert check(cases) == 2 * len(OWN_SELECTORS)


def test_entries_where_llmfit_keeps_them(user_folders: Path) -> None:
    """The default file of own entries and the list of llmfit update are read where llmfit looks."""
    folder = user_folders / "llmfit"
    folder.mkdir()
    (folder / "custom_models.json").write_text(json.dumps([ENTRY]), encoding="utf-8")
    fetched = [
        {**ENTRY, "name": "hub/Fetched-1B", "parameters_raw": 10**9},
        {**ENTRY, "name": "hub/own7b", "parameters_raw": 1},
        {**ENTRY, "name": "hub/Llama.3.1.8B.Instruct", "parameters_raw": 1},
    ]
    updates = folder / "hf_models_cache.json"
    selectors = ("acme/Own-7B", "hub/Fetched-1B", "hub/own7b", "hub/Llama.3.1.8B.Instruct")
    for version in (4, 3):
        updates.write_text(json.dumps({"version": version, "models": fetched}), encoding="utf-8")
        assert check(["claim", "--json", name] for name in selectors) == len(selectors)


BROKEN = (
    "",
    "{}",
    "[",
    "[NaN]",
    "\ufeff[]",
    json.dumps([{**ENTRY, "parameters_raw": 7e9}]),
    json.dumps([{**ENTRY, "parameters_raw": -1}]),
    json.dumps([{**ENTRY, "parameters_raw": 2**64}]),
    json.dumps([{**ENTRY, "min_ram_gb": True}]),
    json.dumps([{**ENTRY, "format": "zip"}]),
    json.dumps([{**ENTRY, "capabilities": ["fly"]}]),
    json.dumps([{**ENTRY, "is_moe": None}]),
    json.dumps([{**ENTRY, "num_hidden_layers": 2**32}]),
    json.dumps([{key: value for key, value in ENTRY.items() if key != "use_case"}]),
    json.dumps([ENTRY])[:-2] + ', "provider": "twice"}]',
    json.dumps([ENTRY])[:-2] + ', "unknown": [1e400, -0, "\\ud800"], "unknown": 2}]',
    json.dumps([ENTRY])[:-2] + ', "parameters_raw": -0}]',
    json.dumps([ENTRY])[:-2] + ', "unknown": ' + "9" * 5000 + "}]",
)


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_files_that_are_skipped_or_not(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of own entries is skipped for the same reasons as by llmfit, and only for those."""
    file = tmp_path / "own.json"
    file.write_text(text, encoding="utf-8")
    monkeypatch.setenv("LLMFIT_CUSTOM_MODELS", str(file))
    assert check([["claim", "acme/Own-7B", "--json"]]) == 1


MODEL = "Fu01978/Nano-H"
FLAGS = (
    "",
    "MODEL",
    "-- MODEL",
    "-- MODEL --json",
    "MODEL --",
    "-- --name",
    "-",
    "help",
    "MODEL more",
    "MODEL --json --json",
    "MODEL --json=",
    "MODEL --template=1",
    "MODEL --template --template",
    "MODEL --min-tps 5 --min-tps 6",
    "MODEL --min-tps",
    "MODEL --min-tps=",
    "MODEL --min-tps abc",
    "MODEL --min-tps 1_0",
    "MODEL --min-tps 0x10",
    "MODEL --min-tps e5",
    "MODEL --min-tps -5",
    "MODEL --min-tps=-5",
    "MODEL --min-tps=-0",
    "MODEL --min-tps=-inf",
    "MODEL --efficiency +60",
    "MODEL --efficiency 0060",
    "MODEL --efficiency=-0",
    "MODEL --efficiency=-1",
    "MODEL --efficiency=4294967295",
    "MODEL --efficiency=4294967296",
    "MODEL --efficiency=99999999999999999999",
    "MODEL --efficiency 5.5",
    "MODEL --efficiency=",
    "MODEL --quant= --json",
    "MODEL --quant=",
    "MODEL --name",
    "MODEL --name --json",
    "MODEL --nam x",
    "MODEL -n 3",
    "MODEL -V",
    "MODEL --max-context 5",
    "MODEL --llama-cpp-path /",
    "MODEL --llama-cpp-path /no/such/folder --min-tps 0",
    "MODEL --llama-cpp-path=",
    "MODEL --csv --csv",
    "--bogus -h",
    "--min-tps=1e5 --device-class gpu.llmfit.ai MODEL --quant Q8_0 --template --no-dashboard",
)


def test_flags_and_their_exit_codes() -> None:
    """Every way to write the flags, right or wrong, gives llmfit's exit code and stdout."""
    cases = [
        ["claim", *(MODEL if part == "MODEL" else part for part in line.split())] for line in FLAGS
    ]
    cases += [["claim", ""], ["claim", "   "], ["claim", MODEL, "--efficiency", " 5"]]
    assert check(cases) == len(FLAGS) + 3
