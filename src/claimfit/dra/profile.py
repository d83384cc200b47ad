"""Which Kubernetes decides: a minor version and its feature gates.

Defaults and stages follow the releases (pkg/features/kube_features.go of 1.34 to 1.37): a gate is
there from its alpha on, beta is on unless the release says otherwise, and GA is always on.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from claimfit.errors import UsageError

__all__ = ["DEFAULT_MINOR", "GATES", "MINORS", "Gate", "Profile", "profile"]

MINORS: Final = (34, 35, 36, 37)
"""The minors of Kubernetes 1 whose rules are implemented."""

DEFAULT_MINOR: Final = 36


class Gate(NamedTuple):
    """A feature gate: the minors in which it came, and was first on by default, and fixed on.

    A large number stands for not yet.
    """

    name: str
    alpha: int
    on: int
    fixed: int


_NOT_YET: Final = 999

GATES: Final = {
    gate.name: gate
    for gate in (
        Gate("DynamicResourceAllocation", 30, 34, 34),
        Gate("DRAPrioritizedList", 33, 34, 36),
        Gate("DRAAdminAccess", 32, 34, 36),
        Gate("DRAResourceClaimDeviceStatus", 32, 33, 37),
        Gate("DRASchedulerFilterTimeout", 34, 34, _NOT_YET),
        Gate("DRAPartitionableDevices", 33, 36, _NOT_YET),
        Gate("DRADeviceTaints", 33, 36, 37),
        Gate("DRADeviceTaintRules", 35, 37, 37),
        Gate("DRAConsumableCapacity", 34, 36, _NOT_YET),
        Gate("DRADeviceBindingConditions", 34, 36, _NOT_YET),
        Gate("DRAExtendedResource", 34, 36, 37),
        Gate("DRAListTypeAttributes", 36, _NOT_YET, _NOT_YET),
        Gate("DRANodeAllocatableResources", 36, _NOT_YET, _NOT_YET),
        Gate("DRAWorkloadResourceClaims", 36, _NOT_YET, _NOT_YET),
        Gate("DRAResourcePoolStatus", 36, _NOT_YET, _NOT_YET),
        Gate("DRAPartitionableDevicesType", 37, _NOT_YET, _NOT_YET),
        Gate("DRAOptionalNodeOperations", 37, _NOT_YET, _NOT_YET),
        Gate("DRAFractionalCapacityRange", 37, 37, _NOT_YET),
        Gate("DRADerivedAttributes", 37, _NOT_YET, _NOT_YET),
        Gate("DRADeviceCompatibilityGroups", 37, _NOT_YET, _NOT_YET),
    )
}
"""The gates that change dynamic resource allocation, by name."""


_NOT_MODELLED: Final = frozenset(
    {
        "DRADerivedAttributes",
        "DRADeviceCompatibilityGroups",
        "DRANodeAllocatableResources",
        "DRAOptionalNodeOperations",
    }
)


class Profile(NamedTuple):
    """Rules to decide by.

    Attributes:
        minor: the minor of Kubernetes 1.
        gates: the gates that are on, those that are on by default included.
    """

    minor: int
    gates: frozenset[str]

    @property
    def kubernetes(self) -> str:
        """The version, such as ``1.36``."""
        return f"1.{self.minor}"

    def enabled(self, gate: str) -> bool:
        """Whether `gate` is on."""
        return gate in self.gates

    @property
    def not_modelled(self) -> tuple[str, ...]:
        """Gates that are on and change allocation in ways that are not implemented, by name.

        All are alpha and off by default; fields that they add are not looked at.
        """
        return tuple(sorted(self.gates & _NOT_MODELLED))


def profile(kubernetes: str = f"1.{DEFAULT_MINOR}", feature_gates: str = "") -> Profile:
    """Return the rules of a version, with gates changed as in ``--feature-gates A=true,B=false``.

    `kubernetes` is ``1.36``, ``v1.36`` or a full version such as ``v1.36.3``. Raises `UsageError`
    DRA101 for a version that is not offered, DRA102 for a gate that is not one of the version's,
    DRA103 for a setting that cannot be read, DRA104 for a gate that can no longer be turned off.
    """
    minor = _minor(kubernetes)
    on = {gate.name for gate in GATES.values() if gate.on <= minor}
    for setting in filter(None, (part.strip() for part in feature_gates.split(","))):
        name, equals, value = setting.partition("=")
        if not equals or value not in {"true", "false"}:
            raise UsageError(
                "DRA103",
                "feature gates are written NAME=true or NAME=false",
                place="--feature-gates",
                found=setting,
                expected="NAME=true,NAME=false",
            )
        gate = _gate(name, minor)
        if value == "true":
            on.add(gate.name)
        elif gate.fixed <= minor:
            raise UsageError(
                "DRA104",
                f"gate {gate.name} can no longer be turned off in 1.{minor}",
                place="--feature-gates",
                found=setting,
                fix="leave it out",
            )
        else:
            on.discard(gate.name)
    return Profile(minor, frozenset(on))


def _minor(kubernetes: str) -> int:
    parts = kubernetes.removeprefix("v").split(".")
    if len(parts) >= 2 and parts[0] == "1" and parts[1].isascii() and parts[1].isdigit():
        minor = int(parts[1][:4])
        if minor in MINORS:
            return minor
    raise UsageError(
        "DRA101",
        "the rules of this Kubernetes version are not known",
        place="--kubernetes",
        found=kubernetes,
        expected=", ".join(f"1.{minor}" for minor in MINORS),
    )


def _gate(name: str, minor: int) -> Gate:
    gate = GATES.get(name)
    if gate is not None and gate.alpha <= minor:
        return gate
    from difflib import get_close_matches

    known = [gate.name for gate in GATES.values() if gate.alpha <= minor]
    since = f"; it came in 1.{gate.alpha}" if gate else ""
    raise UsageError(
        "DRA102",
        f"1.{minor} has no such feature gate for dynamic resource allocation{since}",
        place="--feature-gates",
        found=name,
        expected="a gate of dynamic resource allocation",
        candidates=tuple(get_close_matches(name, known, 3)),
    )
