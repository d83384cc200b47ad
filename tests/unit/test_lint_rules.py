"""Rules that need no expression: fields, types, limits, versions, references. One row per rule.

The words are those of the API server (tests/cluster/test_lint_judge.py holds lint against it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from claimfit.diagnose.lint import Context, lint
from claimfit.dra.profile import profile
from claimfit.dra.reading import read_objects
from claimfit.manifests.reader import read_documents

if TYPE_CHECKING:
    from claimfit.diagnose.lint import Finding

CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim}
spec:
  devices:
    requests:
"""
POD = """apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: serving}
spec:
"""
SLICE = """apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: slice}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices:
"""


def found(
    text: str, *, kubernetes: str = "1.36", gates: str = "", cluster: str = ""
) -> list[Finding]:
    """Return the findings for `text`."""
    objects = read_objects(cluster.encode(), "cluster") if cluster else None
    return lint(read_documents(text, "f.yaml"), Context(profile(kubernetes, gates), objects))


def said(text: str, **options: str) -> list[str]:
    """Return ``CODE severity LINE message`` of each finding."""
    return [f"{f.code} {f.severity} {f.line} {f.message}" for f in found(text, **options)]


def test_a_good_manifest_has_no_findings() -> None:
    """A claim, its template and a pod that uses both say nothing."""
    text = (
        CLAIM
        + "    - {name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}\n---\n"
        + POD
        + "  containers: [{name: a, resources: {claims: [{name: gpu}]}}]\n"
        + "  resourceClaims: [{name: gpu, resourceClaimName: claim}]\n"
    )

    assert said(text) == []


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        (
            "{name: gpu, exactly: {deviceClassName: a, cuont: 1}}",
            'LNT001 error 7 unknown field "spec.devices.requests[0].exactly.cuont"',
        ),
        (
            "{name: gpu, exactly: {deviceClassName: a, count: two}}",
            (
                "LNT002 error 7 spec.devices.requests[0].exactly.count: cannot unmarshal string "
                '"two": must be a whole number of 64 bits'
            ),
        ),
        (
            "{name: gpu}",
            (
                "LNT003 error 7 spec.devices.requests[0]: Required value: exactly one of `exactly` "
                "or `firstAvailable` is required"
            ),
        ),
        (
            "{name: gpu, exactly: {}}",
            "LNT003 error 7 spec.devices.requests[0].exactly.deviceClassName: Required value",
        ),
        (
            "{name: gpu, exactly: {deviceClassName: a, count: -1}}",
            (
                "LNT004 error 7 spec.devices.requests[0].exactly.count: Invalid value: -1: must be "
                "greater than zero"
            ),
        ),
        (
            "{name: gpu, exactly: {deviceClassName: a, allocationMode: All, count: 2}}",
            (
                "LNT004 error 7 spec.devices.requests[0].exactly.count: Invalid value: 2: must not "
                "be specified when allocationMode is 'All'"
            ),
        ),
        (
            "{name: gpu, exactly: {deviceClassName: a, allocationMode: all}}",
            (
                "LNT006 error 7 spec.devices.requests[0].exactly.allocationMode: Unsupported "
                'value: "all": supported values: "All", "ExactCount"'
            ),
        ),
        (
            "{name: gpu, deviceClassName: a, count: 2}",
            (
                'LNT011 error 7 unknown field "spec.devices.requests[0].deviceClassName": in '
                "resource.k8s.io/v1 deviceClassName, count belong under exactly"
            ),
        ),
        (
            "{name: gpu, exactly: {deviceClassName: a, capacity: {requests: {memory: 10K}}}}",
            (
                "LNT051 error 7 spec.devices.requests[0].exactly.capacity.requests[memory]: "
                'Invalid value: "10K": unable to parse quantity\'s suffix'
            ),
        ),
        (
            "{name: gpu, exactly: {deviceClassName: a, count: 33}}",
            (
                "LNT031 error 6 number of requested devices 33 exceeds the claim limit of 32: the "
                "API server stores the claim, the scheduler never allocates it"
            ),
        ),
    ],
)
def test_requests(request_text: str, expected: str) -> None:
    """What is wrong with one request is said in one finding, at its place."""
    assert said(f"{CLAIM}    - {request_text}\n") == [expected]


def test_names_are_unique_and_labels() -> None:
    """Two faults of one list are two findings."""
    text = CLAIM + "    - {name: A, exactly: {deviceClassName: a}}\n" * 2

    codes = [line.split()[0] for line in said(text)]

    assert sorted(codes) == ["LNT004", "LNT004", "LNT005"]


def test_limits_of_lists() -> None:
    """33 requests, 9 alternatives, 33 selectors are too many each."""
    alternatives = ", ".join(f"{{name: a{at}, deviceClassName: a}}" for at in range(9))
    selectors = ", ".join(["{cel: {expression: 'true'}}"] * 33)
    rows = [f"{{name: r{at}, exactly: {{deviceClassName: a}}}}" for at in range(33)]
    many = CLAIM + "".join(f"    - {row}\n" for row in rows)
    few = (
        f"{CLAIM}    - {{name: a, firstAvailable: [{alternatives}]}}\n"
        f"    - {{name: b, exactly: {{deviceClassName: a, selectors: [{selectors}]}}}}\n"
    )

    assert "Too many: 33: must have at most 32 items" in said(many)[0]
    messages = [line for line in said(few) if line.startswith("LNT008")]
    assert [line.partition("Too many: ")[2][:2] for line in messages] == ["9:", "33"]


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        (
            "    constraints: [{matchAttribute: numaNode}]",
            "a fully qualified name must be a domain and a name separated by a slash",
        ),
        (
            "    constraints: [{requests: [nope], matchAttribute: a.b/c}]",
            "must be the name of a request in the claim or the name of a request and a subrequest",
        ),
        ("    constraints: [{}]", 'exactly one of "matchAttribute" or "distinctAttribute"'),
        ("    config: [{opaque: {driver: a, parameters: [1]}}]", "must be a valid JSON object"),
        ("    config: [{opaque: {driver: a}}]", "config[0].opaque.parameters: Required value"),
        ("    config: [{}]", "config[0].opaque: Required value"),
    ],
)
def test_constraints_and_configuration(tail: str, expected: str) -> None:
    """Constraints and opaque parameters are checked as the server does."""
    text = f"{CLAIM}    - {{name: gpu, exactly: {{deviceClassName: a}}}}\n{tail}\n"

    assert any(expected in line for line in said(text))


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("{name: a, attributes: {numa-1: {int: 1}}}", "a valid C identifier must start with"),
        ("{name: a, attributes: {x: {int: 1, string: a}}}", "exactly one value must be specified"),
        ("{name: a, attributes: {x: {version: '1.2'}}}", "compatible with semver.org spec 2.0.0"),
        (
            f"{{name: a, attributes: {{x: {{string: {'y' * 65}}}}}}}",
            "may not be more than 64 bytes",
        ),
        ("{name: a, taints: [{key: x, effect: Nope}]}", 'supported values: "NoExecute"'),
        ("{name: a, taints: [{key: x}]}", "devices[0].taints[0].effect: Required value"),
        ("{name: a, nodeName: b}", "can only be set if `perDeviceNodeSelection`"),
        (
            "{name: a, capacity: {m: {value: 1, requestPolicy: {default: 1}}}}",
            "allowMultipleAllocations must be true",
        ),
        ("{name: a, bindingConditions: [x]}", "are required to use bindingConditions"),
    ],
)
def test_devices_of_slices(device: str, expected: str) -> None:
    """What a driver may not publish."""
    assert any(expected in line for line in said(f"{SLICE}  - {device}\n"))


def test_a_slice_holds_devices_or_counters_since_135() -> None:
    """1.34 kept both in one slice and refused the effect None."""
    text = (
        SLICE
        + "  - {name: a, taints: [{key: x, effect: None}]}\n"
        + "  sharedCounters: [{name: a, counters: {m: {value: 1}}}]\n"
    )
    gates = "DRAPartitionableDevices=true,DRADeviceTaints=true"

    old, new = said(text, kubernetes="1.34", gates=gates), said(text)

    assert ["only one of `sharedCounters` or `devices`" in line for line in new] == [True]
    assert ["Unsupported value" in line for line in old] == [True]


def test_a_field_that_the_profile_drops_is_a_finding() -> None:
    """List attributes are alpha in 1.36, prioritized lists cannot be turned off any more."""
    text = f"{SLICE}  - {{name: a, attributes: {{x: {{ints: [1]}}}}}}\n"

    dropped = said(text)
    kept = said(text, gates="DRAListTypeAttributes=true")
    before = said(text, kubernetes="1.34")

    assert dropped[1].startswith("LNT012 warning 9")
    assert "feature gate DRAListTypeAttributes is off" in dropped[1]
    assert kept == []
    assert any("it is there since 1.36" in line for line in before)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("apiVersion: resource.k8s.io/v1beta2\nkind: DeviceClass", "LNT014 warning"),
        ("apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClaim", "LNT013 error"),
        ("apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClass", "LNT013 error"),
        ("apiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule", "LNT013 error"),
        ("apiVersion: v1\nkind: ResourceClaim", "LNT013 error"),
        ("apiVersion: apps/v1beta1\nkind: Deployment", "LNT013 error"),
        ("kind: ResourceClaim", "LNT016 error"),
    ],
)
def test_versions(head: str, expected: str) -> None:
    """Versions that are gone, old, or not of this kind."""
    text = f"{head}\nmetadata: {{name: a}}\n"

    assert any(line.startswith(expected) for line in said(text))


def test_beta_requests_are_read_in_their_own_shape() -> None:
    """In v1beta1 a request holds its class itself; only the version is worth a word."""
    text = CLAIM.replace("/v1", "/v1beta1") + "    - {name: a, deviceClassName: gpu.nvidia.com}\n"

    assert [line[:14] for line in said(text)] == ["LNT014 warning"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            "  resourceClaims: [{name: g, source: {resourceClaimName: a}}]",
            (
                "LNT015 error 5 spec.resourceClaims[0] must set exactly one of resourceClaimName "
                "or resourceClaimTemplateName; source is no longer a field"
            ),
        ),
        (
            "  resourceClaims: [{name: g}]",
            (
                'LNT004 error 5 spec.resourceClaims[0]: Invalid value: "g": must specify one of: '
                "`resourceClaimName`, `resourceClaimTemplateName`"
            ),
        ),
        (
            "  resourceClaims: [{name: g, resourceClaimName: a}]",
            'LNT020 warning 5 no container uses entry "g"',
        ),
        (
            "  containers: [{name: c, resources: {claims: [{name: h}]}}]",
            (
                "LNT010 error 5 spec.containers[0].resources.claims[0]: Not found: "
                '"h": must be one of the names in pod.spec.resourceClaims which is empty'
            ),
        ),
        (
            (
                "  containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}, claims: [{name: "
                "g}]}}]\n  resourceClaims: [{name: g, resourceClaimName: a}]"
            ),
            "LNT022 warning 5 limit nvidia.com/gpu asks the device plugin for devices beside",
        ),
        (
            (
                "  containers: [{name: c, resources: {claims: [{name: g}, {name: h}]}}]\n"
                "  resourceClaims: [{name: g, resourceClaimTemplateName: a}, "
                "{name: h, resourceClaimTemplateName: a}]"
            ),
            "LNT025 warning 6 entries g and h use one template",
        ),
        (
            (
                "  nodeName: node-1\n  containers: [{name: c, resources: {claims: [{name: g}]}}]\n"
                "  resourceClaims: [{name: g, resourceClaimName: a}]"
            ),
            "LNT028 warning 5 with nodeName the scheduler never sees the pod",
        ),
    ],
)
def test_pods(spec: str, expected: str) -> None:
    """Entries and references of a pod."""
    assert any(line.startswith(expected) for line in said(f"{POD}{spec}\n")), said(f"{POD}{spec}\n")


def test_replicas_share_a_named_claim() -> None:
    """A Deployment of three pods with one claim is what users regret; a template is not."""
    spec = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  replicas: 3\n"
        "  template:\n    spec:\n      containers: [{name: c, resources: {claims: [{name: g}]}}]\n"
        "      resourceClaims: [{name: g, FIELD: a}]\n"
    )

    shared = said(spec.replace("FIELD", "resourceClaimName"))

    assert len(shared) == 1
    assert shared[0].startswith("LNT023 warning 9 all 3 pods (replicas 3) share the devices of")
    assert said(spec.replace("FIELD", "resourceClaimTemplateName")) == []


def test_references_across_documents() -> None:
    """A claim that is missing, a template taken for a claim, a request that the claim lacks."""
    claim = f"{CLAIM}    - {{name: gpu, exactly: {{deviceClassName: gpu.nvidia.com}}}}\n---\n"
    pod = POD + "  containers: [{name: c, resources: {claims: [{name: g, request: nic}]}}]\n"

    missing = said(f"{claim}{pod}  resourceClaims: [{{name: g, resourceClaimName: clam}}]\n")
    kind = said(f"{claim}{pod}  resourceClaims: [{{name: g, resourceClaimTemplateName: claim}}]\n")
    request = said(f"{claim}{pod}  resourceClaims: [{{name: g, resourceClaimName: claim}}]\n")

    assert "LNT024 warning" in missing[0]
    assert "is a ResourceClaim, not a ResourceClaimTemplate" in kind[0]
    assert request == [
        'LNT027 error 13 the claim has no request "nic": the container gets no device of it'
    ]


def test_specs_under_one_name_must_not_differ() -> None:
    """A second document, or the cluster, with another count; defaults are no difference."""
    one = f"{CLAIM}    - {{name: gpu, exactly: {{deviceClassName: gpu.nvidia.com}}}}\n"
    same = one.replace("gpu.nvidia.com}", "gpu.nvidia.com, count: 1, allocationMode: ExactCount}")
    two = one.replace("gpu.nvidia.com}", "gpu.nvidia.com, count: 2}")
    classes = (
        "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu.nvidia.com}\n"
    )

    assert said(f"{one}---\n{same}") == []
    assert [line[:12] for line in said(f"{one}---\n{two}")] == ["LNT034 error"]
    assert said(same, cluster=one + classes) == []
    assert [line[:12] for line in said(two, cluster=one + classes)] == ["LNT034 error"]


def test_admin_access_needs_a_label() -> None:
    """A namespace without it is an error, one that is not known a warning."""
    exactly = "{deviceClassName: gpu.nvidia.com, adminAccess: true}"
    claim = f"{CLAIM}    - {{name: a, exactly: {exactly}}}\n"
    namespace = (
        "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {LABEL: 'true'}}\n"
    )
    right = namespace.replace("LABEL", "resource.kubernetes.io/admin-access")
    old = namespace.replace("LABEL", "resource.k8s.io/admin-access")

    assert [line[:14] for line in said(claim)] == ["LNT035 warning"]
    assert said(claim + right) == []
    assert "the older spelling resource.k8s.io/admin-access" in said(claim + old)[0]


def test_a_cluster_has_classes_and_devices() -> None:
    """A class that is not there, more devices than a node has, an attribute that nobody has."""
    cluster = (
        SLICE.replace("gpu.example.com", "gpu.nvidia.com")
        + "  - {name: a, attributes: {type: {string: gpu}}}\n---\n"
        + "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu.nvidia.com}\n"
    )
    text = (
        CLAIM
        + "    - {name: a, exactly: {deviceClassName: gpu.nvidia.co}}\n"
        + "    - {name: b, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}\n"
        + "    constraints: [{matchAttribute: gpu.nvidia.com/numaNode}]\n"
    )

    lines = said(text, cluster=cluster)

    assert [line.split()[0] for line in lines] == ["LNT030", "LNT032", "LNT033"]
    assert "present: gpu.nvidia.com" in lines[0]
    assert "2 devices of gpu.nvidia.com are on no node: the most is 1, on node-1" in lines[1]


def test_lists_and_typed_lists_are_taken_apart() -> None:
    """Items of a List are linted each, at their own places."""
    text = (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimList\nitems:\n"
        "- metadata: {name: a}\n  spec: {devices: {requests: [{name: r}]}}\n"
        "- metadata: {name: B}\n  spec: {devices: {requests: []}}\n"
    )

    assert [(f.code, f.line) for f in found(text)] == [("LNT003", 5), ("LNT004", 6)]


def test_json_has_places_too() -> None:
    """A finding in a JSON file names line and column."""
    text = (
        '{"apiVersion": "resource.k8s.io/v1",\n "kind": "DeviceClass",\n "metadata": {"name": ""}}'
    )

    finding = found(text)[0]

    assert (finding.code, finding.line, finding.column) == ("LNT003", 3, 23)
