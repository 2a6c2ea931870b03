"""X.509: a private CA, the certificates that it issues, and when to renew them.

Certificates and keys are PEM bytes; keys are ECDSA P-256 by default. Time is an argument, so that
tests control it.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from cobaltcore.runtime import files, keys
from cobaltcore.runtime.pair import Pair as Pair

Usage = Literal["server", "client", "any", "code", "email", "timestamp", "ocsp"]
KeyUsage = Literal[
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
]

AUTHORITY_LIFETIME = timedelta(days=3650)
SERVING_LIFETIME = timedelta(days=90)
# Machines whose clocks are a little behind must accept a certificate that was just issued.
CLOCK_SKEW = timedelta(minutes=5)
RENEW_AFTER_SHARE = 2 / 3

_USAGES = {
    "server": ExtendedKeyUsageOID.SERVER_AUTH,
    "client": ExtendedKeyUsageOID.CLIENT_AUTH,
    "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    "code": ExtendedKeyUsageOID.CODE_SIGNING,
    "email": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "timestamp": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp": ExtendedKeyUsageOID.OCSP_SIGNING,
}
_AUTHORITY_USAGES: tuple[KeyUsage, ...] = ("digital_signature", "key_cert_sign", "crl_sign")


@dataclass(frozen=True, slots=True)
class Subject:
    """Subject and extensions of a certificate.

    Kubernetes takes the common name of a client certificate as the user, organizations as groups.
    `hosts` are DNS names and IP addresses. An `authority` may sign others; `path_length` limits the
    number of intermediate CAs below it.
    """

    name: str
    organizations: Sequence[str] = ()
    hosts: Sequence[str] = ()
    usages: Sequence[Usage] = ("server",)
    units: Sequence[str] = ()
    uris: Sequence[str] = ()
    key_usages: Sequence[KeyUsage] = ("digital_signature",)
    authority: bool = False
    path_length: int | None = None


def authority(name: str, *, now: datetime, lifetime: timedelta = AUTHORITY_LIFETIME) -> Pair:
    """Issue a self-signed CA for leaf certificates."""
    subject = Subject(name, usages=(), key_usages=_AUTHORITY_USAGES, authority=True, path_length=0)
    return self_signed(subject, now=now, lifetime=lifetime)


def self_signed(
    subject: Subject,
    *,
    now: datetime,
    lifetime: timedelta = SERVING_LIFETIME,
    key: keys.PrivateKey | None = None,
) -> Pair:
    """Issue a self-signed certificate for `subject`."""
    own = key or keys.generate()
    name = _name(subject)
    builder = _builder(subject, key=own.public_key(), now=now, lifetime=lifetime)
    return _sign(builder.issuer_name(name), own, signer=own)


def issue(
    issuer: Pair,
    subject: Subject,
    *,
    now: datetime,
    lifetime: timedelta = SERVING_LIFETIME,
    key: keys.PrivateKey | None = None,
) -> Pair:
    """Issue a certificate for `subject`, signed by `issuer`."""
    own = key or keys.generate()
    signer_name = x509.load_pem_x509_certificate(issuer.certificate).subject
    builder = _builder(subject, key=own.public_key(), now=now, lifetime=lifetime)
    return _sign(builder.issuer_name(signer_name), own, signer=keys.load(issuer.key))


def serving(
    issuer: Pair, hosts: Sequence[str], *, now: datetime, lifetime: timedelta = SERVING_LIFETIME
) -> Pair:
    """Issue a server certificate for `hosts`, named after the first of them."""
    return issue(issuer, Subject(hosts[0], hosts=hosts), now=now, lifetime=lifetime)


def renew_at(certificate: bytes) -> datetime:
    """The end of two thirds of a certificate's lifetime."""
    parsed = x509.load_pem_x509_certificate(certificate)
    start, end = parsed.not_valid_before_utc, parsed.not_valid_after_utc
    return start + (end - start) * RENEW_AFTER_SHARE


def needs_renewal(
    certificate: bytes, *, now: datetime, hosts: Sequence[str] = (), issuer: bytes = b""
) -> bool:
    """Whether a certificate is unreadable, due, of another issuer, or lacks one of `hosts`."""
    try:
        parsed = x509.load_pem_x509_certificate(certificate)
    except ValueError:
        return True
    return (
        now >= renew_at(certificate)
        or not {_host(host) for host in hosts} <= _alternative_names(parsed)
        or (bool(issuer) and not issued_by(certificate, issuer))
    )


def issued_by(certificate: bytes, issuer: bytes) -> bool:
    """Whether the key of `issuer` signed a certificate."""
    try:
        x509.load_pem_x509_certificate(certificate).verify_directly_issued_by(
            x509.load_pem_x509_certificate(issuer)
        )
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def validity(certificate: bytes) -> tuple[datetime, datetime]:
    """Start and end of a certificate's validity; a ValueError if it cannot be read."""
    parsed = x509.load_pem_x509_certificate(certificate)
    return parsed.not_valid_before_utc, parsed.not_valid_after_utc


def is_authority(certificate: bytes) -> bool:
    """Whether a certificate may sign others; a ValueError if it cannot be read."""
    parsed = x509.load_pem_x509_certificate(certificate)
    try:
        found = parsed.extensions.get_extension_for_class(x509.BasicConstraints)
    except x509.ExtensionNotFound:
        return False
    return found.value.ca


def key_matches(pair: Pair) -> bool:
    """Whether key and certificate belong together; a ValueError if one cannot be read."""
    public = x509.load_pem_x509_certificate(pair.certificate).public_key()
    return public == keys.load(pair.key).public_key()


def split(chain: bytes) -> list[bytes]:
    """The certificates of a chain or bundle; a ValueError if it cannot be read."""
    return [_pem(each) for each in x509.load_pem_x509_certificates(chain)]


def bundle(*certificates: bytes) -> bytes:
    """Join PEM certificates into one CA bundle, in order and without duplicates."""
    parsed = (each for pem in certificates for each in x509.load_pem_x509_certificates(pem))
    return b"".join(dict.fromkeys(_pem(each) for each in parsed))


def write(pair: Pair, *, certificate: Path, key: Path) -> None:
    """Write a pair to files, each atomically; only the owner may read the key."""
    files.replace(key, pair.key, mode=0o600)
    files.replace(certificate, pair.certificate, mode=0o644)


def _builder(
    subject: Subject, *, key: keys.PublicKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    path_length = subject.path_length if subject.authority else None
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.BasicConstraints(subject.authority, path_length), critical=True)
        .add_extension(_key_usage(subject.key_usages), critical=True)
    )
    if subject.usages:
        purposes = x509.ExtendedKeyUsage([_USAGES[usage] for usage in subject.usages])
        builder = builder.add_extension(purposes, critical=False)
    names = [_host(host) for host in subject.hosts]
    names += [x509.UniformResourceIdentifier(uri) for uri in subject.uris]
    if names:
        nameless = not list(_name(subject))
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=nameless)
    return builder


def _sign(
    builder: x509.CertificateBuilder, own: keys.PrivateKey, *, signer: keys.PrivateKey
) -> Pair:
    authority_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    digest = None if isinstance(signer, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    certificate = builder.add_extension(authority_key, critical=False).sign(signer, digest)
    return Pair(_pem(certificate), keys.dump(own))


def _name(subject: Subject) -> x509.Name:
    attributes = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in subject.organizations
    ]
    attributes += [
        x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, each) for each in subject.units
    ]
    if subject.name:
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, subject.name[:64]))
    return x509.Name(attributes)


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _alternative_names(certificate: x509.Certificate) -> set[x509.GeneralName]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return set()
    return set(found.value)


def _key_usage(wanted: Sequence[KeyUsage]) -> x509.KeyUsage:
    # Both of these only restrict key_agreement.
    agreement = not {"key_agreement", "encipher_only", "decipher_only"}.isdisjoint(wanted)
    return x509.KeyUsage(
        digital_signature="digital_signature" in wanted,
        content_commitment="content_commitment" in wanted,
        key_encipherment="key_encipherment" in wanted,
        data_encipherment="data_encipherment" in wanted,
        key_agreement=agreement,
        key_cert_sign="key_cert_sign" in wanted,
        crl_sign="crl_sign" in wanted,
        encipher_only="encipher_only" in wanted,
        decipher_only="decipher_only" in wanted,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
