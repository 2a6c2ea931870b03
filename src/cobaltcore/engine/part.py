"""A service as a part of a ControlPlane: that side of its definition. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from cobaltcore.api.blocks import (
    Cache,
    Database,
    Messaging,
    NamespacedRef,
    Ref,
    SecretKeyRef,
    SecretRef,
    ServerTls,
    ServiceSpec,
)
from cobaltcore.api.controlplane import ControlPlaneSpec
from cobaltcore.api.infrastructure import CephPools
from cobaltcore.api.pods import Workload
from cobaltcore.api.storage import Rbd
from cobaltcore.api.toggles import ServiceToggle, WorkloadSettings
from cobaltcore.engine.desired import names

SettingsT = TypeVar("SettingsT", bound=ServiceToggle)
SpecT = TypeVar("SpecT", bound=ServiceSpec)
WorkloadT = TypeVar("WorkloadT", bound=Workload)
Phase = Literal["Identity", "Core", "Compute"]


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """The service in Keystone's catalogue."""

    type: str
    description: str
    path: str = ""
    """Path of its URLs."""


@dataclass(frozen=True, slots=True)
class GeneratedSecret:
    """A Secret with a random value, created once and then kept; parts may share one."""

    name: str
    key: str
    username: str = ""

    def reference(self) -> SecretKeyRef:
        return SecretKeyRef(name=self.name)


METADATA_SECRET = GeneratedSecret("metadata-proxy", names.METADATA_SECRET_KEY)
"""Shared by Nova and Neutron's metadata agents."""


@dataclass(frozen=True, slots=True)
class Listener:
    """A port of its pods, besides that of the API."""

    port: int
    public: bool = False
    """Whether clients of the cloud reach it; otherwise only programs on nodes do."""


@dataclass(frozen=True, slots=True)
class CephAccess:
    """Pools that the service uses, as fields of `storage.ceph.pools`."""

    pool: Literal["images", "volumes", "ephemeral"]
    """The one that is its own."""
    writes: tuple[Literal["images", "volumes", "ephemeral"], ...] = ()
    reads: tuple[Literal["images", "volumes", "ephemeral"], ...] = ()

    def name(self, pools: CephPools) -> str:
        return str(getattr(pools, self.pool))


@dataclass(frozen=True, kw_only=True)
class Parent(Generic[SettingsT]):
    """What a ControlPlane hands to one of its services."""

    service: str
    namespace: str
    spec: ControlPlaneSpec
    settings: SettingsT
    """The service's block of the ControlPlane."""
    common: Mapping[str, Any]
    """Fields that every service takes over: image, login, TLS, placement, policy, options."""
    rbd: Rbd | None
    """Its Ceph pool, if there is a Ceph."""
    ovn: NamespacedRef
    enabled: Callable[[str], bool]
    """Whether another service is on."""

    @property
    def database(self) -> dict[str, Any]:
        """Fields of its database block, on the ControlPlane's MariaDB."""
        return {
            "cluster_ref": Ref(name=names.MARIADB),
            "database": self.service,
            "secret_ref": SecretRef(name=names.database_secret(self.service)),
            "tls": self._tls(names.MARIADB),
        }

    @property
    def main_database(self) -> Database:
        return Database(**self.database)

    @property
    def messaging(self) -> Messaging:
        """Its virtual host on the ControlPlane's RabbitMQ."""
        login = SecretRef(name=names.messaging_secret(self.service))
        return Messaging(
            cluster_ref=Ref(name=names.RABBITMQ), secret_ref=login, tls=self._tls(names.RABBITMQ)
        )

    @property
    def cache(self) -> Cache:
        """The ControlPlane's Memcached."""
        return Cache(cluster_ref=Ref(name=names.MEMCACHED))

    def _tls(self, server: str) -> ServerTls | None:
        """The CA of a server's certificate is next to it, for every issuer."""
        if not self.spec.global_.tls.enabled:
            return None
        return ServerTls(ca_secret_ref=SecretKeyRef(name=names.certificate_secret(server)))

    def replicas(self, own: int | None, default: int = 2) -> int:
        """The part's own number, else the one for all, else a tested one."""
        return own or self.spec.global_.replicas or default

    def workload(self, settings: WorkloadSettings | None, kind: type[WorkloadT]) -> WorkloadT:
        """A set of pods as the ControlPlane describes it."""
        own = settings or WorkloadSettings()
        return kind(replicas=self.replicas(own.replicas), resources=own.resources)


@dataclass(frozen=True, kw_only=True)
class ServicePart(Generic[SpecT, SettingsT]):
    """How a ControlPlane runs the service."""

    block: type[SettingsT]
    phase: Phase
    project: Callable[[Parent[SettingsT]], SpecT]
    """The spec of the service's object."""
    needs: tuple[str, ...] = ()
    """Parts that must be ready before it, besides infrastructure, catalogue and its user."""
    catalog: CatalogEntry | None = None
    roles: tuple[str, ...] = ("service",)
    """Roles of its user in the project `service`; none: it has no user."""
    uses_messaging: bool = False
    messaging_from_nodes: bool = False
    """Whether agents of it use the broker from the network of their node."""
    calls: tuple[str, ...] = ()
    """Services whose APIs its pods call, besides Keystone."""
    listeners: tuple[Listener, ...] = ()
    secrets: tuple[GeneratedSecret, ...] = ()
    ceph: CephAccess | None = None


AnyPart = ServicePart[Any, Any]
