"""Evaluation without counting: a checked tree becomes nested Python functions.

Gives the values and errors of `metered`, which the tests hold it to. A function takes a frame: the
device's view, then one place per variable of a fold. Errors are raised; ``&&`` and ``||`` catch
them, and an accumulator keeps them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.dra.cel.closures import (
    Access,
    accessed,
    applied,
    both,
    checked_key,
    conditional,
    constant,
    costable,
    direct_optional,
    direct_read,
    either,
    equality,
    fold,
    lazy,
    member_of,
    not_strictly_false,
    optional_or,
    variable,
)
from claimfit.dra.cel.comparison import constant_keys, different
from claimfit.dra.cel.device_view import DeviceView
from claimfit.dra.cel.dispatch import implementation, with_pattern
from claimfit.dra.cel.printing import text
from claimfit.dra.cel.reads import device_path
from claimfit.dra.cel.runtime_cost import UNCOSTABLE
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
    EvalError,
    MapValue,
    Optional,
    PlanError,
    TypeValue,
    map_key,
)

if TYPE_CHECKING:
    from claimfit.dra.cel.closures import Frame, Run
    from claimfit.dra.cel.environment import Environment
    from claimfit.dra.cel.values import Value


__all__ = ["Evaluator"]


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
            return constant(node.value)
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
            return constant(TypeValue(name))
        return self.scope[name]

    # --- members ----------------------------------------------------------------------------------

    def chain(self, node: Node) -> Run:
        """Compile accesses one after the other on what they start from."""
        direct = self.direct(node)
        if direct is not None:
            return direct
        accesses: list[Access] = []
        base = node
        while True:
            access = self.access(base)
            if access is None or (access.test and accesses):
                break
            accesses.append(access)
            base = base.operand if isinstance(base, Select) else base.arguments[0]  # type: ignore[attr-defined]
        accesses.reverse()
        start = self.compile(base)
        return accessed(start, accesses)

    def access(self, node: Node) -> Access | None:
        if isinstance(node, Select) and not node.resolved:
            return Access(constant(node.field), optional=False, test=node.test_only)
        if isinstance(node, Call) and node.function in {"_[_]", "_[?_]", "_?._"}:
            key = node.arguments[1]
            run = self.compile(key)
            if not isinstance(key, Literal):
                run = checked_key(run)
            return Access(run, optional=node.function != "_[_]", test=False)
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
            return direct_optional(find, domain, name)
        return direct_read(find, domain, name)

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
            return both(*operands)
        if function == "_||_":
            return either(*operands)
        if function == "_?_:_":
            return conditional(*operands)
        if function == "_==_":
            return equality(*operands)
        if function == "_!=_":
            return applied(different, operands)
        if function in {"or", "orValue"}:
            strict = self.environment.minor >= 37
            return optional_or(*operands, unwraps=function == "orValue", strict=strict)
        if function == "@not_strictly_false":
            return not_strictly_false(operands[0])
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
                return member_of(operands[0], keys)
        place = UNCOSTABLE.get(found.overload)
        if place is not None:
            operands[place] = costable(operands[place], found.overload)
        return applied(found.run, operands, dynamic=found.dynamic)

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
        self.define(node.accumulator, lazy(gathered, initial))
        outside = dict(self.scope)
        first = self.place()
        self.define(node.first, variable(first))
        second = 0
        if node.second:
            second = self.place()
            self.define(node.second, variable(second))
        if node.accumulator in {node.first, node.second}:
            self.define(node.accumulator, lazy(gathered, initial))
        condition, step = self.compile(node.condition), self.compile(node.step)
        self.scope = outside
        self.device_hidden = hidden or node.accumulator == "device"
        result = self.compile(node.result)
        self.scope, self.device_hidden = outer, hidden
        return fold(subject, (gathered, first, second), condition, step, result)

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


def _literal_keys(items: ListLiteral) -> frozenset[object] | None:
    """Return the keys of a list of literals, None when it holds anything else."""
    values = [one.value for one in items.elements if isinstance(one, Literal)]
    if len(values) != len(items.elements) or items.optional:
        return None
    return constant_keys(values)
