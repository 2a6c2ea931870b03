"""Issuers: which key pair signs, and whether an issuer is ready to."""

from collections.abc import Iterable

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.certmanager import (
    CLUSTER_ISSUER,
    ISSUER,
    IssuerRef,
    IssuerSpec,
    IssuerStatus,
)
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.runtime import certificates
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Source, itself, referrers
from cobaltcore.runtime.meta import Condition, Key, Kind, Object, WatchScope
from cobaltlab.providers.certmanager_policy import Signer, decoded
from cobaltlab.providers.failures import Blocked
from cobaltlab.providers.provider import Context
from cobaltlab.providers.reconciler import Reconciler

CLUSTER_RESOURCES = "cert-manager"
"""Namespace of the Secrets that ClusterIssuers name."""
AUTHORITY = "authority"
_SUPPORTED = frozenset({"selfSigned", "ca"})


class IssuerNotReady(Blocked):
    """An issuer is missing or cannot sign; reasons and messages are cert-manager's."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message, reason=reason)


def authority_secret(issuer: Object) -> Iterable[str]:
    """Index function: the Secret with the key pair of a CA issuer."""
    name = ((issuer.get("spec") or {}).get("ca") or {}).get("secretName")
    if name:
        yield str(Key(issuer["metadata"].get("namespace") or CLUSTER_RESOURCES, name))


class Issuers:
    """Finds the signer of an issuer."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        for kind in (ISSUER, CLUSTER_ISSUER):
            cluster.informer(kind).add_index(AUTHORITY, authority_secret)

    async def signer(self, ref: IssuerRef, namespace: str) -> Signer:
        """The signer for a Certificate of `namespace`; raises IssuerNotReady."""
        kind = CLUSTER_ISSUER if ref.kind == "ClusterIssuer" else ISSUER
        key = Key(namespace if kind.namespaced else "", ref.name)
        issuer = self._cluster.informer(kind).get(key)
        if issuer is None:
            raise IssuerNotReady("NotFound", f"Referenced {kind.kind!r} not found: {ref.name!r}")
        return await self.signer_of(issuer)

    async def signer_of(self, issuer: Object) -> Signer:
        """The signer of an issuer; raises IssuerNotReady."""
        configured = set(issuer.get("spec") or {})
        if len(configured & _SUPPORTED) != 1:
            raise IssuerNotReady(
                "ErrInitIssuer",
                "Error initializing issuer: the lab supports spec.selfSigned and spec.ca only",
            )
        if "selfSigned" in configured:
            return Signer()
        spec = manifest.spec_of(issuer, IssuerSpec)
        name = spec.ca.secret_name if spec.ca else ""
        namespace = issuer["metadata"].get("namespace") or CLUSTER_RESOURCES
        return _authority(await self._cluster.read(SECRET, Key(namespace, name)), name)


def _authority(secret: Object | None, name: str) -> Signer:
    if secret is None:
        raise IssuerNotReady(
            "ErrGetKeyPair", f"Error getting keypair for CA issuer: secrets {name!r} not found"
        )
    data = secret.get("data") or {}
    chain, own_root = decoded(data.get("tls.crt")), decoded(data.get("ca.crt"))
    try:
        root = certificates.split(own_root or chain)[-1]
        found = Signer(chain, decoded(data.get("tls.key")), root)
        suitable = certificates.is_authority(chain) and certificates.key_matches(found.pair)
    except ValueError:
        raise IssuerNotReady(
            "ErrGetKeyPair",
            f"Error getting keypair for CA issuer: secret {name!r} has no readable key pair in "
            "tls.crt and tls.key, or no certificate in ca.crt",
        ) from None
    if not suitable:
        raise IssuerNotReady(
            "ErrInvalidKeyPair",
            f"Error getting keypair for CA issuer: secret {name!r} is not the key pair of a CA",
        )
    return found


class IssuerReconciler(Reconciler):
    """Reports for one kind of issuers whether they can sign."""

    def __init__(self, context: Context, kind: Kind, issuers: Issuers) -> None:
        self._issuers = issuers
        secrets = referrers(context.cluster, kind, AUTHORITY)
        super().__init__(
            context,
            kind,
            [Source(kind, itself), Source(SECRET, secrets, WatchScope(metadata_only=True))],
            component="cert-manager-issuers",
        )

    async def apply(self, live: Object) -> None:
        ready = _ready(await self._issuers.signer_of(live))
        await self.write_status(live, IssuerStatus(conditions=self.merged(live, [ready])))


def _ready(signer: Signer) -> Condition:
    if not signer.chain:
        return Condition(type="Ready", status="True", reason="IsReady")
    return Condition(
        type="Ready", status="True", reason="KeyPairVerified", message="Signing CA verified"
    )
