"""ceph.c5c3.io: a Ceph monitor in a third place, for storage that spans two sites."""

from typing import Annotated, Any, ClassVar, Literal

from cobaltcore.api.base import (
    AGE,
    Column,
    Duration,
    Immutable,
    Meta,
    Name,
    Resource,
    Rule,
    Struct,
    resource,
)
from cobaltcore.api.blocks import Conditions, NamespacedRef, SecretKey
from cobaltcore.api.pods import NodeSelector, Resources
from cobaltcore.runtime.meta import Kind

REMOTE_CLUSTER = Kind("ceph.c5c3.io", "v1alpha1", "RemoteCluster", "remoteclusters")
REMOTE_ARBITER = Kind("ceph.c5c3.io", "v1alpha1", "RemoteArbiter", "remotearbiters")

State = Literal["Init", "Progressing", "Error", "Ready", "Deleting"]
# Rook calls its own monitors a, b, c: an id with a dash in it is never one of them.
MonIdPrefix = Annotated[str, Meta(max_length=32, pattern=r"^[a-z][a-z0-9-]*-$")]
IPv4 = Annotated[str, Meta(max_length=15, extra={"format": "ipv4"})]

# The default of a whole spec is checked before its own fields have theirs, hence has().
AT_LEAST_A_SECOND = Rule(
    "!has(self.checkInterval) || duration(self.checkInterval) >= duration('1s')",
    "checkInterval: must be at least 1s",
    "checkInterval",
)


class AccessKeyRef(Struct):
    """The Secret with the kubeconfig of a remote cluster."""

    name: Name | None = None
    """Name of the Secret. Unset: the name of the RemoteCluster."""
    key: SecretKey = "kubeconfig.yaml"
    """Key of the kubeconfig within the Secret."""


class RemoteClusterSpec(Struct):
    """How to reach another Kubernetes cluster, and where in it to work."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        AT_LEAST_A_SECOND,
        Rule(
            "!has(self.timeout) || !has(self.checkInterval) || "
            "(duration(self.timeout) > duration('0s') && "
            "duration(self.timeout) < duration(self.checkInterval))",
            "timeout: must be more than 0s and less than checkInterval",
            "timeout",
        ),
    )

    namespace: Annotated[Name, Immutable] = "default"
    """Namespace in the remote cluster that everything is put into. Must exist."""
    accesskey_ref: AccessKeyRef = AccessKeyRef()
    """Secret with the kubeconfig. Its user needs all rights on deployments, services, secrets
    and configmaps in the namespace."""
    check_interval: Duration = "1m"
    """How often the connection and the rights are checked."""
    timeout: Duration = "10s"
    """How long one request to the remote cluster may take. Less than checkInterval."""


class RemoteClusterStatus(Struct):
    """Whether the remote cluster can be used."""

    conditions: Conditions = []
    """The checks in their order: SecretAvailable, ConfigValid, ClusterReachable,
    HasEnoughPermissions."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    state: State | None = None
    """Ready when all checks passed."""
    message: str | None = None
    """The first thing that is wrong, for people."""


@resource(
    REMOTE_CLUSTER,
    short_names=("rcl",),
    columns=(
        Column("Namespace", ".spec.namespace"),
        Column("State", ".status.state"),
        Column("Message", ".status.message"),
        AGE,
    ),
)
class RemoteCluster(Resource[RemoteClusterSpec, RemoteClusterStatus]):
    """Access to another Kubernetes cluster, checked all the time.

    It stays until no RemoteArbiter uses it.
    """


class RemoteClusterSource(Struct):
    """The remote cluster: an existing RemoteCluster, or one that is created for this arbiter."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.name) != has(self.spec)",
            "remoteCluster: set exactly one of name and spec",
        ),
    )

    name: Annotated[Name, Immutable] | None = None
    """Name of a RemoteCluster in the same namespace. Cannot change: the monitor would stay
    behind in the old cluster."""
    spec: RemoteClusterSpec | None = None
    """Spec of a RemoteCluster that is created for this arbiter and deleted with it."""


class ArbiterService(Struct):
    """How the monitor is reached from the other sites."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.nodeIp) == (self.type == 'NodePort')",
            "nodeIp: required with type NodePort and only allowed with it",
            "nodeIp",
        ),
    )

    type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = "ClusterIP"
    """Type of the Service: ClusterIP where the service networks are connected, NodePort or
    LoadBalancer where they are not."""
    node_ip: IPv4 | None = None
    """IPv4 address of a node of the remote cluster at which the port is reached. With type
    NodePort only."""


class ArbiterDeployment(Struct):
    """Where the monitor runs and how much it gets. A change restarts it."""

    node_selector: NodeSelector | None = None
    """Labels that a node of the remote cluster must carry. Unset: any node."""
    affinity: dict[str, Any] | None = None
    """Rules about nodes and neighbours, in the words of a Pod's affinity. Unset: none."""
    resources: Resources | None = None
    """CPU and memory of the monitor. Unset: those of the cluster's other monitors."""


class RemoteArbiterSpec(Struct):
    """A monitor of a Ceph cluster that runs in another Kubernetes cluster."""

    __rules__: ClassVar[tuple[Rule, ...]] = (AT_LEAST_A_SECOND,)

    remote_cluster: RemoteClusterSource
    """The cluster that the monitor runs in."""
    ceph_cluster: Annotated[NamespacedRef, Immutable]
    """The Rook CephCluster that the monitor belongs to. Cannot change: a monitor keeps the
    data of one Ceph cluster."""
    mon_id_prefix: Annotated[MonIdPrefix, Immutable] = "ext-"
    """Start of the monitor's id; a letter follows. Ends with a dash, so that it never meets an
    id of Rook."""
    check_interval: Duration = "1m"
    """How often the monitor is checked."""
    service: ArbiterService | None = None
    """How the monitor is reached. Unset: by the address of its pod."""
    deployment: ArbiterDeployment | None = None
    """Where the monitor runs and how much it gets. Unset: like the cluster's other monitors."""


class RemoteArbiterStatus(Struct):
    """Progress of the monitor."""

    conditions: Conditions = []
    """The steps in their order: RemoteClusterExists, RemoteClusterReady, CephClusterExists,
    CephClusterReady, CephClusterConfigured, MonitorDeploymentExists, MonitorDeploymentReady,
    ArbiterDeploymentExists, ArbiterDeploymentReady."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    state: State | None = None
    """Ready when the monitor is in quorum."""
    message: str | None = None
    """The first thing that is missing, for people."""
    mon_id: str | None = None
    """Id that is reserved for the monitor, for example ext-a."""


@resource(
    REMOTE_ARBITER,
    short_names=("rarb",),
    columns=(
        Column("Ceph Cluster", ".spec.cephCluster.name"),
        Column("Mon ID", ".status.monId"),
        Column("State", ".status.state"),
        Column("Message", ".status.message"),
        AGE,
    ),
)
class RemoteArbiter(Resource[RemoteArbiterSpec, RemoteArbiterStatus]):
    """A Ceph monitor in a third place, so that either of two sites may fail.

    Deleting it takes the monitor out of the quorum and removes it from the remote cluster.
    """
