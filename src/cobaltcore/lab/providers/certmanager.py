"""cert-manager for the lab: Issuer, ClusterIssuer (selfSigned, ca) and Certificate.

A Certificate's Secret is the whole state: what was issued, for which spec, as which revision. It
stays when the Certificate goes, as with the real operator.
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
from cobaltcore.lab.providers import certmanager_policy as policy
from cobaltcore.lab.providers import provider
from cobaltcore.lab.providers.certmanager_bundle import Bundles
from cobaltcore.lab.providers.certmanager_issuer import (
    AUTHORITY,
    CannotSign,
    IssuerReadiness,
    Issuers,
)
from cobaltcore.lab.providers.certmanager_policy import Input, Signer, Violation
from cobaltcore.runtime import certificates, conditions, events, keys, status
from cobaltcore.runtime.apply import Applier, ForeignObject
from cobaltcore.runtime.clock import timestamp
from cobaltcore.runtime.controller import Controller, KeysOf, Source, itself, referrers
from cobaltcore.runtime.meta import Condition, Desired, Key, Kind, Object, Scope, key_of
from cobaltcore.runtime.store import Change

MANAGED = {"controller.cert-manager.io/fao": "true"}
UP_TO_DATE = "Certificate is up to date and has not expired"
ISSUED = "The certificate has been successfully issued"
# A machine that slept does not notice that a timer should have rung.
LOOK_AT_LEAST_EVERY = timedelta(hours=12)


class Issuance:
    """The controller of Certificates."""

    def __init__(self, setting: provider.Setting, issuers: Issuers) -> None:
        self._cluster = setting.cluster
        self._clock = setting.clock
        self._issuers = issuers
        self._applier = Applier(setting.cluster, manager=provider.MANAGER)
        self._events = events.Recorder(
            setting.cluster,
            component="cert-manager-certificates-issuing",
            instance=setting.instance,
            clock=setting.clock,
        )
        informer = setting.cluster.informer(CERTIFICATE)
        informer.add_index("secret", _secret)
        informer.add_index("issuer", _issuer)
        self.controller = Controller(
            "certificate",
            self.reconcile,
            [
                Source(CERTIFICATE, itself),
                Source(SECRET, self._of_secret, Scope(metadata_only=True)),
                Source(ISSUER, self._of_issuer(ISSUER)),
                Source(CLUSTER_ISSUER, self._of_issuer(CLUSTER_ISSUER)),
            ],
            clock=setting.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Issue the certificate if something asks for it, and report."""
        live = self._cluster.informer(CERTIFICATE).get(key)
        if live is None or live["metadata"].get("deletionTimestamp"):
            return None
        refused = policy.refusal(live.get("spec") or {})
        if refused is not None:
            await self._report(live, None, [_not_ready(refused)])
            return None
        spec = manifest.spec_of(live, CertificateSpec)
        try:
            signer, waits_for = await self._issuers.signer(spec.issuer_ref, key.namespace), ""
        except CannotSign as error:
            signer, waits_for = None, error.message
        secret = await self._cluster.read(SECRET, Key(key.namespace, spec.secret_name))
        given = Input(key.name, spec, secret, signer, self._clock.now())
        found = policy.violation(given)
        if signer is None or (found is not None and not found.issuable):
            return await self._wait(live, given, found, waits_for)
        return await self._settle(live, given, signer, found)

    async def _settle(
        self, live: Object, given: Input, signer: Signer, found: Violation | None
    ) -> timedelta | None:
        """Make the Secret what it should be: with a new certificate if there is a reason."""
        pair, revision = given.pair, policy.revision(given.annotations) or 1
        if found is not None:
            pair = await asyncio.to_thread(_issue, given, signer)
            known = manifest.status_of(live, CertificateStatus).revision
            revision = max(known, policy.revision(given.annotations)) + 1
        wanted = _target(live, given.spec, signer, pair, revision)
        try:
            await self._applier.apply([wanted])
        except ForeignObject as error:
            taken = Violation("IncorrectCertificate", f"{error.message}: {error.hint}")
            await self._report(live, None, [_not_ready(taken)])
            return None
        if found is not None:
            await self._events.normal(live, "Issuing", ISSUED, action="Issuing")
        await self._report(live, wanted.body, [_READY])
        return self._next_look(policy.renewal_time(given.spec, pair.certificate))

    async def _wait(
        self, live: Object, given: Input, found: Violation | None, waits_for: str
    ) -> timedelta | None:
        """Nothing can be issued now; what is there is used as long as it is good."""
        defect = policy.defect(given)
        told = [_READY if defect is None else _not_ready(defect)]
        if found is not None:
            told.append(_issuing(found, waits_for))
        readable = defect is None or defect.reason == "Expired"
        await self._report(live, given.secret if readable else None, told)
        if defect is not None:
            return None
        due = policy.renewal_time(given.spec, given.pair.certificate)
        end = certificates.validity(given.pair.certificate)[1] + timedelta(seconds=1)
        return self._next_look(end if found is not None else due)

    def _next_look(self, due: datetime) -> timedelta:
        return max(timedelta(), min(due - self._clock.now(), LOOK_AT_LEAST_EVERY))

    async def _report(
        self, live: Object, secret: Mapping[str, Any] | None, told: list[Condition]
    ) -> None:
        before = manifest.status_of(live, CertificateStatus)
        after = CertificateStatus(
            conditions=conditions.merge(
                before.conditions,
                told,
                now=self._clock.now(),
                generation=live["metadata"]["generation"],
            ),
            revision=before.revision,
        )
        if secret is not None:
            after = _told_by(secret, manifest.spec_of(live, CertificateSpec), after)
        built = msgspec.to_builtins(after)
        await status.write(self._cluster, CERTIFICATE, live, built, manager=provider.MANAGER)

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


def _issue(given: Input, signer: Signer) -> certificates.Pair:
    """Make the certificate, with its old key if that is to be kept."""
    key = _kept_key(given) or keys.generate(policy.key_shape(given.spec))
    subject, lifetime = policy.subject(given.spec), policy.lifetime(given.spec)
    if not signer.chain:
        return certificates.self_signed(subject, now=given.now, lifetime=lifetime, key=key)
    leaf = certificates.issue(signer.pair, subject, now=given.now, lifetime=lifetime, key=key)
    between = [
        each for each in certificates.split(signer.chain) if not certificates.issued_by(each, each)
    ]
    return certificates.Pair(certificates.bundle(leaf.certificate, *between), leaf.key)


def _kept_key(given: Input) -> keys.PrivateKey | None:
    if not policy.keeps_key(given.spec):
        return None
    try:
        return keys.load(given.pair.key)
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


def _told_by(
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


def _not_ready(found: Violation) -> Condition:
    return Condition(type="Ready", status="False", reason=found.reason, message=found.message)


def _issuing(found: Violation, waits_for: str) -> Condition:
    message = f"{found.message}; waiting: {waits_for}" if waits_for else found.message
    return Condition(type="Issuing", status="True", reason=found.reason, message=message)


def _controllers(setting: provider.Setting) -> Iterable[Controller]:
    issuers = Issuers(setting.cluster)
    yield IssuerReadiness(setting, ISSUER, issuers).controller
    yield IssuerReadiness(setting, CLUSTER_ISSUER, issuers).controller
    yield Issuance(setting, issuers).controller
    yield Bundles(setting, issuers).controller


PROVIDER = provider.Provider(
    "certmanager",
    (ISSUER, CLUSTER_ISSUER, CERTIFICATE),
    _controllers,
    makes=(SECRET, CONFIG_MAP),
)
