"""RabbitMQ cluster and topology operators (`rabbitmq.com/v1beta1`): what we set and read."""

from typing import Any, Literal

import msgspec

from cobaltcore.api.base import Quantity
from cobaltcore.api.foreign.kubernetes import Resources
from cobaltcore.api.foreign.manifest import ConditionedStatus
from cobaltcore.runtime.meta import Kind, Struct

CLUSTER = Kind("rabbitmq.com", "v1beta1", "RabbitmqCluster", "rabbitmqclusters")
VHOST = Kind("rabbitmq.com", "v1beta1", "Vhost", "vhosts")
USER = Kind("rabbitmq.com", "v1beta1", "User", "users")
PERMISSION = Kind("rabbitmq.com", "v1beta1", "Permission", "permissions")
POLICY = Kind("rabbitmq.com", "v1beta1", "Policy", "policies")


class LocalRef(Struct):
    """An object in the same namespace."""

    name: str


class ClusterReference(Struct):
    """The broker that a topology object belongs to: a cluster, or any broker by Secret."""

    name: str | None = None
    namespace: str | None = None
    connection_secret: LocalRef | None = None


class Persistence(Struct):
    """The volume of each replica."""

    storage: Quantity = "10Gi"
    storage_class_name: str | None = None


class Configuration(Struct):
    """Settings of the broker."""

    additional_config: str | None = None
    advanced_config: str | None = None
    additional_plugins: list[str] = []


class Tls(Struct):
    """Transport encryption of client connections."""

    secret_name: str | None = None
    ca_secret_name: str | None = None
    disable_non_tls_listeners: bool = msgspec.field(default=False, name="disableNonTLSListeners")


class ClusterSpec(Struct):
    """A broker or a cluster of brokers."""

    replicas: int = 1
    image: str | None = None
    persistence: Persistence | None = None
    rabbitmq: Configuration | None = None
    resources: Resources | None = None
    tls: Tls | None = None
    delay_start_seconds: int = 30
    termination_grace_period_seconds: int = 604800


class SecretReference(Struct):
    """Where the operator put the administrator's account, and under which keys."""

    name: str
    namespace: str
    keys: dict[str, str] = {}


class ServiceReference(Struct):
    """The Service that clients connect to."""

    name: str
    namespace: str


class DefaultUser(Struct):
    """The administrator's account."""

    secret_reference: SecretReference | None = None
    service_reference: ServiceReference | None = None


class ClusterStatus(ConditionedStatus):
    """What the operator reports about a cluster."""

    default_user: DefaultUser | None = None
    binding: LocalRef | None = None


class VhostSpec(Struct):
    """A virtual host: queues and exchanges of their own."""

    name: str
    rabbitmq_cluster_reference: ClusterReference
    default_queue_type: Literal["quorum", "classic", "stream"] | None = None
    deletion_policy: Literal["delete", "retain"] = "delete"


class UserSpec(Struct):
    """An account; name and password come from the imported Secret, or are generated."""

    rabbitmq_cluster_reference: ClusterReference
    import_credentials_secret: LocalRef | None = None
    tags: list[str] = []


class UserStatus(ConditionedStatus):
    """Where the account's name and password are."""

    credentials: LocalRef | None = None
    username: str = ""


class Permissions(Struct):
    """Regular expressions of the names that an account may configure, write and read."""

    configure: str | None = None
    write: str | None = None
    read: str | None = None


class PermissionSpec(Struct):
    """What an account may do in a vhost; exactly one of `user` and `user_reference` is set."""

    rabbitmq_cluster_reference: ClusterReference
    vhost: str
    user: str | None = None
    user_reference: LocalRef | None = None
    permissions: Permissions


class PolicySpec(Struct):
    """Settings of all queues or exchanges whose name matches."""

    rabbitmq_cluster_reference: ClusterReference
    name: str
    vhost: str = "/"
    pattern: str
    apply_to: Literal[
        "queues", "classic_queues", "quorum_queues", "streams", "exchanges", "all"
    ] = "all"
    definition: dict[str, Any]
    priority: int = 0
