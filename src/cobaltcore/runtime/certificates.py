"""X.509 with ECDSA P-256: a private authority, what it issues, and when to renew it.

Certificates and keys travel as PEM bytes. Time is an argument, so that tests can turn it.
"""

import ipaddress
import os
import ssl
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from cobaltcore.runtime import files

Usage = Literal["server", "client"]

AUTHORITY_LIFETIME = timedelta(days=3650)
SERVING_LIFETIME = timedelta(days=90)
# Machines whose clocks are a little behind must accept a certificate that was made a moment ago.
CLOCK_SKEW = timedelta(minutes=5)
RENEW_AFTER_SHARE = 2 / 3

_USAGES = {"server": ExtendedKeyUsageOID.SERVER_AUTH, "client": ExtendedKeyUsageOID.CLIENT_AUTH}


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate (the chain, leaf first) and its private key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a certificate is for.

    Kubernetes reads the name of a client certificate as the user, organizations as its groups.
    `hosts` are DNS names and IP addresses.
    """

    name: str
    organizations: Sequence[str] = ()
    hosts: Sequence[str] = ()
    usages: Sequence[Usage] = ("server",)


def authority(name: str, *, now: datetime, lifetime: timedelta = AUTHORITY_LIFETIME) -> Pair:
    """Make a self-signed authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    own_name = _name(name, ())
    builder = (
        _builder(own_name, issuer=own_name, key=key.public_key(), now=now, lifetime=lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(authority=True), critical=True)
        .add_extension(_authority_key(key.public_key()), critical=False)
    )
    return _pair(builder.sign(key, hashes.SHA256()), key)


def issue(
    issuer: Pair, subject: Subject, *, now: datetime, lifetime: timedelta = SERVING_LIFETIME
) -> Pair:
    """Make a certificate for `subject`, signed by `issuer`."""
    signer = _private_key(issuer.key)
    signer_certificate = x509.load_pem_x509_certificate(issuer.certificate)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder(
            _name(subject.name, subject.organizations),
            issuer=signer_certificate.subject,
            key=key.public_key(),
            now=now,
            lifetime=lifetime,
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(authority=False), critical=True)
        .add_extension(_authority_key(signer.public_key()), critical=False)
        .add_extension(
            x509.ExtendedKeyUsage([_USAGES[usage] for usage in subject.usages]), critical=False
        )
    )
    if subject.hosts:
        names = x509.SubjectAlternativeName([_host(host) for host in subject.hosts])
        builder = builder.add_extension(names, critical=False)
    return _pair(builder.sign(signer, hashes.SHA256()), key)


def serving(
    issuer: Pair, hosts: Sequence[str], *, now: datetime, lifetime: timedelta = SERVING_LIFETIME
) -> Pair:
    """Make a server certificate for `hosts`, named after the first of them."""
    return issue(issuer, Subject(hosts[0], hosts=hosts), now=now, lifetime=lifetime)


def renew_at(certificate: bytes) -> datetime:
    """When the certificate has lived two thirds of its life."""
    parsed = x509.load_pem_x509_certificate(certificate)
    start, end = parsed.not_valid_before_utc, parsed.not_valid_after_utc
    return start + (end - start) * RENEW_AFTER_SHARE


def needs_renewal(
    certificate: bytes, *, now: datetime, hosts: Sequence[str] = (), issuer: bytes = b""
) -> bool:
    """Tell whether a certificate is unreadable, old, another issuer's, or lacks one of `hosts`."""
    try:
        parsed = x509.load_pem_x509_certificate(certificate)
    except ValueError:
        return True
    return (
        now >= renew_at(certificate)
        or not {_host(host) for host in hosts} <= _alternative_names(parsed)
        or (bool(issuer) and not _issued_by(parsed, issuer))
    )


def bundle(*certificates: bytes) -> bytes:
    """Join PEM certificates into one trust bundle, each once, in the given order."""
    parsed = (each for pem in certificates for each in x509.load_pem_x509_certificates(pem))
    return b"".join(dict.fromkeys(_pem(each) for each in parsed))


def use_pair(context: ssl.SSLContext, pair: Pair) -> None:
    """Let new handshakes of `context` present `pair`; raise ssl.SSLError if it is no pair.

    OpenSSL reads keys from files only; these exist in memory where the kernel can do that.
    """
    with _as_file(pair.certificate) as certificate, _as_file(pair.key) as key:
        # An empty password makes an encrypted key an error; none would ask on the terminal.
        context.load_cert_chain(certificate, key, password="")


def write(pair: Pair, *, certificate: Path, key: Path) -> None:
    """Write a pair to files that change as a whole; only the owner may read the key."""
    files.replace(key, pair.key, mode=0o600)
    files.replace(certificate, pair.certificate, mode=0o644)


def _builder(
    name: x509.Name,
    *,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: datetime,
    lifetime: timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _name(common_name: str, organizations: Sequence[str]) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])


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


def _issued_by(certificate: x509.Certificate, issuer: bytes) -> bool:
    try:
        certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(issuer))
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _authority_key(key: ec.EllipticCurvePublicKey) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key)


def _private_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("the key of an authority must be an elliptic curve key")
    return key


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    encoded = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return Pair(_pem(certificate), encoded)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name
        return
    with os.fdopen(os.memfd_create("pem", os.MFD_CLOEXEC), "wb") as file:
        file.write(content)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"
