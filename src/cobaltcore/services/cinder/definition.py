"""Cinder: the block storage service."""

from cobaltcore.api import cinder
from cobaltcore.engine.definition import Config, Facts, Service, Step, Workload
from cobaltcore.services.cinder import config
from cobaltcore.services.cinder.steps import backends


def workloads(facts: Facts) -> tuple[Workload, ...]:
    """The API, the scheduler, and the pods that talk to the backends, if there are any."""
    volume = Workload(
        "volume",
        lambda spec: spec.volume.replicas,
        command=("cinder-volume",),
        settings=lambda spec: spec.volume,
        # Volumes belong to a host: whichever pod runs is that host.
        environment={"OS_DEFAULT__HOST": facts.named("volume").name},
        escalates=True,
    )
    return (
        Workload(
            "api",
            lambda spec: spec.api.replicas,
            module="cinder.wsgi.api",
            health="/healthcheck",
            settings=lambda spec: spec.api,
        ),
        Workload(
            "scheduler",
            lambda spec: spec.scheduler.replicas,
            command=("cinder-scheduler",),
            settings=lambda spec: spec.scheduler,
            environment={"OS_DEFAULT__HOST": facts.named("scheduler").name},
        ),
        *([volume] if backends.exist(facts) else []),
    )


SERVICE = Service(
    name="cinder",
    kind=cinder.KIND,
    resource=cinder.Cinder,
    port=8776,
    secrets=backends.needs,
    config=config.render,
    preparation=lambda facts: Config(backends.types_program()),
    migration=lambda facts: ("cinder-manage", "db", "sync"),
    steps=(
        Step("CephConnected", backends.connected, when=backends.use_ceph, needs=("ConfigReady",)),
        Step(
            "VolumeTypesReady",
            backends.types_made,
            when=backends.exist,
            needs=("DatabaseReady",),
        ),
    ),
    workloads=workloads,
)
