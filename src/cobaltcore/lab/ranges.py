"""Which addresses an instance of the lab uses. Pure.

Every instance owns one /14 of the shared address space 100.64.0.0/10 (RFC 6598), which is neither
routed on the internet nor common in company networks: nodes, Services, pods, and one /16 that is
left for networks made on top of the cluster.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

SHARED = IPv4Network("100.64.0.0/10")
BLOCKS = tuple(SHARED.subnets(new_prefix=14))
MOST_NODES = 32
API_PORT = 6443

_FIRST_NODE = 10


@dataclass(frozen=True, slots=True)
class Ranges:
    """The addresses of the instance with this number."""

    index: int

    @property
    def block(self) -> IPv4Network:
        """All addresses of the instance."""
        return BLOCKS[self.index]

    @property
    def nodes(self) -> IPv4Network:
        """The network that connects the nodes and the host."""
        return next(self._sixteenth(0).subnets(new_prefix=24))

    @property
    def services(self) -> IPv4Network:
        """Cluster IPs."""
        return self._sixteenth(1)

    @property
    def pods(self) -> IPv4Network:
        """Addresses of pods, one /24 for each node."""
        return self._sixteenth(2)

    @property
    def spare(self) -> IPv4Network:
        """For networks made on top of the cluster, for example a provider network."""
        return self._sixteenth(3)

    @property
    def tunnels(self) -> IPv4Network:
        """The network through which virtual switches of nodes reach each other."""
        return self._spare_part(0)

    @property
    def outside(self) -> IPv4Network:
        """For a provider network of servers, reached from a namespace and never from the host."""
        return self._spare_part(1)

    @property
    def host(self) -> IPv4Address:
        """The host's own address in the network of the nodes."""
        return self.nodes.broadcast_address - 1

    @property
    def kubernetes(self) -> IPv4Address:
        """The Service of the API server."""
        return self.services.network_address + 1

    @property
    def dns(self) -> IPv4Address:
        """The Service of the name server."""
        return self.services.network_address + 10

    @property
    def api_url(self) -> str:
        """Where the API server is reached from the host and from the nodes."""
        return f"https://{self.node(0)}:{API_PORT}"

    def node(self, number: int) -> IPv4Address:
        """The address of a node."""
        return self.nodes.network_address + _FIRST_NODE + number

    def tunnel(self, number: int) -> IPv4Address:
        """The address of a node's virtual switch."""
        return self.tunnels.network_address + _FIRST_NODE + number

    def pods_of(self, number: int) -> IPv4Network:
        """The addresses of the pods of a node."""
        return IPv4Network((self.pods.network_address + 256 * number, 24))

    def _spare_part(self, position: int) -> IPv4Network:
        return IPv4Network((self.spare.network_address + 256 * position, 24))

    def _sixteenth(self, position: int) -> IPv4Network:
        return list(self.block.subnets(new_prefix=16))[position]
