"""The certificate that all parts of OVN prove themselves with. Pure.

OVN compares no names: whoever has a certificate of the authority is a part of this network. So one
certificate serves databases, northd, hypervisors and Neutron.
"""

from collections.abc import Iterator
from typing import Any

from cobaltcore.api.blocks import IssuerRef
from cobaltcore.api.foreign import certmanager
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.desired import certificate, secret
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.operators.ovn.ovsdb import Pair
from cobaltcore.operators.ovn.view import View
from cobaltcore.runtime.meta import Desired, Key, Kind, Object

COMPONENT = "certificate"
KEYS = ("tls.crt", "tls.key", "ca.crt")
AUTHORITY_LIFETIME = "87600h"


def objects(view: View) -> Iterator[Desired]:
    """A certificate of the given issuer, or of an authority of our own; nothing if one is given."""
    tls = view.spec.tls
    if tls.cert_secret_ref is not None:
        return
    issuer = tls.issuer_ref
    if issuer is None:
        yield from _authority(view)
        issuer = IssuerRef(name=view.named("ca").name, kind="Issuer")
    made = certificate.certificate(
        view.key(view.tls_secret),
        service=view.key(view.spec.neutron_integration.nb_connection.service.name),
        secret=view.tls_secret,
        issuer=issuer,
        labels=view.labels(COMPONENT),
    )
    usages = [*made.body["spec"]["usages"], "client auth"]
    spec = {**made.body["spec"], "usages": usages, "dnsNames": _hosts(view)}
    yield Desired(certmanager.CERTIFICATE, {**made.body, "spec": spec})


def ready(view: View) -> Verdict:
    """Whether the Secret is complete."""
    key = view.key(view.tls_secret)
    found = view.observed.content(SECRET, key)
    missing = [name for name in KEYS if secret.text(found, name) is None]
    if not missing:
        return Ready("Available")
    if view.spec.tls.cert_secret_ref is None:
        why = _told(view.get(certmanager.CERTIFICATE, key)) or "not issued yet"
        return Waiting("CertificatePending", f"Certificate {key.name!r}: {why}")
    if found is None:
        return Waiting("SecretMissing", f"Secret {key.name!r} (tls.certSecretRef) does not exist")
    text = f"Secret {key.name!r} (tls.certSecretRef) has no key {missing[0]!r}"
    return Waiting("SecretIncomplete", text)


def pair(view_secret: Object | None) -> Pair | None:
    """The content of the Secret, if it is complete."""
    found = [secret.text(view_secret, name) for name in KEYS]
    certificate_, key, authority = found
    if certificate_ is None or key is None or authority is None:
        return None
    return Pair(certificate_, key, authority)


def _authority(view: View) -> Iterator[Desired]:
    """An authority for this network alone, signed by itself."""
    signer, authority = view.named("self-signed"), view.named("ca")
    yield _made(view, certmanager.ISSUER, signer, {"selfSigned": {}})
    spec = {
        "isCA": True,
        "commonName": f"OVN {view.name}"[:64],
        "secretName": authority.name,
        "duration": AUTHORITY_LIFETIME,
        "issuerRef": {"name": signer.name, "kind": "Issuer"},
        "privateKey": {"algorithm": "ECDSA", "size": 256},
    }
    yield _made(view, certmanager.CERTIFICATE, authority, spec)
    yield _made(view, certmanager.ISSUER, authority, {"ca": {"secretName": authority.name}})


def _made(view: View, kind: Kind, key: Key, spec: dict[str, Any]) -> Desired:
    meta = {"name": key.name, "namespace": key.namespace, "labels": view.labels(COMPONENT)}
    return Desired(kind, {"metadata": meta, "spec": spec})


def _hosts(view: View) -> list[str]:
    given = view.spec.neutron_integration
    namespace = view.cluster.metadata.namespace
    services = (given.nb_connection.service.name, given.sb_connection.service.name)
    return [
        f"{name}.{namespace}{suffix}"
        for name in services
        for suffix in ("", ".svc", ".svc.cluster.local")
    ]


def _told(obj: Object | None) -> str:
    listed = ((obj or {}).get("status") or {}).get("conditions") or ()
    return next((each.get("message", "") for each in listed if each["type"] == "Ready"), "")
