"""Laws of lint: any document gives findings or a coded error; fixes are stable and lose nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claimfit.diagnose.lint import Context, Finding, fix_text, lint
from claimfit.dra.cel.program import compile_selector
from claimfit.dra.profile import profile
from claimfit.errors import ClaimfitError
from claimfit.manifests.reader import read_documents
from support.lint_mutations import BASES, EXPRESSIONS, mutated

CONTEXT = Context(profile("1.36"))
compile_selector("true", CONTEXT.profile)  # raises the recursion limit once, outside of Hypothesis
FIELDS = [
    *("apiVersion", "kind", "metadata", "name", "namespace", "labels", "spec", "devices", "items"),
    *("requests", "exactly", "firstAvailable", "selectors", "cel", "expression", "count", "source"),
    *("constraints", "matchAttribute", "config", "opaque", "parameters", "template", "replicas"),
    *("containers", "resources", "claims", "limits", "resourceClaims", "resourceClaimName", "pool"),
    *("driver", "nodeName", "attributes", "capacity", "value", "taints", "sharedCounters", "basic"),
]
KINDS = [
    *("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice", "DeviceTaintRule"),
    *("Pod", "Deployment", "CronJob", "DaemonSet", "List", "ResourceClaimList", "Namespace"),
]
VERSIONS = [
    *("resource.k8s.io/v1", "resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2", "v1", "apps/v1"),
    *("resource.k8s.io/v1alpha2", "resource.k8s.io/v1alpha3", "batch/v1", "resource.k8s.io/"),
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([*EXPRESSIONS, *KINDS, *VERSIONS, "10Gi", "1K", "x" * 300, "1" + "0" * 400])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=25,
)
OBJECTS = st.builds(
    lambda version, kind, rest: {"apiVersion": version, "kind": kind, **rest},
    st.sampled_from(VERSIONS),
    st.sampled_from(KINDS),
    st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5),
)


def judged(text: str) -> list[Finding]:
    """Return the findings for `text`; a coded error counts as an answer."""
    try:
        return lint(read_documents(text, "f.yaml"), CONTEXT)
    except ClaimfitError:
        return []


@given(VALUES)
@settings(max_examples=100, deadline=None)
def test_any_document_is_answered(value: Any) -> None:
    """Whatever a file holds, no exception of another kind comes out."""
    judged(json.dumps(value))


@given(st.lists(OBJECTS, min_size=1, max_size=3))
@settings(max_examples=150, deadline=None)
def test_any_object_is_answered(objects: list[dict[str, Any]]) -> None:
    """Objects of known kinds with anything inside: findings at places that exist."""
    text = "\n---\n".join(json.dumps(item) for item in objects)
    lines = text.count("\n") + 1

    for finding in judged(text):
        assert 1 <= finding.line <= lines
        assert finding.column >= 1
        assert "\n" not in finding.message


@given(st.sampled_from(BASES), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_fixing_is_stable_and_never_breaks_a_text(base: dict[str, Any], choose: Any) -> None:
    """A fixed text reads and is not fixed again; without a fix nothing changes."""
    text = json.dumps(mutated(base, choose), indent=1)
    try:
        before = lint(read_documents(text, "f.yaml"), CONTEXT)
    except ClaimfitError:
        return

    fixed = fix_text(text, "f.yaml", CONTEXT)

    assert len(read_documents(fixed.text, "f.yaml")) == 1
    assert fix_text(fixed.text, "f.yaml", CONTEXT).text == fixed.text
    if not any(item.edits for item in before):
        assert fixed.text == text


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x]\nb: *a\nc: *a\n",
        "- &a {apiVersion: v1, kind: Pod}\n- *a\n",
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: "
        + "x" * 10**6
        + "}\n",
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: &m {name: a, labels: *m}\n",
        (
            "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nspec: &s\n  devices: {requests: "
            "[]}\nstatus:\n  <<: *s\n"
        ),
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspec:\n"
        "  selectors: [{cel: {expression: '" + "(" * 5000 + "'}}]\n",
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspec:\n"
        "  selectors: [{cel: {expression: '" + "x" * 10**6 + "'}}]\n",
        "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nspec: {devices: [{name: a, capacity: "
        "{m: {value: 1" + "0" * 400 + "}}}]}\n",
        "kind: 1e400\n",
        "[" * 250,
        "\x00",
        "!!python/object:os.system ls",
    ],
)
def test_hostile_texts(text: str) -> None:
    """Aliases, names of a megabyte, nesting, numbers beyond all readers: an answer, and bounded."""
    for finding in judged(text):
        assert len(finding.message) < 2100


@given(st.text(alphabet=" '\"\\\n\té😀x&=.:#", max_size=40), st.booleans())
@settings(max_examples=150, deadline=None)
def test_places_follow_the_text_of_any_scalar(filler: str, ascii_only: bool) -> None:
    """In JSON, whatever stands before it, a fault of an expression is found where it stands."""
    expression = json.dumps(filler, ensure_ascii=False) + " == device.nope"
    manifest = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "a"},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }
    text = json.dumps(manifest, ensure_ascii=ascii_only)

    findings = [item for item in judged(text) if "undefined field" in item.message]

    assert [item.column for item in findings] == [text.index(".nope") + 1]
