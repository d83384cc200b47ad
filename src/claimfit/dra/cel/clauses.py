"""Which part of a selector decides: its conditions joined by ``&&``, one by one.

A selector is false as soon as one clause is false, even if another fails (see `evaluator`). So for
a device each clause is true, false or an error, with the values that it saw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from claimfit.dra.cel.deep import deep
from claimfit.dra.cel.device_view import DeviceView, UnusableDeviceError
from claimfit.dra.cel.evaluator import Evaluator
from claimfit.dra.cel.go_text import quoted
from claimfit.dra.cel.metered import Plan
from claimfit.dra.cel.printing import text
from claimfit.dra.cel.program import Result, as_result
from claimfit.dra.cel.reads import Read, reads
from claimfit.dra.cel.syntax import Call, Node
from claimfit.dra.cel.values import MISSING, EvalError, MapValue, Panic, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.cel.program import Program
    from claimfit.dra.objects import Device

__all__ = ["Clause", "ClauseOutcome", "Seen", "clauses"]


class Seen(NamedTuple):
    """A value that a clause read: `value` as CEL writes it, None when the device has none."""

    path: str
    value: str | None


class ClauseOutcome(NamedTuple):
    """What a clause says about one device."""

    clause: Clause
    result: Result
    seen: tuple[Seen, ...]


class Clause:
    """One condition of a selector.

    Attributes:
        text: as written, parentheses included.
        start: its first code point in the expression.
        stop: the code point after its last.
        line: 1-based line of its start.
        column: 1-based column of its start.
        reads: what it reads of a device.
    """

    __slots__ = ("_lists", "_run", "column", "line", "reads", "start", "stop", "text")

    def __init__(self, node: Node, program: Program) -> None:
        self.start, self.stop = node.start, node.stop
        self.text = program.expression[node.start : node.stop]
        location = program.source.location(node.start)
        self.line, self.column = location.line, location.column + 1
        self.reads = reads(node)
        self._lists = program.lists
        self._run: Callable[[DeviceView], Value]
        if program.counted:
            plan = Plan(node, program.environment)
            self._run = lambda view: _raised(plan.run(view.value())[0])
        else:
            self._run = Evaluator(node, program.environment).run

    @deep
    def outcome(self, device: Device, driver: str) -> ClauseOutcome:
        """Return what the clause says about `device`."""
        view = DeviceView(device, driver, lists=self._lists)
        seen = tuple(_seen(read, device, driver, lists=self._lists) for read in self.reads)
        try:
            view.check()
            result = as_result(self._run(view))
        except (EvalError, Panic, UnusableDeviceError) as problem:
            result = Result(matches=False, error=problem.message)
        return ClauseOutcome(self, result, seen)


@deep
def clauses(program: Program) -> tuple[Clause, ...]:
    """Return the conditions that ``&&`` joins at the top of a selector, in order."""
    found: list[Node] = []
    pending = [program.tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Call) and node.function == "_&&_":
            pending += reversed(node.arguments)
        else:
            found.append(node)
    return tuple(Clause(node, program) for node in found)


def _raised(value: Value | EvalError | Panic) -> Value:
    if isinstance(value, EvalError | Panic):
        raise value
    return value


def _seen(read: Read, device: Device, driver: str, *, lists: bool) -> Seen:
    view = DeviceView(device, driver, lists=lists)
    try:
        value = _read_value(read, view)
    except EvalError as problem:
        return Seen(str(read), problem.message)
    return Seen(str(read), None if value is MISSING else shown(value))  # type: ignore[arg-type]


def _read_value(read: Read, view: DeviceView) -> object:
    if read.kind == "driver":
        return view.driver
    if read.kind == "shared":
        return view.shared
    if read.name:
        find = view.attribute if read.kind == "attributes" else view.capacity
        return find(read.domain, read.name)
    if read.kind == "device":
        return view.value()
    held = view.value().find(read.kind)
    return held.find(read.domain) if isinstance(held, MapValue) and read.domain else held


def shown(value: Value) -> str:
    """Return `value` as an expression would write it, text in quotes."""
    return quoted(value) if isinstance(value, str) else text(value)
