"""The subnets of a lab. Pure.

Every lab has one /14 of the shared address space 100.64.0.0/10 (RFC 6598), which is neither routed
on the internet nor common in company networks: nodes, Services, pods, and one /16 for tunnels and
provider networks.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

SHARED_SPACE = IPv4Network("100.64.0.0/10")
BLOCKS = tuple(SHARED_SPACE.subnets(new_prefix=14))
MAX_NODES = 32
API_PORT = 6443

_FIRST_NODE = 10


@dataclass(frozen=True, slots=True)
class Subnets:
    """The subnets and addresses of the lab with this number."""

    index: int

    @property
    def block(self) -> IPv4Network:
        """All addresses of the lab."""
        return BLOCKS[self.index]

    @property
    def nodes(self) -> IPv4Network:
        """The network that connects the nodes and the host."""
        return next(self._slash16(0).subnets(new_prefix=24))

    @property
    def services(self) -> IPv4Network:
        """Service CIDR."""
        return self._slash16(1)

    @property
    def pods(self) -> IPv4Network:
        """Cluster CIDR: one /24 for each node."""
        return self._slash16(2)

    @property
    def spare(self) -> IPv4Network:
        """For networks on top of the cluster: tunnels, provider networks."""
        return self._slash16(3)

    @property
    def tunnels(self) -> IPv4Network:
        """The network of the Geneve tunnel endpoints."""
        return self._spare_subnet(0)

    @property
    def external(self) -> IPv4Network:
        """For a provider network; the host has no address in it."""
        return self._spare_subnet(1)

    @property
    def host(self) -> IPv4Address:
        """The host's own address in the network of the nodes."""
        return self.nodes.broadcast_address - 1

    @property
    def kubernetes(self) -> IPv4Address:
        """Cluster IP of the Service `kubernetes`."""
        return self.services.network_address + 1

    @property
    def dns(self) -> IPv4Address:
        """Cluster IP of the Service `kube-dns`."""
        return self.services.network_address + 10

    @property
    def api_url(self) -> str:
        """Where the API server is reached from the host and from the nodes."""
        return f"https://{self.node(0)}:{API_PORT}"

    def node(self, number: int) -> IPv4Address:
        return self.nodes.network_address + _FIRST_NODE + number

    def tunnel(self, number: int) -> IPv4Address:
        """The tunnel endpoint of a node."""
        return self.tunnels.network_address + _FIRST_NODE + number

    def pod_cidr(self, number: int) -> IPv4Network:
        return IPv4Network((self.pods.network_address + 256 * number, 24))

    def _spare_subnet(self, position: int) -> IPv4Network:
        return IPv4Network((self.spare.network_address + 256 * position, 24))

    def _slash16(self, position: int) -> IPv4Network:
        return list(self.block.subnets(new_prefix=16))[position]
