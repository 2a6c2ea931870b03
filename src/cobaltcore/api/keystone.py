"""Keystone: the identity service."""

from typing import Annotated

from cobaltcore.api.base import (
    AGE,
    READY,
    Column,
    Cron,
    Immutable,
    Meta,
    Resource,
    Scale,
    Struct,
    Url,
    resource,
)
from cobaltcore.api.blocks import (
    Cache,
    Database,
    Image,
    Middlewares,
    Plugins,
    RegionName,
    SecretRef,
    ServiceSpec,
    ServiceStatus,
)
from cobaltcore.api.pods import Replicas
from cobaltcore.runtime.meta import Kind

KIND = Kind("keystone.openstack.c5c3.io", "v1alpha1", "Keystone", "keystones")
UserName = Annotated[str, Meta(min_length=1, max_length=255, pattern=r"^[^\s:/]+$")]


class KeyRotation(Struct):
    """How often keys change and how many are kept."""

    rotation_schedule: Cron = "0 0 * * 0"
    """When a new key is made, as a cron schedule in UTC. Pods are not restarted."""
    max_active_keys: Annotated[int, Meta(ge=3, le=100)] = 3
    """How many keys are kept: the newest writes, the others still read. A Fernet token must
    expire before its key goes: rotation interval x (keys - 2) is the longest token life."""
    suspend: bool = False
    """Stop scheduled rotation; the keys stay in use."""


class CredentialKeyRotation(KeyRotation):
    """How often the keys of stored credentials change and how many are kept."""

    rotation_schedule: Cron = "0 0 1 * *"
    """When a new key is made, as a cron schedule in UTC. Stored credentials are encrypted anew."""


class Federation(Struct):
    """Login through identity providers outside of Keystone."""

    enabled: bool = False
    """Accept federated logins."""


class Bootstrap(Struct):
    """The first user, role and endpoint, made once with an empty database."""

    admin_user: Annotated[UserName, Immutable] = "admin"
    """Name of the administrator. Cannot change."""
    admin_password_secret_ref: SecretRef
    """Secret with the administrator's password, key password unless named. A changed password
    is set in Keystone."""
    region: Annotated[RegionName, Immutable] = "RegionOne"
    """Name of the region. Cannot change: every endpoint belongs to it."""
    public_endpoint: Url | None = None
    """Address of the identity API for users, in the catalogue. Unset: the one inside the cluster."""


class KeystoneSpec(ServiceSpec):
    """The Keystone that should run."""

    replicas: Replicas = 3
    """How many API pods run."""
    image: Image
    """Container image of Keystone."""
    database: Database
    """Where Keystone keeps its data."""
    cache: Cache | None = None
    """Where tokens and catalogue are cached. Unset: no cache."""
    fernet: KeyRotation = KeyRotation()
    """Keys that tokens are made with."""
    credential_keys: CredentialKeyRotation = CredentialKeyRotation()
    """Keys that stored credentials are encrypted with."""
    federation: Federation | None = None
    """Login through other identity providers. Unset: off."""
    bootstrap: Bootstrap
    """The first user, role and endpoint."""
    middleware: Middlewares | None = None
    """Filters in the request pipeline."""
    plugins: Plugins | None = None
    """Drivers with sections of their own in keystone.conf."""


class KeystoneStatus(ServiceStatus):
    """The Keystone that runs."""

    last_key_rotation: str | None = None
    """When the Fernet keys last changed."""


@resource(
    KIND,
    short_names=("ks",),
    columns=(READY, Column("Endpoint", ".status.endpoint"), AGE),
    scale=Scale(),
)
class Keystone(Resource[KeystoneSpec, KeystoneStatus]):
    """Keystone, the identity service: users, projects, roles, tokens and the catalogue.

    Its API answers at port 5000. Users and catalogue entries are managed through K-ORC objects.
    """
