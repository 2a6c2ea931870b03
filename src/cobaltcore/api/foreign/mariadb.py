"""mariadb-operator (`k8s.mariadb.com/v1alpha1`): the fields that we set and read."""

from typing import Literal

import msgspec

from cobaltcore.api.base import Quantity
from cobaltcore.api.foreign.kubernetes import Resources
from cobaltcore.api.foreign.manifest import Conditions
from cobaltcore.runtime.meta import Kind, Struct

MARIADB = Kind("k8s.mariadb.com", "v1alpha1", "MariaDB", "mariadbs")
MAXSCALE = Kind("k8s.mariadb.com", "v1alpha1", "MaxScale", "maxscales")
DATABASE = Kind("k8s.mariadb.com", "v1alpha1", "Database", "databases")
USER = Kind("k8s.mariadb.com", "v1alpha1", "User", "users")
GRANT = Kind("k8s.mariadb.com", "v1alpha1", "Grant", "grants")
BACKUP = Kind("k8s.mariadb.com", "v1alpha1", "Backup", "backups")
PHYSICAL_BACKUP = Kind("k8s.mariadb.com", "v1alpha1", "PhysicalBackup", "physicalbackups")
RESTORE = Kind("k8s.mariadb.com", "v1alpha1", "Restore", "restores")

CleanupPolicy = Literal["Skip", "Delete"]


class MariaDBRef(Struct):
    """The server that an object belongs to."""

    name: str
    namespace: str | None = None
    wait_for_it: bool = True


class ObjectRef(Struct):
    """Another object of the same group."""

    name: str
    namespace: str | None = None


class SecretKeyRef(Struct):
    """One key of a Secret in the same namespace."""

    name: str
    key: str


class GeneratedSecretKeyRef(Struct):
    """One key of a Secret that the operator fills when `generate` is set and it is missing."""

    name: str
    key: str
    generate: bool = False


class Galera(Struct):
    """Synchronous replication between all replicas."""

    enabled: bool


class ClaimRetention(Struct):
    """What becomes of volumes when the server is deleted; they are kept by default."""

    when_deleted: Literal["Retain", "Delete"] | None = None
    when_scaled: Literal["Retain", "Delete"] | None = None


class Storage(Struct):
    """The volume of each replica."""

    size: Quantity
    storage_class_name: str | None = None
    pvc_retention_policy: ClaimRetention | None = None


class Metrics(Struct):
    """The exporter, a sidecar of the server."""

    enabled: bool


class SecretRef(Struct):
    """A Secret in the same namespace."""

    name: str


class Tls(Struct):
    """Transport encryption of client connections."""

    enabled: bool
    required: bool | None = None
    server_ca_secret_ref: SecretRef | None = msgspec.field(name="serverCASecretRef", default=None)
    server_cert_secret_ref: SecretRef | None = None


class Require(Struct):
    """What connections of an account must have."""

    ssl: bool | None = None


class MariaDBSpec(Struct):
    """A server or a Galera cluster."""

    replicas: int = 1
    image: str | None = None
    port: int = 3306
    root_password_secret_key_ref: GeneratedSecretKeyRef
    storage: Storage
    galera: Galera | None = None
    max_scale_ref: ObjectRef | None = None
    metrics: Metrics | None = None
    tls: Tls | None = None
    my_cnf: str | None = None
    resources: Resources | None = None
    node_selector: dict[str, str] = {}


class MariaDBStatus(Conditions):
    """What the operator reports about a server."""

    replicas: int = 0
    current_primary: str = ""
    current_primary_pod_index: int | None = None


class MaxScaleSpec(Struct):
    """The proxy that sends writes to the primary."""

    replicas: int = 1
    image: str | None = None
    maria_db_ref: MariaDBRef
    metrics: Metrics | None = None
    resources: Resources | None = None


class DatabaseSpec(Struct):
    """A database on a server."""

    maria_db_ref: MariaDBRef
    name: str
    character_set: str = "utf8"
    collate: str = "utf8_general_ci"
    cleanup_policy: CleanupPolicy | None = None
    requeue_interval: str | None = None
    retry_interval: str | None = None


class UserSpec(Struct):
    """An account on a server."""

    maria_db_ref: MariaDBRef
    name: str
    host: str = "%"
    password_secret_key_ref: SecretKeyRef
    max_user_connections: int = 10
    require: Require | None = None
    cleanup_policy: CleanupPolicy | None = None
    requeue_interval: str | None = None
    retry_interval: str | None = None


class GrantSpec(Struct):
    """What an account may do in a database."""

    maria_db_ref: MariaDBRef
    username: str
    host: str = "%"
    database: str = "*"
    table: str = "*"
    privileges: list[str]
    grant_option: bool = False
    cleanup_policy: CleanupPolicy | None = None
    requeue_interval: str | None = None
    retry_interval: str | None = None


class GrantStatus(Conditions):
    """What the operator reports about a grant."""

    current_privileges: list[str] = []


class Schedule(Struct):
    """When a backup runs."""

    cron: str
    suspend: bool = False


class VolumeResources(Struct):
    """How much space a claim asks for."""

    requests: dict[str, Quantity]


class VolumeClaim(Struct):
    """A volume that a backup is written to."""

    access_modes: list[str]
    resources: VolumeResources
    storage_class_name: str | None = None


class S3(Struct):
    """A bucket that a backup is written to."""

    bucket: str
    endpoint: str
    prefix: str | None = None
    region: str | None = None
    access_key_id_secret_key_ref: SecretKeyRef | None = None
    secret_access_key_secret_key_ref: SecretKeyRef | None = None


class BackupStorage(Struct):
    """Where a backup is kept; exactly one is set."""

    persistent_volume_claim: VolumeClaim | None = None
    s3: S3 | None = None


class BackupSpec(Struct):
    """A logical backup, once or on a schedule."""

    maria_db_ref: MariaDBRef
    databases: list[str] = []
    schedule: Schedule | None = None
    storage: BackupStorage
    max_retention: str | None = None


class PhysicalBackupSpec(Struct):
    """A copy of the data files, once or on a schedule."""

    maria_db_ref: MariaDBRef
    schedule: Schedule | None = None
    storage: BackupStorage
    max_retention: str | None = None
    target: Literal["Replica", "PreferReplica"] | None = None


class BackupRef(Struct):
    """The logical backup that is read back."""

    name: str


class RestoreSpec(Struct):
    """Reads a logical backup back into a server."""

    maria_db_ref: MariaDBRef
    backup_ref: BackupRef
    database: str | None = None
    target_recovery_time: str | None = None
