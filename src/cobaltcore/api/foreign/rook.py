"""Rook (`ceph.rook.io/v1`): the fields that we set and read."""

import msgspec

from cobaltcore.runtime.meta import Condition, Kind, Struct

CEPH_CLUSTER = Kind("ceph.rook.io", "v1", "CephCluster", "cephclusters")
CEPH_BLOCK_POOL = Kind("ceph.rook.io", "v1", "CephBlockPool", "cephblockpools")
CEPH_CLIENT = Kind("ceph.rook.io", "v1", "CephClient", "cephclients")
CEPH_FILESYSTEM = Kind("ceph.rook.io", "v1", "CephFilesystem", "cephfilesystems")
CEPH_OBJECT_STORE = Kind("ceph.rook.io", "v1", "CephObjectStore", "cephobjectstores")

READY_PHASE = "Ready"
DESTROY_DATA = "yes-really-destroy-data"


class CephVersion(Struct):
    """The Ceph image."""

    image: str
    allow_unsupported: bool | None = None


class Mon(Struct):
    """Monitors; those in `external_mon_ids` are run by someone else than Rook."""

    count: int | None = None
    allow_multiple_per_node: bool | None = None
    external_mon_ids: list[str] = msgspec.field(default_factory=list, name="externalMonIDs")


class Mgr(Struct):
    """Managers."""

    count: int | None = None
    allow_multiple_per_node: bool | None = None


class Dashboard(Struct):
    """The web page of the cluster."""

    enabled: bool


class Storage(Struct):
    """Which disks become object storage daemons."""

    use_all_nodes: bool | None = None
    use_all_devices: bool | None = None
    device_filter: str | None = None


class CleanupPolicy(Struct):
    """What becomes of the data when the cluster is deleted; it stays unless this is confirmed."""

    confirmation: str | None = None
    allow_uninstall_with_volumes: bool | None = None


class External(Struct):
    """A cluster that another Rook runs."""

    enable: bool | None = None


class CephClusterSpec(Struct):
    """A Ceph cluster."""

    ceph_version: CephVersion | None = None
    data_dir_host_path: str | None = None
    mon: Mon | None = None
    mgr: Mgr | None = None
    dashboard: Dashboard | None = None
    storage: Storage | None = None
    ceph_config: dict[str, dict[str, str]] = {}
    cleanup_policy: CleanupPolicy | None = None
    external: External | None = None


class HealthDetail(Struct):
    """One health check of Ceph."""

    severity: str = ""
    message: str = ""


class Capacity(Struct):
    """How full a cluster is."""

    bytes_total: int = 0
    bytes_used: int = 0
    bytes_available: int = 0


class CephHealth(Struct):
    """Health and capacity that Ceph reports."""

    fsid: str = ""
    health: str = ""
    previous_health: str = ""
    last_changed: str = ""
    details: dict[str, HealthDetail] = {}
    capacity: Capacity | None = None


class RunningVersion(Struct):
    """Observed state of Ceph."""

    image: str = ""
    version: str = ""


class CephClusterStatus(Struct):
    """What Rook reports about a cluster."""

    phase: str = ""
    state: str = ""
    message: str = ""
    conditions: list[Condition] = []
    ceph: CephHealth | None = None
    version: RunningVersion | None = None
    observed_generation: int | None = None


class Replicated(Struct):
    """Whole copies of every object."""

    size: int
    require_safe_replica_size: bool | None = None


class ErasureCoded(Struct):
    """Pieces of every object, some of which may be lost."""

    data_chunks: int
    coding_chunks: int


class Quotas(Struct):
    """Upper limits of a pool; `max_size` is a quantity such as 10Gi."""

    max_size: str | None = None
    max_bytes: int | None = None
    max_objects: int | None = None


class PoolSpec(Struct):
    """How a pool keeps its data."""

    failure_domain: str | None = None
    device_class: str | None = None
    replicated: Replicated | None = None
    erasure_coded: ErasureCoded | None = None
    parameters: dict[str, str] = {}
    quotas: Quotas | None = None


class CephBlockPoolSpec(PoolSpec):
    """A pool of block images; `name` is for the pools that Ceph itself needs."""

    name: str | None = None
    enable_rbd_stats: bool | None = msgspec.field(default=None, name="enableRBDStats")


class PoolStatus(Struct):
    """What Rook reports about a pool, a file system or an object store."""

    phase: str = ""
    info: dict[str, str] = {}
    conditions: list[Condition] = []
    observed_generation: int | None = None


class CephBlockPoolStatus(PoolStatus):
    """What Rook reports about a pool of block images."""

    pool_id: int | None = msgspec.field(default=None, name="poolID")


class CephClientSpec(Struct):
    """A key and what it may do, per daemon type."""

    name: str | None = None
    secret_name: str | None = None
    remove_secret: bool | None = None
    caps: dict[str, str]


class CephClientStatus(Struct):
    """What Rook reports about a key; `info["secretName"]` is where it is."""

    phase: str = ""
    info: dict[str, str] = {}
    observed_generation: int | None = None


class NamedPoolSpec(PoolSpec):
    """A data pool of a file system."""

    name: str | None = None


class MetadataServer(Struct):
    """The metadata daemons of a file system."""

    active_count: int
    active_standby: bool | None = None


class CephFilesystemSpec(Struct):
    """A shared file system."""

    metadata_pool: PoolSpec
    data_pools: list[NamedPoolSpec]
    metadata_server: MetadataServer
    preserve_filesystem_on_delete: bool | None = None


class Gateway(Struct):
    """The gateways that serve S3 and Swift."""

    instances: int
    port: int | None = None
    secure_port: int | None = None
    ssl_certificate_ref: str | None = None


class KeystoneAuth(Struct):
    """Users of the object store come from Keystone."""

    url: str
    accepted_roles: list[str]
    service_user_secret_name: str
    implicit_tenants: str | None = None


class ObjectStoreAuth(Struct):
    """Where users come from."""

    keystone: KeystoneAuth


class CephObjectStoreSpec(Struct):
    """An object store."""

    metadata_pool: PoolSpec | None = None
    data_pool: PoolSpec | None = None
    preserve_pools_on_delete: bool | None = None
    gateway: Gateway
    auth: ObjectStoreAuth | None = None
