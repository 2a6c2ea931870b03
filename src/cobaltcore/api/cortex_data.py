"""cortex.c5c3.io Datasource, Knowledge and KPI: what Cortex collects, learns and shows."""

from typing import Annotated, Any, ClassVar, Literal

from cobaltcore.api.base import (
    AGE,
    READY,
    Column,
    Duration,
    Immutable,
    Meta,
    Name,
    Resource,
    Rule,
    Struct,
    Timestamp,
    list_map,
    resource,
)
from cobaltcore.api.blocks import Conditions
from cobaltcore.runtime.meta import Kind

DATASOURCE = Kind("cortex.c5c3.io", "v1alpha1", "Datasource", "datasources", namespaced=False)
KNOWLEDGE = Kind("cortex.c5c3.io", "v1alpha1", "Knowledge", "knowledges", namespaced=False)
KPI_KIND = Kind("cortex.c5c3.io", "v1alpha1", "KPI", "kpis", namespaced=False)

SchedulingDomain = Literal["nova", "cinder", "manila", "machines", "pods"]
HostName = Annotated[str, Meta(min_length=1, max_length=255)]
Text = Annotated[str, Meta(max_length=255)]
Description = Annotated[str, Meta(max_length=1024)]
PluginName = Annotated[str, Meta(max_length=128, pattern=r"^[a-z][a-z0-9_]*$")]
MetricName = Annotated[str, Meta(max_length=128, pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")]


class ClusterSecretRef(Struct):
    """A Secret in any namespace."""

    name: Name
    """Name of the Secret."""
    namespace: Name
    """Namespace of the Secret."""


class ObjectName(Struct):
    """Another cluster-wide object of this group."""

    name: Name
    """Name of the object."""


ObjectNames = Annotated[list[ObjectName], Meta(max_length=64), list_map("name")]


class PrometheusDatasource(Struct):
    """A query whose results are collected as a time series."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "duration(self.resolution) > duration('0s') && "
            "duration(self.resolution) <= duration(self.interval)",
            "resolution: must be more than 0s and at most interval",
            "resolution",
        ),
        Rule(
            "duration(self.interval) <= duration(self.timeRange)",
            "interval: must be at most timeRange",
            "interval",
        ),
    )

    query: Annotated[str, Meta(min_length=1, max_length=8192)]
    """Query in the language of Prometheus."""
    alias: MetricName
    """Name under which the results are kept."""
    type: MetricName
    """What a result looks like: the name of a metric type that Cortex knows."""
    time_range: Duration = "2419200s"
    """How far back results are kept. The default is four weeks."""
    interval: Duration = "86400s"
    """How much time one request asks for. The default is a day."""
    resolution: Duration = "43200s"
    """Distance between two results. The default is half a day."""
    secret_ref: ClusterSecretRef | None = None
    """Secret with the key url. Unset: the Prometheus of the Cortex object."""


class NovaObjects(Struct):
    """What is read from Nova."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.deletedServersChangesSinceMinutes) || self.type == 'deletedServers'",
            "deletedServersChangesSinceMinutes: only allowed with type deletedServers",
            "deletedServersChangesSinceMinutes",
        ),
    )

    type: Literal[
        "servers", "deletedServers", "hypervisors", "flavors", "migrations", "aggregates"
    ]
    """Kind of object."""
    deleted_servers_changes_since_minutes: Annotated[int, Meta(ge=1, le=525600)] | None = None
    """How far back deleted servers are read, in minutes. Unset: as far as Nova remembers."""


class PlacementObjects(Struct):
    """What is read from Placement."""

    type: Literal["resourceProviders", "resourceProviderInventoryUsages", "resourceProviderTraits"]
    """Kind of object."""


class StorageObjects(Struct):
    """What is read from Cinder or Manila."""

    type: Literal["storagePools"]
    """Kind of object."""


class IdentityObjects(Struct):
    """What is read from Keystone."""

    type: Literal["projects", "domains"]
    """Kind of object."""


class LimesObjects(Struct):
    """What is read from Limes."""

    type: Literal["projectCommitments"]
    """Kind of object."""


class OpenStackDatasource(Struct):
    """Objects of an OpenStack service that are collected."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        *(
            Rule(
                f"!has(self.{service}) || self.type == '{service}'",
                f"{service}: only allowed when type is {service}",
                service,
            )
            for service in ("nova", "placement", "manila", "identity", "limes", "cinder")
        ),
        Rule(
            "duration(self.syncInterval) >= duration('1s')",
            "syncInterval: must be at least 1s",
            "syncInterval",
        ),
    )

    type: Annotated[
        Literal["nova", "placement", "manila", "identity", "limes", "cinder"], Immutable
    ]
    """The service. The field of the same name sets what is read."""
    nova: NovaObjects | None = None
    """What is read from Nova. Unset: everything."""
    placement: PlacementObjects | None = None
    """What is read from Placement. Unset: everything."""
    manila: StorageObjects | None = None
    """What is read from Manila. Unset: everything."""
    identity: IdentityObjects | None = None
    """What is read from Keystone. Unset: everything."""
    limes: LimesObjects | None = None
    """What is read from Limes. Unset: everything."""
    cinder: StorageObjects | None = None
    """What is read from Cinder. Unset: everything."""
    sync_interval: Duration = "600s"
    """Time between two reads. At least 1s."""
    secret_ref: ClusterSecretRef | None = None
    """Secret with a Keystone login. Unset: the login of the Cortex object."""


class DatasourceSpec(Struct):
    """Where data comes from."""

    __rules__: ClassVar[tuple[Rule, ...]] = tuple(
        Rule(
            f"has(self.{block}) == (self.type == '{block}')",
            f"{block}: required when type is {block} and not allowed otherwise",
            block,
        )
        for block in ("prometheus", "openstack")
    )

    type: Annotated[Literal["prometheus", "openstack"], Immutable]
    """What is asked. The field of the same name has the query."""
    scheduling_domain: SchedulingDomain
    """Service whose decisions the data is for."""
    prometheus: PrometheusDatasource | None = None
    """A query to Prometheus, with type prometheus."""
    openstack: OpenStackDatasource | None = None
    """Objects of an OpenStack service, with type openstack."""
    database_secret_ref: ClusterSecretRef | None = None
    """Secret of the database that data is kept in. Unset: the database of the Cortex object."""
    sso_secret_ref: ClusterSecretRef | None = None
    """Secret with a client certificate under cert and key, where the source asks for one."""


class DatasourceStatus(Struct):
    """State of the collection."""

    conditions: Conditions = []
    """Conditions of the source. Ready is True after the last read went well."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    last_synced: Timestamp | None = None
    """When data was last read."""
    next_sync_time: Timestamp | None = None
    """When data is read next."""
    number_of_objects: int | None = None
    """Rows that are kept."""


@resource(
    DATASOURCE,
    short_names=("dsrc",),
    columns=(
        Column("Type", ".spec.type"),
        Column("Domain", ".spec.schedulingDomain"),
        READY,
        Column("Synced", ".status.lastSynced", "date"),
        Column("Objects", ".status.numberOfObjects", "integer"),
        AGE,
    ),
)
class Datasource(Resource[DatasourceSpec, DatasourceStatus]):
    """Raw data that Cortex keeps in its database: metrics, or objects of OpenStack."""


class Dependencies(Struct):
    """What must be ready first. A change of any of them starts the work again."""

    datasources: ObjectNames = []
    """Datasource objects."""
    knowledges: ObjectNames = []
    """Knowledge objects."""


class Extractor(Struct):
    """The algorithm that turns data into knowledge."""

    name: PluginName
    """Name of the algorithm, for example host_utilization_extractor."""
    config: dict[str, Any] | None = None
    """Its settings."""


class KnowledgeSpec(Struct):
    """What is learned, and from what."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "duration(self.recency) >= duration('1s')",
            "recency: must be at least 1s",
            "recency",
        ),
    )

    scheduling_domain: SchedulingDomain
    """Service whose decisions the knowledge is for."""
    extractor: Extractor
    """The algorithm."""
    recency: Duration = "60s"
    """Maximum age of the knowledge before it is extracted again. At least 1s."""
    description: Description | None = None
    """Description for people."""
    dependencies: Dependencies | None = None
    """Dependencies that it is extracted from. Unset: none."""


class KnowledgeStatus(Struct):
    """The knowledge."""

    conditions: Conditions = []
    """Conditions of the knowledge. Ready is True after the last extraction went well."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    last_extracted: Timestamp | None = None
    """When the algorithm last ran."""
    last_content_change: Timestamp | None = None
    """When its result last differed from the one before."""
    raw: dict[str, Any] | None = None
    """The result: an object with a list of features."""
    raw_length: int | None = None
    """Number of features."""


@resource(
    KNOWLEDGE,
    short_names=("know",),
    columns=(
        Column("Domain", ".spec.schedulingDomain"),
        READY,
        Column("Extracted", ".status.lastExtracted", "date"),
        Column("Changed", ".status.lastContentChange", "date"),
        Column("Recency", ".spec.recency"),
        Column("Features", ".status.rawLength", "integer"),
        AGE,
    ),
)
class Knowledge(Resource[KnowledgeSpec, KnowledgeStatus]):
    """Features that an algorithm extracts from data, for pipelines and KPIs to use."""


class KPISpec(Struct):
    """What is shown, and from what."""

    scheduling_domain: SchedulingDomain
    """Service that the figure is about."""
    impl: PluginName
    """Name of the calculation."""
    opts: dict[str, Any] | None = None
    """Its settings."""
    description: Description | None = None
    """Description for people."""
    dependencies: Dependencies | None = None
    """What it is calculated from. Unset: nothing."""


class KPIStatus(Struct):
    """Whether the figure can be calculated."""

    conditions: Conditions = []
    """Conditions of the figure. Ready is True while it is served."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    ready_dependencies: int | None = None
    """Dependencies that are ready."""
    total_dependencies: int | None = None
    """Dependencies in all."""
    dependencies_ready_frac: str | None = None
    """Both as a text, for example 2/3."""


@resource(
    KPI_KIND,
    columns=(
        Column("Domain", ".spec.schedulingDomain"),
        Column("Implementation", ".spec.impl"),
        READY,
        Column("Dependencies", ".status.dependenciesReadyFrac"),
        AGE,
    ),
)
class KPI(Resource[KPISpec, KPIStatus]):
    """A figure that is calculated from knowledge and served to Prometheus."""
