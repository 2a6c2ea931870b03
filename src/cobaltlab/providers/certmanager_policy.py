"""Whether the Secret of a Certificate still matches its spec: cert-manager's policy chain. Pure.

The reasons are cert-manager's own. Checks run in order; the first violation decides.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from cobaltcore.api.foreign.certmanager import CertificateSpec, IssuerRef, PrivateKey
from cobaltcore.runtime import certificates, diff, keys
from cobaltcore.runtime.meta import Object
from cobaltlab.providers import durations

CERTIFICATE_NAME = "cert-manager.io/certificate-name"
ISSUER_NAME = "cert-manager.io/issuer-name"
ISSUER_KIND = "cert-manager.io/issuer-kind"
ISSUER_GROUP = "cert-manager.io/issuer-group"
REQUEST = "c5c3.io/certificate-request"
"""Fingerprint of the spec that the certificate was issued for."""
REVISION = "c5c3.io/certificate-revision"

COMMON_NAME_LIMIT = 64
DEFAULT_DURATION = timedelta(days=90)
MINIMUM_DURATION = timedelta(hours=1)
MINIMUM_RENEW_BEFORE = timedelta(minutes=5)
EXTENDED_KEY_USAGES: dict[str, certificates.Usage] = {
    "server auth": "server",
    "client auth": "client",
    "any": "any",
    "code signing": "code",
    "email protection": "email",
    "s/mime": "email",
    "timestamping": "timestamp",
    "ocsp signing": "ocsp",
}
KEY_USAGES: dict[str, certificates.KeyUsage] = {
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
# Fields that may change without a new certificate; issuer and key have checks of their own.
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
    """False: the user has to change something first."""


@dataclass(frozen=True, slots=True)
class Signer:
    """A CA, or self-signed."""

    chain: bytes = b""
    """The CA certificate and intermediates; empty: self-signed."""
    key: bytes = field(default=b"", repr=False)
    root: bytes = b""
    """The certificate that clients have to trust."""

    @property
    def pair(self) -> certificates.Pair:
        """The key pair that signs."""
        return certificates.Pair(certificates.split(self.chain)[0], self.key)


@dataclass(frozen=True, slots=True)
class Input:
    """The input of the checks."""

    name: str
    spec: CertificateSpec
    secret: Object | None
    signer: Signer | None
    """None while the issuer is not ready."""
    now: datetime

    @property
    def annotations(self) -> Mapping[str, str]:
        found: Mapping[str, str] = {}
        if self.secret is not None:
            found = self.secret["metadata"].get("annotations") or {}
        return found

    def content(self, name: str) -> bytes:
        """One value of the Secret; invalid base64 counts as missing."""
        data = (self.secret or {}).get("data") or {}
        return decoded(data.get(name))

    @property
    def pair(self) -> certificates.Pair:
        """Certificate and key of the Secret."""
        return certificates.Pair(self.content("tls.crt"), self.content("tls.key"))


def decoded(value: Any) -> bytes:
    """Decode a value of a Secret; invalid base64 reads as empty."""
    try:
        return base64.b64decode(value or "")
    except binascii.Error:
        return b""


def subject(spec: CertificateSpec) -> certificates.Subject:
    """The subject of the certificate; a ValueError for an unknown usage."""
    usages = [*(spec.usages or DEFAULT_USAGES), *(("cert sign",) if spec.is_ca else ())]
    unknown = [each for each in usages if each not in EXTENDED_KEY_USAGES | KEY_USAGES]
    if unknown:
        raise ValueError(f"spec.usages: {unknown[0]!r} is unknown")
    named = spec.subject
    return certificates.Subject(
        name=spec.common_name or "",
        organizations=named.organizations if named else (),
        units=named.organizational_units if named else (),
        hosts=(*spec.dns_names, *spec.ip_addresses),
        uris=spec.uris,
        usages=tuple(
            dict.fromkeys(
                EXTENDED_KEY_USAGES[each] for each in usages if each in EXTENDED_KEY_USAGES
            )
        ),
        key_usages=tuple(KEY_USAGES[each] for each in usages if each in KEY_USAGES),
        authority=spec.is_ca,
    )


def lifetime(spec: CertificateSpec) -> timedelta:
    return durations.parse(spec.duration) if spec.duration else DEFAULT_DURATION


def key_spec(spec: CertificateSpec) -> keys.KeySpec:
    private_key = spec.private_key or PrivateKey()
    algorithm = private_key.algorithm or "RSA"
    size = 0 if algorithm == "Ed25519" else private_key.size or 0
    return keys.KeySpec(algorithm, size or keys.DEFAULT_SIZES[algorithm])


def keeps_key(spec: CertificateSpec) -> bool:
    """Whether renewals keep the private key."""
    return spec.private_key is not None and spec.private_key.rotation_policy == "Never"


def invalid(raw: Mapping[str, Any]) -> Violation | None:
    """Why no certificate can be issued for a spec, or None if one can."""
    unsupported = sorted(
        set(raw) - {each.encode_name for each in msgspec.structs.fields(CertificateSpec)}
    )
    if unsupported:
        return _invalid_request(f"spec.{unsupported[0]} is not supported in the lab: remove it")
    try:
        spec = msgspec.convert(raw, CertificateSpec)
        keys.check(key_spec(spec))
        _check_times(spec)
        requested = subject(spec)
    except ValueError as error:
        return _invalid_request(f"spec is invalid: {error}")
    if not (requested.name or requested.hosts or requested.uris):
        return _invalid_request(
            "spec needs at least one of commonName, dnsNames, ipAddresses and uris"
        )
    if len(requested.name) > COMMON_NAME_LIMIT:
        return _invalid_request(
            f"spec.commonName has {len(requested.name)} characters, the limit is {COMMON_NAME_LIMIT}"
        )
    return None


def _check_times(spec: CertificateSpec) -> None:
    if lifetime(spec) < MINIMUM_DURATION:
        raise ValueError(f"spec.duration is less than {MINIMUM_DURATION}")
    if spec.renew_before is None:
        return
    early = durations.parse(spec.renew_before)
    if not MINIMUM_RENEW_BEFORE <= early < lifetime(spec):
        raise ValueError(
            f"spec.renewBefore is less than {MINIMUM_RENEW_BEFORE} or not less than spec.duration"
        )


def _invalid_request(message: str) -> Violation:
    return Violation("InvalidRequest", message, issuable=False)


def revision(annotations: Mapping[str, str]) -> int:
    """How often the certificate was issued, from annotations of its Secret."""
    text = annotations.get(REVISION, "")
    return int(text) if text.isdecimal() else 0


def fingerprint(spec: CertificateSpec) -> str:
    """Digest of the fields that end up in the certificate."""
    fields = msgspec.to_builtins(spec)
    return diff.digest({k: v for k, v in fields.items() if k not in _NOT_IN_CERTIFICATE})


def renewal_time(spec: CertificateSpec, certificate: bytes) -> datetime:
    """When the certificate is renewed: `renewBefore` its end, by default a third of its lifetime."""
    start, end = certificates.validity(certificate)
    early = durations.parse(spec.renew_before) if spec.renew_before else timedelta()
    if not timedelta() < early < end - start:
        early = (end - start) / 3
    return (end - early).replace(microsecond=0)


def issuer_text(ref: IssuerRef) -> str:
    """An issuer as messages name it."""
    return f"{ref.kind or 'Issuer'}.{ref.group or 'cert-manager.io'}/{ref.name}"


def violation(inputs: Input) -> Violation | None:
    """The first reason to issue the certificate, or None if the Secret is up to date."""
    return next((found for check in _CHECKS if (found := check(inputs))), None)


def defect(inputs: Input) -> Violation | None:
    """Why the content of the Secret must not be used, or None if it may be."""
    found = next((found for check in _CONTENT_CHECKS if (found := check(inputs))), None)
    return found or _expired(inputs)


def _does_not_exist(inputs: Input) -> Violation | None:
    if inputs.secret is None:
        return Violation("DoesNotExist", "Issuing certificate as Secret does not exist")
    return None


def _owned_by_another_certificate(inputs: Input) -> Violation | None:
    name = inputs.annotations.get(CERTIFICATE_NAME)
    if name == inputs.name:
        return None
    origin = f"was issued for Certificate {name!r}" if name else "does not belong to a Certificate"
    return Violation(
        "IncorrectCertificate",
        f"Secret {inputs.spec.secret_name!r} {origin}: "
        "delete that Secret or set another spec.secretName",
        issuable=False,
    )


def _missing_data(inputs: Input) -> Violation | None:
    for name, what in (("tls.key", "a private key"), ("tls.crt", "a certificate")):
        if not inputs.content(name):
            message = f"Issuing certificate as Secret does not contain {what}"
            return Violation("MissingData", message)
    return None


def _unreadable(inputs: Input) -> Violation | None:
    try:
        certificates.validity(inputs.pair.certificate)
    except ValueError:
        return Violation(
            "InvalidCertificate", "Issuing certificate as Secret contains an invalid certificate"
        )
    try:
        together = certificates.key_matches(inputs.pair)
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


def _key_mismatch(inputs: Input) -> Violation | None:
    if keys.spec_of(keys.load(inputs.pair.key)) == key_spec(inputs.spec):
        return None
    message = "Existing private key is not up to date for spec: [spec.privateKey]"
    if not keeps_key(inputs.spec):
        return Violation("SecretMismatch", message)
    hint = "set spec.privateKey.rotationPolicy to Always or delete the Secret"
    return Violation("SecretMismatch", f"{message}; {hint}", issuable=False)


def _issuer_changed(inputs: Input) -> Violation | None:
    annotations = inputs.annotations
    previous = IssuerRef(
        name=annotations.get(ISSUER_NAME, ""),
        kind="ClusterIssuer" if annotations.get(ISSUER_KIND) == "ClusterIssuer" else "Issuer",
        group=annotations.get(ISSUER_GROUP),
    )
    if issuer_text(previous) == issuer_text(inputs.spec.issuer_ref):
        return None
    return Violation(
        "IncorrectIssuer",
        f"Issuing certificate as Secret was previously issued by {issuer_text(previous)!r}",
    )


def _issuer_key_changed(inputs: Input) -> Violation | None:
    if inputs.signer is None:
        return None
    certificate = inputs.pair.certificate
    issuer = inputs.signer.pair.certificate if inputs.signer.chain else certificate
    if certificates.issued_by(certificate, issuer):
        return None
    return Violation(
        "IncorrectIssuer", "Issuing certificate as the key pair of the issuer has changed"
    )


def _spec_changed(inputs: Input) -> Violation | None:
    if inputs.annotations.get(REQUEST) == fingerprint(inputs.spec):
        return None
    return Violation(
        "RequestChanged", "Issuing certificate as the spec changed since it was issued"
    )


def _renewal_due(inputs: Input) -> Violation | None:
    due = renewal_time(inputs.spec, inputs.pair.certificate)
    if inputs.now < due:
        return None
    return Violation("Renewing", f"Renewing certificate as renewal was scheduled at {due}")


def _expired(inputs: Input) -> Violation | None:
    end = certificates.validity(inputs.pair.certificate)[1]
    return Violation("Expired", f"Certificate expired on {end}") if inputs.now > end else None


Check = Callable[[Input], Violation | None]
_CONTENT_CHECKS: tuple[Check, ...] = (
    _does_not_exist,
    _owned_by_another_certificate,
    _missing_data,
    _unreadable,
    _key_mismatch,
    _issuer_changed,
    _issuer_key_changed,
    _spec_changed,
)
_CHECKS: tuple[Check, ...] = (*_CONTENT_CHECKS, _renewal_due)
