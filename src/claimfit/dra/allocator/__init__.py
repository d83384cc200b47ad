"""Kubernetes' structured allocator: its rules, one module each.

`claimfit.dra.allocation` is the entry. The judge of all of it is the Go package
k8s.io/dynamic-resource-allocation/structured, which tests/oracle runs.
"""
