"""Kubernetes' DRA CEL environment: parse, check, cost and evaluate device selectors.

`program.compile_selector` is the entry; `docs/errors/CEL.md` lists the codes. The judge of all of
it is the Go package k8s.io/dynamic-resource-allocation/cel, which tests/oracle runs.
"""
