"""For each kind of reason: `explain` and kube-scheduler agree, and what is suggested helps.

Each case brings its own nodes and devices. One pod asks; all objects are then read back as kubectl
prints them, and explained. Every suggestion is made by hand, and the real scheduler must then place
the pod on a node that was named.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from claimfit.diagnose.cluster import Cluster
from claimfit.diagnose.explaining import explain
from claimfit.diagnose.question import about_pod
from claimfit.diagnose.suggestions import suggestions
from claimfit.dra.profile import profile
from claimfit.dra.reading import read_objects
from support.api_client import collection_path
from support.cluster_objects import empty_namespace, loaded, pod
from support.explain_cases import CASES, Case
from support.scheduled_pods import is_running
from support.suggestion_edits import edited_devices, edited_pod

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claimfit.diagnose.suggestions import Suggestion
    from claimfit.diagnose.tree import Answer
    from claimfit.diagnose.what_if import Change
    from support.api_client import Object
    from support.control_plane import ControlPlane

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster")]

DRA = "resource.k8s.io/v1"
READ = (
    ("v1", "Node"),
    ("v1", "Pod"),
    *((DRA, kind) for kind in ("ResourceSlice", "DeviceClass", "ResourceClaim")),
    (DRA, "ResourceClaimTemplate"),
)


def snapshot(plane: ControlPlane) -> bytes:
    """Return all objects as one List, as `kubectl get -A -o json` prints them."""
    items = [
        {"apiVersion": version, "kind": kind, **item}
        for version, kind in READ
        for item in plane.items(collection_path(version, kind).replace("/namespaces/default", ""))
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()


def explained(plane: ControlPlane, space: str, name: str) -> tuple[Answer, tuple[Suggestion, ...]]:
    """Return what `claimfit explain pod/NAME --suggest` works out."""
    objects = read_objects(snapshot(plane), "cluster", everything=True)
    cluster = Cluster(objects, profile(f"1.{plane.minor}"))
    question = about_pod(cluster.pods[f"{space}/{name}"], cluster)
    answer = explain(question, cluster)
    return answer, suggestions(question, answer, cluster)


def codes(answer: Answer) -> Iterator[str]:
    """Yield every reason code of an answer."""
    yield from (reason.code for reason in answer.reasons)
    yield from (row.code for row in answer.rows)
    for node in answer.nodes:
        yield from (refusal.code for refusal in node.refusals)
        if node.explanation is not None:
            yield from (reason.code for reason in node.explanation.reasons)
            yield from (reason.code for reason in node.explanation.pools)


def hold(plane: ControlPlane, space: str, case: Case) -> None:
    """Have other pods hold devices."""
    for name, devices in case.holders.items():
        metadata = {"name": name, "namespace": space}
        claim = {"apiVersion": DRA, "kind": "ResourceClaim", "metadata": metadata}
        plane.create({**claim, "spec": {"devices": devices}})
        plane.create(pod(name, space, [{"name": "gpu", "resourceClaimName": name}]))
    plane.wait_for(
        collection_path("v1", "Pod", space),
        lambda pods: True if all(map(is_running, pods)) else None,
        "the holders run",
    )


def ask(
    plane: ControlPlane, space: str, name: str, case: Case, change: Change | None = None
) -> None:
    """Create the pod of a case and the template of its claim, with a change made."""
    devices = edited_devices(case.devices, change) if change else case.devices
    metadata = {"name": name, "namespace": space}
    template = {"apiVersion": DRA, "kind": "ResourceClaimTemplate", "metadata": metadata}
    plane.create({**template, "spec": {"spec": {"devices": devices}}})
    asking = pod(name, space, [{"name": "gpu", "resourceClaimTemplateName": name}])
    asking["spec"].update(case.pod)
    plane.create(edited_pod(asking, change) if change else asking)


def said(plane: ControlPlane, space: str, name: str) -> str:
    """Return the text of the event FailedScheduling about a pod."""

    def text(events: list[Object]) -> str | None:
        for item in events:
            about = item["involvedObject"]["name"]
            if item["reason"] == "FailedScheduling" and about == name:
                return str(item["message"])
        return None

    return plane.wait_for(collection_path("v1", "Event", space), text, f"an event about {name}")


def says_at_last(plane: ControlPlane, space: str, name: str, line: str) -> None:
    """Wait until the scheduler's condition of a pod has the words `line`.

    The event keeps the words of the first try, which may have come before the scheduler had seen
    all objects; the condition has those of the last.
    """

    def same(item: Object | None) -> bool | None:
        conditions = item["status"].get("conditions", []) if item else []
        return True if any(found.get("message") == line for found in conditions) else None

    path = f"{collection_path('v1', 'Pod', space)}/{name}"
    plane.wait_for_object(path, same, f"the scheduler says: {line}", seconds=10)


def change_cluster(plane: ControlPlane, change: Change) -> None:
    """Make a change of the cluster: a node takes pods again, or a pod and its claim go."""
    if change.kind == "uncordon":
        plane.patch(f"/api/v1/nodes/{change.value}", {"spec": {"unschedulable": False}})
    elif change.kind == "free":
        space, _, name = change.value.partition("/")
        for kinds in (
            collection_path("v1", "Pod", space),
            collection_path(DRA, "ResourceClaim", space),
        ):
            plane.delete(f"{kinds}/{name}")
            plane.wait_for_object(
                f"{kinds}/{name}", lambda item: True if item is None else None, "it is gone"
            )


def undo(plane: ControlPlane, change: Change) -> None:
    """Cordon a node again; what was freed is created anew with the next try."""
    if change.kind == "uncordon":
        plane.patch(f"/api/v1/nodes/{change.value}", {"spec": {"unschedulable": True}})


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_event_is_foretold_and_every_suggestion_gets_the_pod_placed(
    case: Case, kubernetes: ControlPlane, space: str
) -> None:
    """Verdict, line and reason first; then each change by hand, from the same start."""
    if not profile(f"1.{kubernetes.minor}").enabled(case.gate):
        pytest.skip(f"{case.gate} is off in 1.{kubernetes.minor}")
    if kubernetes.minor < case.since:
        pytest.skip(f"1.{kubernetes.minor} differs here")
    with loaded(kubernetes, list(case.objects)):
        try:
            hold(kubernetes, space, case)
            ask(kubernetes, space, "asking", case)
            event = said(kubernetes, space, "asking")

            answer, works = explained(kubernetes, space, "asking")

            assert answer.outcome == case.outcome
            if answer.scheduler_line != event:
                says_at_last(kubernetes, space, "asking", answer.scheduler_line)
            assert case.code in set(codes(answer))
            told = {item.change.text.replace(space, "SPACE") for item in works}
            assert told >= set(case.suggested)
            for number, item in enumerate(works):
                empty_namespace(kubernetes, space)
                hold(kubernetes, space, case)
                change_cluster(kubernetes, item.change)
                ask(kubernetes, space, f"try-{number}", case, item.change)
                placed = kubernetes.wait_for_object(
                    f"{collection_path('v1', 'Pod', space)}/try-{number}",
                    lambda found: found if found and found["spec"].get("nodeName") else None,
                    f"the pod is placed after: {item.change.text}",
                )
                assert placed["spec"]["nodeName"] in item.nodes
                undo(kubernetes, item.change)
            sys.stdout.write(f"{case}: {case.code}; {len(works)} suggestions: {sorted(told)}\n")
        finally:
            empty_namespace(kubernetes, space)


def test_a_class_that_does_not_compile_is_no_kind_of_reason(kubernetes: ControlPlane) -> None:
    """The API server takes no such class, so that no pod can wait for it."""
    broken = {
        "apiVersion": DRA,
        "kind": "DeviceClass",
        "metadata": {"name": "gpu.case-broken.example.com"},
        "spec": {"selectors": [{"cel": {"expression": "device.nothing"}}]},
    }
    answer = kubernetes.dry_run(broken)
    assert answer.status == 422
    assert "undefined field 'nothing'" in answer.message
