"""Reports of users, as clusters: verdict and devices are those that the report gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from claimfit.dra.allocation import Allocator
from claimfit.dra.explanation import explain
from claimfit.dra.objects import Metadata, Node, ResourceClaim
from claimfit.dra.profile import profile
from claimfit.dra.reading import read_objects

CASES = Path(__file__).parents[2].parent / "shared" / "data" / "cases"
DECIDED = {
    "c01": {"node-a": "allocated", "node-b": "aborted"},
    "c04": {"node-a": "aborted"},
    "c08": {"node-a": "aborted"},
    "c09": {"node-a": "aborted"},
    "c10": {"node-a": "unsatisfiable"},
    "c15": {"node-a": "allocated"},
    "c19": {"node-a": "unsatisfiable"},
    "c20": {"node-a": "allocated"},
    "d01": {"node-a": "aborted"},
    "e01": {"node-a": "unsatisfiable", "node-b": "unsatisfiable"},
    "e03": {"node-a": "unsatisfiable", "node-b": "unsatisfiable"},
    "e07": {"node-a": "unsatisfiable"},
    "e09": {"node-a": "allocated"},
    "e11": {"node-a": "unsatisfiable"},
    "f01": {"node-a": "unsatisfiable"},
    "f03": {"node-a": "allocated"},
    "f05": {"node-a": "unsatisfiable"},
    "f06": {"node-a": "allocated"},
}
TELLING = {
    "c04": "selector-error",
    "c10": "request-selector-false",
    "e01": "too-few-devices",
    "e03": "constraint-groups",
    "e07": "constraint-groups",
    "e09": "device-in-use",
    "e11": "pool-incomplete",
    "f01": "counters-short",
    "f05": "taint-untolerated",
}


@pytest.mark.skipif(not CASES.exists(), reason="the reports are not part of the repository")
@pytest.mark.parametrize("case", DECIDED)
def test_reports_are_decided_as_they_say(case: str) -> None:
    """The verdict per node, the devices that the report names, and the reason it is about."""
    (path,) = CASES.glob(f"{case}-*.yaml")
    text = path.read_text(encoding="utf-8")
    found = read_objects(text.encode(), path.name)
    allocator = Allocator.for_profile(profile("1.36"), found.slices, found.classes, found.claims)
    claims = [ResourceClaim(item.metadata, item.spec.spec) for item in found.templates]
    picks = dict(re.findall(r"^# picks: (\S+): (.*)$", text, re.MULTILINE))
    codes = set()
    for name, outcome in DECIDED[case].items():
        explained = explain(allocator, Node(Metadata(name=name)), claims)
        assert explained.verdict.outcome == outcome
        results = [y for x in explained.verdict.allocations for y in x.devices.results]
        if name in picks:
            assert ", ".join(item.device for item in results) == picks[name]
        codes |= {reason.code for reason in (*explained.reasons, *explained.pools)}
        codes |= {
            answer.reason.code
            for request in explained.requests
            for answer in request.devices
            if answer.reason is not None
        }
    assert case not in TELLING or TELLING[case] in codes
