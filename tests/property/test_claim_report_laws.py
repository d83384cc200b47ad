"""Reports: whatever a model is called, the claim stays one object under its comments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from claimfit.claim.planner import plan_claim
from claimfit.claim.report import claim_json, claim_report, claim_yaml
from claimfit.claim.request import claim_object
from claimfit.sizing.plan import EngineChoice, Workload
from support.claim_needs import need_for
from support.sizing_models import llama_8b

if TYPE_CHECKING:
    from claimfit.claim.planner import ClaimPlan

NAMES = st.text(min_size=1, max_size=60) | st.sampled_from(
    [
        "a\nkind: Evil",
        "a\r\n---\nkind: Evil",
        "x\u2028y",
        "\x1b[2J",
        "'; rm -rf / #",
        "a: b",
        "模型",
    ]
)


def plan_of(name: str) -> ClaimPlan:
    """Return a plan for a model of this name."""
    model = llama_8b()._replace(name=name, repository=name)
    return plan_claim(need_for("gpu.nvidia.com", model=model))


@settings(max_examples=100)
@given(NAMES)
def test_yaml_is_one_document_that_equals_the_object(name: str) -> None:
    """No name adds a key, a document or a line that is no comment before the object."""
    plan = plan_of(name)
    text = claim_yaml(plan)
    assert yaml.safe_load(text) == claim_object(plan)
    header, _, body = text.partition("apiVersion:")
    assert all(line.startswith("#") for line in header.splitlines())
    assert body.count("\nkind:") == 1
    assert all(char == "\n" or char.isprintable() for char in text)


@settings(max_examples=100)
@given(NAMES)
def test_json_carries_the_name_and_no_control_character(name: str) -> None:
    """The name reads back as it was; the text is safe for a terminal."""
    plan = plan_of(name)
    text = claim_json(plan)
    assert json.loads(text)["model"]["name"] == name
    assert json.loads(text) == json.loads(json.dumps(claim_report(plan)))
    assert all(char == "\n" or char >= " " for char in text)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["gpu.nvidia.com", "mig.nvidia.com", "gpu.amd.com", "llmfit.ai"]),
    st.integers(256, 131_072),
    st.integers(1, 16),
    st.sampled_from(["vllm", "sglang", "llama.cpp"]),
)
def test_more_work_never_asks_for_less(
    to: str, context: int, concurrency: int, engine: str
) -> None:
    """Doubling the requests raises the floor of the same number of devices or leaves it."""
    floors = []
    for requests in (concurrency, 2 * concurrency):
        need = need_for(
            to,
            engine=EngineChoice(engine),
            workload=Workload(context, requests),
            min_tps=0.01,
            tensor=1,
            pipeline=1,
            admit_unlisted=True,
        )
        floors.append(plan_claim(need).tier.need.floor)
    assert floors[0] <= floors[1]
