"""Users with which Nova calls other services: its own, or those of serviceAuth. Pure."""

from collections.abc import Iterator

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.api.nova import NovaSpec, ServiceAuth
from cobaltcore.engine.definition import SecretNeed
from cobaltcore.runtime.meta import Key, Kind

KEYS = ("application_credential_id", "application_credential_secret")


def credentials(spec: NovaSpec) -> dict[str, str]:
    """The Secret with the credential for each section of nova.conf.

    Glance gets the tokens of Nova's users, with the service token of service_user.
    """
    own: str = spec.keystone.app_credential_ref.secret
    users: ServiceAuth = spec.service_auth or ServiceAuth()
    refs = {
        "placement": users.placement_service_user_ref,
        "neutron": users.neutron_service_user_ref,
        "cinder": users.cinder_service_user_ref,
        "service_user": users.glance_service_user_ref,
    }
    return {
        name: f"{user.name}-keystone-credentials" if user is not None else own
        for name, user in refs.items()
    }


def needs(spec: NovaSpec) -> Iterator[SecretNeed]:
    """Credentials of users that the spec names."""
    for name in dict.fromkeys(credentials(spec).values()):
        if name != spec.keystone.app_credential_ref.secret:
            yield SecretNeed(name, KEYS, "Keystone login of another user")


def references(key: Key, spec: NovaSpec) -> Iterator[tuple[Kind, Key]]:
    """The Secrets with them."""
    for need in needs(spec):
        yield SECRET, Key(key.namespace, need.name)
