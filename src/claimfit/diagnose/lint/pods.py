"""Rules for pods and what makes them: the parts that have to do with claims.

Those of pkg/apis/core/validation/validation.go (Kubernetes 1.36), in its words, and what is
accepted there but does nothing or breaks later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claimfit.diagnose.lint.names import label, subdomain
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claimfit.diagnose.lint.finding import Report
    from claimfit.diagnose.lint.parts import Part

__all__ = ["PodPart", "check", "pod_of"]

_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_NATIVE: Final = "kubernetes.io/"
_DEVICE_WORDS: Final = (
    "gpu",
    "mig-",
    "gaudi",
    "tpu",
    "npu",
    "neuron",
    "accelerator",
    "xpu",
    "vgpu",
)


class PodPart(NamedTuple):
    """A pod, or the template of one.

    Attributes:
        spec: the pod's spec.
        replicas: how many such pods there will be, 1 for a pod.
        counter: the field that says so, for messages.
    """

    spec: Part
    replicas: int
    counter: str


def pod_of(part: Part, kind: str) -> PodPart | None:
    """Return the pod that an object of `kind` is or makes."""
    if kind == "Pod":
        return PodPart(part.below("spec"), 1, "")
    if kind == "PodTemplate":
        return PodPart(part.below("template", "spec"), 1, "")
    spec = part.below("spec")
    if kind == "CronJob":
        spec = spec.below("jobTemplate", "spec")
    pod = spec.below("template", "spec")
    if kind == "DaemonSet":
        return PodPart(pod, 2, "one pod on each node")
    for field in ("replicas", "parallelism"):
        if spec.number(field) > 1:
            return PodPart(pod, spec.number(field), f"{field} {spec.number(field)}")
    return PodPart(pod, 1, "")


def check(part: Part, report: Report) -> None:
    """Report on the claims of the pod in `part`, an object that is or makes one."""
    pod = pod_of(part, report.manifest.kind)
    if pod is None:
        return
    entries = pod.spec.parts("resourceClaims")
    _check_entries(entries, report)
    names = [entry.text("name") for entry in entries if entry.text("name")]
    used: set[str] = set()
    for container in _containers(pod.spec):
        used |= _check_container_claims(container, names, report)
    for entry in entries:
        name = entry.text("name")
        if name and name not in used and names.count(name) == 1:
            report.add(
                "LNT020",
                "warning",
                entry.path,
                f'no container uses entry "{name}": the claim is allocated and its devices stay '
                "out of every container",
                fix=f"add to a container: resources: {{claims: [{{name: {name}}}]}}",
            )
    _check_limits(pod.spec, entries, report)
    if entries and pod.spec.text("nodeName"):
        report.add(
            "LNT028",
            "warning",
            pod.spec.at("nodeName"),
            "with nodeName the scheduler never sees the pod, so nobody allocates its claims: it "
            "waits on the node until something else does",
            fix="use nodeSelector kubernetes.io/hostname instead of nodeName",
        )


def _containers(spec: Part) -> Iterator[Part]:
    for field in _CONTAINERS:
        yield from spec.parts(field)


def _check_entries(entries: list[Part], report: Report) -> None:
    seen: set[str] = set()
    for entry in entries:
        name = entry.text("name")
        if not name:
            report.required(entry.at("name"))
        elif name in seen:
            report.duplicate(entry.at("name"), name)
        else:
            for problem in label(name):
                report.invalid(entry.at("name"), name, problem)
            seen.add(name)
        claim, template = entry.has("resourceClaimName"), entry.has("resourceClaimTemplateName")
        if claim and template:
            detail = (
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            )
            report.invalid(entry.path, name, detail)
        if not claim and not template and "source" not in entry.unknown:
            detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            report.invalid(entry.path, name, detail)
        for field in ("resourceClaimName", "resourceClaimTemplateName"):
            if entry.has(field):
                for problem in subdomain(entry.text(field)):
                    report.invalid(entry.at(field), entry.text(field), problem)


def _check_container_claims(container: Part, names: list[str], report: Report) -> set[str]:
    """Return the entries that `container` uses."""
    resources = container.below("resources")
    seen: dict[str, set[str]] = {}
    for reference in resources.parts("claims"):
        name, request = reference.text("name"), reference.text("request")
        if not name:
            report.required(reference.path)
            continue
        before = seen.setdefault(name, set())
        if "" in before or request in before or (before and not request):
            report.duplicate(reference.path, f"{name}/{request}" if request else name)
        elif request:
            for problem in label(request):
                report.invalid(reference.at("request"), request, problem)
        before.add(request)
        if name not in names:
            listed = ": " + ", ".join(sorted(set(names))) if names else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{listed}"
            report.not_found(reference.path, name, detail)
    return set(seen)


def _check_limits(spec: Part, entries: list[Part], report: Report) -> None:
    """Report a device plugin's resource beside claims: the pod would wait for both."""
    if not entries:
        return
    for container in _containers(spec):
        resources = container.below("resources")
        for name, amount in resources.entries("limits").items():
            if not _is_device(name) or (isinstance(amount, Quantity) and not amount.sign):
                continue
            claims = ", ".join(entry.text("name") for entry in entries)
            report.add(
                "LNT022",
                "warning",
                resources.at("limits", name),
                f"limit {name} asks the device plugin for devices beside the claims ({claims}): "
                "the pod waits until both are there, and on a node with DRA only it never starts",
                fix=f"remove {name} from limits and requests",
                at_key=True,
            )


def _is_device(name: str) -> bool:
    domain, slash, word = name.partition("/")
    return (
        bool(slash)
        and _NATIVE not in f"{domain}/"
        and any(part in word.lower() for part in _DEVICE_WORDS)
    )
