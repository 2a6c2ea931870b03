"""Nova: the compute service."""

from itertools import chain

from cobaltcore.api import nova
from cobaltcore.api.foreign.certmanager import ISSUER
from cobaltcore.api.foreign.kubernetes import DAEMON_SET, NODE
from cobaltcore.api.nova import NovaSpec
from cobaltcore.engine.definition import (
    Check,
    Listing,
    Service,
    ServiceScope,
    Step,
    Workload,
    asking,
)
from cobaltcore.engine.desired import names
from cobaltcore.services.nova import config, projection
from cobaltcore.services.nova.steps import cells, compute, console, hypervisor, metadata, users

WSGI = {
    "OS_NOVA_CONFIG_FILES": f"{names.VENV}/etc/nova/api-paste.ini;nova.conf",
    # Green threads and those of uWSGI do not go together: idle connections break.
    "OS_NOVA_DISABLE_EVENTLET_PATCHING": "true",
}


def workloads(scope: ServiceScope[NovaSpec]) -> tuple[Workload, ...]:
    """Conductors, scheduler, APIs, and nova-compute on every hypervisor.

    Programs that keep nothing share one host name, so that no records of old pods pile up.
    """
    conductors = [
        Workload(
            f"conductor{cell.suffix}",
            scope.spec.conductor.replicas,
            command=("cobalt-agent", "nova", "service", "nova-conductor"),
            readiness=("cobalt-agent", "ready", "nova", "service", "conductor"),
            condition="ConductorReady",
            settings=scope.spec.conductor,
            environment={"OS_DEFAULT__HOST": scope.named(f"conductor{cell.suffix}").name},
            config=cell.configuration,
        )
        for cell in cells.cells(scope.spec)
    ]
    return (
        *conductors,
        Workload(
            "scheduler",
            scope.spec.scheduler.replicas,
            command=("cobalt-agent", "nova", "service", "nova-scheduler"),
            readiness=("cobalt-agent", "ready", "nova", "service", "scheduler"),
            condition="SchedulerReady",
            settings=scope.spec.scheduler,
            environment={"OS_DEFAULT__HOST": scope.named("scheduler").name, **_cells(scope)},
            resources=asking("20m", "128Mi"),
        ),
        Workload(
            "api",
            scope.spec.api.replicas,
            module="nova.wsgi.osapi_compute",
            settings=scope.spec.api,
            environment={**WSGI, "OS_DEFAULT__HOST": scope.named("api").name},
            resources=asking("50m", "160Mi"),
        ),
        Workload(
            "metadata",
            scope.spec.metadata.replicas,
            module="nova.wsgi.metadata",
            port=metadata.PORT,
            settings=scope.spec.metadata,
            environment={**WSGI, "OS_DEFAULT__HOST": scope.named("metadata").name},
            resources=asking("20m", "128Mi"),
        ),
        *console.proxies(scope),
        *compute.workloads(scope),
    )


def _cells(scope: ServiceScope[NovaSpec]) -> dict[str, str]:
    """A scheduler reads only when it starts which cells get no new servers."""
    disabled = [each.name for each in cells.cells(scope.spec) if not each.enabled]
    return {"DISABLED_CELLS": ",".join(disabled)} if disabled else {}


SERVICE = Service(
    name="nova",
    resource=nova.Nova,
    status=nova.NovaStatus,
    port=8774,
    secrets=lambda spec: chain(compute.needs(spec), metadata.needs(spec), users.needs(spec)),
    passwords=metadata.own,
    databases=cells.databases,
    virtual_hosts=cells.virtual_hosts,
    check=Check(
        (
            Listing("/servers", "servers", {"limit": "1"}),
            Listing(
                "/os-services",
                "services",
                {"binary": "nova-compute"},
                row=hypervisor.ComputeService,
            ),
        ),
        problem=hypervisor.services_down,
    ),
    part=projection.PART,
    config=config.render,
    configs=config.of_cells,
    migration=cells.migration,
    migration_config=config.preparation,
    references=lambda key, spec: chain(compute.references(key, spec), users.references(key, spec)),
    follows=(NODE, nova.KIND),
    creates=(DAEMON_SET, ISSUER),
    steps=(
        Step(
            "CephConnected",
            compute.connected,
            enabled_if=compute.uses_ceph,
            needs=("ConfigReady",),
        ),
        Step("CellsReady", cells.mapped, needs=("DatabaseReady",)),
        Step("LibvirtReady", hypervisor.libvirt_runs, needs=(), gates=False),
        Step(
            "ConsoleCertificateReady",
            console.identified,
            enabled_if=console.is_on,
            needs=(),
            gates=False,
        ),
    ),
    workloads=workloads,
    last_steps=(Step("HostsReady", hypervisor.hosts_known, needs=("ComputeReady",)),),
)
