"""The self-managed CA and certificate of a webhook server: issue and renew. Pure.

A renewed CA stays in the bundle next to its successor, so that API servers and replicas that do
not have the new one yet keep working.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cobaltcore.runtime import certificates
from cobaltcore.runtime.meta import Key, Kind, Object
from cobaltcore.runtime.pair import Pair

SECRET = Kind("", "v1", "Secret", "secrets")

_BUNDLE, _AUTHORITY_KEY, _CERTIFICATE, _KEY = "ca.crt", "ca.key", "tls.crt", "tls.key"


@dataclass(frozen=True, slots=True)
class Identity:
    """The certificate of a webhook server, and the CA bundle that its clients trust."""

    bundle: bytes
    """CA certificates, the one in use first."""
    authority_key: bytes
    serving: Pair

    @property
    def authority(self) -> Pair:
        """The CA in use."""
        return Pair(certificates.split(self.bundle)[0], self.authority_key)


def current(known: Identity | None, hosts: Sequence[str], *, now: datetime) -> Identity:
    """The identity to use from now on: `known` as long as it is valid and not due for renewal."""
    if known is None or not _is_readable(known):
        authority = certificates.authority("cobalt-webhooks", now=now)
        return _issued(authority, authority.certificate, hosts, now=now)
    if certificates.needs_renewal(known.authority.certificate, now=now):
        authority = certificates.authority("cobalt-webhooks", now=now)
        bundle = certificates.bundle(authority.certificate, known.authority.certificate)
        return _issued(authority, bundle, hosts, now=now)
    issuer = known.authority.certificate
    if certificates.needs_renewal(
        known.serving.certificate, now=now, hosts=hosts, issuer=issuer
    ) or not certificates.key_matches(known.serving):
        return _issued(known.authority, known.bundle, hosts, now=now)
    return known


def secret(identity: Identity, key: Key) -> Object:
    """The Secret that stores an identity."""
    content = {
        _BUNDLE: identity.bundle,
        _AUTHORITY_KEY: identity.authority_key,
        _CERTIFICATE: identity.serving.certificate,
        _KEY: identity.serving.key,
    }
    return {
        "apiVersion": SECRET.api_version,
        "kind": SECRET.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "type": "Opaque",
        "data": {name: base64.b64encode(value).decode() for name, value in content.items()},
    }


def from_secret(found: Object) -> Identity | None:
    """The identity in a Secret; None if it is incomplete."""
    data: Mapping[str, str] = found.get("data") or {}
    if not data.keys() >= {_BUNDLE, _AUTHORITY_KEY, _CERTIFICATE, _KEY}:
        return None
    content = {name: base64.b64decode(value) for name, value in data.items()}
    serving = Pair(content[_CERTIFICATE], content[_KEY])
    return Identity(content[_BUNDLE], content[_AUTHORITY_KEY], serving)


def _issued(authority: Pair, bundle: bytes, hosts: Sequence[str], *, now: datetime) -> Identity:
    return Identity(bundle, authority.key, certificates.serving(authority, hosts, now=now))


def _is_readable(known: Identity) -> bool:
    try:
        return certificates.key_matches(known.authority) and bool(known.serving.key)
    except (ValueError, IndexError):
        return False
