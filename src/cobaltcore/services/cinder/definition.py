"""Cinder: the block storage service."""

from cobaltcore.api import cinder
from cobaltcore.api.cinder import CinderSpec
from cobaltcore.engine.definition import (
    Check,
    Listing,
    Service,
    ServiceScope,
    Step,
    Workload,
    asking,
)
from cobaltcore.openstack.versions import Range
from cobaltcore.services.cinder import config, projection
from cobaltcore.services.cinder.steps import backends


def workloads(scope: ServiceScope[CinderSpec]) -> tuple[Workload, ...]:
    """The API, the scheduler, and the pods that talk to the backends, if there are any."""
    names = [each.name for each in backends.backends(scope)]
    volume = Workload(
        "volume",
        scope.spec.volume.replicas,
        command=("cobalt-agent", "cinder", "service", "cinder-volume"),
        readiness=("cobalt-agent", "ready", "cinder", "service", "volume", *names),
        settings=scope.spec.volume,
        # Volumes belong to a host: whichever pod runs is that host.
        environment={"OS_DEFAULT__HOST": scope.named("volume").name},
        escalates=True,
        resources=asking("50m", "160Mi"),
    )
    return (
        Workload(
            "api",
            scope.spec.api.replicas,
            module="cinder.wsgi.api",
            health="/healthcheck",
            settings=scope.spec.api,
        ),
        Workload(
            "scheduler",
            scope.spec.scheduler.replicas,
            command=("cobalt-agent", "cinder", "service", "cinder-scheduler"),
            readiness=("cobalt-agent", "ready", "cinder", "service", "scheduler"),
            settings=scope.spec.scheduler,
            environment={"OS_DEFAULT__HOST": scope.named("scheduler").name},
            resources=asking("20m", "128Mi"),
        ),
        *([volume] if backends.exist(scope) else []),
    )


SERVICE = Service(
    name="cinder",
    resource=cinder.Cinder,
    status=cinder.CinderStatus,
    port=8776,
    secrets=backends.needs,
    # The first version whose URLs need no project.
    check=Check((Listing("/volumes", "volumes", {"limit": "1"}, Range("3.67", "3.71")),)),
    part=projection.PART,
    config=config.render,
    migration=lambda scope: ("cinder-manage", "db", "sync"),
    steps=(
        Step(
            "CephConnected",
            backends.connected,
            enabled_if=backends.use_ceph,
            needs=("ConfigReady",),
        ),
        Step(
            "VolumeTypesReady",
            backends.volume_types,
            enabled_if=backends.exist,
            needs=("DatabaseReady",),
        ),
    ),
    workloads=workloads,
)
