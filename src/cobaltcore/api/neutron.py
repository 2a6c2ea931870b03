"""Neutron: the network service."""

from typing import Annotated, ClassVar, Literal

import msgspec

from cobaltcore.api.base import (
    AGE,
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
    Cache,
    Database,
    Image,
    KeystoneAuth,
    Messaging,
    NamespacedRef,
    SecretRef,
    ServiceSpec,
    ServiceStatus,
)
from cobaltcore.api.pods import PodSettings, Workload
from cobaltcore.runtime.meta import Kind

KIND = Kind("neutron.openstack.c5c3.io", "v1alpha1", "Neutron", "neutrons")

_CONNECTION = r"(tcp|ssl):([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}"
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
DriverName = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[a-z0-9][-_a-z0-9]*$")]


class Ovn(Struct):
    """The OVN that realises the networks."""

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
    """Which kinds of networks there are and who realises them."""

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
    """Kinds of networks that may exist."""
    tenant_network_types: Annotated[
        list[TypeDriver], Meta(min_length=1, max_length=6), list_set()
    ] = msgspec.field(default_factory=lambda: ["geneve"])
    """Kinds of networks that users get, tried in this order."""
    mechanism_drivers: Annotated[
        list[DriverName], Meta(min_length=1, max_length=8), list_set()
    ] = msgspec.field(default_factory=lambda: ["ovn"])
    """Who realises networks on the hypervisors."""
    extension_drivers: Annotated[list[DriverName], Meta(max_length=16), list_set()] = (
        msgspec.field(default_factory=lambda: ["port_security"])
    )
    """Additions to networks and ports."""


class MetadataAgent(PodSettings):
    """The agents on hypervisor nodes through which servers reach Nova's metadata API.

    Unset nodeSelector: nodes that are labelled node-role.kubernetes.io/hypervisor.
    """

    enabled: bool = True
    """Run the agents."""
    shared_secret_ref: SecretRef | None = None
    """Secret with the key metadata_proxy_shared_secret that agents prove themselves with. Unset:
    the one that the Nova named nova makes; until it is there no agent runs."""
    nova_metadata_url: Url | None = None
    """Address of Nova's metadata API. Unset: that of the Nova named nova in the same namespace."""


class NeutronSpec(ServiceSpec):
    """The Neutron that should run."""

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
    """Where Neutron keeps its data. Without it nothing is started."""
    messaging: Messaging | None = None
    """How Neutron talks to its agents and notifies others. Without it nothing is started."""
    keystone: KeystoneAuth | None = None
    """How Neutron logs in to Keystone. Without it nothing is started."""
    cache: Cache | None = None
    """Where validated tokens are cached. Unset: in each process."""
    ovn: Ovn = Ovn()
    """The OVN that realises the networks."""
    ml2: Ml2 = Ml2()
    """Which kinds of networks there are and who realises them."""
    metadata_agent: MetadataAgent = MetadataAgent()
    """The agents on hypervisor nodes through which servers reach Nova's metadata API. Unset
    nodeSelector: nodes that are labelled node-role.kubernetes.io/hypervisor."""


class NeutronStatus(ServiceStatus):
    """The Neutron that runs."""


@resource(KIND, short_names=("neu",), columns=(READY, Column("Endpoint", ".status.endpoint"), AGE))
class Neutron(Resource[NeutronSpec, NeutronStatus]):
    """Neutron, the network service: networks, routers, addresses and security groups.

    OVN realises the networks on the hypervisors. Its API answers at port 9696.
    """
