"""cert-manager (`cert-manager.io/v1`): the fields that we set and read."""

from typing import Literal

import msgspec

from cobaltcore.api.foreign.manifest import Conditions
from cobaltcore.runtime.meta import Kind, Struct

CERTIFICATE = Kind("cert-manager.io", "v1", "Certificate", "certificates")
ISSUER = Kind("cert-manager.io", "v1", "Issuer", "issuers")
CLUSTER_ISSUER = Kind("cert-manager.io", "v1", "ClusterIssuer", "clusterissuers", namespaced=False)


class IssuerRef(Struct):
    """Who signs a certificate."""

    name: str
    kind: Literal["Issuer", "ClusterIssuer"] | None = None
    group: str | None = None


class PrivateKey(Struct):
    """The key of a certificate."""

    algorithm: Literal["RSA", "ECDSA", "Ed25519"] | None = None
    encoding: Literal["PKCS1", "PKCS8"] | None = None
    size: int | None = None
    rotation_policy: Literal["Never", "Always"] | None = None


class Subject(Struct):
    """Who a certificate is for."""

    organizations: list[str] = []
    organizational_units: list[str] = []


class SecretTemplate(Struct):
    """Labels and annotations of the Secret that holds the certificate."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class CertificateSpec(Struct):
    """A certificate that is kept valid."""

    secret_name: str
    issuer_ref: IssuerRef
    common_name: str | None = None
    dns_names: list[str] = []
    ip_addresses: list[str] = []
    uris: list[str] = []
    duration: str | None = None
    renew_before: str | None = None
    is_ca: bool = msgspec.field(default=False, name="isCA")
    usages: list[str] = []
    private_key: PrivateKey | None = None
    subject: Subject | None = None
    secret_template: SecretTemplate | None = None
    revision_history_limit: int | None = None


class CertificateStatus(Conditions):
    """Validity of the current certificate."""

    not_before: str | None = None
    not_after: str | None = None
    renewal_time: str | None = None
    revision: int = 0


class SelfSigned(Struct):
    """Every certificate signs itself."""


class CertificateAuthority(Struct):
    """Sign with the key pair in a Secret."""

    secret_name: str


class VaultServiceAccountRef(Struct):
    """The ServiceAccount whose token proves who asks."""

    name: str


class VaultKubernetesAuth(Struct):
    """Login with a token of this cluster."""

    role: str
    mount_path: str | None = None
    service_account_ref: VaultServiceAccountRef | None = None


class VaultAuth(Struct):
    """How cert-manager logs in to the server."""

    kubernetes: VaultKubernetesAuth


class VaultIssuer(Struct):
    """Sign with a server that has the Vault API, such as OpenBao."""

    server: str
    path: str
    auth: VaultAuth
    ca_bundle: str | None = None


class IssuerSpec(Struct):
    """A signer of certificates; exactly one is set."""

    self_signed: SelfSigned | None = None
    ca: CertificateAuthority | None = None
    vault: VaultIssuer | None = None


class IssuerStatus(Conditions):
    """Whether the signer can sign."""
