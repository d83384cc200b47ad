"""Selectors: compile one, ask it about devices, know what it costs.

`compile_selector` answers as the API server and the scheduler of a profile do. A selector is
evaluated once for each distinct combination of the values that it reads.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.dra.cel.checker import check
from claimfit.dra.cel.deep import deep
from claimfit.dra.cel.device_view import DeviceView, UnusableDeviceError
from claimfit.dra.cel.environment import environment
from claimfit.dra.cel.evaluator import Evaluator
from claimfit.dra.cel.foresight import is_foreseen
from claimfit.dra.cel.likeness import class_key
from claimfit.dra.cel.meter import COST_LIMIT
from claimfit.dra.cel.metered import Plan
from claimfit.dra.cel.parser import parse
from claimfit.dra.cel.reads import reads
from claimfit.dra.cel.source import Source, display
from claimfit.dra.cel.static_cost import static_cost
from claimfit.dra.cel.validators import validate
from claimfit.dra.cel.values import MISSING, EvalError, Optional, Panic, PlanError, type_name
from claimfit.errors import InputError

if TYPE_CHECKING:
    from claimfit.dra.cel.environment import Environment
    from claimfit.dra.cel.source import Issue
    from claimfit.dra.cel.syntax import Node
    from claimfit.dra.cel.values import Value
    from claimfit.dra.objects import Device
    from claimfit.dra.profile import Profile

__all__ = [
    "COST_LIMIT",
    "LONGEST_BYTES",
    "CompileErrors",
    "Program",
    "Result",
    "as_result",
    "compile_selector",
]

LONGEST_BYTES: Final = 10 * 1024
"""resource.k8s.io CELSelectorExpressionMaxLength: the API server compiles no longer expression."""

_UNCOUNTED: Final = COST_LIMIT // 10
"""Up to this estimate the limit is not reached, where the estimate can be trusted."""

_MOST_CLASSES: Final = 1 << 17
"""Distinct combinations of values whose results are kept."""


class CompileErrors(NamedTuple):
    """Why an expression is no selector.

    Attributes:
        code: CEL001 syntax or types, CEL002 the type of the result, CEL003 no program can be made.
        text: what the API server says, source lines and carets included.
        issues: the problems with their places; empty unless CEL001.
    """

    code: str
    text: str
    issues: tuple[Issue, ...] = ()

    def as_error(self, place: str) -> InputError:
        """Return the problem as an error at `place`."""
        return InputError(self.code, self.text, place=place, fix=_FIXES[self.code])


_FIXES: Final = {
    "CEL001": "correct the expression where the caret points",
    "CEL002": "make the expression a condition",
    "CEL003": "correct the constant that cannot be converted",
}


class Result(NamedTuple):
    """What a selector says about one device: it matches, it does not, or `error`."""

    matches: bool
    error: str = ""


class Program:
    """A compiled selector.

    Attributes:
        expression: its text.
        tree: its checked syntax.
        source: its text with lines.
        max_cost: the worst-case cost, which the API server limits to `COST_LIMIT`.
        counted: whether its cost must be counted, since it may reach the limit.
        reads: what it reads of a device.
        lists: whether list attributes can be read.
        environment: what it was compiled in.
    """

    __slots__ = (
        "_answers",
        "_evaluator",
        "_key",
        "_plan",
        "_versions",
        "counted",
        "environment",
        "expression",
        "lists",
        "max_cost",
        "reads",
        "source",
        "tree",
    )

    def __init__(self, source: Source, tree: Node, found: Environment, *, lists: bool) -> None:
        """Make a program of a checked `tree`; raises `PlanError`."""
        self.expression = source.text
        self.source = source
        self.tree = tree
        self.environment = found
        self.lists = lists
        self._plan = Plan(tree, found)
        self._evaluator = Evaluator(tree, found)
        self.max_cost = static_cost(tree, found)
        self.counted = self.max_cost > _UNCOUNTED or not is_foreseen(tree)
        self.reads = reads(tree)
        self._key = class_key(self.reads, lists=lists)
        self._answers: dict[object, Result] = {}
        self._versions: set[str] = set()

    @property
    def too_complex(self) -> bool:
        """Whether the API server refuses it for its worst-case cost."""
        return self.max_cost > COST_LIMIT

    def evaluate(self, device: Device, driver: str) -> Result:
        """Return what the selector says about `device` of `driver`."""
        for attribute in device.attributes.values():
            if (
                attribute.string is None
                and attribute.integer is None
                and attribute.boolean is None
                and attribute.version not in self._versions
            ):
                return self._checked(device, driver)
        return self._answer(device, driver)

    def _checked(self, device: Device, driver: str) -> Result:
        """Answer for a device with versions, lists or attributes without a value."""
        try:
            DeviceView(device, driver, lists=self.lists).check()
        except UnusableDeviceError as problem:
            return Result(matches=False, error=problem.message)
        if len(self._versions) < _MOST_CLASSES:
            versions = (attribute.version for attribute in device.attributes.values())
            self._versions.update(version for version in versions if version is not None)
        return self._answer(device, driver)

    def _answer(self, device: Device, driver: str) -> Result:
        make_key = self._key
        if make_key is None:
            return self._evaluated(device, driver)
        key = make_key(device, driver)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._evaluated(device, driver)
            if len(self._answers) < _MOST_CLASSES:
                self._answers[key] = answer
        return answer

    @deep
    def _evaluated(self, device: Device, driver: str) -> Result:
        view = DeviceView(device, driver, lists=self.lists)
        if self.counted:
            value, _ = self._plan.run(view.value())
            if isinstance(value, EvalError | Panic):
                return Result(matches=False, error=value.message)
            return as_result(value)
        try:
            found = self._evaluator.run(view)
        except (EvalError, Panic) as problem:
            return Result(matches=False, error=problem.message)
        if found is True:
            return _YES
        return _NO if found is False else as_result(found)

    @deep
    def metered(self, device: Device, driver: str) -> tuple[Result, int]:
        """Return what the selector says about `device`, and what evaluating it costs."""
        view = DeviceView(device, driver, lists=self.lists)
        try:
            view.check()
        except UnusableDeviceError as problem:
            return Result(matches=False, error=problem.message), 0
        value, cost = self._plan.run(view.value())
        if isinstance(value, EvalError | Panic):
            return Result(matches=False, error=value.message), cost
        return as_result(value), cost


_YES: Final = Result(matches=True)
_NO: Final = Result(matches=False)


def as_result(value: Value) -> Result:
    """Return the result that a value is; what is no bool is an error."""
    inner = value
    while isinstance(inner, Optional):
        if inner.value is MISSING:
            return _no_bool(value, "optional.none() dereference")
        inner = inner.value  # type: ignore[assignment]  # not MISSING
    if isinstance(inner, bool):
        return Result(matches=inner)
    name = type_name(inner)
    said = _NO_BOOL.get(name)
    if said is None:
        said = f"type conversion error from '{name.rpartition('.')[2]}' to 'bool'"
    return _no_bool(value, said)


def _no_bool(value: Value, said: str) -> Result:
    message = f"CEL result of type {type_name(value)} could not be converted to bool: {said}"
    return Result(matches=False, error=message)


_NO_BOOL: Final = {
    "int": "unsupported type conversion from 'int' to bool",
    "uint": "unsupported type conversion from 'uint' to bool",
    "double": "type conversion error from Double to 'bool'",
    "string": "unsupported native conversion from string to 'bool'",
    "bytes": "type conversion error from Bytes to 'bool'",
    "list": "type conversion error from list to 'bool'",
    "map": "type conversion error from map to 'bool'",
    "type": "type conversion error from 'type' to 'bool'",
    "net.IP": "type conversion error from 'IP' to 'bool'",
}
"""What Go says to each type; the others follow one form."""


@lru_cache(maxsize=1024)
@deep
def compile_selector(
    expression: str, profile: Profile, *, new: bool = False
) -> Program | CompileErrors:
    """Return the program of `expression`, or why there is none.

    Args:
        expression: CEL over one device. Its length is not judged here; see `LONGEST_BYTES`.
        profile: the rules.
        new: judge it as the API server does an expression that is new or changed, rather than as
            the scheduler does one that is stored.
    """
    found = environment(profile, new=new)
    source = Source(expression)
    tree, issues = parse(source, found.macros, backticks=found.backticks)
    if tree is not None:
        issues = check(tree, found, source) or validate(tree, found, source)
    if tree is None or issues:
        text = f"compilation failed: {display(issues, source)}"
        return CompileErrors("CEL001", text, tuple(issues))
    if not _is_condition(tree, found, profile):
        text = f"must evaluate to bool or the unknown type, not {tree.type.declared}"
        return CompileErrors("CEL002", text)
    lists = profile.minor >= 37 or profile.enabled("DRAListTypeAttributes")
    try:
        return Program(source, tree, found, lists=lists)
    except PlanError as problem:
        return CompileErrors("CEL003", f"program instantiation failed: {problem.message}")


def _is_condition(tree: Node, found: Environment, profile: Profile) -> bool:
    """Whether the result may be a bool: it is one, or has the type of attributes."""
    kind = tree.type.kind
    if profile.minor >= 37:
        return kind in {"bool", found.attribute.kind}
    return kind in {"bool", "any"} or (
        kind == "dyn" and profile.enabled("DRAListTypeAttributes") and profile.minor >= 36
    )
