"""The shape of API objects: fields, their types, and since when a profile has them.

From k8s.io/api resource/v1 and core/v1, releases 1.34 to 1.37. A type is written as in Go, shorter:
``[]T`` a list, ``map[]T`` a mapping, else a scalar or the name of a structure in `STRUCTURES`.
``any`` is not looked at. Of core/v1 only the parts are here that claims have to do with; structures
in `OPEN` have more fields than are listed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from claimfit.dra.profile import Profile

__all__ = ["ENUMERATIONS", "KINDS", "OPEN", "STRUCTURES", "Field", "fields_of"]


class Field(NamedTuple):
    """When a field exists.

    Attributes:
        type: as above.
        gate: feature gates without which the API server drops it.
        since: first minor of Kubernetes 1 that has it.
        until: last minor that has it.
        kept_before: before this minor the server keeps the field even where its gate is off.
    """

    type: str
    gate: tuple[str, ...] = ()
    since: int = 0
    until: int = 999
    kept_before: int = 0


_CONSUMABLE: Final = ("DRAConsumableCapacity",)
_PARTITIONS: Final = ("DRAPartitionableDevices",)
_LISTS: Final = ("DRAListTypeAttributes",)
_BINDING: Final = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")
_TAINTS: Final = ("DRADeviceTaints",)
_NODE_RESOURCES: Final = ("DRANodeAllocatableResources",)
_DERIVED: Final = ("DRADerivedAttributes",)
_SKIP: Final = ("DRAOptionalNodeOperations",)


def _fields(**types: str | Field) -> dict[str, Field]:
    return {
        name.rstrip("_"): entry if isinstance(entry, Field) else Field(entry)
        for name, entry in types.items()
    }


_REQUEST: Final = _fields(
    deviceClassName="string",
    selectors="[]DeviceSelector",
    allocationMode="string",
    count="int64",
    tolerations=Field("[]DeviceToleration", _TAINTS, kept_before=36),
    capacity=Field("CapacityRequirements", _CONSUMABLE),
    derivedAttributes=Field("[]DeviceDerivedAttribute", _DERIVED, since=37),
)
_ADMIN: Final = _fields(adminAccess=Field("bool", ("DRAAdminAccess",)))
_FIRST_AVAILABLE: Final = _fields(
    firstAvailable=Field("[]DeviceSubRequest", ("DRAPrioritizedList",))
)
_DEVICE: Final = _fields(
    attributes="map[]DeviceAttribute",
    capacity="map[]DeviceCapacity",
    consumesCounters=Field("[]DeviceCounterConsumption", _PARTITIONS),
    nodeName=Field("string", _PARTITIONS),
    nodeSelector=Field("NodeSelector", _PARTITIONS),
    allNodes=Field("bool", _PARTITIONS),
    taints=Field("[]DeviceTaint", _TAINTS),
    bindsToNode=Field("bool", _BINDING),
    bindingConditions=Field("[]string", _BINDING),
    bindingFailureConditions=Field("[]string", _BINDING),
    allowMultipleAllocations=Field("bool", _CONSUMABLE),
    nodeAllocatableResourceMappings=Field(
        "map[]NodeAllocatableResourceMapping", _NODE_RESOURCES, since=36, until=36
    ),
    nodeAllocatableResources=Field("map[]any", _NODE_RESOURCES, since=37),
)
_CONFIGURATION: Final = _fields(opaque="OpaqueDeviceConfiguration")
_TOP: Final = _fields(apiVersion="string", kind="string", metadata="ObjectMeta")

STRUCTURES: Final[dict[str, dict[str, Field]]] = {
    "ResourceClaim": _TOP | _fields(spec="ResourceClaimSpec", status="ResourceClaimStatus"),
    "ResourceClaimTemplate": _TOP | _fields(spec="ResourceClaimTemplateSpec"),
    "DeviceClass": _TOP | _fields(spec="DeviceClassSpec"),
    "ResourceSlice": _TOP | _fields(spec="ResourceSliceSpec"),
    "DeviceTaintRule": _TOP | _fields(spec="DeviceTaintRuleSpec", status="any"),
    "ResourceClaimSpec": _fields(devices="DeviceClaim"),
    "ResourceClaimTemplateSpec": _fields(metadata="ObjectMeta", spec="ResourceClaimSpec"),
    "DeviceClaim": _fields(
        requests="[]DeviceRequest",
        constraints="[]DeviceConstraint",
        config="[]DeviceClaimConfiguration",
    ),
    "DeviceRequest": _fields(name="string", exactly="ExactDeviceRequest") | _FIRST_AVAILABLE,
    "DeviceRequest/v1beta1": _fields(name="string") | _REQUEST | _ADMIN | _FIRST_AVAILABLE,
    "ExactDeviceRequest": _REQUEST | _ADMIN,
    "DeviceSubRequest": _fields(name="string") | _REQUEST,
    "CapacityRequirements": _fields(requests="map[]quantity"),
    "DeviceSelector": _fields(cel="CELDeviceSelector"),
    "CELDeviceSelector": _fields(expression="string"),
    "DeviceConstraint": _fields(
        requests="[]string",
        matchAttribute="string",
        distinctAttribute=Field("string", _CONSUMABLE, kept_before=36),
    ),
    "DeviceClaimConfiguration": _fields(requests="[]string") | _CONFIGURATION,
    "DeviceClassConfiguration": _CONFIGURATION,
    "OpaqueDeviceConfiguration": _fields(driver="string", parameters="raw"),
    "DeviceToleration": _fields(
        key="string",
        operator="string",
        value="string",
        effect="string",
        tolerationSeconds="int64",
    ),
    "DeviceDerivedAttribute": _fields(name="string", expression="string"),
    "DeviceClassSpec": _fields(
        selectors="[]DeviceSelector",
        config="[]DeviceClassConfiguration",
        extendedResourceName=Field("string", ("DRAExtendedResource",)),
    ),
    "ResourceSliceSpec": _fields(
        driver="string",
        pool="ResourcePool",
        nodeName="string",
        nodeSelector="NodeSelector",
        allNodes="bool",
        devices="[]Device",
        perDeviceNodeSelection=Field("bool", _PARTITIONS),
        sharedCounters=Field("[]CounterSet", _PARTITIONS),
        partitionTypeAttribute=Field("string", ("DRAPartitionableDevicesType",), since=37),
        skipNodeOperations=Field("[]string", _SKIP, since=37),
    ),
    "ResourcePool": _fields(name="string", generation="int64", resourceSliceCount="int64"),
    "Device": _fields(name="string") | _DEVICE,
    "Device/v1beta1": _fields(name="string", basic="BasicDevice"),
    "BasicDevice": _DEVICE,
    "DeviceAttribute": _fields(
        int="int64",
        bool="bool",
        string="string",
        version="string",
        ints=Field("[]int64", _LISTS, since=36),
        bools=Field("[]bool", _LISTS, since=36),
        strings=Field("[]string", _LISTS, since=36),
        versions=Field("[]string", _LISTS, since=36),
    ),
    "DeviceCapacity": _fields(
        value="quantity", requestPolicy=Field("CapacityRequestPolicy", _CONSUMABLE)
    ),
    "CapacityRequestPolicy": _fields(
        default="quantity", validValues="[]quantity", validRange="CapacityRequestPolicyRange"
    ),
    "CapacityRequestPolicyRange": _fields(min="quantity", max="quantity", step="quantity"),
    "Counter": _fields(value="quantity"),
    "CounterSet": _fields(name="string", counters="map[]Counter"),
    "DeviceCounterConsumption": _fields(
        counterSet="string",
        counters="map[]Counter",
        compatibilityGroups=Field("[]string", ("DRADeviceCompatibilityGroups",), since=37),
    ),
    "NodeAllocatableResourceMapping": _fields(
        capacityKey="string", allocationMultiplier="quantity"
    ),
    "DeviceTaint": _fields(key="string", value="string", effect="string", timeAdded="time"),
    "DeviceTaintRuleSpec": _fields(deviceSelector="DeviceTaintSelector", taint="DeviceTaint"),
    "DeviceTaintSelector": _fields(driver="string", pool="string", device="string"),
    "NodeSelector": _fields(nodeSelectorTerms="[]NodeSelectorTerm"),
    "NodeSelectorTerm": _fields(
        matchExpressions="[]NodeSelectorRequirement", matchFields="[]NodeSelectorRequirement"
    ),
    "NodeSelectorRequirement": _fields(key="string", operator="string", values="[]string"),
    # --- status of a claim: users do not write it, an export of the cluster carries it ------------
    "ResourceClaimStatus": _fields(
        allocation="AllocationResult",
        reservedFor="[]ResourceClaimConsumerReference",
        devices="[]AllocatedDeviceStatus",
    ),
    "ResourceClaimConsumerReference": _fields(
        apiGroup="string", resource="string", name="string", uid="string"
    ),
    "AllocationResult": _fields(
        devices="DeviceAllocationResult",
        nodeSelector="NodeSelector",
        allocationTimestamp="time",
    ),
    "DeviceAllocationResult": _fields(
        results="[]DeviceRequestAllocationResult", config="[]DeviceAllocationConfiguration"
    ),
    "DeviceRequestAllocationResult": _fields(
        request="string",
        driver="string",
        pool="string",
        device="string",
        adminAccess="bool",
        tolerations="[]DeviceToleration",
        bindingConditions="[]string",
        bindingFailureConditions="[]string",
        shareID="string",
        consumedCapacity="map[]quantity",
        skipNodeOperations=Field("[]string", since=37),
    ),
    "DeviceAllocationConfiguration": _fields(source="string", requests="[]string") | _CONFIGURATION,
    "AllocatedDeviceStatus": _fields(
        driver="string",
        pool="string",
        device="string",
        shareID="string",
        conditions="any",
        data="raw",
        networkData="NetworkDeviceData",
    ),
    "NetworkDeviceData": _fields(interfaceName="string", ips="[]string", hardwareAddress="string"),
    # --- apimachinery -----------------------------------------------------------------------------
    "ObjectMeta": _fields(
        name="string",
        generateName="string",
        namespace="string",
        selfLink="string",
        uid="string",
        resourceVersion="string",
        generation="int64",
        creationTimestamp="time",
        deletionTimestamp="time",
        deletionGracePeriodSeconds="int64",
        labels="map[]string",
        annotations="map[]string",
        ownerReferences="[]OwnerReference",
        finalizers="[]string",
        managedFields="any",
    ),
    "OwnerReference": _fields(
        apiVersion="string",
        kind="string",
        name="string",
        uid="string",
        controller="bool",
        blockOwnerDeletion="bool",
    ),
    # --- pods and what makes them -----------------------------------------------------------------
    "Pod": _TOP | _fields(spec="PodSpec", status="any"),
    "PodTemplate": _TOP | _fields(template="PodTemplateSpec"),
    "Workload": _TOP | _fields(spec="WorkloadSpec", status="any"),
    "WorkloadSpec": _fields(replicas="int64", parallelism="int64", template="PodTemplateSpec"),
    "CronJob": _TOP | _fields(spec="CronJobSpec", status="any"),
    "CronJobSpec": _fields(jobTemplate="JobTemplateSpec"),
    "JobTemplateSpec": _fields(metadata="ObjectMeta", spec="WorkloadSpec"),
    "PodTemplateSpec": _fields(metadata="ObjectMeta", spec="PodSpec"),
    "PodSpec": _fields(
        resourceClaims="[]PodResourceClaim",
        containers="[]Container",
        initContainers="[]Container",
        ephemeralContainers="[]Container",
        nodeName="string",
        schedulerName="string",
    ),
    "PodResourceClaim": _fields(
        name="string",
        resourceClaimName="string",
        resourceClaimTemplateName="string",
    ),
    "Container": _fields(name="string", resources="ResourceRequirements"),
    "ResourceRequirements": _fields(
        limits="map[]quantity", requests="map[]quantity", claims="[]ContainerClaim"
    ),
    "ContainerClaim": _fields(name="string", request="string"),
}
"""Name -> field -> what it is."""

OPEN: Final = frozenset(
    {"WorkloadSpec", "CronJobSpec", "JobTemplateSpec", "PodTemplateSpec", "PodSpec", "Container"}
)
"""Structures of which only a part is described: further fields are none of lint's business."""

GROUP: Final = "resource.k8s.io/"
RESOURCE_KINDS: Final = frozenset(
    {"ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice", "DeviceTaintRule"}
)

KINDS: Final[dict[tuple[str, str], str]] = {
    ("v1", "Pod"): "Pod",
    ("v1", "PodTemplate"): "PodTemplate",
    ("apps/v1", "Deployment"): "Workload",
    ("apps/v1", "StatefulSet"): "Workload",
    ("apps/v1", "DaemonSet"): "Workload",
    ("apps/v1", "ReplicaSet"): "Workload",
    ("batch/v1", "Job"): "Workload",
    ("batch/v1", "CronJob"): "CronJob",
    ("v1", "ReplicationController"): "Workload",
}
"""apiVersion and kind -> structure, for what makes pods."""

ENUMERATIONS: Final = {
    "allocationMode": ("All", "ExactCount"),
    "operator": ("Equal", "Exists"),
    "effect": ("NoExecute", "NoSchedule", "None"),
}


@cache
def fields_of(structure: str, version: str, profile: Profile) -> dict[str, Field]:
    """Return the fields of `structure` in API `version` that `profile`'s minor has."""
    entries = STRUCTURES.get(f"{structure}/{version}") or STRUCTURES[structure]
    return {
        name: field
        for name, field in entries.items()
        if field.since <= profile.minor <= field.until
    }
