"""Amounts with a unit: bytes, Kubernetes quantities, and estimates with their bounds and source."""

from claimfit.units.amounts import GIB, MIB, Bytes
from claimfit.units.estimate import Basis, Estimate, worst_basis

__all__ = ["GIB", "MIB", "Basis", "Bytes", "Estimate", "worst_basis"]
