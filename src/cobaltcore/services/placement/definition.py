"""Placement: the inventory of resources."""

from cobaltcore.api import placement
from cobaltcore.engine.definition import Check, DatabaseNeed, Listing, Service, Workload
from cobaltcore.engine.part import CatalogEntry, ServicePart
from cobaltcore.openstack.versions import Range
from cobaltcore.services.placement import config

SERVICE = Service(
    name="placement",
    resource=placement.Placement,
    status=placement.PlacementStatus,
    port=8778,
    databases=lambda spec: (DatabaseNeed(spec.database.database, section="placement_database"),),
    check=Check(
        (Listing("/resource_classes", "resource_classes", versions=Range("1.2", "1.39")),)
    ),
    part=ServicePart(
        block=placement.PlacementSettings,
        phase="Core",
        project=lambda parent: placement.PlacementSpec(
            replicas=parent.replicas(parent.settings.replicas),
            database=parent.main_database,
            **parent.common,
        ),
        catalog=CatalogEntry("placement", "Inventory of resources"),
    ),
    config=config.render,
    migration=lambda scope: ("placement-manage", "db", "sync"),
    workloads=lambda scope: (Workload("api", scope.spec.replicas, module="placement.wsgi.api"),),
)
