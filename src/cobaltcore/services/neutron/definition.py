"""Neutron: the network service, with OVN."""

from itertools import chain

from cobaltcore.api import neutron
from cobaltcore.api import ovn as ovn_kinds
from cobaltcore.engine.definition import Facts, Service, Step, Workload
from cobaltcore.runtime.meta import Scope
from cobaltcore.services.neutron import config
from cobaltcore.services.neutron.steps import metadata, ovn

FILES = (
    "--config-file",
    "/etc/neutron/neutron.conf",
    "--config-file",
    "/etc/neutron/ml2_conf.ini",
)


def workloads(facts: Facts) -> tuple[Workload, ...]:
    """The API, the workers beside it, the agents on hypervisors."""
    workers = [
        Workload("periodic-workers", command=("neutron-periodic-workers", *FILES)),
    ]
    if ovn.is_used(facts):
        command = ("neutron-ovn-maintenance-worker", *FILES)
        workers.append(Workload("ovn-maintenance-worker", command=command))
    api = Workload(
        "api",
        lambda spec: spec.api.replicas,
        module="neutron.wsgi.api",
        settings=lambda spec: spec.api,
        environment={"OS_NEUTRON_CONFIG_FILES": "neutron.conf;ml2_conf.ini"},
    )
    return (api, *workers, *metadata.workloads(facts))


SERVICE = Service(
    name="neutron",
    kind=neutron.KIND,
    resource=neutron.Neutron,
    port=9696,
    secrets=metadata.needs,
    config=config.render,
    configs={"agent": config.agent},
    migration=lambda facts: ("neutron-db-manage", *FILES[:2], "upgrade", "heads"),
    watches={ovn_kinds.CLUSTER: Scope()},
    references=lambda key, spec: chain(ovn.references(key, spec), metadata.references(key, spec)),
    steps=(Step("OVNConnected", ovn.connected, when=ovn.is_used, needs=("ConfigReady",)),),
    workloads=workloads,
)
