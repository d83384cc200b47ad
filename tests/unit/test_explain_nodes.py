"""Filters of nodes before devices, and the line of kube-scheduler: texts of Kubernetes 1.36."""

from __future__ import annotations

from typing import Any

import pytest

from claimfit.diagnose.explaining import explain
from claimfit.diagnose.node_filters import pod_requests
from claimfit.diagnose.question import about_claim, about_pod
from claimfit.diagnose.reason_codes import POD_MEANINGS
from support.small_cluster import claim, cluster, device, gpu_class, node, objects, pod, published

NOT_HELPFUL = "Preemption is not helpful for scheduling."


def answer_for(*manifests: dict[str, Any], kubernetes: str = "1.36", gates: str = "") -> Any:
    """Return the answer for the one pod that is not placed."""
    made = cluster(*manifests, kubernetes=kubernetes, gates=gates)
    (asked,) = [item for item in made.objects.pods if not item.status.phase]
    return explain(about_pod(asked, made), made)


@pytest.mark.parametrize(
    ("nodes", "spec", "code", "said"),
    [
        (
            [node("n", unschedulable=True)],
            {},
            "node-unschedulable",
            "1 node(s) were unschedulable",
        ),
        (
            [node("n")],
            {"nodeName": "other"},
            "node-name",
            "1 node(s) didn't match the requested node name",
        ),
        (
            [node("n", taints=[{"key": "a", "value": "b", "effect": "NoSchedule"}])],
            {},
            "node-taint",
            "1 node(s) had untolerated taint(s)",
        ),
        (
            [node("n")],
            {"nodeSelector": {"zone": "a"}},
            "node-affinity",
            "1 node(s) didn't match Pod's node affinity/selector",
        ),
    ],
)
def test_a_filter_speaks_for_the_node(
    nodes: list[dict[str, Any]], spec: dict[str, Any], code: str, said: str
) -> None:
    """Each filter has its code and the words of kube-scheduler, and devices are not looked at."""
    answer = answer_for(
        *nodes, published("n", device("g")), gpu_class(), claim(), pod("p", "want", **spec)
    )

    (only,) = answer.nodes
    assert (only.state, only.refusals[0].code) == ("filtered", code)
    assert answer.outcome == "pending"
    assert answer.rows == ()
    assert answer.scheduler_line == (
        f"0/1 nodes are available: {said}. still not schedulable, preemption: 0/1 nodes are "
        f"available: 1 {NOT_HELPFUL}"
    )


def test_taints_are_not_named_in_the_line() -> None:
    """kube-scheduler 1.34.4 only counts the nodes, as later ones do; claimfit names the taint."""
    tainted = node("n", taints=[{"key": "a", "value": "b", "effect": "NoExecute"}])

    answer = answer_for(tainted, pod("p"), kubernetes="1.34")

    assert "1 node(s) had untolerated taint(s)." in answer.scheduler_line
    assert answer.nodes[0].refusals[0].text == "taint a=b:NoExecute of the node"


@pytest.mark.parametrize(
    ("tolerations", "state"),
    [
        ([{"operator": "Exists"}], "fits"),
        ([{"key": "a", "operator": "Exists"}], "fits"),
        ([{"key": "a", "value": "b"}], "fits"),
        ([{"key": "a", "value": "b", "effect": "NoSchedule"}], "fits"),
        ([{"key": "a", "value": "c"}], "filtered"),
        ([{"key": "a", "value": "b", "effect": "NoExecute"}], "filtered"),
        ([{"key": "a", "operator": "Whatever"}], "filtered"),
    ],
)
def test_tolerations(tolerations: list[dict[str, str]], state: str) -> None:
    """An empty effect is any, Exists ignores the value, an unknown operator tolerates nothing."""
    tainted = node("n", taints=[{"key": "a", "value": "b", "effect": "NoSchedule"}])

    answer = answer_for(tainted, pod("p", tolerations=tolerations))

    assert answer.nodes[0].state == state


def test_resources_that_are_left() -> None:
    """8 CPUs less 6 of a running pod leave 2 for a pod that wants 3; evicting could help."""
    running = pod("busy", requests={"cpu": "6"}, nodeName="n")
    running["status"] = {"phase": "Running"}

    answer = answer_for(node("n"), running, pod("p", requests={"cpu": "3", "memory": "33Gi"}))

    texts = [item.text for item in answer.nodes[0].refusals]
    assert texts == ["cpu: 3 wanted, 2 of 8 left", "memory: 33Gi wanted, 32Gi of 32Gi left"]
    assert answer.scheduler_line == (
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory. no new claims to "
        "deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for "
        "incoming pod."
    )


def test_pod_requests_add_up_as_in_kubernetes() -> None:
    """max(1 + 2 sidecar, 5 init beside the sidecar's 2) + 0.5 overhead = 7.5 CPUs."""
    made = pod("p", requests={"cpu": "1"}, overhead={"cpu": "500m"})
    made["spec"]["initContainers"] = [
        {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "2"}}},
        {"name": "i", "resources": {"limits": {"cpu": "5"}}},
    ]
    (read,) = objects(made).pods

    assert pod_requests(read.spec)["cpu"] == 7_500_000_000


def test_lines_count_nodes_by_reason() -> None:
    """Two nodes without enough devices and a cordoned one, sorted as text."""
    answer = answer_for(
        *(node(name) for name in ("a", "b")),
        node("c", unschedulable=True),
        published("a", device("g")),
        gpu_class(),
        claim("want", 2),
        pod("p", "want"),
    )

    assert answer.scheduler_line == (
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 cannot allocate all claims. "
        f"still not schedulable, preemption: 0/3 nodes are available: 3 {NOT_HELPFUL}"
    )
    assert [item.node for item in answer.nodes] == ["a", "b", "c"]
    assert [item.missing for item in answer.nodes] == [1, 2, 0]


@pytest.mark.parametrize(
    ("manifests", "code", "said"),
    [
        ([pod("p", "no")], "claim-missing", ""),
        (
            [pod("p", schedulingGates=[{"name": "wait"}])],
            "scheduling-gate",
            "",
        ),
        (
            [{**pod("p"), "spec": {"resourceClaims": [{"name": "x"}]}}],
            "claim-entry",
            "",
        ),
        (
            [
                {
                    **pod("p"),
                    "spec": {
                        "resourceClaims": [{"name": "x", "resourceClaimTemplateName": "none"}]
                    },
                }
            ],
            "template-missing",
            "",
        ),
        (
            [claim("want"), pod("p", "want")],
            "class-missing",
            (
                "0/1 nodes are available: request gpu: device class gpu.test does not exist. no "
                f"new claims to deallocate, preemption: 0/1 nodes are available: 1 {NOT_HELPFUL}"
            ),
        ),
    ],
)
def test_what_is_refused_before_any_node(
    manifests: list[dict[str, Any]], code: str, said: str
) -> None:
    """The pod waits whatever the nodes offer; what PreEnqueue holds back gets no event."""
    answer = answer_for(node("n"), *manifests)

    assert (answer.outcome, answer.reasons[0].code, answer.scheduler_line) == (
        "refused",
        code,
        said,
    )
    assert answer.nodes == ()


def test_a_claim_in_deletion_and_a_full_one() -> None:
    """A claim with a deletion timestamp, and one with 256 users, take no more pods."""
    leaving = claim("want", holds=("n/g",))
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    full = claim("full", holds=("n/g",))
    full["status"]["reservedFor"] = [
        {"resource": "pods", "name": f"p{at}", "uid": f"u{at}"} for at in range(256)
    ]

    deleted = answer_for(node("n"), gpu_class(), leaving, pod("p", "want"))
    crowded = answer_for(node("n"), gpu_class(), full, pod("p", "full"))

    assert deleted.reasons[0].code == "claim-deleted"
    assert deleted.reasons[0].text == (
        "claim default/want is being deleted; still reserved by want-pod"
    )
    assert deleted.scheduler_line == ""
    assert crowded.reasons[0].code == "claim-full"
    assert "0/1 nodes are available: resourceclaim in use." in crowded.scheduler_line


def test_an_allocated_claim_pins_its_pod() -> None:
    """The node that holds the claim's device fits; another one does not have the claim."""
    answer = answer_for(
        node("a"), node("b"), gpu_class(), claim("want", holds=("a/g",)), pod("p", "want")
    )

    assert answer.outcome == "fits"
    assert {item.node: item.state for item in answer.nodes} == {"a": "fits", "b": "filtered"}
    assert answer.nodes[1].refusals[0].code == "claim-elsewhere"


@pytest.mark.parametrize(("hard", "outcome"), [("2", "fits"), ("1", "refused")])
def test_quota_of_devices(hard: str, outcome: str) -> None:
    """A claim that has to be made of a template counts its 2 devices of the class."""
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t", "namespace": "default"},
        "spec": {"spec": claim("x", 2)["spec"]},
    }
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": {"gpu.test.deviceclass.resource.k8s.io/devices": hard}},
        "status": {"used": {"gpu.test.deviceclass.resource.k8s.io/devices": "0"}},
    }
    asking = pod("p")
    asking["spec"]["resourceClaims"] = [{"name": "x", "resourceClaimTemplateName": "t"}]

    answer = answer_for(
        node("n"),
        published("n", device("g0"), device("g1")),
        gpu_class(),
        template,
        quota,
        asking,
    )

    assert answer.outcome == outcome
    if outcome == "refused":
        assert answer.reasons[0].code == "quota-exceeded"
        name = "gpu.test.deviceclass.resource.k8s.io/devices"
        assert answer.reasons[0].values["API server"] == (
            f"exceeded quota: q, requested: {name}=2, used: {name}=0, limited: {name}=1"
        )


@pytest.mark.parametrize(
    ("gates", "allocatable", "outcome"),
    [
        ("", {}, "fits"),
        ("DRAExtendedResource=false", {}, "pending"),
        ("", {"test/gpu": "1"}, "fits"),
    ],
)
def test_extended_resources(gates: str, allocatable: dict[str, str], outcome: str) -> None:
    """A class stands for the resource; without the gate only a device plugin offers it."""
    offering = node("n")
    offering["status"]["allocatable"].update(allocatable)
    asking = pod("p")
    asking["spec"]["containers"][0]["resources"] = {"limits": {"test/gpu": "1"}}

    answer = answer_for(
        offering,
        published("n", device("g")),
        gpu_class(extendedResourceName="test/gpu"),
        asking,
        gates=gates,
    )

    assert answer.outcome == outcome
    (only,) = answer.nodes
    assert len(only.allocations) == (outcome == "fits" and not allocatable)
    if outcome == "pending":
        assert "1 Insufficient test/gpu." in answer.scheduler_line


def test_a_claim_alone_is_asked_for_a_plain_pod() -> None:
    """Without a pod the nodes that take no plain pod are out, and resources are not looked at."""
    made = cluster(
        node("a", unschedulable=True), node("b"), published("b", device("g")), gpu_class(), claim()
    )

    answer = explain(about_claim(made.objects.claims[0], made), made)

    assert answer.fits
    assert {item.node: item.state for item in answer.nodes} == {"a": "filtered", "b": "fits"}


def test_a_placed_pod_and_an_allocated_claim() -> None:
    """What is done already is told with the devices."""
    running = pod("p", "want", nodeName="n")
    running["status"] = {"phase": "Running"}
    made = cluster(node("n"), gpu_class(), claim("want", holds=("n/g",)), running)

    placed = explain(about_pod(made.objects.pods[0], made), made)
    allocated = explain(about_claim(made.objects.claims[0], made), made)

    assert placed.sentence == ("Placed: pod default/p runs on node n with g of gpu.test as gpu.")
    assert allocated.sentence == "Allocated: claim default/want holds g of gpu.test as gpu."


def test_codes_do_not_clash_with_the_allocator() -> None:
    """A code means one thing, wherever it is found."""
    from claimfit.dra.reasons import MEANINGS

    assert not MEANINGS.keys() & POD_MEANINGS.keys()


def test_a_claim_that_was_made_is_found() -> None:
    """By the pod's status, else by the annotation and the name that its controller gives it."""
    made = claim("p-x-abcde", holds=("n/g",))
    made["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": "x"}
    entry = {"name": "x", "resourceClaimTemplateName": "t"}
    by_status = {**pod("q"), "spec": {"resourceClaims": [entry]}}
    by_status["status"] = {
        "resourceClaimStatuses": [{"name": "x", "resourceClaimName": "p-x-abcde"}]
    }

    for asking in ({**pod("p"), "spec": {"resourceClaims": [entry]}}, by_status):
        answer = answer_for(node("n"), gpu_class(), made, asking)

        assert answer.outcome == "fits"
        assert answer.requests == ()


def test_a_pod_that_took_its_node_itself() -> None:
    """Its claim does not know it: the kubelet will not let it use the devices."""
    answer = answer_for(
        node("n"), gpu_class(), claim("want", holds=("n/g",)), pod("p", "want", nodeName="n")
    )

    assert any("missing in status.reservedFor of claim default/want" in x for x in answer.hints)


def test_replicas_that_share_a_claim_are_told() -> None:
    """Three pods of one Deployment name one claim."""
    from claimfit.diagnose.asking import questions_of

    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 3, "template": {"spec": pod("x", "want")["spec"]}},
    }
    made = cluster(node("n"), published("n", device("g")), gpu_class(), claim(), deployment)

    (question,) = questions_of(made.objects, made)

    answer = explain(question, made)
    assert answer.fits
    assert answer.hints[0].startswith(
        "all 3 pods of Deployment default/web share claim default/want: the same devices, so the "
        "same node"
    )
