"""Every code of lint is documented (test_errors) and reachable: one smallest text for each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from claimfit.diagnose.lint import Context, lint
from claimfit.dra.profile import profile
from claimfit.manifests.reader import read_documents

PAGE = Path(__file__).parents[2] / "docs" / "errors" / "LNT.md"
DOCUMENTED = re.findall(r"^\| (LNT\d{3}) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

V1 = "apiVersion: resource.k8s.io/v1\n"
META = "metadata: {name: a}\n"
MEMORY = "device.capacity['gpu.nvidia.com'].memory"
NVIDIA = "device.attributes['gpu.nvidia.com']"


def claim(exactly: str = "", rest: str = "", class_name: str = "gpu.nvidia.com") -> str:
    """Return a claim with one request."""
    inner = f"deviceClassName: {class_name}{', ' if exactly else ''}{exactly}"
    requests = f"requests: [{{name: r, exactly: {{{inner}}}}}]"
    return f"{V1}kind: ResourceClaim\n{META}spec: {{devices: {{{requests}{rest}}}}}\n"


def selector(expression: str) -> str:
    """Return a claim with one selector."""
    return claim(f'selectors: [{{cel: {{expression: "{expression}"}}}}]')


def pod(claims: str, containers: str = "[{name: g}]", rest: str = "", limits: str = "") -> str:
    """Return a pod with entries and one container that uses some."""
    return (
        f"apiVersion: v1\nkind: Pod\n{META}spec:\n  resourceClaims: {claims}\n{rest}"
        f"  containers: [{{name: c, resources: {{claims: {containers}{limits}}}}}]\n"
    )


def devices(value: str) -> str:
    """Return a slice of gpu.nvidia.com with one device, and a class that lets it in."""
    return (
        f"{V1}kind: ResourceSlice\n{META}spec: {{driver: gpu.nvidia.com, nodeName: n0, "
        "pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: [{name: d, attributes: "
        f"{{x: {{int: 0}}, type: {{string: gpu}}}}, capacity: {{memory: {{value: {value}}}}}}}]}}\n"
        f"---\n{V1}kind: DeviceClass\nmetadata: {{name: gpu.nvidia.com}}\nspec: {{}}\n---\n"
    )


NAMED = "[{name: g, resourceClaimName: a}]"
TEXTS = {
    "LNT001": claim("cuont: 1"),
    "LNT002": claim("count: x"),
    "LNT003": claim(rest=", config: [{}]"),
    "LNT004": claim("count: -1"),
    "LNT005": claim(rest=", constraints: [{requests: [r, r], matchAttribute: a/b}]"),
    "LNT006": claim("allocationMode: all"),
    "LNT007": f"{V1}kind: DeviceClass\nmetadata: {{name: a, namespace: b}}\n",
    "LNT008": claim(rest=f", constraints: [{', '.join(['{matchAttribute: a/b}'] * 33)}]"),
    "LNT009": claim(rest=f", constraints: [{{matchAttribute: a/{'b' * 33}}}]"),
    "LNT010": pod(NAMED, "[{name: h}]"),
    "LNT011": f"{V1}kind: ResourceClaim\n{META}spec: {{requests: []}}\n",
    "LNT012": devices("1, requestPolicy: {default: 1}").replace("x: {int: 0}", "x: {ints: [0]}"),
    "LNT013": f"apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClass\n{META}",
    "LNT014": f"apiVersion: resource.k8s.io/v1beta2\nkind: DeviceClass\n{META}",
    "LNT015": pod("[{name: g, source: {resourceClaimName: a}}]"),
    "LNT016": "kind: Pod\n",
    "LNT020": pod(NAMED, "[]"),
    "LNT022": pod(NAMED, limits=", limits: {nvidia.com/gpu: 1}"),
    "LNT023": pod(NAMED) + "---\n" + pod(NAMED).replace("name: a}", "name: b}", 1),
    "LNT024": pod(NAMED.replace(": a", ": b")) + "---\n" + claim(),
    "LNT025": pod(
        "[{name: g, resourceClaimTemplateName: a}, {name: h, resourceClaimTemplateName: a}]"
    ),
    "LNT026": f"{V1}kind: DeviceClass\n{META}spec: {{extendedResourceName: nvidia.com/gpu}}\n---\n"
    + pod("[]", "[]", limits=", limits: {nvidia.com/gpu: 1}"),
    "LNT027": pod(NAMED, "[{name: g, request: s}]") + "---\n" + claim(),
    "LNT028": pod(NAMED, rest="  nodeName: n0\n"),
    "LNT030": claim(class_name="gpu.nvidia.co"),
    "LNT031": claim("count: 33"),
    "LNT032": devices("1Gi") + claim("count: 2"),
    "LNT033": claim(rest=", constraints: [{matchAttribute: gpu.nvidia.com/memory}]"),
    "LNT034": claim() + "---\n" + claim("count: 2"),
    "LNT035": claim("adminAccess: true"),
    "LNT040": selector("1 +"),
    "LNT041": selector(f"{MEMORY} > 1"),
    "LNT042": selector("type(device) == type(device)"),
    "LNT043": selector("device.`driver` == 'a'"),
    "LNT044": selector(f"{NVIDIA}.tipe == 'gpu'"),
    "LNT045": selector("device.attributes['nvidia.com'].type == 'gpu'"),
    "LNT046": selector(f"{NVIDIA}.uuid == 'x'"),
    "LNT047": selector(f"{NVIDIA}.type == 1"),
    "LNT048": selector(f"{NVIDIA}.memory == 1"),
    "LNT049": selector("false"),
    "LNT050": selector("true"),
    "LNT051": claim("capacity: {requests: {memory: 1K}}"),
    "LNT052": selector(f"{MEMORY}.compareTo(quantity('80Gi')) >= 0"),
    "LNT053": devices("0") + selector(f"{MEMORY}.compareTo(quantity('80Gi')) >= 0"),
    "LNT054": devices("1Gi") + selector(f"1 / {NVIDIA}.x == 1"),
    "LNT055": selector(f"{MEMORY}.compareTo(quantity('x')) >= 0"),
}


def test_the_table_has_every_code() -> None:
    """No code is documented that this table does not reach."""
    assert sorted(TEXTS) == sorted(DOCUMENTED)


@pytest.mark.parametrize("code", TEXTS)
def test_code_is_reachable(code: str) -> None:
    """The text of each code has a finding with it, which says something and is placed."""
    findings = lint(read_documents(TEXTS[code], "f.yaml"), Context(profile("1.36")))

    hits = [item for item in findings if item.code == code]

    assert hits, findings
    assert all(item.message and item.line > 0 and item.column > 0 for item in hits)
