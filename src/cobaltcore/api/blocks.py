"""Blocks that every service kind is put together from: learn them once. Pure: no I/O."""

from typing import Annotated, ClassVar, Literal

import msgspec

from cobaltcore.api.base import (
    HostPort,
    Immutable,
    Meta,
    Name,
    Port,
    Rule,
    Struct,
    Url,
    list_map,
)
from cobaltcore.api.pods import PodSettings, PullSecrets
from cobaltcore.api.release import ReleaseName
from cobaltcore.runtime.meta import Condition

Host = Annotated[
    str, Meta(max_length=253, pattern=r"^([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|[0-9A-Fa-f:]+)$")
]
DatabaseName = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_]+$")]
SecretKey = Annotated[str, Meta(min_length=1, max_length=253, pattern=r"^[-._A-Za-z0-9]+$")]
# Values end up in INI files, where a line break would start a new option.
OptionValue = Annotated[str, Meta(max_length=4096, pattern=r"^[^\r\n]*$")]
Options = Annotated[dict[str, OptionValue], Meta(max_length=128)]
IniSection = Annotated[
    str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.:-]*$")
]
ExtraConfig = Annotated[dict[str, Options], Meta(max_length=64)]
RegionName = Annotated[
    str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?$")
]
ImageRepository = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=255,
        pattern=r"^([A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*$",
    ),
]
ImageTag = Annotated[str, Meta(max_length=128, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")]
ImageDigest = Annotated[str, Meta(max_length=71, pattern=r"^sha256:[a-f0-9]{64}$")]
DeletionPolicy = Literal["Retain", "Delete"]
Conditions = Annotated[list[Condition], Meta(max_length=32), list_map("type")]


class Ref(Struct):
    """Another object in the same namespace."""

    name: Name
    """Name of the object."""


class NamespacedRef(Struct):
    """Another object, in this or another namespace."""

    name: Name
    """Name of the object."""
    namespace: Name | None = None
    """Namespace of the object. Unset: the namespace of the object that refers to it."""


class SecretRef(Struct):
    """A Secret in the same namespace."""

    name: Name
    """Name of the Secret."""
    key: SecretKey | None = None
    """Key of the value within the Secret. Unset: the usual key or keys for the purpose."""


class Image(Struct):
    """A container image, by tag or by digest. A change rolls the pods."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("has(self.tag) != has(self.digest)", "image: set exactly one of tag and digest"),
    )

    repository: ImageRepository
    """Registry and path, without tag, for example ghcr.io/c5c3/keystone."""
    tag: ImageTag | None = None
    """Upstream version (28.0.0), patch revision (28.0.0-p1), branch or short commit."""
    digest: ImageDigest | None = None
    """Content digest, sha256: and 64 hexadecimal digits. Pins the exact image."""


class Database(Struct):
    """The service's database: made on a MariaDB of the cluster, or given."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!(has(self.clusterRef) && has(self.host))",
            "database: set at most one of clusterRef and host; "
            "with neither, the Secret of secretRef names the host",
        ),
        Rule(
            "!(has(self.clusterRef) && has(self.port))",
            "port: only allowed with host; a clusterRef brings its own port",
            "port",
        ),
    )

    cluster_ref: Annotated[Ref, Immutable] | None = None
    """MariaDB in the same namespace. Database, user and grant are created on it."""
    host: Host | None = None
    """Existing server. Database and user must be there already; nothing is created."""
    port: Port | None = None
    """Port of an existing server. Unset: 3306, or 5432 where the service uses PostgreSQL."""
    database: Annotated[DatabaseName, Immutable]
    """Name of the database. Cannot change: the data would stay behind."""
    secret_ref: SecretRef
    """Secret with the keys username and password, and host (and port) if neither clusterRef
    nor host is set. A changed password is taken over with a rolling restart."""


class Messaging(Struct):
    """The service's message broker: made on a RabbitMQ of the cluster, or given."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.clusterRef) != has(self.hosts)",
            "messaging: set exactly one of clusterRef and hosts",
        ),
    )

    cluster_ref: Ref | None = None
    """RabbitmqCluster in the same namespace. Virtual host, user and permission are created."""
    hosts: (
        Annotated[list[HostPort], Meta(min_length=1, max_length=16, extra={"list_set": True})]
        | None
    ) = None
    """Existing brokers as host:port. Nothing is created on them."""
    virtual_host: Annotated[str, Meta(min_length=1, max_length=255)] | None = None
    """Virtual host. Unset: the name of the object with clusterRef, / with hosts."""
    secret_ref: SecretRef
    """Secret with the keys username and password."""


class Cache(Struct):
    """The service's Memcached servers: those of the control plane, or given."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.clusterRef) != has(self.servers)",
            "cache: set exactly one of clusterRef and servers",
        ),
    )

    cluster_ref: Ref | None = None
    """Memcached StatefulSet in the same namespace; its pods are used as servers."""
    servers: (
        Annotated[list[HostPort], Meta(min_length=1, max_length=16, extra={"list_set": True})]
        | None
    ) = None
    """Existing servers as host:port."""
    backend: Literal[
        "dogpile.cache.bmemcached",
        "dogpile.cache.memcached",
        "dogpile.cache.pymemcache",
        "oslo_cache.memcache_pool",
    ] = "dogpile.cache.pymemcache"
    """Client library that talks to the servers."""


class AppCredentialRef(Struct):
    """The Secret that holds a Keystone application credential."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.secretName) != has(self.name)",
            "appCredentialRef: set exactly one of secretName and name",
        ),
    )

    secret_name: Name | None = None
    """Secret with the keys application_credential_id and application_credential_secret."""
    name: Name | None = None
    """The same as secretName, under the name that Cortex and Tempest use."""

    @property
    def secret(self) -> str:
        """The Secret's name, whichever field holds it."""
        return self.secret_name or self.name or ""


class KeystoneAuth(Struct):
    """How the service logs in to Keystone."""

    auth_url: Url
    """Address of the identity API with its version, for example https://keystone:5000/v3."""
    app_credential_ref: AppCredentialRef
    """Secret with the application credential that the service uses. A rotated credential is
    taken over with a rolling restart."""
    region: RegionName | None = None
    """Region whose endpoints the service uses. Unset: RegionOne."""
    ca_secret_ref: SecretRef | None = None
    """Secret with the CA certificates to trust, key ca.crt. Unset: the system's."""


class Policy(Struct):
    """Changes to who may do what, in oslo.policy's language. A change rolls the API pods."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.rules) || has(self.configMapRef)",
            "policyOverrides: set rules, configMapRef or both",
        ),
        Rule(
            "!has(self.rules) || self.rules.all(name, name != '')",
            "rules: a rule needs a name, for example identity:get_user",
            "rules",
        ),
    )

    rules: (
        Annotated[
            dict[str, Annotated[str, Meta(max_length=2048)]], Meta(min_length=1, max_length=256)
        ]
        | None
    ) = None
    """Rule name to check string, for example identity:get_user to role:reader. Win over those
    of the ConfigMap."""
    config_map_ref: Ref | None = None
    """ConfigMap with the key policy.yaml: a flat map of rule names to check strings."""


class Plugin(Struct):
    """A driver or plugin of the service with a section of its own in the configuration."""

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    """What it is called, for people."""
    config_section: IniSection
    """Section of the configuration file. Unique within the object."""
    config: Options = {}
    """Options of the section."""


class FilterPosition(Struct):
    """Place of a filter in the request pipeline."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.after) != has(self.before)",
            "position: set exactly one of after and before",
        ),
    )

    after: IniSection | None = None
    """Filter that comes directly before this one."""
    before: IniSection | None = None
    """Filter that comes directly after this one."""


class Middleware(Struct):
    """A filter that requests pass on their way to the service."""

    name: IniSection
    """Name of the filter. Unique within the object."""
    filter_factory: Annotated[
        str, Meta(max_length=255, pattern=r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_.]*$")
    ]
    """Python entry point as module:function."""
    position: FilterPosition
    """Where in the pipeline it sits."""
    config: Options = {}
    """Options of the filter."""


Plugins = Annotated[list[Plugin], Meta(max_length=32), list_map("configSection")]
Middlewares = Annotated[list[Middleware], Meta(max_length=16), list_map("name")]


class Dependency(Struct):
    """A condition of another object that must be True before this one starts."""

    kind: Annotated[str, Meta(max_length=63, pattern=r"^[A-Z][A-Za-z0-9]*$")]
    """Kind of the object, for example Keystone."""
    name: Name
    """Name of the object in the same namespace."""
    condition: Annotated[str, Meta(max_length=316, pattern=r"^[A-Z][A-Za-z0-9]*$")] = "Ready"
    """Type of the condition that must be True."""


Dependencies = Annotated[
    list[Dependency], Meta(max_length=32), list_map("kind", "name", "condition")
]


class IssuerRef(Struct):
    """A cert-manager issuer."""

    name: Name
    """Name of the issuer."""
    kind: Literal["ClusterIssuer", "Issuer"] = "ClusterIssuer"
    """ClusterIssuer, or Issuer of the same namespace."""


class Tls(Struct):
    """Encryption of the service's own endpoint."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!(has(self.issuerRef) && has(self.secretRef))",
            "tls: set at most one of issuerRef and secretRef",
        ),
    )

    enabled: bool = False
    """Serve https instead of http."""
    issuer_ref: IssuerRef | None = None
    """Issuer of the certificate, renewed without restart."""
    secret_ref: SecretRef | None = None
    """Existing Secret with the keys tls.crt, tls.key and ca.crt, instead of an issuer."""


class ServiceSpec(PodSettings):
    """What all OpenStack services have in common."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(has(self.preStopSleepSeconds) ? self.preStopSleepSeconds : 5) < "
            "(has(self.terminationGracePeriodSeconds) ? self.terminationGracePeriodSeconds : 30)",
            "preStopSleepSeconds: must be less than terminationGracePeriodSeconds "
            "(5 and 30 where unset)",
            "preStopSleepSeconds",
        ),
        Rule(
            "!has(self.extraConfig) || self.extraConfig.all(section, section != '')",
            "extraConfig: a section needs a name, for example DEFAULT",
            "extraConfig",
        ),
        Rule(
            "!has(self.extraConfig) || self.extraConfig.all(section, "
            "!('connection' in self.extraConfig[section]) && "
            "!('transport_url' in self.extraConfig[section]) && "
            "!('application_credential_secret' in self.extraConfig[section]))",
            "extraConfig: connection, transport_url and application_credential_secret come from "
            "Secrets and cannot be set here",
            "extraConfig",
        ),
    )

    image_pull_secrets: PullSecrets | None = None
    """Credentials of the registries that the images come from."""
    termination_grace_period_seconds: Annotated[int, Meta(ge=10, le=3600)] | None = None
    """Seconds that a pod gets to finish its requests when it is stopped. Unset: 30."""
    pre_stop_sleep_seconds: Annotated[int, Meta(ge=0, le=600)] | None = None
    """Seconds that a pod keeps serving after it is told to stop, until no one sends it requests
    any more. Unset: 5."""
    tls: Tls | None = None
    """Encryption of the service's endpoint. Unset: plain http."""
    policy_overrides: Policy | None = None
    """Changes to the service's access rules."""
    extra_config: ExtraConfig | None = None
    """Options for the configuration file: section to option to value. Win over everything that
    the operator sets. Not for secrets."""
    depends_on: Dependencies | None = None
    """What must be the case before the service is brought up."""
    deletion_policy: DeletionPolicy = "Retain"
    """What happens to databases and keys when this object is deleted: Retain keeps them,
    Delete removes them for good."""


class ServiceStatus(Struct):
    """What all OpenStack services report."""

    conditions: Conditions = []
    """Facts about the service. Ready is True when all others are."""
    observed_generation: int | None = None
    """The generation of the spec that this status speaks about."""
    endpoint: str | None = None
    """Address at which the service answers inside the cluster."""
    installed_release: ReleaseName | None = None
    """OpenStack release that the database and all pods are at."""
    application_credential_id: str | None = msgspec.field(
        name="applicationCredentialID", default=None
    )
    """Application credential that all pods use."""
    replicas: int | None = None
    """API pods that exist."""
    ready_replicas: int | None = None
    """API pods that serve requests."""
    selector: str | None = None
    """Labels of the API pods, for autoscalers."""
