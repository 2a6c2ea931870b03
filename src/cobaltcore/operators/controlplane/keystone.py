"""Keystone of a control plane: its logins and the Keystone object. Pure."""

from collections.abc import Iterator

from cobaltcore.api import keystone
from cobaltcore.api.blocks import Database, SecretRef
from cobaltcore.operators.controlplane import infrastructure, sharing
from cobaltcore.operators.controlplane.identity import ADMIN_SECRET
from cobaltcore.operators.controlplane.identity import KEYSTONE as NAME
from cobaltcore.operators.controlplane.view import View
from cobaltcore.runtime.meta import Desired


def objects(view: View) -> Iterator[Desired]:
    """Logins that are made once, and the Keystone that uses them."""
    given = view.spec.services.keystone
    yield infrastructure.login(view, sharing.database_secret(NAME), NAME)
    yield infrastructure.login(view, ADMIN_SECRET, "admin")
    spec = keystone.KeystoneSpec(
        replicas=view.replicas(given.replicas, 3),
        image=sharing.image(view, NAME, given),
        database=Database(**sharing.database(NAME)),
        cache=sharing.cache(),
        fernet=given.fernet or keystone.KeyRotation(),
        credential_keys=given.credential_keys or keystone.CredentialKeyRotation(),
        federation=given.federation,
        bootstrap=keystone.Bootstrap(
            admin_password_secret_ref=SecretRef(name=ADMIN_SECRET, key="password"),
            region=view.spec.global_.region,
            public_endpoint=given.public_endpoint,
        ),
        **sharing.shared(view, given),
    )
    yield view.made(keystone.KIND, NAME, spec, NAME)
