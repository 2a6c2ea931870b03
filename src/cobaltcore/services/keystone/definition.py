"""Keystone: the identity service."""

from cobaltcore.api import keystone
from cobaltcore.engine.definition import Check, Listing, SecretNeed, Service, Step, Workload
from cobaltcore.services.keystone import config, projection
from cobaltcore.services.keystone.steps import bootstrap, keys

SERVICE = Service(
    name="keystone",
    resource=keystone.Keystone,
    status=keystone.KeystoneStatus,
    port=5000,
    secrets=lambda spec: [
        SecretNeed(
            spec.bootstrap.admin_password_secret_ref.name,
            (spec.bootstrap.admin_password_secret_ref.key or "password",),
            "administrator's password",
        )
    ],
    check=Check(
        (Listing("/services", "services"),), type="identity", cloud=bootstrap.administrator
    ),
    part=projection.PART,
    config=config.render,
    migration=lambda scope: ("keystone-manage", "db_sync"),
    volumes=keys.volumes,
    generated=lambda instance: (*keys.generated(instance), bootstrap.generated(instance)),
    steps=(
        Step(keys.CONDITIONS[keys.FERNET], keys.fernet, needs=()),
        # Running pods need nothing of a rotation that waits.
        Step(
            keys.CONDITIONS[keys.CREDENTIAL],
            keys.credential,
            needs=("CertificateReady", "ConfigReady", "DatabaseReady"),
            gates=False,
        ),
        Step("BootstrapReady", bootstrap.bootstrapped, needs=bootstrap.NEEDS),
    ),
    workloads=lambda scope: (
        Workload("api", scope.spec.replicas, module="keystone.wsgi.api", health="/v3"),
    ),
)
