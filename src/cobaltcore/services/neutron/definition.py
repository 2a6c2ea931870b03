"""Neutron: the network service, with OVN."""

from itertools import chain

from cobaltcore.api import neutron
from cobaltcore.api import ovn as ovn_kinds
from cobaltcore.api.foreign.kubernetes import DAEMON_SET
from cobaltcore.api.neutron import NeutronSpec
from cobaltcore.engine.definition import (
    Check,
    Listing,
    Service,
    ServiceScope,
    Step,
    Workload,
    asking,
)
from cobaltcore.runtime.meta import WatchScope
from cobaltcore.services.neutron import config, projection
from cobaltcore.services.neutron.steps import metadata, ovn

FILES = (
    "--config-file",
    "/etc/neutron/neutron.conf",
    "--config-file",
    "/etc/neutron/ml2_conf.ini",
)


WORKER = asking("20m", "256Mi")


def workloads(scope: ServiceScope[NeutronSpec]) -> tuple[Workload, ...]:
    """The API, its workers, the agents on hypervisors."""
    workers = [
        Workload(
            "periodic-workers", command=("neutron-periodic-workers", *FILES), resources=WORKER
        ),
    ]
    if ovn.is_used(scope):
        command = ("neutron-ovn-maintenance-worker", *FILES)
        workers.append(Workload("ovn-maintenance-worker", command=command, resources=WORKER))
    api = Workload(
        "api",
        scope.spec.api.replicas,
        module="neutron.wsgi.api",
        settings=scope.spec.api,
        environment={"OS_NEUTRON_CONFIG_FILES": "neutron.conf;ml2_conf.ini"},
        resources=asking("50m", "224Mi"),
    )
    return (api, *workers, *metadata.workloads(scope))


SERVICE = Service(
    name="neutron",
    resource=neutron.Neutron,
    status=neutron.NeutronStatus,
    port=9696,
    secrets=metadata.needs,
    check=Check(
        (
            Listing("/v2.0/networks", "networks", {"limit": "1"}),
            Listing("/v2.0/agents", "agents", row=metadata.Agent),
        ),
        problem=metadata.agents_dead,
    ),
    part=projection.PART,
    config=config.render,
    configs=lambda scope: {"agent": config.agent},
    migration=lambda scope: ("neutron-db-manage", *FILES[:2], "upgrade", "heads"),
    creates=(DAEMON_SET,),
    watches={ovn_kinds.CLUSTER: WatchScope()},
    references=lambda key, spec: chain(ovn.references(key, spec), metadata.references(key, spec)),
    steps=(Step("OVNConnected", ovn.connected, enabled_if=ovn.is_used, needs=("ConfigReady",)),),
    workloads=workloads,
)
