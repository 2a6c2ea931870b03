"""Barbican: the key manager."""

from cobaltcore.api import barbican
from cobaltcore.api.barbican import BarbicanSpec
from cobaltcore.engine.definition import Check, Listing, Service, ServiceScope, Workload
from cobaltcore.services.barbican import config, projection
from cobaltcore.services.barbican.steps import kek


def workloads(scope: ServiceScope[BarbicanSpec]) -> tuple[Workload, ...]:
    """The API and, with messaging, workers that process orders.

    There is no barbican-retry: no task of this release asks for a retry.
    """
    replicas = scope.spec.replicas
    worker = Workload("worker", replicas, command=("barbican-worker",))
    return (
        Workload("api", replicas, module="barbican.wsgi.api", health="/healthcheck"),
        *([worker] if scope.spec.messaging is not None else []),
    )


SERVICE = Service(
    name="barbican",
    resource=barbican.Barbican,
    status=barbican.BarbicanStatus,
    port=9311,
    required=("database", "keystone"),
    secrets=kek.external,
    passwords=kek.generated,
    check=Check((Listing("/v1/secrets", "secrets", {"limit": "1"}),)),
    part=projection.PART,
    config=config.render,
    migration=lambda scope: ("barbican-manage", "db", "upgrade"),
    workloads=workloads,
)
