"""The parts of a ControlPlane below OpenStack: databases, brokers, caches, network, Ceph."""

from typing import Annotated, ClassVar

from cobaltcore.api.base import (
    Immutable,
    Meta,
    Name,
    Rule,
    Size,
    Struct,
)
from cobaltcore.api.blocks import NamespacedRef, SecretRef
from cobaltcore.api.ovn import BridgeMappings
from cobaltcore.api.pods import Replicas, Resources
from cobaltcore.api.storage import Monitors, PoolName

ClusterSize = Annotated[int, Meta(ge=1, le=9)]


class ClusterSettings(Struct):
    """A server or cluster of servers with volumes."""

    storage_size: Size | None = None
    """Size of each server's volume. May grow if the storage class allows it. Unset: 10Gi."""
    storage_class: Annotated[Name, Immutable] | None = None
    """StorageClass of the volumes. Unset: the cluster's default. Cannot change."""
    resources: Resources | None = None
    """CPU and memory of each server. Unset: the default of the server."""


class MariaDB(ClusterSettings):
    """The database server."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.replicas) || self.replicas == 1 || self.replicas >= 3",
            "replicas: 1 for a single server, 3 or more for Galera; "
            "two servers cannot tell which of them survived",
            "replicas",
        ),
    )

    replicas: ClusterSize | None = None
    """Servers: 1, or 3 and more as a Galera cluster. Unset: global.replicas, or else 3."""


class RabbitMQ(ClusterSettings):
    """The message broker."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.replicas) || self.replicas % 2 == 1",
            "replicas: must be odd, so that a majority exists",
            "replicas",
        ),
    )

    replicas: ClusterSize | None = None
    """Brokers, an odd number. Unset: global.replicas, or else 3."""


class Sentinel(Struct):
    """Automatic failover of Valkey."""

    enabled: bool = True
    """Elect a new primary when the primary fails."""


class Valkey(ClusterSettings):
    """The key-value store."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.replicas) || !self.sentinel.enabled || self.replicas % 2 == 1",
            "replicas: must be odd with sentinel, so that a majority exists",
            "replicas",
        ),
    )

    replicas: ClusterSize | None = None
    """Servers. Unset: global.replicas, or else 3."""
    sentinel: Sentinel = Sentinel()
    """Automatic failover."""


class Memcached(Struct):
    """The cache servers. Their contents may be lost at any time."""

    replicas: Replicas | None = None
    """Servers. Unset: global.replicas, or else 3."""
    memory: Size | None = None
    """Memory for cached data, per server. Unset: 256Mi."""
    resources: Resources | None = None
    """CPU and memory of each server. Unset: what memory needs."""


class Ovn(ClusterSettings):
    """The virtual network."""

    replicas: Annotated[int, Meta(ge=1, le=5)] | None = None
    """Servers of each of the two databases: 1, 3 or 5. Unset: global.replicas, or
    else 3."""
    storage_size: Annotated[Size, Immutable] | None = None
    """Size of each server's volume. Unset: 10Gi. Cannot change."""
    cluster_ref: NamespacedRef | None = None
    """An existing OVNCluster to use; none is created."""
    bridge_mappings: BridgeMappings | None = None
    """Bridges of the hypervisors to physical networks. Unset: external to br-external."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.replicas) || self.replicas % 2 == 1",
            "replicas: must be 1, 3 or 5, so that a majority exists",
            "replicas",
        ),
        Rule(
            "!has(self.storageSize) || has(oldSelf.storageSize)",
            "storageSize is immutable: it cannot be set later, because volumes of 10Gi exist",
        ),
    )


class Infrastructure(Struct):
    """Databases, brokers, caches and the virtual network."""

    mariadb: MariaDB = MariaDB()
    """The database server of all services."""
    rabbitmq: RabbitMQ = RabbitMQ()
    """The message broker of all services."""
    valkey: Valkey | None = None
    """A key-value store. No service needs one. Unset: none."""
    memcached: Memcached = Memcached()
    """The cache servers of all services."""
    ovn: Ovn = Ovn()
    """The virtual network, if neutron is on."""


class CephPools(Struct):
    """Pools of Ceph, by what is kept in them."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.images != self.volumes && self.images != self.ephemeral"
            " && self.volumes != self.ephemeral",
            "pools: images, volumes and ephemeral must be three different pools",
        ),
    )

    images: PoolName = "images"
    """Images of Glance."""
    volumes: PoolName = "volumes"
    """Volumes of Cinder."""
    ephemeral: PoolName = "vms"
    """Disks of servers without a volume."""


class Ceph(Struct):
    """A Ceph cluster: one of Rook, or an external one."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.clusterRef) != has(self.monitors)",
            "ceph: set exactly one of clusterRef and monitors",
        ),
        Rule(
            "!has(self.monitors) || has(self.secretRef)",
            "secretRef: required with monitors",
            "secretRef",
        ),
    )

    cluster_ref: NamespacedRef | None = None
    """CephCluster of Rook in the ControlPlane's namespace. Pools and clients are created on it."""
    monitors: Monitors | None = None
    """Monitors of an external Ceph as host:port."""
    secret_ref: SecretRef | None = None
    """Secret with the keys of the Ceph users glance, cinder and nova, one key of that name each.
    Required with monitors."""
    pools: CephPools = CephPools()
    """Pools to use. With monitors they must exist."""


class Storage(Struct):
    """Where images and volumes are kept."""

    ceph: Ceph | None = None
    """The Ceph cluster for images, volumes and disks."""
