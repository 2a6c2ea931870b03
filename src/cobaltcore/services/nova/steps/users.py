"""As whom Nova calls other services: itself, or a user that the spec names. Pure."""

from collections.abc import Iterator
from typing import Any

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.definition import SecretNeed
from cobaltcore.runtime.meta import Key, Kind

PEERS = ("placement", "neutron", "cinder")
"""Services that Nova calls in its own name; Glance it calls in the name of its users."""
KEYS = ("application_credential_id", "application_credential_secret")


def credentials(spec: Any) -> dict[str, str]:
    """The Secret with the credential for each service."""
    own: str = spec.keystone.app_credential_ref.secret
    given = {name: getattr(spec.service_auth, f"{name}_service_user_ref", None) for name in PEERS}
    return {
        name: f"{user.name}-keystone-credentials" if user is not None else own
        for name, user in given.items()
    }


def needs(spec: Any) -> Iterator[SecretNeed]:
    """Credentials of users that the spec names."""
    for name in dict.fromkeys(credentials(spec).values()):
        if name != spec.keystone.app_credential_ref.secret:
            yield SecretNeed(name, KEYS, "Keystone login of another user")


def references(key: Key, spec: Any) -> Iterator[tuple[Kind, Key]]:
    """The Secrets with them."""
    for need in needs(spec):
        yield SECRET, Key(key.namespace, need.name)
