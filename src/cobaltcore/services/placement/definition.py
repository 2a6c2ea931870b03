"""Placement: the inventory of resources."""

from cobaltcore.api import placement
from cobaltcore.engine.definition import DatabaseNeed, Service, Workload
from cobaltcore.services.placement import config

SERVICE = Service(
    name="placement",
    kind=placement.KIND,
    resource=placement.Placement,
    port=8778,
    databases=lambda spec: (DatabaseNeed(spec.database.database, section="placement_database"),),
    config=config.render,
    migration=lambda facts: ("placement-manage", "db", "sync"),
    workloads=lambda facts: (
        Workload("api", lambda spec: spec.replicas, module="placement.wsgi.api"),
    ),
)
