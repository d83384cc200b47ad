"""The API objects of resource.k8s.io/v1, and the parts of core/v1 that allocation looks at.

Field names and meaning are those of the API (k8s.io/api/resource/v1/types.go, release 1.37); fields
that no rule reads (managedFields, status of nodes beyond what filters use) are not declared and so
cost nothing when they are decoded. Structs are frozen and kept out of the garbage collector: a
cluster of 10,000 devices is 50,000 of them.

Annotations are evaluated here (no ``from __future__``): msgspec needs them as types, and compiling
250 strings would cost a quarter of the start of every command that reads a cluster.
"""

import msgspec

__all__ = [
    "AllocationResult",
    "CapacityRequestPolicy",
    "CelSelector",
    "Counter",
    "CounterSet",
    "Device",
    "DeviceAllocationConfig",
    "DeviceAllocationResult",
    "DeviceAttribute",
    "DeviceCapacity",
    "DeviceClaim",
    "DeviceClass",
    "DeviceClassSpec",
    "DeviceConstraint",
    "DeviceConsumption",
    "DeviceRequest",
    "DeviceResult",
    "DeviceSelector",
    "DeviceSubRequest",
    "DeviceTaint",
    "DeviceTaintRule",
    "DeviceTaintRuleSpec",
    "DeviceTaintSelector",
    "DeviceToleration",
    "ExactDeviceRequest",
    "Metadata",
    "Node",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "Pool",
    "Quantity",
    "ResourceClaim",
    "ResourceClaimSpec",
    "ResourceClaimStatus",
    "ResourceClaimTemplate",
    "ResourceSlice",
    "ResourceSliceSpec",
]

Quantity = str | int | float
"""A quantity as it stands in the object; `claimfit.units.quantity` reads it exactly."""


AttributeValue = str | int | bool | list[str] | list[int] | list[bool]


class _Object(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Base of every object: immutable, camelCase in JSON, absent fields left out."""


class Metadata(_Object, frozen=True):
    """The part of ObjectMeta that rules and messages use."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


# --- ResourceSlice --------------------------------------------------------------------------------


class DeviceAttribute(_Object, frozen=True):
    """One typed value; exactly one field is set. Lists need gate DRAListTypeAttributes (1.36)."""

    string: str | None = None
    integer: int | None = msgspec.field(default=None, name="int")
    boolean: bool | None = msgspec.field(default=None, name="bool")
    version: str | None = None
    strings: list[str] | None = None
    integers: list[int] | None = msgspec.field(default=None, name="ints")
    booleans: list[bool] | None = msgspec.field(default=None, name="bools")
    versions: list[str] | None = None

    @property
    def value(self) -> AttributeValue | None:
        """The one value that is set, whatever its type; None when there is none."""
        for value in (self.string, self.integer, self.boolean, self.version):
            if value is not None:
                return value
        return self.strings or self.integers or self.booleans or self.versions


class CapacityRange(_Object, frozen=True):
    """Values that a capacity request is rounded to, step by step."""

    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(_Object, frozen=True):
    """How requests for a share of a capacity are rounded."""

    default: Quantity | None = None
    valid_values: list[Quantity] = []
    valid_range: CapacityRange | None = None


class DeviceCapacity(_Object, frozen=True):
    """One capacity of a device."""

    value: Quantity
    request_policy: CapacityRequestPolicy | None = None


class Counter(_Object, frozen=True):
    """An amount of one shared counter."""

    value: Quantity


class CounterSet(_Object, frozen=True):
    """Counters of one board, which its partitions draw on."""

    name: str
    counters: dict[str, Counter]


class DeviceConsumption(_Object, frozen=True):
    """What one device draws from one counter set."""

    counter_set: str
    counters: dict[str, Counter]


class DeviceTaint(_Object, frozen=True):
    """A reason not to allocate a device unless a request tolerates it."""

    key: str
    effect: str
    value: str = ""
    time_added: str | None = None


class NodeSelectorRequirement(_Object, frozen=True):
    """One requirement of core/v1 node selection."""

    key: str
    operator: str
    values: list[str] = []


class NodeSelectorTerm(_Object, frozen=True):
    """Requirements that must all hold."""

    match_expressions: list[NodeSelectorRequirement] = []
    match_fields: list[NodeSelectorRequirement] = []


class NodeSelector(_Object, frozen=True):
    """Terms of which one must hold."""

    node_selector_terms: list[NodeSelectorTerm]


class Device(_Object, frozen=True):
    """One device of a slice."""

    name: str
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: list[DeviceConsumption] = []
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: list[DeviceTaint] = []
    binds_to_node: bool | None = None
    binding_conditions: list[str] = []
    binding_failure_conditions: list[str] = []
    allow_multiple_allocations: bool | None = None


class Pool(_Object, frozen=True):
    """The pool that a slice is part of."""

    name: str
    generation: int
    resource_slice_count: int


class ResourceSliceSpec(_Object, frozen=True):
    """What one driver publishes for one pool, or a part of it."""

    driver: str
    pool: Pool
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: list[Device] = []
    shared_counters: list[CounterSet] = []


class ResourceSlice(_Object, frozen=True, tag_field="kind", tag="ResourceSlice"):
    """A ResourceSlice."""

    metadata: Metadata
    spec: ResourceSliceSpec


# --- DeviceTaintRule ------------------------------------------------------------------------------


class DeviceTaintSelector(_Object, frozen=True):
    """Which devices a rule taints; what is set must all match, nothing set matches every device."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(_Object, frozen=True):
    """A taint and the devices that get it; without a selector none does."""

    taint: DeviceTaint
    device_selector: DeviceTaintSelector | None = None


class DeviceTaintRule(_Object, frozen=True, tag_field="kind", tag="DeviceTaintRule"):
    """A DeviceTaintRule (gate DRADeviceTaintRules)."""

    metadata: Metadata
    spec: DeviceTaintRuleSpec


# --- DeviceClass, ResourceClaim, ResourceClaimTemplate --------------------------------------------


class CelSelector(_Object, frozen=True):
    """A CEL expression over one device."""

    expression: str


class DeviceSelector(_Object, frozen=True):
    """A selector; `cel` is the only kind there is."""

    cel: CelSelector | None = None


class OpaqueConfig(_Object, frozen=True):
    """Parameters for one driver."""

    driver: str
    parameters: msgspec.Raw = msgspec.Raw(b"null")


class ClassConfig(_Object, frozen=True):
    """Configuration that a class adds to every claim."""

    opaque: OpaqueConfig | None = None


class DeviceClassSpec(_Object, frozen=True):
    """What a class selects and adds."""

    selectors: list[DeviceSelector] = []
    config: list[ClassConfig] = []
    extended_resource_name: str | None = None


class DeviceClass(_Object, frozen=True, tag_field="kind", tag="DeviceClass"):
    """A DeviceClass."""

    metadata: Metadata
    spec: DeviceClassSpec = DeviceClassSpec()


class DeviceToleration(_Object, frozen=True):
    """A taint that a request accepts."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class CapacityRequests(_Object, frozen=True):
    """The share of each capacity that is wanted."""

    requests: dict[str, Quantity] = {}


class ExactDeviceRequest(_Object, frozen=True):
    """A request for devices of one class."""

    device_class_name: str = ""
    selectors: list[DeviceSelector] = []
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: list[DeviceToleration] = []
    capacity: CapacityRequests | None = None


class DeviceSubRequest(_Object, frozen=True):
    """One alternative of a request."""

    name: str
    device_class_name: str = ""
    selectors: list[DeviceSelector] = []
    allocation_mode: str = ""
    count: int = 0
    tolerations: list[DeviceToleration] = []
    capacity: CapacityRequests | None = None


class DeviceRequest(_Object, frozen=True):
    """A request: exact, or the first available of several."""

    name: str
    exactly: ExactDeviceRequest | None = None
    first_available: list[DeviceSubRequest] = []


class DeviceConstraint(_Object, frozen=True):
    """What the devices of several requests must share, or must not."""

    requests: list[str] = []
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class ClaimConfig(_Object, frozen=True):
    """Configuration of a claim for some of its requests."""

    requests: list[str] = []
    opaque: OpaqueConfig | None = None


class DeviceClaim(_Object, frozen=True):
    """What a claim asks for."""

    requests: list[DeviceRequest] = []
    constraints: list[DeviceConstraint] = []
    config: list[ClaimConfig] = []


class ResourceClaimSpec(_Object, frozen=True):
    """The immutable part of a claim."""

    devices: DeviceClaim = DeviceClaim()


class DeviceResult(_Object, frozen=True):
    """One device that was handed out."""

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool | None = None
    tolerations: list[DeviceToleration] = []
    binding_conditions: list[str] = []
    binding_failure_conditions: list[str] = []
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: dict[str, Quantity] = {}


class DeviceAllocationConfig(_Object, frozen=True):
    """Parameters for one driver, resolved from a class or the claim."""

    source: str
    requests: list[str] = []
    opaque: OpaqueConfig | None = None


class DeviceAllocationResult(_Object, frozen=True):
    """The devices of an allocation."""

    results: list[DeviceResult] = []
    config: list[DeviceAllocationConfig] = []


class AllocationResult(_Object, frozen=True):
    """Where a claim was allocated."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ConsumerReference(_Object, frozen=True):
    """Who may use an allocated claim."""

    name: str
    resource: str
    uid: str = ""
    api_group: str = ""


class ResourceClaimStatus(_Object, frozen=True):
    """The part of a claim's status that allocation reads."""

    allocation: AllocationResult | None = None
    reserved_for: list[ConsumerReference] = []


class ResourceClaim(_Object, frozen=True, tag_field="kind", tag="ResourceClaim"):
    """A ResourceClaim."""

    metadata: Metadata
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(_Object, frozen=True):
    """What is stamped out for each pod."""

    spec: ResourceClaimSpec = ResourceClaimSpec()
    metadata: Metadata = Metadata()


class ResourceClaimTemplate(_Object, frozen=True, tag_field="kind", tag="ResourceClaimTemplate"):
    """A ResourceClaimTemplate."""

    metadata: Metadata
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()


# --- core/v1 --------------------------------------------------------------------------------------


class NodeTaint(_Object, frozen=True):
    """A taint of a node."""

    key: str
    effect: str
    value: str = ""


class NodeSpec(_Object, frozen=True):
    """Whether pods may come to the node."""

    unschedulable: bool = False
    taints: list[NodeTaint] = []


class NodeInfo(_Object, frozen=True):
    """What runs on the node."""

    kubelet_version: str = ""


class NodeStatus(_Object, frozen=True):
    """What the node has to give, and the version it runs."""

    allocatable: dict[str, Quantity] = {}
    node_info: NodeInfo = NodeInfo()


class Node(_Object, frozen=True, tag_field="kind", tag="Node"):
    """A Node."""

    metadata: Metadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
