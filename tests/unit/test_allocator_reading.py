"""Parameters of drivers, which the allocator copies into its results, are read from YAML."""

from __future__ import annotations

from claimfit.dra.reading import read_objects

CLAIM = b"""
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    config:
    - opaque: {driver: gpu.example, parameters: {kind: GpuConfig, sharing: {strategy: MPS}}}
"""


def test_parameters_of_a_driver_are_read_from_yaml() -> None:
    """They are any object, and kept as JSON."""
    (claim,) = read_objects(CLAIM, "f.yaml").claims
    opaque = claim.spec.devices.config[0].opaque
    assert opaque is not None
    assert bytes(opaque.parameters) == b'{"kind":"GpuConfig","sharing":{"strategy":"MPS"}}'
