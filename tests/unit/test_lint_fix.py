"""--fix: what is rewritten, that comments survive, and that nothing else changes."""

from __future__ import annotations

import pytest

from claimfit.diagnose.lint import Context, fix_text, lint
from claimfit.dra.profile import profile
from claimfit.manifests.reader import read_documents

CONTEXT = Context(profile("1.36"))

CASES = {
    "under exactly, block style": (
        """# my claim
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}   # name
spec:
  devices:
    requests:
    - name: gpu     # the gpu
      deviceClassName: gpu.nvidia.com   # class
      # two of them
      count: 2

    # next
    - name: other
      exactly: {deviceClassName: gpu.nvidia.com}
""",
        """# my claim
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}   # name
spec:
  devices:
    requests:
    - name: gpu     # the gpu
      exactly:
        deviceClassName: gpu.nvidia.com   # class
        # two of them
        count: 2

    # next
    - name: other
      exactly: {deviceClassName: gpu.nvidia.com}
""",
    ),
    "under exactly, flow style and JSON": (
        (
            '{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", '
            '"metadata": {"name": "a"}, '
            '"spec": {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu.nvidia.com", '
            '"count": 2}]}}}'
        ),
        (
            '{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", '
            '"metadata": {"name": "a"}, '
            '"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": '
            '"gpu.nvidia.com", "count": 2}}]}}}'
        ),
    ),
    "beta version and its shape": (
        """apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaimTemplate
metadata: {name: a}
spec:
  spec:
    devices:
      requests:
      - deviceClassName: gpu.nvidia.com
        name: r
""",
        """apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: a}
spec:
  spec:
    devices:
      requests:
      - exactly:
          deviceClassName: gpu.nvidia.com
        name: r
""",
    ),
    "basic of a device": (
        """apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: a}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: p, generation: 1, resourceSliceCount: 1}
  devices:
  - name: d
    basic:
      attributes: {index: {int: 0}}
      # size
      capacity:
        memory: {value: 80Gi}
""",
        """apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: a}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: p, generation: 1, resourceSliceCount: 1}
  devices:
  - name: d
    attributes: {index: {int: 0}}
    # size
    capacity:
      memory: {value: 80Gi}
""",
    ),
    "source of a pod": (
        """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, resources: {claims: [{name: g}, {name: h}]}}]
  resourceClaims:
  - name: g
    source:
      resourceClaimName: a  # this one
  - {name: h, source: {resourceClaimTemplateName: b}}
""",
        """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, resources: {claims: [{name: g}, {name: h}]}}]
  resourceClaims:
  - name: g
    resourceClaimName: a  # this one
  - {name: h, resourceClaimTemplateName: b}
""",
    ),
    "a plain expression that needs quotes afterwards": (
        """apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: a}
spec:
  selectors:
  - cel:
      expression: device.attributes['gpu.nvidia.com'].uuid == 'x'  # one board
""",
        (
            """apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: a}
spec:
  selectors:
  - cel:
      expression: "'uuid' in device.attributes['gpu.nvidia.com'] && """
            """device.attributes['gpu.nvidia.com'].uuid == 'x'"  # one board
"""
        ),
    ),
    "names, words and expressions": (
        """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec:
  devices:
    requests:
    - name: r
      exactly:
        deviceClasName: gpu.nvidia.com
        "allocationMode": "all"
        selectors:
        - cel:
            expression: >-
              device.driver == 'gpu.nvidia.com' &&
              device.capacity['gpu.nvidia.com'].memory >= quantity('79Gi')
        - cel: {expression: 'device.attributes[''gpu.nvidia.com''].driverVersion == "580.1.2"'}
""",
        (
            """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec:
  devices:
    requests:
    - name: r
      exactly:
        deviceClassName: gpu.nvidia.com
        "allocationMode": "All"
        selectors:
        - cel:
            expression: >-
              device.driver == 'gpu.nvidia.com' &&
              'memory' in device.capacity['gpu.nvidia.com'] && """
            """device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('79Gi')) >= 0
        - cel: {expression: 'device.attributes[''gpu.nvidia.com''].driverVersion"""
            """.compareTo(semver(''580.1.2'')) == 0'}
"""
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_fixed_text(name: str) -> None:
    """The text is fixed to the letter, is free of what was fixed, and stays so."""
    before, after = CASES[name]

    fixed = fix_text(before, "f.yaml", CONTEXT)

    assert fixed.text == after
    assert fixed.made > 0
    assert not any(item.edits for item in lint(read_documents(after, "f.yaml"), CONTEXT))
    assert fix_text(after, "f.yaml", CONTEXT).text == after


@pytest.mark.parametrize(
    "text",
    [
        # keys of a request that do not stand together: moving them is for people
        (
            "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec:\n"
            "  devices:\n    requests:\n    - deviceClassName: a\n      name: r\n      count: 1\n"
        ),
        # the right name is there already
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a, nmae: b}\n",
        # a negated read: which way a device without it goes is for people
        (
            "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspec:\n"
            "  selectors:\n  - cel:\n      expression: device.driver == 'gpu.nvidia.com' && "
            "!(device.attributes['gpu.nvidia.com'].uuid == 'x')\n"
        ),
        # K is 1000 or 1024: for people
        (
            "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec:\n"
            "  devices:\n    requests:\n    - name: a\n      exactly: {deviceClassName: a, "
            "capacity: {requests: {memory: 1K}}}\n"
        ),
    ],
)
def test_what_only_people_can_decide_is_left(text: str) -> None:
    """A finding without a safe fix leaves the text alone."""
    findings = lint(read_documents(text, "f.yaml"), CONTEXT)

    assert findings
    assert fix_text(text, "f.yaml", CONTEXT).text == text
