"""Rules for expressions: what does not compile, and what compiles and is regretted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from claimfit.diagnose.lint import Context, lint
from claimfit.dra.profile import profile
from claimfit.dra.reading import read_objects
from claimfit.manifests.reader import read_documents

if TYPE_CHECKING:
    from claimfit.diagnose.lint import Finding

NVIDIA = "device.attributes['gpu.nvidia.com']"
CAPACITY = "device.capacity['gpu.nvidia.com']"
MEMORY = f"{CAPACITY}.memory"
HEAD = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: CLASS
        selectors:
"""


def claim(*expressions: str, device_class: str = "gpu.nvidia.com") -> str:
    """Return a claim with selectors, each as a literal block that starts in column 15."""
    blocks = "".join(
        f"        - cel:\n            expression: |-\n              {text}\n"
        for text in expressions
    )
    return HEAD.replace("CLASS", device_class) + blocks


def found(text: str, *, kubernetes: str = "1.36", cluster: str = "") -> list[Finding]:
    """Return the findings for `text`."""
    objects = read_objects(cluster.encode(), "cluster") if cluster else None
    return lint(read_documents(text, "f.yaml"), Context(profile(kubernetes), objects))


def device(name: str, attributes: str, capacity: str = "") -> str:
    """Return a slice of gpu.nvidia.com with one device, and the class."""
    return (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\n"
        f"metadata: {{name: {name}}}\nspec:\n  driver: gpu.nvidia.com\n  nodeName: {name}\n"
        f"  pool: {{name: {name}, generation: 1, resourceSliceCount: 1}}\n"
        f"  devices:\n  - {{name: gpu-0, attributes: {{{attributes}}}, capacity: {{{capacity}}}}}\n"
        "---\n"
    )


CLASS = (
    "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu.nvidia.com}\n"
    "spec: {selectors: [{cel: {expression: device.driver == 'gpu.nvidia.com'}}]}\n---\n"
)


@pytest.mark.parametrize(
    ("expression", "code", "severity", "part"),
    [
        ("1 +", "LNT040", "error", "compilation failed: ERROR: <input>:1:4: Syntax error"),
        ("device.drivr == 'a'", "LNT040", "error", "undefined field 'drivr'"),
        (f"{MEMORY} >= quantity('80Gi')", "LNT041", "error", ">= is not defined for Quantity"),
        (f"{MEMORY} > 80", "LNT041", "error", "> is not defined for Quantity"),
        ("type(device.driver) == string", "LNT042", "error", "exceeds cost limit"),
        ("device.`driver` == 'a'", "LNT043", "error", "it compiles from 1.37 on"),
        (f"{NVIDIA}.prodctName == 'a'", "LNT044", "warning", "no such key: prodctName"),
        (f"'prodctName' in {NVIDIA}", "LNT044", "warning", "the test for it is always false"),
        ("device.attributes['nvidia.com'].type == 'gpu'", "LNT045", "warning", "is an empty map"),
        (f"{NVIDIA}.uuid == 'x'", "LNT046", "warning", "absent on slices that DynamicMIG"),
        (f"{NVIDIA}.profile == '1g.5gb'", "LNT046", "warning", "devices of kind gpu have none"),
        (f"{NVIDIA}.driverVersion == '580.1.2'", "LNT047", "error", "raises at run time"),
        (f"{NVIDIA}.type == 5", "LNT047", "error", "string == int is always false"),
        (f"{NVIDIA}.type >= 5", "LNT047", "error", "raises at run time"),
        (f"{NVIDIA}.type in [1, 2]", "LNT047", "error", "is always false"),
        (f"{NVIDIA}.driverVersion.startsWith('5')", "LNT047", "error", "is a method of a string"),
        (f"{NVIDIA}.memory.compareTo(quantity('1Gi')) >= 0", "LNT048", "error", "as a capacity"),
        ("device.capacity['gpu.nvidia.com'].type == quantity('1')", "LNT048", "error", "attribute"),
        (f"{NVIDIA}.type == 'A100'", "LNT049", "warning", 'publishes type "gpu", "mig", "vfio"'),
        ("device.driver == 'gpu.nvidia.con'", "LNT049", "warning", "is called gpu.nvidia.con"),
        (f"{MEMORY}.compareTo(quantity('9K')) >= 0", "LNT051", "error", "raises on every device"),
        (f"{MEMORY}.compareTo(quantity('x')) >= 0", "LNT055", "error", "raises on every device"),
        (f"{NVIDIA}.driverVersion.major() == semver('v5').major()", "LNT055", "error", "v5"),
        ("device.attributes['resource.kubernetes.io'].pciRoot == 'x'", "LNT044", "warning", "key"),
        ("false", "LNT049", "error", "always false"),
        (f"true && {NVIDIA}.type == 'gpu'", "LNT050", "info", "always true"),
        (f"!{MEMORY}.isLessThan(quantity('80Ki'))", "LNT051", "warning", "81920 bytes"),
        (f"{MEMORY}.compareTo(quantity('80Gi')) >= 0", "LNT052", "warning", "81559Mi, 361Mi below"),
        (
            f"{MEMORY}.isGreaterThan(quantity('40Gi'))",
            "LNT052",
            "warning",
            "no more than 40Gi (the",
        ),
    ],
)
def test_selectors(expression: str, code: str, severity: str, part: str) -> None:
    """Each rule finds its example, without any cluster."""
    findings = [item for item in found(claim(expression)) if item.code == code]

    assert [(item.severity, part in item.message) for item in findings] == [(severity, True)]


@pytest.mark.parametrize(
    "expression",
    [
        f"{NVIDIA}.type == 'gpu'",
        f"'uuid' in {NVIDIA} && {NVIDIA}.uuid == 'x'",
        f"has({NVIDIA}.uuid) && {NVIDIA}.uuid == 'x'",
        f"!('uuid' in {NVIDIA}) || {NVIDIA}.uuid == 'x'",
        f"{NVIDIA}.uuid == 'x' && 'uuid' in {NVIDIA}",  # CEL: false absorbs errors on either side
        f"{NVIDIA}.?uuid.orValue('') == 'x'",
        f"{NVIDIA}.cudaComputeCapability.compareTo(semver('8.0.0')) >= 0",
        f"'memory' in {CAPACITY} && {MEMORY}.compareTo(quantity('79Gi')) >= 0",
        f"{NVIDIA}.productName.lowerAscii().matches('^.*h100.*$')",
        "device.attributes['nobody.described.example'].x == 'y'",
        "device.driver == 'gpu.nvidia.com'",
    ],
)
def test_good_selectors_are_left_alone(expression: str) -> None:
    """Guards of every spelling, other kinds, unknown drivers: nothing to say."""
    assert found(claim(expression)) == []


def test_guards_in_other_selectors_and_classes_count() -> None:
    """Selectors run in order and stop at the first false; those of the class run before."""
    guard, read = f"'uuid' in {NVIDIA}", f"{NVIDIA}.uuid == 'x'"
    mig = f"{NVIDIA}.profile == '1g.5gb'"

    by_type = f"{NVIDIA}.type == 'mig'"

    assert found(claim(guard, read)) == []
    assert found(claim(f"{by_type} && {mig}", device_class="own.example")) == []
    assert found(claim(f"{by_type} ? {mig} : true", device_class="own.example")) == []
    assert [item.code for item in found(claim(mig, device_class="own.example"))] == ["LNT046"]
    assert [item.code for item in found(claim(read, guard))] == ["LNT046"]
    assert found(claim(mig, device_class="mig.nvidia.com")) == []


def test_a_class_must_compare_the_driver() -> None:
    """A class looks at the devices of all drivers."""
    text = (
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\n"
        f"spec: {{selectors: [{{cel: {{expression: \"PLACE{NVIDIA}.type == 'gpu'\"}}}}]}}\n"
    )

    bare = found(text.replace("PLACE", ""))

    assert [item.code for item in bare] == ["LNT046"]
    assert "every device of another driver" in bare[0].message
    assert found(text.replace("PLACE", "device.driver == 'gpu.nvidia.com' && ")) == []


def test_devices_that_are_there_decide() -> None:
    """With a cluster the selector is run: who raises, and who would fit alone."""
    cluster = (
        CLASS
        + device("node-a", "type: {string: gpu}, uuid: {string: x}")
        + device("node-b", "type: {string: gpu}")
    )

    finding = found(claim(f"{NVIDIA}.uuid == 'x'"), cluster=cluster)[0]

    assert (finding.code, finding.severity) == ("LNT046", "error")
    assert "raises on node-b device gpu-0: no such key: uuid" in finding.message
    assert "node-a alone would satisfy it (gpu-0)" in finding.message
    assert finding.fix.startswith(f"'uuid' in {NVIDIA} && ")


def test_a_clause_that_no_device_passes() -> None:
    """What the devices have instead is shown; a clause that some device passes is not named."""
    cluster = CLASS + device("node-a", "type: {string: gpu}, productName: {string: NVIDIA L4}")
    text = claim(f"{NVIDIA}.type == 'gpu' && {NVIDIA}.productName == 'L4'")

    findings = found(text, cluster=cluster)

    assert [item.code for item in findings] == ["LNT049"]
    assert 'attribute productName is "NVIDIA L4" here' in findings[0].message
    assert findings[0].column == 15 + text.split("|-\n")[1].strip().index("device.attributes", 9)


def test_other_errors_of_devices_are_shown() -> None:
    """A division by zero compiles and raises."""
    cluster = CLASS + device("node-a", "type: {string: gpu}, x: {int: 0}")

    findings = found(claim(f"1 / {NVIDIA}.x == 1"), cluster=cluster)

    assert [item.code for item in findings] == ["LNT054"]
    assert "division by zero" in findings[0].message


def test_memory_of_zero_is_no_size() -> None:
    """A driver that reports nothing is told from a device that is too small."""
    text = claim(f"{MEMORY}.compareTo(quantity('16Gi')) >= 0")

    zero = found(text, cluster=CLASS + device("node-a", "", "memory: {value: 0}"))
    small = found(text, cluster=CLASS + device("node-a", "", "memory: {value: 15360Mi}"))

    assert [item.code for item in zero] == ["LNT053"]
    assert [item.code for item in small] == ["LNT052"]
    assert "1024Mi below 16Gi (16384Mi)" in small[0].message
    # 16G is 15258.8Mi and 15Gi is 15360Mi: both are met
    assert small[0].fix == "16G (decimal) or 15Gi match device gpu-0 of node-a"


@pytest.mark.parametrize(
    ("scalar", "line", "column"),
    [
        ("device.driver == 'a' && device.x == 1", 12, 55),
        ("\"device.driver == 'a' && device.x == 1\"", 12, 56),
        ("'device.driver == ''a'' && device.x == 1'", 12, 58),
        ('"device.driver == \\"a\\" && device.x == 1"', 12, 58),
        ("|\n              device.driver == 'a'\n              && device.x == 1", 14, 24),
        (">-\n              device.driver == 'a'\n\n              && device.x == 1", 15, 24),
        ("device.driver == 'a' &&\n              device.x == 1", 13, 21),
    ],
)
def test_places_in_every_kind_of_scalar(scalar: str, line: int, column: int) -> None:
    """A message about an expression points into the file: the dot before x."""
    text = HEAD.replace("CLASS", "a") + f"        - cel:\n            expression: {scalar}\n"

    finding = next(item for item in found(text) if item.code == "LNT040")

    assert (finding.line, finding.column) == (line, column)
    assert finding.excerpt[finding.excerpt_column :].startswith(".x")
