"""Kinds that every Kubernetes cluster serves, and the parts of their status that we read."""

import msgspec

from cobaltcore.api.base import Quantity
from cobaltcore.runtime.meta import Condition, Kind, Struct

CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")
ENDPOINTS = Kind("", "v1", "Endpoints", "endpoints")
EVENT = Kind("events.k8s.io", "v1", "Event", "events")
NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
NODE = Kind("", "v1", "Node", "nodes", namespaced=False)
PERSISTENT_VOLUME = Kind("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
PERSISTENT_VOLUME_CLAIM = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
POD = Kind("", "v1", "Pod", "pods")
SECRET = Kind("", "v1", "Secret", "secrets")
SERVICE = Kind("", "v1", "Service", "services")
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts")

DAEMON_SET = Kind("apps", "v1", "DaemonSet", "daemonsets")
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments")
REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets")
STATEFUL_SET = Kind("apps", "v1", "StatefulSet", "statefulsets")
CRON_JOB = Kind("batch", "v1", "CronJob", "cronjobs")
JOB = Kind("batch", "v1", "Job", "jobs")
HORIZONTAL_POD_AUTOSCALER = Kind(
    "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"
)
POD_DISRUPTION_BUDGET = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")

ENDPOINT_SLICE = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
NETWORK_POLICY = Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")

LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")
PRIORITY_CLASS = Kind(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False
)
STORAGE_CLASS = Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)

ROLE = Kind("rbac.authorization.k8s.io", "v1", "Role", "roles")
ROLE_BINDING = Kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
CLUSTER_ROLE = Kind(
    "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False
)
CLUSTER_ROLE_BINDING = Kind(
    "rbac.authorization.k8s.io",
    "v1",
    "ClusterRoleBinding",
    "clusterrolebindings",
    namespaced=False,
)
SELF_SUBJECT_ACCESS_REVIEW = Kind(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    namespaced=False,
)

CUSTOM_RESOURCE_DEFINITION = Kind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
MUTATING_WEBHOOK_CONFIGURATION = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    namespaced=False,
)
VALIDATING_ADMISSION_POLICY = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    namespaced=False,
)
VALIDATING_ADMISSION_POLICY_BINDING = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    namespaced=False,
)
VALIDATING_WEBHOOK_CONFIGURATION = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)


class Resources(Struct):
    """Compute resources of one container."""

    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}


class DeploymentStatus(Struct):
    """How far a rollout of a Deployment is."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    conditions: list[Condition] = []


class StatefulSetStatus(Struct):
    """How far a rollout of a StatefulSet is; it is done when both revisions are equal."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""


class DaemonSetStatus(Struct):
    """How far a rollout of a DaemonSet is."""

    observed_generation: int = 0
    desired_number_scheduled: int = 0
    updated_number_scheduled: int = 0
    number_ready: int = 0
    number_available: int = 0


class JobStatus(Struct):
    """Outcome of a Job: the conditions `Complete` and `Failed` are final."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    start_time: str | None = None
    completion_time: str | None = None
    conditions: list[Condition] = []


class NodeAddress(Struct):
    """One address of a Node."""

    type: str
    address: str


class NodeStatus(Struct):
    """Status of a Node."""

    addresses: list[NodeAddress] = []
    capacity: dict[str, str] = {}
    allocatable: dict[str, str] = {}
    conditions: list[Condition] = []


class Taint(Struct):
    """A mark on a Node that repels pods which do not tolerate it."""

    key: str
    effect: str
    value: str = ""


class NodeSpec(Struct):
    """Whether a Node takes new pods."""

    unschedulable: bool = False
    taints: list[Taint] = []


class ContainerState(Struct):
    """Why a container waits or ended; at most one of the two is set."""

    waiting: "ContainerReason | None" = None
    terminated: "ContainerReason | None" = None


class ContainerReason(Struct):
    """Reason and message of a container's state."""

    reason: str = ""
    message: str = ""
    exit_code: int = 0


class ContainerStatus(Struct):
    """One container of a running Pod."""

    name: str
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()


class PodStatus(Struct):
    """What the kubelet reports about a Pod."""

    phase: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    reason: str = ""
    message: str = ""
    conditions: list[Condition] = []
    init_container_statuses: list[ContainerStatus] = []
    container_statuses: list[ContainerStatus] = []
