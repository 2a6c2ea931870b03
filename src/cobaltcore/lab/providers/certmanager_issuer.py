"""Issuers: who signs, and the condition that says whether they can."""

from collections.abc import Iterable
from datetime import timedelta

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.certmanager import (
    CLUSTER_ISSUER,
    ISSUER,
    IssuerRef,
    IssuerSpec,
    IssuerStatus,
)
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.lab.providers import provider
from cobaltcore.lab.providers.certmanager_policy import Signer, decoded
from cobaltcore.runtime import certificates, conditions, errors, status
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller, Source, itself, referrers
from cobaltcore.runtime.meta import Condition, Key, Kind, Object, Scope

CLUSTER_RESOURCES = "cert-manager"
"""Namespace of the Secrets that ClusterIssuers name."""
AUTHORITY = "authority"
_SERVED = frozenset({"selfSigned", "ca"})


class CannotSign(errors.RuntimeFault):
    """An issuer that is missing or not ready; `reason` is cert-manager's."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def authority_secret(issuer: Object) -> Iterable[str]:
    """Index function: the Secret with the key pair of a CA issuer."""
    name = ((issuer.get("spec") or {}).get("ca") or {}).get("secretName")
    if name:
        yield str(Key(issuer["metadata"].get("namespace") or CLUSTER_RESOURCES, name))


class Issuers:
    """Finds who signs for whom."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        for kind in (ISSUER, CLUSTER_ISSUER):
            cluster.informer(kind).add_index(AUTHORITY, authority_secret)

    async def signer(self, ref: IssuerRef, namespace: str) -> Signer:
        """Who signs for a Certificate of `namespace`; CannotSign says why nobody does."""
        kind = CLUSTER_ISSUER if ref.kind == "ClusterIssuer" else ISSUER
        key = Key(namespace if kind.namespaced else "", ref.name)
        issuer = self._cluster.informer(kind).get(key)
        if issuer is None:
            raise CannotSign("NotFound", f"Referenced {kind.kind!r} not found: {ref.name!r}")
        return await self.signer_of(issuer)

    async def signer_of(self, issuer: Object) -> Signer:
        """Who signs for an issuer."""
        configured = set(issuer.get("spec") or {})
        if len(configured & _SERVED) != 1:
            raise CannotSign(
                "ErrInitIssuer",
                "Error initializing issuer: the lab serves issuers of the types selfSigned and ca",
            )
        if "selfSigned" in configured:
            return Signer()
        spec = manifest.spec_of(issuer, IssuerSpec)
        name = spec.ca.secret_name if spec.ca else ""
        namespace = issuer["metadata"].get("namespace") or CLUSTER_RESOURCES
        return _authority(await self._cluster.read(SECRET, Key(namespace, name)), name)


def _authority(secret: Object | None, name: str) -> Signer:
    if secret is None:
        raise CannotSign(
            "ErrGetKeyPair", f"Error getting keypair for CA issuer: secrets {name!r} not found"
        )
    data = secret.get("data") or {}
    chain, own_root = decoded(data.get("tls.crt")), decoded(data.get("ca.crt"))
    try:
        root = certificates.split(own_root or chain)[-1]
        found = Signer(chain, decoded(data.get("tls.key")), root)
        suitable = certificates.is_authority(chain) and certificates.fits(found.pair)
    except ValueError:
        raise CannotSign(
            "ErrGetKeyPair",
            f"Error getting keypair for CA issuer: secret {name!r} has no readable key pair in "
            "tls.crt and tls.key, or no certificate in ca.crt",
        ) from None
    if not suitable:
        raise CannotSign(
            "ErrInvalidKeyPair",
            f"Error getting keypair for CA issuer: secret {name!r} is not the key pair of a CA",
        )
    return found


class IssuerReadiness:
    """Reports for one kind of issuers whether they can sign."""

    def __init__(self, setting: provider.Setting, kind: Kind, issuers: Issuers) -> None:
        self._cluster = setting.cluster
        self._clock = setting.clock
        self._kind = kind
        self._issuers = issuers
        self.controller = Controller(
            kind.kind.lower(),
            self.reconcile,
            [
                Source(kind, itself),
                Source(
                    SECRET,
                    referrers(setting.cluster, kind, AUTHORITY),
                    Scope(metadata_only=True),
                ),
            ],
            clock=setting.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Say whether the issuer can sign."""
        live = self._cluster.informer(self._kind).get(key)
        if live is None or live["metadata"].get("deletionTimestamp"):
            return None
        try:
            signer = await self._issuers.signer_of(live)
        except CannotSign as error:
            ready = Condition(
                type="Ready", status="False", reason=error.reason, message=error.message
            )
        else:
            ready = _ready(signer)
        before = manifest.status_of(live, IssuerStatus)
        after = conditions.merge(
            before.conditions,
            [ready],
            now=self._clock.now(),
            generation=live["metadata"]["generation"],
        )
        built = msgspec.to_builtins(IssuerStatus(conditions=after))
        await status.write(self._cluster, self._kind, live, built, manager=provider.MANAGER)
        return None


def _ready(signer: Signer) -> Condition:
    if not signer.chain:
        return Condition(type="Ready", status="True", reason="IsReady")
    return Condition(
        type="Ready", status="True", reason="KeyPairVerified", message="Signing CA verified"
    )
