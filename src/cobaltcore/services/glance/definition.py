"""Glance: the image service."""

from cobaltcore.api import glance
from cobaltcore.api.foreign.kubernetes import PERSISTENT_VOLUME_CLAIM
from cobaltcore.engine import ceph
from cobaltcore.engine.definition import Check, Listing, Service, Step, Workload, asking
from cobaltcore.services.glance import config, projection
from cobaltcore.services.glance.steps import metadefs, storage

SERVICE = Service(
    name="glance",
    resource=glance.Glance,
    status=glance.GlanceStatus,
    port=9292,
    secrets=lambda spec: [ceph.need(spec.storage.rbd, "glance")] if spec.storage.rbd else [],
    check=Check((Listing("/v2/images", "images", {"limit": "1"}),)),
    part=projection.PART,
    config=config.render,
    migration=lambda scope: ("glance-manage", "db_sync"),
    volumes=storage.volumes,
    creates=(PERSISTENT_VOLUME_CLAIM,),
    steps=(
        Step(
            "CephConnected", storage.connected, enabled_if=storage.is_ceph, needs=("ConfigReady",)
        ),
        Step(
            "StorageReady", storage.claimed, enabled_if=storage.is_volume, needs=("ConfigReady",)
        ),
        Step("MetadataDefinitionsReady", metadefs.loaded, needs=("DatabaseReady",)),
    ),
    workloads=lambda scope: (
        Workload(
            "api",
            scope.spec.replicas,
            module="glance.wsgi.api",
            health="/healthcheck",
            resources=asking("50m", "160Mi"),
        ),
    ),
)
