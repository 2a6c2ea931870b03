"""What a Certificate asks for, and whether what its Secret holds is still that. Pure.

The reasons are cert-manager's own. Checks run in order; the first that finds something decides.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from cobaltcore.api.foreign.certmanager import CertificateSpec, IssuerRef, PrivateKey
from cobaltcore.lab.providers import durations
from cobaltcore.runtime import certificates, diff, keys
from cobaltcore.runtime.meta import Object

CERTIFICATE_NAME = "cert-manager.io/certificate-name"
ISSUER_NAME = "cert-manager.io/issuer-name"
ISSUER_KIND = "cert-manager.io/issuer-kind"
ISSUER_GROUP = "cert-manager.io/issuer-group"
REQUEST = "c5c3.io/certificate-request"
"""Fingerprint of the spec that the certificate was issued for."""
REVISION = "c5c3.io/certificate-revision"

LONGEST_NAME = 64
LIFETIME = timedelta(days=90)
SHORTEST_LIFETIME = timedelta(hours=1)
SHORTEST_RENEWAL = timedelta(minutes=5)
TEXT_USAGES: dict[str, certificates.Usage] = {
    "server auth": "server",
    "client auth": "client",
    "any": "any",
    "code signing": "code",
    "email protection": "email",
    "s/mime": "email",
    "timestamping": "timestamp",
    "ocsp signing": "ocsp",
}
TEXT_KEY_USAGES: dict[str, certificates.KeyUsage] = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
DEFAULT_USAGES = ("digital signature", "key encipherment")
# What may change without a new certificate; the issuer and the key have checks of their own.
_NOT_IN_CERTIFICATE = (
    "secretName",
    "secretTemplate",
    "issuerRef",
    "privateKey",
    "renewBefore",
    "revisionHistoryLimit",
)


class Violation(NamedTuple):
    """Why a certificate must be issued (again), or cannot be."""

    reason: str
    message: str
    issuable: bool = True
    """False: somebody has to change something first."""


@dataclass(frozen=True, slots=True)
class Signer:
    """Who signs: an authority, or each certificate itself."""

    chain: bytes = b""
    """The authority's certificate and those between it and the root; empty: self-signed."""
    key: bytes = field(default=b"", repr=False)
    root: bytes = b""
    """What clients have to trust."""

    @property
    def pair(self) -> certificates.Pair:
        """The authority that signs."""
        return certificates.Pair(certificates.split(self.chain)[0], self.key)


@dataclass(frozen=True, slots=True)
class Input:
    """Everything that the checks look at."""

    name: str
    spec: CertificateSpec
    secret: Object | None
    signer: Signer | None
    """None while it is not known or cannot sign."""
    now: datetime

    @property
    def annotations(self) -> Mapping[str, str]:
        """Annotations of the Secret."""
        found: Mapping[str, str] = {}
        if self.secret is not None:
            found = self.secret["metadata"].get("annotations") or {}
        return found

    def content(self, name: str) -> bytes:
        """One key of the Secret; what is no base64 counts as missing."""
        data = (self.secret or {}).get("data") or {}
        return decoded(data.get(name))

    @property
    def pair(self) -> certificates.Pair:
        """What the Secret holds."""
        return certificates.Pair(self.content("tls.crt"), self.content("tls.key"))


def decoded(value: Any) -> bytes:
    """The bytes of a Secret's value."""
    try:
        return base64.b64decode(value or "")
    except binascii.Error:
        return b""


def subject(spec: CertificateSpec) -> certificates.Subject:
    """Whom the certificate is for; a ValueError for a usage that does not exist."""
    usages = [*(spec.usages or DEFAULT_USAGES), *(("cert sign",) if spec.is_ca else ())]
    unknown = [each for each in usages if each not in TEXT_USAGES | TEXT_KEY_USAGES]
    if unknown:
        raise ValueError(f"usage {unknown[0]!r} is not known")
    named = spec.subject
    return certificates.Subject(
        name=spec.common_name or "",
        organizations=named.organizations if named else (),
        units=named.organizational_units if named else (),
        hosts=(*spec.dns_names, *spec.ip_addresses),
        uris=spec.uris,
        usages=tuple(dict.fromkeys(TEXT_USAGES[each] for each in usages if each in TEXT_USAGES)),
        key_usages=tuple(TEXT_KEY_USAGES[each] for each in usages if each in TEXT_KEY_USAGES),
        authority=spec.is_ca,
    )


def lifetime(spec: CertificateSpec) -> timedelta:
    """How long the certificate shall be valid."""
    return durations.parse(spec.duration) if spec.duration else LIFETIME


def key_shape(spec: CertificateSpec) -> keys.Shape:
    """What kind of key the certificate shall have."""
    wanted = spec.private_key or PrivateKey()
    algorithm = wanted.algorithm or "RSA"
    size = 0 if algorithm == "Ed25519" else wanted.size or 0
    return keys.Shape(algorithm, size or keys.DEFAULT_SIZES[algorithm])


def keeps_key(spec: CertificateSpec) -> bool:
    """Whether a renewed certificate has the key of the one before."""
    return spec.private_key is not None and spec.private_key.rotation_policy == "Never"


def refusal(raw: Mapping[str, Any]) -> Violation | None:
    """Why a spec can never be served here, or None if it can."""
    unserved = sorted(
        set(raw) - {each.encode_name for each in msgspec.structs.fields(CertificateSpec)}
    )
    if unserved:
        return _never(f"spec.{unserved[0]} is not served in the lab")
    try:
        spec = msgspec.convert(raw, CertificateSpec)
        keys.check(key_shape(spec))
        _check_times(spec)
        wanted = subject(spec)
    except ValueError as error:
        return _never(f"spec cannot be served: {error}")
    if not (wanted.name or wanted.hosts or wanted.uris):
        return _never("spec needs at least one of commonName, dnsNames, ipAddresses and uris")
    if len(wanted.name) > LONGEST_NAME:
        return _never(f"spec.commonName has more than {LONGEST_NAME} characters")
    return None


def _check_times(spec: CertificateSpec) -> None:
    if lifetime(spec) < SHORTEST_LIFETIME:
        raise ValueError(f"duration is less than {SHORTEST_LIFETIME}")
    if spec.renew_before is None:
        return
    early = durations.parse(spec.renew_before)
    if not SHORTEST_RENEWAL <= early < lifetime(spec):
        raise ValueError(f"renewBefore is less than {SHORTEST_RENEWAL} or not less than duration")


def _never(message: str) -> Violation:
    return Violation("InvalidRequest", message, issuable=False)


def revision(annotations: Mapping[str, str]) -> int:
    """How often the certificate was issued, as its Secret says."""
    text = annotations.get(REVISION, "")
    return int(text) if text.isdecimal() else 0


def fingerprint(spec: CertificateSpec) -> str:
    """Of everything in the spec that ends up in the certificate."""
    fields = msgspec.to_builtins(spec)
    return diff.digest({k: v for k, v in fields.items() if k not in _NOT_IN_CERTIFICATE})


def renewal_time(spec: CertificateSpec, certificate: bytes) -> datetime:
    """When the certificate is replaced: `renewBefore` its end, or a third of its life before."""
    start, end = certificates.validity(certificate)
    early = durations.parse(spec.renew_before) if spec.renew_before else timedelta()
    if not timedelta() < early < end - start:
        early = (end - start) / 3
    return (end - early).replace(microsecond=0)


def issuer_text(ref: IssuerRef) -> str:
    """An issuer in words."""
    return f"{ref.kind or 'Issuer'}.{ref.group or 'cert-manager.io'}/{ref.name}"


def violation(given: Input) -> Violation | None:
    """The first reason to issue the certificate, or None if the Secret is as it should be."""
    return next((found for check in _CHECKS if (found := check(given))), None)


def defect(given: Input) -> Violation | None:
    """Why the present content of the Secret must not be used, or None if it may be."""
    found = next((found for check in _CONTENT_CHECKS if (found := check(given))), None)
    return found or _expired(given)


def _does_not_exist(given: Input) -> Violation | None:
    if given.secret is None:
        return Violation("DoesNotExist", "Issuing certificate as Secret does not exist")
    return None


def _of_another_certificate(given: Input) -> Violation | None:
    name = given.annotations.get(CERTIFICATE_NAME)
    if name == given.name:
        return None
    whose = f"was issued for {name!r}" if name else "exists and was not made for a Certificate"
    return Violation(
        "IncorrectCertificate",
        f"Secret {given.spec.secret_name!r} {whose}: "
        "delete that Secret or set another spec.secretName",
        issuable=False,
    )


def _missing_data(given: Input) -> Violation | None:
    for name, what in (("tls.key", "a private key"), ("tls.crt", "a certificate")):
        if not given.content(name):
            message = f"Issuing certificate as Secret does not contain {what}"
            return Violation("MissingData", message)
    return None


def _unreadable(given: Input) -> Violation | None:
    try:
        certificates.validity(given.pair.certificate)
    except ValueError:
        return Violation(
            "InvalidCertificate", "Issuing certificate as Secret contains an invalid certificate"
        )
    try:
        together = certificates.fits(given.pair)
    except ValueError:
        return Violation(
            "InvalidKeyPair", "Issuing certificate as Secret contains invalid private key data"
        )
    if together:
        return None
    return Violation(
        "InvalidKeyPair",
        "Issuing certificate as Secret contains a private key that does not match the certificate",
    )


def _key_mismatch(given: Input) -> Violation | None:
    wanted = key_shape(given.spec)
    if keys.shape_of(keys.load(given.pair.key)) == wanted:
        return None
    message = "Existing private key is not up to date for spec: [spec.privateKey]"
    if not keeps_key(given.spec):
        return Violation("SecretMismatch", message)
    hint = "set spec.privateKey.rotationPolicy to Always or delete the Secret"
    return Violation("SecretMismatch", f"{message}; {hint}", issuable=False)


def _other_issuer(given: Input) -> Violation | None:
    said = given.annotations
    before = IssuerRef(
        name=said.get(ISSUER_NAME, ""),
        kind="ClusterIssuer" if said.get(ISSUER_KIND) == "ClusterIssuer" else "Issuer",
        group=said.get(ISSUER_GROUP),
    )
    if issuer_text(before) == issuer_text(given.spec.issuer_ref):
        return None
    return Violation(
        "IncorrectIssuer",
        f"Issuing certificate as Secret was previously issued by {issuer_text(before)!r}",
    )


def _other_authority(given: Input) -> Violation | None:
    if given.signer is None:
        return None
    certificate = given.pair.certificate
    issuer = given.signer.pair.certificate if given.signer.chain else certificate
    if certificates.issued_by(certificate, issuer):
        return None
    return Violation(
        "IncorrectIssuer", "Issuing certificate as the issuer has another key pair by now"
    )


def _spec_changed(given: Input) -> Violation | None:
    if given.annotations.get(REQUEST) == fingerprint(given.spec):
        return None
    return Violation(
        "RequestChanged", "Issuing certificate as the spec changed since it was issued"
    )


def _renewal_due(given: Input) -> Violation | None:
    due = renewal_time(given.spec, given.pair.certificate)
    if given.now < due:
        return None
    return Violation("Renewing", f"Renewing certificate as renewal was scheduled at {due}")


def _expired(given: Input) -> Violation | None:
    end = certificates.validity(given.pair.certificate)[1]
    return Violation("Expired", f"Certificate expired on {end}") if given.now > end else None


Check = Callable[[Input], Violation | None]
_CONTENT_CHECKS: tuple[Check, ...] = (
    _does_not_exist,
    _of_another_certificate,
    _missing_data,
    _unreadable,
    _key_mismatch,
    _other_issuer,
    _other_authority,
    _spec_changed,
)
_CHECKS: tuple[Check, ...] = (*_CONTENT_CHECKS, _renewal_due)
