"""What every service takes over from its control plane. Pure."""

from typing import Any

from cobaltcore.api.blocks import (
    AppCredentialRef,
    Image,
    KeystoneAuth,
    Policy,
)
from cobaltcore.api.toggles import ImageOverride, ServiceToggle
from cobaltcore.operators.controlplane import certificates, identity, users
from cobaltcore.operators.controlplane.view import View


def login(view: View, service: str) -> KeystoneAuth:
    """How a service logs in to Keystone."""
    return KeystoneAuth(
        auth_url=identity.auth_url(view),
        app_credential_ref=AppCredentialRef(secret_name=users.credentials_secret(service)),
        region=view.spec.global_.region,
        ca_secret_ref=certificates.trust_ref(view),
    )


def image(view: View, service: str) -> Image:
    """The image of the release, or what the user configured instead."""
    return overridden(view.image(service), view.toggle(service).image or ImageOverride())


def overridden(release: Image, override: ImageOverride) -> Image:
    """The image of a release with what the user configured in place of parts of it."""
    tag = None if override.digest else override.tag or release.tag
    return Image(
        repository=override.repository or release.repository, tag=tag, digest=override.digest
    )


def shared(view: View, settings: ServiceToggle) -> dict[str, Any]:
    """What every service takes over from the control plane; its own settings take precedence."""
    whole = view.spec.global_
    return {
        "resources": settings.resources,
        "node_selector": settings.node_selector,
        "tolerations": settings.tolerations,
        "priority_class_name": settings.priority_class_name,
        "image_pull_secrets": whole.image_pull_secrets,
        "tls": certificates.endpoint_tls(view, settings.public_endpoint),
        "policy_overrides": policy(whole.policy_overrides, settings.policy_overrides),
        "extra_config": merged_config(whole.extra_config, settings.extra_config),
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
