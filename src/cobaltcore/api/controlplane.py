"""ControlPlane: one object for a whole cloud."""

from typing import Annotated, ClassVar, Literal

import msgspec

from cobaltcore.api import release
from cobaltcore.api.base import (
    AGE,
    READY,
    Column,
    Cron,
    Immutable,
    Meta,
    Name,
    Resource,
    Rule,
    Struct,
    Timestamp,
    list_map,
    list_set,
    resource,
)
from cobaltcore.api.blocks import (
    Conditions,
    DeletionPolicy,
    ExtraConfig,
    ImageRepository,
    Policy,
    RegionName,
    Tls,
)
from cobaltcore.api.infrastructure import Infrastructure, Storage
from cobaltcore.api.pods import PullSecrets
from cobaltcore.api.services import Services, ServiceSettings
from cobaltcore.runtime.meta import Kind

KIND = Kind("c5c3.io", "v1alpha1", "ControlPlane", "controlplanes")
UpdatePhase = Literal[
    "Idle",
    "Validating",
    "UpdatingInfra",
    "UpdatingKeystone",
    "UpdatingServices",
    "Verifying",
    "Complete",
    "RollingBack",
]
BootstrapResource = Literal["domains", "groups", "projects", "roles"]


class CortexSettings(ServiceSettings):
    """The scheduler that weighs hosts by what was measured."""

    enabled: bool = False
    """Run Cortex and let Nova ask it."""
    pipelines: (
        Annotated[
            list[Literal["cinder", "ironcore", "machines", "manila", "nova", "pods"]],
            Meta(min_length=1, max_length=6),
            list_set(),
        ]
        | None
    ) = None
    """What Cortex schedules. Unset: nova and cinder."""


class TempestSettings(Struct):
    """Recurring tests of the cloud."""

    enabled: bool = False
    """Run Tempest, on schedule and after each change of release."""
    schedule: Cron = "0 2 * * *"
    """When tests run, as a cron schedule in UTC."""


class CloudCredentialsRef(Struct):
    """A clouds.yaml in a Secret."""

    secret_name: Name = "k-orc-clouds-yaml"  # noqa: S105 - a name
    """Secret with the key clouds.yaml."""
    cloud_name: Annotated[str, Meta(min_length=1, max_length=64)] = "openstack"
    """Entry of clouds.yaml."""


class KorcSettings(Struct):
    """How K-ORC manages the contents of Keystone."""

    enabled: bool = True
    """Make catalogue, users and application credentials through K-ORC."""
    bootstrap_resources: Annotated[list[BootstrapResource], Meta(max_length=4), list_set()] = (
        msgspec.field(default_factory=lambda: ["domains", "projects"])
    )
    """What Keystone's bootstrap made and K-ORC must know before it can refer to it."""
    cloud_credentials_ref: CloudCredentialsRef = CloudCredentialsRef()
    """How K-ORC logs in."""


class Monitoring(Struct):
    """What is measured."""

    enabled: bool = False
    """Make ServiceMonitors and PrometheusRules, where the cluster knows these kinds."""


class SecretStoreRef(Struct):
    """A store of the External Secrets Operator."""

    name: Name
    """Name of the store."""
    kind: Literal["ClusterSecretStore", "SecretStore"] = "ClusterSecretStore"
    """ClusterSecretStore, or SecretStore of the same namespace."""


class Global(Struct):
    """What holds for all parts."""

    region: Annotated[RegionName, Immutable] = "RegionOne"
    """Name of the region. Cannot change: every endpoint belongs to it."""
    replicas: Literal[1, 3] | None = None
    """Replicas of everything that does not say its own: 1 for a test, 3 to survive the loss of a
    node. Unset: a tested number for each part."""
    tls: Tls | None = None
    """Encryption of all endpoints. Without issuer or Secret an own CA is made. Unset: off."""
    monitoring: Monitoring | None = None
    """What is measured. Unset: nothing."""
    image_registry: ImageRepository = "ghcr.io/c5c3"
    """Where the images of all services come from: registry and path."""
    image_pull_secrets: PullSecrets | None = None
    """Credentials of the registries that images come from."""
    policy_overrides: Policy | None = None
    """Changes to the access rules of all services. Those of a service win."""
    extra_config: ExtraConfig | None = None
    """Options for the configuration files of all services. Those of a service win."""
    secret_store_ref: SecretStoreRef | None = None
    """Store that generated credentials are kept in and read back from. Unset: Secrets only."""


class ControlPlaneSpec(Struct):
    """The cloud that should run."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!self.cortex.enabled || (self.services.nova.enabled && self.services.cinder.enabled)",
            "cortex: needs services.nova and services.cinder",
            "cortex",
        ),
        Rule(
            "!self.tempest.enabled || (self.services.nova.enabled && "
            "self.services.neutron.enabled && self.services.cinder.enabled && "
            "self.services.glance.enabled)",
            "tempest: needs services.nova, neutron, cinder and glance",
            "tempest",
        ),
        Rule(
            "self.korc.enabled || !(self.services.glance.enabled || "
            "self.services.placement.enabled || self.services.nova.enabled || "
            "self.services.neutron.enabled || self.services.cinder.enabled)",
            "korc: cannot be off while a service besides keystone is on, "
            "because it makes their catalogue entries and credentials",
            "korc",
        ),
    )

    open_stack_release: release.ReleaseName = release.DEFAULT
    """OpenStack release. May be raised by one release, or from a .1 to the next .1; an upgrade
    that is under way may be taken back to the installed release."""
    infrastructure: Infrastructure = Infrastructure()
    """Databases, brokers, caches and the virtual network."""
    services: Services = Services()
    """OpenStack services. All are on unless switched off."""
    storage: Storage | None = None
    """Ceph for images and volumes. Unset: images on a volume of the cluster, no block storage
    backend."""
    cortex: CortexSettings = CortexSettings()
    """The scheduler that weighs hosts by what was measured. Off by default."""
    tempest: TempestSettings = TempestSettings()
    """Recurring tests of the cloud. Off by default."""
    korc: KorcSettings = KorcSettings()
    """How K-ORC manages the contents of Keystone."""
    global_: Global = msgspec.field(name="global", default=Global())
    """What holds for all parts: region, encryption, registry."""
    deletion_policy: DeletionPolicy = "Retain"
    """What happens to databases, volumes and keys when this object is deleted: Retain keeps
    them, Delete removes them for good."""


class ServiceReport(Struct):
    """A service in short."""

    ready: bool | None = None
    """Whether it serves requests at the wanted version."""
    version: str | None = None
    """Image tag that runs."""
    message: str | None = None
    """What it waits for, if it is not ready."""


class UserCredential(Struct):
    """An application credential in short."""

    status: str | None = None
    """Active, or the reason why not."""
    credential_id: str | None = msgspec.field(name="credentialID", default=None)
    """Identity in Keystone."""
    expires_at: Timestamp | None = None
    """When it stops working."""


class ServiceUser(Struct):
    """A service user in short."""

    name: str
    """Name of the user."""
    status: str | None = None
    """Ready, or the reason why not."""
    user_id: str | None = msgspec.field(name="userID", default=None)
    """Identity in Keystone."""
    application_credential: UserCredential | None = None
    """The application credential in use."""


class IdentityReport(Struct):
    """Users and credentials in short."""

    phase: str | None = None
    """Ready, or what is being made."""
    service_users: Annotated[list[ServiceUser], Meta(max_length=64), list_map("name")] = []
    """The service users."""


class ControlPlaneStatus(Struct):
    """The cloud that runs."""

    conditions: Conditions = []
    """Facts about the cloud. Ready is True when all others are; its message names the first
    thing that is missing and what to do about it."""
    observed_generation: int | None = None
    """The generation of the spec that this status speaks about."""
    phase: str | None = None
    """Part that is being brought up: Infrastructure, Identity, Catalog, Core, Compute, Scheduler,
    Testing; then Ready."""
    progress: str | None = None
    """Steps done of all steps, for example 12/17."""
    update_phase: UpdatePhase | None = None
    """How far a change of the spec has come."""
    installed_release: release.ReleaseName | None = None
    """OpenStack release that all services are at."""
    services: Annotated[dict[str, ServiceReport], Meta(max_length=32)] = {}
    """The services in short, by name."""
    identity: IdentityReport | None = None
    """Users and credentials in short."""


@resource(
    KIND,
    short_names=("cp",),
    columns=(
        READY,
        Column("Phase", ".status.phase"),
        Column("Progress", ".status.progress"),
        Column("Release", ".spec.openStackRelease"),
        Column("Message", '.status.conditions[?(@.type=="Ready")].message'),
        AGE,
    ),
)
class ControlPlane(Resource[ControlPlaneSpec, ControlPlaneStatus]):
    """A whole OpenStack cloud: infrastructure, services, catalogue and credentials.

    An empty spec is enough; every field has a working default.
    """

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "("
            + release.cel_may_follow(
                new="self.spec.openStackRelease", old="oldSelf.spec.openStackRelease"
            )
            + ") || (has(self.status) && has(self.status.installedRelease)"
            " && self.status.installedRelease == self.spec.openStackRelease)",
            "openStackRelease: may be raised by one release, or from a .1 to the next .1; "
            "it cannot be lowered, except back to status.installedRelease during an upgrade",
            "spec.openStackRelease",
        ),
    )
