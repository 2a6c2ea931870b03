"""hypervisor.c5c3.io/v1 Hypervisor: one compute node through its whole life."""

from typing import Annotated, ClassVar, Literal

import msgspec

from cobaltcore.api.base import (
    AGE,
    READY,
    Column,
    Meta,
    Quantity,
    Resource,
    Rule,
    Struct,
    Timestamp,
    list_map,
    list_set,
    resource,
)
from cobaltcore.api.blocks import Conditions
from cobaltcore.runtime.meta import Kind

HYPERVISOR = Kind("hypervisor.c5c3.io", "v1", "Hypervisor", "hypervisors", namespaced=False)

UUID_PATTERN = r"^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"
Uuid = Annotated[str, Meta(max_length=36, pattern=UUID_PATTERN)]
AggregateName = Annotated[str, Meta(min_length=1, max_length=255)]
TraitName = Annotated[str, Meta(max_length=255, pattern=r"^[A-Z][A-Z0-9_]*$")]
CustomTrait = Annotated[str, Meta(max_length=255, pattern=r"^CUSTOM_[A-Z0-9_]+$")]
ProjectId = Annotated[str, Meta(max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
# Becomes the instance of a systemd unit, so nothing that systemd would have to escape.
OSVersion = Annotated[str, Meta(max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
Overcommit = Annotated[dict[str, Annotated[float, Meta(ge=1.0)]], Meta(max_length=16)]
Amounts = dict[str, Quantity]
Maintenance = Literal["", "manual", "auto", "ha", "termination"]


class TraitGroup(Struct):
    """Membership by trait."""

    name: TraitName
    """Name of the trait."""


class AggregateGroup(Struct):
    """Membership by host aggregate."""

    name: AggregateName
    """Name of the aggregate."""
    uuid: Uuid
    """UUID of the aggregate."""
    metadata: (
        Annotated[dict[str, Annotated[str, Meta(max_length=255)]], Meta(max_length=64)] | None
    ) = None
    """Metadata of the aggregate."""


class Group(Struct):
    """A set of hypervisors that this one belongs to."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.trait) != has(self.aggregate)",
            "groups: set exactly one of trait and aggregate in every item",
        ),
    )

    trait: TraitGroup | None = None
    """The group is defined by a trait."""
    aggregate: AggregateGroup | None = None
    """The group is defined by a host aggregate."""


class HypervisorSpec(Struct):
    """Desired state of a compute node."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.maintenance) || self.maintenance != 'manual' || "
            "(has(self.maintenanceReason) && self.maintenanceReason != '')",
            "maintenanceReason: required when maintenance is manual, give the reason of the maintenance",
            "maintenanceReason",
        ),
        Rule(
            "!has(oldSelf.maintenance) || oldSelf.maintenance != 'termination' || "
            "(has(self.maintenance) && self.maintenance == 'ha') || self == oldSelf",
            "maintenance: nothing can change while it is termination, only to ha",
            "maintenance",
        ),
    )

    version: OSVersion | None = None
    """Wanted version of the operating system. A change downloads and installs it; it is booted
    when reboot is true. Unset: the node keeps what it runs."""
    reboot: bool = False
    """Reboot the node after a wanted version was installed."""
    evacuate_on_reboot: bool = True
    """Evict all servers before the node shuts down. False: they are stopped with it."""
    lifecycle_enabled: bool = True
    """Whether the operator onboards and offboards the node. False: it only reports the state."""
    skip_tests: bool = False
    """Onboard the node without booting a test server on it first."""
    custom_traits: Annotated[list[CustomTrait], Meta(max_length=64), list_set()] = []
    """Traits that the node gets in Placement, each starting with CUSTOM_. A trait that is taken
    off the list is removed."""
    aggregates: Annotated[list[AggregateName], Meta(max_length=64), list_set()] = []
    """Host aggregates that the node is in. They must exist. The node leaves those that are
    taken off the list."""
    allowed_projects: Annotated[list[ProjectId], Meta(max_length=256), list_set()] = []
    """Ids of the projects whose servers may run here. Empty: all projects."""
    high_availability: bool = True
    """Restart the servers of this node elsewhere when it fails."""
    create_cert_manager_certificate: bool = False
    """Ask cert-manager for the certificate with which libvirt encrypts live migrations."""
    install_certificate: bool = True
    """Let the agent on the node install that certificate."""
    maintenance: Maintenance = ""
    """Disables the compute service and evicts its servers: manual by a person, auto for a rolling
    update, termination when the node is decommissioned, ha when high availability fenced it.
    Empty: in service."""
    maintenance_reason: Annotated[str, Meta(max_length=1024)] | None = None
    """Why the node is in maintenance, for people. Required with manual."""
    overcommit: Overcommit | None = None
    """Overcommit ratio by resource name, for example cpu: 4.0. At least 1.0. Unset: 1.0."""
    groups: Annotated[list[Group], Meta(max_length=64)] = []
    """Sets of hypervisors that this one belongs to, for schedulers."""


class OperatingSystem(Struct):
    """Operating system and machine of the node."""

    version: str | None = None
    """Version that is running."""
    pretty_version: str | None = None
    """Version that is running, for people."""
    variant_id: str | None = msgspec.field(default=None, name="variantID")
    """Flavour of the operating system."""
    kernel_name: str | None = None
    """Name of the kernel, for example Linux."""
    kernel_release: str | None = None
    """Release of the kernel."""
    kernel_version: str | None = None
    """Build of the kernel."""
    kernel_command_line: str | None = None
    """Arguments that the kernel was started with."""
    hardware_vendor: str | None = None
    """Vendor of the machine."""
    hardware_model: str | None = None
    """Model of the machine."""
    hardware_serial: str | None = None
    """Serial number of the machine."""
    firmware_vendor: str | None = None
    """Vendor of the firmware."""
    firmware_version: str | None = None
    """Version of the firmware."""
    firmware_date: Timestamp | None = None
    """When the firmware was built."""
    garden_linux_commit_id: str | None = msgspec.field(default=None, name="gardenLinuxCommitID")
    """Commit that a Garden Linux image was built from."""
    garden_linux_features: list[str] = []
    """Features of a Garden Linux image."""


class Capabilities(Struct):
    """Size of the node."""

    cpu_arch: str | None = None
    """Architecture of the processors, for example x86_64."""
    memory: Quantity | None = None
    """Memory of the node."""
    cpus: Quantity | None = None
    """Processors of the node, counted as threads."""


class DomainCapabilities(Struct):
    """What servers on the node can have."""

    arch: str | None = None
    """Architecture of the servers."""
    hypervisor_type: str | None = None
    """Virtual machine monitor: kvm, qemu or cloud-hypervisor."""
    supported_devices: list[str] = []
    """Devices as type and type/model, for example video and video/virtio."""
    supported_cpu_modes: list[str] = []
    """Processor modes as mode and mode/model, for example host-passthrough."""
    supported_features: list[str] = []
    """Features of libvirt that work on the node."""


class Instance(Struct):
    """One server on the node."""

    id: str
    """UUID of the server."""
    name: str
    """Name of the libvirt domain."""
    active: bool
    """Whether it is running."""


class Cell(Struct):
    """One NUMA cell of the node."""

    cell_id: int = msgspec.field(name="cellID")
    """Number of the cell."""
    capacity: Amounts = {}
    """Capacity of the cell, by resource name."""
    effective_capacity: Amounts = {}
    """Allocatable to servers: capacity times overcommit."""
    allocation: Amounts = {}
    """Allocated to servers."""


class AggregateMembership(Struct):
    """A host aggregate that the node is in."""

    name: str
    """Name of the aggregate."""
    uuid: str
    """UUID of the aggregate."""
    metadata: dict[str, str] = {}
    """Metadata of the aggregate."""


class UpdateStatus(Struct):
    """Progress of an update of the operating system."""

    in_progress: bool = False
    """Whether an update is being installed."""
    installed: str | None = None
    """Version that is installed and runs after the next boot."""
    retry: int = 0
    """Attempts that are left."""


class HypervisorStatus(Struct):
    """What the operator and the agent on the node report."""

    conditions: Conditions = []
    """Conditions of the node: Onboarding, Offboarded, Terminating, Tainted, TraitsUpdated,
    AggregatesUpdated, HypervisorDisabled, HaEnabled, Evicting, AgentPodsEvicted and those of the
    agent. Ready is True while the node is in service; its reason names the state."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    hypervisor_id: str | None = None
    """Id of the hypervisor in Nova and of its resource provider in Placement."""
    service_id: str | None = None
    """Id of the compute service in Nova."""
    internal_ip: str | None = None
    """Address of the node inside the cluster."""
    lib_virt_version: str | None = None
    """Version of libvirt."""
    hypervisor_version: str | None = None
    """Version of the virtual machine monitor."""
    operating_system: OperatingSystem | None = None
    """Operating system and machine."""
    update_status: UpdateStatus | None = None
    """Progress of an update of the operating system."""
    capabilities: Capabilities | None = None
    """Size of the node."""
    domain_capabilities: DomainCapabilities | None = None
    """What servers on the node can have."""
    instances: Annotated[list[Instance], list_map("id")] = []
    """Servers on the node."""
    num_instances: int | None = None
    """Number of servers on the node."""
    capacity: Amounts = {}
    """Capacity of the node, by resource name."""
    effective_capacity: Amounts = {}
    """Allocatable to servers: capacity times overcommit, rounded down."""
    allocation: Amounts = {}
    """Allocated to servers."""
    cells: Annotated[list[Cell], list_map("cellID")] = []
    """The same per NUMA cell."""
    traits: list[str] = []
    """Traits of the resource provider in Placement."""
    aggregates: Annotated[list[AggregateMembership], list_map("uuid")] = []
    """Host aggregates that the node is in."""
    evicted: bool | None = None
    """Whether all servers were evicted for maintenance."""
    spec_hash: str | None = None
    """Digest of the spec that the agent last acted on."""


@resource(
    HYPERVISOR,
    short_names=("hv",),
    columns=(
        Column("Zone", r".metadata.labels.topology\.kubernetes\.io/zone"),
        READY,
        Column("State", '.status.conditions[?(@.type=="Ready")].reason'),
        Column("Maintenance", ".spec.maintenance"),
        Column("HA", ".spec.highAvailability", "boolean"),
        Column("Instances", ".status.numInstances", "integer"),
        Column("IP", ".status.internalIp"),
        Column("Version", ".status.operatingSystem.version"),
        Column("Lifecycle", ".spec.lifecycleEnabled", "boolean", priority=1),
        Column("Kernel", ".status.operatingSystem.kernelRelease", priority=1),
        Column("Service ID", ".status.serviceId", priority=1),
        Column("Hypervisor ID", ".status.hypervisorId", priority=1),
        AGE,
    ),
)
class Hypervisor(Resource[HypervisorSpec, HypervisorStatus]):
    """A compute node: onboarding, maintenance and decommissioning.

    The operator creates one for every node with a virtualization driver, under the node's name.
    """
