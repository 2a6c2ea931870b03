"""Keystone of a control plane: its logins and the Keystone object. Pure."""

from collections.abc import Iterator
from typing import Any

import msgspec

from cobaltcore.api import keystone
from cobaltcore.api.blocks import (
    Cache,
    Database,
    Image,
    IssuerRef,
    Policy,
    Ref,
    SecretRef,
    Tls,
)
from cobaltcore.api.services import ServiceToggle
from cobaltcore.operators.controlplane import infrastructure
from cobaltcore.operators.controlplane.view import View
from cobaltcore.runtime.meta import Desired

NAME = "keystone"
ADMIN_SECRET = "keystone-admin-credentials"  # noqa: S105 the name of a Secret
OWN_ISSUER = "c5c3-ca"


def objects(view: View) -> Iterator[Desired]:
    """Logins that are made once, and the Keystone that uses them."""
    given = view.spec.services.keystone
    yield infrastructure.login(view, database_secret(NAME), NAME)
    yield infrastructure.login(view, ADMIN_SECRET, "admin")
    spec = keystone.KeystoneSpec(
        replicas=view.replicas(given.replicas, 3),
        image=image(view, NAME, given),
        database=Database(
            cluster_ref=Ref(name=infrastructure.MARIADB),
            database=NAME,
            secret_ref=SecretRef(name=database_secret(NAME)),
        ),
        cache=Cache(cluster_ref=Ref(name=infrastructure.MEMCACHED)),
        fernet=given.fernet or keystone.KeyRotation(),
        credential_keys=given.credential_keys or keystone.CredentialKeyRotation(),
        federation=given.federation,
        bootstrap=keystone.Bootstrap(
            admin_password_secret_ref=SecretRef(name=ADMIN_SECRET, key="password"),
            region=view.spec.global_.region,
            public_endpoint=given.public_endpoint,
        ),
        **shared(view, given),
    )
    key = view.key(NAME)
    meta = {"name": key.name, "namespace": key.namespace, "labels": view.labels(NAME)}
    body: dict[str, Any] = {"metadata": meta, "spec": msgspec.to_builtins(spec)}
    yield Desired(keystone.KIND, body)


def database_secret(service: str) -> str:
    """The Secret with a service's database login."""
    return f"{service}-db-credentials"


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
        "tls": tls(view),
        "policy_overrides": policy(whole.policy_overrides, given.policy_overrides),
        "extra_config": merged_config(whole.extra_config, given.extra_config),
        "deletion_policy": view.spec.deletion_policy,
    }


def tls(view: View) -> Tls | None:
    """Encryption of the endpoint; without an issuer the control plane's own CA signs."""
    given = view.spec.global_.tls
    if given is None or not given.enabled or given.issuer_ref or given.secret_ref:
        return given
    return Tls(enabled=True, issuer_ref=IssuerRef(name=OWN_ISSUER, kind="Issuer"))


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
