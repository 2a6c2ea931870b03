"""Settings of an installation of the operators: of the charts and of `cobalt install`. Pure.

The structs are the source of values.yaml and values.schema.json. An installation has values for all
operators, and may override each of them for one operator below `operators.NAME`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from cobaltcore.api.base import Port, Struct
from cobaltcore.api.pods import Resources, Toleration
from cobaltcore.deploy import workload
from cobaltcore.engine import podpolicy, releases
from cobaltcore.engine.desired.placement import CLUSTER_CRITICAL
from cobaltcore.runtime.errors import RuntimeFault

Values: TypeAlias = dict[str, Any]

OPERATORS = "operators"
"""Where an installation overrides values of single operators."""

_LIMITS = podpolicy.PodPolicy()
_OptionalName = Annotated[
    str, Meta(max_length=253, pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$")
]
_OptionalNamespace = Annotated[
    str, Meta(max_length=63, pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$")
]
_Registry = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._:-]+(/[A-Za-z0-9._-]+)*$")]
_NodeLabel = Annotated[str, Meta(pattern=r"^[A-Za-z0-9./_-]+(=[A-Za-z0-9._-]*)?$")]


class ValuesInvalid(RuntimeFault):
    """Values that the schema does not allow."""


class _Block(Struct, omit_defaults=False, forbid_unknown_fields=True):
    """Nothing is accepted and ignored."""


class Image(_Block):
    """The image of the operators."""

    repository: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._:/-]+$")] = (
        f"{releases.REGISTRY}/cobaltcore"
    )
    """Registry and name."""
    tag: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]*$")] = version("cobaltcore")
    """Ignored if a digest is set."""
    digest: Annotated[str, Meta(pattern=r"^(sha256:[0-9a-f]{64})?$")] = ""
    """For example sha256:…; it is the same image for ever."""
    pull_policy: Literal["IfNotPresent", "Always", "Never"] = "IfNotPresent"
    """When nodes pull it."""


class PullSecret(_Block):
    """A Secret of type kubernetes.io/dockerconfigjson in the namespace of the operators."""

    name: str
    """Its name."""


class LeaderElection(_Block):
    """Which of several replicas works."""

    enabled: bool = True
    """One replica works, the others have filled caches and follow within seconds. Off is for one
    replica only."""


class Webhook(_Block):
    """Admission webhooks, of operators that have some."""

    enabled: bool = True
    """Without them the schemas of the CRDs still hold."""
    port: Port = 9443
    """Port of the pod that the API server reaches through a Service."""


class ServiceMonitor(_Block):
    """For the Prometheus operator."""

    enabled: bool = False
    """Create a ServiceMonitor; asks for the CRDs of the Prometheus operator."""
    interval: Annotated[str, Meta(pattern=r"^[0-9]+(ms|s|m|h)$")] = "30s"
    """Time between two scrapes."""
    labels: dict[str, str] = {}
    """Labels that the Prometheus object selects ServiceMonitors by."""


class Metrics(_Block):
    """Metrics of the operators themselves."""

    enabled: bool = True
    """Create a Service in front of /metrics."""
    service_monitor: ServiceMonitor = ServiceMonitor()
    """How Prometheus finds it."""


class ServiceAccount(_Block):
    """The account of an operator."""

    create: bool = True
    """Off: it exists."""
    name: _OptionalName = ""
    """Empty: the name of the Deployment. Set it for one operator only: accounts are not shared."""
    annotations: dict[str, str] = {}
    """Annotations, for example of a cloud's workload identity."""


class Switch(_Block):
    """An object that may be left out."""

    enabled: bool = True
    """Whether it is created."""


class Crds(_Block):
    """CustomResourceDefinitions."""

    install: bool = True
    """Create and upgrade them with the release; they are kept when it is removed. Off: another
    pipeline applies them first."""


class OperatorValues(_Block):
    """Values of one operator, or of all."""

    image: Image = Image()
    """The image of the operators."""
    image_pull_secrets: list[PullSecret] = []
    """Secrets for its registry."""
    replica_count: Annotated[int, Meta(ge=0, le=10)] = 2
    """Pods of each operator, spread over nodes."""
    resources: Resources = Resources(
        requests={"cpu": "50m", "memory": "96Mi"}, limits={"memory": "512Mi"}
    )
    """CPU and memory of a pod."""
    leader_election: LeaderElection = LeaderElection()
    """Which of several replicas works."""
    log_level: Literal["DEBUG", "INFO", "WARNING"] = "INFO"
    """Least level of log lines."""
    webhook: Webhook = Webhook()
    """Admission webhooks."""
    metrics: Metrics = Metrics()
    """Metrics of the operators."""
    service_account: ServiceAccount = ServiceAccount()
    """The account of an operator."""
    watch_namespace: _OptionalNamespace = ""
    """Serve the objects of this namespace only, which must exist, with Roles in it. Empty: all."""
    allowed_registries: tuple[_Registry, ...] = _LIMITS.registries
    """Registries, or paths in one, of images of pods with rights over their node."""
    allowed_node_labels: tuple[_NodeLabel, ...] = _LIMITS.node_labels
    """Labels (KEY or KEY=VALUE) of nodes on which such pods run."""
    pod_disruption_budget: Switch = Switch()
    """At most one pod of an operator is evicted at a time."""
    network_policy: Switch = Switch(enabled=False)
    """Allow connections to the ports of webhooks and health only."""
    priority_class_name: str = CLUSTER_CRITICAL
    """Priority of the pods."""
    node_selector: dict[str, str] = {}
    """Labels of nodes that the pods run on."""
    tolerations: list[Toleration] = []
    """Taints of nodes that the pods tolerate."""
    affinity: dict[str, Any] = {}
    """Affinity of the pods."""
    pod_annotations: dict[str, str] = {}
    """Annotations of the pods."""
    extra_env: list[dict[str, Any]] = []
    """Further environment variables of the containers, as of pods, for example HTTPS_PROXY."""
    crds: Crds = Crds()
    """CustomResourceDefinitions."""


def defaults() -> Values:
    """All values of an operator that nothing overrides."""
    found: Values = msgspec.to_builtins(OperatorValues())
    return found


def image_of(reference: str) -> Values:
    """The value of an image reference."""
    found = workload.parse_image(reference)
    return {
        "repository": found.repository,
        "tag": found.tag or "",
        "digest": found.digest or "",
    }


def check(settings: Mapping[str, Any]) -> None:
    """Raise unless the values of one operator are valid."""
    try:
        msgspec.convert(settings, OperatorValues)
    except msgspec.ValidationError as error:
        raise ValuesInvalid(f"values are invalid: {error}") from error


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> Values:
    """Maps are merged, everything else is replaced, as Helm does."""
    merged = dict(below)
    for key, value in above.items():
        known = merged.get(key)
        both = isinstance(known, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(known, value) if both else value  # type: ignore[arg-type] # a Mapping
    return merged


@dataclass(frozen=True, slots=True)
class Installation:
    """Where operators are installed, and the values that the user sets."""

    namespace: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def check(self, known: Iterable[str]) -> None:
        """Raise unless the values are valid; `known` are the names of operators."""
        names = sorted(known)
        check(self._shared)
        overrides = self.settings.get(OPERATORS) or {}
        for name, values in overrides.items():
            if name not in names:
                raise ValuesInvalid(
                    f"values are invalid: there is no operator {name!r} - at `$.{OPERATORS}`; "
                    f"operators are {', '.join(names)}"
                )
            check({key: value for key, value in values.items() if key != "enabled"})
        for name in names:
            if (found := self.of(name)) is not None:
                check_replicas(found, name)

    def of(self, name: str = "") -> Values | None:
        """The values of an operator, or of a process with several; None if it is not enabled."""
        mine = (self.settings.get(OPERATORS) or {}).get(name) or {}
        found = merge(merge(defaults(), self._shared), mine)
        return found if found.pop("enabled", True) else None

    @property
    def _shared(self) -> Values:
        return {key: value for key, value in self.settings.items() if key != OPERATORS}


ONE_LEADER = (
    "leaderElection.enabled: false asks for replicaCount 1: two replicas would do the same"
)


def check_replicas(values: Values, name: str) -> None:
    """Raise if several replicas would work at the same time."""
    if values["replicaCount"] > 1 and not values["leaderElection"]["enabled"]:
        raise ValuesInvalid(f"values of {name!r} are invalid: {ONE_LEADER}")
