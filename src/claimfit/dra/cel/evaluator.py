"""Evaluation without counting: a checked tree becomes nested Python functions.

Gives the values and errors of `metered`, which the tests hold it to. A function takes a frame: the
device's view, then one place per variable of a fold. Errors are raised; ``&&`` and ``||`` catch
them, and an accumulator keeps them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.dra.cel.access import as_key, member, member_if_present, plain_map
from claimfit.dra.cel.device_view import DeviceView
from claimfit.dra.cel.dispatch import implementation, with_pattern
from claimfit.dra.cel.metered import PlanError, constant_keys, different, fold_entries
from claimfit.dra.cel.reads import device_path
from claimfit.dra.cel.runtime_cost import UNCOSTABLE, uncostable
from claimfit.dra.cel.syntax import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
)
from claimfit.dra.cel.values import (
    MISSING,
    NONE,
    EvalError,
    MapValue,
    MutableList,
    MutableMap,
    Optional,
    TypeValue,
    Value,
    equal,
    map_key,
    no_such_overload,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimfit.dra.cel.environment import Environment

    Frame = list[object]
    Run = Callable[[Frame], Value]

__all__ = ["Evaluator"]

_UNSET: Final = object()
"""What the place of a binding holds until the binding is first asked for."""


class Evaluator:
    """A program that answers without counting its cost."""

    __slots__ = ("_places", "_run")

    def __init__(self, tree: Node, environment: Environment) -> None:
        """Compile `tree`, which is checked and can be planned (see `metered.Plan`)."""
        compiler = _Compiler(environment)
        self._run = compiler.compile(tree)
        self._places = compiler.places

    def run(self, view: DeviceView) -> Value:
        """Return the value for a device; raises `EvalError` or `Panic`."""
        frame: list[object] = [view]
        if self._places > 1:
            frame += [None] * (self._places - 1)
        return self._run(frame)


class _Compiler:
    """Makes functions of nodes."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.places = 1
        self.scope: dict[str, Run] = {"device": lambda frame: frame[0].value()}  # type: ignore[attr-defined]
        self.device_hidden = False

    def compile(self, node: Node) -> Run:
        if isinstance(node, Call):
            return self.call(node)
        if isinstance(node, Literal):
            return _constant(node.value)
        if isinstance(node, Select):
            return self.named(node, node.resolved) if node.resolved else self.chain(node)
        if isinstance(node, Ident):
            return self.named(node, node.name)
        if isinstance(node, ListLiteral):
            return self.list_literal(node)
        if isinstance(node, MapLiteral):
            return self.map_literal(node)
        if isinstance(node, Comprehension):
            return self.fold(node)
        raise PlanError("messages cannot be built")

    def named(self, node: Node, name: str) -> Run:
        if node.type.kind == "type":
            return _constant(TypeValue(name))
        return self.scope[name]

    # --- members ----------------------------------------------------------------------------------

    def chain(self, node: Node) -> Run:
        """Compile accesses one after the other on what they start from."""
        direct = self.direct(node)
        if direct is not None:
            return direct
        accesses: list[_Access] = []
        base = node
        while True:
            access = self.access(base)
            if access is None or (access.test and accesses):
                break
            accesses.append(access)
            base = base.operand if isinstance(base, Select) else base.arguments[0]  # type: ignore[attr-defined]
        accesses.reverse()
        start = self.compile(base)
        return _accessed(start, accesses)

    def access(self, node: Node) -> _Access | None:
        if isinstance(node, Select) and not node.resolved:
            return _Access(_constant(node.field), optional=False, test=node.test_only)
        if isinstance(node, Call) and node.function in {"_[_]", "_[?_]", "_?._"}:
            key = node.arguments[1]
            run = self.compile(key)
            if not isinstance(key, Literal):
                run = _checked_key(run)
            return _Access(run, optional=node.function != "_[_]", test=False)
        return None

    def direct(self, node: Node) -> Run | None:
        """Compile the usual reads of a device without building its maps."""
        if self.device_hidden:
            return None
        path = device_path(node)
        if path is None:
            return None
        if path == ("driver",) and isinstance(node, Select) and not node.test_only:
            return lambda frame: frame[0].driver  # type: ignore[attr-defined]
        if len(path) != 3 or path[0] not in {"attributes", "capacity"}:
            return None
        holder = node.operand if isinstance(node, Select) else node.arguments[0]  # type: ignore[attr-defined]
        if not _plain(holder):
            return None
        _, domain, name = path
        find = DeviceView.attribute if path[0] == "attributes" else DeviceView.capacity
        if isinstance(node, Select) and node.test_only:
            return lambda frame: find(frame[0], domain, name) is not MISSING  # type: ignore[arg-type]
        if isinstance(node, Call) and node.function != "_[_]":
            return _direct_optional(find, domain, name)
        return _direct_read(find, domain, name)

    # --- calls ------------------------------------------------------------------------------------

    def call(self, node: Call) -> Run:
        function = node.function
        if function in {"_[_]", "_[?_]", "_?._"}:
            return self.chain(node)
        if function == "@in":
            tested = self.direct_membership(node)
            if tested is not None:
                return tested
        nodes = [node.target, *node.arguments] if node.target else node.arguments
        operands = [self.compile(operand) for operand in nodes]
        if function == "_&&_":
            return _both(*operands)
        if function == "_||_":
            return _either(*operands)
        if function == "_?_:_":
            return _conditional(*operands)
        if function == "_==_":
            return _equality(*operands)
        if function == "_!=_":
            return _call(different, operands)
        if function in {"or", "orValue"}:
            strict = self.environment.minor >= 37
            return _optional_or(*operands, unwraps=function == "orValue", strict=strict)
        if function == "@not_strictly_false":
            return _not_strictly_false(operands[0])
        return self.function(node, nodes, operands)

    def function(self, node: Call, nodes: list[Node], operands: list[Run]) -> Run:
        found = implementation(node, self.environment)
        pattern = nodes[1] if len(nodes) > 1 else None
        if isinstance(pattern, Literal) and isinstance(pattern.value, str):
            prepared = with_pattern(node, pattern.value)
            if prepared is not None and not isinstance(prepared, str):
                found = prepared
        items = nodes[-1] if nodes else None
        if found.overload == "in_list" and isinstance(items, ListLiteral):
            keys = _literal_keys(items)
            if keys is not None:
                return _member_of(operands[0], keys)
        place = UNCOSTABLE.get(found.overload)
        if place is not None:
            operands[place] = _costable(operands[place], found.overload)
        return _call(found.run, operands, dynamic=found.dynamic)

    def direct_membership(self, node: Call) -> Run | None:
        key, holder = node.arguments
        if self.device_hidden or not (isinstance(key, Literal) and isinstance(key.value, str)):
            return None
        path = device_path(holder)
        if path is None or len(path) != 2 or not _plain(holder):
            return None
        name = key.value
        kind, domain = path
        if kind not in {"attributes", "capacity"}:
            return None
        find = DeviceView.attribute if kind == "attributes" else DeviceView.capacity
        return lambda frame: find(frame[0], domain, name) is not MISSING  # type: ignore[arg-type]

    # --- aggregates and folds ---------------------------------------------------------------------

    def list_literal(self, node: ListLiteral) -> Run:
        elements = [self.compile(element) for element in node.elements]
        if not node.optional:
            return lambda frame: [element(frame) for element in elements]
        optional = node.optional

        def run(frame: Frame) -> Value:
            found: list[Value] = []
            for place, element in enumerate(elements):
                value = element(frame)
                if place in optional:
                    if not isinstance(value, Optional):
                        raise EvalError(
                            "cannot initialize optional list element from non-optional value %s",
                            text(value),
                        )
                    if value.value is MISSING:
                        continue
                    value = value.value  # type: ignore[assignment]  # not MISSING
                found.append(value)
            return found

        return run

    def map_literal(self, node: MapLiteral) -> Run:
        entries = [
            (self.compile(entry.key), self.compile(entry.value), entry.optional)
            for entry in node.entries
            if isinstance(entry.key, Node)
        ]

        def run(frame: Frame) -> Value:
            found: dict[object, tuple[Value, Value]] = {}
            for key_run, value_run, optional in entries:
                key, value = key_run(frame), value_run(frame)
                if optional:
                    if not isinstance(value, Optional):
                        raise EvalError(
                            "cannot initialize optional entry '%s' from non-optional value %s",
                            text(key),
                            text(value),
                        )
                    if value.value is MISSING:
                        found.pop(map_key(key), None)
                        continue
                    value = value.value  # type: ignore[assignment]  # not MISSING
                found[map_key(key)] = (key, value)
            return MapValue(found)

        return run

    def place(self) -> int:
        self.places += 1
        return self.places - 1

    def fold(self, node: Comprehension) -> Run:
        subject = self.compile(node.subject)
        initial = self.compile(node.initial)
        outer, hidden = dict(self.scope), self.device_hidden
        gathered = self.place()
        self.define(node.accumulator, _lazy(gathered, initial))
        outside = dict(self.scope)
        first = self.place()
        self.define(node.first, _variable(first))
        second = 0
        if node.second:
            second = self.place()
            self.define(node.second, _variable(second))
        if node.accumulator in {node.first, node.second}:
            self.define(node.accumulator, _lazy(gathered, initial))
        condition, step = self.compile(node.condition), self.compile(node.step)
        self.scope = outside
        self.device_hidden = hidden or node.accumulator == "device"
        result = self.compile(node.result)
        self.scope, self.device_hidden = outer, hidden
        return _fold(subject, (gathered, first, second), condition, step, result)

    def define(self, name: str, run: Run) -> None:
        self.scope[name] = run
        if name == "device":
            self.device_hidden = True


def _plain(node: Node) -> bool:
    """Whether a path of accesses has no optional one and no test."""
    while isinstance(node, Select | Call):
        if isinstance(node, Call):
            if node.function != "_[_]":
                return False
            node = node.arguments[0]
        else:
            if node.test_only:
                return False
            node = node.operand
    return True


# --- functions over frames ------------------------------------------------------------------------


class _Access:
    """One access: how its key is found, and whether it may be missing."""

    __slots__ = ("key", "optional", "test")

    def __init__(self, key: Run, *, optional: bool, test: bool) -> None:
        self.key = key
        self.optional = optional
        self.test = test


def _constant(value: Value) -> Run:
    return lambda _frame: value


def _variable(place: int) -> Run:
    return lambda frame: frame[place]  # type: ignore[return-value]  # a value


def _lazy(place: int, initial: Run) -> Run:
    def run(frame: Frame) -> Value:
        value = frame[place]
        if value is _UNSET:
            try:
                value = initial(frame)
            except EvalError as error:
                value = error
            if isinstance(value, list) and not value:
                value = MutableList()
            elif isinstance(value, MapValue) and not value.entries:
                value = MutableMap({})
            frame[place] = value
        if isinstance(value, EvalError):
            raise EvalError(value.message)
        return value  # type: ignore[return-value]  # a value

    return run


def _checked_key(run: Run) -> Run:
    return lambda frame: as_key(run(frame))


def _direct_read(find: Callable[[DeviceView, str, str], object], domain: str, name: str) -> Run:
    missing = f"no such key: {name}"

    def run(frame: Frame) -> Value:
        found = find(frame[0], domain, name)  # type: ignore[arg-type]
        if found is MISSING:
            raise EvalError(missing)
        return found  # type: ignore[return-value]  # not MISSING

    return run


def _direct_optional(find: Callable[[DeviceView, str, str], object], domain: str, name: str) -> Run:
    def run(frame: Frame) -> Value:
        found = find(frame[0], domain, name)  # type: ignore[arg-type]
        return NONE if found is MISSING else Optional(found)  # type: ignore[arg-type]

    return run


def _accessed(start: Run, accesses: list[_Access]) -> Run:
    test = accesses[-1].test

    def run(frame: Frame) -> Value:
        value = start(frame)
        optional = isinstance(value, Optional)
        if isinstance(value, Optional):
            if value.value is MISSING:
                return False if test else value
            value = plain_map(value.value)  # type: ignore[arg-type]  # not MISSING
        for access in accesses:
            optional = optional or access.optional
            key = access.key(frame)
            if access.test:
                return member_if_present(value, key) is not MISSING
            if not optional:
                value = member(value, key)
                continue
            found = member_if_present(value, key)
            if found is MISSING:
                return False if test else NONE
            value = found  # type: ignore[assignment]  # not MISSING
        return Optional(value) if optional else value

    return run


def _is(operand: Run, frame: Frame, *, decisive: bool) -> bool:
    """Whether an operand decides ``&&`` or ``||`` although the other one failed."""
    try:
        return operand(frame) is decisive
    except EvalError:
        return False


def _both(left: Run, right: Run) -> Run:
    def run(frame: Frame) -> Value:
        try:
            one = left(frame)
        except EvalError:
            if _is(right, frame, decisive=False):
                return False
            raise
        if one is False:
            return False
        if one is not True:
            if _is(right, frame, decisive=False):
                return False
            raise no_such_overload()
        two = right(frame)
        if two is True or two is False:
            return two
        raise no_such_overload()

    return run


def _either(left: Run, right: Run) -> Run:
    def run(frame: Frame) -> Value:
        try:
            one = left(frame)
        except EvalError:
            if _is(right, frame, decisive=True):
                return True
            raise
        if one is True:
            return True
        if one is not False:
            if _is(right, frame, decisive=True):
                return True
            raise no_such_overload()
        two = right(frame)
        if two is True or two is False:
            return two
        raise no_such_overload()

    return run


def _conditional(condition: Run, truthy: Run, falsy: Run) -> Run:
    def run(frame: Frame) -> Value:
        value = condition(frame)
        if value is True:
            return truthy(frame)
        if value is False:
            return falsy(frame)
        raise no_such_overload()

    return run


def _equality(left: Run, right: Run) -> Run:
    def run(frame: Frame) -> Value:
        try:
            one = left(frame)
        except EvalError:
            _end_quietly(right, frame)
            raise
        two = right(frame)
        if type(one) is str and type(two) is str:
            return one == two
        return equal(one, two)

    return run


def _end_quietly(operand: Run, frame: Frame) -> None:
    """Evaluate a second operand although the first failed: it may end the evaluation."""
    try:
        operand(frame)
    except EvalError:
        return


def _not_strictly_false(operand: Run) -> Run:
    def run(frame: Frame) -> Value:
        try:
            value = operand(frame)
        except EvalError:
            return True
        return value if isinstance(value, bool) else True

    return run


def _optional_or(first: Run, second: Run, *, unwraps: bool, strict: bool) -> Run:
    def run(frame: Frame) -> Value:
        value = first(frame)
        if not isinstance(value, Optional):
            if strict:
                raise no_such_overload()
            return value
        if value.value is MISSING:
            return second(frame)
        return value.value if unwraps else value  # type: ignore[return-value]  # not MISSING

    return run


def _call_two(run: Callable[..., Value], left: Run, right: Run) -> Run:
    def call(frame: Frame) -> Value:
        try:
            one = left(frame)
        except EvalError:
            _end_quietly(right, frame)
            raise
        return run(one, right(frame))

    return call


def _call(run: Callable[..., Value], operands: list[Run], *, dynamic: bool = False) -> Run:
    if len(operands) == 1:
        only = operands[0]
        return lambda frame: run(only(frame))
    if len(operands) == 2 and not dynamic:
        return _call_two(run, *operands)
    return lambda frame: run(*[operand(frame) for operand in operands])


def _literal_keys(items: ListLiteral) -> frozenset[object] | None:
    """Return the keys of a list of literals, None when it holds anything else."""
    values = [one.value for one in items.elements if isinstance(one, Literal)]
    if len(values) != len(items.elements) or items.optional:
        return None
    return constant_keys(values)


def _costable(operand: Run, overload: str) -> Run:
    """End the evaluation where the operand fails, as counting the cost does."""

    def run(frame: Frame) -> Value:
        try:
            return operand(frame)
        except EvalError:
            raise uncostable(overload) from None

    return run


def _member_of(value: Run, keys: frozenset[object]) -> Run:
    def run(frame: Frame) -> Value:
        found = value(frame)
        return (found if type(found) is str else map_key(found)) in keys

    return run


def _fold(
    subject: Run, places: tuple[int, int, int], condition: Run, step: Run, result: Run
) -> Run:
    gathered, first, second = places

    def run(frame: Frame) -> Value:
        entries = fold_entries(subject(frame), pairs=bool(second))
        frame[gathered] = _UNSET
        for one, two in entries:
            frame[first] = one
            if second:
                frame[second] = two
            try:
                if condition(frame) is False:
                    break
            except EvalError:
                pass  # only false ends a fold
            try:
                frame[gathered] = step(frame)
            except EvalError as error:
                frame[gathered] = error
        found = result(frame)
        if isinstance(found, MutableList):
            return list(found)
        return MapValue(found.entries) if isinstance(found, MutableMap) else found

    return run
