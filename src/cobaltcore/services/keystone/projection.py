"""Keystone as a part of a ControlPlane. Pure."""

from cobaltcore.api.blocks import SecretKeyRef
from cobaltcore.api.keystone import (
    Bootstrap,
    CredentialKeyRotation,
    KeyRotation,
    KeystoneSettings,
    KeystoneSpec,
)
from cobaltcore.engine.desired import names
from cobaltcore.engine.part import GeneratedSecret, Parent, ServicePart

ADMIN = GeneratedSecret(names.ADMIN_SECRET, "password", username="admin")


def project(parent: Parent[KeystoneSettings]) -> KeystoneSpec:
    settings = parent.settings
    return KeystoneSpec(
        replicas=parent.replicas(settings.replicas, 3),
        database=parent.main_database,
        cache=parent.cache,
        fernet=settings.fernet or KeyRotation(),
        credential_keys=settings.credential_keys or CredentialKeyRotation(),
        federation=settings.federation,
        bootstrap=Bootstrap(
            admin_password_secret_ref=SecretKeyRef(name=ADMIN.name, key=ADMIN.key),
            region=parent.spec.global_.region,
            public_endpoint=settings.public_endpoint,
        ),
        **parent.common,
    )


PART = ServicePart(
    block=KeystoneSettings,
    phase="Identity",
    project=project,
    needs=("mariadb", "memcached", "certificates"),
    roles=(),
    secrets=(ADMIN,),
)
