"""Simulation: pods in order, what they hold afterwards, who waits."""

from __future__ import annotations

from typing import Any

from claimfit.diagnose.cluster import Cluster
from claimfit.diagnose.simulation import Simulation, simulate
from claimfit.diagnose.what_if import merged
from claimfit.dra.profile import profile
from support.small_cluster import claim, device, gpu_class, node, objects, pod, published


def simulated(
    base: list[dict[str, Any]], manifests: list[dict[str, Any]], **options: Any
) -> tuple[Simulation, Cluster]:
    """Return the simulation and the cluster after it."""
    asked = objects(*manifests)
    made = Cluster(merged(objects(*base), asked), profile("1.36"))
    return simulate(asked, made, **options), made


def template(name: str = "t", count: int = 1) -> dict[str, Any]:
    """Return a template of a claim for `count` GPUs."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"spec": claim("x", count)["spec"]},
    }


def deployment(
    replicas: int | None, requests: dict[str, str] | None = None, **entry: str
) -> dict[str, Any]:
    """Return a Deployment whose pods have one claim."""
    spec = pod("x", requests=requests)["spec"]
    spec["resourceClaims"] = [{"name": "gpu", **entry}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas, "template": {"spec": spec}},
    }


def cluster_of(*sizes: int) -> list[dict[str, Any]]:
    """Return nodes n0, n1, ... with so many GPUs."""
    made = [gpu_class(), template("t", 1), template("two", 2)]
    for at, size in enumerate(sizes):
        made.append(node(f"n{at}"))
        made.append(published(f"n{at}", *(device(f"g{i}") for i in range(size))))
    return made


def test_replicas_fill_nodes_in_order() -> None:
    """3 pods of 2 GPUs on nodes of 3 and 4: one on n0, two on n1; 1 GPU stays free."""
    done, made = simulated(cluster_of(3, 4), [deployment(3, resourceClaimTemplateName="two")])

    (group,) = done.groups
    assert [(item.pod, item.node) for item in group.placements] == [
        ("default/web-0", "n0"),
        ("default/web-1", "n1"),
        ("default/web-2", "n1"),
    ]
    held = [
        result.device
        for item in group.placements
        for each in item.claims
        for result in each.status.allocation.devices.results  # type: ignore[union-attr]
    ]
    assert held == ["g0", "g1", "g0", "g1", "g2", "g3"]
    assert [(x.product, x.total, x.before, x.after) for x in done.free] == [("A100", 7, 7, 1)]
    assert done.complete
    assert [x.name for x in made.objects.claims[0].status.reserved_for] == ["web-0"]


def test_the_first_that_does_not_fit_is_explained() -> None:
    """2 of 3 replicas fit; the third is told why, and the group counts what is missing."""
    done, _ = simulated(cluster_of(1, 1), [deployment(3, resourceClaimTemplateName="t")])

    (group,) = done.groups
    assert len(group.placements) == 2
    assert not done.complete
    assert group.pending is not None
    assert group.pending.sentence.startswith("Pending: no node can give claim default/web-2-gpu")


def test_until_full_counts_replicas() -> None:
    """4 + 3 GPUs in twos are 2 + 1 pods, whatever the manifest wants."""
    done, _ = simulated(
        cluster_of(4, 3), [deployment(1, resourceClaimTemplateName="two")], until_full=True
    )

    assert len(done.groups[0].placements) == 3
    assert done.groups[0].wanted is None


def test_pods_share_a_named_claim_and_its_node() -> None:
    """Three replicas with one named claim all go where its device is."""
    base = [*cluster_of(1, 4), claim("shared")]

    done, made = simulated(base, [deployment(3, resourceClaimName="shared")])

    assert {item.node for item in done.groups[0].placements} == {"n0"}
    shared = made.claims["default/shared"]
    assert [item.name for item in shared.status.reserved_for] == ["web-0", "web-1", "web-2"]
    assert done.free[0].after == 4


def test_other_resources_run_out_too() -> None:
    """8 CPUs a node hold two pods of 3 each, although GPUs are left."""
    base = [*cluster_of(4, 4)]

    done, _ = simulated(base, [deployment(5, requests={"cpu": "3"}, resourceClaimTemplateName="t")])

    assert [item.node for item in done.groups[0].placements] == ["n0", "n0", "n1", "n1"]
    assert done.groups[0].pending is not None
    assert done.groups[0].pending.nodes[0].refusals[0].code == "node-resources"


def test_the_better_alternative_decides_the_node() -> None:
    """n1 has the first alternative, n0 only the second: the score of the plugin prefers n1."""
    big = device("big", "160Gi")
    base = [
        gpu_class(),
        node("n0"),
        node("n1"),
        published("n0", device("g0")),
        published("n1", big),
    ]
    alternatives = [
        {
            "name": name,
            "deviceClassName": "gpu.test",
            "selectors": [
                {
                    "cel": {
                        "expression": "device.capacity['gpu.test'].memory.compareTo("
                        f"quantity('{least}')) >= 0"
                    }
                }
            ],
        }
        for name, least in (("large", "100Gi"), ("small", "10Gi"))
    ]
    waiting = claim("want")
    waiting["spec"]["devices"]["requests"] = [{"name": "gpu", "firstAvailable": alternatives}]

    done, _ = simulated([*base, waiting], [pod("p", "want")])

    (placed,) = done.groups[0].placements
    assert placed.node == "n1"
    assert placed.claims[0].status.allocation.devices.results[0].request == "gpu/large"  # type: ignore[union-attr]


def test_jobs_and_daemon_sets_have_their_own_numbers() -> None:
    """A Job runs the smaller of parallelism and completions, a DaemonSet one pod per node."""
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "default"},
        "spec": {"parallelism": 4, "completions": 2, "template": {"spec": pod()["spec"]}},
    }
    daemon = {**deployment(None, resourceClaimTemplateName="t"), "kind": "DaemonSet"}

    done, _ = simulated(cluster_of(1, 1, 1), [job, daemon])

    assert [(group.name, group.wanted) for group in done.groups] == [
        ("Job default/j", 2),
        ("DaemonSet default/web", 3),
    ]
    assert done.placed == 5
