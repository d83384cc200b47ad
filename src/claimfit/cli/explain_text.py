"""The answer of ``claimfit explain`` for people: the verdict, then why, then what would help."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Final

from claimfit.cli.lines import visible, write_line, write_notes
from claimfit.diagnose.sentences import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claimfit.diagnose.suggestions import Suggestion
    from claimfit.diagnose.tree import Answer, DeviceRow, NodeAnswer, RequestAnswer
    from claimfit.diagnose.what_if import Change
    from claimfit.dra.reading import Objects

__all__ = ["write"]

_WIDTH: Final = 118
_WIDEST_PLACE: Final = 44
_MOST_ROWS: Final = 10
_MOST_NODES: Final = 3
_MOST_NAMES: Final = 4
_MOST_HINTS: Final = 6
_LAST_NUMBER: Final = re.compile(r"^(.*?)(\d+)$")


def write(
    answers: Sequence[tuple[Answer, tuple[Suggestion, ...]]],
    objects: Objects,
    changes: Sequence[Change],
    *,
    verbose: bool,
) -> None:
    """Write each answer, a blank line between two."""
    notes = list(objects.notes)
    if objects.other_kinds:
        kinds = ", ".join(f"{number} {kind}" for kind, number in objects.other_kinds.items())
        notes.append(f"not read: {kinds}")
    notes += [note for answer, _ in answers for note in answer.notes]
    write_notes(dict.fromkeys(notes))
    for index, (answer, works) in enumerate(answers):
        if index:
            write_line()
        if changes:
            write_line(f"What if: {'; '.join(change.text for change in changes)}.")
        _write_answer(answer, works, verbose=verbose)


def _write_answer(answer: Answer, works: Sequence[Suggestion], *, verbose: bool) -> None:
    write_line(answer.sentence)
    if answer.closest:
        write_line(answer.closest)
    for number, request in enumerate(answer.requests):
        if not number:
            write_line()
        _write_request(request)
    for request in answer.requests:
        rows = [row for row in answer.rows if _of(row, request)]
        if rows:
            _write_rows(rows, request, answer, verbose=verbose)
    _write_refusals(answer, verbose=verbose)
    _write_combinations(answer, verbose=verbose)
    hints = answer.hints if verbose else answer.hints[:_MOST_HINTS]
    _write_block("what it comes from", hints)
    _write_block("would work (each tried)", [_suggested(item) for item in works])
    write_line()
    if answer.outcome == "refused" and not answer.scheduler_line:
        write_line("kube-scheduler says: nothing, the pod is held back before it is queued")
    if answer.scheduler_line:
        first, *rest = answer.scheduler_line.split("\n")
        write_line(f"kube-scheduler says: {first}")
        for line in rest:
            write_line(f"  {line}")
    if verbose:
        _write_nodes(answer)
    write_line(f"not considered: {', '.join(answer.not_considered)}")


def _of(row: DeviceRow, request: RequestAnswer) -> bool:
    return (row.claim, row.request) == (request.claim, request.request)


def _write_request(request: RequestAnswer) -> None:
    what = f"{request.wanted} x {request.device_class}"
    constraints = "".join(f", {item}" for item in request.constraints)
    head = f"request {request.request}"
    write_line(f"{head:<14} {what}{constraints}")
    width = max((len(clause.text) for clause in request.clauses), default=0)
    for clause in request.clauses:
        removed = []
        if clause.false:
            removed.append(f"false on {clause.false:,} of {plural(clause.devices, 'device')}")
        elif clause.devices and clause.true == clause.devices:
            removed.append(f"true on {_all(clause.devices)}")
        if clause.failing:
            removed.append(f"fails on {clause.failing:,} of {plural(clause.devices, 'device')}")
        text = visible(clause.text).ljust(min(width, 60))
        write_line(f"{'':<14} clause {clause.number}  {text}  {', '.join(removed)}".rstrip())


def _all(number: int) -> str:
    return "the one device" if number == 1 else f"all {number:,} devices"


def _write_rows(
    rows: Sequence[DeviceRow], request: RequestAnswer, answer: Answer, *, verbose: bool
) -> None:
    nodes = {node for row in rows for node, _ in row.places}
    total = sum(row.number for row in rows)
    of = f" for request {request.request}" if len(answer.requests) > 1 else ""
    write_line()
    write_line(f"{plural(total, 'device')} on {plural(len(nodes), 'node')}{of}")
    shown = rows if verbose else _folded(rows)
    kept = shown if verbose else shown[:_MOST_ROWS]
    lines = [
        (str(row.number), row.text, row.detail, _places(row.places, verbose=verbose), row.product)
        for row in kept
    ]
    for text in _aligned(lines):
        write_line(text)
    if len(shown) > len(kept):
        rest = sum(row.number for row in shown[len(kept) :])
        more = plural(len(shown) - len(kept), "more row")
        write_line(f"  and {plural(rest, 'device')} in {more} (--verbose)")


def _aligned(lines: Sequence[tuple[str, str, str, str, str]]) -> list[str]:
    """Return lines with their cells in columns; where they are too wide, details below."""
    cells = [[visible(cell) for cell in line] for line in lines]
    widths = [max(len(line[at]) for line in cells) for at in range(5)]
    if sum(widths) + 2 * len(widths) <= _WIDTH:
        return [_joined(line, widths) for line in cells]
    # The detail of a row goes below it: a claim with its pods, or the words of an error.
    narrow = [widths[0], widths[1], min(widths[3], _WIDEST_PLACE), widths[4]]
    found = []
    for line in cells:
        found.append(_joined([line[0], line[1], line[3], line[4]], narrow))
        if line[2]:
            found.append(f"{'':<{widths[0] + 6}}{line[2]}")
    return found


def _joined(line: Sequence[str], widths: Sequence[int]) -> str:
    columns = [line[0].rjust(widths[0] + 2)]
    columns += [line[at].ljust(widths[at]) for at in range(1, len(line)) if widths[at]]
    return "  ".join(columns).rstrip()


def _folded(rows: Sequence[DeviceRow]) -> list[DeviceRow]:
    """Return `rows` with those of other classes in one row, where they are several."""
    others = [row for row in rows if row.code == "class-selector-false"]
    if len(others) < 3:
        return list(rows)
    places: dict[str, list[str]] = {}
    for row in others:
        for node, devices in row.places:
            places.setdefault(node, []).extend(devices)
    joined = tuple((node, tuple(devices)) for node, devices in places.items())
    one = others[0]._replace(detail="", places=joined)
    return [row for row in rows if row.code != "class-selector-false"] + [one]


def _places(places: Sequence[tuple[str, tuple[str, ...]]], *, verbose: bool) -> str:
    kept = places if verbose else places[:_MOST_NODES]
    text = "; ".join(f"{node}: {_names(devices, verbose=verbose)}" for node, devices in kept)
    more = len(places) - len(kept)
    return text + (f"; and {plural(more, 'more node')}" if more > 0 else "")


def _names(names: Sequence[str], *, verbose: bool) -> str:
    """Return names of devices, runs of numbers as ``gpu-0 .. gpu-3``."""
    runs: list[list[str]] = []
    before: tuple[str, int] | None = None
    for name in names:
        match = _LAST_NUMBER.match(name)
        now = (match[1], int(match[2][:9])) if match else None
        if before and now and now == (before[0], before[1] + 1):
            runs[-1].append(name)
        else:
            runs.append([name])
        before = now
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]} .. {run[-1]}"] if len(run) > 2 else run
    if verbose or len(parts) <= _MOST_NAMES:
        return ", ".join(parts)
    return f"{', '.join(parts[:_MOST_NAMES])} and {len(parts) - _MOST_NAMES} more"


def _write_refusals(answer: Answer, *, verbose: bool) -> None:
    """Write the nodes that are out before devices are looked at, folded by reason."""
    reasons: dict[str, list[str]] = {}
    for node in answer.nodes:
        for refusal in node.refusals:
            reasons.setdefault(refusal.text, []).append(node.node)
    if not reasons:
        return
    number = sum(node.state == "filtered" for node in answer.nodes)
    verb = "is" if number == 1 else "are"
    write_line()
    write_line(f"{plural(number, 'node')} {verb} out before any device is looked at")
    for text, nodes in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])):
        kept = nodes if verbose else nodes[:_MOST_NAMES]
        more = f" and {len(nodes) - len(kept)} more" if len(nodes) > len(kept) else ""
        write_line(f"{len(nodes):>3}  {text}  {', '.join(kept)}{more}")


def _write_combinations(answer: Answer, *, verbose: bool) -> None:
    """Write what only the claim as a whole rules out."""
    lines: list[str] = []
    for node in answer.nodes:
        if node.explanation is None or node.state == "fits":
            continue
        for reason in (*node.explanation.reasons, *node.explanation.pools):
            if reason.code in _TOLD_ELSEWHERE:
                continue
            values = "; ".join(
                f"{name.removeprefix('devices of ')}: {value}"
                for name, value in reason.values.items()
                if name.startswith("devices of ")
            )
            lines.append(f"node {node.node}: {reason.text}" + (f" ({values})" if values else ""))
    kept = lines if verbose else lines[:_MOST_NAMES]
    more = len(lines) - len(kept)
    _write_block("as a whole", [*kept, *([f"and {more} more (--verbose)"] if more else [])])


_TOLD_ELSEWHERE: Final = frozenset(
    ("too-few-devices", "selector-error", "pool-incomplete", "pool-invalid")
)
"""Reasons that rows, sentences and hints tell already."""


def _write_block(title: str, lines: Iterable[str]) -> None:
    told = list(lines)
    if told:
        write_line()
        write_line(title)
        for line in told:
            wrapped = textwrap.wrap(
                visible(line), _WIDTH - 4, break_long_words=False, break_on_hyphens=False
            )
            for at, part in enumerate(wrapped):
                write_line(f"{'    ' if at else '  '}{part}")


def _suggested(item: Suggestion) -> str:
    flag = f"   ({item.change.flag})" if item.change.flag else ""
    nodes = item.nodes[:_MOST_NODES]
    more = len(item.nodes) - len(nodes)
    where = ", ".join(nodes) + (f" and {more} more" if more else "")
    return f"{item.change.text:<44} -> {where}{flag}"


def _write_nodes(answer: Answer) -> None:
    write_line()
    write_line("nodes, nearest first")
    for node in answer.nodes:
        write_line(f"  {node.node:<20} {_state(node)}")
    write_line()


def _state(node: NodeAnswer) -> str:
    if node.state == "filtered":
        return "; ".join(refusal.text for refusal in node.refusals)
    if node.state == "fits":
        return "fits"
    if node.explanation is None:
        return node.state
    verdict = node.explanation.verdict
    if verdict.error:
        return verdict.error.partition("\n")[0]
    if node.missing:
        return f"{plural(node.missing, 'device')} short"
    return "; ".join(reason.text for reason in node.explanation.reasons)
