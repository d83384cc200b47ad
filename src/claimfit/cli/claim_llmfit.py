"""``claimfit claim --dialect llmfit``: stands in for ``llmfit claim``.

Flags, stdout and exit codes are llmfit's: 1 for what llmfit answers with ``Error: ...``, 2 for
wrong flags, and nothing on stdout in both cases, with ``--json`` too. That is why this module reads
its arguments itself (argparse accepts what llmfit's parser refuses) and prints its own errors. What
is refused although llmfit prints it (exit 2) is listed in docs/llmfit.md.
"""

from __future__ import annotations

import os
import sys
from typing import Final

from claimfit.claim.llmfit import (
    LLMFIT_VERSION,
    ClaimTarget,
    LlmfitModel,
    render,
    render_json,
)
from claimfit.claim.llmfit_numbers import parse_float
from claimfit.claim.llmfit_size import parameter_count
from claimfit.errors import ClaimfitError, ModelError, UsageError, printable
from claimfit.model.llmfit_catalogue import Index, LlmfitCatalogue
from claimfit.records import NamedTuple
from claimfit.storage.llmfit_dump import Installation, ask, installation
from claimfit.storage.llmfit_user_files import custom_models, updated_models

__all__ = ["run"]

_HELP: Final = """\
Write the ResourceClaim that `llmfit claim` writes, to the byte.

usage: claimfit claim --dialect llmfit [OPTIONS] MODEL

  MODEL                     name in llmfit's catalogue, or a part that only one name has
  --min-tps TOKENS_PER_S    slowest acceptable decode speed (default: 20)
  --quant NAME              another quantization than the entry's; not checked, as in llmfit
  --efficiency PERCENT      share of the bandwidth that decoding reaches, 1 to 100 (default: 55)
  --device-class NAME       DeviceClass of the request (default: llmfit.ai)
  --template                write a ResourceClaimTemplate
  --name NAME               metadata.name (default: made from the model's name)
  --json                    the bounds as JSON; also accepted before `claim`
  --csv, --no-dashboard, --llama-cpp-path DIR
                            accepted and without effect, as in llmfit

The catalogue is that of the installed llmfit package (pip install 'claimfit[llmfit]'), with the
user's entries (LLMFIT_CUSTOM_MODELS) over it. Exit codes are llmfit's: 1 unknown or ambiguous model
or impossible bounds, 2 wrong flags. Differences: docs/llmfit.md.
"""

_VALUED: Final = frozenset(
    {
        "--dialect",
        "--min-tps",
        "--quant",
        "--efficiency",
        "--device-class",
        "--name",
        "--llama-cpp-path",
    }
)
_SWITCHES: Final = frozenset({"--template", "--json", "--csv", "--no-dashboard", "--tui"})
_HELP_SWITCHES: Final = frozenset({"-h", "--help"})

_LLMFIT_ERRORS: Final = frozenset(
    {"LLM001", "LLM002", "LLM003", "LLM010", "LLM011", "LLM012", "LLM022"}
)
"""What llmfit itself answers with exit code 1."""

_U32: Final = 2**32


class _Arguments(NamedTuple):
    """The command line, read."""

    model: str
    target: ClaimTarget
    as_json: bool
    llama_cpp_path: str | None


def run(argv: list[str]) -> int:
    """Print the claim for `argv`, the arguments after ``claim``; return llmfit's exit code."""
    try:
        arguments = _parse(argv)
        if arguments is None:
            sys.stdout.write(_HELP)
            return 0
        text = _claim(arguments)
    except ClaimfitError as error:
        from claimfit.cli.failures import describe

        sys.stderr.write(describe(error))
        return 1 if error.code in _LLMFIT_ERRORS else error.exit_code
    # Bytes: the text is UTF-8 whatever the locale's encoding is.
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    return 0


def _claim(arguments: _Arguments) -> str:
    path = arguments.llama_cpp_path
    if path is not None and not os.path.isdir(path):  # noqa: PTH112  # os.path: cold path
        raise UsageError("LLM022", "no such directory", place="--llama-cpp-path", found=path)
    installed = installation()
    model, others = _find(arguments.model, installed)
    version = LLMFIT_VERSION if installed is None else installed.version
    if arguments.as_json:
        text = render_json(model, arguments.target, version) + "\n"
    else:
        text = render(model, arguments.target)
    if version != LLMFIT_VERSION:
        _warn(f"the formulas are those of llmfit {LLMFIT_VERSION}; {version} is installed")
    if not parameter_count(model).readable:
        _warn(
            f"parameter count {printable(model.parameter_count)!r} of {printable(model.name)} is "
            "not readable; llmfit takes it for 7B"
        )
    if others and arguments.target.name is None:
        named = ", ".join(printable(name) for name in others)
        _warn(f"the same claim name is made for {named}: two of them in one namespace need --name")
    return text


def _find(selector: str, installed: Installation | None) -> tuple[LlmfitModel, tuple[str, ...]]:
    """Return the selected model and the others for which llmfit makes the same object name."""
    custom = custom_models(os.environ, _warn)
    updates = updated_models(os.environ, _warn)

    def answer(index: Index | None) -> tuple[LlmfitModel, tuple[str, ...]]:
        catalogue = LlmfitCatalogue(index, custom, updates)
        model = catalogue.select(selector)
        return model, catalogue.sharing_claim_name(model)

    if installed is not None:
        return ask(answer, installed, os.environ, _warn)
    try:
        return answer(None)
    except ModelError as error:
        error.fix = "pip install 'claimfit[llmfit]' for llmfit's catalogue; it is not installed"
        raise


def _warn(text: str) -> None:
    sys.stderr.write(f"warning: {text}\n")


def _parse(argv: list[str]) -> _Arguments | None:
    """Return the arguments, None when help is asked for; raises LLM020 and LLM021."""
    values: dict[str, str] = {}
    models: list[str] = []
    # `claimfit --json claim ... --json` arrives here as two; llmfit takes one on each side.
    position = 1 if argv[:1] == ["--json"] and "--json" in argv[1:] else 0
    while position < len(argv):
        argument = argv[position]
        position += 1
        if argument in _HELP_SWITCHES:
            return None
        if argument == "--":
            models += argv[position:]
            break
        if not argument.startswith("-") or argument == "-":
            models.append(argument)
            continue
        flag, has_value, value = argument.partition("=")
        if flag not in _VALUED and flag not in _SWITCHES:
            raise _wrong("unknown flag", flag, "see claimfit claim --dialect llmfit --help")
        if flag in values:
            raise _wrong("given twice", flag)
        if flag in _SWITCHES and has_value:
            raise _wrong("takes no value", flag)
        if flag in _VALUED and not has_value:
            value = argv[position] if position < len(argv) else "--"
            position += 1
            if value.startswith("-") and value != "-":
                raise _wrong("needs a value", flag, f"a value that starts with -: {flag}=VALUE")
        values[flag] = value
    if len(models) != 1:
        raise UsageError(
            "LLM020",
            "expected one model" if models else "which model?",
            found=" ".join(models) or None,
            expected="MODEL",
            fix="see claimfit claim --dialect llmfit --help",
        )
    _check_text([*values.values(), *models])
    return _arguments(values, models[0])


def _arguments(values: dict[str, str], model: str) -> _Arguments:
    if "--tui" in values:
        raise _wrong("claimfit has no such screen", "--tui")
    if values.get("--llama-cpp-path") == "":
        raise _wrong("needs a value", "--llama-cpp-path")
    target = ClaimTarget(
        min_tps=_number(values.get("--min-tps", "20")),
        efficiency_pct=_percent(values.get("--efficiency", "55")),
        device_class=values.get("--device-class", ClaimTarget().device_class),
        template="--template" in values,
        quant=values.get("--quant"),
        name=values.get("--name"),
    )
    return _Arguments(model, target, "--json" in values, values.get("--llama-cpp-path"))


def _check_text(texts: list[str]) -> None:
    for text in texts:
        if any("\ud800" <= char <= "\udfff" for char in text):  # bytes that are no UTF-8
            raise UsageError("LLM020", "an argument is not UTF-8", found=text)


def _wrong(message: str, flag: str, fix: str = "") -> UsageError:
    return UsageError("LLM020", message, place=flag, fix=fix)


def _number(text: str) -> float:
    value = parse_float(text)
    if value is None:
        raise UsageError(
            "LLM021", "not a number", place="--min-tps", found=text, expected="such as 20 or 0.5"
        )
    return value


def _percent(text: str) -> int:
    """Return the 32-bit number in `text`; whether it is 1 to 100 is judged with the model."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if digits.isascii() and digits.isdigit() and len(digits.lstrip("0")) <= len(str(_U32)):
        value = int(text)
        if 0 <= value < _U32:
            return value
    raise UsageError(
        "LLM021",
        "not a usable percentage",
        place="--efficiency",
        found=text,
        expected="a whole number from 1 to 100",
    )
