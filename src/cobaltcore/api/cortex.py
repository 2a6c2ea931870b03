"""cortex.c5c3.io Cortex: the deployment of the scheduler that ranks hosts for others."""

from typing import Annotated, ClassVar

from cobaltcore.api.base import (
    AGE,
    READY,
    Column,
    Meta,
    Resource,
    Rule,
    Scale,
    Struct,
    Url,
    list_map,
    resource,
)
from cobaltcore.api.blocks import (
    Conditions,
    Database,
    DeletionPolicy,
    Dependencies,
    Image,
    KeystoneAuth,
)
from cobaltcore.api.pods import PodSettings, PullSecrets, Replicas
from cobaltcore.runtime.meta import Kind

CORTEX = Kind("cortex.c5c3.io", "v1alpha1", "Cortex", "cortexes")

StepName = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$")]
Weight = Annotated[float, Meta(ge=-1000.0, le=1000.0)]


class FilterStep(Struct):
    """A filter of the pipeline."""

    name: StepName
    """Name of the filter, as Cortex knows it or as Nova does, for example filter_correct_az or
    AvailabilityZoneFilter."""


class WeigherStep(Struct):
    """A weigher of the pipeline."""

    name: StepName
    """Name of the weigher, as Cortex knows it or as Nova does, for example kvm_binpack or
    RAMWeigher."""
    weight: Weight = 1.0
    """How much the weigher counts, from -1000 to 1000. A negative weight turns it around."""


class SchedulerPipeline(Struct):
    """How hosts are chosen for one OpenStack service."""

    enabled: bool = False
    """Whether the service may ask Cortex. False: its requests are refused."""
    filters: Annotated[list[FilterStep], Meta(max_length=64), list_map("name")] = []
    """Filters that remove hosts, in this order. Empty: the tested set for the service."""
    weighers: Annotated[list[WeigherStep], Meta(max_length=64), list_map("name")] = []
    """Weighers that rank the hosts that are left. Empty: the tested set for the service."""


class Pipelines(Struct):
    """Which OpenStack services Cortex chooses hosts for."""

    nova: SchedulerPipeline | None = None
    """Compute hosts for servers. Unset: off."""
    cinder: SchedulerPipeline | None = None
    """Pools for volumes. Unset: off."""
    manila: SchedulerPipeline | None = None
    """Pools for file shares. Unset: off."""


class PrometheusSource(Struct):
    """Metrics that Cortex learns from."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!self.enabled || has(self.endpoint)",
            "endpoint: required when enabled is true",
            "endpoint",
        ),
    )

    enabled: bool = False
    """Whether metrics are read."""
    endpoint: Url | None = None
    """Address of Prometheus, for example http://prometheus.monitoring:9090."""


class NovaSource(Struct):
    """Servers, flavors and hypervisors that Cortex learns from."""

    enabled: bool = False
    """Whether Nova is read."""
    endpoint: Url | None = None
    """Address of the compute API. Unset: the one in the service catalogue."""


class Datasources(Struct):
    """Where Cortex gets its knowledge from; Datasource objects can add more."""

    prometheus: PrometheusSource | None = None
    """Metrics. Unset: none are read."""
    nova: NovaSource | None = None
    """Servers, flavors and hypervisors. Unset: they are not read."""


class CortexSpec(PodSettings):
    """Desired state of Cortex."""

    replicas: Replicas = 2
    """Number of pods. All of them answer requests; one at a time collects data."""
    image: Image
    """Container image of Cortex."""
    image_pull_secrets: PullSecrets | None = None
    """Credentials of the registries that the image comes from."""
    database: Database
    """Where Cortex keeps what it collects."""
    keystone: KeystoneAuth
    """How Cortex authenticates with Keystone to read from the other services."""
    pipelines: Pipelines | None = None
    """Which OpenStack services Cortex chooses hosts for. Unset: none."""
    datasources: Datasources | None = None
    """Where Cortex gets its knowledge from. Unset: only from Datasource objects."""
    depends_on: Dependencies | None = None
    """Conditions of other objects that must be True before Cortex starts."""
    deletion_policy: DeletionPolicy = "Retain"
    """What happens to the collected data when this object is deleted: Retain keeps it, Delete
    removes it for good."""


class CortexStatus(Struct):
    """Observed state of Cortex."""

    conditions: Conditions = []
    """Conditions of Cortex, among them PipelinesReady. Ready is True when all others are."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    endpoint: str | None = None
    """Address at which services ask for a ranking."""
    active_pipelines: list[str] = []
    """Services that can ask for a ranking now."""
    replicas: int | None = None
    """Pods that exist."""
    ready_replicas: int | None = None
    """Pods that answer requests."""
    selector: str | None = None
    """Labels of the pods, for autoscalers."""


@resource(
    CORTEX,
    short_names=("ctx",),
    columns=(
        READY,
        Column("Replicas", ".status.readyReplicas", "integer"),
        Column("Pipelines", ".status.activePipelines"),
        Column("Endpoint", ".status.endpoint", priority=1),
        AGE,
    ),
    scale=Scale(),
)
class Cortex(Resource[CortexSpec, CortexStatus]):
    """Cortex, the scheduler that Nova, Cinder and Manila may ask to rank their hosts.

    It is optional: without it the services decide alone.
    """
