"""cert-manager for the lab: Issuer, ClusterIssuer (selfSigned, ca) and Certificate.

The Secret of a Certificate is the whole state: certificate, digest of the spec, revision. It is kept
when the Certificate is deleted, as by the real operator.
"""

import asyncio
import base64
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.certmanager import (
    CERTIFICATE,
    CLUSTER_ISSUER,
    ISSUER,
    CertificateSpec,
    CertificateStatus,
    SecretTemplate,
)
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET
from cobaltcore.runtime import certificates, keys
from cobaltcore.runtime.apply import ResourceConflict
from cobaltcore.runtime.controller import Controller, KeysOf, Source, itself, referrers
from cobaltcore.runtime.meta import Condition, Desired, Key, Kind, Object, WatchScope, key_of
from cobaltcore.runtime.store import Change
from cobaltcore.runtime.timestamps import timestamp
from cobaltlab.providers import certmanager_policy as policy
from cobaltlab.providers.certmanager_bundle import CaBundleController
from cobaltlab.providers.certmanager_issuer import (
    AUTHORITY,
    IssuerNotReady,
    IssuerReconciler,
    Issuers,
)
from cobaltlab.providers.certmanager_policy import Input, Signer, Violation
from cobaltlab.providers.failures import Blocked
from cobaltlab.providers.provider import Context, Provider
from cobaltlab.providers.reconciler import Reconciler

MANAGED = {"controller.cert-manager.io/fao": "true"}
UP_TO_DATE = "Certificate is up to date and has not expired"
ISSUED = "The certificate has been successfully issued"
# Timers do not count the time that a machine is suspended.
RESYNC = timedelta(hours=12)


class CertificateReconciler(Reconciler):
    """The controller of Certificates."""

    def __init__(self, context: Context, issuers: Issuers) -> None:
        self._issuers = issuers
        informer = context.cluster.informer(CERTIFICATE)
        informer.add_index("secret", _secret)
        informer.add_index("issuer", _issuer)
        super().__init__(
            context,
            CERTIFICATE,
            [
                Source(CERTIFICATE, itself),
                Source(SECRET, self._of_secret, WatchScope(metadata_only=True)),
                Source(ISSUER, self._of_issuer(ISSUER)),
                Source(CLUSTER_ISSUER, self._of_issuer(CLUSTER_ISSUER)),
            ],
            component="cert-manager-certificates-issuing",
        )

    async def apply(self, live: Object) -> timedelta | None:
        invalid = policy.invalid(live.get("spec") or {})
        if invalid is not None:
            raise Blocked(invalid.message, reason=invalid.reason)
        inputs, not_ready = await self._observe(live)
        violation = policy.violation(inputs)
        if inputs.signer is None or (violation is not None and not violation.issuable):
            return await self._keep(live, inputs, violation, not_ready)
        return await self._issue(live, inputs, inputs.signer, violation)

    async def _observe(self, live: Object) -> tuple[Input, str]:
        """The input of the checks, and why the issuer is not ready."""
        key, spec = key_of(live), manifest.spec_of(live, CertificateSpec)
        try:
            signer, not_ready = await self._issuers.signer(spec.issuer_ref, key.namespace), ""
        except IssuerNotReady as error:
            signer, not_ready = None, error.message
        secret = await self._cluster.read(SECRET, Key(key.namespace, spec.secret_name))
        return Input(key.name, spec, secret, signer, self._clock.now()), not_ready

    async def _issue(
        self, live: Object, inputs: Input, signer: Signer, violation: Violation | None
    ) -> timedelta | None:
        """Write the Secret, with a new certificate if a check demands one."""
        pair, revision = inputs.pair, policy.revision(inputs.annotations) or 1
        if violation is not None:
            pair = await asyncio.to_thread(_issued, inputs, signer)
            previous = manifest.status_of(live, CertificateStatus).revision
            revision = max(previous, policy.revision(inputs.annotations)) + 1
        desired = _target(live, inputs.spec, signer, pair, revision)
        try:
            await self._applier.apply([desired])
        except ResourceConflict as error:
            raise Blocked(error.message, error.hint, reason="IncorrectCertificate") from error
        if violation is not None:
            await self._events.normal(live, "Issuing", ISSUED, action="Issuing")
        await self._report(live, desired.body, [_READY])
        return self._requeue_after(policy.renewal_time(inputs.spec, pair.certificate))

    async def _keep(
        self, live: Object, inputs: Input, violation: Violation | None, not_ready: str
    ) -> timedelta | None:
        """Nothing can be issued now; the current certificate is used while it is valid."""
        defect = policy.defect(inputs)
        current = [_READY if defect is None else _not_ready(defect)]
        if violation is not None:
            current.append(_issuing(violation, not_ready))
        readable = defect is None or defect.reason == "Expired"
        await self._report(live, inputs.secret if readable else None, current)
        if defect is not None:
            return None
        due = policy.renewal_time(inputs.spec, inputs.pair.certificate)
        end = certificates.validity(inputs.pair.certificate)[1] + timedelta(seconds=1)
        return self._requeue_after(end if violation is not None else due)

    def _requeue_after(self, due: datetime) -> timedelta:
        return max(timedelta(), min(due - self._clock.now(), RESYNC))

    async def _report(
        self, live: Object, secret: Mapping[str, Any] | None, current: list[Condition]
    ) -> None:
        previous = manifest.status_of(live, CertificateStatus).revision
        after = CertificateStatus(conditions=self.merged(live, current), revision=previous)
        if secret is not None:
            after = _with_certificate(secret, manifest.spec_of(live, CertificateSpec), after)
        await self.write_status(live, after)

    def _of_secret(self, change: Change) -> Iterable[Key]:
        yield from referrers(self._cluster, CERTIFICATE, "secret")(change)
        for kind in (ISSUER, CLUSTER_ISSUER):
            for issuer in self._cluster.informer(kind).find(AUTHORITY, str(change.key)):
                yield from self._signed_by(kind, issuer)

    def _of_issuer(self, kind: Kind) -> KeysOf:
        return lambda change: self._signed_by(kind, change.latest)

    def _signed_by(self, kind: Kind, issuer: Object) -> Iterable[Key]:
        value = f"{kind.kind} {key_of(issuer)}"
        for certificate in self._cluster.informer(CERTIFICATE).find("issuer", value):
            yield key_of(certificate)


def _secret(certificate: Object) -> Iterable[str]:
    name = (certificate.get("spec") or {}).get("secretName")
    yield str(Key(certificate["metadata"]["namespace"], str(name)))


def _issuer(certificate: Object) -> Iterable[str]:
    ref = (certificate.get("spec") or {}).get("issuerRef") or {}
    kind = CLUSTER_ISSUER if ref.get("kind") == CLUSTER_ISSUER.kind else ISSUER
    namespace = certificate["metadata"]["namespace"] if kind.namespaced else ""
    yield f"{kind.kind} {Key(namespace, str(ref.get('name')))}"


def _issued(inputs: Input, signer: Signer) -> certificates.Pair:
    """Sign a new certificate, with the previous key if that is to be kept."""
    key = _kept_key(inputs) or keys.generate(policy.key_spec(inputs.spec))
    subject, lifetime = policy.subject(inputs.spec), policy.lifetime(inputs.spec)
    if not signer.chain:
        return certificates.self_signed(subject, now=inputs.now, lifetime=lifetime, key=key)
    leaf = certificates.issue(signer.pair, subject, now=inputs.now, lifetime=lifetime, key=key)
    intermediates = [
        each for each in certificates.split(signer.chain) if not certificates.issued_by(each, each)
    ]
    return certificates.Pair(certificates.bundle(leaf.certificate, *intermediates), leaf.key)


def _kept_key(inputs: Input) -> keys.PrivateKey | None:
    if not policy.keeps_key(inputs.spec):
        return None
    try:
        return keys.load(inputs.pair.key)
    except ValueError:
        return None


def _target(
    live: Object, spec: CertificateSpec, signer: Signer, pair: certificates.Pair, revision: int
) -> Desired:
    template = spec.secret_template or SecretTemplate()
    encoding = spec.private_key.encoding if spec.private_key else None
    content = {
        "tls.crt": pair.certificate,
        "tls.key": keys.dump(keys.load(pair.key), encoding or "PKCS1"),
        "ca.crt": signer.root or certificates.split(pair.certificate)[0],
    }
    body = {
        "metadata": {
            "name": spec.secret_name,
            "namespace": live["metadata"]["namespace"],
            "labels": {**template.labels, **MANAGED},
            "annotations": {**template.annotations, **_annotations(live, spec, revision)},
        },
        "type": "kubernetes.io/tls",
        "data": {name: base64.b64encode(value).decode() for name, value in content.items()},
    }
    return Desired(SECRET, body)


def _annotations(live: Object, spec: CertificateSpec, revision: int) -> dict[str, str]:
    return {
        policy.CERTIFICATE_NAME: live["metadata"]["name"],
        policy.ISSUER_NAME: spec.issuer_ref.name,
        policy.ISSUER_KIND: spec.issuer_ref.kind or ISSUER.kind,
        policy.ISSUER_GROUP: spec.issuer_ref.group or ISSUER.group,
        "cert-manager.io/common-name": spec.common_name or "",
        "cert-manager.io/alt-names": ",".join(spec.dns_names),
        "cert-manager.io/ip-sans": ",".join(spec.ip_addresses),
        "cert-manager.io/uri-sans": ",".join(spec.uris),
        policy.REQUEST: policy.fingerprint(spec),
        policy.REVISION: str(revision),
    }


def _with_certificate(
    secret: Mapping[str, Any], spec: CertificateSpec, status_: CertificateStatus
) -> CertificateStatus:
    certificate = policy.decoded(secret["data"]["tls.crt"])
    start, end = certificates.validity(certificate)
    return msgspec.structs.replace(
        status_,
        not_before=timestamp(start),
        not_after=timestamp(end),
        renewal_time=timestamp(policy.renewal_time(spec, certificate)),
        revision=policy.revision(secret["metadata"].get("annotations") or {}),
    )


_READY = Condition(type="Ready", status="True", reason="Ready", message=UP_TO_DATE)


def _not_ready(violation: Violation) -> Condition:
    return Condition(
        type="Ready", status="False", reason=violation.reason, message=violation.message
    )


def _issuing(violation: Violation, not_ready: str) -> Condition:
    message = f"{violation.message}; waiting: {not_ready}" if not_ready else violation.message
    return Condition(type="Issuing", status="True", reason=violation.reason, message=message)


def _controllers(context: Context) -> Iterable[Controller]:
    issuers = Issuers(context.cluster)
    yield IssuerReconciler(context, ISSUER, issuers).controller
    yield IssuerReconciler(context, CLUSTER_ISSUER, issuers).controller
    yield CertificateReconciler(context, issuers).controller
    yield CaBundleController(context, issuers).controller


PROVIDER = Provider(
    "certmanager",
    (ISSUER, CLUSTER_ISSUER, CERTIFICATE),
    _controllers,
    manages=(SECRET, CONFIG_MAP),
)
