"""Neutron: the network service."""

from typing import Annotated, ClassVar, Literal

import msgspec

from cobaltcore.api import toggles
from cobaltcore.api.base import (
    AGE,
    NAME_FITS,
    PORT_NUMBER,
    READY,
    Column,
    Meta,
    Resource,
    Rule,
    Struct,
    Url,
    checked,
    list_set,
    resource,
)
from cobaltcore.api.blocks import (
    Database,
    Image,
    KeystoneAuth,
    Messaging,
    NamespacedRef,
    SecretKeyRef,
    SecretRef,
    ServiceSpec,
    ServiceStatus,
    TokenCache,
)
from cobaltcore.api.pods import PodSettings, Workload
from cobaltcore.runtime.meta import Kind

KIND = Kind("neutron.openstack.c5c3.io", "v1alpha1", "Neutron", "neutrons")

_CONNECTION = (
    r"(tcp|ssl):([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\]):" + PORT_NUMBER
)
OvnConnection = Annotated[
    str,
    Meta(min_length=1, max_length=1024),
    checked(
        Rule(
            f"self.matches(r'^{_CONNECTION}(,{_CONNECTION})*$')",
            "must be tcp:HOST:PORT or ssl:HOST:PORT, several of them separated by commas",
        )
    ),
]
TypeDriver = Literal["flat", "geneve", "gre", "local", "vlan", "vxlan"]
MechanismDriver = Literal[
    "l2population", "logger", "macvtap", "openvswitch", "ovn", "sriovnicswitch"
]
"""Those that Neutron itself brings."""
DriverName = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[a-z0-9][-_a-z0-9]*$")]


class Ovn(Struct):
    """OVN, the backend of the networks."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.nbConnection) == has(self.sbConnection)",
            "nbConnection and sbConnection: set both or neither",
        ),
    )

    enabled: bool = True
    """Use OVN."""
    cluster_ref: NamespacedRef | None = None
    """OVNCluster whose endpoints are used where the connections below are unset. Unset: the
    one in the namespace ovn-system."""
    nb_connection: OvnConnection | None = None
    """Northbound database, for example tcp:ovn-nb.ovn-system:6641."""
    sb_connection: OvnConnection | None = None
    """Southbound database, for example tcp:ovn-sb.ovn-system:6642."""
    tls_secret_ref: SecretRef | None = None
    """Secret with tls.crt, tls.key and ca.crt for ssl: connections. Unset: that of the
    OVNCluster."""


class Ml2(Struct):
    """ML2 plugin: network types and mechanism drivers."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!('ovn' in self.mechanismDrivers) || 'geneve' in self.typeDrivers",
            "typeDrivers: must contain geneve, because the mechanism driver ovn needs it",
            "typeDrivers",
        ),
        Rule(
            "self.tenantNetworkTypes.all(type, type in self.typeDrivers)",
            "tenantNetworkTypes: every type must also be in typeDrivers",
            "tenantNetworkTypes",
        ),
    )

    type_drivers: Annotated[list[TypeDriver], Meta(min_length=1, max_length=6), list_set()] = (
        msgspec.field(default_factory=lambda: ["geneve", "vlan", "flat"])
    )
    """Network types that are enabled."""
    tenant_network_types: Annotated[
        list[TypeDriver], Meta(min_length=1, max_length=6), list_set()
    ] = msgspec.field(default_factory=lambda: ["geneve"])
    """Network types of project networks, tried in this order."""
    mechanism_drivers: Annotated[
        list[MechanismDriver], Meta(min_length=1, max_length=6), list_set()
    ] = msgspec.field(default_factory=lambda: ["ovn"])
    """Mechanism drivers of ML2: those of the image."""
    extension_drivers: Annotated[list[DriverName], Meta(max_length=16), list_set()] = (
        msgspec.field(default_factory=lambda: ["port_security"])
    )
    """Extension drivers of ML2."""


class MetadataAgent(PodSettings):
    """Metadata agents on hypervisor nodes: servers reach Nova's metadata API through them.

    Sections of extraConfig that the agents read (DEFAULT, AGENT, ovn, ovs, oslo_concurrency and
    those of privsep) hold for them as well. Unset nodeSelector: nodes that are labelled
    node-role.kubernetes.io/hypervisor.
    """

    enabled: bool = True
    """Run the agents."""
    shared_secret_ref: SecretKeyRef | None = None
    """Secret that the agents share with Nova, key metadata_proxy_shared_secret unless named.
    Unset: that of the Nova named nova; no agent runs until it exists."""
    nova_metadata_url: Url | None = None
    """Address of Nova's metadata API. Unset: that of the Nova named nova in the same namespace."""


class NeutronSpec(ServiceSpec):
    """Desired state of Neutron."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.ovn.enabled || !('ovn' in self.ml2.mechanismDrivers)",
            "ml2.mechanismDrivers: cannot contain ovn while ovn.enabled is false",
            "ml2",
        ),
        Rule(
            "!has(oldSelf.database) || has(self.database)",
            "database: cannot be removed once it is set",
        ),
    )

    api: Workload = Workload()
    """The network API, at port 9696."""
    image: Image | None = None
    """Container image of Neutron. Unset: that of the release."""
    database: Database | None = None
    """Database of Neutron. Without it no pods are created."""
    messaging: Messaging | None = None
    """Message broker of Neutron. Without it no pods are created."""
    keystone: KeystoneAuth | None = None
    """How Neutron authenticates with Keystone. Without it no pods are created."""
    cache: TokenCache | None = None
    """Where validated tokens are cached. Unset: in each process."""
    ovn: Ovn = Ovn()
    """OVN, the backend of the networks."""
    ml2: Ml2 = Ml2()
    """ML2 plugin: network types and mechanism drivers."""
    metadata_agent: MetadataAgent = MetadataAgent()
    """Metadata agents on hypervisor nodes: servers reach Nova's metadata API through them. Unset
    nodeSelector: nodes that are labelled node-role.kubernetes.io/hypervisor."""


class NeutronStatus(ServiceStatus):
    """Observed state of Neutron."""


@resource(KIND, short_names=("neu",), columns=(READY, Column("Endpoint", ".status.endpoint"), AGE))
class Neutron(Resource[NeutronSpec, NeutronStatus]):
    """Neutron, the network service: networks, routers, addresses and security groups.

    OVN realises the networks on the hypervisors. Its API answers at port 9696.
    """

    __rules__: ClassVar[tuple[Rule, ...]] = (NAME_FITS,)


@toggles.block("neutron")
class NeutronSettings(toggles.ServiceToggle):
    """Networks, realised by OVN."""

    api: toggles.WorkloadSettings | None = None
    """The network API."""
    ml2: Ml2 | None = None
    """ML2 plugin. Unset: geneve, vlan and flat networks of OVN."""
