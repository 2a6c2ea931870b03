"""Nova: the compute service."""

from itertools import chain

from cobaltcore.api import nova
from cobaltcore.api.foreign.kubernetes import NODE
from cobaltcore.engine.definition import Facts, Service, Step, Workload
from cobaltcore.engine.desired import names
from cobaltcore.services.nova import config
from cobaltcore.services.nova.steps import cells, compute, hypervisor, metadata, users

WSGI = {
    "OS_NOVA_CONFIG_FILES": f"{names.VENV}/etc/nova/api-paste.ini;nova.conf",
    # Green threads and those of uWSGI do not go together: idle connections break.
    "OS_NOVA_DISABLE_EVENTLET_PATCHING": "true",
}


def workloads(facts: Facts) -> tuple[Workload, ...]:
    """Conductors, scheduler, APIs, and nova-compute on every hypervisor.

    Programs that keep nothing share one host name, so that no records of old pods pile up.
    """
    conductors = [
        Workload(
            f"conductor{cell.suffix}",
            lambda spec: spec.conductor.replicas,
            command=("nova-conductor",),
            condition="ConductorReady",
            settings=lambda spec: spec.conductor,
            environment={"OS_DEFAULT__HOST": facts.named(f"conductor{cell.suffix}").name},
            secret_environment={}
            if cell.is_first
            else {
                "OS_DATABASE__CONNECTION": cell.database_variable,
                "OS_DEFAULT__TRANSPORT_URL": cell.transport_variable,
            },
        )
        for cell in cells.cells(facts.spec)
    ]
    return (
        *conductors,
        Workload(
            "scheduler",
            lambda spec: spec.scheduler.replicas,
            command=("nova-scheduler",),
            condition="SchedulerReady",
            settings=lambda spec: spec.scheduler,
            environment={"OS_DEFAULT__HOST": facts.named("scheduler").name},
        ),
        Workload(
            "api",
            lambda spec: spec.api.replicas,
            module="nova.wsgi.osapi_compute",
            settings=lambda spec: spec.api,
            environment={**WSGI, "OS_DEFAULT__HOST": facts.named("api").name},
        ),
        Workload(
            "metadata",
            lambda spec: spec.metadata.replicas,
            module="nova.wsgi.metadata",
            port=8775,
            settings=lambda spec: spec.metadata,
            environment={**WSGI, "OS_DEFAULT__HOST": facts.named("metadata").name},
        ),
        *compute.workloads(facts),
    )


SERVICE = Service(
    name="nova",
    kind=nova.KIND,
    resource=nova.Nova,
    port=8774,
    secrets=lambda spec: chain(compute.needs(spec), metadata.given(spec), users.needs(spec)),
    passwords=metadata.own,
    databases=cells.databases,
    virtual_hosts=cells.virtual_hosts,
    config=config.render,
    configs={"compute": config.node},
    migration=cells.migration,
    preparation=config.preparation,
    references=lambda key, spec: chain(compute.references(key, spec), users.references(key, spec)),
    follows=(NODE,),
    steps=(
        Step("CephConnected", compute.connected, when=compute.uses_ceph, needs=("ConfigReady",)),
        Step("CellsReady", cells.mapped, needs=("DatabaseReady",)),
        Step("LibvirtReady", hypervisor.libvirt_runs, needs=(), gates=False),
    ),
    workloads=workloads,
    last_steps=(Step("HostsReady", hypervisor.hosts_known, needs=("ComputeReady",)),),
)
