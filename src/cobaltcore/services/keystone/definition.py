"""Keystone: the identity service."""

from cobaltcore.api import keystone
from cobaltcore.engine.definition import SecretNeed, Service, Step, Workload
from cobaltcore.services.keystone import config
from cobaltcore.services.keystone.steps import bootstrap, keys

SERVICE = Service(
    name="keystone",
    kind=keystone.KIND,
    resource=keystone.Keystone,
    port=5000,
    secrets=lambda spec: [
        SecretNeed(
            spec.bootstrap.admin_password_secret_ref.name,
            (spec.bootstrap.admin_password_secret_ref.key or "password",),
            "administrator's password",
        )
    ],
    config=config.render,
    migration=lambda facts: ("keystone-manage", "db_sync"),
    mounts=keys.mounts,
    generated=keys.generated,
    steps=(
        Step("FernetKeysReady", keys.fernet, needs=()),
        Step("CredentialKeysReady", keys.credential, needs=()),
        Step("BootstrapReady", bootstrap.bootstrapped),
    ),
    workloads=lambda facts: (
        Workload("api", lambda spec: spec.replicas, module="keystone.wsgi.api", health="/v3"),
    ),
)
