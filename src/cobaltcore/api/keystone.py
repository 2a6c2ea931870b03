"""Keystone: the identity service."""

from typing import Annotated, ClassVar

from cobaltcore.api import toggles
from cobaltcore.api.base import (
    AGE,
    NAME_FITS,
    READY,
    Column,
    Immutable,
    Meta,
    Resource,
    Rule,
    Scale,
    Struct,
    Timestamp,
    Url,
    resource,
)
from cobaltcore.api.blocks import (
    Cache,
    Database,
    Image,
    Plugins,
    RegionName,
    SecretKeyRef,
    ServiceSpec,
    ServiceStatus,
)
from cobaltcore.api.cron import Cron
from cobaltcore.api.pods import Replicas
from cobaltcore.runtime.meta import Kind

KIND = Kind("keystone.openstack.c5c3.io", "v1alpha1", "Keystone", "keystones")
UserName = Annotated[str, Meta(min_length=1, max_length=255, pattern=r"^[!-.0-9;-~]+$")]


class KeyRotation(Struct):
    """Schedule of key rotation, and the number of keys."""

    rotation_schedule: Cron = "0 0 * * 0"
    """Cron schedule of rotation, in UTC. Pods are not restarted."""
    max_active_keys: Annotated[int, Meta(ge=3, le=100)] = 3
    """Number of keys that are kept: the newest encrypts, one is staged to be the next, the others
    decrypt. An old key stays beyond this number while anything that it encrypted can be needed:
    a Fernet key until its last token has expired ([token] expiration + allow_expired_window)."""
    suspend: bool = False
    """Stop scheduled rotation; the keys stay in use."""


class CredentialKeyRotation(KeyRotation):
    """Schedule of rotation of the credential keys, and their number."""

    rotation_schedule: Cron = "0 0 1 * *"
    """Cron schedule of rotation, in UTC. Pods are not restarted. Stored credentials are encrypted
    with the newest key by a Job before the next one is promoted."""


class Federation(Struct):
    """Login through external identity providers."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!self.enabled",
            "federation.enabled: cannot be true, because this release does not configure "
            "identity providers",
            "enabled",
        ),
    )

    enabled: bool = False
    """Accept federated logins. Only false is accepted in this release."""


class Bootstrap(Struct):
    """First user, role and endpoint, created in an empty database."""

    admin_user: Annotated[UserName, Immutable] = "admin"
    """Name of the administrator. Cannot change."""
    admin_password_secret_ref: SecretKeyRef
    """Secret with the administrator's password, key password unless named. A changed password
    is set in Keystone."""
    region: Annotated[RegionName, Immutable] = "RegionOne"
    """Name of the region. Cannot change: every endpoint belongs to it."""
    public_endpoint: Url | None = None
    """Public URL of the identity API in the catalogue. Unset: the URL inside the cluster."""


class KeystoneSpec(ServiceSpec):
    """Desired state of Keystone."""

    replicas: Replicas = 3
    """Number of API pods."""
    image: Image
    """Container image of Keystone."""
    database: Database
    """Database of Keystone."""
    cache: Cache | None = None
    """Memcached for tokens and the catalogue. Unset: no cache."""
    fernet: KeyRotation = KeyRotation()
    """Fernet keys, which encrypt tokens."""
    credential_keys: CredentialKeyRotation = CredentialKeyRotation()
    """Keys that stored credentials are encrypted with."""
    federation: Federation | None = None
    """Login through external identity providers. Unset: off."""
    bootstrap: Bootstrap
    """First user, role and endpoint, created in an empty database."""
    plugins: Plugins | None = None
    """Drivers with sections of their own in keystone.conf."""


class KeystoneStatus(ServiceStatus):
    """Observed state of Keystone."""

    last_key_rotation: Timestamp | None = None
    """When the Fernet keys were last rotated or created."""


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

    __rules__: ClassVar[tuple[Rule, ...]] = (NAME_FITS,)


@toggles.block("keystone")
class KeystoneSettings(toggles.ServiceSettings):
    """Identity: users, projects, roles, tokens and the catalogue."""

    replicas: Replicas | None = None
    """Number of pods. Unset: global.replicas, or else 3."""
    fernet: KeyRotation | None = None
    """Fernet keys, which encrypt tokens. Unset: rotated weekly, three keys."""
    credential_keys: CredentialKeyRotation | None = None
    """Keys that encrypt stored credentials. Unset: rotated monthly, three keys."""
    federation: Federation | None = None
    """Login through external identity providers. Unset: off."""
