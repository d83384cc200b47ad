"""Rules for CEL selectors: whether they compile, and what they do on the devices there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.diagnose.lint import (
    attribute_types,
    constant_clauses,
    guards,
    on_devices,
    published_names,
    thresholds,
)
from claimfit.diagnose.lint.compiled import Compiled, compiled
from claimfit.diagnose.lint.expression_text import ExpressionText
from claimfit.diagnose.lint.names import length
from claimfit.diagnose.lint.operators import rewritten_operator
from claimfit.diagnose.lint.paths import text_of
from claimfit.diagnose.lint.selector import Selector
from claimfit.dra.cel.program import LONGEST_BYTES
from claimfit.dra.profile import MINORS, Profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claimfit.diagnose.lint.finding import Report
    from claimfit.diagnose.lint.linting import Checked
    from claimfit.diagnose.lint.parts import Part
    from claimfit.diagnose.lint.paths import Path
    from claimfit.diagnose.lint.published import World
    from claimfit.dra.cel.program import Program

__all__ = ["check"]

MOST_SELECTORS: Final = 32
_SHOWN: Final = 100


def check(checked: Checked, world: World) -> None:
    """Report on the selectors of `checked`."""
    report = checked.report
    if checked.manifest.kind == "DeviceClass":
        spec = checked.part.below("spec")
        _check_list(spec, "class", "", (), report, world)
    elif checked.devices is not None:
        from claimfit.diagnose.lint.claim_rules import request_parts

        for name, request in request_parts(checked.devices):
            class_name = request.text("deviceClassName")
            before = tuple(_class_selectors(class_name, world))
            _check_list(request, f"request {name}", class_name, before, report, world)


def _class_selectors(class_name: str, world: World) -> Iterator[Program]:
    """Yield what a class asks for, as far as it is known and compiles."""
    known = world.device_class(class_name)
    expressions: tuple[str, ...] = ()
    if known is not None:
        expressions = tuple(item.cel.expression for item in known.spec.selectors if item.cel)
    else:
        driver, _ = world.description_of(class_name)
        classes = driver.classes if driver is not None else ()
        expressions = next((item.selectors for item in classes if item.name == class_name), ())
    for expression in expressions:
        result = compiled(expression, world.profile, new=False)
        if result.program is not None:
            yield result.program


def _check_list(
    holder: Part,
    owner: str,
    class_name: str,
    before: tuple[Program, ...],
    report: Report,
    world: World,
) -> None:
    for index, selector in enumerate(holder.parts("selectors")[:MOST_SELECTORS]):
        cel = selector.part("cel")
        if cel is None or not isinstance(cel.values.get("expression", ""), str):
            continue
        path = cel.at("expression")
        expression = cel.text("expression")
        if length(expression) > LONGEST_BYTES:
            report.too_long(path, LONGEST_BYTES)
            continue
        result = compiled(expression, world.profile, new=True)
        text = ExpressionText(report.manifest, path, expression)
        if result.program is None:
            _report_problem(result, path, text, report, world.profile)
            continue
        program = result.program
        if program.too_complex:
            report.add_at(
                "LNT042",
                "error",
                path,
                f"{text_of(path)}: Forbidden: too complex, exceeds cost limit",
                text.position,
                fix="avoid loops in loops, != on quantities and versions, and type()",
            )
        found = Selector(path, f"{owner} selector {index}", class_name, before, program, text)
        _check(found, report, world)
        before = (*before, program)


def _check(selector: Selector, report: Report, world: World) -> None:
    """Apply the rules, those that name a cause first: nothing is said twice."""
    reads = published_names.check(selector, report, world)
    reads |= attribute_types.check(selector, report, world)
    attribute_types.check_constants(selector, report)
    clauses = constant_clauses.check(selector, report, world)
    clauses |= thresholds.check(selector, report, world)
    guards.check(selector, reads, report, world)
    on_devices.check(selector, reads, clauses, report, world)


# --- what does not compile ------------------------------------------------------------------------


def _report_problem(
    result: Compiled, path: Path, text: ExpressionText, report: Report, profile: Profile
) -> None:
    offset = max(result.offset, 0)
    position = text.place(offset) if result.offset >= 0 else text.position
    excerpt = _excerpt(text.text, offset) if result.offset >= 0 else ("", 0)
    rewritten = rewritten_operator(result, text)
    if rewritten is not None:
        report.add_at(
            "LNT041",
            "error",
            path,
            f"{text_of(path)}: Invalid value: {result.problem}: "
            f"{rewritten.why}; it is rejected at admission, no device is evaluated",
            position,
            fix=rewritten.fix,
            edits=rewritten.edits,
            excerpt=excerpt,
        )
        return
    later = _later_minor(text.text, profile)
    if later:
        report.add_at(
            "LNT043",
            "error",
            path,
            f"{text_of(path)}: Invalid value: {result.problem}: Kubernetes {profile.kubernetes} "
            f"refuses it in a new object; it compiles from 1.{later} on",
            position,
            fix=f"upgrade to 1.{later}, or write it without what is newer",
            excerpt=excerpt,
        )
        return
    report.add_at(
        "LNT040",
        "error",
        path,
        f"{text_of(path)}: Invalid value: {result.problem}",
        position,
        excerpt=excerpt,
    )


def _later_minor(expression: str, profile: Profile) -> int:
    """Return the first minor after `profile` that takes a new `expression`, 0 when none does."""
    from claimfit.dra.profile import profile as rules

    for minor in MINORS:
        if minor > profile.minor:
            later = Profile(minor, rules(f"1.{minor}").gates | profile.gates)
            if compiled(expression, later, new=True).program is not None:
                return minor
    return 0


def _excerpt(expression: str, offset: int) -> tuple[str, int]:
    """Return the line of `expression` around `offset`, cut to a screen, and the caret's column."""
    start = expression.rfind("\n", 0, offset) + 1
    end = expression.find("\n", offset)
    line = expression[start : end if end >= 0 else len(expression)].replace("\t", " ")
    column = offset - start
    if len(line) <= _SHOWN:
        return line, column
    first = max(0, min(column - _SHOWN // 2, len(line) - _SHOWN))
    return line[first : first + _SHOWN], column - first
