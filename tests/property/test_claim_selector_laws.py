"""Selectors: what the CEL matches is what the device test says, and it never fails."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from claimfit.claim.device_test import DeviceTest, ProductTerm, unmet
from claimfit.claim.selector import LONGEST_EXPRESSION, cel_string, expression
from support.cel_subset import selects

DRIVERS = st.sampled_from(["gpu.nvidia.com", "llmfit.ai"])
NAMES = st.sampled_from(["NVIDIA H100 80GB HBM3", "it's", 'a "b" && c', "d\\", "模型", "Tesla T4"])
KINDS = st.sampled_from(["gpu", "mig", "vfio"])
MIBS = st.sampled_from([0, 1, 4864, 24576, 40448, 81559, 81920])


@st.composite
def terms(draw: st.DrawFn) -> ProductTerm:
    """Return a term, with or without a range of memory."""
    low = draw(MIBS)
    return ProductTerm(
        tuple(sorted(draw(st.sets(NAMES, min_size=1, max_size=4)))),
        draw(st.just("") | KINDS),
        low,
        draw(st.just(0) | st.just(low + 10_000)),
        has_memory=draw(st.booleans()),
    )


@st.composite
def device_tests(draw: st.DrawFn) -> DeviceTest:
    """Return a test that admits something."""
    unlisted = draw(st.booleans())
    some = draw(st.lists(terms(), min_size=0 if unlisted else 1, max_size=3))
    refused = draw(st.sets(NAMES, max_size=2)) if unlisted else set()
    by_product = bool(some or refused) and draw(st.booleans())
    return DeviceTest(
        driver=draw(DRIVERS),
        kind_attribute="type",
        kinds=tuple(sorted(draw(st.sets(KINDS, max_size=2)))),
        memory_capacity="memory",
        memory_mib=draw(MIBS.filter(bool)),
        bandwidth_attribute="memoryBandwidthGBs",
        bandwidth_gbs=draw(st.sampled_from([0, 551, 3350])),
        product_attribute="productName" if by_product else "",
        terms=tuple(some) if by_product else (),
        refused_products=tuple(sorted(refused)) if by_product else (),
        admits_unlisted=unlisted and by_product,
        health_attribute=draw(st.sampled_from(["", "healthy", "in"])),
        healthy_value=draw(st.sampled_from(["true", '"Healthy"'])),
    )


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return `values` or None, which stands for an absent attribute."""
    return st.none() | values


@st.composite
def devices(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, str]]:
    """Return attributes and capacities, any of which may be absent."""
    attributes = {
        "type": draw(maybe(KINDS)),
        "productName": draw(maybe(NAMES)),
        "memoryBandwidthGBs": draw(maybe(st.sampled_from([100, 551, 4000]))),
        "healthy": draw(maybe(st.sampled_from([True, False, "Healthy"]))),
        "in": draw(maybe(st.sampled_from([True, "Healthy"]))),
    }
    memory = draw(maybe(MIBS))
    return (
        {name: value for name, value in attributes.items() if value is not None},
        {} if memory is None else {"memory": f"{memory}Mi"},
    )


@settings(max_examples=400)
@given(device_tests(), devices())
def test_cel_and_device_test_agree_and_absence_is_no_error(
    test: DeviceTest, device: tuple[dict[str, Any], dict[str, str]]
) -> None:
    """For every test and device the expression is true exactly when nothing is unmet."""
    attributes, capacities = device
    value = attributes.get(test.health_attribute)
    if test.healthy_value == "true" and isinstance(value, str):
        return  # a driver does not change the type of its attribute
    matched = selects(expression(test), test.driver, attributes, capacities)
    assert matched == (unmet(test, attributes, capacities) == "")


@settings(max_examples=200)
@given(device_tests(), devices())
def test_qualified_names_are_the_same_attributes(
    test: DeviceTest, device: tuple[dict[str, Any], dict[str, str]]
) -> None:
    """A name in the driver's own domain means the same, bare or qualified."""
    attributes, capacities = device
    qualified = {f"{test.driver}/{name}": value for name, value in attributes.items()}
    amounts = {f"{test.driver}/{name}": value for name, value in capacities.items()}
    assert unmet(test, qualified, amounts) == unmet(test, attributes, capacities)


@given(st.text(max_size=80))
def test_a_string_literal_holds_any_text_and_nothing_else(text: str) -> None:
    """A literal evaluates to its text and has no raw quote, line break or control character."""
    literal = cel_string(text)
    assert literal.isprintable()
    assert eval(literal) == text


@settings(max_examples=50)
@given(device_tests())
def test_expressions_have_one_conjunct_per_line_and_stay_short(test: DeviceTest) -> None:
    """Every line but the last ends in an operator, an opened list or a comma."""
    text = expression(test)
    assert len(text.encode()) <= LONGEST_EXPRESSION
    assert " ".join(text.lines) == text
    assert all(line.endswith((" &&", " ||", ",", "[")) for line in text.lines[:-1])
