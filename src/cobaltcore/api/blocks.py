"""Building blocks that all service kinds share. Pure: no I/O."""

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
    checked,
    list_map,
    list_set,
)
from cobaltcore.api.options import ExtraConfig, IniSection, Options, PolicyRules
from cobaltcore.api.pods import PodSettings, PullSecrets
from cobaltcore.api.release import ReleaseName
from cobaltcore.runtime.meta import Condition

_DNS_NAME = "[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?"
_IPV6 = "[0-9A-Fa-f]{0,4}(:[0-9A-Fa-f]{0,4}){2,7}"
Host = Annotated[str, Meta(max_length=253, pattern=f"^({_DNS_NAME}|{_IPV6})$")]
DatabaseName = Annotated[
    str,
    Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_]+$"),
    checked(
        Rule(
            "!(self.lowerAscii() in ['information_schema', 'mysql', 'performance_schema', 'sys'])",
            "cannot be a database of the server itself: information_schema, mysql, "
            "performance_schema or sys",
        )
    ),
]
SecretKey = Annotated[str, Meta(min_length=1, max_length=253, pattern=r"^[-._A-Za-z0-9]+$")]
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
    """Another object, in this or another namespace, which has to permit it with a ReferenceGrant."""

    name: Name
    """Name of the object."""
    namespace: Name | None = None
    """Namespace of the object. Unset: the namespace of the object that refers to it."""


class SecretRef(Struct):
    """A Secret in the same namespace, with a fixed set of keys."""

    name: Name
    """Name of the Secret."""


class SecretKeyRef(SecretRef):
    """One value of a Secret in the same namespace."""

    key: SecretKey | None = None
    """Key of the value within the Secret. Unset: the usual key for the purpose."""


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


class ServerTls(Struct):
    """Encryption of connections to a server."""

    ca_secret_ref: SecretKeyRef
    """Secret with the CA bundle to trust, key ca.crt unless named. Pods see no other key of it."""


class Database(Struct):
    """The service's database: created on a MariaDB of the cluster, or external."""

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
    """External server. Database and user must exist on it; nothing is created."""
    port: Port | None = None
    """Port of an external server. Unset: 3306, or 5432 where the service uses PostgreSQL."""
    database: Annotated[DatabaseName, Immutable]
    """Name of the database. Cannot change: the data would stay behind."""
    secret_ref: SecretRef
    """Secret with the keys username and password, and host (and port) if neither clusterRef
    nor host is set. A changed password restarts the pods one after the other."""
    tls: ServerTls | None = None
    """Encrypt connections, and check the certificate for the host. Unset: plain connections."""


class Messaging(Struct):
    """The service's virtual host: created on a RabbitMQ of the cluster, or external brokers."""

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
    """External brokers as host:port. Nothing is created on them."""
    virtual_host: Annotated[str, Meta(min_length=1, max_length=255, pattern="^[!-~]+$")] | None = (
        None
    )
    """Virtual host. Unset: the name of the object with clusterRef, / with hosts."""
    secret_ref: SecretRef
    """Secret with the keys username and password."""
    tls: ServerTls | None = None
    """Encrypt connections, with clusterRef to port 5671. Unset: plain connections."""


class TokenCache(Struct):
    """Memcached servers that hold validated tokens: in the cluster, or external.

    What the service caches is encrypted with the key in the Secret NAME-cache, which is created.
    """

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.clusterRef) != has(self.servers)",
            "cache: set exactly one of clusterRef and servers",
        ),
    )

    cluster_ref: Ref | None = None
    """StatefulSet of Memcached in the same namespace; its pods are the servers."""
    servers: (
        Annotated[list[HostPort], Meta(min_length=1, max_length=16, extra={"list_set": True})]
        | None
    ) = None
    """External servers as host:port."""


class Cache(TokenCache):
    """Memcached servers of the service: in the cluster, or external.

    What the service caches is encrypted with the key in the Secret NAME-cache, which is created.
    """

    backend: Literal["dogpile.cache.pymemcache"] = "dogpile.cache.pymemcache"
    """Backend of oslo.cache that talks to the servers. The others would execute what they read."""


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
    """How the service authenticates with Keystone."""

    auth_url: Url
    """Address of the identity API with its version, for example https://keystone:5000/v3."""
    app_credential_ref: AppCredentialRef
    """Secret with the service's application credential. A rotated credential restarts the pods
    one after the other."""
    region: RegionName | None = None
    """Region whose endpoints the service uses. Unset: RegionOne."""
    ca_secret_ref: SecretKeyRef | None = None
    """Secret with the CA bundle to trust, key ca.crt unless named. Unset: that of the image."""


class Policy(Struct):
    """Policy rules of oslo.policy that replace the defaults. A change restarts the API pods."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.rules) || has(self.configMapRef)",
            "policyOverrides: set rules, configMapRef or both",
        ),
    )

    rules: PolicyRules | None = None
    """Rule name to check string, for example identity:get_user to role:reader. They take
    precedence over those of the ConfigMap."""
    config_map_ref: Ref | None = None
    """ConfigMap with the key policy.yaml: a flat map of rule names to check strings."""


class Plugin(Struct):
    """A driver or plugin of the service with a section of its own in the configuration."""

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    """Name for people; it has no effect."""
    config_section: IniSection
    """Section of the configuration file. Unique within the object."""
    config: Options = {}
    """Options of the section."""


Plugins = Annotated[list[Plugin], Meta(max_length=32), list_map("configSection")]


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
    """TLS of the service's endpoint."""

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


class EndpointTls(Tls):
    """TLS of the service's endpoint."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!(has(self.hosts) && has(self.secretRef))",
            "tls.hosts: cannot be added to the certificate of secretRef; "
            "put them into that certificate",
            "hosts",
        ),
    )

    hosts: Annotated[list[Host], Meta(max_length=16), list_set()] | None = None
    """Further names and addresses that the certificate is valid for, as those of a load balancer."""


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
    )

    image_pull_secrets: PullSecrets | None = None
    """Credentials of the registries that the images come from."""
    termination_grace_period_seconds: Annotated[int, Meta(ge=10, le=3600)] | None = None
    """Seconds that a terminating pod gets to finish its requests. Unset: 30."""
    pre_stop_sleep_seconds: Annotated[int, Meta(ge=0, le=600)] | None = None
    """Seconds that a terminating pod keeps serving, until its address is out of all load
    balancers. Unset: 5."""
    tls: EndpointTls | None = None
    """TLS of the service's endpoint. Unset: http."""
    policy_overrides: Policy | None = None
    """Policy rules of the service that replace the defaults."""
    extra_config: ExtraConfig | None = None
    """Options of the configuration file: section to option to value. They take precedence over
    those of the operator. Not for secrets."""
    depends_on: Dependencies | None = None
    """Conditions of other objects that must be True before the service starts."""
    deletion_policy: DeletionPolicy = "Retain"
    """What happens to databases and keys when this object is deleted: Retain keeps them,
    Delete removes them for good."""

    # Fields of the kinds that have them; the others have none.
    @property
    def image(self) -> Image | None:
        return None

    @property
    def database(self) -> Database | None:
        return None

    @property
    def messaging(self) -> Messaging | None:
        return None

    @property
    def keystone(self) -> KeystoneAuth | None:
        return None

    @property
    def cache(self) -> TokenCache | None:
        return None


class ServiceStatus(Struct):
    """What all OpenStack services report."""

    conditions: Conditions = []
    """Conditions of the service. Ready is True when all others are."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    endpoint: str | None = None
    """URL of the API inside the cluster."""
    installed_release: ReleaseName | None = None
    """OpenStack release that the databases and all pods are at. Unset for images whose tag does
    not belong to a release."""
    application_credential_id: str | None = msgspec.field(
        name="applicationCredentialID", default=None
    )
    """ID of the application credential that all pods use."""
    replicas: int | None = None
    """API pods that exist."""
    ready_replicas: int | None = None
    """API pods that serve requests."""
    selector: str | None = None
    """Labels of the API pods, for autoscalers."""
