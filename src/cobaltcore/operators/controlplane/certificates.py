"""Who signs the certificates of a control plane, and what its clients trust. Pure."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from cobaltcore.api.blocks import EndpointTls, IssuerRef, SecretKeyRef
from cobaltcore.api.foreign import certmanager
from cobaltcore.engine.desired import certificate, names, secret
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.operators.controlplane.view import View, is_ready
from cobaltcore.runtime.meta import Desired

ISSUER = "c5c3-ca"
ROOT = "c5c3-root"
TRUST = "c5c3-trust"
"""Secret with the certificate of the authority, and nothing but that."""
SERVERS = {
    names.MARIADB: (("primary", "secondary", "internal"), "internal"),
    names.RABBITMQ: (("nodes",), "nodes"),
}
"""Services of each server besides its own, and the one that names its pods."""


def is_on(view: View) -> bool:
    """Whether connections are encrypted."""
    return view.spec.global_.tls.enabled


def is_own(view: View) -> bool:
    """Whether the control plane has an authority of its own."""
    return is_on(view) and view.spec.global_.tls.issuer_ref is None


def issuer(view: View) -> IssuerRef:
    """Who signs; unless the spec names one, the control plane's own authority."""
    return view.spec.global_.tls.issuer_ref or IssuerRef(name=ISSUER, kind="Issuer")


def endpoint_tls(view: View, public: str | None) -> EndpointTls | None:
    """Encryption of a service, whose certificate is also valid for the host of its public URL."""
    if not is_on(view):
        return None
    host = urlsplit(public).hostname if public and public.startswith("https://") else None
    return EndpointTls(enabled=True, issuer_ref=issuer(view), hosts=[host] if host else None)


def objects(view: View) -> Iterator[Desired]:
    """Certificates of database and broker, and the authority that signs if no other does."""
    if is_own(view):
        yield from certificate.authority(
            view.sibling(ROOT),
            view.sibling(ISSUER),
            common_name=f"{view.name} authority",
            labels=view.labels("certificates"),
        )
    for name in SERVERS:
        yield _server(view, name)


def _server(view: View, name: str) -> Desired:
    further, pods = SERVERS[name]
    domain = f"{name}-{pods}.{view.namespace}.svc"
    secret_name = names.certificate_secret(name)
    return certificate.certificate(
        view.sibling(secret_name),
        services=[view.sibling(each) for each in (name, *(f"{name}-{own}" for own in further))],
        hosts=[f"*.{domain}", f"*.{domain}.cluster.local", "localhost"],
        secret=secret_name,
        issuer=issuer(view),
        labels=view.labels("certificates"),
    )


def ready(view: View) -> Verdict:
    """Whether all are issued; what they are for starts then."""
    wanted = [names.certificate_secret(name) for name in SERVERS]
    verdicts = [is_ready(view, certmanager.CERTIFICATE, name) for name in wanted]
    return next((each for each in verdicts if not isinstance(each, Ready)), Ready("Issued"))


def ca_bundle(view: View) -> str:
    """What clients trust, in PEM: the issuer of Keystone's certificate; empty for public ones."""
    if not is_on(view):
        return ""
    return secret.text(view.content(names.certificate_secret("keystone")), "ca.crt") or ""


def trust_objects(view: View) -> Iterator[Desired]:
    """The authority without its key, for pods."""
    known = ca_bundle(view)
    if known:
        yield secret.secret(
            view.sibling(TRUST), {"ca.crt": known}, labels=view.labels("certificates")
        )


def trust_ready(view: View) -> Verdict:
    """Whether the CA bundle is known; a public issuer needs none."""
    if not is_own(view) or ca_bundle(view):
        return Ready("Known")
    return Waiting("NotIssued", "the certificate of keystone has not been issued yet")


def trust_ref(view: View) -> SecretKeyRef | None:
    """Where pods find the authority."""
    return SecretKeyRef(name=TRUST, key="ca.crt") if ca_bundle(view) else None
