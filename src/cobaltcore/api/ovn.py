"""OVN: the databases, daemons and hypervisor chassis of the virtual network."""

from typing import Annotated, ClassVar, Literal

from cobaltcore.api.base import (
    AGE,
    NAME_FITS,
    READY,
    Column,
    Immutable,
    Meta,
    Name,
    Port,
    Resource,
    Rule,
    Size,
    Struct,
    Timestamp,
    checked,
    list_map,
    resource,
)
from cobaltcore.api.blocks import Conditions, DeletionPolicy, Image, IssuerRef, SecretRef
from cobaltcore.api.pods import PodSettings, PullSecrets, Workload
from cobaltcore.runtime.meta import Kind

CLUSTER = Kind("ovn.c5c3.io", "v1alpha1", "OVNCluster", "ovnclusters")
CHASSIS = Kind("ovn.c5c3.io", "v1alpha1", "OVNChassis", "ovnchassis")

TUNNEL_ADDRESS = "ovn.c5c3.io/tunnel-address"
"""Annotation of a Node: address with prefix length on the network between hypervisors. Unset: the
Node's InternalIP."""
TUNNEL_INTERFACE = "ovn.c5c3.io/tunnel-interface"
"""Annotation of a Node: the interface to that network. With the userspace datapath it becomes a port of
the bridge, with the address."""
UPLINKS = "ovn.c5c3.io/uplinks"
"""Annotation of a Node: interfaces to physical networks, for example external=eth2,storage=eth3. An
interface without a name belongs to the first bridge mapping."""

IpAddress = Annotated[
    str,
    Meta(max_length=45),
    checked(Rule("isIP(self)", "must be an IPv4 or IPv6 address")),
]
BridgeName = Annotated[
    str,
    Meta(min_length=1, max_length=15, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"),
    checked(
        Rule(
            "!(self in ['br-int', 'br-tun', 'lo', 'ovs-netdev', 'ovs-system'])",
            "bridge: br-int, br-tun, lo, ovs-netdev and ovs-system are interfaces of OVN, "
            "Open vSwitch and Linux, choose another name, for example br-external",
        )
    ),
]
PhysicalNetwork = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[!-+\--9;-~]+$")]
Encapsulation = Literal["geneve", "vxlan"]


class BridgeMapping(Struct):
    """The bridge through which hypervisors reach a physical network."""

    physical_network: PhysicalNetwork
    """Name of the physical network, as Neutron's provider networks call it. Unique."""
    bridge: BridgeName
    """Bridge of Open vSwitch, 15 characters at most."""


BridgeMappings = Annotated[
    list[BridgeMapping],
    Meta(max_length=32),
    list_map("physicalNetwork"),
    checked(
        Rule(
            "self.all(a, self.exists_one(b, b.bridge == a.bridge))",
            "bridgeMappings: a bridge can serve one physical network only",
        )
    ),
]


class OvnStorage(Struct):
    """The volume of each database server."""

    size: Annotated[Size, Immutable] = "10Gi"
    """Size of the volume. Cannot change: volumes of a StatefulSet keep the size that they were
    created with."""
    storage_class: Annotated[Name, Immutable] | None = None
    """StorageClass of the volume. Unset: the cluster's default. Cannot change."""


class OvnDatabase(PodSettings):
    """A database of OVN, replicated with Raft."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.replicas >= oldSelf.replicas",
            "replicas: servers can be added but not taken away, the rest would have no majority",
            "replicas",
        ),
    )

    replicas: Literal[1, 3, 5] = 3
    """Servers of the database: 1, 3 or 5. With 3 one may fail, with 5 two. Can grow."""
    storage: OvnStorage = OvnStorage()
    """The volume of each server."""


class OvnController(PodSettings):
    """ovn-controller on the hypervisor nodes."""

    bridge_mappings: BridgeMappings | None = None
    """Bridges to physical networks, for chassis that do not set their own."""
    encapsulation: Encapsulation = "geneve"
    """Encapsulation of tunnels between hypervisors, for chassis that do not set their own."""


class OpenVSwitch(PodSettings):
    """Open vSwitch on the hypervisor nodes."""

    datapath: Literal["auto", "netdev", "system"] = "auto"
    """system uses the kernel datapath, netdev the userspace datapath, auto system if the
    node has its module."""


NB_PORT, SB_PORT = 6641, 6642
"""Ports of the databases in their pods."""


class ServicePort(Struct):
    """Service of a database, created by the operator."""

    name: Name
    """Name of the Service."""
    port: Port
    """Port of the Service."""


class Connection(Struct):
    """How others reach a database."""

    service: ServicePort
    """The Service in front of the database."""


class NeutronIntegration(Struct):
    """How Neutron and the hypervisors reach the databases."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.nbConnection.service.name != self.sbConnection.service.name",
            "nbConnection and sbConnection: need Services of different names",
        ),
    )

    nb_connection: Connection = Connection(service=ServicePort(name="ovn-nb", port=NB_PORT))
    """The northbound database, for Neutron."""
    sb_connection: Connection = Connection(service=ServicePort(name="ovn-sb", port=SB_PORT))
    """The southbound database, for Neutron and the hypervisors."""


class OvnTls(Struct):
    """TLS between all parts of OVN."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!(has(self.certSecretRef) && has(self.issuerRef))",
            "tls: set at most one of certSecretRef and issuerRef",
        ),
    )

    enabled: bool = False
    """Use TLS on all database connections."""
    cert_secret_ref: SecretRef | None = None
    """Secret with tls.crt, tls.key and ca.crt."""
    issuer_ref: IssuerRef | None = None
    """Issuer of the certificate, instead of a Secret. With neither, the operator creates a CA."""


class OVNClusterSpec(Struct):
    """Desired state of OVN."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.tls.enabled == oldSelf.tls.enabled"
            " || (self.northbound.replicas == 1 && self.southbound.replicas == 1)",
            "tls.enabled: can change only while each database has one server, because several "
            "know each other by their addresses",
            "tls",
        ),
    )

    ovn_image: Image
    """Container image with OVN's databases, northd and controller."""
    ovs_image: Image
    """Container image with Open vSwitch."""
    image_pull_secrets: PullSecrets | None = None
    """Credentials of the registries that the images come from."""
    northbound: OvnDatabase = OvnDatabase()
    """The northbound database: logical networks, written by Neutron."""
    southbound: OvnDatabase = OvnDatabase()
    """The southbound database: chassis and bindings, read by hypervisors."""
    northd: Workload = Workload()
    """The daemons that translate from the northbound to the southbound database. One is active."""
    controller: OvnController = OvnController()
    """ovn-controller on the hypervisor nodes. Unset nodeSelector: nodes that are labelled
    node-role.kubernetes.io/hypervisor."""
    ovs: OpenVSwitch = OpenVSwitch()
    """Open vSwitch on the hypervisor nodes. Unset nodeSelector: nodes that are labelled
    node-role.kubernetes.io/hypervisor."""
    neutron_integration: NeutronIntegration = NeutronIntegration()
    """How Neutron and the hypervisors reach the databases."""
    tls: OvnTls = OvnTls()
    """TLS between all parts of OVN."""
    deletion_policy: DeletionPolicy = "Retain"
    """Retain keeps the volumes of the databases when this object is deleted, Delete removes
    them."""


class Endpoints(Struct):
    """Addresses of the databases."""

    northbound: str | None = None
    """Northbound database, as a connection string of OVN."""
    southbound: str | None = None
    """Southbound database, as a connection string of OVN."""


class OVNClusterStatus(Struct):
    """Observed state of OVN."""

    conditions: Conditions = []
    """Conditions of the cluster. Ready is True when all others are."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    endpoints: Endpoints | None = None
    """Addresses of the databases, for Neutron and the hypervisors."""
    chassis_count: int | None = None
    """Hypervisors that are registered in the southbound database."""
    active_controllers: int | None = None
    """Hypervisors whose ovn-controller is up to date."""


@resource(
    CLUSTER,
    short_names=("ovnc",),
    columns=(
        READY,
        Column("Chassis", ".status.chassisCount", "integer"),
        Column("Active", ".status.activeControllers", "integer"),
        Column("Northbound", ".status.endpoints.northbound", priority=1),
        AGE,
    ),
)
class OVNCluster(Resource[OVNClusterSpec, OVNClusterStatus]):
    """OVN, the virtual network: two databases and northd, and daemons on every hypervisor."""

    __rules__: ClassVar[tuple[Rule, ...]] = (NAME_FITS,)


class ChassisEncapsulation(Struct):
    """How other hypervisors reach this one."""

    type: Encapsulation = "geneve"
    """Tunnel type."""
    ip: IpAddress
    """Address of the hypervisor on the network between hypervisors."""


class OVNChassisSpec(Struct):
    """Desired state of a chassis."""

    hostname: Annotated[Name, Immutable]
    """Name of the node. Cannot change."""
    system_id: Annotated[
        str, Meta(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][-._A-Za-z0-9]*$"), Immutable
    ]
    """Identity of the node's Open vSwitch. Cannot change."""
    bridge_mappings: BridgeMappings | None = None
    """Bridges to physical networks. Unset: those of the OVNCluster."""
    encapsulation: ChassisEncapsulation
    """How other hypervisors reach this one."""


class OVNChassisStatus(Struct):
    """Observed state of a chassis."""

    conditions: Conditions = []
    """Conditions of the chassis. Ready is True when all others are."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    registered_at: Timestamp | None = None
    """When the chassis first appeared in the southbound database."""
    last_heartbeat: Timestamp | None = None
    """When its ovn-controller last confirmed that it is up to date."""


@resource(
    CHASSIS,
    short_names=("ovnch",),
    columns=(
        READY,
        Column("Hostname", ".spec.hostname"),
        Column("Address", ".spec.encapsulation.ip"),
        Column("Heartbeat", ".status.lastHeartbeat", "date"),
        AGE,
    ),
)
class OVNChassis(Resource[OVNChassisSpec, OVNChassisStatus]):
    """A hypervisor in the virtual network. Created by the operator, one for each hypervisor node."""
