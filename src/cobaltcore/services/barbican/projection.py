"""Barbican as a part of a ControlPlane. Pure."""

from cobaltcore.api.barbican import BarbicanSettings, BarbicanSpec
from cobaltcore.engine.part import CatalogEntry, Parent, ServicePart


def project(parent: Parent[BarbicanSettings]) -> BarbicanSpec:
    return BarbicanSpec(
        replicas=parent.replicas(parent.settings.replicas),
        database=parent.main_database,
        messaging=parent.messaging,
        cache=parent.cache,
        **parent.common,
    )


PART = ServicePart(
    block=BarbicanSettings,
    phase="Core",
    project=project,
    # By Barbican's rules a user without it lists no secrets, not even those of its project.
    roles=("admin", "service"),
    needs=("rabbitmq",),
    catalog=CatalogEntry("key-manager", "Secrets and keys"),
    uses_messaging=True,
)
