"""What every service takes over from its control plane. Pure."""

from typing import Any

from cobaltcore.api.blocks import (
    AppCredentialRef,
    Cache,
    Image,
    KeystoneAuth,
    Messaging,
    Policy,
    Ref,
    SecretRef,
)
from cobaltcore.api.services import ServiceToggle
from cobaltcore.operators.controlplane import certificates, identity, infrastructure, users
from cobaltcore.operators.controlplane.view import View


def database_secret(service: str) -> str:
    """The Secret with a service's database login."""
    return f"{service}-db-credentials"


def messaging_secret(service: str) -> str:
    """The Secret with a service's broker login."""
    return f"{service}-rabbitmq-credentials"


def database(service: str) -> dict[str, Any]:
    """The database of a service, on the control plane's server."""
    return {
        "cluster_ref": Ref(name=infrastructure.MARIADB),
        "database": service,
        "secret_ref": SecretRef(name=database_secret(service)),
    }


def messaging(service: str) -> Messaging:
    """The virtual host of a service, on the control plane's broker."""
    return Messaging(
        cluster_ref=Ref(name=infrastructure.RABBITMQ),
        secret_ref=SecretRef(name=messaging_secret(service)),
    )


def cache() -> Cache:
    """The cache servers of the control plane."""
    return Cache(cluster_ref=Ref(name=infrastructure.MEMCACHED))


def login(view: View, service: str) -> KeystoneAuth:
    """How a service logs in to Keystone."""
    return KeystoneAuth(
        auth_url=identity.auth_url(view),
        app_credential_ref=AppCredentialRef(secret_name=users.credentials_secret(service)),
        region=view.spec.global_.region,
        ca_secret_ref=certificates.trust_ref(view),
    )


def image(view: View, component: str, given: ServiceToggle) -> Image:
    """The image of the release, or what the user says instead."""
    release = view.image(component)
    override = given.image
    if override is None:
        return release
    tag = None if override.digest else override.tag or release.tag
    return Image(
        repository=override.repository or release.repository, tag=tag, digest=override.digest
    )


def shared(view: View, given: ServiceToggle) -> dict[str, Any]:
    """What every service takes over from the control plane; its own words win."""
    whole = view.spec.global_
    return {
        "resources": given.resources,
        "node_selector": given.node_selector,
        "tolerations": given.tolerations,
        "priority_class_name": given.priority_class_name,
        "image_pull_secrets": whole.image_pull_secrets,
        "tls": certificates.tls(view),
        "policy_overrides": policy(whole.policy_overrides, given.policy_overrides),
        "extra_config": merged_config(whole.extra_config, given.extra_config),
        "deletion_policy": view.spec.deletion_policy,
    }


def policy(whole: Policy | None, own: Policy | None) -> Policy | None:
    """Rules of the service over those for all; its ConfigMap replaces the common one."""
    if whole is None or own is None:
        return own or whole
    return Policy(
        rules={**(whole.rules or {}), **(own.rules or {})} or None,
        config_map_ref=own.config_map_ref or whole.config_map_ref,
    )


def merged_config(
    whole: dict[str, dict[str, str]] | None, own: dict[str, dict[str, str]] | None
) -> dict[str, dict[str, str]] | None:
    """Options of the service over those for all, option by option."""
    if not whole or not own:
        return own or whole
    sections = {*whole, *own}
    return {name: {**whole.get(name, {}), **own.get(name, {})} for name in sorted(sections)}
