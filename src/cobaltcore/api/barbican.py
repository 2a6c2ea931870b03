"""Barbican: the key manager."""

from typing import Annotated, ClassVar, Literal

from cobaltcore.api import toggles
from cobaltcore.api.base import (
    AGE,
    NAME_FITS,
    READY,
    Column,
    Immutable,
    Resource,
    Rule,
    Scale,
    Struct,
    resource,
)
from cobaltcore.api.blocks import (
    Database,
    Image,
    KeystoneAuth,
    Messaging,
    SecretKeyRef,
    ServiceSpec,
    ServiceStatus,
    TokenCache,
)
from cobaltcore.api.pods import Replicas
from cobaltcore.runtime.meta import Kind

KIND = Kind("barbican.openstack.c5c3.io", "v1alpha1", "Barbican", "barbicans")
KEK_KEY = "kek"


class SecretStore(Struct):
    """Plugin that encrypts secrets before they are stored."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.kekSecretRef) == has(oldSelf.kekSecretRef)",
            "kekSecretRef: cannot be set or unset later, because secrets that are encrypted with "
            "another KEK could not be read",
            "kekSecretRef",
        ),
    )

    plugin: Literal["simple_crypto"] = "simple_crypto"
    """simple_crypto stores secrets in Barbican's database, encrypted with keys per project, which
    are encrypted with the key encryption key (KEK)."""
    kek_secret_ref: Annotated[SecretKeyRef, Immutable] | None = None
    """Secret with the KEK of simple_crypto: 32 bytes in URL-safe base64, key kek unless named.
    Cannot change. Unset: generated once in the Secret NAME-kek."""


class KeyManager(Struct):
    """Where a service keeps the keys of encrypted volumes."""

    backend: Literal["barbican"] = "barbican"
    """barbican is the key manager in the catalogue; keys are created and read as the user whose
    volume it is."""


class BarbicanSpec(ServiceSpec):
    """Desired state of Barbican."""

    replicas: Replicas = 2
    """Number of API pods and, with messaging, of worker pods."""
    image: Image
    """Container image of Barbican."""
    database: Database
    """Database of the encrypted secrets and their metadata."""
    messaging: Messaging | None = None
    """Message broker between the API and workers that process orders. Unset: no workers, the API
    processes orders within the request."""
    keystone: KeystoneAuth
    """Keystone that validates the tokens of requests, and Barbican's credential for it."""
    cache: TokenCache | None = None
    """Memcached for validated tokens. Unset: each process keeps its own cache."""
    secret_store: SecretStore = SecretStore()
    """Plugin that encrypts secrets before they are stored."""


class BarbicanStatus(ServiceStatus):
    """Observed state of Barbican."""


@resource(
    KIND,
    short_names=("bar",),
    columns=(READY, Column("Endpoint", ".status.endpoint"), AGE),
    scale=Scale(),
)
class Barbican(Resource[BarbicanSpec, BarbicanStatus]):
    """Barbican, the key manager: secrets, for example the keys of encrypted volumes.

    The API listens on port 9311.
    """

    __rules__: ClassVar[tuple[Rule, ...]] = (NAME_FITS,)


@toggles.block("barbican")
class BarbicanSettings(toggles.ServiceSettings):
    """Secrets, and keys of encrypted volumes."""

    enabled: bool = False
    """Run the service. false deletes its pods and keeps its data."""
