"""Who signs the certificates of a control plane, and what its clients trust. Pure."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from cobaltcore.api.blocks import EndpointTls, IssuerRef, SecretKeyRef, Tls
from cobaltcore.api.foreign import certmanager
from cobaltcore.engine.desired import names, secret
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.operators.controlplane.view import View, is_ready
from cobaltcore.runtime.meta import Desired

ISSUER = "c5c3-ca"
ROOT = "c5c3-root"
TRUST = "c5c3-trust"
"""Secret with the certificate of the authority, and nothing but that."""
TEN_YEARS = "87600h"


def is_on(view: View) -> bool:
    """Whether endpoints are encrypted."""
    settings = view.spec.global_.tls
    return settings is not None and settings.enabled


def is_own(view: View) -> bool:
    """Whether the control plane has an authority of its own."""
    settings = view.spec.global_.tls
    return (
        is_on(view) and settings is not None and not (settings.issuer_ref or settings.secret_ref)
    )


def tls(view: View) -> Tls | None:
    """Encryption of an endpoint; without an issuer the control plane's own authority signs."""
    if not is_own(view):
        return view.spec.global_.tls
    return Tls(enabled=True, issuer_ref=IssuerRef(name=ISSUER, kind="Issuer"))


def endpoint_tls(view: View, public: str | None) -> EndpointTls | None:
    """As above, for a service whose certificate is also valid for the host of its public URL."""
    whole = tls(view)
    if whole is None:
        return None
    host = urlsplit(public).hostname if public and public.startswith("https://") else None
    return EndpointTls(
        enabled=whole.enabled,
        issuer_ref=whole.issuer_ref,
        secret_ref=whole.secret_ref,
        hosts=[host] if host and whole.secret_ref is None else None,
    )


def objects(view: View) -> Iterator[Desired]:
    """An authority: a certificate that signs itself, and an issuer that signs with it."""
    yield view.child(
        certmanager.ISSUER,
        ROOT,
        certmanager.IssuerSpec(self_signed=certmanager.SelfSigned()),
        "certificates",
    )
    yield view.child(
        certmanager.CERTIFICATE,
        ISSUER,
        certmanager.CertificateSpec(
            secret_name=ISSUER,
            issuer_ref=certmanager.IssuerRef(name=ROOT, kind="Issuer"),
            common_name=f"{view.name} authority",
            duration=TEN_YEARS,
            is_ca=True,
            private_key=certmanager.PrivateKey(algorithm="ECDSA", size=256),
        ),
        "certificates",
    )
    yield view.child(
        certmanager.ISSUER,
        ISSUER,
        certmanager.IssuerSpec(ca=certmanager.CertificateAuthority(secret_name=ISSUER)),
        "certificates",
    )


def ready(view: View) -> Verdict:
    """Whether it can sign."""
    return is_ready(view, certmanager.ISSUER, ISSUER)


def ca_bundle(view: View) -> str:
    """What clients trust, in PEM: the issuer of Keystone's certificate; empty for public ones."""
    settings = view.spec.global_.tls
    if settings is None or not settings.enabled:
        return ""
    name = (
        settings.secret_ref.name if settings.secret_ref else names.certificate_secret("keystone")
    )
    return secret.text(view.content(name), "ca.crt") or ""


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
