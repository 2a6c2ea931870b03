"""ovs.c5c3.io: the state of Open vSwitch on one node, reported by the agent on that node."""

from typing import Annotated, Literal

from cobaltcore.api.base import (
    AGE,
    READY,
    Column,
    Immutable,
    Name,
    Resource,
    Struct,
    Timestamp,
    list_map,
    resource,
)
from cobaltcore.api.blocks import Conditions
from cobaltcore.runtime.meta import Kind

OVS_NODE = Kind("ovs.c5c3.io", "v1alpha1", "OVSNode", "ovsnodes")


class NodeRef(Struct):
    """A node of the cluster."""

    name: Annotated[Name, Immutable]
    """Name of the Node. Cannot change: every node has its own object."""


class OVSNodeSpec(Struct):
    """Which node is looked at."""

    node_ref: NodeRef
    """The node that the agent runs on."""


class Bridge(Struct):
    """One bridge of the node."""

    name: str
    """Name of the bridge, for example br-int."""
    ports: int = 0
    """Number of ports that are attached."""
    flows: int = 0
    """Number of OpenFlow rules that are installed."""
    datapath_type: str | None = None
    """Where packets are switched: system for the kernel, netdev for user space and DPDK."""
    status: str | None = None
    """Active while the bridge forwards packets, otherwise what is wrong with it."""


class PhysicalInterface(Struct):
    """One network card of the node."""

    name: str
    """Name of the interface in the operating system."""
    status: str | None = None
    """Up or Down."""
    speed: str | None = None
    """Link speed for people, for example 25Gbps."""
    bond: str | None = None
    """Bond that the card is a member of, if any."""


class Bond(Struct):
    """Several network cards used as one."""

    name: str
    """Name of the bond."""
    mode: str | None = None
    """How traffic is spread, for example balance-tcp."""
    status: str | None = None
    """Up, Degraded or Down."""
    members: int = 0
    """Cards that belong to the bond."""
    active_members: int = 0
    """Cards of the bond that carry traffic."""


class Interfaces(Struct):
    """Network cards and bonds of the node."""

    physical: Annotated[list[PhysicalInterface], list_map("name")] = []
    """Network cards that are attached to a bridge."""
    bonds: Annotated[list[Bond], list_map("name")] = []
    """Bonds that are attached to a bridge."""


class OVNController(Struct):
    """The OVN agent of the node."""

    connected: bool
    """Whether it has a connection to the southbound database."""
    sb_connection: str | None = None
    """Address of the southbound database."""
    chassis_id: str | None = None
    """Name under which the node is known in the southbound database."""


class TableFlows(Struct):
    """Rules in one OpenFlow table."""

    table: int
    """Number of the table."""
    flows: int = 0
    """Number of rules in it."""


class FlowStats(Struct):
    """How many OpenFlow rules the integration bridge has."""

    total_flows: int = 0
    """Rules in all tables."""
    flows_per_table: Annotated[list[TableFlows], list_map("table")] = []
    """Rules per table; tables without rules are left out."""


class TrafficMetrics(Struct):
    """Traffic over all ports since Open vSwitch was started."""

    packets_received: int = 0
    """Packets that came in."""
    packets_sent: int = 0
    """Packets that went out."""
    bytes_received: int = 0
    """Bytes that came in."""
    bytes_sent: int = 0
    """Bytes that went out."""
    drops: int = 0
    """Packets that were dropped."""
    errors: int = 0
    """Packets that were damaged."""


class Issue(Struct):
    """Something that the agent found wrong."""

    severity: Literal["Info", "Warning", "Critical"]
    """How soon someone should look at it."""
    message: str
    """What is wrong, for people."""
    detected_at: Timestamp | None = None
    """When the agent first saw it."""


class OVSNodeStatus(Struct):
    """What the agent found on the node."""

    conditions: Conditions = []
    """Conditions of the node: OVSDBConnected, OVNControllerConnected, AllBridgesHealthy,
    AllBondsHealthy. Ready is True when all of them are."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    ovs_version: str | None = None
    """Version of Open vSwitch."""
    ovsd_version: str | None = None
    """Version of the schema of the Open vSwitch database."""
    dpdk_enabled: bool | None = None
    """Whether packets are switched in user space with DPDK."""
    dpdk_version: str | None = None
    """Version of DPDK, where it is used."""
    bridges: Annotated[list[Bridge], list_map("name")] = []
    """Bridges of the node."""
    interfaces: Interfaces | None = None
    """Network cards and bonds of the node."""
    ovn_controller: OVNController | None = None
    """The OVN agent of the node."""
    flow_stats: FlowStats | None = None
    """How many OpenFlow rules the integration bridge has."""
    metrics: TrafficMetrics | None = None
    """Traffic over all ports."""
    issues: list[Issue] = []
    """What the agent found wrong, newest first."""


@resource(
    OVS_NODE,
    short_names=("ovsn",),
    columns=(
        Column("Node", ".spec.nodeRef.name"),
        READY,
        Column("OVN", '.status.conditions[?(@.type=="OVNControllerConnected")].status'),
        Column("Version", ".status.ovsVersion"),
        Column("Flows", ".status.flowStats.totalFlows", "integer"),
        Column("Drops", ".status.metrics.drops", "integer", priority=1),
        AGE,
    ),
)
class OVSNode(Resource[OVSNodeSpec, OVSNodeStatus]):
    """Open vSwitch on one node: bridges, interfaces, connection to OVN and what is wrong.

    The agent on the node creates and updates it.
    """
