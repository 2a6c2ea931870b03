"""PKI of one cluster in one directory: CAs, certificates, kubeconfigs.

An existing certificate is kept unless it is near expiry, of another CA, or lacks a host name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from cobaltcore.runtime import certificates
from cobaltlab import kubeconfigs

LIFETIME = timedelta(days=3650)
ADMINISTRATORS = "system:masters"
CLUSTER = "cluster"
FRONT_PROXY = "front-proxy"


class KeyFiles(NamedTuple):
    """Paths of a certificate (or public key) and its private key."""

    certificate: Path
    key: Path


def system_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Pki:
    """Keys of a cluster; every method returns paths and creates missing files."""

    directory: Path
    now: Callable[[], datetime] = system_now

    def authority(self, name: str = CLUSTER) -> KeyFiles:
        """A CA of the cluster."""
        found = self._files(f"{name}-ca")
        if not _complete(found) or self._is_old(found):
            _write(certificates.authority(f"{name}-ca", now=self.now(), lifetime=LIFETIME), found)
        return found

    def certificate(
        self, name: str, subject: certificates.Subject, *, authority: str = CLUSTER
    ) -> KeyFiles:
        """A certificate under `name`, signed by a CA of the cluster."""
        issuer = _read(self.authority(authority))
        found = self._files(name)
        if not _complete(found) or certificates.needs_renewal(
            found.certificate.read_bytes(),
            now=self.now(),
            hosts=subject.hosts,
            issuer=issuer.certificate,
        ):
            _write(certificates.issue(issuer, subject, now=self.now(), lifetime=LIFETIME), found)
        return found

    def client(self, user: str, *, groups: tuple[str, ...] = ()) -> KeyFiles:
        """A client certificate that Kubernetes reads as `user` in `groups`."""
        subject = certificates.Subject(user, organizations=groups, usages=("client",))
        return self.certificate(_file_name(user), subject)

    def service_account_key(self) -> KeyFiles:
        """The RSA key pair of ServiceAccount tokens."""
        found = KeyFiles(
            self.directory / "service-account.pub", self.directory / "service-account.key"
        )
        if not _complete(found):
            _write(_rsa_pair(), found)
        return found

    def kubeconfig(self, user: str, *, server: str, groups: tuple[str, ...] = ()) -> Path:
        """A kubeconfig file for `user` with its own client certificate."""
        pair = _read(self.client(user, groups=groups))
        return self.write_kubeconfig(
            user,
            server=server,
            credentials={
                "client-certificate-data": kubeconfigs.encode(pair.certificate),
                "client-key-data": kubeconfigs.encode(pair.key),
            },
        )

    def write_kubeconfig(
        self, user: str, *, server: str, credentials: Mapping[str, str], namespace: str = "default"
    ) -> Path:
        """A kubeconfig file for `user` with these credentials, for example a token."""
        path = self.directory / f"{_file_name(user)}.kubeconfig"
        content = kubeconfigs.content(
            name=CLUSTER,
            server=server,
            authority=self.authority().certificate.read_bytes(),
            user=user,
            credentials=credentials,
            namespace=namespace,
        )
        kubeconfigs.write(path, content)
        return path

    def _files(self, name: str) -> KeyFiles:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return KeyFiles(self.directory / f"{name}.crt", self.directory / f"{name}.key")

    def _is_old(self, found: KeyFiles) -> bool:
        return certificates.needs_renewal(found.certificate.read_bytes(), now=self.now())


def _complete(found: KeyFiles) -> bool:
    return found.certificate.exists() and found.key.exists()


def _read(found: KeyFiles) -> certificates.Pair:
    return certificates.Pair(found.certificate.read_bytes(), found.key.read_bytes())


def _write(pair: certificates.Pair, found: KeyFiles) -> None:
    found.certificate.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    certificates.write(pair, certificate=found.certificate, key=found.key)


def _rsa_pair() -> certificates.Pair:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return certificates.Pair(
        certificate=key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        ),
        key=key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        ),
    )


def _file_name(user: str) -> str:
    return user.replace(":", "-").replace("/", "-")
