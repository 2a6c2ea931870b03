"""ControlPlane: one object for a whole cloud."""

from typing import Annotated, ClassVar, Literal

import msgspec

from cobaltcore.api import release
from cobaltcore.api.base import (
    AGE,
    NAME_FITS,
    READY,
    Column,
    Immutable,
    Meta,
    Name,
    Resource,
    Rule,
    Struct,
    Timestamp,
    checked,
    list_map,
    list_set,
    resource,
)
from cobaltcore.api.blocks import (
    Conditions,
    DeletionPolicy,
    ImageRepository,
    IssuerRef,
    Policy,
    RegionName,
)
from cobaltcore.api.cron import Cron
from cobaltcore.api.infrastructure import Infrastructure, Storage
from cobaltcore.api.nova import OWN_DATABASES
from cobaltcore.api.options import ExtraConfig
from cobaltcore.api.pods import PullSecrets
from cobaltcore.api.services import Services, any_enabled, names
from cobaltcore.api.toggles import ServiceSettings
from cobaltcore.runtime.meta import Kind

KIND = Kind("c5c3.io", "v1alpha1", "ControlPlane", "controlplanes")
_OTHER_DATABASES = sorted({*names(), "nova_api", "nova_cell0"} - {"nova"})
UpdatePhase = Literal["Idle", "UpdatingInfra", "UpdatingKeystone", "UpdatingServices"]
BootstrapResource = Literal["domains", "projects", "roles"]


class CortexSettings(ServiceSettings):
    """Cortex, the external scheduler that weighs hosts by metrics."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!self.enabled",
            "cortex.enabled: cannot be true, because no operator of this release serves Cortex",
            "enabled",
        ),
    )

    enabled: bool = False
    """Run Cortex and configure Nova to call it. Only false is accepted in this release."""
    pipelines: (
        Annotated[
            list[Literal["cinder", "ironcore", "machines", "manila", "nova", "pods"]],
            Meta(min_length=1, max_length=6),
            list_set(),
        ]
        | None
    ) = None
    """Pipelines to run. Unset: nova and cinder."""


class TempestSettings(Struct):
    """Recurring Tempest runs."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!self.enabled",
            "tempest.enabled: cannot be true, because no operator of this release serves Tempest",
            "enabled",
        ),
    )

    enabled: bool = False
    """Run Tempest, on schedule and after each upgrade. Only false is accepted in this release."""
    schedule: Cron = "0 2 * * *"
    """Cron schedule of the runs, in UTC."""


class CloudCredentialsRef(Struct):
    """A clouds.yaml in a Secret."""

    secret_name: Name = "k-orc-clouds-yaml"  # noqa: S105 - a name
    """Secret with the key clouds.yaml."""
    cloud_name: Annotated[
        str, Meta(min_length=1, max_length=64, pattern="^[A-Za-z0-9][-._A-Za-z0-9]*$")
    ] = "openstack"
    """Entry of clouds.yaml."""


class KorcSettings(Struct):
    """Contents of Keystone that are managed through K-ORC."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "'domains' in self.bootstrapResources",
            "bootstrapResources: must contain domains, because projects and users refer to the "
            "default domain",
            "bootstrapResources",
        ),
    )

    enabled: bool = True
    """Create catalogue, users and application credentials through K-ORC."""
    bootstrap_resources: Annotated[list[BootstrapResource], Meta(max_length=3), list_set()] = (
        msgspec.field(default_factory=lambda: ["domains", "projects"])
    )
    """Resources of Keystone's bootstrap that are imported into K-ORC, for objects of others that
    refer to them: domains the domain default, projects the project admin, roles the roles manager,
    member and reader. The roles admin and service are always imported."""
    cloud_credentials_ref: CloudCredentialsRef = CloudCredentialsRef()
    """Secret with the clouds.yaml of K-ORC; created by the operator."""


class Monitoring(Struct):
    """Metrics and alerts."""

    enabled: bool = False
    """Create ServiceMonitors and PrometheusRules. Not served by this release yet."""


class SecretStoreRef(Struct):
    """A store of the External Secrets Operator."""

    name: Name
    """Name of the store."""
    kind: Literal["ClusterSecretStore", "SecretStore"] = "ClusterSecretStore"
    """ClusterSecretStore, or SecretStore of the same namespace."""


NamespaceName = Annotated[
    str, Meta(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
]
Cidr = Annotated[
    str,
    Meta(max_length=43, pattern=r"^[0-9A-Fa-f:.]{2,39}/[0-9]{1,3}$"),
    checked(Rule("isCIDR(self)", "must be a network such as 192.0.2.0/24 or 2001:db8::/64")),
]


class NetworkPolicies(Struct):
    """Who may connect to the pods of the control plane, as NetworkPolicies.

    Only the calls that its parts need are admitted, and APIs and consoles from outside of the pod
    network. A network plugin has to enforce them. Where Nodes have no podCIDRs every pod may call APIs
    and consoles.
    """

    enabled: bool = True
    """Create them. Pods that are not of this control plane are in none of them."""
    client_namespaces: Annotated[list[NamespaceName], Meta(max_length=64), list_set()] | None = (
        None
    )
    """Namespaces whose pods may call the APIs and consoles, for example that of a Gateway. In the
    namespace of the ControlPlane pods with the label c5c3.io/openstack-client=true may."""
    operator_namespaces: Annotated[list[NamespaceName], Meta(max_length=64), list_set()] = (
        msgspec.field(
            default_factory=lambda: [
                "c5c3-system",
                "mariadb-system",
                "orc-system",
                "rabbitmq-system",
            ]
        )
    )
    """Namespaces whose pods may reach everything but the inside of services: those of operators, and
    of other control planes that use this one's OVN."""
    node_networks: Annotated[list[Cidr], Meta(max_length=256), list_set()] | None = None
    """Addresses of nodes besides those in their status, for network plugins that let them reach pods
    from others, for example from a tunnel."""


class GlobalTls(Struct):
    """TLS of everything that listens in the control plane."""

    enabled: bool = True
    """Encrypt what endpoints, database, broker and virtual network send. Off is for tests; changing
    it interrupts a cloud, because servers and clients restart one after the other."""
    issuer_ref: IssuerRef | None = None
    """Issuer of all certificates; it has to sign names of Services. Unset: a CA is created."""


class Global(Struct):
    """Settings of all parts."""

    region: Annotated[RegionName, Immutable] = "RegionOne"
    """Name of the region. Cannot change: every endpoint belongs to it."""
    replicas: Literal[1, 3] | None = None
    """Replicas of all parts that do not set their own: 1 for a test, 3 to survive the loss of a
    node. Unset: a tested number for each part."""
    tls: GlobalTls = GlobalTls()
    """TLS of endpoints, database, broker and virtual network. On; without an issuer a CA is
    created."""
    monitoring: Monitoring | None = None
    """Metrics and alerts. Unset: off."""
    network_policy: NetworkPolicies = NetworkPolicies()
    """Who may connect to the pods of the control plane."""
    image_registry: ImageRepository = "ghcr.io/c5c3"
    """Where the images of all services come from: registry and path."""
    image_pull_secrets: PullSecrets | None = None
    """Credentials of the registries that images come from."""
    policy_overrides: Policy | None = None
    """Policy rules of all services. Those of a service take precedence."""
    extra_config: ExtraConfig | None = None
    """Options of the configuration files of all services. Those of a service take
    precedence."""
    secret_store_ref: SecretStoreRef | None = None
    """Store for generated credentials: pushed to it and synced from it. Unset: Secrets only."""


class ControlPlaneSpec(Struct):
    """Desired state of cloud."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"self.korc.enabled || !({any_enabled('self.services')})",
            "korc: cannot be off while a service besides keystone is on, "
            "because it creates their catalogue entries and credentials",
            "korc",
        ),
        Rule(
            "!has(self.services.nova.cells) || self.services.nova.cells.all(cell, "
            f"!has(cell.database) || !(cell.database in {_OTHER_DATABASES}))",
            OWN_DATABASES,
            "services.nova.cells",
        ),
    )

    open_stack_release: release.KnownRelease = release.DEFAULT
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
    """Cortex, the external scheduler. Off; this release does not serve it yet."""
    tempest: TempestSettings = TempestSettings()
    """Recurring Tempest runs. Off; this release does not serve them yet."""
    korc: KorcSettings = KorcSettings()
    """Contents of Keystone that are managed through K-ORC."""
    global_: Global = msgspec.field(name="global", default=Global())
    """Settings of all parts: region, TLS, registry."""
    deletion_policy: DeletionPolicy = "Retain"
    """What happens to databases, volumes and keys when this object is deleted: Retain keeps
    them, Delete removes them for good."""


class ServiceReport(Struct):
    """State of a service."""

    ready: bool | None = None
    """Whether the service is Ready."""
    version: str | None = None
    """Tag or digest of the image that all its pods run. Unset until it was ready once."""
    message: str | None = None
    """What it waits for, if it is not ready."""


class UserCredential(Struct):
    """State of an application credential."""

    status: str | None = None
    """Active, or the reason why not."""
    credential_id: str | None = msgspec.field(name="credentialID", default=None)
    """ID in Keystone."""
    expires_at: Timestamp | None = None
    """Expiry."""


class ServiceUser(Struct):
    """State of a service user."""

    name: str
    """Name of the user."""
    status: str | None = None
    """Ready, or the reason why not."""
    user_id: str | None = msgspec.field(name="userID", default=None)
    """ID in Keystone."""
    application_credential: UserCredential | None = None
    """The application credential in use."""


class IdentityReport(Struct):
    """State of users and credentials."""

    phase: str | None = None
    """Ready, or Credentials while some are missing."""
    service_users: Annotated[list[ServiceUser], Meta(max_length=64), list_map("name")] = []
    """The service users."""


class ControlPlaneStatus(Struct):
    """Observed state of cloud."""

    conditions: Conditions = []
    """Conditions of the cloud. Ready is True when all others are; its message names the first
    part that is not ready and what to do about it."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    phase: str | None = None
    """Phase of the first part that is not ready: Infrastructure, Identity, Catalog, Core, Compute, Scheduler,
    Testing; then Ready."""
    progress: str | None = None
    """Parts that serve of all parts, for example 12/17; a rollout does not lower it."""
    update_phase: UpdatePhase | None = None
    """Part that is being updated; Idle when all parts are ready."""
    installed_release: release.ReleaseName | None = None
    """OpenStack release of all services."""
    services: Annotated[dict[str, ServiceReport], Meta(max_length=32)] = {}
    """State of the services, by name."""
    identity: IdentityReport | None = None
    """State of users and credentials."""


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
        NAME_FITS,
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
