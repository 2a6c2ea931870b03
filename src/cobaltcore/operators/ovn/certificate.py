"""The certificate that all parts of OVN authenticate with. Pure.

OVN does not verify names: any certificate of the CA is accepted. So one certificate serves
databases, northd, hypervisors and Neutron.
"""

from collections.abc import Iterator

from cobaltcore.api.blocks import IssuerRef
from cobaltcore.api.foreign import certmanager
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.desired import certificate, secret
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.operators.ovn.ovsdb import ClientCertificate
from cobaltcore.operators.ovn.view import View
from cobaltcore.runtime.meta import Desired, Object

COMPONENT = "certificate"
KEYS = ("tls.crt", "tls.key", "ca.crt")


def objects(view: View) -> Iterator[Desired]:
    """A certificate of the issuer of the spec, else of a CA of our own; none if a Secret is named."""
    tls = view.spec.tls
    if tls.cert_secret_ref is not None:
        return
    issuer = tls.issuer_ref
    if issuer is None:
        authority = view.named("ca")
        yield from certificate.authority(
            view.named("self-signed"),
            authority,
            common_name=f"OVN {view.name}",
            labels=view.labels(COMPONENT),
        )
        issuer = IssuerRef(name=authority.name, kind="Issuer")
    built = certificate.certificate(
        view.sibling(view.tls_secret),
        services=[view.sibling(view.spec.neutron_integration.nb_connection.service.name)],
        secret=view.tls_secret,
        issuer=issuer,
        labels=view.labels(COMPONENT),
    )
    usages = [*built.body["spec"]["usages"], "client auth"]
    spec = {**built.body["spec"], "usages": usages, "dnsNames": _hosts(view)}
    yield Desired(certmanager.CERTIFICATE, {**built.body, "spec": spec})


def ready(view: View) -> Verdict:
    """Whether the Secret is complete."""
    key = view.sibling(view.tls_secret)
    found = view.observed.content(SECRET, key)
    missing = [name for name in KEYS if secret.text(found, name) is None]
    if not missing:
        return Ready("Available")
    if view.spec.tls.cert_secret_ref is None:
        why = _ready_message(view.get(certmanager.CERTIFICATE, key)) or "not issued yet"
        return Waiting("CertificatePending", f"Certificate {key.name!r}: {why}")
    if found is None:
        return Waiting("SecretMissing", f"Secret {key.name!r} (tls.certSecretRef) does not exist")
    text = f"Secret {key.name!r} (tls.certSecretRef) has no key {missing[0]!r}"
    return Waiting("SecretIncomplete", text)


def client_certificate(found: Object | None) -> ClientCertificate | None:
    """The content of the Secret, if it is complete."""
    chain, key, authority = (secret.text(found, name) for name in KEYS)
    if chain is None or key is None or authority is None:
        return None
    return ClientCertificate(chain, key, authority)


def _hosts(view: View) -> list[str]:
    neutron = view.spec.neutron_integration
    namespace = view.namespace
    services = (neutron.nb_connection.service.name, neutron.sb_connection.service.name)
    return [
        f"{name}.{namespace}{suffix}"
        for name in services
        for suffix in ("", ".svc", ".svc.cluster.local")
    ]


def _ready_message(obj: Object | None) -> str:
    listed = ((obj or {}).get("status") or {}).get("conditions") or ()
    return next((each.get("message", "") for each in listed if each["type"] == "Ready"), "")
