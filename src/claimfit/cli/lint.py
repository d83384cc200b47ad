"""``claimfit lint``: what is wrong with manifests, before they are applied."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from claimfit.cli.arguments import Parser, add_output
from claimfit.cli.own_files import own_drivers
from claimfit.errors import InputError, UsageError

if TYPE_CHECKING:
    import argparse

    from claimfit.diagnose.lint import Context, Finding
    from claimfit.manifests.reader import Document

__all__ = ["run"]

_STDIN: Final = "-"
_SUFFIXES: Final = (".json", ".yaml", ".yml")
_LARGEST_FILE_BYTES: Final = 256 << 20

_EPILOG = """examples
  claimfit lint claim.yaml
  claimfit lint manifests/ --cluster sample:mixed
  kustomize build . | claimfit lint - -o github
  claimfit lint claim.yaml --fix
"""


def run(argv: list[str]) -> int:
    """Lint files; 0 when nothing is an error, 1 when something is."""
    arguments = _parser().read(argv)
    if arguments.fix and arguments.output != "text":
        raise UsageError("CLI001", "--fix and -o exclude each other", fix="fix first, then lint")
    if arguments.cluster == _STDIN and _STDIN in arguments.files:
        raise UsageError("CLI001", "standard input cannot be both FILE and --cluster")
    from claimfit.cli import lint_report
    from claimfit.diagnose.lint import lint
    from claimfit.manifests.reader import read_documents

    context = _context(arguments)
    texts = dict(_read(name) for name in _names(arguments.files))
    documents = {name: read_documents(text, name) for name, text in texts.items()}
    output = sys.stdout
    if arguments.fix:
        fixed = _fix(texts, documents, context)
        lint_report.write_fixed(fixed)
        documents = {name: read_documents(text, name) for name, text in texts.items()}
        if _STDIN in texts:  # the fixed text is the result; the findings are remarks about it
            sys.stdout.write(texts[_STDIN])
            output = sys.stderr
    findings = lint([item for group in documents.values() for item in group], context)
    lint_report.write(findings, len(texts), arguments.output, context.profile, output)
    return 1 if any(finding.severity == "error" for finding in findings) else 0


def _parser() -> Parser:
    parser = Parser(
        prog="claimfit lint",
        description="What an API server would refuse in claims, templates, classes, slices and the "
        "pods that use them, and what it accepts and users regret.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="file, folder (its .yaml and .json files) or -"
    )
    parser.add_argument(
        "--cluster",
        metavar="SOURCE",
        default="",
        help="FILE, FOLDER, - or sample:NAME: what kubectl get -o json prints of resourceslices, "
        "deviceclasses, nodes, resourceclaims and resourceclaimtemplates",
    )
    parser.add_argument(
        "--kubernetes", metavar="VERSION", default="1.36", help="1.34 to 1.37 (default: 1.36)"
    )
    parser.add_argument(
        "--feature-gates", metavar="A=true,B=false", default="", help="gates that differ"
    )
    parser.add_argument(
        "--driver-file",
        action="append",
        default=[],
        metavar="FILE",
        help="description of a driver of your own (docs/drivers.md)",
    )
    parser.add_argument("--fix", action="store_true", help="rewrite in the files what is safe")
    add_output(parser, "text", "json", "sarif", "github")
    return parser


def _context(arguments: argparse.Namespace) -> Context:
    from claimfit.diagnose.lint import Context
    from claimfit.dra.profile import profile

    rules = profile(arguments.kubernetes, arguments.feature_gates)
    cluster = None
    if arguments.cluster:
        from claimfit.storage.cluster_files import read_cluster

        cluster = read_cluster(arguments.cluster, sys.stdin.buffer)
    own = tuple(item.driver for item in own_drivers(arguments.driver_file))
    return Context(rules, cluster, own)


def _names(arguments: list[str]) -> list[str]:
    """Return the files that `arguments` mean, folders searched, each once and in order."""
    names: list[str] = []
    for argument in arguments:
        path = Path(argument)
        if argument != _STDIN and path.is_dir():
            found = sorted(
                str(item) for item in path.rglob("*") if item.suffix in _SUFFIXES and item.is_file()
            )
            if not found:
                raise InputError(
                    "FIL103",
                    "the folder holds no manifest",
                    place=argument,
                    expected="files that end in " + ", ".join(_SUFFIXES),
                )
            names += found
        else:
            names.append(argument)
    return list(dict.fromkeys(names))


def _read(name: str) -> tuple[str, str]:
    """Return (name, text) of a file or of standard input."""
    try:
        if name == _STDIN:
            raw = sys.stdin.buffer.read(_LARGEST_FILE_BYTES + 1)
        else:
            with Path(name).open("rb") as stream:
                raw = stream.read(_LARGEST_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            "FIL101", f"cannot be read: {reason}", place=name, expected="a file, a folder or -"
        ) from None
    if len(raw) > _LARGEST_FILE_BYTES:
        raise InputError("FIL102", f"larger than {_LARGEST_FILE_BYTES >> 20} MiB", place=name)
    try:
        return name, raw.decode("utf-8-sig" if raw.startswith(b"\xef\xbb\xbf") else "utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            "MAN006", f"byte {error.start} is not UTF-8", place=name, expected="UTF-8 text"
        ) from None


def _fix(
    texts: dict[str, str], documents: dict[str, list[Document]], context: Context
) -> list[Finding]:
    """Fix each file in place (standard input: `texts` only); return what was fixed."""
    from claimfit.diagnose.lint import fix_text

    done: list[Finding] = []
    for name, text in texts.items():
        others = [item for other, group in documents.items() if other != name for item in group]
        fixed = fix_text(text, name, context, others)
        done += fixed.fixed
        if fixed.text != text:
            texts[name] = fixed.text
            if name != _STDIN:
                _write(name, fixed.text)
    return done


def _write(name: str, text: str) -> None:
    """Replace a file whole, or not at all."""
    import os
    import tempfile

    path = Path(name).resolve()
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        Path(temporary).chmod(path.stat().st_mode & 0o777)
        Path(temporary).replace(path)
    except OSError as error:
        raise InputError(
            "FIL105", f"cannot be written: {error.strerror or error}", place=name
        ) from None
